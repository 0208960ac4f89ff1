// RUN: mlirad-opt %s -p 'mlirad-linalg-to-loops' | filecheck %s

// A transposition goes in strips of the result's rows, element by element.
// CHECK-LABEL: func.func @transposed
// CHECK:       scf.for %[[S:.*]] = %{{.*}} to %{{.*}} step %[[TILE:.*]] {
// CHECK-NEXT:    %[[STOP:.*]] = arith.addi %[[S]], %[[TILE]]
// CHECK-NEXT:    %[[END:.*]] = arith.minsi %[[STOP]]
// CHECK-NEXT:    scf.for %[[I:.*]] = {{.*}} {
// CHECK-NEXT:      scf.for %[[J:.*]] = %[[S]] to %[[END]]
// CHECK-NEXT:        memref.load %a[%[[J]], %[[I]]]
// CHECK-NEXT:        memref.store %{{.*}}, %o[%[[I]], %[[J]]]
// CHECK-NOT:   vector
// CHECK:       func.return
func.func @transposed(%a: memref<?x?xf64>, %o: memref<?x?xf64>) {
  linalg.generic {
    indexing_maps = [affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (i, j)>],
    iterator_types = ["parallel", "parallel"]
  } ins(%a : memref<?x?xf64>) outs(%o : memref<?x?xf64>) {
  ^bb0(%x: f64, %z: f64):
    linalg.yield %x : f64
  }
  func.return
}

// Where the body is costly, a strided input is gathered, so that lanes share its cost.
// CHECK-LABEL: func.func @gathered
// CHECK-COUNT-4: vector.insert
// CHECK:       math.exp %{{.*}} : vector<4xf64>
// CHECK:       vector.maskedstore
// CHECK-NOT:   math.exp
// CHECK:       func.return
func.func @gathered(%a: memref<9xf64, strided<[-2], offset: 16>>, %o: memref<9xf64>) {
  linalg.generic {
    indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],
    iterator_types = ["parallel"]
  } ins(%a : memref<9xf64, strided<[-2], offset: 16>>) outs(%o : memref<9xf64>) {
  ^bb0(%x: f64, %z: f64):
    %y = math.exp %x : f64
    linalg.yield %y : f64
  }
  func.return
}

// Contiguous copies are left to the target, others are loops.
// CHECK-LABEL: func.func @copies
// CHECK:       "memref.copy"(%a, %b)
// CHECK-NOT:   "memref.copy"
// CHECK:       memref.store %{{.*}}, %c
func.func @copies(%a: memref<9xf64>, %b: memref<9xf64>, %c: memref<9xf64, strided<[3]>>) {
  "memref.copy"(%a, %b) : (memref<9xf64>, memref<9xf64>) -> ()
  "memref.copy"(%a, %c) : (memref<9xf64>, memref<9xf64, strided<[3]>>) -> ()
  func.return
}

// So is a strided result scattered, the lanes of the last vector up to the end.
// CHECK-LABEL: func.func @scattered
// CHECK:       math.exp %{{.*}} : vector<4xf64>
// CHECK:       scf.if
// CHECK-COUNT-4: memref.store
// CHECK:       } else {
// CHECK:         scf.for
// CHECK:           vector.extract
// CHECK:           memref.store
// CHECK-NOT:   math.exp
// CHECK:       func.return
func.func @scattered(%a: memref<9xf64>, %o: memref<9xf64, strided<[-2], offset: 16>>) {
  linalg.generic {
    indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],
    iterator_types = ["parallel"]
  } ins(%a : memref<9xf64>) outs(%o : memref<9xf64, strided<[-2], offset: 16>>) {
  ^bb0(%x: f64, %z: f64):
    %y = math.exp %x : f64
    linalg.yield %y : f64
  }
  func.return
}

// A strided sum of a row is the sum of a vector, not of one row for each lane.
// CHECK-LABEL: func.func @scattered_sums
// CHECK:       %[[LANES:.*]] = scf.for {{.*}} -> (vector<4xf64>)
// CHECK:       memref.store %{{.*}}, %o
// CHECK-NOT:   memref.store
// CHECK:       func.return
func.func @scattered_sums(%a: memref<5x64xf64>, %o: memref<5xf64, strided<[2]>>) {
  linalg.generic {
    indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>],
    iterator_types = ["parallel", "reduction"]
  } ins(%a : memref<5x64xf64>) outs(%o : memref<5xf64, strided<[2]>>) {
  ^bb0(%x: f64, %z: f64):
    %y = math.exp %x : f64
    %s = arith.addf %z, %y : f64
    linalg.yield %s : f64
  }
  func.return
}
