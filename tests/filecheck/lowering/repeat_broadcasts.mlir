// RUN: mlirad-opt %s -p mlirad-repeat-broadcasts,mlirad-nd-to-linalg | filecheck %s

// A broadcast that does not change in a loop has been moved out of it, where it would be stored: a trip would read 64
// rows in place of one.
// CHECK-LABEL: func.func @scaled
// CHECK-NOT:   linalg.generic
// CHECK:       scf.for
// CHECK:         linalg.generic {{.*}}(d0, d1) -> (d1){{.*}} ins(%{{.*}}, %w : tensor<64x96xf64>, tensor<96xf64>)
func.func @scaled(%w: tensor<96xf64>, %x: tensor<64x96xf64>, %n: i64, %zero: i64, %one: i64) -> tensor<64x96xf64> {
  %wide = nd.broadcast %w {dims = array<i64: 1>} : tensor<96xf64> to tensor<64x96xf64>
  %y = scf.for %i = %zero to %n step %one iter_args(%s = %x) -> (tensor<64x96xf64>) : i64 {
    %v = nd.mul %s, %wide : tensor<64x96xf64>
    scf.yield %v : tensor<64x96xf64>
  }
  func.return %y : tensor<64x96xf64>
}

// Short rows are read as one long row, if both arrays have them.
// CHECK-LABEL: func.func @short_rows
// CHECK:       linalg.generic
// CHECK:       scf.for
// CHECK:         linalg.generic {{.*}} ins(%{{.*}}, %{{.*}} : tensor<512x3xf64>, tensor<512x3xf64>)
func.func @short_rows(%w: tensor<3xf64>, %x: tensor<512x3xf64>, %n: i64, %zero: i64, %one: i64) -> tensor<512x3xf64> {
  %wide = nd.broadcast %w {dims = array<i64: 1>} : tensor<3xf64> to tensor<512x3xf64>
  %y = scf.for %i = %zero to %n step %one iter_args(%s = %x) -> (tensor<512x3xf64>) : i64 {
    %v = nd.mul %s, %wide : tensor<512x3xf64>
    scf.yield %v : tensor<512x3xf64>
  }
  func.return %y : tensor<512x3xf64>
}

// A product reads its factors from memory: broadcast once, before the loop.
// CHECK-LABEL: func.func @product
// CHECK:       linalg.generic
// CHECK:       scf.for
// CHECK-COUNT-1: linalg.generic
// CHECK:       func.return
func.func @product(%w: tensor<64xf64>, %x: tensor<64x64xf64>, %n: i64, %zero: i64, %one: i64) -> tensor<64x64xf64> {
  %wide = nd.broadcast %w {dims = array<i64: 1>} : tensor<64xf64> to tensor<64x64xf64>
  %y = scf.for %i = %zero to %n step %one iter_args(%s = %x) -> (tensor<64x64xf64>) : i64 {
    %v = nd.contract "ij,jk->ik" %s, %wide : (tensor<64x64xf64>, tensor<64x64xf64>) -> tensor<64x64xf64>
    scf.yield %v : tensor<64x64xf64>
  }
  func.return %y : tensor<64x64xf64>
}
