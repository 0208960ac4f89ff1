// RUN: mlirad-opt %s -p mlirad-nd-to-linalg | filecheck %s

// One walk over the mask: a place is written, and the cursor moves on, where an element is true.
// CHECK-LABEL: func.func @places
// CHECK:         %[[EMPTY:.+]] = tensor.empty(%{{.*}}) : tensor<?xi64>
// CHECK:         scf.for {{.*}} iter_args(%[[ROWS:.+]] = %[[EMPTY]], %[[FIRST:.+]] = %{{.*}}) -> (tensor<?xi64>, i64)
// CHECK:           scf.for {{.*}} iter_args(%[[PLACES:.+]] = %[[ROWS]], %[[CURSOR:.+]] = %[[FIRST]])
// CHECK:             %[[HOLDS:.+]] = tensor.extract %m
// CHECK:             scf.if %[[HOLDS]] -> (tensor<?xi64>, i64)
// CHECK:               tensor.insert %{{.*}} into %[[PLACES]]
// CHECK:               arith.addi %[[CURSOR]]
// CHECK:             } else {
// CHECK-NEXT:          scf.yield %[[PLACES]], %[[CURSOR]]
func.func @places(%m: tensor<4x5xi1>, %n: i64) -> tensor<?xi64> {
  %i = nd.flatnonzero %m, %n : tensor<4x5xi1> to tensor<?xi64>
  return %i : tensor<?xi64>
}
