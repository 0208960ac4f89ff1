// RUN: mlirad-opt %s -p mlirad-multiply-overlaps | filecheck %s

// The gradient of a convolution by its images: instead of a product as large as all windows, and the sum of its windows,
// one product of the reversed weights with windows of the padded cotangents. The weights are reversed before the loop.
// Only the inner part of the image is needed, so the padding is 1 on each side, not 2.

// CHECK-LABEL: func.func @images
// CHECK:         %[[BACK:.*]] = nd.extract_slice {{.*}} {sizes = array<i64: 1, 8, 4, 3, 3>, strides = array<i64: 1, 1, 1, -1, -1>}
// CHECK:         %[[TURNED:.*]] = nd.transpose %[[BACK]] {permutation = array<i64: 0, 2, 1, 3, 4>}
// CHECK:         %[[W:.*]] = nd.reshape %[[TURNED]] : tensor<1x4x8x3x3xf32> to tensor<1x4x72xf32>
// CHECK:         scf.for
// CHECK:           %[[PADDED:.*]] = nd.insert_slice {{.*}} into tensor<1x8x8x9xf32>
// CHECK:           nd.windows %[[PADDED]] {{.*}} to tensor<1x8x3x3x6x7xf32>
// CHECK:           nd.contract "aXY,aYZ->aXZ" %[[W]], {{.*}} -> tensor<1x4x42xf32>
// CHECK-NOT:       nd.overlap
// CHECK:         func.return
func.func @images(%w: tensor<1x8x36xf32>, %g: tensor<2x1x8x42xf32>) -> tensor<2x4x6x7xf32> {
  %c0 = nd.constant {value = 0 : i64} : i64
  %c1 = nd.constant {value = 1 : i64} : i64
  %c2 = nd.constant {value = 2 : i64} : i64
  %zero = nd.constant {value = 0.0 : f32} : f32
  %zeros = nd.full %zero : f32 to tensor<2x4x6x7xf32>
  %d = scf.for %n = %c0 to %c2 step %c1 iter_args(%e = %zeros) -> (tensor<2x4x6x7xf32>) : i64 {
    %0 = nd.extract_slice %g[%n, %c0, %c0, %c0] {sizes = array<i64: 1, 1, 8, 42>, strides = array<i64: 1, 1, 1, 1>} : tensor<2x1x8x42xf32> -> tensor<1x1x8x42xf32>
    %1 = nd.reshape %0 : tensor<1x1x8x42xf32> to tensor<1x8x42xf32>
    %2 = nd.contract "aXY,aXZ->aYZ" %w, %1 : (tensor<1x8x36xf32>, tensor<1x8x42xf32>) -> tensor<1x36x42xf32>
    %3 = nd.reshape %2 : tensor<1x36x42xf32> to tensor<1x4x3x3x6x7xf32>
    %4 = nd.overlap %3 {axes = array<i64: 0, 1, 2, 3, 2, 3>, steps = array<i64: 1, 1, 1, 1, 1, 1>} : tensor<1x4x3x3x6x7xf32> to tensor<1x4x8x9xf32>
    %5 = nd.extract_slice %4[%c0, %c0, %c1, %c1] {sizes = array<i64: 1, 4, 6, 7>, strides = array<i64: 1, 1, 1, 1>} : tensor<1x4x8x9xf32> -> tensor<1x4x6x7xf32>
    %6 = nd.insert_slice %5, %e[%n, %c0, %c0, %c0] {sizes = array<i64: 1, 4, 6, 7>, strides = array<i64: 1, 1, 1, 1>} : tensor<1x4x6x7xf32> into tensor<2x4x6x7xf32>
    scf.yield %6 : tensor<2x4x6x7xf32>
  }
  func.return %d : tensor<2x4x6x7xf32>
}

// Left alone: windows in steps; an image much larger than the cotangents; one row for many steps; a product that is used
// elsewhere.

// CHECK-LABEL: func.func @kept
// CHECK-COUNT-4: nd.overlap
// CHECK:         func.return
func.func @kept(%w: tensor<4x6xf32>, %g: tensor<4x9xf32>, %v: tensor<4x12xf32>, %h: tensor<4x3xf32>, %u: tensor<9x3xf32>, %t: tensor<9x9xf32>) -> (tensor<2x19xf32>, tensor<2x8xf32>, tensor<1x11xf32>, tensor<2x11xf32>, tensor<6x9xf32>) {
  %0 = nd.contract "ki,kj->ij" %w, %g : (tensor<4x6xf32>, tensor<4x9xf32>) -> tensor<6x9xf32>
  %1 = nd.reshape %0 : tensor<6x9xf32> to tensor<2x3x9xf32>
  %a = nd.overlap %1 {axes = array<i64: 0, 1, 1>, steps = array<i64: 1, 1, 2>} : tensor<2x3x9xf32> to tensor<2x19xf32>
  %2 = nd.contract "ki,kj->ij" %v, %h : (tensor<4x12xf32>, tensor<4x3xf32>) -> tensor<12x3xf32>
  %3 = nd.reshape %2 : tensor<12x3xf32> to tensor<2x6x3xf32>
  %b = nd.overlap %3 {axes = array<i64: 0, 1, 1>, steps = array<i64: 1, 1, 1>} : tensor<2x6x3xf32> to tensor<2x8xf32>
  %4 = nd.contract "ki,kj->ij" %u, %t : (tensor<9x3xf32>, tensor<9x9xf32>) -> tensor<3x9xf32>
  %5 = nd.reshape %4 : tensor<3x9xf32> to tensor<1x3x9xf32>
  %c = nd.overlap %5 {axes = array<i64: 0, 1, 1>, steps = array<i64: 1, 1, 1>} : tensor<1x3x9xf32> to tensor<1x11xf32>
  %6 = nd.contract "ki,kj->ij" %w, %g : (tensor<4x6xf32>, tensor<4x9xf32>) -> tensor<6x9xf32>
  %7 = nd.reshape %6 : tensor<6x9xf32> to tensor<2x3x9xf32>
  %d = nd.overlap %7 {axes = array<i64: 0, 1, 1>, steps = array<i64: 1, 1, 1>} : tensor<2x3x9xf32> to tensor<2x11xf32>
  func.return %a, %b, %c, %d, %6 : tensor<2x19xf32>, tensor<2x8xf32>, tensor<1x11xf32>, tensor<2x11xf32>, tensor<6x9xf32>
}
