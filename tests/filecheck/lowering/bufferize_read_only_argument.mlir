// RUN: mlirad-opt %s -p mlirad-bufferize | filecheck %s
// The caller's array is copied once, before the loop that updates it, and straight into the result's memory.

// CHECK-LABEL: func.func public @update(
// CHECK-SAME:  %[[x:[^:]+]]: memref<8xf64>, %{{[^:]+}}: i64, %[[y:[^:]+]]: memref<8xf64> {mlirad.result = 0 : i64}) {
// CHECK-NOT:   memref.alloc
// CHECK:       "memref.copy"(%[[x]], %[[y]])
// CHECK:       scf.for
// CHECK-NOT:   memref.copy
// CHECK:         memref.store %{{[^,]+}}, %[[y]]
// CHECK-NOT:   memref.copy
// CHECK:       func.return
func.func public @update(%x: tensor<8xf64>, %n: i64) -> tensor<8xf64> {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %r = scf.for %q = %c0 to %n step %c1 iter_args(%t = %x) -> (tensor<8xf64>) : i64 {
    %i = arith.index_cast %q : i64 to index
    %old = tensor.extract %t[%i] : tensor<8xf64>
    %new = arith.mulf %old, %old : f64
    %u = tensor.insert %new into %t[%i] : tensor<8xf64>
    scf.yield %u : tensor<8xf64>
  }
  return %r : tensor<8xf64>
}
