// RUN: mlirad-opt %s -p 'mlirad-linalg-to-loops{vector_bytes=64}' | filecheck %s
// A product reads the windows of an image where they are: no loop copies them. Seen from a tap, the windows are one line
// of memory, so tiles run along it. Here rows of the image have 30 elements, and rows of the result 28: of each vector
// of sums, what is in one row of the result is stored, and what is in the next. The sums of the two places between the
// rows are not stored.
//
//   line     0 ... 27 28 29 30 ... 57 58 59 60 ...
//   result   0 ... 27  .  . 28 ... 55  .  . 56 ...

// CHECK-LABEL: func.func @image
// CHECK:         %[[SEEN:.*]] = memref.reinterpret_cast %x to offset: [%{{.*}}], sizes: [16, 3, 3, 838], strides: [900, 30, 1, 1]
// CHECK-NOT:     vector.store
// CHECK:         vector.load %[[SEEN]]
// CHECK-NEXT:    vector.load %[[SEEN]]
// CHECK-NEXT:    vector.load %[[SEEN]]
// The same tap of the next channel is fetched.
// CHECK:         memref.prefetch"(%[[SEEN]]
// CHECK-COUNT-72: vector.fma
// CHECK-NOT:     vector.fma
// Three vectors of eight rows, in two pieces each.
// CHECK-COUNT-48: vector.maskedstore
// CHECK-NOT:     vector.maskedstore
// The last panel loads no element beyond the image.
// CHECK:         vector.maskedload %[[SEEN]]
// CHECK:         func.return
func.func @image(%w: memref<16x16x3x3xf32>, %x: memref<16x30x30xf32>, %y: memref<16x28x28xf32>) {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%y : memref<16x28x28xf32>)
  linalg.generic {
    indexing_maps = [
      affine_map<(i, h, v, c, k, l) -> (i, c, k, l)>,
      affine_map<(i, h, v, c, k, l) -> (c, h + k, v + l)>,
      affine_map<(i, h, v, c, k, l) -> (i, h, v)>
    ],
    iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]
  } ins(%w, %x : memref<16x16x3x3xf32>, memref<16x30x30xf32>) outs(%y : memref<16x28x28xf32>) {
  ^bb0(%a: f32, %b: f32, %s: f32):
    %p = arith.mulf %a, %b : f32
    %t = arith.addf %s, %p : f32
    linalg.yield %t : f32
  }
  func.return
}

// Rows of four places, eight elements apart: it takes less time to pack windows than to compute so many sums in vain.
// CHECK-LABEL: func.func @short_rows
// CHECK-NOT:     memref.reinterpret_cast %x
// CHECK:         vector.maskedload %x
// CHECK:         func.return
func.func @short_rows(%w: memref<64x16x5x5xf32>, %x: memref<16x36x8xf32>, %y: memref<64x32x4xf32>) {
  linalg.generic {
    indexing_maps = [
      affine_map<(i, h, v, c, k, l) -> (i, c, k, l)>,
      affine_map<(i, h, v, c, k, l) -> (c, h + k, v + l)>,
      affine_map<(i, h, v, c, k, l) -> (i, h, v)>
    ],
    iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]
  } ins(%w, %x : memref<64x16x5x5xf32>, memref<16x36x8xf32>) outs(%y : memref<64x32x4xf32>) {
  ^bb0(%a: f32, %b: f32, %s: f32):
    %p = arith.mulf %a, %b : f32
    %t = arith.addf %s, %p : f32
    linalg.yield %t : f32
  }
  func.return
}
