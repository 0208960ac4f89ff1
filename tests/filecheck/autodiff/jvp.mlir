// RUN: mlirad-opt %s -p mlirad-differentiate,mlirad-dce | filecheck %s
// Forward mode carries tangents beside values, and stores nothing. A carry that does not depend on x has none.

// CHECK-LABEL: func.func private @f.jvp(%x: f64, %d_x: f64) -> (f64, f64)
// CHECK:         %y, %c, %[[d_y:[^ ]+]] = scf.for {{.*}} iter_args(%s = %x, %w = %half, %[[d_s:[^ ]+]] = %d_x)
// CHECK:           %[[cos:[^ ]+]] = nd.cos %s
// CHECK-NEXT:      %[[d_v:[^ ]+]] = nd.mul %[[d_s]], %[[cos]]
// CHECK:           %[[d_z:[^ ]+]] = nd.mul %[[d_v]], %w
// CHECK:           scf.yield %z, %w2, %[[d_z]]
// CHECK:         func.return %y, %[[d_y]]
func.func private @f(%x: f64) -> f64 {
  %zero = nd.constant {value = 0 : i64} : i64
  %one = nd.constant {value = 1 : i64} : i64
  %n = nd.constant {value = 5 : i64} : i64
  %half = nd.constant {value = 0.5 : f64} : f64
  %y, %c = scf.for %i = %zero to %n step %one iter_args(%s = %x, %w = %half) -> (f64, f64) : i64 {
    %v = nd.sin %s : f64
    %z = nd.mul %v, %w : f64
    %w2 = nd.mul %w, %half : f64
    scf.yield %z, %w2 : f64, f64
  }
  return %y : f64
}

func.func @derivative(%x: f64, %v: f64) -> f64 {
  %y, %dy = ad.jvp @f(%x)(%v) wrt [0] outs [0] : (f64)(f64) -> (f64, f64)
  return %dy : f64
}
