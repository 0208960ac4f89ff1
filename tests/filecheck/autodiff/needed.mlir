// RUN: mlirad-opt %s -p mlirad-differentiate,mlirad-dce,mlirad-tape,mlirad-cse,mlirad-dce | filecheck %s
// Products are guarded against 0 times infinity only where the cotangent may be zero because nothing needs an element.

// Each element is written once, and all of them are summed.
// CHECK-LABEL: func.func private @all.vjp
// CHECK-NOT:     nd.annihilate
// CHECK-LABEL: func.func private @one.vjp
func.func private @all(%x: tensor<9xf64>, %c: f64) -> f64 {
  %zero = nd.constant {value = 0 : i64} : i64
  %one = nd.constant {value = 1 : i64} : i64
  %n = nd.constant {value = 8 : i64} : i64
  %y = scf.for %i = %zero to %n step %one iter_args(%t = %x) -> (tensor<9xf64>) : i64 {
    %e = nd.extract %t[%i] : tensor<9xf64> -> f64
    %p = nd.mul %e, %c : f64
    %j = nd.add %i, %one : i64
    %u = nd.insert %p, %t[%j] : f64 into tensor<9xf64>
    scf.yield %u : tensor<9xf64>
  }
  %s = nd.sum %y {axes = array<i64: 0>} : tensor<9xf64> to f64
  return %s : f64
}

// The loop's last trips may be those that nothing reads.
// CHECK:         scf.for
// CHECK:         scf.for
// CHECK:           nd.annihilate
func.func private @one(%x: tensor<9xf64>, %c: f64, %k: i64) -> f64 {
  %zero = nd.constant {value = 0 : i64} : i64
  %one = nd.constant {value = 1 : i64} : i64
  %n = nd.constant {value = 8 : i64} : i64
  %y = scf.for %i = %zero to %n step %one iter_args(%t = %x) -> (tensor<9xf64>) : i64 {
    %e = nd.extract %t[%i] : tensor<9xf64> -> f64
    %p = nd.mul %e, %c : f64
    %j = nd.add %i, %one : i64
    %u = nd.insert %p, %t[%j] : f64 into tensor<9xf64>
    scf.yield %u : tensor<9xf64>
  }
  %s = nd.extract %y[%k] : tensor<9xf64> -> f64
  return %s : f64
}

// What is overwritten was read just before: each trip needs it.
// CHECK-LABEL: func.func private @updated.vjp
// CHECK-NOT:     nd.annihilate
// CHECK-LABEL: func.func private @branches.vjp
func.func private @updated(%x: tensor<9xf64>, %c: f64, %k: i64) -> f64 {
  %zero = nd.constant {value = 0 : i64} : i64
  %one = nd.constant {value = 1 : i64} : i64
  %n = nd.constant {value = 8 : i64} : i64
  %y = scf.for %i = %zero to %n step %one iter_args(%t = %x) -> (tensor<9xf64>) : i64 {
    %e = nd.extract %t[%k] : tensor<9xf64> -> f64
    %p = nd.mul %e, %c : f64
    %u = nd.insert %p, %t[%k] : f64 into tensor<9xf64>
    scf.yield %u : tensor<9xf64>
  }
  %s = nd.sum %y {axes = array<i64: 0>} : tensor<9xf64> to f64
  return %s : f64
}

// Both branches need it.
// CHECK-NOT:     nd.annihilate
func.func private @branches(%x: f64, %c: i1) -> f64 {
  %v = nd.exp %x : f64
  %y = scf.if %c -> (f64) {
    %w = nd.neg %v : f64
    scf.yield %w : f64
  } else {
    scf.yield %v : f64
  }
  return %y : f64
}

func.func @gradients(%x: tensor<9xf64>, %c: f64, %k: i64, %b: i1, %u: f64)
    -> (tensor<9xf64>, tensor<9xf64>, tensor<9xf64>, f64) {
  %y, %dx = ad.vjp @all(%x, %c)(%u) wrt [0] outs [0] : (tensor<9xf64>, f64)(f64) -> (f64, tensor<9xf64>)
  %z, %dz = ad.vjp @one(%x, %c, %k)(%u) wrt [0] outs [0] : (tensor<9xf64>, f64, i64)(f64) -> (f64, tensor<9xf64>)
  %v, %dv = ad.vjp @updated(%x, %c, %k)(%u) wrt [0] outs [0] : (tensor<9xf64>, f64, i64)(f64) -> (f64, tensor<9xf64>)
  %w, %dw = ad.vjp @branches(%c, %b)(%u) wrt [0] outs [0] : (f64, i1)(f64) -> (f64, f64)
  return %dx, %dz, %dv, %dw : tensor<9xf64>, tensor<9xf64>, tensor<9xf64>, f64
}
