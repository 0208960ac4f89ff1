// RUN: mlirad-opt %s -p 'mlirad-linalg-to-loops' | filecheck %s

// Two columns would fill half a vector: vectors run along k, and the lanes of their sums are added at the end. Columns
// of b are read in place, and three rows are one tile, without a row computed twice.
// CHECK-LABEL: func.func @in_place
// CHECK-NOT:   memref.alloc
// CHECK-NOT:   arith.minsi
// CHECK:       scf.for %[[K:.*]] = {{.*}} iter_args
// CHECK-COUNT-2: vector.load %b[{{.*}}, %[[K]]] : memref<2x20xf64>, vector<4xf64>
// CHECK-COUNT-3: vector.load %a[{{.*}}, %[[K]]] : memref<3x20xf64>, vector<4xf64>
// CHECK-COUNT-6: vector.fma
// CHECK-NOT:     vector.fma
// CHECK-COUNT-12: vector.shuffle
// CHECK:       memref.store %{{.*}}, %c[
// CHECK:       func.return
func.func @in_place(%a: memref<3x20xf64>, %b: memref<2x20xf64>, %c: memref<3x2xf64>) {
  linalg.generic {
    indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (j, k)>,
                     affine_map<(i, j, k) -> (i, j)>],
    iterator_types = ["parallel", "parallel", "reduction"]
  } ins(%a, %b : memref<3x20xf64>, memref<2x20xf64>) outs(%c : memref<3x2xf64>) {
  ^bb0(%x: f64, %y: f64, %z: f64):
    %p = arith.mulf %x, %y : f64
    %s = arith.addf %z, %p : f64
    linalg.yield %s : f64
  }
  func.return
}

// Columns that are not contiguous are copied first. The last steps of k are masked.
// CHECK-LABEL: func.func @copied
// CHECK:       %[[PANEL:.*]] = memref.alloc() {{.*}} : memref<2x22xf64>
// CHECK-COUNT-2: memref.store %{{.*}}, %[[PANEL]][
// CHECK:       scf.for %[[K:.*]] = {{.*}} iter_args
// CHECK-COUNT-2: vector.load %[[PANEL]][{{.*}}] : memref<2x22xf64>, vector<4xf64>
// CHECK:       vector.maskedload %[[PANEL]][
// CHECK:       func.return
func.func @copied(%a: memref<3x22xf64>, %b: memref<22x2xf64>, %c: memref<3x2xf64>) {
  linalg.generic {
    indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>,
                     affine_map<(i, j, k) -> (i, j)>],
    iterator_types = ["parallel", "parallel", "reduction"]
  } ins(%a, %b : memref<3x22xf64>, memref<22x2xf64>) outs(%c : memref<3x2xf64>) {
  ^bb0(%x: f64, %y: f64, %z: f64):
    %p = arith.mulf %x, %y : f64
    %s = arith.addf %z, %p : f64
    linalg.yield %s : f64
  }
  func.return
}
