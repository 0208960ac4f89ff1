// RUN: mlirad-opt %s -p 'mlirad-nd-to-linalg,mlirad-bufferize,mlirad-linalg-to-loops' | filecheck %s

// Windows that overlap are added up one after the other: several of them write one element. Neighbours in one window
// write neighbours, so that a window is added in vectors.
//
//   windows   y[i, :]      y0 y1 y2 y3 y4 ...
//   sum       x[i + j]     x[i] += y0, x[i + 1] += y1, ...
//
// CHECK-LABEL: func.func public @add_up
func.func public @add_up(%y: tensor<3x16xf64>) -> tensor<18xf64> {
  // CHECK: scf.for %[[WINDOW:[0-9]+]] =
  // CHECK: scf.for %[[PLACE:[0-9]+]] =
  // CHECK: vector.load %y[%[[WINDOW]], %[[PLACE]]] : memref<3x16xf64>
  // CHECK: vector.load %x[%{{[0-9]+}}] : memref<18xf64>
  // CHECK: arith.addf
  // CHECK: vector.store %{{[0-9]+}}, %x[%{{[0-9]+}}] : memref<18xf64>
  %x = nd.overlap %y {axes = array<i64: 0, 0>, steps = array<i64: 1, 1>} : tensor<3x16xf64> to tensor<18xf64>
  func.return %x : tensor<18xf64>
}
