// RUN: mlirad-opt %s -p mlirad-nd-to-linalg,mlirad-bufferize | filecheck %s
// An elementwise op may write its result over an operand. A buffer less is memory that is still in the cache; a wrong
// one is a number that is overwritten before it is read for the last time. Three questions decide: does the operand
// die here, is each element read before the same element is written, and whose memory is it.

// t dies where e is made, so that e stands in t's memory:
//
//     t   |------------|
//     e                |---------|         one buffer
//
// CHECK-LABEL: func.func public @dies
// CHECK:         %t = memref.alloc()
// CHECK-NOT:     memref.alloc
// CHECK:         linalg.generic {{.*}} ins(%t : memref<4xf64>) outs(%t : memref<4xf64>)
// CHECK:         linalg.generic {{.*}} ins(%M, %t :
// CHECK-NOT:     memref.copy
// CHECK:         func.return
func.func public @dies(%M: tensor<4x4xf64>, %v: tensor<4xf64>) -> tensor<4xf64> {
  %t = nd.contract "ij,j->i" %M, %v : (tensor<4x4xf64>, tensor<4xf64>) -> tensor<4xf64>
  %e = nd.tanh %t : tensor<4xf64>
  %r = nd.contract "ij,j->i" %M, %e : (tensor<4x4xf64>, tensor<4xf64>) -> tensor<4xf64>
  func.return %r : tensor<4xf64>
}

// t is read after that:
//
//     t   |-------------------------|
//     e                |---------|         two buffers
//
// CHECK-LABEL: func.func public @lives
// CHECK:         %t = memref.alloc()
// CHECK:         %e = memref.alloc()
// CHECK:         linalg.generic {{.*}} ins(%t : memref<4xf64>) outs(%e : memref<4xf64>)
// CHECK:         linalg.generic {{.*}} ins(%t : memref<4xf64>)
func.func public @lives(%M: tensor<4x4xf64>, %v: tensor<4xf64>) -> (tensor<4xf64>, f64) {
  %t = nd.contract "ij,j->i" %M, %v : (tensor<4x4xf64>, tensor<4xf64>) -> tensor<4xf64>
  %e = nd.tanh %t : tensor<4xf64>
  %r = nd.contract "ij,j->i" %M, %e : (tensor<4x4xf64>, tensor<4xf64>) -> tensor<4xf64>
  %s = nd.sum %t {axes = array<i64: 0>} : tensor<4xf64> to f64
  func.return %r, %s : tensor<4xf64>, f64
}

// t dies, and the op reads t[j, i] where it writes e[i, j]: over t, it would read what it has written.
// CHECK-LABEL: func.func public @across
// CHECK:         %t = memref.alloc()
// CHECK:         %e = memref.alloc()
// CHECK:         linalg.generic {{.*}} ins(%t, %t : {{.*}}) outs(%e :
func.func public @across(%M: tensor<4x4xf64>) -> tensor<4x4xf64> {
  %t = nd.contract "ij,jk->ik" %M, %M : (tensor<4x4xf64>, tensor<4x4xf64>) -> tensor<4x4xf64>
  %turned = nd.transpose %t {permutation = array<i64: 1, 0>} : tensor<4x4xf64> to tensor<4x4xf64>
  %e = nd.add %t, %turned : tensor<4x4xf64>
  %r = nd.contract "ij,jk->ik" %M, %e : (tensor<4x4xf64>, tensor<4x4xf64>) -> tensor<4x4xf64>
  func.return %r : tensor<4x4xf64>
}

// v dies as well, and its memory is the caller's, who has not asked for a write.
// CHECK-LABEL: func.func public @callers
// CHECK:         %e = memref.alloc()
// CHECK:         linalg.generic {{.*}} ins(%v : memref<4xf64>) outs(%e : memref<4xf64>)
func.func public @callers(%M: tensor<4x4xf64>, %v: tensor<4xf64>) -> tensor<4xf64> {
  %e = nd.tanh %v : tensor<4xf64>
  %r = nd.contract "ij,j->i" %M, %e : (tensor<4x4xf64>, tensor<4xf64>) -> tensor<4xf64>
  func.return %r : tensor<4xf64>
}

// e is the result, and stands in t's memory: both are made in the memory that the caller has for the result.
// CHECK-LABEL: func.func public @into_result
// CHECK-SAME:    %[[R:[^:, ]+]]: memref<4xf64> {mlirad.result = 0 : i64})
// CHECK-NOT:     memref.alloc
// CHECK:         linalg.generic {{.*}} ins(%M, %v : {{.*}}) outs(%[[R]] :
// CHECK:         linalg.generic {{.*}} ins(%[[R]] : {{.*}}) outs(%[[R]] :
// CHECK-NOT:     memref.copy
// CHECK:         func.return
func.func public @into_result(%M: tensor<4x4xf64>, %v: tensor<4xf64>) -> tensor<4xf64> {
  %t = nd.contract "ij,j->i" %M, %v : (tensor<4x4xf64>, tensor<4xf64>) -> tensor<4xf64>
  %e = nd.tanh %t : tensor<4xf64>
  func.return %e : tensor<4xf64>
}

// p dies with the sum of p and what a loop carries. The sum stands where the next trip looks for it: the loop need not
// alternate between two buffers.
//
// CHECK-LABEL: func.func public @carried
// CHECK:         scf.for %i = %c0 to %n step %c1 : i64 {
// CHECK:           linalg.generic {{.*}} ins(%p, %start : {{.*}}) outs(%start :
// CHECK:         func.return
func.func public @carried(%a: tensor<3x3xf64>, %b: tensor<3x3xf64>) -> tensor<3x3xf64> {
  %c0 = nd.constant {value = 0 : i64} : i64
  %c1 = nd.constant {value = 1 : i64} : i64
  %n = nd.constant {value = 9 : i64} : i64
  %zero = nd.constant {value = 0.0 : f64} : f64
  %start = nd.full %zero : f64 to tensor<3x3xf64>
  %end = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %start) -> (tensor<3x3xf64>) : i64 {
    %p = nd.contract "ik,kj->ij" %a, %b : (tensor<3x3xf64>, tensor<3x3xf64>) -> tensor<3x3xf64>
    %next = nd.add %p, %sum : tensor<3x3xf64>
    scf.yield %next : tensor<3x3xf64>
  }
  func.return %end : tensor<3x3xf64>
}
