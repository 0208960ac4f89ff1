// RUN: mlirad-opt %s -p mlirad-bufferize | filecheck %s
// A donated argument holds its result where that needs no copy, and is left alone elsewhere.

// It is dead when the result is made, whatever that is made of.
// CHECK-LABEL: func.func public @filled(
// CHECK-SAME:  %[[a:[^:]+]]: memref<8xf64> {mlirad.donated = 0 : i64, mlirad.written = 0 : i64}, %[[v:[^:]+]]: f64) {
// CHECK-NEXT:  linalg.fill ins(%[[v]] : f64) outs(%[[a]] : memref<8xf64>)
// CHECK-NEXT:  func.return
func.func public @filled(%a: tensor<8xf64> {mlirad.donated = 0 : i64}, %v: f64) -> tensor<8xf64> {
  %memory = tensor.empty() : tensor<8xf64>
  %r = linalg.fill ins(%v : f64) outs(%memory : tensor<8xf64>) -> tensor<8xf64>
  return %r : tensor<8xf64>
}

// One element is overwritten: so it is in the argument, without a copy.
// CHECK-LABEL: func.func public @element(
// CHECK-SAME:  %[[a:[^:]+]]: memref<8xf64> {mlirad.donated = 0 : i64, mlirad.written = 0 : i64}, %[[v:[^:]+]]: f64, %[[i:[^:]+]]: index) {
// CHECK-NEXT:  memref.store %[[v]], %[[a]][%[[i]]]
// CHECK-NEXT:  func.return
func.func public @element(%a: tensor<8xf64> {mlirad.donated = 0 : i64}, %v: f64, %i: index) -> tensor<8xf64> {
  %r = tensor.insert %v into %a[%i] : tensor<8xf64>
  return %r : tensor<8xf64>
}

// Its old content is needed when the result is there already.
// CHECK-LABEL: func.func public @needed(
// CHECK-SAME:  %[[a:[^:]+]]: memref<8xf64> {mlirad.donated = 0 : i64}, %[[v:[^:]+]]: f64, %[[i:[^:]+]]: index, %[[r:[^:]+]]: memref<8xf64> {mlirad.result = 0 : i64}) -> f64 {
// CHECK:       linalg.fill {{.*}} outs(%[[r]] : memref<8xf64>)
// CHECK-NOT:   memref.copy
// CHECK:       memref.load %[[a]][%[[i]]]
func.func public @needed(%a: tensor<8xf64> {mlirad.donated = 0 : i64}, %v: f64, %i: index) -> (tensor<8xf64>, f64) {
  %memory = tensor.empty() : tensor<8xf64>
  %r = linalg.fill ins(%v : f64) outs(%memory : tensor<8xf64>) -> tensor<8xf64>
  %old = tensor.extract %a[%i] : tensor<8xf64>
  return %r, %old : tensor<8xf64>, f64
}
