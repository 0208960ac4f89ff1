// RUN: mlirad-opt %s -p 'mlirad-linalg-to-loops' | filecheck %s

// What is done to a product's result is done to a tile's sums before they are stored: writing and reading the result
// would take longer than its short sums.
// CHECK-LABEL: func.func @after
// CHECK-NOT:   linalg.fill
// CHECK:       vector.fma
// CHECK-NOT:   vector.load %c[
// CHECK:       vector.load %w[
// CHECK:       vector.load %old[
// CHECK:       vector.store %{{.*}}, %c[
// CHECK-NOT:   vector.load %c[
// CHECK:       func.return
func.func @after(%a: memref<3x4xf64>, %b: memref<4x48xf64>, %w: memref<48xf64>, %old: memref<3x48xf64>,
                 %c: memref<3x48xf64>) {
  %zero = arith.constant 0.0 : f64
  linalg.fill ins(%zero : f64) outs(%c : memref<3x48xf64>)
  linalg.generic {
    indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>,
                     affine_map<(i, j, k) -> (i, j)>],
    iterator_types = ["parallel", "parallel", "reduction"]
  } ins(%a, %b : memref<3x4xf64>, memref<4x48xf64>) outs(%c : memref<3x48xf64>) {
  ^bb0(%x: f64, %y: f64, %z: f64):
    %p = arith.mulf %x, %y : f64
    %s = arith.addf %z, %p : f64
    linalg.yield %s : f64
  }
  linalg.generic {
    indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>,
                     affine_map<(i, j) -> (i, j)>],
    iterator_types = ["parallel", "parallel"]
  } ins(%c, %w, %old : memref<3x48xf64>, memref<48xf64>, memref<3x48xf64>) outs(%c : memref<3x48xf64>) {
  ^bb0(%x: f64, %y: f64, %z: f64, %_: f64):
    %p = arith.mulf %x, %y : f64
    %s = arith.addf %z, %p : f64
    linalg.yield %s : f64
  }
  func.return
}

// A nest that reads other elements of the result needs all of it.
// CHECK-LABEL: func.func @after_transposed
// CHECK:       vector.fma
// CHECK:       vector.store %{{.*}}, %c[
// CHECK:       vector.load %c[
// CHECK:       func.return
func.func @after_transposed(%a: memref<24x4xf64>, %b: memref<4x24xf64>, %c: memref<24x24xf64>) {
  %zero = arith.constant 0.0 : f64
  linalg.fill ins(%zero : f64) outs(%c : memref<24x24xf64>)
  linalg.generic {
    indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>,
                     affine_map<(i, j, k) -> (i, j)>],
    iterator_types = ["parallel", "parallel", "reduction"]
  } ins(%a, %b : memref<24x4xf64>, memref<4x24xf64>) outs(%c : memref<24x24xf64>) {
  ^bb0(%x: f64, %y: f64, %z: f64):
    %p = arith.mulf %x, %y : f64
    %s = arith.addf %z, %p : f64
    linalg.yield %s : f64
  }
  %row = memref.subview %c[0, 0] [24, 1] [1, 1] : memref<24x24xf64> to memref<24xf64, strided<[24]>>
  linalg.generic {
    indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>],
    iterator_types = ["parallel", "parallel"]
  } ins(%c, %row : memref<24x24xf64>, memref<24xf64, strided<[24]>>) outs(%c : memref<24x24xf64>) {
  ^bb0(%x: f64, %y: f64, %_: f64):
    %s = arith.addf %x, %y : f64
    linalg.yield %s : f64
  }
  func.return
}

// If nothing else reads a product, it is never stored: `out += (a @ b) * w`. The next product reads other memory, so this
// one is computed after it, where the nest is. Rows are not computed twice, as they would be added twice: the last tile
// has the last row several times, and stores it from the same sums.
// CHECK-LABEL: func.func @added
// CHECK-NOT:   vector.store {{.*}}, %t[
// CHECK:       vector.load %out[
// CHECK-NOT:   vector.store {{.*}}, %t[
// CHECK:       vector.store %{{.*}}, %out[
// CHECK-NOT:   vector.store {{.*}}, %u[
// CHECK:       vector.load %other[
// CHECK-NOT:   vector.store {{.*}}, %u[
// CHECK:       vector.store %{{.*}}, %other[
// CHECK-NOT:   vector.store {{.*}}, %u[
// CHECK:       func.return
func.func @added(%a: memref<9x4xf64>, %b: memref<4x16xf64>, %w: memref<16xf64>, %out: memref<9x16xf64>,
                 %d: memref<9x4xf64>, %other: memref<9x16xf64>) {
  %zero = arith.constant 0.0 : f64
  %t = memref.alloc() {mlirad.offset = 0 : i64} : memref<9x16xf64>
  linalg.fill ins(%zero : f64) outs(%t : memref<9x16xf64>)
  linalg.generic {
    indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>,
                     affine_map<(i, j, k) -> (i, j)>],
    iterator_types = ["parallel", "parallel", "reduction"]
  } ins(%a, %b : memref<9x4xf64>, memref<4x16xf64>) outs(%t : memref<9x16xf64>) {
  ^bb0(%x: f64, %y: f64, %z: f64):
    %p = arith.mulf %x, %y : f64
    %s = arith.addf %z, %p : f64
    linalg.yield %s : f64
  }
  %u = memref.alloc() {mlirad.offset = 1152 : i64} : memref<9x16xf64>
  linalg.fill ins(%zero : f64) outs(%u : memref<9x16xf64>)
  linalg.generic {
    indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>,
                     affine_map<(i, j, k) -> (i, j)>],
    iterator_types = ["parallel", "parallel", "reduction"]
  } ins(%d, %b : memref<9x4xf64>, memref<4x16xf64>) outs(%u : memref<9x16xf64>) {
  ^bb0(%x: f64, %y: f64, %z: f64):
    %p = arith.mulf %x, %y : f64
    %s = arith.addf %z, %p : f64
    linalg.yield %s : f64
  }
  linalg.generic {
    indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>],
    iterator_types = ["parallel", "parallel"]
  } ins(%t, %w : memref<9x16xf64>, memref<16xf64>) outs(%out : memref<9x16xf64>) {
  ^bb0(%x: f64, %y: f64, %z: f64):
    %p = arith.mulf %x, %y : f64
    %s = arith.addf %z, %p : f64
    linalg.yield %s : f64
  }
  linalg.generic {
    indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>],
    iterator_types = ["parallel", "parallel"]
  } ins(%u, %w : memref<9x16xf64>, memref<16xf64>) outs(%other : memref<9x16xf64>) {
  ^bb0(%x: f64, %y: f64, %z: f64):
    %p = arith.mulf %x, %y : f64
    %s = arith.addf %z, %p : f64
    linalg.yield %s : f64
  }
  func.return
}

// If the nest after a product changes one of its factors, or another nest before that one does, its result is stored.
// CHECK-LABEL: func.func @added_to_a_factor
// CHECK:       vector.fma
// CHECK:       vector.store %{{.*}}, %t[
// CHECK:       func.return
func.func @added_to_a_factor(%a: memref<16x16xf64>, %b: memref<16x16xf64>, %old: memref<16x16xf64>) {
  %zero = arith.constant 0.0 : f64
  %t = memref.alloc() {mlirad.offset = 0 : i64} : memref<16x16xf64>
  linalg.fill ins(%zero : f64) outs(%t : memref<16x16xf64>)
  linalg.generic {
    indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>,
                     affine_map<(i, j, k) -> (i, j)>],
    iterator_types = ["parallel", "parallel", "reduction"]
  } ins(%a, %b : memref<16x16xf64>, memref<16x16xf64>) outs(%t : memref<16x16xf64>) {
  ^bb0(%x: f64, %y: f64, %z: f64):
    %p = arith.mulf %x, %y : f64
    %s = arith.addf %z, %p : f64
    linalg.yield %s : f64
  }
  linalg.generic {
    indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
    iterator_types = ["parallel", "parallel"]
  } ins(%t : memref<16x16xf64>) outs(%b : memref<16x16xf64>) {
  ^bb0(%x: f64, %z: f64):
    %s = arith.addf %z, %x : f64
    linalg.yield %s : f64
  }
  func.return
}

// CHECK-LABEL: func.func @factor_is_changed_before
// CHECK:       vector.fma
// CHECK:       vector.store %{{.*}}, %t[
// CHECK:       func.return
func.func @factor_is_changed_before(%a: memref<16x16xf64>, %b: memref<16x16xf64>, %out: memref<16x16xf64>) {
  %zero = arith.constant 0.0 : f64
  %t = memref.alloc() {mlirad.offset = 0 : i64} : memref<16x16xf64>
  linalg.fill ins(%zero : f64) outs(%t : memref<16x16xf64>)
  linalg.generic {
    indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>,
                     affine_map<(i, j, k) -> (i, j)>],
    iterator_types = ["parallel", "parallel", "reduction"]
  } ins(%a, %b : memref<16x16xf64>, memref<16x16xf64>) outs(%t : memref<16x16xf64>) {
  ^bb0(%x: f64, %y: f64, %z: f64):
    %p = arith.mulf %x, %y : f64
    %s = arith.addf %z, %p : f64
    linalg.yield %s : f64
  }
  linalg.generic {
    indexing_maps = [affine_map<(i, j) -> (i, j)>],
    iterator_types = ["parallel", "parallel"]
  } outs(%b : memref<16x16xf64>) {
  ^bb0(%z: f64):
    %s = arith.addf %z, %z : f64
    linalg.yield %s : f64
  }
  linalg.generic {
    indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
    iterator_types = ["parallel", "parallel"]
  } ins(%t : memref<16x16xf64>) outs(%out : memref<16x16xf64>) {
  ^bb0(%x: f64, %z: f64):
    %s = arith.addf %z, %x : f64
    linalg.yield %s : f64
  }
  func.return
}

// An array that only a product with few columns reads is not stored: its elements are computed where they are read.
// Lanes behind the end are zeros, whatever the nest makes of them.
// CHECK-LABEL: func.func @before
// CHECK-NOT:   %t[
// CHECK:       vector.load %x[
// CHECK:       arith.divf {{.*}} : vector<4xf64>
// CHECK:       vector.fma
// CHECK:       vector.maskedload %x[
// CHECK:       arith.divf {{.*}} : vector<4xf64>
// CHECK:       arith.select {{.*}} : vector<4xi1>, vector<4xf64>
// CHECK:       vector.fma
// CHECK:       memref.store {{.*}}, %c[
// CHECK:       func.return
func.func @before(%x: memref<3x22xf64>, %w: memref<22xf64>, %b: memref<2x22xf64>, %c: memref<3x2xf64>) {
  %t = memref.alloc() {mlirad.offset = 0 : i64} : memref<3x22xf64>
  linalg.generic {
    indexing_maps = [affine_map<(i, k) -> (i, k)>, affine_map<(i, k) -> (k)>, affine_map<(i, k) -> (i, k)>],
    iterator_types = ["parallel", "parallel"]
  } ins(%x, %w : memref<3x22xf64>, memref<22xf64>) outs(%t : memref<3x22xf64>) {
  ^bb0(%p: f64, %q: f64, %_: f64):
    %r = arith.divf %p, %q : f64
    linalg.yield %r : f64
  }
  linalg.generic {
    indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (j, k)>,
                     affine_map<(i, j, k) -> (i, j)>],
    iterator_types = ["parallel", "parallel", "reduction"]
  } ins(%t, %b : memref<3x22xf64>, memref<2x22xf64>) outs(%c : memref<3x2xf64>) {
  ^bb0(%p: f64, %q: f64, %z: f64):
    %m = arith.mulf %p, %q : f64
    %s = arith.addf %z, %m : f64
    linalg.yield %s : f64
  }
  func.return
}

// The result has the place in memory of an array that was read for the last time: it is read before.
// CHECK-LABEL: func.func @before_in_the_same_place
// CHECK:       vector.store %{{.*}} : memref<72xf64>, vector<4xf64>
// CHECK:       vector.load %t[
// CHECK:       vector.fma
// CHECK:       func.return
func.func @before_in_the_same_place(%b: memref<2x24xf64>) {
  %x = memref.alloc() {mlirad.offset = 0 : i64} : memref<3x24xf64>
  %t = memref.alloc() {mlirad.offset = 576 : i64} : memref<3x24xf64>
  linalg.generic {
    indexing_maps = [affine_map<(i, k) -> (i, k)>, affine_map<(i, k) -> (i, k)>],
    iterator_types = ["parallel", "parallel"]
  } ins(%x : memref<3x24xf64>) outs(%t : memref<3x24xf64>) {
  ^bb0(%p: f64, %_: f64):
    %r = arith.addf %p, %p : f64
    linalg.yield %r : f64
  }
  %c = memref.alloc() {mlirad.offset = 0 : i64} : memref<3x2xf64>
  linalg.generic {
    indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (j, k)>,
                     affine_map<(i, j, k) -> (i, j)>],
    iterator_types = ["parallel", "parallel", "reduction"]
  } ins(%t, %b : memref<3x24xf64>, memref<2x24xf64>) outs(%c : memref<3x2xf64>) {
  ^bb0(%p: f64, %q: f64, %z: f64):
    %m = arith.mulf %p, %q : f64
    %s = arith.addf %z, %m : f64
    linalg.yield %s : f64
  }
  func.return
}

// The nest before a product would move with it behind the nest that changes x, and read x too late.
// CHECK-LABEL: func.func @before_a_change
// CHECK:       vector.load %x[
// CHECK:       arith.divf
// CHECK:       arith.mulf
// CHECK:       vector.store {{.*}}, %{{.*}} : memref<{{(3x24|72)}}xf64>
// CHECK:       func.return
func.func @before_a_change(%x: memref<3x24xf64>, %w: memref<24xf64>, %b: memref<2x24xf64>, %c: memref<3x2xf64>) {
  %t = memref.alloc() {mlirad.offset = 0 : i64} : memref<3x24xf64>
  linalg.generic {
    indexing_maps = [affine_map<(i, k) -> (i, k)>, affine_map<(i, k) -> (k)>, affine_map<(i, k) -> (i, k)>],
    iterator_types = ["parallel", "parallel"]
  } ins(%x, %w : memref<3x24xf64>, memref<24xf64>) outs(%t : memref<3x24xf64>) {
  ^bb0(%p: f64, %q: f64, %_: f64):
    %r = arith.divf %p, %q : f64
    linalg.yield %r : f64
  }
  linalg.generic {
    indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (j, k)>,
                     affine_map<(i, j, k) -> (i, j)>],
    iterator_types = ["parallel", "parallel", "reduction"]
  } ins(%t, %b : memref<3x24xf64>, memref<2x24xf64>) outs(%c : memref<3x2xf64>) {
  ^bb0(%p: f64, %q: f64, %z: f64):
    %m = arith.mulf %p, %q : f64
    %s = arith.addf %z, %m : f64
    linalg.yield %s : f64
  }
  linalg.generic {
    indexing_maps = [affine_map<(i, j) -> (i, j)>],
    iterator_types = ["parallel", "parallel"]
  } outs(%x : memref<3x24xf64>) {
  ^bb0(%z: f64):
    %s = arith.mulf %z, %z : f64
    linalg.yield %s : f64
  }
  linalg.generic {
    indexing_maps = [affine_map<(i, j) -> (i, j)>],
    iterator_types = ["parallel", "parallel"]
  } outs(%c : memref<3x2xf64>) {
  ^bb0(%z: f64):
    %s = arith.negf %z : f64
    linalg.yield %s : f64
  }
  func.return
}

// Matrices one after the other in memory are one product with more rows. With a nest after it, they are not merged.
// CHECK-LABEL: func.func @after_matrices
// CHECK-NOT:   linalg.fill
// CHECK:       vector.fma
// CHECK-NOT:   vector.load %c[
// CHECK:       vector.store %{{.*}}, %c[
// CHECK-NOT:   vector.load %c[
// CHECK:       func.return
func.func @after_matrices(%a: memref<8x3x4xf64>, %b: memref<4x96xf64>, %w: memref<96xf64>, %c: memref<8x3x96xf64>) {
  %zero = arith.constant 0.0 : f64
  linalg.fill ins(%zero : f64) outs(%c : memref<8x3x96xf64>)
  linalg.generic {
    indexing_maps = [affine_map<(a, i, j, k) -> (a, i, k)>, affine_map<(a, i, j, k) -> (k, j)>,
                     affine_map<(a, i, j, k) -> (a, i, j)>],
    iterator_types = ["parallel", "parallel", "parallel", "reduction"]
  } ins(%a, %b : memref<8x3x4xf64>, memref<4x96xf64>) outs(%c : memref<8x3x96xf64>) {
  ^bb0(%x: f64, %y: f64, %z: f64):
    %p = arith.mulf %x, %y : f64
    %s = arith.addf %z, %p : f64
    linalg.yield %s : f64
  }
  linalg.generic {
    indexing_maps = [affine_map<(a, i, j) -> (a, i, j)>, affine_map<(a, i, j) -> (j)>,
                     affine_map<(a, i, j) -> (a, i, j)>],
    iterator_types = ["parallel", "parallel", "parallel"]
  } ins(%c, %w : memref<8x3x96xf64>, memref<96xf64>) outs(%c : memref<8x3x96xf64>) {
  ^bb0(%x: f64, %y: f64, %_: f64):
    %p = arith.mulf %x, %y : f64
    linalg.yield %p : f64
  }
  func.return
}
