// RUN: mlirad-opt %s -p 'mlirad-lay-out-arrays' | filecheck %s

// Trips read and write columns of an array that only they see: it is stored by columns. Each loop that begins with
// the same zeros has memory of its own, so the order of one does not decide that of the other.

// CHECK-LABEL: func.func @columns
// CHECK-DAG:     nd.full %zero : f64 to tensor<9x5xf64>
// CHECK:         scf.for {{.*}} -> (tensor<9x5xf64>)
// CHECK:           nd.extract_slice %{{.*}}[%j, %c0] {sizes = array<i64: 1, 5>, strides = array<i64: 1, 1>}
// CHECK-NEXT:      nd.reshape %{{.*}} : tensor<1x5xf64> to tensor<5xf64>
// CHECK:           nd.add_slice %{{.*}}[%j, %c0] {sizes = array<i64: 1, 5>, strides = array<i64: 1, 1>} : tensor<1x5xf64> into tensor<9x5xf64>
// CHECK:         scf.for {{.*}} -> (tensor<5x9xf64>)
func.func @columns(%x: tensor<5xf64>, %n: i64) -> (tensor<5xf64>, tensor<5x9xf64>) {
  %c0 = nd.constant {value = 0 : i64} : i64
  %c1 = nd.constant {value = 1 : i64} : i64
  %zero = nd.constant {value = 0.0 : f64} : f64
  %zeros = nd.full %zero : f64 to tensor<5x9xf64>
  %part = nd.reshape %x : tensor<5xf64> to tensor<5x1xf64>
  %p = scf.for %j = %c0 to %n step %c1 iter_args(%q = %zeros) -> (tensor<5x9xf64>) : i64 {
    %old = nd.extract_slice %q[%c0, %j] {sizes = array<i64: 5, 1>, strides = array<i64: 1, 1>} : tensor<5x9xf64> -> tensor<5x1xf64>
    %flat = nd.reshape %old : tensor<5x1xf64> to tensor<5xf64>
    %sum = nd.add %flat, %x : tensor<5xf64>
    %column = nd.reshape %sum : tensor<5xf64> to tensor<5x1xf64>
    %r = nd.add_slice %column, %q[%c0, %j] {sizes = array<i64: 5, 1>, strides = array<i64: 1, 1>} : tensor<5x1xf64> into tensor<5x9xf64>
    scf.yield %r : tensor<5x9xf64>
  }
  %last = nd.extract_slice %p[%c0, %c1] {sizes = array<i64: 5, 1>, strides = array<i64: 1, 1>} : tensor<5x9xf64> -> tensor<5x1xf64>
  %result = nd.reshape %last : tensor<5x1xf64> to tensor<5xf64>
  // The caller sees this one.
  %s = scf.for %k = %c0 to %n step %c1 iter_args(%t = %zeros) -> (tensor<5x9xf64>) : i64 {
    %u = nd.insert_slice %part, %t[%c0, %k] {sizes = array<i64: 5, 1>, strides = array<i64: 1, 1>} : tensor<5x1xf64> into tensor<5x9xf64>
    scf.yield %u : tensor<5x9xf64>
  }
  func.return %result, %s : tensor<5xf64>, tensor<5x9xf64>
}

// Planes in a branch: all of its versions have one order. An array whose rows are read too, one with single elements,
// and one that another op uses keep theirs.

// CHECK-LABEL: func.func @stay
// CHECK:         scf.if {{.*}} -> (tensor<6x4x5xf64>)
// CHECK:         tensor<1x4x5xf64> to tensor<4x5x1xf64>
// CHECK:         nd.insert_slice {{.*}} into tensor<5x7xf64>
// CHECK:         nd.insert_slice {{.*}} into tensor<5x8xf64>
// CHECK:         nd.insert_slice {{.*}} into tensor<5x9xf64>
func.func @stay(%x: tensor<5x1xf64>, %y: tensor<4x5x1xf64>, %j: i64, %b: i1)
    -> (tensor<4x5x1xf64>, tensor<1x7xf64>, tensor<1x1xf64>, tensor<5x9xf64>) {
  %c0 = nd.constant {value = 0 : i64} : i64
  %zero = nd.constant {value = 0.0 : f64} : f64
  %planes = nd.full %zero : f64 to tensor<4x5x6xf64>
  %either = scf.if %b -> (tensor<4x5x6xf64>) {
    %set = nd.insert_slice %y, %planes[%c0, %c0, %j] {sizes = array<i64: 4, 5, 1>, strides = array<i64: 1, 1, 1>} : tensor<4x5x1xf64> into tensor<4x5x6xf64>
    scf.yield %set : tensor<4x5x6xf64>
  } else {
    scf.yield %planes : tensor<4x5x6xf64>
  }
  %plane = nd.extract_slice %either[%c0, %c0, %j] {sizes = array<i64: 4, 5, 1>, strides = array<i64: 1, 1, 1>} : tensor<4x5x6xf64> -> tensor<4x5x1xf64>
  %seven = nd.full %zero : f64 to tensor<5x7xf64>
  %p = nd.insert_slice %x, %seven[%c0, %j] {sizes = array<i64: 5, 1>, strides = array<i64: 1, 1>} : tensor<5x1xf64> into tensor<5x7xf64>
  %row = nd.extract_slice %p[%j, %c0] {sizes = array<i64: 1, 7>, strides = array<i64: 1, 1>} : tensor<5x7xf64> -> tensor<1x7xf64>
  %eight = nd.full %zero : f64 to tensor<5x8xf64>
  %q = nd.insert_slice %x, %eight[%c0, %j] {sizes = array<i64: 5, 1>, strides = array<i64: 1, 1>} : tensor<5x1xf64> into tensor<5x8xf64>
  %one = nd.extract_slice %q[%j, %c0] {sizes = array<i64: 1, 1>, strides = array<i64: 1, 1>} : tensor<5x8xf64> -> tensor<1x1xf64>
  %nine = nd.full %zero : f64 to tensor<5x9xf64>
  %r = nd.insert_slice %x, %nine[%c0, %j] {sizes = array<i64: 5, 1>, strides = array<i64: 1, 1>} : tensor<5x1xf64> into tensor<5x9xf64>
  %negative = nd.neg %r : tensor<5x9xf64>
  func.return %plane, %row, %one, %negative : tensor<4x5x1xf64>, tensor<1x7xf64>, tensor<1x1xf64>, tensor<5x9xf64>
}
