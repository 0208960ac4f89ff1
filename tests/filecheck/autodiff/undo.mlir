// RUN: mlirad-opt %s -p mlirad-differentiate,mlirad-dce,mlirad-tape,mlirad-cse,mlirad-dce | filecheck %s
// Sweeps over an array in place: a[i + 1] = a[i] * a[i + 1] * a[i + 2]. The array is carried backwards beside its
// cotangent; each write is undone with the one element that it overwrote, and the elements are re-read.

// CHECK-LABEL: func.func private @f.vjp
// CHECK:         ad.tape {{.*}}: tensor<24xf64>
// CHECK-NOT:     ad.tape
// CHECK:         %[[y:.*]], %[[olds:.*]] = scf.for %t =
// CHECK:         scf.for {{.*}} iter_args(%[[d_outer:[^ ]+]] = %{{.*}}, %[[x_outer:[^ ]+]] = %[[y]])
// CHECK:           scf.for {{.*}} iter_args(%[[d:[^ ]+]] = %[[d_outer]], %[[x:[^ ]+]] = %[[x_outer]])
// CHECK:             %[[old:.*]] = nd.extract %[[olds]][
// CHECK:             nd.extract %[[x]][
// CHECK:             nd.extract %[[x]][
// CHECK:             %[[before:.*]] = nd.insert %[[old]], %[[x]][
// CHECK-NOT:         nd.extract %[[x]][
// CHECK:             scf.yield %{{.*}}, %[[before]] : tensor<8xf64>, tensor<8xf64>
// What the pass decided is said on the reverse loop: two of three reads are made again, the third one is what was stored.
// CHECK:           } {ad.recovered = {re_read = 2 : i64, recomputed = 1 : i64, stored = 1 : i64, stored_bytes = 8 : i64, undone = 1 : i64}}
func.func private @f(%a: tensor<8xf64>) -> f64 {
  %zero = nd.constant {value = 0 : i64} : i64
  %one = nd.constant {value = 1 : i64} : i64
  %two = nd.constant {value = 2 : i64} : i64
  %four = nd.constant {value = 4 : i64} : i64
  %six = nd.constant {value = 6 : i64} : i64
  %y = scf.for %t = %zero to %four step %one iter_args(%b = %a) -> (tensor<8xf64>) : i64 {
    %c = scf.for %i = %zero to %six step %one iter_args(%e = %b) -> (tensor<8xf64>) : i64 {
      %j = nd.add %i, %one : i64
      %k = nd.add %i, %two : i64
      %u = nd.extract %e[%i] : tensor<8xf64> -> f64
      %v = nd.extract %e[%j] : tensor<8xf64> -> f64
      %w = nd.extract %e[%k] : tensor<8xf64> -> f64
      %p = nd.mul %u, %v : f64
      %q = nd.mul %p, %w : f64
      %f = nd.insert %q, %e[%j] : f64 into tensor<8xf64>
      scf.yield %f : tensor<8xf64>
    }
    scf.yield %c : tensor<8xf64>
  }
  %s = nd.sum %y {axes = array<i64: 0>} : tensor<8xf64> to f64
  return %s : f64
}

func.func @gradient(%x: tensor<8xf64>, %u: f64) -> tensor<8xf64> {
  %y, %dx = ad.vjp @f(%x)(%u) wrt [0] outs [0] : (tensor<8xf64>)(f64) -> (f64, tensor<8xf64>)
  return %dx : tensor<8xf64>
}
