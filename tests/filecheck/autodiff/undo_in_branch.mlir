// RUN: mlirad-opt %s -p mlirad-differentiate,mlirad-dce,mlirad-tape | filecheck %s
// A write in a branch is undone in the reverse of the branch. The array before the branch is read outside of it, as what
// that reverse gives, and not as what one of its sides has made.

// CHECK-LABEL: func.func private @f.vjp
// CHECK:         scf.for {{.*}} iter_args({{.*}}, %[[after:[^ ]+]] = %x_1)
// CHECK:           %{{[^ ]+}}, %{{[^ ]+}}, %[[before:[^ ]+]] = scf.if
// CHECK:             %[[undone:[^ ]+]] = nd.insert %{{[^ ]+}}, %[[after]][%{{[^ ]+}}]
// CHECK:             scf.yield %{{[^ ]+}}, %{{[^ ]+}}, %[[undone]]
// CHECK:             scf.yield %{{[^ ]+}}, %{{[^ ]+}}, %[[after]]
// CHECK:           nd.equal %[[before]], %{{[^ ]+}}
func.func private @f(%x: tensor<5xf64>, %a: f64) -> f64 {
  %c = nd.greater %a, %a : (f64, f64) -> i1
  %zero = nd.constant {value = 0 : i64} : i64
  %one = nd.constant {value = 1 : i64} : i64
  %n = nd.constant {value = 3 : i64} : i64
  %x_1 = scf.for %i = %zero to %n step %one iter_args(%x_2 = %x) -> (tensor<5xf64>) : i64 {
    %limit = nd.full %a : f64 to tensor<5xf64>
    %above = nd.maximum %x_2, %limit : tensor<5xf64>
    %e = nd.extract %above[%i] : tensor<5xf64> -> f64
    %s = nd.select %c, %a, %e : i1, f64
    %x_3 = scf.if %c -> (tensor<5xf64>) {
      %written = nd.insert %s, %x_2[%i] : f64 into tensor<5xf64>
      scf.yield %written : tensor<5xf64>
    } else {
      scf.yield %x_2 : tensor<5xf64>
    }
    scf.yield %x_3 : tensor<5xf64>
  }
  %t = nd.sum %x_1 {axes = array<i64: 0>} : tensor<5xf64> to f64
  return %t : f64
}

func.func @gradient(%x: tensor<5xf64>, %a: f64, %g: f64) -> tensor<5xf64> {
  %t, %dx, %da = ad.vjp @f(%x, %a)(%g) wrt [0, 1] outs [0] : (tensor<5xf64>, f64)(f64) -> (f64, tensor<5xf64>, f64)
  return %dx : tensor<5xf64>
}
