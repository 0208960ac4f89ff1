// RUN: mlirad-opt %s -p 'mlirad-linalg-to-loops{vector_bytes=64}' | filecheck %s

// Several blocks of rows: the sums of the first are completed before the next begin, so that this part of c, which is
// read and written once for each 256 steps of k, stays near. With 32 registers, a tile has 8 rows of 3 vectors: 11 loads
// for 24 multiply-adds, and no more rows than a cache has ways.
// CHECK-LABEL: func.func @blocks_of_rows
// CHECK-DAG:   %[[DEPTH:.*]] = arith.constant 256 : index
// CHECK-DAG:   %[[HEIGHT:.*]] = arith.constant 688 : index
// CHECK:       %[[ROWS:.*]] = memref.alloc() {{.*}} : memref<{{[0-9]+}}x8xf64>
// CHECK:       %[[PANEL:.*]] = memref.alloc() {{.*}} : memref<{{[0-9]+}}x24xf64>
// CHECK:       scf.for %[[I:.*]] = {{.*}} step %[[HEIGHT]] {
// CHECK:         scf.for %[[K:.*]] = {{.*}} step %[[DEPTH]] {
// CHECK:           scf.for {{.*}} = %[[I]] to
// CHECK:             vector.store %{{.*}}, %[[ROWS]][
// CHECK:             vector.store %{{.*}}, %[[PANEL]][
builtin.module {
  func.func @blocks_of_rows(%a: memref<2049x512xf64>, %b: memref<512x96xf64>, %c: memref<2049x96xf64>) {
    linalg.generic {
      indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>,
                       affine_map<(i, j, k) -> (i, j)>],
      iterator_types = ["parallel", "parallel", "reduction"]
    } ins(%a, %b : memref<2049x512xf64>, memref<512x96xf64>) outs(%c : memref<2049x96xf64>) {
    ^bb0(%x: f64, %y: f64, %z: f64):
      %p = arith.mulf %x, %y : f64
      %s = arith.addf %z, %p : f64
      linalg.yield %s : f64
    }
    func.return
  }
}
