// RUN: mlirad-opt %s -p mlirad-differentiate,mlirad-dce | filecheck %s
// Paths of dependence are tangents without factors: nothing is computed of the values of floats, products are sums, and
// of a branch that a value decides both sides count.

// CHECK-LABEL: func.func private @f.paths(%x: f64, %y: f64, %d_x: f64, %d_y: f64) -> (f64, f64)
// CHECK-NOT:     scf.if
// CHECK:         %[[product:[^ ]+]] = nd.add %d_x, %d_y
// CHECK:         %[[both:[^ ]+]] = nd.add %[[product]], %d_y
// CHECK:         func.return %{{[^ ]+}}, %[[both]]
func.func private @f(%x: f64, %y: f64) -> f64 {
  %zero = nd.constant {value = 0.0 : f64} : f64
  %c = nd.greater %x, %zero : (f64, f64) -> i1
  %r = scf.if %c -> (f64) {
    %p = nd.mul %x, %y : f64
    scf.yield %p : f64
  } else {
    %s = nd.sin %y : f64
    scf.yield %s : f64
  }
  return %r : f64
}

func.func @pattern(%x: f64, %y: f64, %a: f64, %b: f64) -> f64 {
  %z, %n = ad.paths @f(%x, %y)(%a, %b) wrt [0, 1] outs [0] : (f64, f64)(f64, f64) -> (f64, f64)
  return %n : f64
}
