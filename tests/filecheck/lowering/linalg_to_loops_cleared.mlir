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

// So is a slice of an array. Sums of up to 640 steps are stored once: c is far away, the packed columns are not.
// CHECK-LABEL: func.func @slice
// CHECK-NOT:   linalg.fill
// CHECK:       memref.alloc() {{.*}} : memref<576x32xf32>
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
