// RUN: mlirad-opt %s -p 'mlirad-linalg-to-loops{vector_bytes=32 parallel=true}' | filecheck %s
// Threads share products that read windows in place, and no array has the windows: one product of several each.

// CHECK-LABEL: func.func @groups
// CHECK:       "scf.parallel"
// CHECK-NEXT:  ^{{.*}}(%[[GROUP:.*]]: index):
// CHECK:         %[[X:.*]] = memref.subview %x[%[[GROUP]], 0, 0, 0]
// CHECK:         memref.extract_strided_metadata %[[X]]
// CHECK:         memref.reinterpret_cast
// CHECK:         vector.fma
// CHECK:         scf.reduce
// CHECK:       func.return
func.func @groups(%w: memref<8x16x8x3x3xf32>, %x: memref<8x8x34x34xf32>, %y: memref<8x16x32x32xf32>) {
  linalg.generic {
    indexing_maps = [
      affine_map<(n, i, h, w, c, k, l) -> (n, i, c, k, l)>,
      affine_map<(n, i, h, w, c, k, l) -> (n, c, h + k, w + l)>,
      affine_map<(n, i, h, w, c, k, l) -> (n, i, h, w)>
    ],
    iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]
  } ins(%w, %x : memref<8x16x8x3x3xf32>, memref<8x8x34x34xf32>) outs(%y : memref<8x16x32x32xf32>) {
  ^bb0(%a: f32, %b: f32, %s: f32):
    %p = arith.mulf %a, %b : f32
    %t = arith.addf %s, %p : f32
    linalg.yield %t : f32
  }
  func.return
}

// The gradient by the weights: each has the tiles of 36 of the 72 rows c, k, l. The image is whole, because a row is a sum
// of subscripts of it.
// CHECK-LABEL: func.func @weights
// CHECK-DAG:   %[[ROWS:.*]] = arith.constant 36 : index
// CHECK:       "scf.parallel"(%{{.*}}, %{{.*}}, %[[ROWS]])
// CHECK-NEXT:  ^{{.*}}(%[[ROW:.*]]: index):
// CHECK-NOT:     memref.subview %x
// CHECK:         memref.subview %{{.*}}[%[[ROW]], 0] [36, 16]
// CHECK:         arith.addi %[[ROW]], %{{.*}}
// CHECK:         memref.load %x
// CHECK:         vector.fma
// CHECK:         scf.reduce
// CHECK:       func.return
func.func @weights(%g: memref<16x32x32xf32>, %x: memref<8x34x34xf32>, %y: memref<8x3x3x16xf32>) {
  linalg.generic {
    indexing_maps = [
      affine_map<(c, k, l, j, h, w) -> (c, h + k, w + l)>,
      affine_map<(c, k, l, j, h, w) -> (j, h, w)>,
      affine_map<(c, k, l, j, h, w) -> (c, k, l, j)>
    ],
    iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction"]
  } ins(%x, %g : memref<8x34x34xf32>, memref<16x32x32xf32>) outs(%y : memref<8x3x3x16xf32>) {
  ^bb0(%a: f32, %b: f32, %s: f32):
    %p = arith.mulf %a, %b : f32
    %t = arith.addf %s, %p : f32
    linalg.yield %t : f32
  }
  func.return
}
