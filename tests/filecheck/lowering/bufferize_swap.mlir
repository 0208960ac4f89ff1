// RUN: mlirad-opt %s -p mlirad-bufferize | filecheck %s
// Carried arrays are pointers: a swap costs nothing, and a stencil that writes the other array neither.

// CHECK-LABEL: func.func public @jacobi(
// CHECK:       "memref.copy"(%{{[^,]+}}, %{{[^)]+}}) : (memref<6xf64>, memref<6xf64>)
// CHECK:       scf.for %{{[^ ]+}} = {{.*}} iter_args(%[[a:[^ ]+]] = %{{[^ ]+}}, %[[b:[^ ]+]] = %{{[^ ]+}}) -> (memref<6xf64>, memref<6xf64>)
// CHECK-NOT:     memref.copy
// CHECK-NOT:     memref.alloc
// CHECK:         scf.yield %[[b]], %[[a]]
// CHECK:       "memref.copy"
// CHECK-NOT:   memref.copy
func.func public @jacobi(%x: tensor<6xf64>, %n: i64) -> tensor<6xf64> {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c5 = arith.constant 5 : i64
  %one = arith.constant 1 : index
  %start = arith.constant dense<0.0> : tensor<6xf64>
  %r:2 = scf.for %t = %c0 to %n step %c1 iter_args(%a = %x, %b = %start) -> (tensor<6xf64>, tensor<6xf64>) : i64 {
    %new = scf.for %q = %c1 to %c5 step %c1 iter_args(%w = %b) -> (tensor<6xf64>) : i64 {
      %i = arith.index_cast %q : i64 to index
      %j = arith.subi %i, %one : index
      %k = arith.addi %i, %one : index
      %left = tensor.extract %a[%j] : tensor<6xf64>
      %right = tensor.extract %a[%k] : tensor<6xf64>
      %sum = arith.addf %left, %right : f64
      %v = tensor.insert %sum into %w[%i] : tensor<6xf64>
      scf.yield %v : tensor<6xf64>
    }
    scf.yield %new, %a : tensor<6xf64>, tensor<6xf64>
  }
  return %r#0 : tensor<6xf64>
}
