// RUN: mlirad-opt %s -p 'mlirad-nd-to-linalg' | filecheck %s

// Index arrays become loops over their elements; the axes that they do not index are loops around or inside.
// CHECK-NOT: {{ (nd|ad)\.}}

// CHECK-LABEL: func.func public @columns
// CHECK:         %[[OUT:.*]] = tensor.empty() : tensor<2x3xf64>
// CHECK:         scf.for %[[ROW:.*]] = %{{.*}} iter_args(%{{.*}} = %[[OUT]])
// CHECK:           scf.for %[[P:.*]] = %{{.*}} iter_args
// CHECK:             %[[ELEMENT:.*]] = tensor.extract %i[%{{.*}}] : tensor<3xi64>
// CHECK:             %[[PLACE:.*]] = arith.index_cast %[[ELEMENT]] : i64 to index
// CHECK:             tensor.extract %t[%{{.*}}, %[[PLACE]]] : tensor<2x5xf64>
// CHECK:             tensor.insert
func.func public @columns(%t: tensor<2x5xf64>, %i: tensor<3xi64>) -> tensor<2x3xf64> {
  %y = nd.gather %t[%i] {axes = array<i64: 1>, at = 1 : i64} : tensor<2x5xf64>[tensor<3xi64>] -> tensor<2x3xf64>
  func.return %y : tensor<2x3xf64>
}

// CHECK-LABEL: func.func public @write
// CHECK-NOT:     tensor.empty
// CHECK:         scf.for %{{.*}} iter_args(%[[T:.*]] = %t)
// CHECK:           %[[NEW:.*]] = tensor.extract %v
// CHECK:           tensor.insert %[[NEW]] into %[[T]]
func.func public @write(%v: tensor<3xi32>, %t: tensor<?xi32>, %i: tensor<3xi64>) -> tensor<?xi32> {
  %y = nd.scatter %v, %t[%i] {axes = array<i64: 0>, at = 0 : i64} : tensor<3xi32> into tensor<?xi32>[tensor<3xi64>]
  func.return %y : tensor<?xi32>
}

// CHECK-LABEL: func.func public @accumulate
// CHECK:         scf.for %{{.*}} iter_args(%[[T:.*]] = %t)
// CHECK:           %[[NEW:.*]] = tensor.extract %v
// CHECK:           %[[OLD:.*]] = tensor.extract %[[T]]
// CHECK:           %[[SUM:.*]] = arith.addf %[[OLD]], %[[NEW]]
// CHECK:           tensor.insert %[[SUM]] into %[[T]]
func.func public @accumulate(%v: tensor<?xf32>, %t: tensor<9xf32>, %i: tensor<?xi64>) -> tensor<9xf32> {
  %y = nd.scatter_add %v, %t[%i] {axes = array<i64: 0>, at = 0 : i64} : tensor<?xf32> into tensor<9xf32>[tensor<?xi64>]
  func.return %y : tensor<9xf32>
}

// CHECK-LABEL: func.func public @checked
// CHECK:         scf.for
// CHECK:           %[[OK:.*]] = arith.cmpi ult
// CHECK:           func.call @mlirad_check(%[[OK]], %{{.*}}, %n) {mlirad.error = "IndexError", mlirad.message = "index {0} is out of bounds for axis 1 with size {1}"}
func.func public @checked(%i: tensor<3xi64>, %n: i64) -> tensor<3xi64> {
  %y = nd.check_indices %i, %n {axis = 1 : i64} : tensor<3xi64>
  func.return %y : tensor<3xi64>
}

// What only has to be checked is not written anywhere.
// CHECK-LABEL: func.func public @only_checked
// CHECK-NOT:     tensor.empty
// CHECK:         scf.for
// CHECK-NOT:       iter_args
// CHECK:           func.call @mlirad_check
// CHECK-NOT:       tensor.insert
// CHECK:         func.return
func.func public @only_checked(%i: tensor<3xi64>, %n: i64) {
  %y = nd.check_indices %i, %n {axis = 0 : i64} : tensor<3xi64>
  func.return
}
