// RUN: mlirad-opt %s -p mlirad-differentiate,mlirad-dce,mlirad-tape,mlirad-canonicalize,mlirad-cse,mlirad-dce | filecheck %s

// A slice whose length changes from trip to trip. What is read of an array that is final there is re-read; what is
// computed is stored in a slot that has room for the longest.

func.func private @f(%x: tensor<8xf64>) -> f64 {
  %zero = nd.constant {value = 0 : i64} : i64
  %one = nd.constant {value = 1 : i64} : i64
  %n = nd.constant {value = 8 : i64} : i64
  %start = nd.constant {value = 0.0 : f64} : f64
  %total = scf.for %i = %zero to %n step %one iter_args(%t = %start) -> (f64) : i64 {
    %part = nd.extract_slice %x[%zero][%i] {sizes = array<i64: -1>, strides = array<i64: 1>} : tensor<8xf64> -> tensor<?xf64>
    %waves = nd.exp %part : tensor<?xf64>
    %again = nd.pow %waves, %waves : tensor<?xf64>
    %sum = nd.sum %again {axes = array<i64: 0>} : tensor<?xf64> to f64
    %next = nd.add %t, %sum : f64
    scf.yield %next : f64
  }
  func.return %total : f64
}

func.func public @gradient(%x: tensor<8xf64>, %g: f64) -> tensor<8xf64> {
  %y, %dx = ad.vjp @f(%x)(%g) wrt [0] outs [0] : (tensor<8xf64>)(f64) -> (f64, tensor<8xf64>)
  func.return %dx : tensor<8xf64>
}

// CHECK-LABEL: func.func private @f.vjp
// CHECK-COUNT-2: ad.tape {{.*}}: tensor<56xf64>
// CHECK:         scf.for %[[I:.*]] = %{{.*}} to
// CHECK:           %[[PART:.*]] = nd.extract_slice %x[%{{.*}}][%[[I]]] {sizes = array<i64: -1>
// CHECK:           %[[WAVES:.*]] = nd.exp %[[PART]]
// CHECK:           %[[SLOT:.*]] = nd.mul %[[I]], %{{.*}} : i64
// CHECK:           nd.insert_slice %[[WAVES]], %{{.*}}[%[[SLOT]]] {sizes = array<i64: -1>
// CHECK:         scf.for
// CHECK:           %[[Q:.*]] = nd.sub
// CHECK:           nd.extract_slice %{{.*}}[%{{.*}}][%[[Q]]] {sizes = array<i64: -1>
// CHECK:           nd.add_slice %{{.*}}, %{{.*}}[%{{.*}}] {sizes = array<i64: -1>
