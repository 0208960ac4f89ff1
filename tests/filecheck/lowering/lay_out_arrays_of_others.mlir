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
