// RUN: not mlirad-opt %s -p 'mlirad-nd-to-linalg' 2>&1 | filecheck %s

// A request that is not expanded is an internal error, with its place.
// CHECK: a.py:3:5: internal error: ad.vjp is left at the lowering to linalg
func.func @f(%x: f64) -> f64 {
  %y, %g = ad.vjp @g(%x)(%x) wrt [0] outs [0] : (f64)(f64) -> (f64, f64) loc("a.py":3:5)
  func.return %g : f64
}
func.func private @g(%x: f64) -> f64 {
  func.return %x : f64
}
