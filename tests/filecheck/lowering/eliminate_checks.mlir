// RUN: mlirad-opt %s -p 'mlirad-eliminate-checks' | filecheck %s

// A triangular nest, of a size that is not known: k < j < i < n.
// CHECK-LABEL: func.func @triangular
// CHECK-NOT:     nd.check_index
// CHECK:         nd.extract %a[%i, %k]
func.func @triangular(%a: tensor<?x?xf64>, %x: f64) -> f64 {
  %c0 = nd.constant {value = 0 : i64} : i64
  %c1 = nd.constant {value = 1 : i64} : i64
  %n = nd.dim %a {axis = 0 : i64} : tensor<?x?xf64>
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%s = %x) -> (f64) : i64 {
    %p = scf.for %j = %c0 to %i step %c1 iter_args(%t = %s) -> (f64) : i64 {
      %q = scf.for %k = %c0 to %j step %c1 iter_args(%u = %t) -> (f64) : i64 {
        %m = nd.check_index %i, %n {axis = 0 : i64}
        %l = nd.check_index %k, %n {axis = 1 : i64}
        %e = nd.extract %a[%m, %l] : tensor<?x?xf64> -> f64
        %v = nd.add %u, %e : f64
        scf.yield %v : f64
      }
      scf.yield %q : f64
    }
    scf.yield %p : f64
  }
  func.return %r : f64
}

// i + 1 is in range where i < n - 1, i + 2 is not.
// CHECK-LABEL: func.func @neighbours
// CHECK:         scf.for
// CHECK:           nd.check_index %i2, %n
// CHECK-NOT:       nd.check_index
// CHECK:           nd.extract %a[%i1]
func.func @neighbours(%a: tensor<?xf64>, %x: f64) -> f64 {
  %c0 = nd.constant {value = 0 : i64} : i64
  %c1 = nd.constant {value = 1 : i64} : i64
  %n = nd.dim %a {axis = 0 : i64} : tensor<?xf64>
  %n1 = nd.sub %n, %c1 : i64
  %r = scf.for %i = %c0 to %n1 step %c1 iter_args(%s = %x) -> (f64) : i64 {
    %i1 = nd.add %i, %c1 : i64
    %i2 = nd.add %i1, %c1 : i64
    %j2 = nd.check_index %i2, %n {axis = 0 : i64}
    %j1 = nd.check_index %i1, %n {axis = 0 : i64}
    %e = nd.extract %a[%j1] : tensor<?xf64> -> f64
    %f = nd.extract %a[%j2] : tensor<?xf64> -> f64
    %v = nd.add %e, %f : f64
    scf.yield %v : f64
  }
  func.return %r : f64
}

// The condition of a branch is known in it: 0 <= k < 10 in the first, not in the second.
// CHECK-LABEL: func.func @branch
// CHECK:         scf.if %in
// CHECK-NEXT:      nd.extract %a[%k]
// CHECK:         } else {
// CHECK-NEXT:      nd.check_index
func.func @branch(%a: tensor<10xf64>, %k: i64) -> f64 {
  %c0 = nd.constant {value = 0 : i64} : i64
  %c10 = nd.constant {value = 10 : i64} : i64
  %low = nd.greater_equal %k, %c0 : (i64, i64) -> i1
  %high = nd.less %k, %c10 : (i64, i64) -> i1
  %in = nd.logical_and %low, %high : i1
  %r = scf.if %in -> (f64) {
    %i = nd.check_index %k, %c10 {axis = 0 : i64}
    %e = nd.extract %a[%i] : tensor<10xf64> -> f64
    scf.yield %e : f64
  } else {
    %i = nd.check_index %k, %c10 {axis = 0 : i64}
    %e = nd.extract %a[%i] : tensor<10xf64> -> f64
    scf.yield %e : f64
  }
  func.return %r : f64
}

// A for with break: the counter of the while starts at 0, grows, and is below n in the body.
// CHECK-LABEL: func.func @counter
// CHECK:         } do {
// CHECK-NOT:     nd.check_index
// CHECK:         nd.extract %a[%i_1]
func.func @counter(%a: tensor<?xf64>) -> i64 {
  %c0 = nd.constant {value = 0 : i64} : i64
  %c1 = nd.constant {value = 1 : i64} : i64
  %true = nd.constant {value = true} : i1
  %limit = nd.constant {value = 3.0 : f64} : f64
  %n = nd.dim %a {axis = 0 : i64} : tensor<?xf64>
  %r:2 = scf.while (%i = %c0, %go = %true) : (i64, i1) -> (i64, i1) {
    %l = nd.less %i, %n : (i64, i64) -> i1
    %c = nd.logical_and %l, %go : i1
    scf.condition(%c) %i, %go : i64, i1
  } do {
  ^bb0(%i: i64, %go: i1):
    %j = nd.check_index %i, %n {axis = 0 : i64}
    %e = nd.extract %a[%j] : tensor<?xf64> -> f64
    %g = nd.less %e, %limit : (f64, f64) -> i1
    %i1 = nd.add %i, %c1 : i64
    scf.yield %i1, %g : i64, i1
  }
  func.return %r#0 : i64
}

// A sum that may wrap proves nothing: m + 1 may be the smallest integer.
// CHECK-LABEL: func.func @wraps
// CHECK:         nd.check_index
func.func @wraps(%a: tensor<10xf64>, %m: i64) -> f64 {
  %c0 = nd.constant {value = 0 : i64} : i64
  %c1 = nd.constant {value = 1 : i64} : i64
  %c10 = nd.constant {value = 10 : i64} : i64
  %m1 = nd.add %m, %c1 : i64
  %zero = nd.constant {value = 0.0 : f64} : f64
  %positive = nd.greater_equal %m, %c0 : (i64, i64) -> i1
  %r = scf.if %positive -> (f64) {
    %few = nd.less %m1, %c10 : (i64, i64) -> i1
    %s = scf.if %few -> (f64) {
      %i = nd.check_index %m1, %c10 {axis = 0 : i64}
      %e = nd.extract %a[%i] : tensor<10xf64> -> f64
      scf.yield %e : f64
    } else {
      scf.yield %zero : f64
    }
    scf.yield %s : f64
  } else {
    scf.yield %zero : f64
  }
  func.return %r : f64
}

// In range, but of either sign: it is wrapped without a check. Surely negative: it is an addition.
// CHECK-LABEL: func.func @negative
// CHECK:         nd.wrap_index
// CHECK:         %[[LAST:.*]] = nd.add %{{.*}}, %c10
// CHECK:         nd.extract %a[%[[LAST]]]
// CHECK-NOT:     nd.check_index
func.func @negative(%a: tensor<10xf64>, %m: i64) -> f64 {
  %c5 = nd.constant {value = 5 : i64} : i64
  %c3 = nd.constant {value = 3 : i64} : i64
  %c10 = nd.constant {value = 10 : i64} : i64
  %k = nd.mod %m, %c5 : i64
  %either = nd.sub %k, %c3 : i64
  %below = nd.sub %k, %c10 : i64
  %i = nd.check_index %either, %c10 {axis = 0 : i64}
  %j = nd.check_index %below, %c10 {axis = 0 : i64}
  %e = nd.extract %a[%i] : tensor<10xf64> -> f64
  %f = nd.extract %a[%j] : tensor<10xf64> -> f64
  %s = nd.add %e, %f : f64
  func.return %s : f64
}
