// RUN: mlirad-opt %s -p 'mlirad-exchange-loops{least=1}' --split-input-file | filecheck %s

// Each trip adds its plane to rows i and to rows i + 1 of an array, so no row of the array is computed apart. The planes
// are: the loops store them point by point, and all are added afterwards. Element k of an array gets the plane of trip k
// from the second addition one trip earlier than from the first, and so this one comes first.
//
//     for k in range(16):
//         p = x[:, :, k] * y[:, :, k]
//         w[1:, :, k] += p
//         w[:-1, :, k + 1] += p
//
// CHECK-LABEL: func.func @neighbours
// CHECK:         %[[TAPE:.*]] = ad.tape : tensor<1008xf64>
// CHECK:         %[[EMPTY:.*]] = nd.reshape %[[TAPE]] : tensor<1008xf64> to tensor<9x7x16xf64>
// CHECK:         %[[PLANES:.*]] = scf.for %row = {{.*}} iter_args(%[[A:.*]] = %[[EMPTY]])
// CHECK:           scf.for %row_1 = {{.*}} iter_args(%[[B:.*]] = %[[A]])
// CHECK:             scf.for %k = {{.*}} iter_args(%[[C:.*]] = %[[B]])
// CHECK:               nd.mul %{{.*}} : tensor<1x1x1xf64>
// CHECK-NOT:           nd.add_slice
// CHECK:               nd.insert_slice %{{.*}}, %[[C]][%{{.*}}, %{{.*}}, %k] {sizes = array<i64: 1, 1, 1>
// CHECK:         %[[FIRST:.*]] = nd.add_slice %[[PLANES]], %w[%c0{{.*}}, %c0{{.*}}, %c1{{.*}}] {sizes = array<i64: 9, 7, 16>
// CHECK:         nd.add_slice %[[PLANES]], %[[FIRST]][%c1{{.*}}, %c0{{.*}}, %c0{{.*}}] {sizes = array<i64: 9, 7, 16>
func.func @neighbours(%x: tensor<9x7x16xf64>, %y: tensor<9x7x16xf64>, %w: tensor<10x7x17xf64>) -> tensor<10x7x17xf64> {
  %c0 = nd.constant {value = 0 : i64} : i64
  %c1 = nd.constant {value = 1 : i64} : i64
  %n = nd.constant {value = 16 : i64} : i64
  %r = scf.for %k = %c0 to %n step %c1 iter_args(%t = %w) -> (tensor<10x7x17xf64>) : i64 {
    %next = nd.add %k, %c1 : i64
    %p = nd.extract_slice %x[%c0, %c0, %k] {sizes = array<i64: 9, 7, 1>, strides = array<i64: 1, 1, 1>} : tensor<9x7x16xf64> -> tensor<9x7x1xf64>
    %q = nd.extract_slice %y[%c0, %c0, %k] {sizes = array<i64: 9, 7, 1>, strides = array<i64: 1, 1, 1>} : tensor<9x7x16xf64> -> tensor<9x7x1xf64>
    %product = nd.mul %p, %q : tensor<9x7x1xf64>
    %s = nd.add_slice %product, %t[%c1, %c0, %k] {sizes = array<i64: 9, 7, 1>, strides = array<i64: 1, 1, 1>} : tensor<9x7x1xf64> into tensor<10x7x17xf64>
    %u = nd.add_slice %product, %s[%c0, %c0, %next] {sizes = array<i64: 9, 7, 1>, strides = array<i64: 1, 1, 1>} : tensor<9x7x1xf64> into tensor<10x7x17xf64>
    scf.yield %u : tensor<10x7x17xf64>
  }
  func.return %r : tensor<10x7x17xf64>
}

// -----

// Trips add to every other plane: the additions of a trip do not hit an element one after the other in a known order.
// Rows stay together, columns do not.
//
// CHECK-LABEL: func.func @every_other
// CHECK-NOT:     ad.tape
// CHECK:         scf.for %row =
// CHECK:           scf.for %k =
// CHECK:             nd.add_slice %{{.*}} {sizes = array<i64: 9, 1, 1>
// CHECK-NOT:     scf.for
// CHECK:         func.return
func.func @every_other(%x: tensor<9x7x16xf64>, %w: tensor<10x7x33xf64>) -> tensor<10x7x33xf64> {
  %c0 = nd.constant {value = 0 : i64} : i64
  %c1 = nd.constant {value = 1 : i64} : i64
  %c2 = nd.constant {value = 2 : i64} : i64
  %n = nd.constant {value = 16 : i64} : i64
  %r = scf.for %k = %c0 to %n step %c1 iter_args(%t = %w) -> (tensor<10x7x33xf64>) : i64 {
    %place = nd.mul %k, %c2 : i64
    %p = nd.extract_slice %x[%c0, %c0, %k] {sizes = array<i64: 9, 7, 1>, strides = array<i64: 1, 1, 1>} : tensor<9x7x16xf64> -> tensor<9x7x1xf64>
    %q = nd.extract_slice %x[%c0, %c0, %k] {sizes = array<i64: 9, 7, 1>, strides = array<i64: 1, 1, 1>} : tensor<9x7x16xf64> -> tensor<9x7x1xf64>
    %product = nd.mul %p, %q : tensor<9x7x1xf64>
    %s = nd.add_slice %product, %t[%c1, %c0, %place] {sizes = array<i64: 9, 7, 1>, strides = array<i64: 1, 1, 1>} : tensor<9x7x1xf64> into tensor<10x7x33xf64>
    %u = nd.add_slice %product, %s[%c0, %c0, %place] {sizes = array<i64: 9, 7, 1>, strides = array<i64: 1, 1, 1>} : tensor<9x7x1xf64> into tensor<10x7x33xf64>
    scf.yield %u : tensor<10x7x33xf64>
  }
  func.return %r : tensor<10x7x33xf64>
}
