// RUN: mlirad-opt %s -p 'mlirad-share-trips{parallel=true work=500},mlirad-plan-arena' | filecheck %s
// A trip that reads and writes its own rows, counted from the last one, needs no other trip, so threads share the trips.
// Memory that a trip allocates has a place in each strip: the arena has two of 64 bytes.

// CHECK-LABEL: func.func @own_rows
// CHECK-SAME:    mlirad.arena_size = 128 : i64
// CHECK:         "scf.parallel"
// CHECK:           scf.for %{{.*}} = %{{.*}} to %{{.*}} step
// CHECK:             memref.alloc() {mlirad.offset = 0 : i64, mlirad.block_bytes = 64 : i64} : memref<8xf64>
// CHECK:         func.return
func.func @own_rows(%x: memref<8x8xf64>, %y: memref<64xf64>) {
  %zero = arith.constant 0 : i64
  %eight = arith.constant 8 : i64
  %seven = arith.constant 7 : i64
  %one = arith.constant 1 : i64
  scf.for %i = %zero to %eight step %one : i64 {
    %q = arith.subi %seven, %i : i64
    %row = arith.index_cast %q : i64 to index
    %place = arith.muli %q, %eight : i64
    %at = arith.index_cast %place : i64 to index
    %e = memref.alloc() : memref<8xf64>
    %v = memref.subview %x[%row, 0] [1, 8] [1, 1] : memref<8x8xf64> to memref<8xf64, strided<[1], offset: ?>>
    %w = memref.subview %y[%at] [8] [1] : memref<64xf64> to memref<8xf64, strided<[1], offset: ?>>
    linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%v : memref<8xf64, strided<[1], offset: ?>>) outs(%e : memref<8xf64>) {
    ^bb0(%a: f64, %old: f64):
      %b = arith.addf %a, %a : f64
      linalg.yield %b : f64
    }
    linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%e : memref<8xf64>) outs(%w : memref<8xf64, strided<[1], offset: ?>>) {
    ^bb0(%a: f64, %old: f64):
      %b = arith.addf %a, %old : f64
      linalg.yield %b : f64
    }
  }
  func.return
}

// A sum of all trips: each strip adds up in its part of an array, and the parts are added in order.

// CHECK-LABEL: func.func @sum_of_rows
// CHECK:         %[[PARTS:.*]] = memref.alloc() {{.*}} : memref<2x8xf64>
// CHECK:         "scf.parallel"
// CHECK:           %[[PART:.*]] = memref.subview %[[PARTS]]
// CHECK:           linalg.fill {{.*}} outs(%[[PART]] :
// CHECK:           scf.for
// CHECK:             linalg.generic {{.*}} ins(%[[PART]], %{{.*}} outs(%[[PART]] :
// CHECK:         scf.reduce
// CHECK:         linalg.generic {{.*}} ins(%[[PARTS]] : memref<2x8xf64>) outs(%y :
func.func @sum_of_rows(%x: memref<11x8xf64>, %y: memref<8xf64>) {
  %zero = arith.constant 0 : index
  %trips = arith.constant 11 : index
  %one = arith.constant 1 : index
  scf.for %i = %zero to %trips step %one {
    %v = memref.subview %x[%i, 0] [1, 8] [1, 1] : memref<11x8xf64> to memref<8xf64, strided<[1], offset: ?>>
    linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%y, %v : memref<8xf64>, memref<8xf64, strided<[1], offset: ?>>) outs(%y : memref<8xf64>) {
    ^bb0(%a: f64, %b: f64, %old: f64):
      %c = arith.addf %a, %b : f64
      linalg.yield %c : f64
    }
  }
  func.return
}

// A number that trips add to: each strip begins at the neutral number, and the first number is added at the end.

// CHECK-LABEL: func.func @number
// CHECK:         %[[NUMBERS:.*]] = memref.alloc() {{.*}} : memref<2xf64>
// CHECK:         "scf.parallel"
// CHECK:           %[[ZERO:.*]] = arith.constant -0.000000e+00 : f64
// CHECK:           %[[SUM:.*]] = scf.for {{.*}} iter_args(%{{.*}} = %[[ZERO]]) -> (f64)
// CHECK:           memref.store %[[SUM]], %[[NUMBERS]]
// CHECK:         memref.store %start, %[[WHOLE:.*]][] : memref<f64>
// CHECK:         linalg.generic {{.*}} ins(%[[NUMBERS]] : memref<2xf64>) outs(%[[WHOLE]] :
// CHECK:         %[[RESULT:.*]] = memref.load %[[WHOLE]]
// CHECK:         func.return %[[RESULT]]
func.func @number(%x: memref<16x8xf64>, %start: f64) -> f64 {
  %zero = arith.constant 0 : index
  %trips = arith.constant 16 : index
  %one = arith.constant 1 : index
  %result = scf.for %i = %zero to %trips step %one iter_args(%t = %start) -> (f64) {
    %e = memref.alloc() : memref<f64>
    %v = memref.subview %x[%i, 0] [1, 8] [1, 1] : memref<16x8xf64> to memref<8xf64, strided<[1], offset: ?>>
    linalg.fill ins(%start : f64) outs(%e : memref<f64>)
    linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>], iterator_types = ["reduction"]} ins(%v : memref<8xf64, strided<[1], offset: ?>>) outs(%e : memref<f64>) {
    ^bb0(%a: f64, %old: f64):
      %c = arith.addf %a, %old : f64
      linalg.yield %c : f64
    }
    %w = memref.load %e[] : memref<f64>
    %u = arith.addf %t, %w : f64
    scf.yield %u : f64
  }
  func.return %result : f64
}

// A trip that reads the row that the trip before it wrote; one that writes two rows, the second of which is the next
// trip's; and one that overwrites what all trips write: these stay.

// CHECK-LABEL: func.func @rows_of_others
// CHECK-NOT:     scf.parallel
// CHECK:         func.return
func.func @rows_of_others(%x: memref<17x8xf64>, %y: memref<8xf64>) {
  %zero = arith.constant 0 : index
  %trips = arith.constant 16 : index
  %one = arith.constant 1 : index
  scf.for %i = %zero to %trips step %one {
    %j = arith.addi %i, %one : index
    %v = memref.subview %x[%i, 0] [1, 8] [1, 1] : memref<17x8xf64> to memref<8xf64, strided<[1], offset: ?>>
    %w = memref.subview %x[%j, 0] [1, 8] [1, 1] : memref<17x8xf64> to memref<8xf64, strided<[1], offset: ?>>
    linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%v : memref<8xf64, strided<[1], offset: ?>>) outs(%w : memref<8xf64, strided<[1], offset: ?>>) {
    ^bb0(%a: f64, %old: f64):
      linalg.yield %a : f64
    }
  }
  scf.for %i = %zero to %trips step %one {
    %v = memref.subview %x[%i, 0] [2, 8] [1, 1] : memref<17x8xf64> to memref<2x8xf64, strided<[8, 1], offset: ?>>
    linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} outs(%v : memref<2x8xf64, strided<[8, 1], offset: ?>>) {
    ^bb0(%old: f64):
      %c = arith.addf %old, %old : f64
      linalg.yield %c : f64
    }
  }
  scf.for %i = %zero to %trips step %one {
    %v = memref.subview %x[%i, 0] [1, 8] [1, 1] : memref<17x8xf64> to memref<8xf64, strided<[1], offset: ?>>
    linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%v : memref<8xf64, strided<[1], offset: ?>>) outs(%y : memref<8xf64>) {
    ^bb0(%a: f64, %old: f64):
      linalg.yield %a : f64
    }
  }
  func.return
}
