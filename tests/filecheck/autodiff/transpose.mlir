// RUN: mlirad-opt %s -p mlirad-differentiate,mlirad-dce,mlirad-tape,mlirad-split,mlirad-inline,mlirad-differentiate,mlirad-dce,mlirad-tape,mlirad-canonicalize,mlirad-dce | filecheck %s
// The pullback of a function, transposed, is its tangent: from the residuals of the forward sweep, without the function.
// The pullback's own cotangents, for which %zero stands, are not computed.

// CHECK-LABEL: func.func @linear(%{{.*}}: tensor<5xf64>, %t: f64) -> f64
// CHECK:         func.call @pull.transpose
// CHECK-LABEL: func.func private @pull.transpose(%tape: tensor<5xf64>, %u: f64, %d_d_y: f64) -> f64
// CHECK-NOT:     nd.sin
// CHECK:         scf.for {{.*}} -> (tensor<5xf64>)
// CHECK:           nd.cos
// CHECK:         scf.for {{.*}} iter_args(%[[t:.*]] = %d_d_y) -> (f64)
// CHECK:           nd.mul %[[t]]
// CHECK-NOT:     %u
func.func private @f(%x: f64) -> f64 attributes {ad.linearized} {
  %zero = nd.constant {value = 0 : i64} : i64
  %one = nd.constant {value = 1 : i64} : i64
  %n = nd.constant {value = 5 : i64} : i64
  %y = scf.for %i = %zero to %n step %one iter_args(%s = %x) -> (f64) : i64 {
    %v = nd.sin %s : f64
    scf.yield %v : f64
  }
  return %y : f64
}
func.func private @pull(%r: !ad.residuals<@f wrt [0] outs [0]>, %u: f64) -> f64 {
  %dx = ad.pullback @f(%r)(%u) wrt [0] outs [0] : (!ad.residuals<@f wrt [0] outs [0]>)(f64) -> (f64)
  return %dx : f64
}
func.func @linear(%r: !ad.residuals<@f wrt [0] outs [0]>, %t: f64) -> f64 {
  %zero = nd.constant {value = 0.0 : f64} : f64
  %dy = ad.transpose @pull(%r, %zero)(%t) wrt [1] outs [0] : (!ad.residuals<@f wrt [0] outs [0]>, f64)(f64) -> (f64)
  return %dy : f64
}
func.func @forward(%x: f64) -> (f64, !ad.residuals<@f wrt [0] outs [0]>) {
  %y, %r = ad.forward @f(%x)() wrt [0] outs [0] : (f64)() -> (f64, !ad.residuals<@f wrt [0] outs [0]>)
  return %y, %r : f64, !ad.residuals<@f wrt [0] outs [0]>
}
