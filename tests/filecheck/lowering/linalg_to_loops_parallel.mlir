// RUN: mlirad-opt %s -p 'mlirad-linalg-to-loops{parallel=true}' | filecheck %s
// RUN: mlirad-opt %s -p 'mlirad-linalg-to-loops' | filecheck %s --check-prefix=SERIAL

// Much work on elements: blocks of them, the last one shorter, each a loop over subviews. The block has its own
// linalg.index.
// CHECK-LABEL: func.func @elementwise
// CHECK-DAG:   %[[SIZE:.*]] = arith.constant 1000003 : index
// CHECK:       "scf.parallel"(%{{.*}}, %[[SIZE]], %[[STEP:.*]]) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}>
// CHECK-NEXT:  ^{{.*}}(%[[START:.*]]: index):
// CHECK-NEXT:    %[[LEFT:.*]] = arith.subi %[[SIZE]], %[[START]]
// CHECK-NEXT:    %[[COUNT:.*]] = arith.minsi %[[STEP]], %[[LEFT]]
// CHECK-NEXT:    memref.subview %x[%[[START]]] [%[[COUNT]]] [1]
// CHECK-NEXT:    memref.subview %y[%[[START]]] [%[[COUNT]]] [1]
// CHECK:         scf.for %[[I:.*]] =
// CHECK:           arith.addi %[[I]], %[[START]]
// CHECK:           vector.store
// CHECK:         scf.reduce
// SERIAL-LABEL: func.func @elementwise
// SERIAL-NOT:   scf.parallel
// SERIAL:       func.func @small
func.func @elementwise(%x: memref<1000003xf64>, %y: memref<1000003xf64>) {
  linalg.generic {
    indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]
  } ins(%x : memref<1000003xf64>) outs(%y : memref<1000003xf64>) {
  ^bb0(%a: f64, %b: f64):
    %i = linalg.index 0 : index
    %n = arith.index_cast %i : index to i64
    %f = arith.sitofp %n : i64 to f64
    %r = arith.addf %a, %f : f64
    linalg.yield %r : f64
  }
  func.return
}

// Little work stays in one piece.
// CHECK-LABEL: func.func @small
// CHECK-NOT:   scf.parallel
func.func @small(%x: memref<1000xf64>, %y: memref<1000xf64>) {
  linalg.generic {
    indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]
  } ins(%x : memref<1000xf64>) outs(%y : memref<1000xf64>) {
  ^bb0(%a: f64, %b: f64):
    %r = arith.addf %a, %a : f64
    linalg.yield %r : f64
  }
  func.return
}

// A part of a block of 512 elements, from the larger of two starts to the smaller of two ends, is little work.
// CHECK-LABEL: func.func @part
// CHECK-NOT:   scf.parallel
// CHECK:       func.func @unknown
func.func @part(%x: memref<1000003xf64>, %y: memref<1000003xf64>) {
  %c0 = arith.constant 0 : index
  %size = arith.constant 1000003 : index
  %length = arith.constant 512 : index
  scf.for %time = %c0 to %size step %length {
    %lag = arith.constant -1 : index
    %from = arith.addi %time, %lag : index
    %to = arith.addi %from, %length : index
    %start = arith.maxsi %from, %c0 : index
    %end = arith.minsi %to, %size : index
    %count = arith.subi %end, %start : index
    %a = memref.subview %x[%start] [%count] [1] : memref<1000003xf64> to memref<?xf64, strided<[1], offset: ?>>
    %b = memref.subview %y[%start] [%count] [1] : memref<1000003xf64> to memref<?xf64, strided<[1], offset: ?>>
    linalg.generic {
      indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]
    } ins(%a : memref<?xf64, strided<[1], offset: ?>>) outs(%b : memref<?xf64, strided<[1], offset: ?>>) {
    ^bb0(%c: f64, %d: f64):
      %r = arith.addf %c, %c : f64
      linalg.yield %r : f64
    }
  }
  func.return
}

// Sizes that only the run knows: so are the blocks, of rows here, as columns lie apart. One block is no work to share.
// CHECK:       arith.maxsi
// CHECK:       arith.divui
// CHECK:       %[[STEP:.*]] = arith.maxsi
// CHECK:       "scf.parallel"(%{{.*}}, %{{.*}}, %[[STEP]])
// CHECK:         memref.subview %x[%{{.*}}, 0]
func.func @unknown(%x: memref<?x?xf64, strided<[?, 1]>>, %y: memref<?x?xf64, strided<[?, 1]>>) {
  linalg.generic {
    indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
    iterator_types = ["parallel", "parallel"]
  } ins(%x : memref<?x?xf64, strided<[?, 1]>>) outs(%y : memref<?x?xf64, strided<[?, 1]>>) {
  ^bb0(%a: f64, %b: f64):
    %r = arith.addf %a, %a : f64
    linalg.yield %r : f64
  }
  func.return
}

// A sum of rows is cut between rows, a sum of everything where it is longest: each block has a result, in the arena,
// which begins with what changes nothing, and these are added in their order.
// CHECK-LABEL: func.func @rows
// CHECK:       "scf.parallel"
// CHECK:         vector.shuffle
// CHECK-LABEL: func.func @everything
// CHECK:       %[[PARTS:.*]] = memref.alloc() {{.*}}mlirad.offset = 0 : i64{{.*}} : memref<64xf64>
// CHECK:       "scf.parallel"(%{{.*}}, %{{.*}}, %[[STEP:.*]]) <
// CHECK-NEXT:  ^{{.*}}(%[[START:.*]]: index):
// CHECK:         %[[B:.*]] = arith.divui %[[START]], %[[STEP]]
// CHECK-NEXT:    %[[PART:.*]] = memref.subview %[[PARTS]][%[[B]]] [1] [1]
// CHECK-NEXT:    memref.store %{{.*}}, %[[PART]]
// CHECK:         memref.store %{{.*}}, %[[PART]]
// CHECK:         scf.reduce
// CHECK:       vector.load %[[PARTS]]
// CHECK:       memref.store %{{.*}}, %y[]
func.func @rows(%x: memref<1000x4000xf64>, %y: memref<1000xf64>) {
  linalg.generic {
    indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]
  } ins(%x : memref<1000x4000xf64>) outs(%y : memref<1000xf64>) {
  ^bb0(%a: f64, %b: f64):
    %r = arith.addf %a, %b : f64
    linalg.yield %r : f64
  }
  func.return
}
func.func @everything(%x: memref<4000000xf64>, %y: memref<f64>) {
  linalg.generic {
    indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>], iterator_types = ["reduction"]
  } ins(%x : memref<4000000xf64>) outs(%y : memref<f64>) {
  ^bb0(%a: f64, %b: f64):
    %r = arith.addf %a, %b : f64
    linalg.yield %r : f64
  }
  func.return
}

// A product, in blocks of rows; the panel of the other factor is each thread's own, on its stack, not in the arena.
// CHECK-LABEL: func.func @product
// CHECK:       "scf.parallel"
// CHECK:         memref.alloca() {{.*}}: memref<256x8xf64>
// CHECK-NOT:     memref.alloc()
// CHECK:         vector.fma
func.func @product(%a: memref<200x300xf64>, %b: memref<300x700xf64>, %c: memref<200x700xf64>) {
  linalg.generic {
    indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>,
                     affine_map<(i, j, k) -> (i, j)>],
    iterator_types = ["parallel", "parallel", "reduction"]
  } ins(%a, %b : memref<200x300xf64>, memref<300x700xf64>) outs(%c : memref<200x700xf64>) {
  ^bb0(%x: f64, %y: f64, %z: f64):
    %p = arith.mulf %x, %y : f64
    %s = arith.addf %z, %p : f64
    linalg.yield %s : f64
  }
  func.return
}
