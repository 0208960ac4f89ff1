// RUN: mlirad-opt %s -p mlirad-differentiate,mlirad-dce,mlirad-tape,mlirad-cse,mlirad-dce | filecheck %s
// A while gets a trip counter; its reverse is a for of that many trips, and its tape grows. Nothing of the condition
// region is differentiated or stored.

// CHECK-LABEL: func.func private @f.vjp
// CHECK:         %[[tape:.*]] = ad.tape %{{.*}} {{.*}}: tensor<?xf64>
// CHECK:         %[[y:.*]], %[[n:.*]], %[[full:.*]] = scf.while
// CHECK:           %[[go:.*]] = nd.less
// CHECK-NEXT:      scf.condition(%[[go]])
// CHECK:         ^{{.*}}(%[[s:.*]]: f64, %[[k:.*]]: i64, %[[t:.*]]: tensor<?xf64>):
// CHECK:           %[[longer:.*]] = ad.grow %[[t]], %{{.*}}
// CHECK-NEXT:      nd.insert %[[s]], %[[longer]][%[[k]]]
// CHECK:         scf.for %[[j:.*]] = %{{.*}} to %[[n]] step
// CHECK:           nd.extract %[[full]]
// CHECK-NOT:       nd.less
// CHECK:           scf.yield
func.func private @f(%x: f64) -> f64 {
  %limit = nd.constant {value = 9.0 : f64} : f64
  %y = scf.while (%a = %x) : (f64) -> f64 {
    %go = nd.less %a, %limit : (f64, f64) -> i1
    scf.condition(%go) %a : f64
  } do {
  ^bb0(%s: f64):
    %v = nd.mul %s, %s : f64
    scf.yield %v : f64
  }
  return %y : f64
}

func.func @gradient(%x: f64, %u: f64) -> f64 {
  %y, %dx = ad.vjp @f(%x)(%u) wrt [0] outs [0] : (f64)(f64) -> (f64, f64)
  return %dx : f64
}
