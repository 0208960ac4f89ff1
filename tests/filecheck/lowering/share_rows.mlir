// RUN: mlirad-opt %s -p 'mlirad-share-rows{block=400 least=0}' | filecheck %s
// RUN: mlirad-opt %s -p 'mlirad-share-rows{block=400 least=0 parallel=true work=100}' | filecheck %s --check-prefix=THREADS
// Nests that follow one another run by blocks of rows: what one writes, the next reads while it is in the cache, and
// what only they use is as large as a block.
//
//     x --> exp --> e --> sum of rows --> s        one loop over blocks: e and s are a block
//                   +--> divide by s --> y

// 3 rows of x, e and y, and 3 numbers of s, take 312 bytes. 11 rows are 3 blocks of 3 and one of 2.
// CHECK-LABEL: func.func @softmax
// CHECK-DAG:     %[[S:.*]] = memref.alloc() : memref<3xf64>
// CHECK-DAG:     %[[E:.*]] = memref.alloc() : memref<3x4xf64>
// CHECK:         scf.for
// CHECK:           memref.subview %x[%{{.*}}, 0] [3, 4] [1, 1]
// CHECK:           linalg.generic
// CHECK-SAME:        outs(%[[E]] : memref<3x4xf64>)
// CHECK:           linalg.fill
// CHECK-SAME:        outs(%[[S]]
// CHECK:           linalg.generic
// CHECK-SAME:        outs(%[[S]] : memref<3xf64>)
// CHECK:           linalg.generic
// CHECK:         }
// CHECK:         memref.subview %x[%{{.*}}, 0] [2, 4] [1, 1]
// CHECK-COUNT-3: linalg.generic
// CHECK:         func.return

// Threads run the blocks in strips, here of one block, each in memory of its own: e has three places of 3 rows.
// THREADS-LABEL: func.func @softmax
// THREADS-DAG:     %[[S:.*]] = memref.alloc() : memref<9xf64>
// THREADS-DAG:     %[[E:.*]] = memref.alloc() : memref<9x4xf64>
// THREADS:         "scf.parallel"
// THREADS:           scf.for
// THREADS:             memref.subview %x[%{{.*}}, 0] [3, 4] [1, 1]
// THREADS:             memref.subview %[[E]][%{{.*}}, 0] [3, 4] [1, 1]
// THREADS-COUNT-3:     linalg.generic
// THREADS:           scf.reduce
// THREADS:         memref.subview %x[%{{.*}}, 0] [2, 4] [1, 1]
// THREADS-COUNT-3: linalg.generic
// THREADS:         func.return
func.func @softmax(%x: memref<11x4xf64>, %y: memref<11x4xf64>) {
  %c = arith.constant 0.0 : f64
  %e = memref.alloc() : memref<11x4xf64>
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%x : memref<11x4xf64>) outs(%e : memref<11x4xf64>) {
  ^bb0(%a: f64, %old: f64):
    %b = math.exp %a : f64
    linalg.yield %b : f64
  }
  %s = memref.alloc() : memref<11xf64>
  linalg.fill ins(%c : f64) outs(%s : memref<11xf64>)
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]} ins(%e : memref<11x4xf64>) outs(%s : memref<11xf64>) {
  ^bb0(%a: f64, %sum: f64):
    %b = arith.addf %sum, %a : f64
    linalg.yield %b : f64
  }
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%e, %s : memref<11x4xf64>, memref<11xf64>) outs(%y : memref<11x4xf64>) {
  ^bb0(%a: f64, %sum: f64, %old: f64):
    %b = arith.divf %a, %sum : f64
    linalg.yield %b : f64
  }
  func.return
}

// A whole sum is made of those of at most 16 strips of blocks, here of one block each: not of those of all blocks, which
// would take memory in proportion to the rows. What needs it comes behind the loop.
// CHECK-LABEL: func.func @whole_sum
// CHECK:         scf.for %[[BLOCK:.*]] =
// CHECK:           %[[STRIP:.*]] = arith.divui %[[BLOCK]], %{{.*}} : index
// CHECK:           memref.store %{{.*}}, %[[CELL:.*]][] : memref<f64>
// CHECK-COUNT-2:   linalg.generic
// CHECK:           %[[PART:.*]] = memref.load %[[CELL]][]
// CHECK:           %[[BEFORE:.*]] = memref.load %[[PARTS:.*]][%[[STRIP]]] : memref<2xf64>
// CHECK:           %[[AFTER:.*]] = arith.addf %[[BEFORE]], %[[PART]]
// CHECK:           memref.store %[[AFTER]], %[[PARTS]][%[[STRIP]]] : memref<2xf64>
// CHECK:         linalg.generic
// CHECK-SAME:      ins(%[[PARTS]] : memref<2xf64>) outs(%total : memref<f64>)
// CHECK:         memref.load %total[]
// CHECK:         func.return
func.func @whole_sum(%x: memref<12x4xf64>, %y: memref<12x4xf64>) -> f64 {
  %c = arith.constant 0.0 : f64
  %total = memref.alloc() : memref<f64>
  linalg.fill ins(%c : f64) outs(%total : memref<f64>)
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> ()>], iterator_types = ["reduction", "reduction"]} ins(%x : memref<12x4xf64>) outs(%total : memref<f64>) {
  ^bb0(%a: f64, %sum: f64):
    %b = arith.addf %sum, %a : f64
    linalg.yield %b : f64
  }
  %t = memref.load %total[] : memref<f64>
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%x : memref<12x4xf64>) outs(%y : memref<12x4xf64>) {
  ^bb0(%a: f64, %old: f64):
    %b = arith.mulf %a, %a : f64
    linalg.yield %b : f64
  }
  func.return %t : f64
}

// 3,200 rows are 800 blocks, whose sums are added in 16 strips; those of float32 in float64, which is rounded once.
// CHECK-LABEL: func.func @long_sum
// CHECK:         %[[PARTS:.*]] = memref.alloc() : memref<16xf64>
// CHECK:         linalg.fill ins(%{{.*}} : f64) outs(%[[PARTS]] : memref<16xf64>)
// CHECK:         scf.for
// CHECK:           arith.divui
// CHECK:           %[[PART:.*]] = arith.extf %{{.*}} : f32 to f64
// CHECK:           arith.addf %{{.*}}, %[[PART]] : f64
// CHECK:         }
// CHECK:         linalg.generic
// CHECK-SAME:      ins(%[[PARTS]] : memref<16xf64>) outs(%[[WIDE:.*]] : memref<f64>)
// CHECK:         memref.load %[[WIDE]][]
// CHECK:         arith.truncf
// CHECK:         memref.store %{{.*}}, %total[]

// Threads have 16 strips, too: each adds up its own blocks.
// THREADS-LABEL: func.func @long_sum
// THREADS:         "scf.parallel"
// THREADS:           scf.for
// THREADS:             arith.addf %{{.*}}, %{{.*}} : f64
// THREADS:           scf.reduce
func.func @long_sum(%x: memref<3200x8xf32>, %y: memref<3200x8xf32>, %total: memref<f32>) {
  %c = arith.constant 0.0 : f32
  linalg.fill ins(%c : f32) outs(%total : memref<f32>)
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> ()>], iterator_types = ["reduction", "reduction"]} ins(%x : memref<3200x8xf32>) outs(%total : memref<f32>) {
  ^bb0(%a: f32, %sum: f32):
    %b = arith.addf %sum, %a : f32
    linalg.yield %b : f32
  }
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%x : memref<3200x8xf32>) outs(%y : memref<3200x8xf32>) {
  ^bb0(%a: f32, %old: f32):
    %b = arith.negf %a : f32
    linalg.yield %b : f32
  }
  func.return
}

// The first two nests have no row in common with the others. They have a loop of their own, so that %e is not needed any
// more when the memory of %z is, and their sum, which comes behind it, is no reason to wait.
//
//     x --> exp --> e --> sum
//     y --> negated --> z --> times y --> z
//
// CHECK-LABEL: func.func @no_common_row
// CHECK:         scf.for
// CHECK:           math.exp
// CHECK-NOT:       arith.negf
// CHECK:         }
// CHECK:         scf.for
// CHECK:           arith.negf
// CHECK:           arith.mulf
// CHECK:         func.return
func.func @no_common_row(%x: memref<12x4xf64>, %y: memref<12x4xf64>, %z: memref<12x4xf64>, %total: memref<f64>) {
  %e = memref.alloc() : memref<12x4xf64>
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%x : memref<12x4xf64>) outs(%e : memref<12x4xf64>) {
  ^bb0(%a: f64, %old: f64):
    %b = math.exp %a : f64
    linalg.yield %b : f64
  }
  %c = arith.constant 0.0 : f64
  linalg.fill ins(%c : f64) outs(%total : memref<f64>)
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> ()>], iterator_types = ["reduction", "reduction"]} ins(%e : memref<12x4xf64>) outs(%total : memref<f64>) {
  ^bb0(%a: f64, %sum: f64):
    %b = arith.addf %sum, %a : f64
    linalg.yield %b : f64
  }
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%y : memref<12x4xf64>) outs(%z : memref<12x4xf64>) {
  ^bb0(%a: f64, %old: f64):
    %b = arith.negf %a : f64
    linalg.yield %b : f64
  }
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%y : memref<12x4xf64>) outs(%z : memref<12x4xf64>) {
  ^bb0(%a: f64, %old: f64):
    %b = arith.mulf %a, %old : f64
    linalg.yield %b : f64
  }
  func.return
}

// So does a small nest on sums of columns. What is made of the same rows after it is in the loop.
// CHECK-LABEL: func.func @sums_of_columns
// CHECK:         scf.for
// CHECK:           arith.addi
// CHECK:           arith.muli
// CHECK:         }
// CHECK:         linalg.generic
// CHECK-SAME:      ins(%s : memref<2xi32>) outs(%s : memref<2xi32>)
// CHECK:           arith.divsi
// CHECK-NOT:     linalg.generic
// CHECK:         func.return

// Each strip of threads has sums of its own, which are then added up in order.
// THREADS-LABEL: func.func @sums_of_columns
// THREADS:         %[[SUMS:.*]] = memref.alloc() : memref<4x2xi32>
// THREADS:         "scf.parallel"
// THREADS:           %[[OWN:.*]] = memref.subview %[[SUMS]][%{{.*}}, 0] [1, 2] [1, 1]
// THREADS:           linalg.fill ins(%{{.*}} : i32) outs(%[[OWN]]
// THREADS:           scf.for
// THREADS:             linalg.generic
// THREADS-SAME:          outs(%[[OWN]]
// THREADS:           scf.reduce
// THREADS:         linalg.generic
// THREADS-SAME:      iterator_types = ["reduction", "parallel"]} ins(%[[SUMS]] : memref<4x2xi32>) outs(%s : memref<2xi32>)
func.func @sums_of_columns(%x: memref<64x2xi32>, %s: memref<2xi32>, %y: memref<64x2xi32>) {
  %c = arith.constant 0 : i32
  %n = arith.constant 64 : i32
  linalg.fill ins(%c : i32) outs(%s : memref<2xi32>)
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>], iterator_types = ["reduction", "parallel"]} ins(%x : memref<64x2xi32>) outs(%s : memref<2xi32>) {
  ^bb0(%a: i32, %sum: i32):
    %b = arith.addi %sum, %a : i32
    linalg.yield %b : i32
  }
  linalg.generic {indexing_maps = [affine_map<(j) -> (j)>, affine_map<(j) -> (j)>], iterator_types = ["parallel"]} ins(%s : memref<2xi32>) outs(%s : memref<2xi32>) {
  ^bb0(%a: i32, %old: i32):
    %b = arith.divsi %a, %n : i32
    linalg.yield %b : i32
  }
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%x : memref<64x2xi32>) outs(%y : memref<64x2xi32>) {
  ^bb0(%a: i32, %old: i32):
    %b = arith.muli %a, %a : i32
    linalg.yield %b : i32
  }
  func.return
}

// The second nest needs the sum of all rows, the last one reads other rows than its own: there is no loop.
// CHECK-LABEL: func.func @apart
// CHECK-NOT:     scf.for
// CHECK:         func.return
func.func @apart(%x: memref<12x12xf64>, %y: memref<12x12xf64>, %z: memref<12x12xf64>) {
  %c = arith.constant 0.0 : f64
  %s = memref.alloc() : memref<12xf64>
  linalg.fill ins(%c : f64) outs(%s : memref<12xf64>)
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>], iterator_types = ["reduction", "parallel"]} ins(%x : memref<12x12xf64>) outs(%s : memref<12xf64>) {
  ^bb0(%a: f64, %sum: f64):
    %b = arith.addf %sum, %a : f64
    linalg.yield %b : f64
  }
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%x, %s : memref<12x12xf64>, memref<12xf64>) outs(%y : memref<12x12xf64>) {
  ^bb0(%a: f64, %sum: f64, %old: f64):
    %b = arith.divf %a, %sum : f64
    linalg.yield %b : f64
  }
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%y : memref<12x12xf64>) outs(%z : memref<12x12xf64>) {
  ^bb0(%a: f64, %old: f64):
    linalg.yield %a : f64
  }
  func.return
}

// The second nest goes along the columns of a large array: it keeps to itself, where its loops change places.
// CHECK-LABEL: func.func @by_columns
// CHECK-NOT:     scf.for
// CHECK:         func.return
func.func @by_columns(%x: memref<80x80xf64>, %y: memref<80x80xf64>) {
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%x : memref<80x80xf64>) outs(%y : memref<80x80xf64>) {
  ^bb0(%a: f64, %old: f64):
    %b = arith.mulf %a, %a : f64
    linalg.yield %b : f64
  }
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%x : memref<80x80xf64>) outs(%y : memref<80x80xf64>) {
  ^bb0(%a: f64, %old: f64):
    %b = arith.addf %a, %old : f64
    linalg.yield %b : f64
  }
  func.return
}
