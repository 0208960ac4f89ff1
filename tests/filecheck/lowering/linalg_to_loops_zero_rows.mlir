// RUN: mlirad-opt %s -p 'mlirad-linalg-to-loops' | filecheck %s

// Most directions of a Jacobian move few bones of a hand. The rows of a direction whose tangent is zero add nothing, and
// one test spares all of their columns. Tiles have rows of one direction: the others may not be zero.
// CHECK-LABEL: func.func @tangents
// CHECK:       scf.for %[[DIRECTION:.*]] =
// CHECK:         memref.load %a[%[[DIRECTION]],
// CHECK:         arith.cmpf oeq
// CHECK:         scf.if
// CHECK-NEXT:    } else {
// CHECK:           scf.for
// CHECK:             vector.fma
// CHECK:             vector.store
func.func @tangents(%a: memref<26x3x4xf64, strided<[16, 4, 1]>>, %b: memref<4x96xf64>, %w: memref<96xf64>,
                    %out: memref<26x3x96xf64>) {
  %c = memref.alloc() {mlirad.offset = 0 : i64} : memref<26x3x96xf64>
  %zero = arith.constant 0.0 : f64
  linalg.fill ins(%zero : f64) outs(%c : memref<26x3x96xf64>)
  linalg.generic {
    indexing_maps = [affine_map<(a, i, j, k) -> (a, i, k)>, affine_map<(a, i, j, k) -> (k, j)>,
                     affine_map<(a, i, j, k) -> (a, i, j)>],
    iterator_types = ["parallel", "parallel", "parallel", "reduction"]
  } ins(%a, %b : memref<26x3x4xf64, strided<[16, 4, 1]>>, memref<4x96xf64>) outs(%c : memref<26x3x96xf64>) {
  ^bb0(%x: f64, %y: f64, %z: f64):
    %p = arith.mulf %x, %y {mlirad.tangent_factor = 0 : i64} : f64
    %s = arith.addf %z, %p : f64
    linalg.yield %s : f64
  }
  linalg.generic {
    indexing_maps = [affine_map<(a, i, j) -> (a, i, j)>, affine_map<(a, i, j) -> (j)>,
                     affine_map<(a, i, j) -> (a, i, j)>, affine_map<(a, i, j) -> (a, i, j)>],
    iterator_types = ["parallel", "parallel", "parallel"]
  } ins(%c, %w, %out : memref<26x3x96xf64>, memref<96xf64>, memref<26x3x96xf64>) outs(%out : memref<26x3x96xf64>) {
  ^bb0(%x: f64, %y: f64, %z: f64, %_: f64):
    %p = arith.mulf %x, %y : f64
    %s = arith.addf %z, %p : f64
    linalg.yield %s : f64
  }
  func.return
}

// Where results are stored, zeros are stored. Where the nest computes more than a multiple, zeros count.
// CHECK-LABEL: func.func @stored
// CHECK-NOT:   scf.if
// CHECK:       func.return
func.func @stored(%a: memref<12x4xf64>, %b: memref<4x96xf64>, %c: memref<12x96xf64>, %out: memref<12x96xf64>) {
  %d = memref.alloc() {mlirad.offset = 0 : i64} : memref<12x96xf64>
  %zero = arith.constant 0.0 : f64
  linalg.fill ins(%zero : f64) outs(%c : memref<12x96xf64>)
  linalg.generic {
    indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>,
                     affine_map<(i, j, k) -> (i, j)>],
    iterator_types = ["parallel", "parallel", "reduction"]
  } ins(%a, %b : memref<12x4xf64>, memref<4x96xf64>) outs(%c : memref<12x96xf64>) {
  ^bb0(%x: f64, %y: f64, %z: f64):
    %p = arith.mulf %x, %y {mlirad.tangent_factor = 0 : i64} : f64
    %s = arith.addf %z, %p : f64
    linalg.yield %s : f64
  }
  linalg.fill ins(%zero : f64) outs(%d : memref<12x96xf64>)
  linalg.generic {
    indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>,
                     affine_map<(i, j, k) -> (i, j)>],
    iterator_types = ["parallel", "parallel", "reduction"]
  } ins(%a, %b : memref<12x4xf64>, memref<4x96xf64>) outs(%d : memref<12x96xf64>) {
  ^bb0(%x: f64, %y: f64, %z: f64):
    %p = arith.mulf %x, %y {mlirad.tangent_factor = 0 : i64} : f64
    %s = arith.addf %z, %p : f64
    linalg.yield %s : f64
  }
  linalg.generic {
    indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
    iterator_types = ["parallel", "parallel"]
  } ins(%d, %out : memref<12x96xf64>, memref<12x96xf64>) outs(%out : memref<12x96xf64>) {
  ^bb0(%x: f64, %old: f64, %_: f64):
    %one = arith.constant 1.0 : f64
    %p = arith.subf %x, %one : f64
    %s = arith.addf %old, %p : f64
    linalg.yield %s : f64
  }
  func.return
}

// A factor that is no tangent: 0 times inf is nan. The second factor of tangents is no row of them.
// CHECK-LABEL: func.func @added
// CHECK-NOT:   scf.if
// CHECK:       func.return
func.func @added(%a: memref<12x4xf64>, %b: memref<4x96xf64>, %c: memref<12x96xf64>) {
  linalg.generic {
    indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>,
                     affine_map<(i, j, k) -> (i, j)>],
    iterator_types = ["parallel", "parallel", "reduction"]
  } ins(%a, %b : memref<12x4xf64>, memref<4x96xf64>) outs(%c : memref<12x96xf64>) {
  ^bb0(%x: f64, %y: f64, %z: f64):
    %p = arith.mulf %x, %y : f64
    %s = arith.addf %z, %p : f64
    linalg.yield %s : f64
  }
  linalg.generic {
    indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>,
                     affine_map<(i, j, k) -> (i, j)>],
    iterator_types = ["parallel", "parallel", "reduction"]
  } ins(%a, %b : memref<12x4xf64>, memref<4x96xf64>) outs(%c : memref<12x96xf64>) {
  ^bb0(%x: f64, %y: f64, %z: f64):
    %p = arith.mulf %x, %y {mlirad.tangent_factor = 1 : i64} : f64
    %s = arith.addf %z, %p : f64
    linalg.yield %s : f64
  }
  func.return
}

// Products whose result already holds something are skipped alike.
// CHECK-LABEL: func.func @added_tangents
// CHECK:       arith.cmpf oeq
// CHECK:       scf.if
func.func @added_tangents(%a: memref<12x4xf64>, %b: memref<4x96xf64>, %c: memref<12x96xf64>) {
  linalg.generic {
    indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>,
                     affine_map<(i, j, k) -> (i, j)>],
    iterator_types = ["parallel", "parallel", "reduction"]
  } ins(%a, %b : memref<12x4xf64>, memref<4x96xf64>) outs(%c : memref<12x96xf64>) {
  ^bb0(%x: f64, %y: f64, %z: f64):
    %p = arith.mulf %x, %y {mlirad.tangent_factor = 0 : i64} : f64
    %s = arith.addf %z, %p : f64
    linalg.yield %s : f64
  }
  func.return
}
