// RUN: mlirad-opt %s -p mlirad-differentiate,mlirad-dce,mlirad-tape,mlirad-split,mlirad-canonicalize,mlirad-cse,mlirad-dce | filecheck %s

// The tape of a loop is written where the record has its room, and read there: it has no array, and nothing is copied.
// Its length and the condition follow from n, which the caller passes again.
// CHECK-LABEL: func.func private @sum.forward(
// CHECK-NOT:     ad.tape
// CHECK:         %[[ROOM:.*]] = ad.grow %{{.*}} : tensor<?xf64>
// CHECK:         scf.for {{.*}}%[[ROOM]]
// CHECK:           func.call @sum.forward(
// CHECK:           nd.insert %{{.*}} : f64 into tensor<?xf64>
// CHECK-NOT:     nd.insert_slice
// CHECK-LABEL: func.func private @sum.pullback(
// CHECK-SAME:    %[[N:n]]: i64
// CHECK:         nd.equal %[[N]]
// CHECK:         nd.select
// CHECK:         nd.extract_slice
// CHECK-NOT:     ad.tape
func.func public @h(%x: f64, %n: i64, %g: f64) -> (f64, f64) {
  %y, %dx = ad.vjp @sum_of(%x, %n)(%g) wrt [0] outs [0] : (f64, i64)(f64) -> (f64, f64)
  func.return %y, %dx : f64, f64
}
func.func private @sum_of(%x: f64, %n: i64) -> f64 {
  %y = func.call @sum(%x, %n) : (f64, i64) -> f64
  func.return %y : f64
}
func.func private @sum(%x: f64, %n: i64) -> f64 {
  %zero = nd.constant {value = 0 : i64} : i64
  %done = nd.equal %n, %zero : (i64, i64) -> i1
  %r = scf.if %done -> (f64) {
    scf.yield %x : f64
  } else {
    %one = nd.constant {value = 1 : i64} : i64
    %m = nd.sub %n, %one : i64
    %s = scf.for %i = %zero to %n step %one iter_args(%t = %x) -> (f64) : i64 {
      %p = func.call @sum(%x, %m) : (f64, i64) -> f64
      %q = nd.mul %p, %t : f64
      scf.yield %q : f64
    }
    scf.yield %s : f64
  }
  func.return %r : f64
}
