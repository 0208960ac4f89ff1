// RUN: mlirad-opt %s -p mlirad-bufferize | filecheck %s
// A written argument is updated in place, and is its own result.

// CHECK-LABEL: func.func public @update(
// CHECK-SAME:  %[[a:[^:]+]]: memref<8xf64> {mlirad.written = 0 : i64}, %{{[^:]+}}: i64) {
// CHECK-NOT:   memref.copy
// CHECK-NOT:   memref.alloc
// CHECK:       scf.for
// CHECK:         memref.store %{{[^,]+}}, %[[a]]
// CHECK-NOT:   memref.copy
// CHECK:       func.return
// CHECK-NEXT:  }
func.func public @update(%a: tensor<8xf64> {mlirad.written = 0 : i64}, %n: i64) -> tensor<8xf64> {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %r = scf.for %q = %c0 to %n step %c1 iter_args(%t = %a) -> (tensor<8xf64>) : i64 {
    %i = arith.index_cast %q : i64 to index
    %old = tensor.extract %t[%i] : tensor<8xf64>
    %new = arith.mulf %old, %old : f64
    %u = tensor.insert %new into %t[%i] : tensor<8xf64>
    scf.yield %u : tensor<8xf64>
  }
  return %r : tensor<8xf64>
}

// New content that does not depend on the old one is computed in the argument's memory.
// CHECK-LABEL: func.func public @replace(
// CHECK-SAME:  %[[a:[^:]+]]: memref<8xf64> {mlirad.written = 0 : i64}, %[[x:[^:]+]]: memref<8xf64>) {
// CHECK-NEXT:  linalg.generic {{.*}} ins(%[[x]] : memref<8xf64>) outs(%[[a]] : memref<8xf64>)
// CHECK-NOT:   memref.copy
// CHECK:       func.return
func.func public @replace(%a: tensor<8xf64> {mlirad.written = 0 : i64}, %x: tensor<8xf64>) -> tensor<8xf64> {
  %memory = tensor.empty() : tensor<8xf64>
  %r = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%x : tensor<8xf64>) outs(%memory : tensor<8xf64>) {
  ^bb0(%e: f64, %o: f64):
    %s = arith.addf %e, %e : f64
    linalg.yield %s : f64
  } -> tensor<8xf64>
  return %r : tensor<8xf64>
}

// Contents that change places: three copies, by way of one temporary.
// CHECK-LABEL: func.func public @exchange(
// CHECK-SAME:  %[[a:[^:]+]]: memref<8xf64> {mlirad.written = 0 : i64}, %[[b:[^:]+]]: memref<8xf64> {mlirad.written = 1 : i64}) {
// CHECK-NEXT:  %[[t:[^ ]+]] = memref.alloc() : memref<8xf64>
// CHECK-NEXT:  "memref.copy"(%[[b]], %[[t]])
// CHECK-NEXT:  "memref.copy"(%[[a]], %[[b]])
// CHECK-NEXT:  "memref.copy"(%[[t]], %[[a]])
// CHECK-NEXT:  func.return
func.func public @exchange(%a: tensor<8xf64> {mlirad.written = 0 : i64}, %b: tensor<8xf64> {mlirad.written = 1 : i64}) -> (tensor<8xf64>, tensor<8xf64>) {
  return %b, %a : tensor<8xf64>, tensor<8xf64>
}
