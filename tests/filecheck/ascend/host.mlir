// RUN: mlirad-opt %s --dialects-of ascend -p mlirad-ascend-legal,mlirad-ascend-kernels | filecheck %s

// Loops and branches, and the numbers that they ask for, are the host's: it reads an element, and launches.
// CHECK-LABEL: func.func public @f
// CHECK: scf.while
// CHECK: memref.load %{{.*}} : memref<f32, #hivm.address_space<gm>>
// CHECK: scf.condition
// CHECK: func.call @f_kernel_
// CHECK-NOT: linalg
// CHECK: func.func @f_kernel_0
func.func public @f(%x: tensor<33xf32>) -> tensor<33xf32> {
  %one = arith.constant 1.0 : f32
  %y = scf.while (%a = %x) : (tensor<33xf32>) -> tensor<33xf32> {
    %s = nd.sum %a {axes = array<i64: 0>} : tensor<33xf32> to f32
    %is_large = arith.cmpf ogt, %s, %one : f32
    scf.condition(%is_large) %a : tensor<33xf32>
  } do {
  ^bb0(%b: tensor<33xf32>):
    %c = nd.sin %b : tensor<33xf32>
    scf.yield %c : tensor<33xf32>
  }
  func.return %y : tensor<33xf32>
}
