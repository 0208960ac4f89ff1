// RUN: mlirad-opt %s -p mlirad-differentiate,mlirad-dce,mlirad-tape,mlirad-inline | filecheck %s
// The rule that a function brings along stands for its derivative, whatever it computes. In reverse mode the call becomes
// one of the rule's forward function, and what that returns besides is what the rule's pullback is given. Forward mode
// takes the transpose of the pullback with respect to the cotangents.

// CHECK-LABEL: func.func @gradient(%x: f64) -> f64
// CHECK-NEXT:    %[[one:.*]] = nd.constant
// CHECK-NEXT:    %[[y:.*]] = nd.sin %x
// CHECK-NEXT:    %[[slope:.*]] = nd.exp %x
// CHECK-NEXT:    %[[g:.*]] = nd.mul %[[one]], %[[slope]]
// CHECK-NEXT:    func.return %[[g]]
// CHECK-LABEL: func.func @tangent(%x: f64, %t: f64) -> f64
// CHECK-NEXT:    nd.sin %x
// CHECK-NEXT:    %[[slope:.*]] = nd.exp %x
// CHECK:         %[[d:.*]] = nd.mul %t, %[[slope]]
// CHECK-NEXT:    func.return %[[d]]
func.func private @f(%x: f64) -> f64 attributes {ad.wrt = array<i64: 0>, ad.rule.forward = @fwd, ad.rule.pullback = @bwd} {
  %y = nd.sin %x : f64
  return %y : f64
}
func.func private @fwd(%x: f64) -> (f64, f64) {
  %y = nd.sin %x : f64
  %slope = nd.exp %x : f64
  return %y, %slope : f64, f64
}
func.func private @bwd(%x: f64, %slope: f64, %g: f64) -> f64 {
  %d = nd.mul %g, %slope : f64
  return %d : f64
}
func.func private @caller(%x: f64) -> f64 {
  %y = func.call @f(%x) : (f64) -> f64
  return %y : f64
}
func.func @gradient(%x: f64) -> f64 {
  %one = nd.constant {value = 1.0 : f64} : f64
  %y, %d = ad.vjp @caller(%x)(%one) wrt [0] outs [0] : (f64)(f64) -> (f64, f64)
  return %d : f64
}
func.func @tangent(%x: f64, %t: f64) -> f64 {
  %y, %d = ad.jvp @caller(%x)(%t) wrt [0] outs [0] : (f64)(f64) -> (f64, f64)
  return %d : f64
}
