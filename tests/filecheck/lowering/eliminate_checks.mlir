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

// Python's ints: i + 1 and i - 1 fit where 1 <= i < n, whatever n is; i + 2 may not.
// CHECK-LABEL: func.func @sums_fit
// CHECK:         scf.for
// CHECK-NOT:       nd.check
// CHECK:           nd.add_fits %i, %c2
// CHECK-NEXT:      nd.check %fits2, "OverflowError"
// CHECK-NOT:       nd.check
// CHECK:           scf.yield
func.func @sums_fit(%n: i64, %x: i64) -> i64 {
  %c0 = nd.constant {value = 0 : i64} : i64
  %c1 = nd.constant {value = 1 : i64} : i64
  %c2 = nd.constant {value = 2 : i64} : i64
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%s = %x) -> (i64) : i64 {
    %fits = nd.add_fits %i, %c1
    nd.check %fits, "OverflowError", "{0} + 1" (%i)
    %after = nd.add %i, %c1 : i64
    %fits1 = nd.sub_fits %i, %c1
    nd.check %fits1, "OverflowError", "{0} - 1" (%i)
    %before = nd.sub %i, %c1 : i64
    %fits2 = nd.add_fits %i, %c2
    nd.check %fits2, "OverflowError", "{0} + 2" (%i)
    %far = nd.add %i, %c2 : i64
    %less = nd.minimum %before, %after : i64
    %least = nd.minimum %less, %far : i64
    scf.yield %least : i64
  }
  func.return %r : i64
}

// What has been checked fits from then on: n - 1 once, then (n - 1) + 1; in the branch, not behind it.
// CHECK-LABEL: func.func @checked_before
// CHECK:         scf.if
// CHECK:           nd.check %fits,
// CHECK-NOT:       nd.check
// CHECK:           scf.yield
// CHECK:         nd.check %again,
func.func @checked_before(%n: i64, %taken: i1) -> i64 {
  %c1 = nd.constant {value = 1 : i64} : i64
  %r = scf.if %taken -> (i64) {
    %fits = nd.sub_fits %n, %c1
    nd.check %fits, "OverflowError", "{0} - 1" (%n)
    %last = nd.sub %n, %c1 : i64
    %back = nd.add_fits %last, %c1
    nd.check %back, "OverflowError", "{0} + 1" (%last)
    %same = nd.add %last, %c1 : i64
    scf.yield %same : i64
  } else {
    scf.yield %n : i64
  }
  %again = nd.sub_fits %n, %c1
  nd.check %again, "OverflowError", "{0} - 1" (%n)
  func.return %r : i64
}

// Products of bounded numbers: i * 1000 + j.
// CHECK-LABEL: func.func @products_fit
// CHECK-NOT:     nd.check
// CHECK:         func.return
func.func @products_fit(%x: i64) -> i64 {
  %c0 = nd.constant {value = 0 : i64} : i64
  %c1 = nd.constant {value = 1 : i64} : i64
  %c50 = nd.constant {value = 50 : i64} : i64
  %c1000 = nd.constant {value = 1000 : i64} : i64
  %r = scf.for %i = %c0 to %c50 step %c1 iter_args(%s = %x) -> (i64) : i64 {
    %q = scf.for %j = %c0 to %c1000 step %c1 iter_args(%t = %s) -> (i64) : i64 {
      %fits = nd.mul_fits %i, %c1000
      nd.check %fits, "OverflowError", "{0} * 1000" (%i)
      %p = nd.mul %i, %c1000 : i64
      %fits1 = nd.add_fits %p, %j
      nd.check %fits1, "OverflowError", "{0} + {1}" (%p, %j)
      %k = nd.add %p, %j : i64
      %fits2 = nd.mul_fits %k, %k
      nd.check %fits2, "OverflowError", "{0} * {1}" (%k, %k)
      %square = nd.mul %k, %k : i64
      %fits3 = nd.floordiv_fits %square, %x
      nd.check %fits3, "OverflowError", "{0} // {1}" (%square, %x)
      %m = nd.floordiv %square, %x : i64
      scf.yield %m : i64
    }
    scf.yield %q : i64
  }
  func.return %r : i64
}

// A counter that each trip adds at most 1 to is at most the number of trips; from an unknown start it may wrap.
// CHECK-LABEL: func.func @counts
// CHECK:         scf.for
// CHECK-NOT:       nd.check %fits,
// CHECK:           nd.check %fits1,
// CHECK-NOT:       nd.check
// CHECK:         func.return
func.func @counts(%a: tensor<?xi1>, %n: i64, %start: i64) -> (i64, i64) {
  %c0 = nd.constant {value = 0 : i64} : i64
  %c1 = nd.constant {value = 1 : i64} : i64
  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%k = %c0, %m = %start) -> (i64, i64) : i64 {
    %e = nd.extract %a[%c0] : tensor<?xi1> -> i1
    %next:2 = scf.if %e -> (i64, i64) {
      %fits = nd.add_fits %k, %c1
      nd.check %fits, "OverflowError", "{0} + 1" (%k)
      %k1 = nd.add %k, %c1 : i64
      %fits1 = nd.add_fits %m, %c1
      nd.check %fits1, "OverflowError", "{0} + 1" (%m)
      %m1 = nd.add %m, %c1 : i64
      scf.yield %k1, %m1 : i64, i64
    } else {
      scf.yield %k, %m : i64, i64
    }
    scf.yield %next#0, %next#1 : i64, i64
  }
  %positive = nd.sub_fits %r#0, %c1
  nd.check %positive, "OverflowError", "{0} - 1" (%r#0)
  %last = nd.sub %r#0, %c1 : i64
  func.return %last, %r#1 : i64, i64
}

// The condition of a while bounds its counter in the body, and in the condition too: i + 1 < n.
// CHECK-LABEL: func.func @guarded
// CHECK-NOT:     nd.check
// CHECK:         func.return
func.func @guarded(%n: i64) -> i64 {
  %c0 = nd.constant {value = 0 : i64} : i64
  %c1 = nd.constant {value = 1 : i64} : i64
  %r = scf.while (%i = %c0) : (i64) -> (i64) {
    %fits = nd.add_fits %i, %c1
    nd.check %fits, "OverflowError", "{0} + 1" (%i)
    %after = nd.add %i, %c1 : i64
    %l = nd.less %after, %n : (i64, i64) -> i1
    scf.condition(%l) %i : i64
  } do {
  ^bb0(%j: i64):
    %fits1 = nd.add_fits %j, %c1
    nd.check %fits1, "OverflowError", "{0} + 1" (%j)
    %next = nd.add %j, %c1 : i64
    scf.yield %next : i64
  }
  func.return %r : i64
}

// Nothing bounds this counter: its check stays. But it shows that the counter, from 0, is not negative.
// CHECK-LABEL: func.func @unguarded
// CHECK:         nd.add_fits
// CHECK-NEXT:    nd.check
// CHECK-NOT:     nd.check
// CHECK:         func.return
func.func @unguarded(%x: f64) -> i64 {
  %c0 = nd.constant {value = 0 : i64} : i64
  %c1 = nd.constant {value = 1 : i64} : i64
  %limit = nd.constant {value = 1.0 : f64} : f64
  %r:2 = scf.while (%k = %c0, %y = %x) : (i64, f64) -> (i64, f64) {
    %l = nd.less %limit, %y : (f64, f64) -> i1
    scf.condition(%l) %k, %y : i64, f64
  } do {
  ^bb0(%k: i64, %y: f64):
    %fits = nd.add_fits %k, %c1
    nd.check %fits, "OverflowError", "{0} + 1" (%k)
    %next = nd.add %k, %c1 : i64
    %root = nd.sqrt %y : f64
    %fits1 = nd.sub_fits %k, %c1
    nd.check %fits1, "OverflowError", "{0} - 1" (%k)
    scf.yield %next, %root : i64, f64
  }
  func.return %r#0 : i64
}

// 0, 1, ... n - 1 are places along an axis of n; m of them may be too many.
// CHECK-LABEL: func.func @counted
// CHECK:         %[[N:.*]] = nd.arange %n
// CHECK-NEXT:    %[[M:.*]] = nd.arange %m
// CHECK-NEXT:    %[[C:.*]] = nd.check_indices %[[M]], %n
// CHECK-NEXT:    %[[S:.*]] = nd.arange : tensor<7xi64>
// CHECK:         func.return %[[N]], %[[C]], %[[S]]
func.func @counted(%n: i64, %m: i64) -> (tensor<?xi64>, tensor<?xi64>, tensor<7xi64>) {
  %a = nd.arange %n : tensor<?xi64>
  %b = nd.check_indices %a, %n {axis = 0 : i64} : tensor<?xi64>
  %c = nd.arange %m : tensor<?xi64>
  %d = nd.check_indices %c, %n {axis = 0 : i64} : tensor<?xi64>
  %e = nd.arange : tensor<7xi64>
  %size = nd.constant {value = 7 : i64} : i64
  %f = nd.check_indices %e, %size {axis = 0 : i64} : tensor<7xi64>
  func.return %b, %d, %f : tensor<?xi64>, tensor<?xi64>, tensor<7xi64>
}

// A number that divides all coefficients of a sum leaves a sum, which may be known already, and a known remainder.
// CHECK-LABEL: func.func @halved
// CHECK:         %j = nd.add %i, %c1
// CHECK-NOT:     nd.floordiv
// CHECK-NOT:     nd.mod
// CHECK:         %[[ONE:.*]] = nd.constant {value = 1 : i64}
// CHECK:         %[[SUM:.*]] = nd.add %s, %j
// CHECK:         nd.add %[[SUM]], %[[ONE]]
// CHECK:         nd.floordiv %{{.*}}, %c2
// CHECK:         func.return
func.func @halved(%start: i64) -> i64 {
  %c0 = nd.constant {value = 0 : i64} : i64
  %c1 = nd.constant {value = 1 : i64} : i64
  %c2 = nd.constant {value = 2 : i64} : i64
  %c3 = nd.constant {value = 3 : i64} : i64
  %n = nd.constant {value = 100 : i64} : i64
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%s = %start) -> (i64) : i64 {
    %j = nd.add %i, %c1 : i64
    %twice = nd.mul %i, %c2 : i64
    %more = nd.add %twice, %c3 : i64
    %half = nd.floordiv %more, %c2 : i64
    %rest = nd.mod %more, %c2 : i64
    %0 = nd.add %s, %half : i64
    %1 = nd.add %0, %rest : i64
    %odd = nd.mul %i, %c3 : i64
    %unknown = nd.floordiv %odd, %c2 : i64
    %2 = nd.add %1, %unknown : i64
    scf.yield %2 : i64
  }
  func.return %r : i64
}
