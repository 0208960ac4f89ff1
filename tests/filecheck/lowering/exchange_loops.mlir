// RUN: mlirad-opt %s -p 'mlirad-exchange-loops{least=1}' --split-input-file | filecheck %s

// Each trip computes a plane across the last axis, from the plane of the trip before. Row by row, and then point by
// point, all trips use the numbers of one cache line one after the other.
//
//     for k in range(16):
//         y[:, :, k + 1] = y[:, :, k] * x[:, :, k]
//
// CHECK-LABEL: func.func @planes
// CHECK:         scf.for %row = {{.*}} iter_args(%[[A:.*]] = %y)
// CHECK:           scf.for %row_1 = {{.*}} iter_args(%[[B:.*]] = %[[A]])
// CHECK:             scf.for %k = {{.*}} iter_args(%[[T:.*]] = %[[B]])
// CHECK:               nd.extract_slice %[[T]][%{{.*}}, %{{.*}}, %k] {sizes = array<i64: 1, 1, 1>
// CHECK:               nd.mul %{{.*}} : tensor<1x1x1xf64>
// CHECK:               nd.insert_slice
func.func @planes(%x: tensor<9x7x17xf64>, %y: tensor<9x7x17xf64>) -> tensor<9x7x17xf64> {
  %c0 = nd.constant {value = 0 : i64} : i64
  %c1 = nd.constant {value = 1 : i64} : i64
  %n = nd.constant {value = 16 : i64} : i64
  %r = scf.for %k = %c0 to %n step %c1 iter_args(%t = %y) -> (tensor<9x7x17xf64>) : i64 {
    %next = nd.add %k, %c1 : i64
    %p = nd.extract_slice %x[%c0, %c0, %k] {sizes = array<i64: 9, 7, 1>, strides = array<i64: 1, 1, 1>} : tensor<9x7x17xf64> -> tensor<9x7x1xf64>
    %q = nd.extract_slice %t[%c0, %c0, %k] {sizes = array<i64: 9, 7, 1>, strides = array<i64: 1, 1, 1>} : tensor<9x7x17xf64> -> tensor<9x7x1xf64>
    %product = nd.mul %q, %p : tensor<9x7x1xf64>
    %s = nd.insert_slice %product, %t[%c0, %c0, %next] {sizes = array<i64: 9, 7, 1>, strides = array<i64: 1, 1, 1>} : tensor<9x7x1xf64> into tensor<9x7x17xf64>
    scf.yield %s : tensor<9x7x17xf64>
  }
  func.return %r : tensor<9x7x17xf64>
}

// -----

// Row i needs row i - 1 of the trip before, so rows stay together. Columns do not.
//
//     for k in range(16):
//         y[1:, :, k + 1] = y[:-1, :, k]
//
// CHECK-LABEL: func.func @rows_move
// CHECK:         scf.for %row =
// CHECK:           scf.for %k =
// CHECK:             nd.extract_slice %{{.*}}[%c0, %{{.*}}, %k] {sizes = array<i64: 8, 1, 1>
// CHECK-NOT:     scf.for
// CHECK:         func.return

func.func @rows_move(%y: tensor<9x7x17xf64>) -> tensor<9x7x17xf64> {
  %c0 = nd.constant {value = 0 : i64} : i64
  %c1 = nd.constant {value = 1 : i64} : i64
  %n = nd.constant {value = 16 : i64} : i64
  %r = scf.for %k = %c0 to %n step %c1 iter_args(%t = %y) -> (tensor<9x7x17xf64>) : i64 {
    %next = nd.add %k, %c1 : i64
    %q = nd.extract_slice %t[%c0, %c0, %k] {sizes = array<i64: 8, 7, 1>, strides = array<i64: 1, 1, 1>} : tensor<9x7x17xf64> -> tensor<8x7x1xf64>
    %s = nd.insert_slice %q, %t[%c1, %c0, %next] {sizes = array<i64: 8, 7, 1>, strides = array<i64: 1, 1, 1>} : tensor<8x7x1xf64> into tensor<9x7x17xf64>
    scf.yield %s : tensor<9x7x17xf64>
  }
  func.return %r : tensor<9x7x17xf64>
}

// -----

// A tape that holds the planes of all trips, one after the other, is read as blocks of rows: column j of a plane is part
// of each row of it.
//
//     for k in range(16):
//         y[1:, :, k + 1] = y[:-1, :, k] * tape[56 * k : 56 * (k + 1)].reshape(8, 7) - x[:, :, k]
//
// CHECK-LABEL: func.func @taped
// CHECK:         scf.for %row =
// CHECK:           %[[BLOCKS:.*]] = nd.reshape %tape : tensor<896xf64> to tensor<128x7xf64>
// CHECK:           scf.for %k =
// CHECK:             nd.extract_slice %[[BLOCKS]][%{{.*}}, %row] {sizes = array<i64: 8, 1>
func.func @taped(%tape: tensor<896xf64>, %x: tensor<8x7x16xf64>, %y: tensor<9x7x17xf64>) -> tensor<9x7x17xf64> {
  %c0 = nd.constant {value = 0 : i64} : i64
  %c1 = nd.constant {value = 1 : i64} : i64
  %c56 = nd.constant {value = 56 : i64} : i64
  %n = nd.constant {value = 16 : i64} : i64
  %r = scf.for %k = %c0 to %n step %c1 iter_args(%t = %y) -> (tensor<9x7x17xf64>) : i64 {
    %next = nd.add %k, %c1 : i64
    %first = nd.mul %k, %c56 : i64
    %flat = nd.extract_slice %tape[%first] {sizes = array<i64: 56>, strides = array<i64: 1>} : tensor<896xf64> -> tensor<56xf64>
    %p = nd.reshape %flat : tensor<56xf64> to tensor<8x7x1xf64>
    %q = nd.extract_slice %t[%c0, %c0, %k] {sizes = array<i64: 8, 7, 1>, strides = array<i64: 1, 1, 1>} : tensor<9x7x17xf64> -> tensor<8x7x1xf64>
    %o = nd.extract_slice %x[%c0, %c0, %k] {sizes = array<i64: 8, 7, 1>, strides = array<i64: 1, 1, 1>} : tensor<8x7x16xf64> -> tensor<8x7x1xf64>
    %product = nd.mul %q, %p : tensor<8x7x1xf64>
    %rest = nd.sub %product, %o : tensor<8x7x1xf64>
    %s = nd.insert_slice %rest, %t[%c1, %c0, %next] {sizes = array<i64: 8, 7, 1>, strides = array<i64: 1, 1, 1>} : tensor<8x7x1xf64> into tensor<9x7x17xf64>
    scf.yield %s : tensor<9x7x17xf64>
  }
  func.return %r : tensor<9x7x17xf64>
}
