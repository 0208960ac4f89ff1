// RUN: mlirad-opt %s -p 'mlirad-mask-rows' | filecheck %s
// RUN: mlirad-opt %s -p 'mlirad-mask-rows,mlirad-nd-to-linalg' | filecheck %s --check-prefix=NEST

// The gradient of picking a label's score: the additions belong to the nest that computes the scores' cotangents.

// CHECK-LABEL: func.func @labels
// CHECK:         %[[HIT:.*]] = nd.equal
// CHECK:         nd.select %[[HIT]], %{{.*}}, %t
// NEST-LABEL: func.func @labels
// NEST:         linalg.generic
// NEST:           math.exp
// NEST:           arith.cmpi eq
// NEST-NOT:     linalg.generic
// NEST-NOT:     scf.for
// NEST:         func.return
func.func @labels(%x: tensor<90x4xf64>, %v: tensor<90xf64>, %columns: tensor<90xi64>) -> tensor<90x4xf64> {
  %rows = nd.arange : tensor<90xi64>
  %t = nd.exp %x : tensor<90x4xf64>
  %y = nd.scatter_add %v, %t[%rows, %columns] {axes = array<i64: 0, 1>, at = 0 : i64} : tensor<90xf64> into tensor<90x4xf64>[tensor<90xi64>, tensor<90xi64>]
  func.return %y : tensor<90x4xf64>
}

// One-hot vectors along the first axis, each a slice of an array of three axes, in an array that begins with zeros.

// CHECK-LABEL: func.func @hot
// CHECK-NOT:     nd.scatter
// CHECK:         nd.select
func.func @hot(%v: tensor<90x3xf64>, %columns: tensor<90xi64>) -> tensor<4x3x90xf64> {
  %zero = nd.constant {value = 0.0 : f64} : f64
  %rows = nd.arange : tensor<90xi64>
  %t = nd.full %zero : f64 to tensor<4x3x90xf64>
  %y = nd.scatter %v, %t[%columns, %rows] {axes = array<i64: 0, 2>, at = 0 : i64} : tensor<90x3xf64> into tensor<4x3x90xf64>[tensor<90xi64>, tensor<90xi64>]
  func.return %y : tensor<4x3x90xf64>
}

// Reading a label's score: the largest of each row, after the others were replaced by the least number.

// CHECK-LABEL: func.func @scores
// CHECK:         %[[OTHERS:.*]] = nd.select %{{.*}}, %t, %{{.*}}
// CHECK:         %y = nd.max %[[OTHERS]] {axes = array<i64: 1>}
// NEST-LABEL: func.func @scores
// NEST:         linalg.generic
// NEST:           math.exp
// NEST:           arith.maximumf
// NEST-NOT:     scf.for
// NEST:         func.return
func.func @scores(%x: tensor<90x4xf64>, %columns: tensor<90xi64>) -> tensor<90xf64> {
  %rows = nd.arange : tensor<90xi64>
  %t = nd.exp %x : tensor<90x4xf64>
  %y = nd.gather %t[%rows, %columns] {axes = array<i64: 0, 1>, at = 0 : i64} : tensor<90x4xf64> [tensor<90xi64>, tensor<90xi64>] -> tensor<90xf64>
  func.return %y : tensor<90xf64>
}

// Long rows; rows in another order, of which one may be written twice; an array that is not computed here; one that is
// needed as it was; and the reading of an array that is in memory.

// CHECK-LABEL: func.func @kept
// CHECK-NOT:     nd.select
// CHECK:         func.return
func.func @kept(%x: tensor<9x4xf64>, %z: tensor<9x40xf64>, %v: tensor<9xf64>, %i: tensor<9xi64>, %j: tensor<9xi64>)
    -> (tensor<9xf64>, tensor<9x40xf64>, tensor<9x4xf64>, tensor<9x4xf64>, tensor<9x4xf64>, tensor<9x4xf64>) {
  %rows = nd.constant {value = dense<[0, 1, 2, 3, 4, 5, 6, 7, 8]> : tensor<9xi64>} : tensor<9xi64>
  %read = nd.gather %x[%rows, %j] {axes = array<i64: 0, 1>, at = 0 : i64} : tensor<9x4xf64> [tensor<9xi64>, tensor<9xi64>] -> tensor<9xf64>
  %long = nd.exp %z : tensor<9x40xf64>
  %a = nd.scatter %v, %long[%rows, %j] {axes = array<i64: 0, 1>, at = 0 : i64} : tensor<9xf64> into tensor<9x40xf64>[tensor<9xi64>, tensor<9xi64>]
  %t = nd.exp %x : tensor<9x4xf64>
  %b = nd.scatter_add %v, %t[%i, %j] {axes = array<i64: 0, 1>, at = 0 : i64} : tensor<9xf64> into tensor<9x4xf64>[tensor<9xi64>, tensor<9xi64>]
  %c = nd.scatter_add %v, %x[%rows, %j] {axes = array<i64: 0, 1>, at = 0 : i64} : tensor<9xf64> into tensor<9x4xf64>[tensor<9xi64>, tensor<9xi64>]
  %s = nd.sin %x : tensor<9x4xf64>
  %d = nd.scatter_add %v, %s[%rows, %j] {axes = array<i64: 0, 1>, at = 0 : i64} : tensor<9xf64> into tensor<9x4xf64>[tensor<9xi64>, tensor<9xi64>]
  func.return %read, %a, %b, %c, %d, %s : tensor<9xf64>, tensor<9x40xf64>, tensor<9x4xf64>, tensor<9x4xf64>, tensor<9x4xf64>, tensor<9x4xf64>
}
