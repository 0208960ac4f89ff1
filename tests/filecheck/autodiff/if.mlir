// RUN: mlirad-opt %s -p mlirad-differentiate,mlirad-dce,mlirad-tape,mlirad-cse,mlirad-dce | filecheck %s
// An if is undone by an if on the same condition. Outside of loops the condition is visible, and a value of a branch
// becomes one more result of the if.

// CHECK-LABEL: func.func private @f.vjp
// CHECK:         %[[c:.*]] = nd.greater %x
// CHECK:         scf.if %[[c]]
// CHECK-NEXT:      nd.mul
// CHECK:         scf.if %[[c]]
// CHECK-NOT:     ad.
// CHECK:         } else {
// CHECK:           nd.cos %x
// CHECK:         func.return
func.func private @f(%x: f64) -> f64 {
  %limit = nd.constant {value = 1.0 : f64} : f64
  %c = nd.greater %x, %limit : (f64, f64) -> i1
  %y = scf.if %c -> (f64) {
    %a = nd.mul %x, %x : f64
    scf.yield %a : f64
  } else {
    %b = nd.sin %x : f64
    scf.yield %b : f64
  }
  return %y : f64
}

func.func @gradient(%x: f64, %u: f64) -> f64 {
  %y, %dx = ad.vjp @f(%x)(%u) wrt [0] outs [0] : (f64)(f64) -> (f64, f64)
  return %dx : f64
}
