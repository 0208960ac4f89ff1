// RUN: not mlirad-opt %s -p mlirad-bufferize 2>&1 | filecheck %s
// Functions are inlined before their tensors become memrefs.

// CHECK: func.call: a function with a body must have been inlined before bufferization
func.func private @same(%x: tensor<4xf64>) -> tensor<4xf64> {
  return %x : tensor<4xf64>
}
func.func public @f(%x: tensor<4xf64>) -> tensor<4xf64> {
  %r = func.call @same(%x) : (tensor<4xf64>) -> tensor<4xf64>
  return %r : tensor<4xf64>
}
