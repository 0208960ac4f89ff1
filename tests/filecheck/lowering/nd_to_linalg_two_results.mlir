// RUN: mlirad-opt %s -p 'mlirad-nd-to-linalg' | filecheck %s
// An elementwise op of two results is two ops to fusion: each result is computed in the loops that read it, and one
// that nothing reads is not computed. Two results that are needed as arrays are two loops, of a body each.
//
//     x --> modf --fraction--> mul    [group 1]
//              \---whole-----> sum    [group 2]

// CHECK-LABEL: func.func public @apart
// CHECK-COUNT-1: tensor.empty
// CHECK:         linalg.generic {{.*}} ins(%x : tensor<3x4xf64>)
// CHECK:           math.copysign
// CHECK-NEXT:      arith.mulf
// CHECK:         linalg.generic {{.*}} iterator_types = ["reduction", "reduction"]} ins(%x : tensor<3x4xf64>)
// CHECK-NOT:       math.copysign
// CHECK:           math.trunc
// CHECK-NEXT:      arith.addf
// CHECK-NOT:     linalg.generic
// CHECK:         func.return
func.func public @apart(%x: tensor<3x4xf64>) -> (tensor<3x4xf64>, f64) {
  %fraction, %whole = nd.modf %x : tensor<3x4xf64>
  %y = nd.mul %fraction, %x : tensor<3x4xf64>
  %s = nd.sum %whole {axes = array<i64: 0, 1>} : tensor<3x4xf64> to f64
  func.return %y, %s : tensor<3x4xf64>, f64
}

// CHECK-LABEL: func.func public @one_of_them
// CHECK-COUNT-1: linalg.generic
// CHECK-NOT:     linalg.generic
// CHECK:         func.return
func.func public @one_of_them(%x: tensor<?xf64>) -> tensor<?xf64> {
  %fraction, %whole = nd.modf %x : tensor<?xf64>
  func.return %whole : tensor<?xf64>
}

// One group may read both.
// CHECK-LABEL: func.func public @together
// CHECK-COUNT-1: linalg.generic
// CHECK-NOT:     linalg.generic
// CHECK:         func.return
func.func public @together(%x: tensor<4xf32>) -> tensor<4xf32> {
  %fraction, %whole = nd.modf %x : tensor<4xf32>
  %y = nd.add %fraction, %whole : tensor<4xf32>
  func.return %y : tensor<4xf32>
}

// Numbers have no loops.
// CHECK-LABEL: func.func public @numbers
// CHECK-NOT:     linalg
// CHECK:         math.copysign
// CHECK:         func.return
func.func public @numbers(%x: f64) -> (f64, f64) {
  %fraction, %whole = nd.modf %x : f64
  func.return %fraction, %whole : f64, f64
}
