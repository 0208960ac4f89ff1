// RUN: mlirad-opt %s -p mlirad-bufferize | filecheck %s
// Asking for an array's shape after it has been overwritten does not keep its old content alive.

// CHECK-LABEL: func.func public @zeros_like(
// CHECK:       %[[t:[^ ]+]] = memref.alloc(%{{[^)]+}}) : memref<?xf64>
// CHECK:       memref.store %{{[^,]+}}, %[[t]]
// CHECK:       memref.dim %[[t]]
// CHECK-NOT:   memref.copy
// CHECK:       func.return
func.func public @zeros_like(%n: index, %v: f64) -> (tensor<?xf64>, tensor<?xf64>) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f64
  %t = tensor.splat %v[%n] : tensor<?xf64>
  %u = tensor.insert %zero into %t[%c0] : tensor<?xf64>
  %size = tensor.dim %t, %c0 : tensor<?xf64>
  %zeros = tensor.splat %zero[%size] : tensor<?xf64>
  return %u, %zeros : tensor<?xf64>, tensor<?xf64>
}
