// RUN: mlirad-opt %s -p 'mlirad-linalg-to-loops' | filecheck %s

// An array is cleared for a product whose sums are short: they are stored, and nothing is cleared or read.
// CHECK-LABEL: func.func @cleared
// CHECK-NOT:   linalg.fill
// CHECK-NOT:   vector.load %c[
// CHECK:       vector.store %{{.*}}, %c[
func.func @cleared(%a: memref<48x8xf64>, %b: memref<8x48xf64>, %c: memref<48x48xf64>) {
  %zero = arith.constant 0.0 : f64
  linalg.fill ins(%zero : f64) outs(%c : memref<48x48xf64>)
  linalg.generic {
    indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>,
                     affine_map<(i, j, k) -> (i, j)>],
    iterator_types = ["parallel", "parallel", "reduction"]
  } ins(%a, %b : memref<48x8xf64>, memref<8x48xf64>) outs(%c : memref<48x48xf64>) {
  ^bb0(%x: f64, %y: f64, %z: f64):
    %p = arith.mulf %x, %y : f64
    %s = arith.addf %z, %p : f64
    linalg.yield %s : f64
  }
  func.return
}
