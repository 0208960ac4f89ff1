// RUN: mlirad-opt %s -p 'mlirad-linalg-to-loops{parallel=true}' | filecheck %s

// An array is cleared for a product that threads share by rows, and whose sums are short: they are stored, and nothing is
// cleared or read. What is cut along its sum is added to the zeros: a clear, which the target does at once.
// CHECK-LABEL: func.func @shared
// CHECK-NOT:   linalg.fill
// CHECK:       "scf.parallel"
// CHECK-NOT:   vector.load %{{.*}} : memref<?x512xf64
// CHECK:         vector.store
// CHECK:         scf.reduce
// CHECK-LABEL: func.func @shared_sum
// CHECK:       linalg.fill
// CHECK-SAME:    outs(%c
// CHECK:       "scf.parallel"
func.func @shared(%a: memref<512x64xf64>, %b: memref<64x512xf64>, %c: memref<512x512xf64>) {
  %zero = arith.constant 0.0 : f64
  linalg.fill ins(%zero : f64) outs(%c : memref<512x512xf64>)
  linalg.generic {
    indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>,
                     affine_map<(i, j, k) -> (i, j)>],
    iterator_types = ["parallel", "parallel", "reduction"]
  } ins(%a, %b : memref<512x64xf64>, memref<64x512xf64>) outs(%c : memref<512x512xf64>) {
  ^bb0(%x: f64, %y: f64, %z: f64):
    %p = arith.mulf %x, %y : f64
    %s = arith.addf %z, %p : f64
    linalg.yield %s : f64
  }
  func.return
}

func.func @shared_sum(%a: memref<100000x6xf64>, %b: memref<100000x5xf64>, %c: memref<6x5xf64>) {
  %zero = arith.constant 0.0 : f64
  linalg.fill ins(%zero : f64) outs(%c : memref<6x5xf64>)
  linalg.generic {
    indexing_maps = [affine_map<(i, j, k) -> (k, i)>, affine_map<(i, j, k) -> (k, j)>,
                     affine_map<(i, j, k) -> (i, j)>],
    iterator_types = ["parallel", "parallel", "reduction"]
  } ins(%a, %b : memref<100000x6xf64>, memref<100000x5xf64>) outs(%c : memref<6x5xf64>) {
  ^bb0(%x: f64, %y: f64, %z: f64):
    %p = arith.mulf %x, %y : f64
    %s = arith.addf %z, %p : f64
    linalg.yield %s : f64
  }
  func.return
}
