// RUN: mlirad-opt %s -p 'mlirad-exchange-loops{least=1}' | filecheck %s

// A loop stores a plane on the tape in each trip, and the reverse loop reads the planes again. Both become loops over
// points, so the tape holds the numbers of all trips of one point, and then those of the next point. (The first sweep's
// result turned around is more than the rows of the first sweep, so the loops stay apart.)
//
// CHECK-LABEL: func.func @two_sweeps
// CHECK:         %[[FLAT:.*]] = ad.tape : tensor<1008xf64>
// CHECK:         %[[TAPE:.*]] = nd.reshape %[[FLAT]] : tensor<1008xf64> to tensor<9x7x16xf64>
// CHECK:         scf.for %row = {{.*}} = %[[TAPE]])
// CHECK:             nd.insert_slice %{{.*}} {sizes = array<i64: 1, 1, 1>{{.*}} into tensor<9x7x16xf64>
// CHECK:         scf.for %row
// CHECK:             nd.extract_slice %{{.*}} {sizes = array<i64: 1, 1, 1>{{.*}} : tensor<9x7x16xf64>
// CHECK-NOT:     tensor<112x9xf64>
func.func @two_sweeps(%x: tensor<9x7x16xf64>, %y: tensor<9x7x17xf64>) -> (tensor<9x7x17xf64>, tensor<9x7x16xf64>) {
  %c0 = nd.constant {value = 0 : i64} : i64
  %c1 = nd.constant {value = 1 : i64} : i64
  %c15 = nd.constant {value = 15 : i64} : i64
  %c63 = nd.constant {value = 63 : i64} : i64
  %n = nd.constant {value = 16 : i64} : i64
  %tape = ad.tape : tensor<1008xf64>
  %r, %filled = scf.for %k = %c0 to %n step %c1 iter_args(%t = %y, %stored = %tape) -> (tensor<9x7x17xf64>, tensor<1008xf64>) : i64 {
    %next = nd.add %k, %c1 : i64
    %p = nd.extract_slice %x[%c0, %c0, %k] {sizes = array<i64: 9, 7, 1>, strides = array<i64: 1, 1, 1>} : tensor<9x7x16xf64> -> tensor<9x7x1xf64>
    %q = nd.extract_slice %t[%c0, %c0, %k] {sizes = array<i64: 9, 7, 1>, strides = array<i64: 1, 1, 1>} : tensor<9x7x17xf64> -> tensor<9x7x1xf64>
    %first = nd.mul %k, %c63 : i64
    %flat = nd.reshape %q : tensor<9x7x1xf64> to tensor<63xf64>
    %more = nd.insert_slice %flat, %stored[%first] {sizes = array<i64: 63>, strides = array<i64: 1>} : tensor<63xf64> into tensor<1008xf64>
    %product = nd.mul %q, %p : tensor<9x7x1xf64>
    %s = nd.insert_slice %product, %t[%c0, %c0, %next] {sizes = array<i64: 9, 7, 1>, strides = array<i64: 1, 1, 1>} : tensor<9x7x1xf64> into tensor<9x7x17xf64>
    scf.yield %s, %more : tensor<9x7x17xf64>, tensor<1008xf64>
  }
  %c6 = nd.constant {value = 6 : i64} : i64
  %c8 = nd.constant {value = 8 : i64} : i64
  %turned = nd.extract_slice %r[%c8, %c6, %c0] {sizes = array<i64: 9, 7, 16>, strides = array<i64: -1, -1, 1>} : tensor<9x7x17xf64> -> tensor<9x7x16xf64>
  %d = scf.for %j = %c0 to %n step %c1 iter_args(%t = %turned) -> (tensor<9x7x16xf64>) : i64 {
    %k = nd.sub %c15, %j : i64
    %first = nd.mul %k, %c63 : i64
    %flat = nd.extract_slice %filled[%first] {sizes = array<i64: 63>, strides = array<i64: 1>} : tensor<1008xf64> -> tensor<63xf64>
    %q = nd.reshape %flat : tensor<63xf64> to tensor<9x7x1xf64>
    %p = nd.extract_slice %x[%c0, %c0, %k] {sizes = array<i64: 9, 7, 1>, strides = array<i64: 1, 1, 1>} : tensor<9x7x16xf64> -> tensor<9x7x1xf64>
    %product = nd.mul %q, %p : tensor<9x7x1xf64>
    %s = nd.insert_slice %product, %t[%c0, %c0, %k] {sizes = array<i64: 9, 7, 1>, strides = array<i64: 1, 1, 1>} : tensor<9x7x1xf64> into tensor<9x7x16xf64>
    scf.yield %s : tensor<9x7x16xf64>
  }
  func.return %r, %d : tensor<9x7x17xf64>, tensor<9x7x16xf64>
}
