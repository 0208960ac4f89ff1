// RUN: mlirad-opt %s -p mlirad-differentiate,mlirad-dce > %t && mlirad-opt %t -f mlir -p mlirad-tape,mlirad-cse,mlirad-dce | filecheck %s
// The reverse loop needs the number before a trip and after it. Before it is on the tape; after it is what the trip
// that comes next begins with, or the loop's result: the reverse loop was there a trip ago, and carries it.

// CHECK-LABEL: func.func private @f.vjp
// CHECK:         ad.tape {mlirad.slot = 1 : i64} : tensor<5xf64>
// CHECK-NOT:     ad.tape
// CHECK:         %[[last:[^, ]+]], %{{[^ ]+}}, %[[full:[^ ]+]] = scf.for %i = {{.*}} iter_args(%s = %x, {{.*}})
// CHECK:           nd.insert %s,
// CHECK-NOT:       nd.insert
// CHECK:         scf.for {{.*}}, %[[after:[^ ]+]] = %[[last]])
// CHECK:           %[[before:[^ ]+]] = nd.extract %[[full]]
// CHECK-NOT:       nd.extract
// CHECK-DAG:       nd.cos %[[before]]
// CHECK-DAG:       nd.cos %[[after]]
// CHECK:           scf.yield {{.*}}, %[[before]] :
// CHECK-NEXT:    } {ad.recovered = {carried = 1 : i64, stored = 1 : i64, stored_bytes = 8 : i64}}
func.func private @f(%x: f64) -> f64 {
  %zero = nd.constant {value = 0 : i64} : i64
  %one = nd.constant {value = 1 : i64} : i64
  %n = nd.constant {value = 5 : i64} : i64
  %nothing = nd.constant {value = 0.0 : f64} : f64
  %y, %sum = scf.for %i = %zero to %n step %one iter_args(%s = %x, %t = %nothing) -> (f64, f64) : i64 {
    %v = nd.sin %s : f64
    %w = nd.sin %v : f64
    %u = nd.add %t, %w : f64
    scf.yield %v, %u : f64, f64
  }
  func.return %sum : f64
}

func.func @gradient(%x: f64, %u: f64) -> f64 {
  %y, %dx = ad.vjp @f(%x)(%u) wrt [0] outs [0] : (f64)(f64) -> (f64, f64)
  func.return %dx : f64
}
