// RUN: mlirad-opt %s -p 'mlirad-lay-out-arrays' | filecheck %s

// Nested loops use each column of an argument about 32 times: it is transposed before them, and its last value after
// them, for the caller. The other ops use the argument as it is.

// CHECK-LABEL: func.func @swept
// CHECK-NEXT:    %[[X:.*]] = nd.transpose %x {permutation = array<i64: 1, 0>} : tensor<9x64xf64> to tensor<64x9xf64>
// CHECK:         scf.for {{.*}} iter_args(%{{.*}} = %[[X]]) -> (tensor<64x9xf64>)
// CHECK:           scf.for {{.*}} -> (tensor<64x9xf64>)
// CHECK:             nd.extract_slice %{{.*}}[%j, %c0] {sizes = array<i64: 1, 9>
// CHECK:             nd.insert_slice {{.*}} into tensor<64x9xf64>
// CHECK:         %[[Y:.*]] = nd.transpose %{{.*}} {permutation = array<i64: 1, 0>} : tensor<64x9xf64> to tensor<9x64xf64>
// CHECK:         nd.mul %[[Y]], %x : tensor<9x64xf64>
func.func @swept(%x: tensor<9x64xf64>) -> tensor<9x64xf64> {
  %c0 = nd.constant {value = 0 : i64} : i64
  %c1 = nd.constant {value = 1 : i64} : i64
  %c64 = nd.constant {value = 64 : i64} : i64
  %y = scf.for %k = %c0 to %c64 step %c1 iter_args(%p = %x) -> (tensor<9x64xf64>) : i64 {
    %q = scf.for %j = %k to %c64 step %c1 iter_args(%r = %p) -> (tensor<9x64xf64>) : i64 {
      %old = nd.extract_slice %r[%c0, %j] {sizes = array<i64: 9, 1>, strides = array<i64: 1, 1>} : tensor<9x64xf64> -> tensor<9x1xf64>
      %new = nd.sin %old : tensor<9x1xf64>
      %s = nd.insert_slice %new, %r[%c0, %j] {sizes = array<i64: 9, 1>, strides = array<i64: 1, 1>} : tensor<9x1xf64> into tensor<9x64xf64>
      scf.yield %s : tensor<9x64xf64>
    }
    scf.yield %q : tensor<9x64xf64>
  }
  %z = nd.mul %y, %x : tensor<9x64xf64>
  func.return %z : tensor<9x64xf64>
}

// Each column is read twice, or an unknown number of times, or the loop also uses the array as a whole: as it is.

// CHECK-LABEL: func.func @stay
// CHECK-NOT:     nd.transpose
func.func @stay(%x: tensor<9x64xf64>, %y: tensor<9x64xf64>, %z: tensor<9x64xf64>, %n: i64)
    -> (tensor<9x1xf64>, tensor<9x1xf64>, tensor<9x64xf64>) {
  %c0 = nd.constant {value = 0 : i64} : i64
  %c1 = nd.constant {value = 1 : i64} : i64
  %c2 = nd.constant {value = 2 : i64} : i64
  %c64 = nd.constant {value = 64 : i64} : i64
  %zero = nd.constant {value = 0.0 : f64} : f64
  %zeros = nd.full %zero : f64 to tensor<9x1xf64>
  %twice = scf.for %k = %c0 to %c2 step %c1 iter_args(%p = %zeros) -> (tensor<9x1xf64>) : i64 {
    %inner = scf.for %j = %c0 to %c64 step %c1 iter_args(%q = %p) -> (tensor<9x1xf64>) : i64 {
      %column = nd.extract_slice %x[%c0, %j] {sizes = array<i64: 9, 1>, strides = array<i64: 1, 1>} : tensor<9x64xf64> -> tensor<9x1xf64>
      %sum = nd.add %q, %column : tensor<9x1xf64>
      scf.yield %sum : tensor<9x1xf64>
    }
    scf.yield %inner : tensor<9x1xf64>
  }
  %unknown = scf.for %k = %c0 to %n step %c1 iter_args(%p = %zeros) -> (tensor<9x1xf64>) : i64 {
    %inner = scf.for %j = %c0 to %n step %c1 iter_args(%q = %p) -> (tensor<9x1xf64>) : i64 {
      %column = nd.extract_slice %y[%c0, %j] {sizes = array<i64: 9, 1>, strides = array<i64: 1, 1>} : tensor<9x64xf64> -> tensor<9x1xf64>
      %sum = nd.add %q, %column : tensor<9x1xf64>
      scf.yield %sum : tensor<9x1xf64>
    }
    scf.yield %inner : tensor<9x1xf64>
  }
  %whole = scf.for %k = %c0 to %c64 step %c1 iter_args(%p = %z) -> (tensor<9x64xf64>) : i64 {
    %q = scf.for %j = %c0 to %c64 step %c1 iter_args(%r = %p) -> (tensor<9x64xf64>) : i64 {
      %s = nd.insert_slice %zeros, %r[%c0, %j] {sizes = array<i64: 9, 1>, strides = array<i64: 1, 1>} : tensor<9x1xf64> into tensor<9x64xf64>
      scf.yield %s : tensor<9x64xf64>
    }
    %t = nd.sin %q : tensor<9x64xf64>
    scf.yield %t : tensor<9x64xf64>
  }
  func.return %twice, %unknown, %whole : tensor<9x1xf64>, tensor<9x1xf64>, tensor<9x64xf64>
}

// Columns of growing length, which count as half as long as they can be, are used much more often than single elements.
//
//     for i in range(40):
//         for k in range(9): y[k] += sum(x[: i + 1, k]) * x[i, k]
//
// CHECK-LABEL: func.func @growing
// CHECK-NEXT:    %[[X:.*]] = nd.transpose %x {permutation = array<i64: 1, 0>} : tensor<40x9xf64> to tensor<9x40xf64>
// CHECK:         nd.extract_slice %[[X]][%k, %c0][%n] {sizes = array<i64: 1, -1>
// CHECK:         nd.extract %[[X]][%k, %i]
func.func @growing(%x: tensor<40x9xf64>, %y: tensor<9xf64>) -> tensor<9xf64> {
  %c0 = nd.constant {value = 0 : i64} : i64
  %c1 = nd.constant {value = 1 : i64} : i64
  %c9 = nd.constant {value = 9 : i64} : i64
  %c40 = nd.constant {value = 40 : i64} : i64
  %r = scf.for %i = %c0 to %c40 step %c1 iter_args(%y_1 = %y) -> (tensor<9xf64>) : i64 {
    %n = nd.add %i, %c1 : i64
    %q = scf.for %k = %c0 to %c9 step %c1 iter_args(%y_2 = %y_1) -> (tensor<9xf64>) : i64 {
      %column = nd.extract_slice %x[%c0, %k][%n] {sizes = array<i64: -1, 1>, strides = array<i64: 1, 1>} : tensor<40x9xf64> -> tensor<?x1xf64>
      %part = nd.reshape %column : tensor<?x1xf64> to tensor<?xf64>
      %s = nd.sum %part {axes = array<i64: 0>} : tensor<?xf64> to f64
      %a = nd.extract %x[%i, %k] : tensor<40x9xf64> -> f64
      %p = nd.mul %s, %a : f64
      %y_3 = nd.add_at %p, %y_2[%k] : f64 into tensor<9xf64>
      scf.yield %y_3 : tensor<9xf64>
    }
    scf.yield %q : tensor<9xf64>
  }
  func.return %r : tensor<9xf64>
}
