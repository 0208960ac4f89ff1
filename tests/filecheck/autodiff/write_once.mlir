// RUN: mlirad-opt %s -p mlirad-differentiate,mlirad-dce,mlirad-tape,mlirad-cse,mlirad-dce | filecheck %s
// y[i + 1] = sin(y[i]) * x[i]: an element keeps its value once it is written, so that the reverse sweep reads the final
// array. Only the sine is stored.

// CHECK-LABEL: func.func private @f.vjp
// CHECK:         ad.tape {{.*}}: tensor<8xf64>
// CHECK-NOT:     ad.tape
// CHECK:         %[[y:.*]], %[[sines:.*]] = scf.for
// CHECK:         scf.for
// CHECK-DAG:       nd.extract %[[y]][
// CHECK-DAG:       nd.extract %[[sines]][
// CHECK:           nd.cos
// CHECK:         } {ad.recovered = {read_final = 1 : i64, {{.*}}stored = 1 : i64, stored_bytes = 8 : i64}}
func.func private @f(%x: tensor<9xf64>) -> f64 {
  %zero = nd.constant {value = 0 : i64} : i64
  %one = nd.constant {value = 1 : i64} : i64
  %n = nd.constant {value = 8 : i64} : i64
  %y = scf.for %i = %zero to %n step %one iter_args(%a = %x) -> (tensor<9xf64>) : i64 {
    %p = nd.extract %a[%i] : tensor<9xf64> -> f64
    %s = nd.sin %p : f64
    %xi = nd.extract %x[%i] : tensor<9xf64> -> f64
    %v = nd.mul %s, %xi : f64
    %k = nd.add %i, %one : i64
    %b = nd.insert %v, %a[%k] : f64 into tensor<9xf64>
    scf.yield %b : tensor<9xf64>
  }
  %s = nd.sum %y {axes = array<i64: 0>} : tensor<9xf64> to f64
  return %s : f64
}

func.func @gradient(%x: tensor<9xf64>, %u: f64) -> tensor<9xf64> {
  %y, %dx = ad.vjp @f(%x)(%u) wrt [0] outs [0] : (tensor<9xf64>)(f64) -> (f64, tensor<9xf64>)
  return %dx : tensor<9xf64>
}
