// RUN: mlirad-opt %s -p 'mlirad-inline' | filecheck %s

// All calls of private functions are inlined, callees first, and what nothing names is dropped.
// CHECK-LABEL: func.func public @f
// CHECK-NEXT:    %a = nd.sin %x
// CHECK-NEXT:    %b = nd.add %a, %x
// CHECK-NEXT:    %[[A:.*]] = nd.sin %b
// CHECK-NEXT:    %[[B:.*]] = nd.add %[[A]], %b
// CHECK-NEXT:    func.return %[[B]]
// CHECK-NOT:   @g
// CHECK-NOT:   @h
func.func public @f(%x: f64) -> f64 {
  %y = func.call @g(%x) : (f64) -> f64
  %z = func.call @g(%y) : (f64) -> f64
  func.return %z : f64
}
func.func private @g(%x: f64) -> f64 {
  %a = func.call @h(%x) : (f64) -> f64
  %b = nd.add %a, %x : f64
  func.return %b : f64
}
func.func private @h(%x: f64) -> f64 {
  %a = nd.sin %x : f64
  func.return %a : f64
}

// A request names its function; a recursive one stays a call.
// CHECK-LABEL: func.func public @request
// CHECK:         ad.vjp @named
// CHECK-LABEL: func.func private @named
// CHECK-LABEL: func.func private @again
// CHECK:         func.call @again
func.func public @request(%x: f64) -> f64 {
  %y, %g = ad.vjp @named(%x)(%x) wrt [0] outs [0] : (f64)(f64) -> (f64, f64)
  %z = func.call @again(%g) : (f64) -> f64
  func.return %z : f64
}
func.func private @named(%x: f64) -> f64 {
  func.return %x : f64
}
func.func private @again(%x: f64) -> f64 {
  %y = func.call @again(%x) : (f64) -> f64
  func.return %y : f64
}
