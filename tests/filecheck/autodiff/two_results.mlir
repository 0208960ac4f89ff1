// RUN: mlirad-opt %s -p mlirad-differentiate,mlirad-dce,mlirad-tape,mlirad-cse,mlirad-dce | filecheck %s
// An op with two results is asked once for the cotangents of both. No derivative flows through the integral part of a
// number: what depends on it alone is not differentiated.

// CHECK-LABEL: func.func private @f.vjp(%x: f64, %d_y: f64) -> (f64, f64) {
// CHECK:         %fraction, %whole = nd.modf %x : f64
// CHECK:         %y = nd.mul %fraction, %e : f64
// CHECK-NEXT:    %d_fraction = nd.mul %d_y, %e : f64
// CHECK-NEXT:    func.return %y, %d_fraction : f64, f64
func.func private @f(%x: f64) -> f64 {
  %fraction, %whole = nd.modf %x : f64
  %e = nd.exp %whole : f64
  %y = nd.mul %fraction, %e : f64
  return %y : f64
}

// CHECK-LABEL: func.func private @f.jvp(%x: f64, %d_x: f64) -> (f64, f64) {
// CHECK:         %d_y = nd.mul %d_x, %e : f64
// CHECK-NEXT:    func.return %y, %d_y : f64, f64
func.func public @main(%x: f64, %g: f64) -> (f64, f64) {
  %y, %d_x = ad.vjp @f(%x)(%g) wrt [0] outs [0] : (f64)(f64) -> (f64, f64)
  %z, %d_z = ad.jvp @f(%x)(%g) wrt [0] outs [0] : (f64)(f64) -> (f64, f64)
  return %d_x, %d_z : f64, f64
}
