// RUN: mlirad-opt %s -p mlirad-differentiate,mlirad-dce,mlirad-tape,mlirad-split,mlirad-canonicalize,mlirad-cse,mlirad-dce | filecheck %s

// All calls compute %n from the %n of their callers, so pullbacks compute it again and pass it. %k comes from an array in
// one of the calls, so each call records it, and not %n.
// CHECK-LABEL: func.func private @g.vjp
// CHECK:         func.call @walk.pullback({{.*}}, %n, %next) : (tensor<?xf64>, tensor<?xi64>, i64, {{.*}}, i64, tensor<?xi64>)

// CHECK-LABEL: func.func private @walk.forward(
// CHECK-NOT:     nd.insert %n,
// CHECK:         nd.insert %k,
// CHECK-NOT:     nd.insert %n,
// CHECK:         func.return

// CHECK-LABEL: func.func private @walk.pullback(
// CHECK-SAME:    %[[N:n]]: i64
// CHECK:         %[[M:.*]] = nd.sub %[[N]],
// CHECK:         func.call @walk.pullback({{.*}}, %[[M]], %next)
func.func public @f(%x: tensor<9xf64>, %n: i64, %next: tensor<?xi64>, %g: f64) -> (f64, tensor<9xf64>) {
  %y, %dx = ad.vjp @g(%x, %n, %next)(%g) wrt [0] outs [0] : (tensor<9xf64>, i64, tensor<?xi64>)(f64) -> (f64, tensor<9xf64>)
  func.return %y, %dx : f64, tensor<9xf64>
}
func.func private @g(%x: tensor<9xf64>, %n: i64, %next: tensor<?xi64>) -> f64 {
  %y = func.call @walk(%x, %n, %n, %next) : (tensor<9xf64>, i64, i64, tensor<?xi64>) -> f64
  func.return %y : f64
}
func.func private @walk(%x: tensor<9xf64>, %n: i64, %k: i64, %next: tensor<?xi64>) -> f64 {
  %zero = nd.constant {value = 0 : i64} : i64
  %done = nd.equal %n, %zero : (i64, i64) -> i1
  %a = nd.extract %x[%n] : tensor<9xf64> -> f64
  %b = nd.extract %x[%k] : tensor<9xf64> -> f64
  %ab = nd.mul %a, %b : f64
  %r = scf.if %done -> (f64) {
    scf.yield %ab : f64
  } else {
    %one = nd.constant {value = 1 : i64} : i64
    %m = nd.sub %n, %one : i64
    %j = nd.extract %next[%k] : tensor<?xi64> -> i64
    %p = func.call @walk(%x, %m, %j, %next) : (tensor<9xf64>, i64, i64, tensor<?xi64>) -> f64
    %q = nd.mul %p, %ab : f64
    scf.yield %q : f64
  }
  func.return %r : f64
}
