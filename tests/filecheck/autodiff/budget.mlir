// RUN: mlirad-opt %s -p mlirad-inline,mlirad-differentiate | filecheck %s
// The plain reverse would keep 8 bytes of each of 1000 trips. Of a budget of 800 bytes, half is for the tape of a leg of 50
// trips, half for states of 16 bytes each, with their number. The trips are run again from the states, leg by leg.

// CHECK-LABEL: func.func private @f.vjp
// CHECK:         scf.for {{.*}} iter_args(%s = %x)
// CHECK:         } {ad.checkpoint = {slots = 25 : i64, leg = 50 : i64, all = 98 : i64}}
// CHECK:         ad.vjp @trips({{.*}}) {{.*}} {ad.budget = -1 : i64}
// CHECK:         } {ad.recovered = {checkpointed = {slots = 25 : i64, leg = 50 : i64, all = 98 : i64}}}
module attributes {ad.budget = 800 : i64} {
  func.func private @f(%x: f64) -> f64 {
    %zero = nd.constant {value = 0 : i64} : i64
    %one = nd.constant {value = 1 : i64} : i64
    %n = nd.constant {value = 1000 : i64} : i64
    %y = scf.for %i = %zero to %n step %one iter_args(%s = %x) -> (f64) : i64 {
      %v = nd.sin %s : f64
      scf.yield %v : f64
    }
    return %y : f64
  }

  func.func @gradient(%x: f64, %u: f64) -> f64 {
    %y, %dx = ad.vjp @f(%x)(%u) wrt [0] outs [0] : (f64)(f64) -> (f64, f64)
    return %dx : f64
  }
}
