// RUN: mlirad-opt %s -p mlirad-bufferize | filecheck %s
// An array that one branch updates and the other leaves alone is one buffer: what the reverse sweep is full of.

// CHECK-LABEL: func.func public @scatter(
// CHECK-SAME:  %[[g:[^:]+]]: memref<8xf64> {mlirad.written = 0 : i64}
// CHECK:       scf.for
// CHECK:         scf.if
// CHECK:           memref.load %[[g]]
// CHECK:           memref.store %{{[^,]+}}, %[[g]]
// CHECK-NOT:   memref.copy
// CHECK-NOT:   memref.alloc
// CHECK:       func.return
func.func public @scatter(%g: tensor<8xf64> {mlirad.written = 0 : i64}, %x: tensor<8xf64>, %n: i64) -> (tensor<8xf64>, f64) {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %zero = arith.constant 0.0 : f64
  %r:2 = scf.for %q = %c0 to %n step %c1 iter_args(%t = %g, %sum = %zero) -> (tensor<8xf64>, f64) : i64 {
    %i = arith.index_cast %q : i64 to index
    %e = tensor.extract %x[%i] : tensor<8xf64>
    %p = arith.cmpf ogt, %e, %zero : f64
    %s:2 = scf.if %p -> (tensor<8xf64>, f64) {
      %old = tensor.extract %t[%i] : tensor<8xf64>
      %cleared = tensor.insert %zero into %t[%i] : tensor<8xf64>
      scf.yield %cleared, %old : tensor<8xf64>, f64
    } else {
      scf.yield %t, %zero : tensor<8xf64>, f64
    }
    %more = arith.addf %sum, %s#1 : f64
    scf.yield %s#0, %more : tensor<8xf64>, f64
  }
  return %r#0, %r#1 : tensor<8xf64>, f64
}

// A use in the other branch is no later use.
// CHECK-LABEL: func.func public @other_branch(
// CHECK-NOT:   memref.copy
// CHECK:       func.return
func.func public @other_branch(%a: tensor<8xf64> {mlirad.written = 0 : i64}, %p: i1, %v: f64) -> (tensor<8xf64>, f64) {
  %c0 = arith.constant 0 : index
  %r:2 = scf.if %p -> (tensor<8xf64>, f64) {
    %u = tensor.insert %v into %a[%c0] : tensor<8xf64>
    scf.yield %u, %v : tensor<8xf64>, f64
  } else {
    %e = tensor.extract %a[%c0] : tensor<8xf64>
    %u = tensor.insert %e into %a[%c0] : tensor<8xf64>
    scf.yield %u, %e : tensor<8xf64>, f64
  }
  return %r#0, %r#1 : tensor<8xf64>, f64
}
