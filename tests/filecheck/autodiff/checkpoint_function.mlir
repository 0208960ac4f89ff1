// RUN: mlirad-opt %s -p mlirad-inline,mlirad-differentiate,mlirad-dce,mlirad-tape,mlirad-inline,mlirad-cse,mlirad-dce | filecheck %s
// A checkpointed function, called in a loop: of each call the argument is stored, nothing of the inside. The pullback runs
// the function again. It is not inlined, so CSE does not find that the forward sweep has computed the same.

// CHECK-LABEL: func.func @gradient
// CHECK:         ad.tape {{.*}} : tensor<9xf64>
// CHECK:         scf.for
// CHECK:           nd.insert %s
// CHECK-NEXT:      func.call @layer(%s)
// CHECK:         scf.for
// CHECK:           nd.extract
// CHECK:           func.call @layer.pullback(
// CHECK-NOT:   ad.tape
// CHECK-LABEL: func.func private @layer.pullback(
// CHECK-SAME:    attributes {ad.checkpoint, mlirad.apart}
// CHECK:         nd.sin %x
// CHECK:         nd.exp
// CHECK:         nd.cos %x
func.func private @layer(%x: f64) -> f64 attributes {ad.checkpoint} {
  %y = nd.sin %x : f64
  %z = nd.exp %y : f64
  return %z : f64
}

func.func private @f(%x: f64) -> f64 {
  %zero = nd.constant {value = 0 : i64} : i64
  %one = nd.constant {value = 1 : i64} : i64
  %n = nd.constant {value = 9 : i64} : i64
  %y = scf.for %i = %zero to %n step %one iter_args(%s = %x) -> (f64) : i64 {
    %v = func.call @layer(%s) : (f64) -> f64
    scf.yield %v : f64
  }
  return %y : f64
}

func.func @gradient(%x: f64, %u: f64) -> f64 {
  %y, %dx = ad.vjp @f(%x)(%u) wrt [0] outs [0] : (f64)(f64) -> (f64, f64)
  return %dx : f64
}
