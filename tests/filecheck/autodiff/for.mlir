// RUN: mlirad-opt %s -p mlirad-differentiate,mlirad-dce | filecheck %s --check-prefix=MARKED
// RUN: mlirad-opt %s -p mlirad-differentiate,mlirad-dce > %t && mlirad-opt %t -f mlir -p mlirad-tape,mlirad-cse,mlirad-dce | filecheck %s
// A for is undone by a for over the same trips, from the last to the first. What the reverse loop names of the forward
// one are markers, in text that parses back; the tape makes them one slot a trip.

// MARKED-LABEL: func.func private @f.vjp
// MARKED:         scf.for %i = {{.*}} iter_args(%s = %x)
// MARKED-NEXT:      nd.sin %s
// MARKED:           ad.record 0 %s
// MARKED:         scf.for %[[j:[^ ]+]] =
// MARKED:           %[[q:[^ ]+]] = nd.sub %{{[^ ]+}}, %[[j]]
// MARKED-NEXT:      %[[trip:.*]] = ad.replay 0 trip %[[q]]
// MARKED-NEXT:      ad.residual %[[trip]] 0 : f64

// CHECK-LABEL: func.func private @f.vjp
// CHECK:         %[[tape:[^ ]+]] = ad.tape {mlirad.slot = 1 : i64} : tensor<5xf64>
// CHECK-NOT:     ad.tape
// CHECK:         %y, %[[full:[^ ]+]] = scf.for %i = {{.*}} iter_args(%s = %x, %[[t:[^ ]+]] = %[[tape]])
// CHECK:           %[[next:[^ ]+]] = nd.insert %s, %[[t]][%i]
// CHECK:           scf.yield %{{[^ ]+}}, %[[next]]
// CHECK:         scf.for %[[j:[^ ]+]] =
// CHECK:           %[[q:[^ ]+]] = nd.sub %{{[^ ]+}}, %[[j]]
// CHECK:           %[[old:[^ ]+]] = nd.extract %[[full]][%[[q]]]
// CHECK:           nd.cos %[[old]]
func.func private @f(%x: f64) -> f64 {
  %zero = nd.constant {value = 0 : i64} : i64
  %one = nd.constant {value = 1 : i64} : i64
  %n = nd.constant {value = 5 : i64} : i64
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
