// RUN: mlirad-opt %s -p 'mlirad-nd-to-linalg,mlirad-bufferize,mlirad-plan-arena,mlirad-linalg-to-loops{vector_bytes=64}' | filecheck %s

// Small weights that are multiplied by each image are packed once, before the loop: the images are large enough for
// blocks, and packing costs nothing more.

// CHECK-LABEL: func.func @small_weights
// CHECK:         scf.for
// CHECK:           vector.load %w
// CHECK:           vector.store {{.*}} : memref<2048x8xf32>
// CHECK:         scf.for %n
// CHECK-NOT:       %w
// CHECK:         func.return
func.func @small_weights(%w: tensor<64x128xf32>, %x: tensor<4x128x96xf32>) -> tensor<4x64x96xf32> {
  %c0 = nd.constant {value = 0 : i64} : i64
  %c1 = nd.constant {value = 1 : i64} : i64
  %c4 = nd.constant {value = 4 : i64} : i64
  %cst = nd.constant {value = 0.0 : f32} : f32
  %y = nd.full %cst : f32 to tensor<4x64x96xf32>
  %a = scf.for %n = %c0 to %c4 step %c1 iter_args(%z = %y) -> (tensor<4x64x96xf32>) : i64 {
    %0 = nd.extract_slice %x[%n, %c0, %c0] {sizes = array<i64: 1, 128, 96>, strides = array<i64: 1, 1, 1>} : tensor<4x128x96xf32> -> tensor<1x128x96xf32>
    %1 = nd.reshape %0 : tensor<1x128x96xf32> to tensor<128x96xf32>
    %2 = nd.contract "ik,kj->ij" %w, %1 : (tensor<64x128xf32>, tensor<128x96xf32>) -> tensor<64x96xf32>
    %3 = nd.reshape %2 : tensor<64x96xf32> to tensor<1x64x96xf32>
    %b = nd.insert_slice %3, %z[%n, %c0, %c0] {sizes = array<i64: 1, 64, 96>, strides = array<i64: 1, 1, 1>} : tensor<1x64x96xf32> into tensor<4x64x96xf32>
    scf.yield %b : tensor<4x64x96xf32>
  }
  func.return %a : tensor<4x64x96xf32>
}

// Alone, a product of small factors reads both in place.

// CHECK-LABEL: func.func @once
// CHECK-NOT:     memref.alloc()
// CHECK:         vector.fma
// CHECK:         func.return
func.func @once(%w: tensor<64x96xf32>, %x: tensor<96x64xf32>) -> tensor<64x64xf32> {
  %y = nd.contract "ik,kj->ij" %w, %x : (tensor<64x96xf32>, tensor<96x64xf32>) -> tensor<64x64xf32>
  func.return %y : tensor<64x64xf32>
}
