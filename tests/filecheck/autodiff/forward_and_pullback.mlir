// RUN: mlirad-opt %s -p mlirad-differentiate,mlirad-dce,mlirad-tape,mlirad-cse,mlirad-dce,mlirad-split | filecheck %s
// RUN: mlirad-opt %s -p mlirad-differentiate | filecheck %s --check-prefix=JOINED
// A forward sweep and its pullback in two functions: what crosses the cut is passed as ordinary values, wherever there
// was a value of the residuals' type. The pullback has no forward loop.

// JOINED-LABEL: func.func private @f.joined(%x: f64) -> f64 attributes {ad.joined = !ad.residuals<@f wrt [0] outs [0]>}
// JOINED:         ad.turn %{{.*}} : (f64) -> f64

// CHECK-LABEL: func.func @forward(%x: f64) -> (f64, tensor<5xf64>)
// CHECK-NEXT:    %{{.*}}, %[[tape:.*]] = func.call @f.forward(%x) : (f64) -> (f64, tensor<5xf64>)
// CHECK-NEXT:    func.return %{{.*}}, %[[tape]]
// CHECK-LABEL: func.func @pullback(%{{.*}}: tensor<5xf64>, %u: f64) -> f64
// CHECK-NEXT:    func.call @f.pullback(%{{.*}}, %u) : (tensor<5xf64>, f64) -> f64
// CHECK-LABEL: func.func private @f.pullback
// CHECK:         scf.for
// CHECK:           nd.cos
// CHECK-NOT:     scf.for
// CHECK-LABEL: func.func private @f.forward
// CHECK:         scf.for
// CHECK-NOT:     nd.cos
// CHECK-NOT:     scf.for
func.func private @f(%x: f64) -> f64 {
  %zero = nd.constant {value = 0 : i64} : i64
  %one = nd.constant {value = 1 : i64} : i64
  %n = nd.constant {value = 5 : i64} : i64
  %y = scf.for %i = %zero to %n step %one iter_args(%s = %x) -> (f64) : i64 {
    %v = nd.sin %s : f64
    scf.yield %v : f64
  }
  return %y : f64
}
func.func @forward(%x: f64) -> (f64, !ad.residuals<@f wrt [0] outs [0]>) {
  %y, %r = ad.forward @f(%x)() wrt [0] outs [0] : (f64)() -> (f64, !ad.residuals<@f wrt [0] outs [0]>)
  return %y, %r : f64, !ad.residuals<@f wrt [0] outs [0]>
}
func.func @pullback(%r: !ad.residuals<@f wrt [0] outs [0]>, %u: f64) -> f64 {
  %dx = ad.pullback @f(%r)(%u) wrt [0] outs [0] : (!ad.residuals<@f wrt [0] outs [0]>)(f64) -> (f64)
  return %dx : f64
}
