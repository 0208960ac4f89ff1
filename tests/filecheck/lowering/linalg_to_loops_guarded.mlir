// RUN: mlirad-opt %s -p 'mlirad-linalg-to-loops' | filecheck %s
// The adjoint of a minimum over an axis adds zeros, but where an element is the minimum. The points are skipped at which
// nothing is added: the comparison is made in vectors, and again for each point of a vector in which it fails.
//
//     x[i, j]   9 4 7 2 | 5 6 8 3     low[i] = 2
//               1 1 1 0 | 1 1 1 1     low[i] < x[i, j]: the second vector is skipped, and three points of the first

// CHECK-LABEL: func.func @guarded
// CHECK:       scf.for %[[I:.*]] =
// CHECK:         scf.for %[[J:.*]] =
// CHECK:           vector.load %x[%[[I]], %[[J]]]
// CHECK:           %[[ZERO:.*]] = arith.cmpf olt, {{.*}} : vector<4xf64>
// CHECK-NEXT:      %[[ALL:.*]] = vector.reduction <and>, %[[ZERO]]
// CHECK-NEXT:      scf.if %[[ALL]] {
// CHECK-NEXT:      } else {
// CHECK:             scf.for %[[K:.*]] =
// CHECK:               %[[ONE:.*]] = arith.cmpf olt, {{.*}} : f64
// CHECK-NEXT:          scf.if %[[ONE]] {
// CHECK-NEXT:          } else {
// CHECK:                 vector.load %d[%[[K]],
// CHECK:                 vector.store {{.*}}, %d[%[[K]],
// CHECK:       func.return
func.func @guarded(%low: memref<100xf64>, %x: memref<100x64xf64>, %y: memref<100x8xf64>, %d: memref<64x8xf64>) {
  %zero = arith.constant 0.0 : f64
  linalg.generic {indexing_maps = [affine_map<(i, j, a) -> (i)>, affine_map<(i, j, a) -> (i, j)>, affine_map<(i, j, a) -> (i, a)>, affine_map<(i, j, a) -> (j, a)>], iterator_types = ["reduction", "parallel", "parallel"]} ins(%low, %x, %y : memref<100xf64>, memref<100x64xf64>, memref<100x8xf64>) outs(%d : memref<64x8xf64>) {
  ^bb0(%least: f64, %this: f64, %factor: f64, %sum: f64):
    %other = arith.cmpf olt, %least, %this : f64
    %g = arith.select %other, %zero, %least : f64
    %0 = arith.mulf %g, %factor : f64
    %1 = arith.cmpf oeq, %g, %zero : f64
    %term = arith.select %1, %zero, %0 : f64
    %new = arith.addf %sum, %term : f64
    linalg.yield %new : f64
  }
  func.return
}

// 0 times infinity is nan here, and may not be skipped.
// CHECK-LABEL: func.func @may_be_nan
// CHECK-NOT:   scf.if
// CHECK:       func.return
func.func @may_be_nan(%low: memref<100xf64>, %x: memref<100x64xf64>, %y: memref<100x8xf64>, %d: memref<64x8xf64>) {
  %zero = arith.constant 0.0 : f64
  linalg.generic {indexing_maps = [affine_map<(i, j, a) -> (i)>, affine_map<(i, j, a) -> (i, j)>, affine_map<(i, j, a) -> (i, a)>, affine_map<(i, j, a) -> (j, a)>], iterator_types = ["reduction", "parallel", "parallel"]} ins(%low, %x, %y : memref<100xf64>, memref<100x64xf64>, memref<100x8xf64>) outs(%d : memref<64x8xf64>) {
  ^bb0(%least: f64, %this: f64, %factor: f64, %sum: f64):
    %other = arith.cmpf olt, %least, %this : f64
    %g = arith.select %other, %zero, %least : f64
    %term = arith.mulf %g, %factor : f64
    %new = arith.addf %sum, %term : f64
    linalg.yield %new : f64
  }
  func.return
}

// Nor is anything if the condition compares with a number: it may hold half of the time.
// CHECK-LABEL: func.func @often
// CHECK-NOT:   scf.if
// CHECK:       func.return
func.func @often(%x: memref<100x64xf64>, %y: memref<100x8xf64>, %d: memref<64x8xf64>) {
  %zero = arith.constant 0.0 : f64
  linalg.generic {indexing_maps = [affine_map<(i, j, a) -> (i, j)>, affine_map<(i, j, a) -> (i, a)>, affine_map<(i, j, a) -> (j, a)>], iterator_types = ["reduction", "parallel", "parallel"]} ins(%x, %y : memref<100x64xf64>, memref<100x8xf64>) outs(%d : memref<64x8xf64>) {
  ^bb0(%this: f64, %factor: f64, %sum: f64):
    %is_negative = arith.cmpf olt, %this, %zero : f64
    %term = arith.select %is_negative, %zero, %factor : f64
    %new = arith.addf %sum, %term : f64
    linalg.yield %new : f64
  }
  func.return
}
