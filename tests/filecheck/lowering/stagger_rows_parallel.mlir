// RUN: mlirad-opt %s -p 'mlirad-stagger-rows{least=0 step=0 parallel=true work=400000}' | filecheck %s
// Threads share a loop over rows in strips. A strip computes the rows that it needs from before its beginning again, in
// memory of its own: two strips have two rings of two rows.
//
//     strip               0       |       1
//     time      ...      47   48  |  49   50 ...
//     e         ...      47   48  |  49   50         e[i] = x[i] + x[i]; strip 1 computes e[48] again
//     y         ...      46   47  |  48   49         y[i] = e[i] * e[i + 1]

// CHECK-LABEL: func.func @in_strips
// CHECK:         %[[E:.*]] = memref.alloc() : memref<4x400xf64>
// CHECK:         "scf.parallel"
// CHECK:         ^bb0(%[[K:.*]]: index)
// CHECK:           scf.for %[[T:.*]] = %{{.*}} to %{{.*}} step
// CHECK:             scf.if
// CHECK:               memref.subview %x[%[[T]], 0] [1, 400] [1, 1]
// CHECK:               linalg.generic
// CHECK:             scf.if
// CHECK:               memref.subview %[[E]]
// CHECK:               linalg.generic
// CHECK:         func.return
func.func @in_strips(%x: memref<96x400xf64>, %y: memref<95x400xf64>) {
  %e = memref.alloc() : memref<96x400xf64>
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%x : memref<96x400xf64>) outs(%e : memref<96x400xf64>) {
  ^bb0(%a: f64, %old: f64):
    %b = arith.addf %a, %a : f64
    linalg.yield %b : f64
  }
  %v = memref.subview %e[0, 0] [95, 400] [1, 1] : memref<96x400xf64> to memref<95x400xf64, strided<[400, 1]>>
  %w = memref.subview %e[1, 0] [95, 400] [1, 1] : memref<96x400xf64> to memref<95x400xf64, strided<[400, 1], offset: 400>>
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%v, %w : memref<95x400xf64, strided<[400, 1]>>, memref<95x400xf64, strided<[400, 1], offset: 400>>) outs(%y : memref<95x400xf64>) {
  ^bb0(%a: f64, %b: f64, %old: f64):
    %c = arith.mulf %a, %b : f64
    linalg.yield %c : f64
  }
  func.return
}

// A nest also writes a result of which others read rows: where a strip computes its rows again, they go elsewhere, so that
// each row of the result is written by one strip.

// CHECK-LABEL: func.func @elsewhere
// CHECK:         %[[ELSEWHERE:.*]] = memref.alloc() : memref<2x400xf64>
// CHECK:         "scf.parallel"
// CHECK:         ^bb0(%[[K:.*]]: index)
// CHECK:           %[[ROW:.*]] = memref.subview %[[ELSEWHERE]][%[[K]], 0] [1, 400] [1, 1]
// CHECK:           scf.for %[[T:.*]] = %{{.*}} to %{{.*}} step
// CHECK:             scf.if
// CHECK-NOT:           memref.subview %z
// CHECK:               linalg.generic {{.*}} outs(%[[ROW]], %{{.*}} :
// CHECK:             scf.if
// CHECK:               %[[OUT:.*]] = memref.subview %z
// CHECK:               linalg.generic {{.*}} outs(%[[OUT]], %{{.*}} :
// CHECK:             scf.if
// CHECK:               linalg.generic
// CHECK:         func.return
func.func @elsewhere(%x: memref<96x400xf64>, %y: memref<95x400xf64>, %z: memref<96x400xf64>) {
  %e = memref.alloc() : memref<96x400xf64>
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%x : memref<96x400xf64>) outs(%z, %e : memref<96x400xf64>, memref<96x400xf64>) {
  ^bb0(%a: f64, %old: f64, %old_1: f64):
    %b = arith.addf %a, %a : f64
    %c = arith.mulf %a, %a : f64
    linalg.yield %c, %b : f64, f64
  }
  %v = memref.subview %e[0, 0] [95, 400] [1, 1] : memref<96x400xf64> to memref<95x400xf64, strided<[400, 1]>>
  %w = memref.subview %e[1, 0] [95, 400] [1, 1] : memref<96x400xf64> to memref<95x400xf64, strided<[400, 1], offset: 400>>
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%v, %w : memref<95x400xf64, strided<[400, 1]>>, memref<95x400xf64, strided<[400, 1], offset: 400>>) outs(%y : memref<95x400xf64>) {
  ^bb0(%a: f64, %b: f64, %old: f64):
    %c = arith.mulf %a, %b : f64
    linalg.yield %c : f64
  }
  func.return
}

// Each row of e needs the next row of x before it is overwritten, which may be another strip's: strip 0 needs x[47] for
// e[46]. So x[47] is overwritten after all strips. No row is computed again, and e keeps all its rows.
//
//     strip               0       |       1
//     time      ...      45   46  |  47   48 ...
//     e         ...      45   46  |  47   48         e[i] = x[i] * x[i + 1]
//     x         ...      45   46  |   w   48         x[i] = e[i] + e[i]; w: x[47] waits

// CHECK-LABEL: func.func @in_place
// CHECK:         %[[E:.*]] = memref.alloc() : memref<95x400xf64>
// CHECK:         "scf.parallel"
// CHECK:           scf.for
// CHECK:             scf.if
// CHECK:               linalg.generic {{.*}} outs(%[[ROW:.*]] : memref<1x400xf64
// CHECK:             scf.if
// CHECK:               linalg.generic
// CHECK:         "scf.parallel"
// CHECK:           scf.for
// CHECK:             scf.if
// CHECK:               memref.subview %[[E]]
// CHECK:               memref.subview %f
// CHECK-NEXT:          linalg.generic
// CHECK-NOT:         linalg.generic
// CHECK:         func.return
func.func @in_place(%x: memref<96x400xf64>) {
  %e = memref.alloc() : memref<95x400xf64>
  %f = memref.subview %x[0, 0] [95, 400] [1, 1] : memref<96x400xf64> to memref<95x400xf64, strided<[400, 1]>>
  %l = memref.subview %x[1, 0] [95, 400] [1, 1] : memref<96x400xf64> to memref<95x400xf64, strided<[400, 1], offset: 400>>
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%f, %l : memref<95x400xf64, strided<[400, 1]>>, memref<95x400xf64, strided<[400, 1], offset: 400>>) outs(%e : memref<95x400xf64>) {
  ^bb0(%a: f64, %b: f64, %old: f64):
    %c = arith.mulf %a, %b : f64
    linalg.yield %c : f64
  }
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%e : memref<95x400xf64>) outs(%f : memref<95x400xf64, strided<[400, 1]>>) {
  ^bb0(%a: f64, %old: f64):
    %c = arith.addf %a, %a : f64
    linalg.yield %c : f64
  }
  func.return
}
