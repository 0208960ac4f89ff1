// RUN: mlirad-opt %s -p mlirad-differentiate,mlirad-dce,mlirad-tape,mlirad-cse,mlirad-dce | filecheck %s
// The forward sweep's checks have passed when the reverse sweep runs: a checked index is only wrapped there.

// CHECK-LABEL: func.func private @f.vjp
// CHECK:         scf.for
// CHECK:           nd.check_index
// CHECK:           nd.check %{{.*}}, "ValueError"
// CHECK:         scf.for
// CHECK-NOT:       nd.check
// CHECK:           nd.wrap_index
// CHECK-NOT:       nd.check
func.func private @f(%x: tensor<9xf64>) -> f64 {
  %zero = nd.constant {value = 0 : i64} : i64
  %one = nd.constant {value = 1 : i64} : i64
  %n = nd.constant {value = 9 : i64} : i64
  %s0 = nd.constant {value = 1.0 : f64} : f64
  %y = scf.for %i = %zero to %n step %one iter_args(%s = %s0) -> (f64) : i64 {
    %k = nd.sub %i, %one : i64
    %w = nd.check_index %k, %n {axis = 0 : i64}
    %ok = nd.less %s, %s0 : (f64, f64) -> i1
    nd.check %ok, "ValueError", "too large"
    %v = nd.extract %x[%w] : tensor<9xf64> -> f64
    %p = nd.mul %s, %v : f64
    scf.yield %p : f64
  }
  return %y : f64
}

func.func @gradient(%x: tensor<9xf64>, %u: f64) -> tensor<9xf64> {
  %y, %dx = ad.vjp @f(%x)(%u) wrt [0] outs [0] : (tensor<9xf64>)(f64) -> (f64, tensor<9xf64>)
  return %dx : tensor<9xf64>
}
