// RUN: mlirad-opt %s -p mlirad-differentiate | filecheck %s --check-prefix=ONCE
// RUN: mlirad-opt %s -p mlirad-differentiate,mlirad-inline,mlirad-differentiate,mlirad-inline,mlirad-cse,mlirad-dce | filecheck %s
// Requests nest: the innermost is expanded, and what it expands to is ordinary code that is differentiated again.

// ONCE-LABEL: func.func private @first
// ONCE:         func.call @f.vjp
// ONCE-LABEL: func.func @second
// ONCE:         ad.vjp @first

// CHECK-LABEL: func.func @second
// CHECK-NOT:     ad.vjp
// CHECK-DAG:     nd.sin %x
// CHECK-DAG:     nd.neg
// CHECK:         func.return
func.func private @f(%x: f64) -> f64 {
  %y = nd.sin %x : f64
  return %y : f64
}
func.func private @first(%x: f64) -> f64 {
  %one = nd.constant {value = 1.0 : f64} : f64
  %y, %dx = ad.vjp @f(%x)(%one) wrt [0] outs [0] : (f64)(f64) -> (f64, f64)
  return %dx : f64
}
func.func @second(%x: f64) -> f64 {
  %one = nd.constant {value = 1.0 : f64} : f64
  %y, %dx = ad.vjp @first(%x)(%one) wrt [0] outs [0] : (f64)(f64) -> (f64, f64)
  return %dx : f64
}
