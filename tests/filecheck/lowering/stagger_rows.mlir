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

// A step of a loop that stores the rows which it will overwrite: in the slot of a tape, whose place is known only at run
// time. Rows are stored directly before they are overwritten. Nothing else of the tape may be accessed meanwhile.

// CHECK-LABEL: func.func @stored
// CHECK:         %[[SLOT:.*]] = memref.expand_shape
// CHECK:         scf.for %[[T:.*]] = %{{.*}} to %{{.*}} step
// CHECK:           memref.subview %[[SLOT]][%{{.*}}, 0] [1, 400] [1, 1]
// CHECK:           "memref.copy"
// CHECK:           linalg.generic
// CHECK:           "memref.copy"
// CHECK-NOT:     "memref.copy"
// CHECK:         func.return
func.func @stored(%x: memref<92x400xf64>, %tape: memref<?xf64>, %k: index) {
  %inner = memref.subview %x[1, 0] [90, 400] [1, 1] : memref<92x400xf64> to memref<90x400xf64, strided<[400, 1], offset: 400>>
  %part = memref.subview %tape[%k] [36000] [1] : memref<?xf64> to memref<36000xf64, strided<[1], offset: ?>>
  %slot = memref.expand_shape %part [[0 : i64, 1 : i64]] output_shape [90, 400] : memref<36000xf64, strided<[1], offset: ?>> into memref<90x400xf64, strided<[400, 1], offset: ?>>
  "memref.copy"(%inner, %slot) : (memref<90x400xf64, strided<[400, 1], offset: 400>>, memref<90x400xf64, strided<[400, 1], offset: ?>>) -> ()
  %above = memref.subview %x[0, 0] [90, 400] [1, 1] : memref<92x400xf64> to memref<90x400xf64, strided<[400, 1]>>
  %below = memref.subview %x[2, 0] [90, 400] [1, 1] : memref<92x400xf64> to memref<90x400xf64, strided<[400, 1], offset: 800>>
  %e = memref.alloc() : memref<90x400xf64>
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%above, %below : memref<90x400xf64, strided<[400, 1]>>, memref<90x400xf64, strided<[400, 1], offset: 800>>) outs(%e : memref<90x400xf64>) {
  ^bb0(%a: f64, %b: f64, %old: f64):
    %c = arith.mulf %a, %b : f64
    linalg.yield %c : f64
  }
  "memref.copy"(%e, %inner) : (memref<90x400xf64>, memref<90x400xf64, strided<[400, 1], offset: 400>>) -> ()
  func.return
}

// Two slots of one tape may overlap, so they do not share a loop.

// CHECK-LABEL: func.func @two_slots
// CHECK:         "memref.copy"
// CHECK:         "memref.copy"
// CHECK-NOT:     scf.for
// CHECK:         func.return
func.func @two_slots(%x: memref<91x400xf64>, %tape: memref<?xf64>, %k: index, %l: index) {
  %above = memref.subview %x[0, 0] [90, 400] [1, 1] : memref<91x400xf64> to memref<90x400xf64, strided<[400, 1]>>
  %below = memref.subview %x[1, 0] [90, 400] [1, 1] : memref<91x400xf64> to memref<90x400xf64, strided<[400, 1], offset: 400>>
  %p = memref.subview %tape[%k] [36000] [1] : memref<?xf64> to memref<36000xf64, strided<[1], offset: ?>>
  %first = memref.expand_shape %p [[0 : i64, 1 : i64]] output_shape [90, 400] : memref<36000xf64, strided<[1], offset: ?>> into memref<90x400xf64, strided<[400, 1], offset: ?>>
  "memref.copy"(%above, %first) : (memref<90x400xf64, strided<[400, 1]>>, memref<90x400xf64, strided<[400, 1], offset: ?>>) -> ()
  %q = memref.subview %tape[%l] [36000] [1] : memref<?xf64> to memref<36000xf64, strided<[1], offset: ?>>
  %second = memref.expand_shape %q [[0 : i64, 1 : i64]] output_shape [90, 400] : memref<36000xf64, strided<[1], offset: ?>> into memref<90x400xf64, strided<[400, 1], offset: ?>>
  "memref.copy"(%below, %second) : (memref<90x400xf64, strided<[400, 1], offset: 400>>, memref<90x400xf64, strided<[400, 1], offset: ?>>) -> ()
  "memref.copy"(%second, %above) : (memref<90x400xf64, strided<[400, 1], offset: ?>>, memref<90x400xf64, strided<[400, 1]>>) -> ()
  func.return
}

// Arrays with one axis run by blocks of elements. %y is computed from three elements of %x, and copied over them, one
// element behind: %new has one element more than a block, which the next block finds at the front. The slot of a tape
// is stored while the old elements are in the cache.

// CHECK-LABEL: func.func @elements
// CHECK:         %[[NEW:.*]] = memref.alloc() : memref<513xf64>
// CHECK:         scf.for %[[T:.*]] = %{{.*}} to %{{.*}} step
// CHECK:           scf.if
// CHECK:             "memref.copy"
// CHECK:           scf.if
// CHECK:             linalg.generic
// CHECK:           scf.if
// CHECK:             memref.subview %[[NEW]]
// CHECK:             "memref.copy"
// CHECK:           memref.subview %[[NEW]][512] [1] [1]
// CHECK:           memref.subview %[[NEW]][0] [1] [1]
// CHECK:           "memref.copy"
// CHECK:         func.return
func.func @elements(%x: memref<9002xf64>, %tape: memref<?xf64>, %k: index) {
  %low = memref.subview %x[0] [9000] [1] : memref<9002xf64> to memref<9000xf64, strided<[1]>>
  %mid = memref.subview %x[1] [9000] [1] : memref<9002xf64> to memref<9000xf64, strided<[1], offset: 1>>
  %high = memref.subview %x[2] [9000] [1] : memref<9002xf64> to memref<9000xf64, strided<[1], offset: 2>>
  %slot = memref.subview %tape[%k] [9000] [1] : memref<?xf64> to memref<9000xf64, strided<[1], offset: ?>>
  "memref.copy"(%mid, %slot) : (memref<9000xf64, strided<[1], offset: 1>>, memref<9000xf64, strided<[1], offset: ?>>) -> ()
  %new = memref.alloc() : memref<9000xf64>
  linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%low, %high : memref<9000xf64, strided<[1]>>, memref<9000xf64, strided<[1], offset: 2>>) outs(%new : memref<9000xf64>) {
  ^bb0(%a: f64, %b: f64, %old: f64):
    %c = arith.mulf %a, %b : f64
    linalg.yield %c : f64
  }
  "memref.copy"(%new, %mid) : (memref<9000xf64>, memref<9000xf64, strided<[1], offset: 1>>) -> ()
  func.return
}

// Functions, which may round differently at the end of a block, and sums keep their loops; so do nests on rows beside
// nests on elements.

// CHECK-LABEL: func.func @apart_of_elements
// CHECK-NOT:     scf.for
// CHECK:         func.return
func.func @apart_of_elements(%x: memref<9002xf64>, %y: memref<9001xf64>, %z: memref<9000xf64>, %total: memref<f64>) {
  %xl = memref.subview %x[0] [9001] [1] : memref<9002xf64> to memref<9001xf64, strided<[1]>>
  %xh = memref.subview %x[1] [9001] [1] : memref<9002xf64> to memref<9001xf64, strided<[1], offset: 1>>
  linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%xl, %xh : memref<9001xf64, strided<[1]>>, memref<9001xf64, strided<[1], offset: 1>>) outs(%y : memref<9001xf64>) {
  ^bb0(%a: f64, %b: f64, %old: f64):
    %c = arith.mulf %a, %b : f64
    linalg.yield %c : f64
  }
  %yh = memref.subview %y[1] [9000] [1] : memref<9001xf64> to memref<9000xf64, strided<[1], offset: 1>>
  linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%yh : memref<9000xf64, strided<[1], offset: 1>>) outs(%z : memref<9000xf64>) {
  ^bb0(%a: f64, %old: f64):
    %c = math.exp %a : f64
    linalg.yield %c : f64
  }
  linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>], iterator_types = ["reduction"]} ins(%yh : memref<9000xf64, strided<[1], offset: 1>>) outs(%total : memref<f64>) {
  ^bb0(%a: f64, %old: f64):
    %c = arith.addf %old, %a : f64
    linalg.yield %c : f64
  }
  func.return
}
