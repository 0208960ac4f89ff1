// RUN: mlirad-opt %s -p mlirad-nd-to-linalg,mlirad-fold-windows,mlirad-accumulate-products | filecheck %s

// The gradient of a convolution by its weights sums a product over images. The product is added to the sum where it is
// computed, in its own order of axes: the windows first. They are brought into the order of the weights after the loop.

// CHECK-LABEL: func.func @weights
// CHECK:         %[[ZEROS:.*]] = linalg.fill {{.*}} -> tensor<2x3x3x4xf32>
// CHECK:         %[[SUM:.*]] = scf.for {{.*}} iter_args(%[[OLD:.*]] = %[[ZEROS]]) -> (tensor<2x3x3x4xf32>)
// CHECK:           %[[NEW:.*]] = linalg.generic {{.*}} outs(%[[OLD]] : tensor<2x3x3x4xf32>)
// CHECK-NOT:       linalg.generic
// CHECK:           scf.yield %[[NEW]]
// CHECK:         linalg.generic {{.*}} ins(%[[SUM]] : tensor<2x3x3x4xf32>)
// CHECK:         func.return
func.func @weights(%g: tensor<5x4x48xf32>, %x: tensor<5x2x8x10xf32>) -> tensor<4x18xf32> {
  %c0 = nd.constant {value = 0 : i64} : i64
  %c1 = nd.constant {value = 1 : i64} : i64
  %c5 = nd.constant {value = 5 : i64} : i64
  %zero = nd.constant {value = 0.0 : f32} : f32
  %zeros = nd.full %zero : f32 to tensor<4x18xf32>
  %d = scf.for %n = %c0 to %c5 step %c1 iter_args(%s = %zeros) -> (tensor<4x18xf32>) : i64 {
    %0 = nd.extract_slice %x[%n, %c0, %c0, %c0] {sizes = array<i64: 1, 2, 8, 10>, strides = array<i64: 1, 1, 1, 1>} : tensor<5x2x8x10xf32> -> tensor<1x2x8x10xf32>
    %1 = nd.reshape %0 : tensor<1x2x8x10xf32> to tensor<2x8x10xf32>
    %2 = nd.windows %1 {axes = array<i64: 0, 1, 2, 1, 2>, steps = array<i64: 1, 1, 1, 1, 1>} : tensor<2x8x10xf32> to tensor<2x3x3x6x8xf32>
    %3 = nd.reshape %2 : tensor<2x3x3x6x8xf32> to tensor<18x48xf32>
    %4 = nd.extract_slice %g[%n, %c0, %c0] {sizes = array<i64: 1, 4, 48>, strides = array<i64: 1, 1, 1>} : tensor<5x4x48xf32> -> tensor<1x4x48xf32>
    %5 = nd.reshape %4 : tensor<1x4x48xf32> to tensor<4x48xf32>
    %6 = nd.contract "ij,kj->ik" %5, %3 : (tensor<4x48xf32>, tensor<18x48xf32>) -> tensor<4x18xf32>
    %7 = nd.add %s, %6 : tensor<4x18xf32>
    scf.yield %7 : tensor<4x18xf32>
  }
  func.return %d : tensor<4x18xf32>
}

// A sum that begins with other numbers than zeros keeps its shape, so a transposed product is still added. The same for a
// sum that the trip reads, too.

// CHECK-LABEL: func.func @kept
// CHECK:         scf.for
// CHECK-COUNT-2: linalg.generic
// CHECK:         scf.for
// CHECK-COUNT-3: linalg.generic
// CHECK:         func.return
func.func @kept(%g: tensor<4x6xf32>, %x: tensor<6x4xf32>, %init: tensor<4x4xf32>) -> (tensor<16xf32>, tensor<4x4xf32>) {
  %c0 = nd.constant {value = 0 : i64} : i64
  %c1 = nd.constant {value = 1 : i64} : i64
  %c5 = nd.constant {value = 5 : i64} : i64
  %flat = nd.reshape %init : tensor<4x4xf32> to tensor<16xf32>
  %a = scf.for %n = %c0 to %c5 step %c1 iter_args(%s = %flat) -> (tensor<16xf32>) : i64 {
    %0 = nd.contract "ij,jk->ik" %g, %x : (tensor<4x6xf32>, tensor<6x4xf32>) -> tensor<4x4xf32>
    %1 = nd.reshape %0 : tensor<4x4xf32> to tensor<16xf32>
    %2 = nd.add %s, %1 : tensor<16xf32>
    scf.yield %2 : tensor<16xf32>
  }
  %b = scf.for %n = %c0 to %c5 step %c1 iter_args(%s = %init) -> (tensor<4x4xf32>) : i64 {
    %0 = nd.contract "ij,jk->ik" %g, %x : (tensor<4x6xf32>, tensor<6x4xf32>) -> tensor<4x4xf32>
    %1 = nd.contract "ij,jk->ik" %s, %0 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %2 = nd.add %s, %1 : tensor<4x4xf32>
    scf.yield %2 : tensor<4x4xf32>
  }
  func.return %a, %b : tensor<16xf32>, tensor<4x4xf32>
}
