// RUN: mlirad-opt %s -p 'mlirad-advance-checks' | filecheck %s

// The checks of labels between the nests of a softmax: nests that follow one another can run row by row.

// CHECK-LABEL: func.func @labels
// CHECK-NEXT:    %c10 = nd.constant
// CHECK-NEXT:    %first = nd.check_indices %i, %c10
// CHECK-NEXT:    %one = nd.constant
// CHECK-NEXT:    %shifted = nd.broadcast %one
// CHECK-NEXT:    %moved = nd.add
// CHECK-NEXT:    %second = nd.check_indices %moved, %c10
// CHECK-NEXT:    %y = nd.exp
// CHECK-NEXT:    %z = nd.sin
func.func @labels(%x: tensor<9x4xf64>, %i: tensor<9xi64>) -> (tensor<9x4xf64>, tensor<9xi64>, tensor<9xi64>) {
  %one = nd.constant {value = 1 : i64} : i64
  %shifted = nd.broadcast %one {dims = array<i64>} : i64 to tensor<9xi64>
  %moved = nd.add %i, %shifted : tensor<9xi64>
  %y = nd.exp %x : tensor<9x4xf64>
  %c10 = nd.constant {value = 10 : i64} : i64
  %first = nd.check_indices %i, %c10 {axis = 1 : i64} : tensor<9xi64>
  %z = nd.sin %y : tensor<9x4xf64>
  %second = nd.check_indices %moved, %c10 {axis = 1 : i64} : tensor<9xi64>
  func.return %z, %first, %second : tensor<9x4xf64>, tensor<9xi64>, tensor<9xi64>
}

// A check moves past no other check, and past no loop.

// CHECK-LABEL: func.func @ordered
// CHECK:         scf.for
// CHECK:         %late = nd.check_indices
// CHECK-NEXT:    %early = nd.check_indices
// CHECK-NEXT:    nd.check %is
// CHECK-NEXT:    nd.exp
func.func @ordered(%x: tensor<9xf64>, %i: tensor<9xi64>, %n: i64, %b: f64, %is: i1) -> (tensor<9xf64>, f64, tensor<9xi64>, tensor<9xi64>) {
  %c0 = nd.constant {value = 0 : i64} : i64
  %c1 = nd.constant {value = 1 : i64} : i64
  %c9 = nd.constant {value = 9 : i64} : i64
  %s = scf.for %k = %c0 to %n step %c1 iter_args(%a = %b) -> (f64) : i64 {
    %next = nd.mul %a, %a : f64
    scf.yield %next : f64
  }
  %late = nd.check_indices %i, %n {axis = 0 : i64} : tensor<9xi64>
  %y = nd.exp %x : tensor<9xf64>
  %early = nd.check_indices %late, %c9 {axis = 0 : i64} : tensor<9xi64>
  nd.check %is, "ValueError", "no"
  func.return %y, %s, %late, %early : tensor<9xf64>, f64, tensor<9xi64>, tensor<9xi64>
}

// Among numbers it stays.

// CHECK-LABEL: func.func @numbers
// CHECK-NEXT:    nd.exp
// CHECK-NEXT:    nd.check %is
func.func @numbers(%b: f64, %is: i1) -> f64 {
  %y = nd.exp %b : f64
  nd.check %is, "ValueError", "no"
  func.return %y : f64
}

// After an error, the caller sees what was written before it.

// CHECK-LABEL: func.func @written
// CHECK-NEXT:    nd.exp
// CHECK-NEXT:    nd.check_indices
func.func @written(%x: tensor<9xf64> {mlirad.written = 0 : i64}, %i: tensor<9xi64>, %n: i64) -> (tensor<9xf64>, tensor<9xi64>) {
  %y = nd.exp %x : tensor<9xf64>
  %j = nd.check_indices %i, %n {axis = 0 : i64} : tensor<9xi64>
  func.return %y, %j : tensor<9xf64>, tensor<9xi64>
}
