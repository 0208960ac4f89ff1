// RUN: mlirad-opt %s -p 'mlirad-linalg-to-loops' | filecheck %s
// RUN: mlirad-opt %s -p 'mlirad-linalg-to-loops{vector_bytes=64}' | filecheck %s --check-prefix=WIDE

// Full vectors, then at most one step under a mask, which is no loop; a row that is broadcast is a vector too.
// CHECK-LABEL: func.func @row
// CHECK:       %[[N:.*]] = memref.dim
// CHECK:       scf.for %[[I:.*]] = {{.*}} {
// CHECK:         %[[MAIN:.*]] = arith.andi %[[N]]
// CHECK-NEXT:    scf.for %[[J:.*]] = %{{.*}} to %[[MAIN]] step
// CHECK-NEXT:      vector.load %a[%[[I]], %[[J]]] : memref<5x?xf64>, vector<4xf64>
// CHECK-NEXT:      vector.load %b[%[[J]]] : memref<?xf64>, vector<4xf64>
// CHECK-NEXT:      arith.addf %{{.*}} : vector<4xf64>
// CHECK-NEXT:      vector.store
// CHECK:         %[[IS_LEFT:.*]] = arith.cmpi slt, %[[MAIN]], %[[N]] : index
// CHECK-NEXT:    scf.if %[[IS_LEFT]] {
// CHECK-NEXT:      %[[LEFT:.*]] = arith.subi %[[N]], %[[MAIN]]
// CHECK-NEXT:      %[[MASK:.*]] = vector.create_mask %[[LEFT]] : vector<4xi1>
// CHECK-NEXT:      vector.maskedload %a[%[[I]], %[[MAIN]]], %[[MASK]]
// CHECK:           vector.maskedstore %o[%[[I]], %[[MAIN]]], %[[MASK]]
// CHECK-NOT:   linalg
// WIDE-LABEL:  func.func @row
// WIDE:        vector.load %a[{{.*}}] : memref<5x?xf64>, vector<8xf64>
func.func @row(%a: memref<5x?xf64>, %b: memref<?xf64>, %o: memref<5x?xf64>) {
  linalg.generic {
    indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>],
    iterator_types = ["parallel", "parallel"]
  } ins(%a, %b : memref<5x?xf64>, memref<?xf64>) outs(%o : memref<5x?xf64>) {
  ^bb0(%x: f64, %y: f64, %z: f64):
    %s = arith.addf %x, %y : f64
    linalg.yield %s : f64
  }
  func.return
}

// What does not vary with the loop is read before it; a constant is made once.
// CHECK-LABEL: func.func @column
// CHECK:       arith.constant dense<2.000000e+00> : vector<4xf64>
// CHECK:       scf.for %[[I:.*]] = {{.*}} {
// CHECK-NEXT:    memref.load %b[%[[I]]]
// CHECK:         scf.for
// CHECK-NOT:     memref.load
// CHECK:       func.return
func.func @column(%a: memref<5x8xf64>, %b: memref<5xf64>, %o: memref<5x8xf64>) {
  linalg.generic {
    indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>],
    iterator_types = ["parallel", "parallel"]
  } ins(%a, %b : memref<5x8xf64>, memref<5xf64>) outs(%o : memref<5x8xf64>) {
  ^bb0(%x: f64, %y: f64, %z: f64):
    %two = arith.constant 2.0 : f64
    %p = arith.mulf %x, %two : f64
    %s = arith.addf %p, %y : f64
    linalg.yield %s : f64
  }
  func.return
}

// Dimensions that all operands walk through as one are one loop; sizes known to fit need no mask.
// CHECK-LABEL: func.func @contiguous
// CHECK:       memref.collapse_shape %a {{.*}} : memref<100x4xf32> into memref<400xf32>
// CHECK-COUNT-1: scf.for
// CHECK-NOT:   mask
// CHECK:       func.return
func.func @contiguous(%a: memref<100x4xf32>, %o: memref<100x4xf32>) {
  linalg.generic {
    indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
    iterator_types = ["parallel", "parallel"]
  } ins(%a : memref<100x4xf32>) outs(%o : memref<100x4xf32>) {
  ^bb0(%x: f32, %z: f32):
    %p = arith.mulf %x, %x : f32
    linalg.yield %p : f32
  }
  func.return
}

// A rank of 0 is no loop at all, and a size of 0 nothing.
// CHECK-LABEL: func.func @point
// CHECK-NOT:   scf.for
// CHECK:       memref.store %v, %o[] : memref<f64>
// CHECK-NEXT:  func.return
func.func @point(%v: f64, %o: memref<f64>, %e: memref<0x4xf64>) {
  linalg.fill ins(%v : f64) outs(%o : memref<f64>)
  linalg.fill ins(%v : f64) outs(%e : memref<0x4xf64>)
  func.return
}
