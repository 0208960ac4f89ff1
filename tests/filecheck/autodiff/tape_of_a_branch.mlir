// RUN: mlirad-opt %s -p mlirad-differentiate,mlirad-dce,mlirad-tape,mlirad-canonicalize,mlirad-cse,mlirad-dce | filecheck %s

// A branch that is taken in all trips of a loop or in none, because its condition follows from integers before the loop:
// the tape of the other branch has no rows. Trips that decide by themselves have a row in any case.

// CHECK-LABEL: func.func private @f.vjp
// CHECK:         %[[LAST:.*]] = nd.equal %n,
// CHECK:         %[[ROWS:.*]] = nd.select %[[LAST]],
// CHECK:         ad.tape %[[ROWS]]
// CHECK:         scf.for
// CHECK-LABEL: func.func private @g.vjp
// CHECK-NOT:     nd.select
// CHECK:         ad.tape %{{.*}} {mlirad.slot
// CHECK:         scf.for
func.func private @f(%x: f64, %n: i64) -> f64 {
  %zero = nd.constant {value = 0 : i64} : i64
  %one = nd.constant {value = 1 : i64} : i64
  %y = scf.for %i = %zero to %n step %one iter_args(%a = %x) -> (f64) : i64 {
    %last = nd.equal %n, %one : (i64, i64) -> i1
    %b = scf.if %last -> (f64) {
      scf.yield %a : f64
    } else {
      %w = nd.exp %a : f64
      scf.yield %w : f64
    }
    %c = nd.add %b, %b : f64
    scf.yield %c : f64
  }
  return %y : f64
}
func.func private @g(%x: f64, %n: i64) -> f64 {
  %zero = nd.constant {value = 0 : i64} : i64
  %one = nd.constant {value = 1 : i64} : i64
  %y = scf.for %i = %zero to %n step %one iter_args(%a = %x) -> (f64) : i64 {
    %first = nd.equal %i, %zero : (i64, i64) -> i1
    %b = scf.if %first -> (f64) {
      scf.yield %a : f64
    } else {
      %w = nd.exp %a : f64
      scf.yield %w : f64
    }
    scf.yield %b : f64
  }
  return %y : f64
}
func.func @gradients(%x: f64, %n: i64, %u: f64) -> (f64, f64) {
  %y, %dx = ad.vjp @f(%x, %n)(%u) wrt [0] outs [0] : (f64, i64)(f64) -> (f64, f64)
  %z, %dz = ad.vjp @g(%x, %n)(%u) wrt [0] outs [0] : (f64, i64)(f64) -> (f64, f64)
  return %dx, %dz : f64, f64
}
