// RUN: mlirad-opt %s -p mlirad-differentiate,mlirad-dce,mlirad-tape,mlirad-cse,mlirad-dce,mlirad-canonicalize | filecheck %s
// Trip counts that are known above a nest: one flat tape, slot q1 * 3 + q2 in both sweeps, no counter.

// CHECK-LABEL: func.func private @f.vjp
// CHECK:         ad.tape {{.*}}: tensor<15xf64>
// CHECK:         scf.for %i =
// CHECK:           scf.for %j =
// CHECK:             %[[row:[^ ]+]] = nd.mul %i, %three : i64
// CHECK-NEXT:        %[[slot:[^ ]+]] = nd.add %[[row]], %j : i64
// CHECK-NEXT:        nd.insert %{{.*}}[%[[slot]]] : f64 into tensor<15xf64>
// CHECK-NOT:     ad.grow
// CHECK:         scf.for
// CHECK:           scf.for
// CHECK:             nd.extract %{{.*}} : tensor<15xf64> -> f64
func.func private @f(%x: f64) -> f64 {
  %zero = nd.constant {value = 0 : i64} : i64
  %one = nd.constant {value = 1 : i64} : i64
  %three = nd.constant {value = 3 : i64} : i64
  %five = nd.constant {value = 5 : i64} : i64
  %y = scf.for %i = %zero to %five step %one iter_args(%a = %x) -> (f64) : i64 {
    %b = scf.for %j = %zero to %three step %one iter_args(%s = %a) -> (f64) : i64 {
      %v = nd.sin %s : f64
      scf.yield %v : f64
    }
    scf.yield %b : f64
  }
  return %y : f64
}

func.func @gradient(%x: f64, %u: f64) -> f64 {
  %y, %dx = ad.vjp @f(%x)(%u) wrt [0] outs [0] : (f64)(f64) -> (f64, f64)
  return %dx : f64
}
