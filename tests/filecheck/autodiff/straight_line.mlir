// RUN: mlirad-opt %s -p mlirad-differentiate,mlirad-dce,mlirad-tape,mlirad-cse,mlirad-dce | filecheck %s
// Straight code needs no marker and no tape: the reverse sweep follows the forward sweep and sees all of it.

// CHECK-LABEL: func.func @gradient
// CHECK:         func.call @f.vjp(
// CHECK-LABEL: func.func private @f.vjp(%x: f64, %d_y: f64) -> (f64, f64) {
// CHECK-NEXT:    %[[sin:.*]] = nd.sin %x
// CHECK-NEXT:    %[[y:.*]] = nd.mul %[[sin]], %x
// CHECK-NEXT:    nd.mul %d_y, %x
// CHECK-NEXT:    nd.mul %d_y, %[[sin]]
// CHECK-NEXT:    nd.cos %x
// CHECK-NOT:     ad.
// CHECK:         func.return %[[y]], %{{.*}} : f64, f64
func.func private @f(%x: f64) -> f64 {
  %s = nd.sin %x : f64
  %y = nd.mul %s, %x : f64
  return %y : f64
}

func.func @gradient(%x: f64, %u: f64) -> f64 {
  %y, %dx = ad.vjp @f(%x)(%u) wrt [0] outs [0] : (f64)(f64) -> (f64, f64)
  return %dx : f64
}
