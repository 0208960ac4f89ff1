// RUN: mlirad-opt %s -p mlirad-differentiate,mlirad-dce,mlirad-tape,mlirad-cse,mlirad-dce | filecheck %s
// An exactly zero cotangent annihilates a factor that may be infinite, of ops that say so, and of no other.

// CHECK-LABEL: func.func private @f.vjp
// CHECK:         %[[root:.*]] = nd.sqrt
// CHECK:         %[[is_zero:.*]] = nd.equal %[[g:.*]], %
// CHECK:         nd.select %[[is_zero]]
// CHECK-NOT:     nd.select
func.func private @f(%x: f64) -> f64 {
  %s = nd.sqrt %x : f64
  %y = nd.sin %s : f64
  %z = nd.mul %y, %s : f64
  return %z : f64
}

func.func @gradient(%x: f64, %u: f64) -> f64 {
  %y, %dx = ad.vjp @f(%x)(%u) wrt [0] outs [0] : (f64)(f64) -> (f64, f64)
  return %dx : f64
}
