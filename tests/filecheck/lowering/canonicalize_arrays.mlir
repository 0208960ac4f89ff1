// RUN: mlirad-opt %s -p 'mlirad-canonicalize' | filecheck %s

// A read sees what was written at the same place, and nothing else.
// CHECK-LABEL: func.func @extract_of_insert
// CHECK-NEXT:    %t = nd.insert %v, %a[%i]
// CHECK-NEXT:    %other = nd.extract %t[%j]
// CHECK-NEXT:    func.return %v, %other
func.func @extract_of_insert(%v: f64, %a: tensor<4xf64>, %i: i64, %j: i64) -> (f64, f64) {
  %t = nd.insert %v, %a[%i] : f64 into tensor<4xf64>
  %same = nd.extract %t[%i] : tensor<4xf64> -> f64
  %other = nd.extract %t[%j] : tensor<4xf64> -> f64
  func.return %same, %other : f64, f64
}

// The second write at a place is the only one.
// CHECK-LABEL: func.func @insert_of_insert
// CHECK-NEXT:    %[[T:.*]] = nd.insert %w, %a[%i]
// CHECK-NEXT:    func.return %[[T]]
func.func @insert_of_insert(%v: f64, %w: f64, %a: tensor<4xf64>, %i: i64) -> tensor<4xf64> {
  %t = nd.insert %v, %a[%i] : f64 into tensor<4xf64>
  %u = nd.insert %w, %t[%i] : f64 into tensor<4xf64>
  func.return %u : tensor<4xf64>
}

// To add to zeros reads nothing, but 0.0 + -0.0 is 0.0.
// CHECK-LABEL: func.func @add_at_zeros
// CHECK:         %[[SUM:.*]] = nd.add %v
// CHECK-NEXT:    nd.insert %[[SUM]],
// CHECK-NOT:     nd.add_at
func.func @add_at_zeros(%v: f64, %i: i64) -> tensor<4xf64> {
  %zeros = nd.constant {value = dense<0.0> : tensor<4xf64>} : tensor<4xf64>
  %t = nd.add_at %v, %zeros[%i] : f64 into tensor<4xf64>
  func.return %t : tensor<4xf64>
}

// A product reads a transposed operand through its labels.
// CHECK-LABEL: func.func @contract_of_transpose
// CHECK-NEXT:    %[[P:.*]] = nd.contract "ji,jk->ik" %a, %b
// CHECK-NEXT:    func.return %[[P]]
func.func @contract_of_transpose(%a: tensor<3x4xf64>, %b: tensor<3x5xf64>) -> tensor<4x5xf64> {
  %t = nd.transpose %a {permutation = array<i64: 1, 0>} : tensor<3x4xf64> to tensor<4x3xf64>
  %p = nd.contract "ij,jk->ik" %t, %b : (tensor<4x3xf64>, tensor<3x5xf64>) -> tensor<4x5xf64>
  func.return %p : tensor<4x5xf64>
}

// Movements that undo each other.
// CHECK-LABEL: func.func @movements
// CHECK-NEXT:    func.return %a, %a
func.func @movements(%a: tensor<3x4xf64>) -> (tensor<3x4xf64>, tensor<3x4xf64>) {
  %t = nd.transpose %a {permutation = array<i64: 1, 0>} : tensor<3x4xf64> to tensor<4x3xf64>
  %u = nd.transpose %t {permutation = array<i64: 1, 0>} : tensor<4x3xf64> to tensor<3x4xf64>
  %r = nd.reshape %a : tensor<3x4xf64> to tensor<12xf64>
  %s = nd.reshape %r : tensor<12xf64> to tensor<3x4xf64>
  func.return %u, %s : tensor<3x4xf64>, tensor<3x4xf64>
}

// The size of what was written into is the size of what was there before, and asking for it reads nothing.
// CHECK-LABEL: func.func @dim
// CHECK-NEXT:    %[[N:.*]] = nd.dim %a
// CHECK-NEXT:    func.return %[[N]]
func.func @dim(%v: f64, %a: tensor<?xf64>, %i: i64) -> i64 {
  %t = nd.insert %v, %a[%i] : f64 into tensor<?xf64>
  %n = nd.dim %t {axis = 0 : i64} : tensor<?xf64>
  func.return %n : i64
}

// A slice that is cleared and then added to is written once; the sum with 0.0 is computed without the axes of size 1,
// so that it can be a part of the loops that compute %v.
// CHECK-LABEL: func.func @add_to_cleared_slice
// CHECK:         %[[SUM:.*]] = nd.add %v, %{{.*}} : tensor<4xf64>
// CHECK-NEXT:    %[[ROW:.*]] = nd.reshape %[[SUM]]
// CHECK-NEXT:    %[[U:.*]] = nd.insert_slice %[[ROW]], %a[%i, %z]
// CHECK-NEXT:    func.return %[[U]]
func.func @add_to_cleared_slice(%v: tensor<4xf64>, %a: tensor<3x4xf64>, %i: i64) -> tensor<3x4xf64> {
  %z = nd.constant {value = 0 : i64} : i64
  %0 = nd.constant {value = 0.0 : f64} : f64
  %zeros = nd.full %0 : f64 to tensor<1x4xf64>
  %t = nd.insert_slice %zeros, %a[%i, %z] {sizes = array<i64: 1, 4>, strides = array<i64: 1, 1>}
      : tensor<1x4xf64> into tensor<3x4xf64>
  %row = nd.reshape %v : tensor<4xf64> to tensor<1x4xf64>
  %u = nd.add_slice %row, %t[%i, %z] {sizes = array<i64: 1, 4>, strides = array<i64: 1, 1>}
      : tensor<1x4xf64> into tensor<3x4xf64>
  func.return %u : tensor<3x4xf64>
}

// At constant places, all additions become one sum later, which takes in the clear.
// CHECK-LABEL: func.func @add_to_cleared_slice_at_constant
// CHECK:         nd.insert_slice
// CHECK-NEXT:    nd.add_slice
func.func @add_to_cleared_slice_at_constant(%v: tensor<4xf64>, %a: tensor<8xf64>) -> tensor<8xf64> {
  %z = nd.constant {value = 0 : i64} : i64
  %0 = nd.constant {value = 0.0 : f64} : f64
  %zeros = nd.full %0 : f64 to tensor<4xf64>
  %t = nd.insert_slice %zeros, %a[%z] {sizes = array<i64: 4>, strides = array<i64: 1>}
      : tensor<4xf64> into tensor<8xf64>
  %u = nd.add_slice %v, %t[%z] {sizes = array<i64: 4>, strides = array<i64: 1>}
      : tensor<4xf64> into tensor<8xf64>
  func.return %u : tensor<8xf64>
}

// The slice may be another one.
// CHECK-LABEL: func.func @add_to_other_slice
// CHECK:         nd.insert_slice
// CHECK-NEXT:    nd.add_slice
func.func @add_to_other_slice(%v: tensor<4xf64>, %w: tensor<4xf64>, %a: tensor<8xf64>, %i: i64, %j: i64) -> tensor<8xf64> {
  %t = nd.insert_slice %w, %a[%i] {sizes = array<i64: 4>, strides = array<i64: 1>}
      : tensor<4xf64> into tensor<8xf64>
  %u = nd.add_slice %v, %t[%j] {sizes = array<i64: 4>, strides = array<i64: 1>}
      : tensor<4xf64> into tensor<8xf64>
  func.return %u : tensor<8xf64>
}

// A slice that was written in the opposite order is what was written, in the opposite order: the array is not read.
// CHECK-LABEL: func.func @read_mirrored_slice
// CHECK:         %[[S:.*]] = nd.extract_slice %v
// CHECK:         %[[F:.*]] = nd.extract_slice %[[S]][%{{.*}}][%n] {sizes = array<i64: -1>, strides = array<i64: -1>}
// CHECK-NEXT:    func.return %[[F]]
func.func @read_mirrored_slice(%v: tensor<?xf64>, %a: tensor<8xf64>, %q: i64) -> tensor<?xf64> {
  %z = nd.constant {value = 0 : i64} : i64
  %one = nd.constant {value = 1 : i64} : i64
  %n = nd.add %q, %one : i64
  %s = nd.extract_slice %v[%z][%n] {sizes = array<i64: -1>, strides = array<i64: 1>} : tensor<?xf64> -> tensor<?xf64>
  %t = nd.insert_slice %s, %a[%z] {sizes = array<i64: -1>, strides = array<i64: 1>} : tensor<?xf64> into tensor<8xf64>
  %u = nd.extract_slice %t[%q][%n] {sizes = array<i64: -1>, strides = array<i64: -1>} : tensor<8xf64> -> tensor<?xf64>
  func.return %u : tensor<?xf64>
}

// The slice that begins one element earlier is another one.
// CHECK-LABEL: func.func @read_other_mirrored_slice
// CHECK:         %[[T:.*]] = nd.insert_slice
// CHECK-NEXT:    nd.extract_slice %[[T]]
func.func @read_other_mirrored_slice(%v: tensor<4xf64>, %a: tensor<8xf64>, %i: i64) -> tensor<4xf64> {
  %two = nd.constant {value = 2 : i64} : i64
  %j = nd.add %i, %two : i64
  %t = nd.insert_slice %v, %a[%i] {sizes = array<i64: 4>, strides = array<i64: 1>}
      : tensor<4xf64> into tensor<8xf64>
  %u = nd.extract_slice %t[%j] {sizes = array<i64: 4>, strides = array<i64: -1>} : tensor<8xf64> -> tensor<4xf64>
  func.return %u : tensor<4xf64>
}

// An addition in the opposite order takes in the write before it; along the other axis the order is the same.
// CHECK-LABEL: func.func @add_to_mirrored_slice
// CHECK:         %[[F:.*]] = nd.extract_slice %w[%{{.*}}, %{{.*}}] {sizes = array<i64: 2, 4>, strides = array<i64: 1, -1>}
// CHECK-NEXT:    %[[SUM:.*]] = nd.add %[[F]], %v : tensor<2x4xf64>
// CHECK-NEXT:    %[[U:.*]] = nd.insert_slice %[[SUM]], %a[%i, %k] {sizes = array<i64: 2, 4>, strides = array<i64: 1, -1>}
// CHECK-NEXT:    func.return %[[U]]
func.func @add_to_mirrored_slice(%v: tensor<2x4xf64>, %w: tensor<2x4xf64>, %a: tensor<8x8xf64>, %i: i64, %j: i64) -> tensor<8x8xf64> {
  %three = nd.constant {value = 3 : i64} : i64
  %k = nd.add %j, %three : i64
  %t = nd.insert_slice %w, %a[%i, %j] {sizes = array<i64: 2, 4>, strides = array<i64: 1, 1>}
      : tensor<2x4xf64> into tensor<8x8xf64>
  %u = nd.add_slice %v, %t[%i, %k] {sizes = array<i64: 2, 4>, strides = array<i64: 1, -1>}
      : tensor<2x4xf64> into tensor<8x8xf64>
  func.return %u : tensor<8x8xf64>
}
