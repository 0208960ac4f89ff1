// RUN: mlirad-opt %s -p 'mlirad-linalg-to-loops' | filecheck %s

// Two long products, one of them with a transposed: the tiles of both are one function, which reads through strides.
// Of an array of known layout they are constants.
// CHECK-LABEL: func.func @f
// CHECK:       memref.reinterpret_cast %a
// CHECK:       func.call @mlirad_tiles_f64_6x2x4(%{{.*}}) {mlirad.work = {{[0-9]+}} : i64}
// CHECK:       func.call @mlirad_tiles_f64_6x2x4(%{{.*}}) {mlirad.work = {{[0-9]+}} : i64}
// CHECK-NOT:   vector.fma
// CHECK:       func.func private @mlirad_tiles_f64_6x2x4
// CHECK-SAME:  mlirad.leaf
// CHECK-COUNT-12: vector.fma
// CHECK-NOT:   vector.fma
func.func @f(%a: memref<96x96xf64>, %b: memref<96x96xf64>, %c: memref<96x96xf64>) {
  linalg.generic {
    indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>,
                     affine_map<(i, j, k) -> (i, j)>],
    iterator_types = ["parallel", "parallel", "reduction"]
  } ins(%a, %b : memref<96x96xf64>, memref<96x96xf64>) outs(%c : memref<96x96xf64>) {
  ^bb0(%x: f64, %y: f64, %z: f64):
    %p = arith.mulf %x, %y : f64
    %s = arith.addf %z, %p : f64
    linalg.yield %s : f64
  }
  linalg.generic {
    indexing_maps = [affine_map<(i, j, k) -> (k, i)>, affine_map<(i, j, k) -> (k, j)>,
                     affine_map<(i, j, k) -> (i, j)>],
    iterator_types = ["parallel", "parallel", "reduction"]
  } ins(%a, %c : memref<96x96xf64>, memref<96x96xf64>) outs(%b : memref<96x96xf64>) {
  ^bb0(%x: f64, %y: f64, %z: f64):
    %p = arith.mulf %x, %y : f64
    %s = arith.addf %z, %p : f64
    linalg.yield %s : f64
  }
  func.return
}
