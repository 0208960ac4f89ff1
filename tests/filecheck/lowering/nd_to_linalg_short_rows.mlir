// RUN: mlirad-opt %s -p 'mlirad-nd-to-linalg{fuse=true fastmath=false lanes=8}' | filecheck %s
// A vector of eight lanes holds one row of five numbers, and three lanes compute nothing. So a function of such rows is a
// nest in which each element is read and written at its own place, and whose two loops become one: a broadcast operand
// is subtracted before it, and the rows are added up after it.
//
//     x[0]  a b c d e - - -          a b c d e f g h     f g h i j are of the next row
//     x[1]  f g h i j - - -    to    i j k l m n o p
//
// Rows that fill vectors, few rows, and cheap ops share loops as before.

// CHECK-LABEL: func.func @short
// CHECK:         linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>]
// CHECK:           arith.subf
// CHECK-NOT:       math
// CHECK:         linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>]
// CHECK-NOT:       arith
// CHECK:           math.exp
// CHECK:         linalg.generic
// CHECK:           arith.addf
func.func @short(%x: tensor<900x5xf64>, %high: tensor<900xf64>) -> tensor<900xf64> {
  %0 = nd.broadcast %high {dims = array<i64: 0>} : tensor<900xf64> to tensor<900x5xf64>
  %1 = nd.sub %x, %0 : tensor<900x5xf64>
  %2 = nd.exp %1 : tensor<900x5xf64>
  %s = nd.sum %2 {axes = array<i64: 1>} : tensor<900x5xf64> to tensor<900xf64>
  func.return %s : tensor<900xf64>
}

// Cheap ops whose operands have all elements stay with the function, and what else needs a difference computes it again.

// CHECK-LABEL: func.func @with_cheap
// CHECK:         arith.subf
// CHECK:         linalg.generic
// CHECK:           arith.mulf
// CHECK:           math.tanh
// CHECK:         linalg.generic
// CHECK:           arith.subf
// CHECK:           arith.mulf
func.func @with_cheap(%x: tensor<900x5xf64>, %w: tensor<5xf64>) -> (tensor<900x5xf64>, tensor<900x5xf64>) {
  %0 = nd.broadcast %w {dims = array<i64: 1>} : tensor<5xf64> to tensor<900x5xf64>
  %1 = nd.sub %x, %0 : tensor<900x5xf64>
  %2 = nd.mul %1, %x : tensor<900x5xf64>
  %3 = nd.tanh %2 : tensor<900x5xf64>
  %4 = nd.mul %1, %0 : tensor<900x5xf64>
  func.return %3, %4 : tensor<900x5xf64>, tensor<900x5xf64>
}

// CHECK-LABEL: func.func @kept
// CHECK-COUNT-3: linalg.generic
// CHECK-NOT:     linalg.generic
func.func @kept(%x: tensor<900x8xf64>, %y: tensor<9x5xf64>, %z: tensor<900x5xf64>) -> (tensor<900xf64>, tensor<9xf64>, tensor<900xf64>) {
  %0 = nd.exp %x : tensor<900x8xf64>
  %1 = nd.sum %0 {axes = array<i64: 1>} : tensor<900x8xf64> to tensor<900xf64>
  %2 = nd.exp %y : tensor<9x5xf64>
  %3 = nd.sum %2 {axes = array<i64: 1>} : tensor<9x5xf64> to tensor<9xf64>
  %4 = nd.mul %z, %z : tensor<900x5xf64>
  %5 = nd.sum %4 {axes = array<i64: 1>} : tensor<900x5xf64> to tensor<900xf64>
  func.return %1, %3, %5 : tensor<900xf64>, tensor<9xf64>, tensor<900xf64>
}
