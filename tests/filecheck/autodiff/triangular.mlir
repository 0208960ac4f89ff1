// RUN: mlirad-opt %s -p mlirad-differentiate,mlirad-dce,mlirad-tape,mlirad-cse,mlirad-dce | filecheck %s
// An inner trip count that the outer loop decides: the trips so far are a carry, stored once an outer trip, and the tape
// grows ahead of the inner loop, whose body does not ask.

// CHECK-LABEL: func.func private @f.vjp
// CHECK-DAG:     %[[bases:[^ ]+]] = ad.tape {{.*}}: tensor<5xi64>
// CHECK-DAG:     %[[values:[^ ]+]] = ad.tape %{{.*}} {{.*}}: tensor<?xf64>
// CHECK:         scf.for %i = {{.*}} iter_args(%a = %x, %[[base:[^ ]+]] = %zero, %[[t:[^ ]+]] = %[[values]]
// CHECK:           %[[longer:[^ ]+]] = ad.grow %[[t]]
// CHECK:           scf.for %j = {{.*}} = %[[longer]])
// CHECK-NOT:         ad.grow
// CHECK:             %[[slot:[^ ]+]] = nd.add %[[base]], %j
// CHECK-NEXT:        nd.insert %{{.*}}[%[[slot]]] : f64 into tensor<?xf64>
func.func private @f(%x: f64) -> f64 {
  %zero = nd.constant {value = 0 : i64} : i64
  %one = nd.constant {value = 1 : i64} : i64
  %five = nd.constant {value = 5 : i64} : i64
  %y = scf.for %i = %zero to %five step %one iter_args(%a = %x) -> (f64) : i64 {
    %b = scf.for %j = %zero to %i step %one iter_args(%s = %a) -> (f64) : i64 {
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
