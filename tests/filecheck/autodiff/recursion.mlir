// RUN: mlirad-opt %s -p mlirad-differentiate,mlirad-dce,mlirad-tape,mlirad-split,mlirad-canonicalize,mlirad-cse,mlirad-dce | filecheck %s

// The forward sweep of a call makes room for a record on two tapes that all calls share, and says where it begins; the
// pullback reads it there. What is x ** n by recursion needs x, which is recorded, and the inner power.
// CHECK-LABEL: func.func private @g.vjp
// CHECK:         %[[FLOATS:.*]] = ad.tape {{.*}} : tensor<?xf64>
// CHECK:         %[[INTS:.*]] = ad.tape {{.*}} : tensor<?xi64>
// CHECK:         %{{.*}}, %[[F:.*]], %{{.*}}, %[[I:.*]], %{{.*}}, %[[BASE:.*]] = func.call @power.forward(
// CHECK:         func.call @power.pullback(%[[F]], %[[I]], %[[BASE]], %{{.*}})

// CHECK-LABEL: func.func private @power.forward(
// CHECK-SAME:    tensor<?xf64> {mlirad.written = 1 : i64}, %{{.*}}: i64, %{{.*}}: tensor<?xi64> {mlirad.written = 3 : i64}
// CHECK:         ad.grow
// CHECK:         ad.grow
// CHECK:         func.call @power.forward(

// CHECK-LABEL: func.func private @power.pullback(
// CHECK-NOT:     ad.grow
// CHECK:         func.call @power.pullback(
func.func public @f(%x: f64, %n: i64, %g: f64) -> (f64, f64) {
  %y, %dx = ad.vjp @g(%x, %n)(%g) wrt [0] outs [0] : (f64, i64)(f64) -> (f64, f64)
  func.return %y, %dx : f64, f64
}
func.func private @g(%x: f64, %n: i64) -> f64 {
  %y = func.call @power(%x, %n) : (f64, i64) -> f64
  func.return %y : f64
}
func.func private @power(%x: f64, %n: i64) -> f64 {
  %zero = nd.constant {value = 0 : i64} : i64
  %done = nd.equal %n, %zero : (i64, i64) -> i1
  %r = scf.if %done -> (f64) {
    scf.yield %x : f64
  } else {
    %one = nd.constant {value = 1 : i64} : i64
    %m = nd.sub %n, %one : i64
    %p = func.call @power(%x, %m) : (f64, i64) -> f64
    %q = nd.mul %p, %x : f64
    scf.yield %q : f64
  }
  func.return %r : f64
}
