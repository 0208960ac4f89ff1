// RUN: mlirad-opt %s -p 'mlirad-linalg-to-loops' | filecheck %s

// Along the contiguous dimension: four vectors of partial sums, which start at -0; past the end they stay as they are.
// CHECK-LABEL: func.func @inner
// CHECK:       %[[ZERO:.*]] = arith.constant dense<-0.000000e+00> : vector<4xf64>
// CHECK:       %[[START:.*]] = memref.load %o[%{{.*}}]
// CHECK:       iter_args(%{{.*}} = %[[ZERO]], %{{.*}} = %[[ZERO]], %{{.*}} = %[[ZERO]], %{{.*}} = %[[ZERO]])
// CHECK-COUNT-4: arith.addf %{{.*}} : vector<4xf64>
// CHECK:       %[[MASK:.*]] = vector.create_mask
// CHECK:       %[[NEW:.*]] = arith.addf %{{.*}}, %[[OLD:.*]] : vector<4xf64>
// CHECK-NEXT:  arith.select %[[MASK]], %[[NEW]], %[[OLD]] : vector<4xi1>, vector<4xf64>
// The lanes are added as a tree, always in the same order, and last of all to what was there.
// CHECK:       vector.shuffle %{{.*}} [0, 1] : vector<4xf64>
// CHECK-NEXT:  vector.shuffle %{{.*}} [2, 3] : vector<4xf64>
// CHECK:       %[[SUM:.*]] = arith.addf %{{.*}} : f64
// CHECK-NEXT:  %[[TOTAL:.*]] = arith.addf %[[START]], %[[SUM]] : f64
// CHECK-NEXT:  memref.store %[[TOTAL]], %o
func.func @inner(%a: memref<5x203xf64>, %o: memref<5xf64>) {
  linalg.generic {
    indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>],
    iterator_types = ["parallel", "reduction"]
  } ins(%a : memref<5x203xf64>) outs(%o : memref<5xf64>) {
  ^bb0(%x: f64, %z: f64):
    %s = arith.addf %x, %z : f64
    linalg.yield %s : f64
  }
  func.return
}

// Long rows: two side by side, each with its four vectors of partial sums; 64-byte vectors have registers for four
// rows. A processor then fetches two rows ahead at once, and the vector that both are multiplied by is read once (LLVM
// drops the second load). The fifth row is alone.
// CHECK-LABEL: func.func @side_by_side
// CHECK:       scf.for %[[I:[0-9]+]] =
// CHECK:         %[[J:.*]] = arith.addi %[[I]], %{{.*}}
// CHECK-COUNT-2: memref.load %o
// CHECK:         scf.for %[[K:[0-9]+]] = {{.*}} -> (vector<4xf64>, vector<4xf64>, vector<4xf64>, vector<4xf64>, vector<4xf64>, vector<4xf64>, vector<4xf64>, vector<4xf64>)
// CHECK:           vector.load %a[%[[I]], %[[K]]]
// CHECK-COUNT-4:   vector.fma
// CHECK:           vector.load %a[%[[J]], %[[K]]]
// CHECK-COUNT-4:   vector.fma
// CHECK:         memref.store %{{.*}}, %o[%[[I]]]
// CHECK:         memref.store %{{.*}}, %o[%[[J]]]
// CHECK:       scf.for {{.*}} -> (vector<4xf64>, vector<4xf64>, vector<4xf64>, vector<4xf64>) {
// CHECK:       memref.store
// CHECK-NOT:   memref.store
// CHECK:       func.return
func.func @side_by_side(%a: memref<5x1003xf64>, %b: memref<1003xf64>, %o: memref<5xf64>) {
  linalg.generic {
    indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i)>],
    iterator_types = ["parallel", "reduction"]
  } ins(%a, %b : memref<5x1003xf64>, memref<1003xf64>) outs(%o : memref<5xf64>) {
  ^bb0(%x: f64, %y: f64, %z: f64):
    %p = arith.mulf %x, %y : f64
    %s = arith.addf %p, %z : f64
    linalg.yield %s : f64
  }
  func.return
}

// Along an outer dimension: neighbouring results in vectors, each summed in order, some rows at a time.
// CHECK-LABEL: func.func @outer
// CHECK:       scf.for %[[S:[0-9]+]] =
// CHECK:         %[[END:.*]] = arith.minsi
// CHECK:         scf.for %[[J:[0-9]+]] =
// CHECK-COUNT-4: vector.load %o[
// CHECK:       scf.for %[[I:[0-9]+]] = %[[S]] to %[[END]] step {{.*}} iter_args
// CHECK:         vector.load %a[%[[I]], %[[J]]]
// CHECK:         scf.yield
// CHECK:       vector.store %{{.*}}, %o[%[[J]]]
// CHECK:       vector.maskedstore
// CHECK-NOT:   vector.shuffle
// CHECK:       func.return
func.func @outer(%a: memref<?x?xf64>, %o: memref<?xf64>) {
  linalg.generic {
    indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>],
    iterator_types = ["reduction", "parallel"]
  } ins(%a : memref<?x?xf64>) outs(%o : memref<?xf64>) {
  ^bb0(%x: f64, %z: f64):
    %s = arith.addf %x, %z : f64
    linalg.yield %s : f64
  }
  func.return
}

// Over both, contiguous: one loop. The maximum keeps nan, and starts at -inf.
// CHECK-LABEL: func.func @both
// CHECK:       arith.constant dense<0xff800000> : vector<8xf32>
// CHECK:       memref.collapse_shape
// CHECK:       arith.maximumf %{{.*}} : vector<8xf32>
func.func @both(%a: memref<?x?xf32>, %o: memref<f32>) {
  linalg.generic {
    indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> ()>],
    iterator_types = ["reduction", "reduction"]
  } ins(%a : memref<?x?xf32>) outs(%o : memref<f32>) {
  ^bb0(%x: f32, %z: f32):
    %s = arith.maximumf %x, %z : f32
    linalg.yield %s : f32
  }
  func.return
}

// A sum of unknown length restarts its partial sums every 256 steps.
// CHECK-LABEL: func.func @long
// CHECK:       scf.for %[[B:.*]] = {{.*}} iter_args
// CHECK:         arith.minsi
// CHECK:         scf.for {{.*}} = %[[B]] to {{.*}} iter_args
// CHECK:         arith.addf %{{.*}} : vector<4xf64>
func.func @long(%a: memref<?xf64>, %o: memref<f64>) {
  linalg.generic {
    indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>],
    iterator_types = ["reduction"]
  } ins(%a : memref<?xf64>) outs(%o : memref<f64>) {
  ^bb0(%x: f64, %z: f64):
    %s = arith.addf %z, %x : f64
    linalg.yield %s : f64
  }
  func.return
}

// Rows of one vector: as many as a vector has lanes are reduced together, so that shuffles and additions serve all of
// them, and their results are one vector. Two of the 258 rows remain. (A small nest is not worth the code.)
// CHECK-LABEL: func.func @short_rows
// CHECK-COUNT-4: vector.load %a
// CHECK:       vector.shuffle %{{.*}} [0, 1, 4, 5] : vector<4xf64>
// CHECK-NEXT:  vector.shuffle %{{.*}} [2, 3, 6, 7] : vector<4xf64>
// CHECK-NEXT:  arith.addf %{{.*}} : vector<4xf64>
// CHECK:       vector.shuffle %{{.*}} [0, 2, 4, 6] : vector<4xf64>
// CHECK-NEXT:  vector.shuffle %{{.*}} [1, 3, 5, 7] : vector<4xf64>
// CHECK-NEXT:  %[[SUMS:.*]] = arith.addf %{{.*}} : vector<4xf64>
// CHECK-NEXT:  %[[NEW:.*]] = arith.addf %{{.*}}, %[[SUMS]] : vector<4xf64>
// CHECK-NEXT:  vector.store %[[NEW]], %o
// CHECK:       scf.for
// CHECK:       memref.store %{{.*}}, %o
func.func @short_rows(%a: memref<258x4xf64>, %o: memref<258xf64>) {
  linalg.generic {
    indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>],
    iterator_types = ["parallel", "reduction"]
  } ins(%a : memref<258x4xf64>) outs(%o : memref<258xf64>) {
  ^bb0(%x: f64, %z: f64):
    %s = arith.addf %x, %z : f64
    linalg.yield %s : f64
  }
  func.return
}

// A row of unknown length that is known to be short is one block: no loop over blocks is around the loop over vectors.
// CHECK-LABEL: func.func @short_row
// CHECK:         scf.for %i =
// CHECK:           scf.for {{.*}} step
// CHECK-NEXT:        vector.load %row
// CHECK:           func.return
func.func @short_row(%x: memref<64x64xf64>, %y: memref<f64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  scf.for %i = %c0 to %c64 step %c1 {
    %row = memref.subview %x[%i, 0] [1, %i] [1, 1] : memref<64x64xf64> to memref<?xf64, strided<[1], offset: ?>>
    linalg.generic {
      indexing_maps = [affine_map<(k) -> (k)>, affine_map<(k) -> ()>], iterator_types = ["reduction"]
    } ins(%row : memref<?xf64, strided<[1], offset: ?>>) outs(%y : memref<f64>) {
    ^bb0(%a: f64, %s: f64):
      %t = arith.addf %s, %a : f64
      linalg.yield %t : f64
    }
  }
  func.return
}
