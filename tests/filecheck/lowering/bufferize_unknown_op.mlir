// RUN: not mlirad-opt %s -p mlirad-bufferize 2>&1 | filecheck %s
// An op whose use of memory is not known is refused, by name.

// CHECK: tensor.concat: bufferization does not know what it does with its tensors
func.func public @joined(%x: tensor<4xf64>) -> tensor<8xf64> {
  %r = tensor.concat dim(0) %x, %x : (tensor<4xf64>, tensor<4xf64>) -> tensor<8xf64>
  return %r : tensor<8xf64>
}
