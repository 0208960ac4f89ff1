// RUN: mlirad-opt %s -p 'mlirad-read-written-slices,mlirad-nd-to-linalg,mlirad-bufferize' | filecheck %s
// RUN: mlirad-opt %s -p 'mlirad-read-written-slices' | filecheck %s --check-prefix=STAYS

// What is written to a slice is read there: it is computed in its place, without a copy.
// CHECK-LABEL: func.func @two_steps
// CHECK:         scf.for
// CHECK-NOT:       memref.alloc
// CHECK-NOT:       memref.copy
// CHECK:           return
func.func @two_steps(%x: tensor<8xf64> {mlirad.written = 0 : i64}, %y: tensor<8xf64> {mlirad.written = 1 : i64}, %n: i64) -> (tensor<8xf64>, tensor<8xf64>) {
  %c0 = nd.constant {value = 0 : i64} : i64
  %c1 = nd.constant {value = 1 : i64} : i64
  %a, %b = scf.for %_ = %c0 to %n step %c1 iter_args(%s = %x, %t = %y) -> (tensor<8xf64>, tensor<8xf64>) : i64 {
    %0 = nd.extract_slice %s[%c0] {sizes = array<i64: 6>, strides = array<i64: 1>} : tensor<8xf64> -> tensor<6xf64>
    %1 = nd.exp %0 : tensor<6xf64>
    %t1 = nd.insert_slice %1, %t[%c1] {sizes = array<i64: 6>, strides = array<i64: 1>} : tensor<6xf64> into tensor<8xf64>
    %2 = nd.exp %1 : tensor<6xf64>
    %s1 = nd.insert_slice %2, %s[%c1] {sizes = array<i64: 6>, strides = array<i64: 1>} : tensor<6xf64> into tensor<8xf64>
    scf.yield %s1, %t1 : tensor<8xf64>, tensor<8xf64>
  }
  func.return %a, %b : tensor<8xf64>, tensor<8xf64>
}

// The array is overwritten before the other reader, or the other reader comes first: these read the value itself.
// STAYS-LABEL: func.func @overwritten
// STAYS-NOT:     nd.extract_slice
// STAYS:         func.return
func.func @overwritten(%a: tensor<4xf64>, %t: tensor<8xf64>, %i: i64, %j: i64) -> (tensor<8xf64>, tensor<4xf64>) {
  %e = nd.exp %a : tensor<4xf64>
  %b = nd.insert_slice %e, %t[%i] {sizes = array<i64: 4>, strides = array<i64: 1>} : tensor<4xf64> into tensor<8xf64>
  %c = nd.insert_slice %a, %b[%j] {sizes = array<i64: 4>, strides = array<i64: 1>} : tensor<4xf64> into tensor<8xf64>
  %d = nd.add %e, %a : tensor<4xf64>
  func.return %c, %d : tensor<8xf64>, tensor<4xf64>
}

// STAYS-LABEL: func.func @read_first
// STAYS-NOT:     nd.extract_slice
// STAYS:         func.return
func.func @read_first(%a: tensor<4xf64>, %t: tensor<8xf64>, %i: i64) -> (tensor<8xf64>, tensor<4xf64>) {
  %e = nd.exp %a : tensor<4xf64>
  %d = nd.add %e, %a : tensor<4xf64>
  %b = nd.insert_slice %e, %t[%i] {sizes = array<i64: 4>, strides = array<i64: 1>} : tensor<4xf64> into tensor<8xf64>
  func.return %b, %d : tensor<8xf64>, tensor<4xf64>
}

// The slice has the size of what was written, which stays what it is.
// STAYS-LABEL: func.func @of_unknown_size
// STAYS:         %e = nd.exp %a : tensor<?xf64>
// STAYS:         %[[SIZE:.*]] = nd.dim %e {axis = 0 : i64}
// STAYS-NEXT:    %[[PART:.*]] = nd.extract_slice %b[%i][%[[SIZE]]]
// STAYS-NEXT:    nd.add %[[PART]], %a
func.func @of_unknown_size(%a: tensor<?xf64>, %t: tensor<8xf64>, %i: i64) -> (tensor<8xf64>, tensor<?xf64>) {
  %e = nd.exp %a : tensor<?xf64>
  %b = nd.insert_slice %e, %t[%i] {sizes = array<i64: -1>, strides = array<i64: 1>} : tensor<?xf64> into tensor<8xf64>
  %c = nd.add %e, %a : tensor<?xf64>
  func.return %b, %c : tensor<8xf64>, tensor<?xf64>
}
