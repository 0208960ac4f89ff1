// RUN: mlirad-opt %s -p mlirad-widen-halves | filecheck %s
//
// What is computed on f16 is computed in f32, and rounded once. What only moves elements stays as it is, and so does a
// sum into an element, which LLVM rounds as one addition.

// CHECK-LABEL: func.func @computed
func.func @computed(%x: tensor<3xf16>) -> f16 {
  // CHECK: %{{.*}} = nd.cast %x : tensor<3xf16> to tensor<3xf32>
  // CHECK: %{{.*}} = nd.exp %{{.*}} : tensor<3xf32>
  // CHECK: %a = nd.cast %{{.*}} : tensor<3xf32> to tensor<3xf16>
  %a = nd.exp %x : tensor<3xf16>
  // CHECK: %{{.*}} = nd.sum %{{.*}} : tensor<3xf32> to f32
  // CHECK: %y = nd.cast %{{.*}} : f32 to f16
  %y = nd.sum %a {axes = array<i64: 0>} : tensor<3xf16> to f16
  return %y : f16
}

// CHECK-LABEL: func.func @moved
func.func @moved(%x: tensor<3xf16>, %c: tensor<3xi1>, %v: f16, %i: i64) -> tensor<3xf16> {
  // CHECK-NOT: f32
  %a = nd.select %c, %x, %x : tensor<3xi1>, tensor<3xf16>
  %b = nd.insert %v, %a[%i] : f16 into tensor<3xf16>
  %y = nd.add_at %v, %b[%i] : f16 into tensor<3xf16>
  return %y : tensor<3xf16>
}

// CHECK-LABEL: func.func @cast
func.func @cast(%x: tensor<3xf64>) -> tensor<3xi64> {
  // CHECK: nd.cast %x : tensor<3xf64> to tensor<3xf16>
  // CHECK-NEXT: nd.cast %a : tensor<3xf16> to tensor<3xi64>
  %a = nd.cast %x : tensor<3xf64> to tensor<3xf16>
  %y = nd.cast %a : tensor<3xf16> to tensor<3xi64>
  return %y : tensor<3xi64>
}
