// RUN: mlirad-opt %s -p 'mlirad-linalg-to-loops' | filecheck %s

// A tile of c stays in registers while k runs; b is read as vectors where it is contiguous, a is broadcast.
// CHECK-LABEL: func.func @direct
// CHECK-NOT:   memref.alloc
// CHECK:       scf.for %[[J:.*]] =
// CHECK:       scf.for %[[I:.*]] =
// CHECK-COUNT-8: vector.load %c[{{.*}}] : memref<8x16xf64>, vector<4xf64>
// CHECK:       scf.for %[[K:.*]] = {{.*}} iter_args
// CHECK:         vector.load %b[%[[K]], %[[J]]]
// CHECK:         memref.load %a[%[[I]], %[[K]]]
// CHECK-NEXT:    vector.broadcast
// CHECK-NEXT:    vector.fma
// CHECK-NEXT:    vector.fma
// CHECK:         scf.yield
// CHECK-COUNT-8: vector.store
// CHECK-NOT:   mask
// CHECK:       func.return
func.func @direct(%a: memref<8x8xf64>, %b: memref<8x16xf64>, %c: memref<8x16xf64>) {
  linalg.generic {
    indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>,
                     affine_map<(i, j, k) -> (i, j)>],
    iterator_types = ["parallel", "parallel", "reduction"]
  } ins(%a, %b : memref<8x8xf64>, memref<8x16xf64>) outs(%c : memref<8x16xf64>) {
  ^bb0(%x: f64, %y: f64, %z: f64):
    %p = arith.mulf %x, %y : f64
    %s = arith.addf %z, %p : f64
    linalg.yield %s : f64
  }
  func.return
}

// b transposed: its columns are copied into a panel of the arena, behind what the function planned for itself.
// Rows past the end are the last row again, columns past the end are masked.
// CHECK-LABEL: func.func @packed
// CHECK-SAME:  mlirad.arena_size = {{[0-9]+}} : i64
// CHECK:       %[[PANEL:.*]] = memref.alloc() {{.*}}mlirad.offset = 64 : i64{{.*}} : memref<256x8xf64>
// CHECK-COUNT-2: vector.create_mask
// CHECK:       arith.minsi
// CHECK:       vector.insert
// CHECK:       vector.store %{{.*}}, %[[PANEL]][
// CHECK:       arith.minsi
// CHECK:       vector.maskedload %c[
// CHECK:       vector.load %[[PANEL]][
// CHECK:       vector.maskedstore %c[
func.func @packed(%a: memref<?x?xf64>, %b: memref<?x?xf64>, %c: memref<?x?xf64>)
    attributes {mlirad.arena_size = 40 : i64} {
  linalg.generic {
    indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (j, k)>,
                     affine_map<(i, j, k) -> (i, j)>],
    iterator_types = ["parallel", "parallel", "reduction"]
  } ins(%a, %b : memref<?x?xf64>, memref<?x?xf64>) outs(%c : memref<?x?xf64>) {
  ^bb0(%x: f64, %y: f64, %z: f64):
    %p = arith.mulf %x, %y : f64
    %s = arith.addf %z, %p : f64
    linalg.yield %s : f64
  }
  func.return
}
