// RUN: mlirad-opt %s -p mlirad-bufferize | filecheck %s
// A tape is written once a trip and read backwards; it grows by taking its own memory over.

// CHECK: func.func private @mlirad_grow_f64(memref<?xf64>, index) -> memref<?xf64>
func.func private @mlirad_grow_f64(tensor<?xf64>, index) -> tensor<?xf64>

// CHECK-LABEL: func.func public @sweep(
// CHECK:       %[[start:[^ ]+]] = memref.alloc(%{{[^)]+}}) : memref<?xf64>
// CHECK:       %[[tape:[^ ]+]] = scf.for {{.*}} iter_args(%[[t:[^ ]+]] = %[[start]])
// CHECK:         %[[grown:[^ ]+]] = func.call @mlirad_grow_f64(%[[t]], %{{[^)]+}}) : (memref<?xf64>, index) -> memref<?xf64>
// CHECK:         memref.store %{{[^,]+}}, %[[grown]]
// CHECK-NEXT:    scf.yield %[[grown]]
// CHECK:       scf.for
// CHECK:         memref.load %[[tape]]
// CHECK-NOT:   memref.copy
// CHECK:       func.return
func.func public @sweep(%x: tensor<8xf64>, %n: i64) -> f64 {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %size = arith.constant 64 : index
  %zero = arith.constant 0.0 : f64
  %start = tensor.empty(%size) : tensor<?xf64>
  %tape = scf.for %q = %c0 to %n step %c1 iter_args(%t = %start) -> (tensor<?xf64>) : i64 {
    %k = arith.index_cast %q : i64 to index
    %e = tensor.extract %x[%k] : tensor<8xf64>
    %grown = func.call @mlirad_grow_f64(%t, %k) : (tensor<?xf64>, index) -> tensor<?xf64>
    %u = tensor.insert %e into %grown[%k] : tensor<?xf64>
    scf.yield %u : tensor<?xf64>
  }
  %last = arith.subi %n, %c1 : i64
  %sum = scf.for %q = %c0 to %n step %c1 iter_args(%s = %zero) -> (f64) : i64 {
    %back = arith.subi %last, %q : i64
    %k = arith.index_cast %back : i64 to index
    %e = tensor.extract %tape[%k] : tensor<?xf64>
    %more = arith.addf %s, %e : f64
    scf.yield %more : f64
  }
  return %sum : f64
}

// The inner part of an array is copied straight into its slot of the tape, which is one row of numbers; other ops read
// the array.

// CHECK-LABEL: func.func public @slots(
// CHECK:         %[[INNER:.*]] = memref.subview %x[1, 1] [4, 4] [1, 1]
// CHECK:         %[[SLOT:.*]] = memref.expand_shape
// CHECK-NEXT:    "memref.copy"(%[[INNER]], %[[SLOT]])
// CHECK-NOT:     memref.copy
// CHECK:         linalg.generic
// CHECK-SAME:      ins(%[[INNER]] :
// CHECK-NOT:     memref.copy
// CHECK:         func.return
func.func public @slots(%x: tensor<6x6xf64>, %tape: tensor<?xf64> {mlirad.written = 0 : i64}, %k: index) -> (tensor<?xf64>, tensor<4x4xf64>) {
  %inner = tensor.extract_slice %x[1, 1] [4, 4] [1, 1] : tensor<6x6xf64> to tensor<4x4xf64>
  %flat = tensor.collapse_shape %inner [[0, 1]] : tensor<4x4xf64> into tensor<16xf64>
  %stored = tensor.insert_slice %flat into %tape[%k] [16] [1] : tensor<16xf64> into tensor<?xf64>
  %empty = tensor.empty() : tensor<4x4xf64>
  %twice = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%inner : tensor<4x4xf64>) outs(%empty : tensor<4x4xf64>) {
  ^bb0(%a: f64, %old: f64):
    %b = arith.addf %a, %a : f64
    linalg.yield %b : f64
  } -> tensor<4x4xf64>
  func.return %stored, %twice : tensor<?xf64>, tensor<4x4xf64>
}

// What a trip computes, stores on the tape and then reads is computed in its slot: it is stored after it was read.

// CHECK-LABEL: func.func public @computed_in_the_slot(
// CHECK:         scf.for
// CHECK-NOT:       memref.alloc
// CHECK:           %[[SLOT:.*]] = memref.subview %{{.*}}[%{{.*}}] [4] [1]
// CHECK:           linalg.generic {{.*}} outs(%[[SLOT]] :
// CHECK:           linalg.generic {{.*}} ins(%[[SLOT]] :
// CHECK-NOT:       memref.copy
// CHECK:         func.return
func.func public @computed_in_the_slot(%x: tensor<4xf64>) -> (tensor<40xf64>, tensor<4xf64>) {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %four = arith.constant 4 : i64
  %n = arith.constant 10 : i64
  %empty = tensor.empty() : tensor<40xf64>
  %zeros = arith.constant dense<0.0> : tensor<4xf64>
  %tape, %sums = scf.for %q = %c0 to %n step %c1 iter_args(%t = %empty, %s = %zeros) -> (tensor<40xf64>, tensor<4xf64>) : i64 {
    %memory = tensor.empty() : tensor<4xf64>
    %y = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%x : tensor<4xf64>) outs(%memory : tensor<4xf64>) {
    ^bb0(%a: f64, %old: f64):
      %b = arith.mulf %a, %a : f64
      linalg.yield %b : f64
    } -> tensor<4xf64>
    %start = arith.muli %q, %four : i64
    %place = arith.index_cast %start : i64 to index
    %stored = tensor.insert_slice %y into %t[%place] [4] [1] : tensor<4xf64> into tensor<40xf64>
    %sum = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%y : tensor<4xf64>) outs(%s : tensor<4xf64>) {
    ^bb0(%a: f64, %old: f64):
      %b = arith.addf %a, %old : f64
      linalg.yield %b : f64
    } -> tensor<4xf64>
    scf.yield %stored, %sum : tensor<40xf64>, tensor<4xf64>
  }
  func.return %tape, %sums : tensor<40xf64>, tensor<4xf64>
}
