// RUN: mlirad-opt %s -p mlirad-differentiate | filecheck %s

// Straight-line functions, and loops and branches that all lanes take alike, are computed for all lanes at once: each op
// is the op under one more leading axis, and what is the same in all lanes is computed once.

func.func private @layer(%x: tensor<3xf64>, %w: tensor<4x3xf64>, %b: f64) -> (tensor<4xf64>, f64) {
  %c = nd.exp %b : f64
  %y = nd.contract "ij,j->i" %w, %x : (tensor<4x3xf64>, tensor<3xf64>) -> tensor<4xf64>
  %z = nd.broadcast %c {dims = array<i64>} : f64 to tensor<4xf64>
  %u = nd.mul %y, %z : tensor<4xf64>
  %s = nd.sum %u {axes = array<i64: 0>} : tensor<4xf64> to f64
  func.return %u, %s : tensor<4xf64>, f64
}

// CHECK-LABEL: func.func @batch
func.func @batch(%x: tensor<8x3xf64>, %w: tensor<4x3xf64>, %b: f64) -> tensor<8xf64> {
  %u, %s = ad.vmap @layer(%x, %w, %b)() wrt [0] outs [0, 1] : (tensor<8x3xf64>, tensor<4x3xf64>, f64)() -> (tensor<8x4xf64>, tensor<8xf64>)
  func.return %s : tensor<8xf64>
}

func.func private @steps(%x: f64, %n: i64, %go: i1) -> f64 {
  %zero = nd.constant {value = 0 : i64} : i64
  %one = nd.constant {value = 1 : i64} : i64
  %init = nd.constant {value = 1.0 : f64} : f64
  %y, %k = scf.for %i = %zero to %n step %one iter_args(%s = %init, %t = %init) -> (f64, f64) : i64 {
    %t2 = nd.add %t, %init : f64
    %s2 = nd.mul %s, %x : f64
    scf.yield %s2, %t2 : f64, f64
  }
  %r = scf.if %go -> (f64) {
    scf.yield %y : f64
  } else {
    scf.yield %k : f64
  }
  func.return %r : f64
}

// CHECK-LABEL: func.func @alike
func.func @alike(%x: tensor<8xf64>, %n: i64, %go: i1) -> tensor<8xf64> {
  %r = ad.vmap @steps(%x, %n, %go)() wrt [0] outs [0] : (tensor<8xf64>, i64, i1)() -> (tensor<8xf64>)
  func.return %r : tensor<8xf64>
}

// A trip count that differs from lane to lane, and so a loop over the lanes.
// CHECK-LABEL: func.func @unlike
func.func @unlike(%x: tensor<8xf64>, %n: tensor<8xi64>, %go: i1) -> tensor<8xf64> {
  %r = ad.vmap @steps(%x, %n, %go)() wrt [0, 1] outs [0] : (tensor<8xf64>, tensor<8xi64>, i1)() -> (tensor<8xf64>)
  func.return %r : tensor<8xf64>
}

func.func private @places(%x: tensor<5xf64>, %v: tensor<2xf64>) -> tensor<5xf64> {
  %k = nd.constant {value = dense<[3, 1]> : tensor<2xi64>} : tensor<2xi64>
  %t = nd.gather %x[%k] {axes = array<i64: 0>, at = 0 : i64} : tensor<5xf64>[tensor<2xi64>] -> tensor<2xf64>
  %u = nd.mul %t, %v : tensor<2xf64>
  %y = nd.scatter %u, %x[%k] {axes = array<i64: 0>, at = 0 : i64} : tensor<2xf64> into tensor<5xf64>[tensor<2xi64>]
  func.return %y : tensor<5xf64>
}

// CHECK-LABEL: func.func @same_places
func.func @same_places(%x: tensor<8x5xf64>, %v: tensor<2xf64>) -> tensor<8x5xf64> {
  %r = ad.vmap @places(%x, %v)() wrt [0] outs [0] : (tensor<8x5xf64>, tensor<2xf64>)() -> (tensor<8x5xf64>)
  func.return %r : tensor<8x5xf64>
}

// A matrix-vector product of each lane is one matrix product.
// CHECK-LABEL: func.func private @layer.vmap
// CHECK-NEXT: %c = nd.exp %b : f64
// CHECK-NEXT: %y = nd.contract "ij,aj->ai" %w, %x : (tensor<4x3xf64>, tensor<8x3xf64>) -> tensor<8x4xf64>
// CHECK: %u = nd.mul %y, %{{.*}} : tensor<8x4xf64>
// CHECK-NEXT: %s = nd.sum %u {axes = array<i64: 1>} : tensor<8x4xf64> to tensor<8xf64>

// CHECK-LABEL: func.func private @steps.vmap
// CHECK: scf.for %i = %{{.*}} to %n step %{{.*}} iter_args(%s = %{{.*}}, %t = %{{.*}}) -> (tensor<8xf64>, f64)
// CHECK: nd.mul %s, %x : tensor<8xf64>
// CHECK: scf.if %go -> (tensor<8xf64>)
// CHECK: } else {
// CHECK-NEXT: nd.broadcast %k {dims = array<i64>} : f64 to tensor<8xf64>
// CHECK-NOT: func.call

// CHECK-LABEL: func.func private @steps.vmap.1
// CHECK: scf.for
// CHECK: func.call @steps(

// Lanes that share index arrays read and write the same places behind the axis of the lanes.
// CHECK-LABEL: func.func private @places.vmap
// CHECK: nd.gather %x[%k] {axes = array<i64: 1>, at = 1 : i64} : tensor<8x5xf64>[tensor<2xi64>] -> tensor<8x2xf64>
// CHECK: nd.scatter %u, %x[%k] {axes = array<i64: 1>, at = 1 : i64} : tensor<8x2xf64> into tensor<8x5xf64>[tensor<2xi64>]
