// RUN: mlirad-opt %s -p 'mlirad-stagger-rows{least=0 step=0}' | filecheck %s
// Nests that read neighbouring rows of one another run in one loop, each as many rows behind as it needs: a row is read
// while it is in the cache. Memory that only they use has as many rows as are in use at one time.
//
//     time      0    1    2    3   ...
//     e         0    1    2    3         e[i] = x[i] + x[i]
//     y              0    1    2         y[i] = e[i] * e[i + 1]

// CHECK-LABEL: func.func @behind
// CHECK:         %[[E:.*]] = memref.alloc() : memref<2x4xf64>
// CHECK:         scf.for %[[T:.*]] = %{{.*}} to %[[END:.*]] step
// CHECK:           memref.subview %x[%[[T]], 0] [1, 4] [1, 1]
// CHECK:           linalg.generic
// CHECK:           %[[ONE:.*]] = arith.constant 1 : index
// CHECK:           %[[ROW:.*]] = arith.subi %[[T]], %[[ONE]] : index
// CHECK:           arith.cmpi ult, %[[ROW]]
// CHECK:           scf.if
// CHECK:             memref.subview %y[%[[ROW]], 0] [1, 4] [1, 1]
// CHECK:             linalg.generic
// CHECK:         func.return
func.func @behind(%x: memref<8x4xf64>, %y: memref<7x4xf64>) {
  %e = memref.alloc() : memref<8x4xf64>
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%x : memref<8x4xf64>) outs(%e : memref<8x4xf64>) {
  ^bb0(%a: f64, %old: f64):
    %b = arith.addf %a, %a : f64
    linalg.yield %b : f64
  }
  %v = memref.subview %e[0, 0] [7, 4] [1, 1] : memref<8x4xf64> to memref<7x4xf64, strided<[4, 1]>>
  %w = memref.subview %e[1, 0] [7, 4] [1, 1] : memref<8x4xf64> to memref<7x4xf64, strided<[4, 1], offset: 4>>
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%v, %w : memref<7x4xf64, strided<[4, 1]>>, memref<7x4xf64, strided<[4, 1], offset: 4>>) outs(%y : memref<7x4xf64>) {
  ^bb0(%a: f64, %b: f64, %old: f64):
    %c = arith.mulf %a, %b : f64
    linalg.yield %c : f64
  }
  func.return
}

// Two nests that update arguments in place, as in a time step of two fields. Row i of the first one writes row i + 1 of x.
// The second one reads this row and overwrites row i of y, which the first one no longer needs: both run at the same
// time. A row that is set alone is set at its time.

// CHECK-LABEL: func.func @in_turns
// CHECK-NOT:     memref.alloc
// CHECK:         scf.for %[[T:.*]] = %{{.*}} to %{{.*}} step
// CHECK:           scf.if
// CHECK:             linalg.fill
// CHECK:           %[[ONE:.*]] = arith.constant 1 : index
// CHECK:           %[[ROW:.*]] = arith.subi %[[T]], %[[ONE]] : index
// CHECK:           arith.cmpi ult, %[[ROW]]
// CHECK:           scf.if
// CHECK:             memref.subview %yl[%[[ROW]], 0] [1, 400] [1, 1]
// CHECK:             linalg.generic
// CHECK:             %[[OUT:.*]] = memref.subview %yf[%[[ROW]], 0] [1, 400] [1, 1]
// CHECK:             linalg.generic
// CHECK-SAME:          outs(%[[OUT]] :
// CHECK:         func.return
func.func @in_turns(%x: memref<90x400xf64>, %y: memref<90x400xf64>, %f: f64) {
  %first = memref.subview %x[0, 0] [1, 400] [1, 1] : memref<90x400xf64> to memref<1x400xf64, strided<[400, 1]>>
  linalg.fill ins(%f : f64) outs(%first : memref<1x400xf64, strided<[400, 1]>>)
  %xl = memref.subview %x[1, 0] [89, 400] [1, 1] : memref<90x400xf64> to memref<89x400xf64, strided<[400, 1], offset: 400>>
  %xf = memref.subview %x[0, 0] [89, 400] [1, 1] : memref<90x400xf64> to memref<89x400xf64, strided<[400, 1]>>
  %yl = memref.subview %y[1, 0] [89, 400] [1, 1] : memref<90x400xf64> to memref<89x400xf64, strided<[400, 1], offset: 400>>
  %yf = memref.subview %y[0, 0] [89, 400] [1, 1] : memref<90x400xf64> to memref<89x400xf64, strided<[400, 1]>>
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%yl, %yf : memref<89x400xf64, strided<[400, 1], offset: 400>>, memref<89x400xf64, strided<[400, 1]>>) outs(%xl : memref<89x400xf64, strided<[400, 1], offset: 400>>) {
  ^bb0(%a: f64, %b: f64, %old: f64):
    %c = arith.subf %a, %b : f64
    %d = arith.subf %old, %c : f64
    linalg.yield %d : f64
  }
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%xl, %xf : memref<89x400xf64, strided<[400, 1], offset: 400>>, memref<89x400xf64, strided<[400, 1]>>) outs(%yf : memref<89x400xf64, strided<[400, 1]>>) {
  ^bb0(%a: f64, %b: f64, %old: f64):
    %c = arith.subf %a, %b : f64
    %d = arith.subf %old, %c : f64
    linalg.yield %d : f64
  }
  func.return
}

// A sum of all elements is computed from the sums of the rows, and what needs it comes after the loop.

// CHECK-LABEL: func.func @with_sum
// CHECK:         scf.for %[[T:.*]] = %{{.*}} to %{{.*}} step
// CHECK:           linalg.generic
// CHECK:           scf.if
// CHECK:             memref.store %{{.*}}, %[[CELL:.*]][] : memref<f64>
// CHECK:             linalg.generic
// CHECK-SAME:          outs(%[[CELL]] : memref<f64>)
// CHECK:             memref.load %[[CELL]][] : memref<f64>
// CHECK:             memref.store %{{.*}}, %[[SUMS:.*]][%{{.*}}] : memref<7xf64>
// CHECK:         linalg.generic {{.*}} ins(%[[SUMS]] : memref<7xf64>) outs(%total : memref<f64>)
// CHECK:         memref.load %total[] : memref<f64>
// CHECK:         func.return
func.func @with_sum(%x: memref<8x4xf64>, %total: memref<f64>, %y: memref<7x4xf64>) -> f64 {
  %e = memref.alloc() : memref<8x4xf64>
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%x : memref<8x4xf64>) outs(%e : memref<8x4xf64>) {
  ^bb0(%a: f64, %old: f64):
    %b = arith.addf %a, %a : f64
    linalg.yield %b : f64
  }
  %v = memref.subview %e[0, 0] [7, 4] [1, 1] : memref<8x4xf64> to memref<7x4xf64, strided<[4, 1]>>
  %w = memref.subview %e[1, 0] [7, 4] [1, 1] : memref<8x4xf64> to memref<7x4xf64, strided<[4, 1], offset: 4>>
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> ()>], iterator_types = ["reduction", "reduction"]} ins(%v, %w : memref<7x4xf64, strided<[4, 1]>>, memref<7x4xf64, strided<[4, 1], offset: 4>>) outs(%total : memref<f64>) {
  ^bb0(%a: f64, %b: f64, %sum: f64):
    %c = arith.mulf %a, %b : f64
    %d = arith.addf %sum, %c : f64
    linalg.yield %d : f64
  }
  %loss = memref.load %total[] : memref<f64>
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%w : memref<7x4xf64, strided<[4, 1], offset: 4>>) outs(%y : memref<7x4xf64>) {
  ^bb0(%a: f64, %old: f64):
    linalg.yield %a : f64
  }
  func.return %loss : f64
}

// A nest that may need any row of a result ends the run.

// CHECK-LABEL: func.func @apart
// CHECK-NOT:     scf.for
// CHECK:         func.return
func.func @apart(%x: memref<90x90xf64>, %e: memref<90x90xf64>, %y: memref<90x90xf64>) {
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%x : memref<90x90xf64>) outs(%e : memref<90x90xf64>) {
  ^bb0(%a: f64, %old: f64):
    %b = arith.addf %a, %a : f64
    linalg.yield %b : f64
  }
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%e : memref<90x90xf64>) outs(%y : memref<90x90xf64>) {
  ^bb0(%a: f64, %old: f64):
    %b = arith.addf %a, %a : f64
    linalg.yield %b : f64
  }
  func.return
}
