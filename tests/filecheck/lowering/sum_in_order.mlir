// RUN: mlirad-opt %s -p 'mlirad-nd-to-linalg,mlirad-bufferize,mlirad-linalg-to-loops' | filecheck %s

// What a loop adds up keeps its order: eight elements are computed at once, then added one after the other.
//
// CHECK-LABEL: func.func @f
// CHECK: scf.for %{{.*}} iter_args(%[[TOTAL:.*]] = %{{.*}}) -> (f64)
// CHECK: arith.mulf %{{.*}} : vector<[[LANES:[0-9]+]]xf64>
// CHECK: %[[FIRST:.*]] = vector.extract %{{.*}}[0]
// CHECK-NEXT: %[[NEXT:.*]] = arith.addf %[[TOTAL]], %[[FIRST]] : f64
// CHECK-NEXT: %[[SECOND:.*]] = vector.extract %{{.*}}[1]
// CHECK-NEXT: arith.addf %[[NEXT]], %[[SECOND]] : f64
func.func @f(%x: tensor<100xf64>, %start: f64) -> f64 {
  %y = nd.mul %x, %x : tensor<100xf64>
  %s = nd.sum_in_order %y, %start : tensor<100xf64>, f64
  func.return %s : f64
}
