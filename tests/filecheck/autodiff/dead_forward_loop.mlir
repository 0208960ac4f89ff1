// RUN: mlirad-opt %s -p mlirad-differentiate,mlirad-dce,mlirad-tape,mlirad-inline,mlirad-cse,mlirad-dce | filecheck %s
// Where only the gradient of linear code is used, its forward loop is dead, and goes.

// CHECK-LABEL: func.func @gradient
// CHECK:         scf.for
// CHECK-NOT:     scf.for
// CHECK:         func.return
func.func private @f(%x: tensor<9xf64>) -> f64 {
  %zero = nd.constant {value = 0 : i64} : i64
  %one = nd.constant {value = 1 : i64} : i64
  %n = nd.constant {value = 8 : i64} : i64
  %y = scf.for %i = %zero to %n step %one iter_args(%a = %x) -> (tensor<9xf64>) : i64 {
    %v = nd.extract %a[%i] : tensor<9xf64> -> f64
    %k = nd.add %i, %one : i64
    %b = nd.add_at %v, %a[%k] : f64 into tensor<9xf64>
    scf.yield %b : tensor<9xf64>
  }
  %s = nd.sum %y {axes = array<i64: 0>} : tensor<9xf64> to f64
  return %s : f64
}

func.func @gradient(%x: tensor<9xf64>, %u: f64) -> tensor<9xf64> {
  %y, %dx = ad.vjp @f(%x)(%u) wrt [0] outs [0] : (tensor<9xf64>)(f64) -> (f64, tensor<9xf64>)
  return %dx : tensor<9xf64>
}
