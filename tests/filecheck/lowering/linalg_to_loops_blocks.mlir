// RUN: mlirad-opt %s -p 'mlirad-linalg-to-loops' | filecheck %s

// A product too large for the caches: rows of a are copied, then blocks of b, each of which is multiplied by all these
// rows. A tile reads a's rows side by side, and the next tile has the next columns: c is accessed along its rows. c is
// read when its tile is done. What is packed of a and b exceeds the first cache, so that a tile fetches it some steps
// ahead; vectors of b that share a cache line are fetched once.
// CHECK-LABEL: func.func @blocks
// CHECK:       %[[ROWS:.*]] = memref.alloc() {{.*}} : memref<{{[0-9]+}}x6xf64>
// CHECK:       %[[PANEL:.*]] = memref.alloc() {{.*}} : memref<{{[0-9]+}}x8xf64>
// CHECK:       vector.load %a[{{.*}}] : memref<600x600xf64>, vector<6xf64>
// CHECK:       vector.store %{{.*}}, %[[ROWS]][
// CHECK:       vector.store %{{.*}}, %[[PANEL]][
// CHECK:       scf.for %[[I:.*]] = {{.*}} {
// CHECK:       scf.for %[[J:.*]] = {{.*}} {
// CHECK:       scf.for {{.*}} = %[[I]] to {{.*}} {
// CHECK-NOT:   %c[
// CHECK:       scf.for {{.*}} iter_args
// CHECK:         memref.prefetch"(%[[PANEL]],
// CHECK-NOT:     memref.prefetch"(%[[PANEL]],
// CHECK:         memref.prefetch"(%[[ROWS]],
// CHECK:         memref.load %[[ROWS]][
// CHECK:       vector.load %c[
// CHECK:       arith.addf
func.func @blocks(%a: memref<600x600xf64>, %b: memref<600x600xf64>, %c: memref<600x600xf64>) {
  linalg.generic {
    indexing_maps = [affine_map<(i, j, k) -> (k, i)>, affine_map<(i, j, k) -> (k, j)>,
                     affine_map<(i, j, k) -> (i, j)>],
    iterator_types = ["parallel", "parallel", "reduction"]
  } ins(%a, %b : memref<600x600xf64>, memref<600x600xf64>) outs(%c : memref<600x600xf64>) {
  ^bb0(%x: f64, %y: f64, %z: f64):
    %p = arith.mulf %x, %y : f64
    %s = arith.addf %z, %p : f64
    linalg.yield %s : f64
  }
  func.return
}
