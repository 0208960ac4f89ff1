// RUN: mlirad-opt %s -p mlirad-nd-to-linalg,mlirad-fold-windows | filecheck %s
// RUN: mlirad-opt %s -p 'mlirad-nd-to-linalg,mlirad-fold-windows,mlirad-bufferize,mlirad-plan-arena,mlirad-linalg-to-loops{vector_bytes=32}' | filecheck %s --check-prefix LOOPS
// A convolution is a product of weights with windows. The product reads the image itself: no array has the windows, and
// each tile of the result is written once, when its sums over all taps are done.

// CHECK-LABEL: func.func @image
// CHECK-NOT:     tensor<2x3x3x
// CHECK:         affine_map<(d0, d1, d2, d3, d4, d5) -> (d3, (d4 + d1), (d5 + d2))>
// CHECK-SAME:    ins(%{{.*}}, %x : tensor<4x2x3x3xf32>, tensor<2x8x10xf32>)
// CHECK-NOT:     linalg.generic
// CHECK:         func.return

// All loops over taps and channels copy parts of rows into a panel: the sum's own loop is one, and stores come after it.
// LOOPS-LABEL: func.func @image
// LOOPS:         vector.maskedload %x
// LOOPS:         vector.store
// LOOPS:         scf.for
// LOOPS-COUNT-8: vector.fma
// LOOPS-NOT:     vector.store
// LOOPS:         scf.yield
// LOOPS-COUNT-8: vector.store
// LOOPS-NOT:     vector.store
// LOOPS:         func.return
func.func @image(%w: tensor<4x18xf32>, %x: tensor<2x8x10xf32>) -> tensor<4x48xf32> {
  %0 = nd.windows %x {axes = array<i64: 0, 1, 2, 1, 2>, steps = array<i64: 1, 1, 1, 1, 1>}
      : tensor<2x8x10xf32> to tensor<2x3x3x6x8xf32>
  %1 = nd.reshape %0 : tensor<2x3x3x6x8xf32> to tensor<18x48xf32>
  %2 = nd.contract "ik,kj->ij" %w, %1 : (tensor<4x18xf32>, tensor<18x48xf32>) -> tensor<4x48xf32>
  func.return %2 : tensor<4x48xf32>
}

// Along an axis in steps of two, vectors would have to gather: these windows stay an array.
// CHECK-LABEL: func.func @steps
// CHECK-COUNT-2: linalg.generic
func.func @steps(%w: tensor<4x3xf32>, %x: tensor<17xf32>) -> tensor<4x8xf32> {
  %0 = nd.windows %x {axes = array<i64: 0, 0>, steps = array<i64: 1, 2>} : tensor<17xf32> to tensor<3x8xf32>
  %1 = nd.contract "ik,kj->ij" %w, %0 : (tensor<4x3xf32>, tensor<3x8xf32>) -> tensor<4x8xf32>
  func.return %1 : tensor<4x8xf32>
}

// The gradient by the weights sums over the places of the windows: each element of the image is multiplied by a vector of
// all results' gradients, so it is the result that gets another order of axes.
// CHECK-LABEL: func.func @weights
// CHECK-NOT:     tensor<2x3x3x6x8xf32>
// CHECK:         linalg.generic
// CHECK-SAME:    affine_map<(d0, d1, d2, d3, d4, d5) -> (d1, (d2 + d4), (d3 + d5))>
// CHECK-SAME:    affine_map<(d0, d1, d2, d3, d4, d5) -> (d1, d2, d3, d0)>
// CHECK:         linalg.generic
// CHECK:         func.return
func.func @weights(%g: tensor<4x48xf32>, %x: tensor<2x8x10xf32>) -> tensor<4x18xf32> {
  %0 = nd.windows %x {axes = array<i64: 0, 1, 2, 1, 2>, steps = array<i64: 1, 1, 1, 1, 1>}
      : tensor<2x8x10xf32> to tensor<2x3x3x6x8xf32>
  %1 = nd.reshape %0 : tensor<2x3x3x6x8xf32> to tensor<18x48xf32>
  %2 = nd.contract "ij,kj->ik" %g, %1 : (tensor<4x48xf32>, tensor<18x48xf32>) -> tensor<4x18xf32>
  func.return %2 : tensor<4x18xf32>
}

// In the gradient by an image, the weights have another order of axes. They are large, so they are packed in any case, and
// from where they are: no copy has them in the order of the product.
// CHECK-LABEL: func.func @transposed
// CHECK-NOT:     tensor<64x128x3x3xf32>
// CHECK:         affine_map<(d0, d1, d2, d3, d4, d5) -> (d3, d0, d4, d5)>
// CHECK-SAME:    affine_map<(d0, d1, d2, d3, d4, d5) -> (d3, (d4 + d1), (d5 + d2))>
// CHECK-SAME:    ins(%w, %x : tensor<128x64x3x3xf32>, tensor<128x10x10xf32>)
// CHECK-NOT:     linalg.generic
// CHECK:         func.return
func.func @transposed(%w: tensor<128x64x3x3xf32>, %x: tensor<128x10x10xf32>) -> tensor<64x64xf32> {
  %0 = nd.windows %x {axes = array<i64: 0, 1, 2, 1, 2>, steps = array<i64: 1, 1, 1, 1, 1>}
      : tensor<128x10x10xf32> to tensor<128x3x3x8x8xf32>
  %1 = nd.reshape %0 : tensor<128x3x3x8x8xf32> to tensor<1152x64xf32>
  %2 = nd.transpose %w {permutation = array<i64: 1, 0, 2, 3>} : tensor<128x64x3x3xf32> to tensor<64x128x3x3xf32>
  %3 = nd.reshape %2 : tensor<64x128x3x3xf32> to tensor<64x1152xf32>
  %4 = nd.contract "ik,kj->ij" %3, %1 : (tensor<64x1152xf32>, tensor<1152x64xf32>) -> tensor<64x64xf32>
  func.return %4 : tensor<64x64xf32>
}
