// RUN: mlirad-opt %s -p 'mlirad-nd-to-linalg,mlirad-bufferize,mlirad-linalg-to-loops{vector_bytes=64 parallel=false}' | filecheck %s
// Rows that an index array selects are read, and added to, by vectors: LLVM makes none where the other loops have them.
// Short rows are moved number by number.

// CHECK-LABEL: func.func public @read(
// CHECK:         scf.for
// CHECK:           memref.load %i[
// CHECK:           vector.load {{.*}}, vector<8xf64>
// CHECK-NEXT:      vector.store {{.*}}, vector<8xf64>
// CHECK:         func.return
func.func public @read(%t: tensor<50x8xf64>, %i: tensor<9xi64>) -> tensor<9x8xf64> {
  %rows = nd.gather %t[%i] {axes = array<i64: 0>, at = 0 : i64} : tensor<50x8xf64>[tensor<9xi64>] -> tensor<9x8xf64>
  func.return %rows : tensor<9x8xf64>
}

// CHECK-LABEL: func.func public @add(
// CHECK:         scf.for
// CHECK:           memref.load %i[
// CHECK:           %[[OLD:.*]] = vector.load {{.*}}, vector<8xf64>
// CHECK:           %[[SUM:.*]] = arith.addf %[[OLD]], {{.*}} : vector<8xf64>
// CHECK-NEXT:      vector.store %[[SUM]], {{.*}}, vector<8xf64>
// CHECK-NOT:     memref.copy
// CHECK:         func.return
func.func public @add(%v: tensor<9x8xf64>, %t: tensor<50x8xf64> {mlirad.written = 0 : i64}, %i: tensor<9xi64>) -> tensor<50x8xf64> {
  %sums = nd.scatter_add %v, %t[%i] {axes = array<i64: 0>, at = 0 : i64} : tensor<9x8xf64> into tensor<50x8xf64>[tensor<9xi64>]
  func.return %sums : tensor<50x8xf64>
}

// CHECK-LABEL: func.func public @short(
// CHECK-NOT:     vector.load
// CHECK:         memref.store {{.*}} : memref<9x3xf64>
// CHECK:         func.return
func.func public @short(%t: tensor<50x3xf64>, %i: tensor<9xi64>) -> tensor<9x3xf64> {
  %rows = nd.gather %t[%i] {axes = array<i64: 0>, at = 0 : i64} : tensor<50x3xf64>[tensor<9xi64>] -> tensor<9x3xf64>
  func.return %rows : tensor<9x3xf64>
}
