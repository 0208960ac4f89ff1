// RUN: mlirad-opt %s -p mlirad-differentiate,mlirad-dce,mlirad-tape,mlirad-cse,mlirad-dce | filecheck %s
// The cotangent of a captured array is threaded: it enters the loops as it stands and comes out replaced. Its zeros are
// made once, before the outer loop, and updated an element at a time.

// CHECK-LABEL: func.func private @f.vjp
// CHECK:         %[[dx0:.*]] = nd.full {{.*}} to tensor<9xf64>
// CHECK:         scf.for {{.*}} iter_args({{.*}}%[[dx1:[^ ]+]] = %[[dx0]])
// CHECK:           scf.for {{.*}} iter_args({{.*}}%[[dx2:[^ ]+]] = %[[dx1]])
// CHECK:             nd.add_at %{{[^ ]+}}, %[[dx2]][
// CHECK-NOT:     nd.full
// CHECK-NOT:     nd.add %{{.*}} : tensor
// CHECK:         func.return
func.func private @f(%x: tensor<9xf64>) -> f64 {
  %zero = nd.constant {value = 0 : i64} : i64
  %one = nd.constant {value = 1 : i64} : i64
  %n = nd.constant {value = 9 : i64} : i64
  %s0 = nd.constant {value = 1.0 : f64} : f64
  %y = scf.for %i = %zero to %n step %one iter_args(%a = %s0) -> (f64) : i64 {
    %b = scf.for %j = %zero to %n step %one iter_args(%s = %a) -> (f64) : i64 {
      %v = nd.extract %x[%j] : tensor<9xf64> -> f64
      %p = nd.add %s, %v : f64
      scf.yield %p : f64
    }
    scf.yield %b : f64
  }
  return %y : f64
}

func.func @gradient(%x: tensor<9xf64>, %u: f64) -> tensor<9xf64> {
  %y, %dx = ad.vjp @f(%x)(%u) wrt [0] outs [0] : (tensor<9xf64>)(f64) -> (f64, tensor<9xf64>)
  return %dx : tensor<9xf64>
}
