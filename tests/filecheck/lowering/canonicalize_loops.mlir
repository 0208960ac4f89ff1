// RUN: mlirad-opt %s -p 'mlirad-canonicalize' | filecheck %s

// A loop that never runs is its initial values; one that runs once is its body.
// CHECK-LABEL: func.func @trips
// CHECK-NOT:     scf.for
// CHECK:         %[[Y:.*]] = nd.add %x, %x
// CHECK-NEXT:    func.return %x, %[[Y]]
func.func @trips(%x: f64) -> (f64, f64) {
  %c0 = nd.constant {value = 0 : i64} : i64
  %c1 = nd.constant {value = 1 : i64} : i64
  %a = scf.for %i = %c0 to %c0 step %c1 iter_args(%s = %x) -> (f64) : i64 {
    %t = nd.add %s, %s : f64
    scf.yield %t : f64
  }
  %b = scf.for %i = %c0 to %c1 step %c1 iter_args(%s = %x) -> (f64) : i64 {
    %t = nd.add %s, %s : f64
    scf.yield %t : f64
  }
  func.return %a, %b : f64, f64
}

// A carry that never changes is what it was; a carry that grows by a constant is a multiple of the induction variable.
// CHECK-LABEL: func.func @carries
// CHECK:         %[[S:.*]] = scf.for %i = {{.*}} iter_args(%s = %x) -> (f64) : i64 {
// CHECK:           %[[K:.*]] = nd.mul %i,
// CHECK:           nd.extract %a[%[[K]]]
// CHECK:         func.return %[[S]], %y
func.func @carries(%x: f64, %y: f64, %n: i64, %a: tensor<100xf64>) -> (f64, f64) {
  %c0 = nd.constant {value = 0 : i64} : i64
  %c1 = nd.constant {value = 1 : i64} : i64
  %c3 = nd.constant {value = 3 : i64} : i64
  %r:3 = scf.for %i = %c0 to %n step %c1 iter_args(%s = %x, %same = %y, %k = %c0) -> (f64, f64, i64) : i64 {
    %e = nd.extract %a[%k] : tensor<100xf64> -> f64
    %t = nd.add %s, %e : f64
    %u = nd.mul %t, %same : f64
    %next = nd.add %k, %c3 : i64
    scf.yield %u, %same, %next : f64, f64, i64
  }
  func.return %r#0, %r#1 : f64, f64
}

// A carry that is negated in each trip has its sign from the parity of the trip: other trips need not run before it, and a
// reverse sweep stores nothing. An array would be computed twice.
// CHECK-LABEL: func.func @signs
// CHECK:         scf.for %i = {{.*}} iter_args(%total = %{{.*}}, %v = %{{.*}}) -> (f64, tensor<4xf64>) : i64 {
// CHECK:           nd.bit_and %i,
// CHECK:           nd.select %{{.*}}, %flag, %{{.*}} : i1, i1
// CHECK:           nd.bit_and %i,
// CHECK:           nd.select %{{.*}}, %x, %{{.*}} : i1, f64
// CHECK:           nd.neg %v
// CHECK:           scf.yield %{{[a-z]*}}, %w
func.func @signs(%x: f64, %flag: i1, %n: i64, %a: tensor<4xf64>) -> (f64, f64, tensor<4xf64>) {
  %c0 = nd.constant {value = 0 : i64} : i64
  %c1 = nd.constant {value = 1 : i64} : i64
  %zero = nd.constant {value = 0.0 : f64} : f64
  %r:4 = scf.for %i = %c0 to %n step %c1 iter_args(%sign = %x, %turn = %flag, %total = %zero, %v = %a)
      -> (f64, i1, f64, tensor<4xf64>) : i64 {
    %term = nd.select %turn, %sign, %zero : i1, f64
    %more = nd.add %total, %term : f64
    %minus = nd.neg %sign : f64
    %other = nd.logical_not %turn : i1
    %w = nd.neg %v : tensor<4xf64>
    scf.yield %minus, %other, %more, %w : f64, i1, f64, tensor<4xf64>
  }
  func.return %r#0, %r#2, %r#3 : f64, f64, tensor<4xf64>
}

// Branches on known conditions, results that do not depend on the branch, scalars that need none.
// CHECK-LABEL: func.func @branches
// CHECK-NOT:     scf.if
// CHECK:         %[[S:.*]] = nd.select %c, %x, %y
// CHECK-NEXT:    func.return %y, %x, %[[S]]
func.func @branches(%c: i1, %x: f64, %y: f64) -> (f64, f64, f64) {
  %false = nd.constant {value = false} : i1
  %a = scf.if %false -> (f64) {
    scf.yield %x : f64
  } else {
    scf.yield %y : f64
  }
  %b:2 = scf.if %c -> (f64, f64) {
    scf.yield %x, %x : f64, f64
  } else {
    scf.yield %x, %y : f64, f64
  }
  func.return %a, %b#0, %b#1 : f64, f64, f64
}

// An array is chosen by its pointer: no select.
// CHECK-LABEL: func.func @arrays
// CHECK:         scf.if %c
// CHECK-NOT:     nd.select
func.func @arrays(%c: i1, %x: tensor<4xf64>, %y: tensor<4xf64>) -> tensor<4xf64> {
  %a = scf.if %c -> (tensor<4xf64>) {
    scf.yield %x : tensor<4xf64>
  } else {
    scf.yield %y : tensor<4xf64>
  }
  func.return %a : tensor<4xf64>
}

// A while that does not start.
// CHECK-LABEL: func.func @while_false
// CHECK-NEXT:    func.return %x
func.func @while_false(%x: f64) -> f64 {
  %r = scf.while (%s = %x) : (f64) -> f64 {
    %false = nd.constant {value = false} : i1
    scf.condition(%false) %s : f64
  } do {
  ^bb0(%s: f64):
    %t = nd.add %s, %s : f64
    scf.yield %t : f64
  }
  func.return %r : f64
}
