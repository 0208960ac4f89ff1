// RUN: mlirad-opt %s -p mlirad-differentiate,mlirad-dce,mlirad-tape,mlirad-cse,mlirad-dce | filecheck %s
// A loop that is checkpointed with three states: nothing of the forward sweep is stored. The reverse keeps states, by a
// schedule that is computed at run time, and undoes one trip at a time, by a request of its own.

// CHECK-LABEL: func.func private @f.vjp
// CHECK-NOT:     ad.tape
// CHECK:         scf.for {{.*}} iter_args(%s = %x)
// CHECK-NOT:     ad.tape
// CHECK:         } {ad.checkpoint = 3 : i64}
// CHECK:         ad.tape %{{.*}} {{.*}}: tensor<?xi64>
// CHECK:         ad.tape %{{.*}} {{.*}}: tensor<?xf64>
// CHECK:         scf.for
// CHECK:           scf.while
// CHECK:             func.call @trips
// CHECK:           func.call @trips
// CHECK:           ad.vjp @trip(
// CHECK:         } {ad.recovered = {checkpointed = 3 : i64}}
// CHECK-LABEL: func.func private @trips
// CHECK:         scf.for
// CHECK:           nd.sin
// CHECK-LABEL: func.func private @trip
// CHECK-NOT:     scf.for
// CHECK:         nd.sin
func.func private @f(%x: f64, %n: i64) -> f64 {
  %zero = nd.constant {value = 0 : i64} : i64
  %one = nd.constant {value = 1 : i64} : i64
  %y = scf.for %i = %zero to %n step %one iter_args(%s = %x) -> (f64) : i64 {
    %v = nd.sin %s : f64
    scf.yield %v : f64
  } {ad.checkpoint = 3 : i64}
  return %y : f64
}

func.func @gradient(%x: f64, %n: i64, %u: f64) -> f64 {
  %y, %dx = ad.vjp @f(%x, %n)(%u) wrt [0] outs [0] : (f64, i64)(f64) -> (f64, f64)
  return %dx : f64
}
