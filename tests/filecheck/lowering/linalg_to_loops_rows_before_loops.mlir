// RUN: mlirad-opt %s -p 'mlirad-nd-to-linalg,mlirad-bufferize,mlirad-plan-arena,mlirad-linalg-to-loops{vector_bytes=64}' | filecheck %s

// Weights that are multiplied by each image, in blocks, are packed once, before the loop.

// CHECK-LABEL: func.func @weights
// CHECK:         scf.for
// CHECK:           vector.load %w
// CHECK:         scf.for %n
// CHECK-NOT:       %w
// CHECK:         func.return
func.func @weights(%w: tensor<256x768xf32>, %x: tensor<4x768x128xf32>, %y: tensor<4x256x128xf32>) -> tensor<4x256x128xf32> {
  %c0 = nd.constant {value = 0 : i64} : i64
  %c1 = nd.constant {value = 1 : i64} : i64
  %c4 = nd.constant {value = 4 : i64} : i64
  %a = scf.for %n = %c0 to %c4 step %c1 iter_args(%z = %y) -> (tensor<4x256x128xf32>) : i64 {
    %0 = nd.extract_slice %x[%n, %c0, %c0] {sizes = array<i64: 1, 768, 128>, strides = array<i64: 1, 1, 1>} : tensor<4x768x128xf32> -> tensor<1x768x128xf32>
    %1 = nd.reshape %0 : tensor<1x768x128xf32> to tensor<768x128xf32>
    %2 = nd.contract "ik,kj->ij" %w, %1 : (tensor<256x768xf32>, tensor<768x128xf32>) -> tensor<256x128xf32>
    %3 = nd.reshape %2 : tensor<256x128xf32> to tensor<1x256x128xf32>
    %b = nd.insert_slice %3, %z[%n, %c0, %c0] {sizes = array<i64: 1, 256, 128>, strides = array<i64: 1, 1, 1>} : tensor<1x256x128xf32> into tensor<4x256x128xf32>
    scf.yield %b : tensor<4x256x128xf32>
  }
  func.return %a : tensor<4x256x128xf32>
}

// Weights that a trip changes are packed in each trip.

// CHECK-LABEL: func.func @changed
// CHECK:         scf.for %n
// CHECK:           vector.load %{{.*}} : memref<256x768xf32>
// CHECK:           vector.fma
// CHECK:         func.return
func.func @changed(%w: tensor<256x768xf32>, %x: tensor<4x768x128xf32>, %y: tensor<4x256x128xf32>) -> (tensor<4x256x128xf32>, tensor<256x768xf32>) {
  %c0 = nd.constant {value = 0 : i64} : i64
  %c1 = nd.constant {value = 1 : i64} : i64
  %c4 = nd.constant {value = 4 : i64} : i64
  %two = nd.constant {value = 2.0 : f32} : f32
  %a, %u = scf.for %n = %c0 to %c4 step %c1 iter_args(%z = %y, %v = %w) -> (tensor<4x256x128xf32>, tensor<256x768xf32>) : i64 {
    %0 = nd.extract_slice %x[%n, %c0, %c0] {sizes = array<i64: 1, 768, 128>, strides = array<i64: 1, 1, 1>} : tensor<4x768x128xf32> -> tensor<1x768x128xf32>
    %1 = nd.reshape %0 : tensor<1x768x128xf32> to tensor<768x128xf32>
    %2 = nd.contract "ik,kj->ij" %v, %1 : (tensor<256x768xf32>, tensor<768x128xf32>) -> tensor<256x128xf32>
    %3 = nd.reshape %2 : tensor<256x128xf32> to tensor<1x256x128xf32>
    %b = nd.insert_slice %3, %z[%n, %c0, %c0] {sizes = array<i64: 1, 256, 128>, strides = array<i64: 1, 1, 1>} : tensor<1x256x128xf32> into tensor<4x256x128xf32>
    %t = nd.insert %two, %v[%n, %c0] : f32 into tensor<256x768xf32>
    scf.yield %b, %t : tensor<4x256x128xf32>, tensor<256x768xf32>
  }
  func.return %a, %u : tensor<4x256x128xf32>, tensor<256x768xf32>
}
