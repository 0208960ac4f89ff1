// RUN: mlirad-opt %s --dialects-of ascend -p mlirad-ascend-legal | filecheck %s

// The vector unit has no log2: it is its logarithm times a number. Of f16, all is computed in f32.
// CHECK-LABEL: func.func public @log2
// CHECK-NOT: nd.log2
// CHECK: %[[wide:.*]] = nd.cast %x : tensor<3xf16> to tensor<3xf32>
// CHECK-NEXT: %[[log:.*]] = nd.log %[[wide]] : tensor<3xf32>
// CHECK: %[[scaled:.*]] = nd.mul %[[log]], %{{.*}} : tensor<3xf32>
// CHECK-NEXT: nd.cast %[[scaled]] : tensor<3xf32> to tensor<3xf16>
func.func public @log2(%x: tensor<3xf16>) -> tensor<3xf16> {
  %y = nd.log2 %x : tensor<3xf16>
  func.return %y : tensor<3xf16>
}

// Numbers are the host's, which has all functions.
// CHECK-LABEL: func.func public @of_the_host
// CHECK: nd.tanh %x : f32
func.func public @of_the_host(%x: f32) -> f32 {
  %y = nd.tanh %x : f32
  func.return %y : f32
}

// A product of f16 matrices stays one of f16: the cube core adds in f32 and rounds once.
// CHECK-LABEL: func.func public @product
// CHECK: nd.contract "XY,YZ->XZ" %x, %y : (tensor<4x5xf16>, tensor<5x6xf16>) -> tensor<4x6xf16>
func.func public @product(%x: tensor<4x5xf16>, %y: tensor<5x6xf16>) -> tensor<4x6xf16> {
  %p = nd.contract "XY,YZ->XZ" %x, %y : (tensor<4x5xf16>, tensor<5x6xf16>) -> tensor<4x6xf16>
  func.return %p : tensor<4x6xf16>
}
