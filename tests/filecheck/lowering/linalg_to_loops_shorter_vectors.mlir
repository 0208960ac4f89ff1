// RUN: mlirad-opt %s -p 'mlirad-linalg-to-loops{vector_bytes=64 parallel=false}' | filecheck %s

// Rows of 70 numbers end in vectors of four and two. After a masked store, the next trip, which reads the row again,
// would have to wait until it is in the cache.
// CHECK-LABEL: func.func @in_loop
// CHECK:       arith.mulf {{.*}} : vector<8xf64>
// CHECK:       vector.store {{.*}} : memref<70xf64>, vector<8xf64>
// CHECK:       vector.store {{.*}} : memref<70xf64>, vector<4xf64>
// CHECK:       vector.store {{.*}} : memref<70xf64>, vector<2xf64>
// CHECK-NOT:   mask
// CHECK:       func.return
func.func @in_loop(%x: memref<70xf64>, %n: i64) {
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  scf.for %i = %zero to %n step %one : i64 {
    linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
        ins(%x : memref<70xf64>) outs(%x : memref<70xf64>) {
    ^bb0(%a: f64, %old: f64):
      %b = arith.mulf %a, %a : f64
      linalg.yield %b : f64
    }
  }
  func.return
}

// Three shorter vectors are not worth their code.
// CHECK-LABEL: func.func @three
// CHECK:       vector.maskedstore
func.func @three(%x: memref<71xf64>, %n: i64) {
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  scf.for %i = %zero to %n step %one : i64 {
    linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
        ins(%x : memref<71xf64>) outs(%x : memref<71xf64>) {
    ^bb0(%a: f64, %old: f64):
      %b = arith.mulf %a, %a : f64
      linalg.yield %b : f64
    }
  }
  func.return
}

// Outside of loops, nothing is soon read again.
// CHECK-LABEL: func.func @once
// CHECK:       vector.maskedstore
func.func @once(%x: memref<70xf64>) {
  linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%x : memref<70xf64>) outs(%x : memref<70xf64>) {
  ^bb0(%a: f64, %old: f64):
    %b = arith.mulf %a, %a : f64
    linalg.yield %b : f64
  }
  func.return
}
