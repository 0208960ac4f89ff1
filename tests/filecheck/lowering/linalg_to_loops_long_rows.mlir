// RUN: mlirad-opt %s -p 'mlirad-linalg-to-loops' | filecheck %s

// b is too large for the caches, and its rows are as long as a page. Down a panel of columns, each step would read
// another page, and wait for it. A few rows of c are added to after 16 rows of b, which are read side by side.
// CHECK-LABEL: func.func @in_place
// CHECK-NOT:   memref.alloc
// CHECK-DAG:   %[[STEPS:.*]] = arith.constant 16 : index
// CHECK-DAG:   %[[WIDTH:.*]] = arith.constant 8 : index
// CHECK:       scf.for %[[K:.*]] = {{.*}} step %[[STEPS]]
// CHECK:         scf.for %[[J:.*]] = {{.*}} step %[[WIDTH]]
// CHECK:           vector.load %c[
// CHECK:           vector.load %b[
// CHECK:           vector.store {{.*}}, %c[
func.func @in_place(%a: memref<4x512xf64>, %b: memref<512x1024xf64>, %c: memref<4x1024xf64>) {
  linalg.generic {
    indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>,
                     affine_map<(i, j, k) -> (i, j)>],
    iterator_types = ["parallel", "parallel", "reduction"]
  } ins(%a, %b : memref<4x512xf64>, memref<512x1024xf64>) outs(%c : memref<4x1024xf64>) {
  ^bb0(%x: f64, %y: f64, %z: f64):
    %p = arith.mulf %x, %y : f64
    %s = arith.addf %z, %p : f64
    linalg.yield %s : f64
  }
  func.return
}

// More rows are worth a copy of b: one of its rows goes into all panels, then the next.
// CHECK-LABEL: func.func @packed
// CHECK-DAG:   %[[ONE:.*]] = arith.constant 1 : index
// CHECK-DAG:   %[[WIDTH:.*]] = arith.constant 8 : index
// CHECK:       memref.alloc() {{.*}} : memref<{{[0-9]+}}x6xf64>
// CHECK:       %[[PANEL:.*]] = memref.alloc() {{.*}} : memref<{{[0-9]+}}x8xf64>
// CHECK:       vector.store {{.*}} vector<6xf64>
// CHECK:       scf.for %[[K:.*]] = {{.*}} step %[[ONE]] {
// CHECK:         scf.for %[[J:.*]] = {{.*}} step %[[WIDTH]] {
// CHECK:           vector.load %b[%[[K]], %[[J]]]
// CHECK:           vector.store {{.*}}, %[[PANEL]][
func.func @packed(%a: memref<18x512xf64>, %b: memref<512x1024xf64>, %c: memref<18x1024xf64>) {
  linalg.generic {
    indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>,
                     affine_map<(i, j, k) -> (i, j)>],
    iterator_types = ["parallel", "parallel", "reduction"]
  } ins(%a, %b : memref<18x512xf64>, memref<512x1024xf64>) outs(%c : memref<18x1024xf64>) {
  ^bb0(%x: f64, %y: f64, %z: f64):
    %p = arith.mulf %x, %y : f64
    %s = arith.addf %z, %p : f64
    linalg.yield %s : f64
  }
  func.return
}
