// RUN: mlirad-opt %s -p mlirad-mask-selections | filecheck %s

// The selections are computed on the whole array. Before each op that is not linear, 1 stands where the mask is false,
// so that no op is infinite there.
// CHECK-LABEL: func.func @chain
// CHECK-NOT:     nd.gather
// CHECK:         %[[ONES:.+]] = nd.full %{{.*}} to tensor<9xf64>
// CHECK-NEXT:    %[[SAFE:.+]] = nd.select %m, %x, %[[ONES]]
// CHECK-NEXT:    %[[LOG:.+]] = nd.log %[[SAFE]] : tensor<9xf64>
// CHECK:         %[[SCALE:.+]] = nd.full %a : f64 to tensor<9xf64>
// CHECK-NEXT:    %[[SUM:.+]] = nd.add %[[LOG]], %[[SCALE]]
// CHECK-NEXT:    %[[NEW:.+]] = nd.select %m, %[[SUM]], %y
// CHECK-NEXT:    return %[[NEW]]
func.func @chain(%x: tensor<9xf64>, %y: tensor<9xf64>, %m: tensor<9xi1>, %n: i64, %a: f64) -> tensor<9xf64> {
  %i = nd.flatnonzero %m, %n : tensor<9xi1> to tensor<?xi64>
  %s = nd.gather %x[%i] {axes = array<i64: 0>, at = 0 : i64} : tensor<9xf64>[tensor<?xi64>] -> tensor<?xf64>
  %l = nd.log %s : tensor<?xf64>
  %b = nd.full %a, %n : f64 to tensor<?xf64>
  %z = nd.add %l, %b : tensor<?xf64>
  %r = nd.scatter %z, %y[%i] {axes = array<i64: 0>, at = 0 : i64} : tensor<?xf64> into tensor<9xf64>[tensor<?xi64>]
  return %r : tensor<9xf64>
}

// The neutral element of a maximum is the smallest number. The mask is of the second axis.
// CHECK-LABEL: func.func @columns
// CHECK:         nd.constant {value = 0xfff0000000000000 : f64}
// CHECK:         %[[KEPT:.+]] = nd.select %{{.*}}, %x, %{{.*}} : tensor<4x9xi1>, tensor<4x9xf64>
// CHECK-NEXT:    nd.max %[[KEPT]] {axes = array<i64: 1>}
func.func @columns(%x: tensor<4x9xf64>, %m: tensor<9xi1>, %n: i64) -> tensor<4xf64> {
  %i = nd.flatnonzero %m, %n : tensor<9xi1> to tensor<?xi64>
  %s = nd.gather %x[%i] {axes = array<i64: 1>, at = 1 : i64} : tensor<4x9xf64>[tensor<?xi64>] -> tensor<4x?xf64>
  %r = nd.max %s {axes = array<i64: 1>} : tensor<4x?xf64> to tensor<4xf64>
  return %r : tensor<4xf64>
}

// An element of the selection is needed: it stays an array, and the sum is over that.
// CHECK-LABEL: func.func @element
// CHECK:         %s = nd.gather
// CHECK:         nd.sum %s
// CHECK:         nd.extract %s
func.func @element(%x: tensor<9xf64>, %m: tensor<9xi1>, %n: i64, %k: i64) -> (f64, f64) {
  %i = nd.flatnonzero %m, %n : tensor<9xi1> to tensor<?xi64>
  %s = nd.gather %x[%i] {axes = array<i64: 0>, at = 0 : i64} : tensor<9xf64>[tensor<?xi64>] -> tensor<?xf64>
  %t = nd.sum %s {axes = array<i64: 0>} : tensor<?xf64> to f64
  %e = nd.extract %s[%k] : tensor<?xf64> -> f64
  return %t, %e : f64, f64
}

// Two masks have unlike lengths, or one length by chance.
// CHECK-LABEL: func.func @two_masks
// CHECK:         nd.gather
// CHECK:         nd.gather
// CHECK:         nd.mul {{.*}} : tensor<?xf64>
func.func @two_masks(%x: tensor<9xf64>, %m: tensor<9xi1>, %w: tensor<9xi1>, %n: i64) -> f64 {
  %i = nd.flatnonzero %m, %n : tensor<9xi1> to tensor<?xi64>
  %j = nd.flatnonzero %w, %n : tensor<9xi1> to tensor<?xi64>
  %s = nd.gather %x[%i] {axes = array<i64: 0>, at = 0 : i64} : tensor<9xf64>[tensor<?xi64>] -> tensor<?xf64>
  %t = nd.gather %x[%j] {axes = array<i64: 0>, at = 0 : i64} : tensor<9xf64>[tensor<?xi64>] -> tensor<?xf64>
  %p = nd.mul %s, %t : tensor<?xf64>
  %r = nd.sum %p {axes = array<i64: 0>} : tensor<?xf64> to f64
  return %r : f64
}
