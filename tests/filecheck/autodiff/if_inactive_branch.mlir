// RUN: mlirad-opt %s -p mlirad-differentiate,mlirad-dce,mlirad-tape,mlirad-cse,mlirad-dce | filecheck %s
// `if p: y[i] = v`: the branch that does nothing passes the cotangent on. No zero array is made in the loop, and nothing
// is added as a whole: zeros are symbolic until a branch ends, and only where the other branch has a cotangent.

// CHECK-LABEL: func.func private @f.vjp
// CHECK:         %[[dx0:.*]] = nd.full {{.*}} to tensor<9xf64>
// CHECK:         scf.for {{.*}} iter_args(%[[dy:.*]] = %{{.*}}, %[[dx:.*]] = %[[dx0]])
// CHECK-NOT:       nd.full
// CHECK-NOT:       nd.add %{{.*}} : tensor
// CHECK:           scf.if
// CHECK:             nd.extract %[[dy]]
// CHECK-NEXT:        nd.insert
// CHECK:           } else {
// CHECK-NEXT:        scf.yield %[[dy]]
// CHECK-NOT:       nd.full
// CHECK:           scf.yield
func.func private @f(%x: tensor<9xf64>) -> f64 {
  %zero = nd.constant {value = 0 : i64} : i64
  %one = nd.constant {value = 1 : i64} : i64
  %n = nd.constant {value = 9 : i64} : i64
  %limit = nd.constant {value = 0.5 : f64} : f64
  %y = scf.for %i = %zero to %n step %one iter_args(%a = %x) -> (tensor<9xf64>) : i64 {
    %v = nd.extract %x[%i] : tensor<9xf64> -> f64
    %c = nd.greater %v, %limit : (f64, f64) -> i1
    %b = scf.if %c -> (tensor<9xf64>) {
      %w = nd.sin %v : f64
      %t = nd.insert %w, %a[%i] : f64 into tensor<9xf64>
      scf.yield %t : tensor<9xf64>
    } else {
      scf.yield %a : tensor<9xf64>
    }
    scf.yield %b : tensor<9xf64>
  }
  %s = nd.sum %y {axes = array<i64: 0>} : tensor<9xf64> to f64
  return %s : f64
}

func.func @gradient(%x: tensor<9xf64>, %u: f64) -> tensor<9xf64> {
  %y, %dx = ad.vjp @f(%x)(%u) wrt [0] outs [0] : (tensor<9xf64>)(f64) -> (f64, tensor<9xf64>)
  return %dx : tensor<9xf64>
}
