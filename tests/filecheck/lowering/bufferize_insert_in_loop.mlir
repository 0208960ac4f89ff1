// RUN: mlirad-opt %s -p mlirad-bufferize | filecheck %s
// An array that a loop carries and writes one element of per trip is written in place, and is the caller's own memory.

// CHECK-LABEL: func.func public @running_sum(
// CHECK-SAME:  %[[x:[^:]+]]: memref<8xf64>, %{{[^:]+}}: memref<8xf64> {mlirad.result = 0 : i64}) {
// CHECK-NOT:   memref.alloc
// CHECK-NOT:   memref.copy
// CHECK:       scf.for %{{[^ ]+}} = %{{.*}} : i64 {
// CHECK:         memref.load %[[x]]
// CHECK:         memref.store
// CHECK-NEXT:  }
// CHECK-NEXT:  func.return
func.func public @running_sum(%x: tensor<8xf64>) -> tensor<8xf64> {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %n = arith.constant 7 : i64
  %one = arith.constant 1 : index
  %start = arith.constant dense<0.0> : tensor<8xf64>
  %y = scf.for %q = %c0 to %n step %c1 iter_args(%t = %start) -> (tensor<8xf64>) : i64 {
    %i = arith.index_cast %q : i64 to index
    %k = arith.addi %i, %one : index
    %before = tensor.extract %t[%i] : tensor<8xf64>
    %element = tensor.extract %x[%k] : tensor<8xf64>
    %sum = arith.addf %before, %element : f64
    %u = tensor.insert %sum into %t[%k] : tensor<8xf64>
    scf.yield %u : tensor<8xf64>
  }
  return %y : tensor<8xf64>
}
