// RUN: not mlirad-opt %s -p mlirad-differentiate 2>&1 | filecheck %s
// An op without a derivative, between an input and an output that are differentiated, is named with its place.

// CHECK: user.py:3:12: arith.mulf has no derivative
func.func private @f(%x: f64) -> f64 {
  %y = arith.mulf %x, %x : f64 loc("user.py":3:12)
  return %y : f64
}

func.func @gradient(%x: f64, %u: f64) -> f64 {
  %y, %dx = ad.vjp @f(%x)(%u) wrt [0] outs [0] : (f64)(f64) -> (f64, f64)
  return %dx : f64
}
