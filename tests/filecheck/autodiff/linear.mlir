// RUN: mlirad-opt %s -p mlirad-differentiate,mlirad-dce,mlirad-tape,mlirad-cse,mlirad-dce | filecheck %s
// Linear code stores nothing. The element that is overwritten has its cotangent read first and cleared then; nothing of
// the array's size is made.

// CHECK-LABEL: func.func private @f.vjp
// CHECK-NOT:     ad.tape
// CHECK:         scf.for {{.*}} iter_args(%a = %x)
// CHECK:         scf.for {{.*}} iter_args(%[[g:[^ ]+]] = %{{[^ ]+}}) -> (tensor<9xf64>)
// CHECK:           %[[gv:[^ ]+]] = nd.extract %[[g]][%[[i:[^ ]+]]]
// CHECK:           %[[cleared:[^ ]+]] = nd.insert %{{[^ ]+}}, %[[g]][%[[i]]]
// CHECK-NEXT:      %[[scaled:.*]] = nd.mul %[[gv]]
// CHECK-NEXT:      %[[next:.*]] = nd.add_at %[[scaled]], %[[cleared]]
// CHECK-NEXT:      scf.yield %[[next]]
func.func private @f(%x: tensor<9xf64>) -> f64 {
  %zero = nd.constant {value = 0 : i64} : i64
  %one = nd.constant {value = 1 : i64} : i64
  %n = nd.constant {value = 8 : i64} : i64
  %half = nd.constant {value = 0.5 : f64} : f64
  %y = scf.for %i = %zero to %n step %one iter_args(%a = %x) -> (tensor<9xf64>) : i64 {
    %v = nd.extract %a[%i] : tensor<9xf64> -> f64
    %w = nd.mul %v, %half : f64
    %k = nd.add %i, %one : i64
    %b = nd.insert %w, %a[%k] : f64 into tensor<9xf64>
    scf.yield %b : tensor<9xf64>
  }
  %s = nd.sum %y {axes = array<i64: 0>} : tensor<9xf64> to f64
  return %s : f64
}

func.func @gradient(%x: tensor<9xf64>, %u: f64) -> tensor<9xf64> {
  %y, %dx = ad.vjp @f(%x)(%u) wrt [0] outs [0] : (tensor<9xf64>)(f64) -> (f64, tensor<9xf64>)
  return %dx : tensor<9xf64>
}
