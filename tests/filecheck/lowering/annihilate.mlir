// RUN: mlirad-opt %s -p 'mlirad-nd-to-linalg' | filecheck %s
// A cotangent of exactly 0 annihilates an infinite factor. Its product is 0 or nan, so one comparison decides, and it masks
// the product; that the product is nan needs no test.

// CHECK-LABEL: func.func @f
// CHECK:         %[[PRODUCT:.*]] = arith.mulf %[[G:.*]], %
// CHECK-NOT:     arith.cmpf uno
// CHECK:         %[[IS_ZERO:.*]] = arith.cmpf oeq, %[[G]],
// CHECK-NEXT:    arith.select %[[IS_ZERO]], %{{.*}}, %[[PRODUCT]]
// CHECK-NEXT:    linalg.yield
func.func @f(%g: tensor<9xf64>, %x: tensor<9xf64>) -> tensor<9xf64> {
  %product = nd.mul %g, %x : tensor<9xf64>
  %y = nd.annihilate %product by %g : tensor<9xf64>
  func.return %y : tensor<9xf64>
}
