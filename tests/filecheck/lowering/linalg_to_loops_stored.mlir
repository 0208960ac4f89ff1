// RUN: mlirad-opt %s -p 'mlirad-linalg-to-loops' | filecheck %s

// c has only been cleared: the first part of each sum is stored, and the others are added to it. Nothing is cleared.
// CHECK-LABEL: func.func @stored
// CHECK-NOT:   linalg.fill
// CHECK:       scf.for %[[K:.*]] = %[[ZERO:.*]] to
// CHECK:       %[[IS_FIRST:.*]] = arith.cmpi eq, %[[K]], %[[ZERO]] : index
// CHECK:       scf.if %[[IS_FIRST]]
// CHECK-NEXT:    scf.yield
// CHECK-NEXT:  } else {
// CHECK-NEXT:    vector.load %c[
// CHECK:         arith.addf
// CHECK:       vector.store %{{.*}}, %c[
func.func @stored(%a: memref<600x600xf64>, %b: memref<600x600xf64>, %c: memref<600x600xf64>) {
  %zero = arith.constant 0.0 : f64
  linalg.fill ins(%zero : f64) outs(%c : memref<600x600xf64>)
  linalg.generic {
    indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>,
                     affine_map<(i, j, k) -> (i, j)>],
    iterator_types = ["parallel", "parallel", "reduction"]
  } ins(%a, %b : memref<600x600xf64>, memref<600x600xf64>) outs(%c : memref<600x600xf64>) {
  ^bb0(%x: f64, %y: f64, %z: f64):
    %p = arith.mulf %x, %y : f64
    %s = arith.addf %z, %p : f64
    linalg.yield %s : f64
  }
  func.return
}
