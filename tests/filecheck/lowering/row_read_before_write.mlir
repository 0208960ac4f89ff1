// RUN: mlirad-opt %s -p 'mlirad-nd-to-linalg' | filecheck %s
// RUN: mlirad-opt %s -p 'mlirad-nd-to-linalg,mlirad-bufferize' | filecheck %s --check-prefix BUFFERS

// A row loses its axis of size 1 after the array was overwritten, as the adjoint of A[i] = f(A[i]) has it. The slice of the
// array as it was is taken where it was taken before, so that the array need not be copied in each trip.
// CHECK-LABEL: func.func public @rows
// CHECK:         scf.for
// CHECK:           tensor.extract_slice %{{.*}} : tensor<8x5xf64> to tensor<5xf64>
// CHECK:           tensor.insert_slice
// CHECK:           linalg.generic

// BUFFERS-LABEL: func.func public @rows
// BUFFERS:         scf.for
// BUFFERS-NOT:       memref<8x5xf64>) -> ()
// BUFFERS:         return
func.func public @rows(%a: tensor<8x5xf64>) -> tensor<8x5xf64> {
  %zero = nd.constant {value = 0 : i64} : i64
  %one = nd.constant {value = 1 : i64} : i64
  %n = nd.constant {value = 8 : i64} : i64
  %none = nd.constant {value = 0.0 : f64} : f64
  %clear = nd.full %none : f64 to tensor<1x5xf64>
  %r = scf.for %i = %zero to %n step %one iter_args(%g = %a) -> (tensor<8x5xf64>) : i64 {
    %s = nd.extract_slice %g[%i, %zero] {sizes = array<i64: 1, 5>, strides = array<i64: 1, 1>} : tensor<8x5xf64> -> tensor<1x5xf64>
    %h = nd.insert_slice %clear, %g[%i, %zero] {sizes = array<i64: 1, 5>, strides = array<i64: 1, 1>} : tensor<1x5xf64> into tensor<8x5xf64>
    %row = nd.reshape %s : tensor<1x5xf64> to tensor<5xf64>
    %t = nd.sin %row : tensor<5xf64>
    %u = nd.reshape %t : tensor<5xf64> to tensor<1x5xf64>
    %v = nd.add_slice %u, %h[%i, %zero] {sizes = array<i64: 1, 5>, strides = array<i64: 1, 1>} : tensor<1x5xf64> into tensor<8x5xf64>
    scf.yield %v : tensor<8x5xf64>
  }
  func.return %r : tensor<8x5xf64>
}
