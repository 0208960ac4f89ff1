// RUN: mlirad-opt %s -p 'mlirad-linalg-to-loops' | filecheck %s

// A slice of an array is cleared for a product: its sums are stored, and nothing is cleared or read. Sums of up to 640
// steps are stored once: the result is far away, the packed columns are not.
// CHECK-LABEL: func.func @slice
// CHECK-NOT:   linalg.fill
// CHECK:       memref.alloc() {{.*}} : memref<576x16xf32>
// CHECK-NOT:   vector.load %d[
// CHECK:       vector.store %{{.*}}, %d[
// CHECK:       func.return
func.func @slice(%a: memref<48x576xf32>, %b: memref<576x64xf32>, %d: memref<48x64xf32, strided<[64, 1], offset: ?>>) {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%d : memref<48x64xf32, strided<[64, 1], offset: ?>>)
  linalg.generic {
    indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>,
                     affine_map<(i, j, k) -> (i, j)>],
    iterator_types = ["parallel", "parallel", "reduction"]
  } ins(%a, %b : memref<48x576xf32>, memref<576x64xf32>) outs(%d : memref<48x64xf32, strided<[64, 1], offset: ?>>) {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %p = arith.mulf %x, %y : f32
    %s = arith.addf %z, %p : f32
    linalg.yield %s : f32
  }
  func.return
}

// A slice that is only cleared becomes a loop.
// CHECK-LABEL: func.func @only_cleared
// CHECK-NOT:   linalg.fill
// CHECK:       scf.for
// CHECK:       func.return
func.func @only_cleared(%d: memref<48x64xf32, strided<[64, 1], offset: ?>>) {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%d : memref<48x64xf32, strided<[64, 1], offset: ?>>)
  func.return
}
