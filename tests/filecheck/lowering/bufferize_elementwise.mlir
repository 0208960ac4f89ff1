// RUN: mlirad-opt %s -p mlirad-bufferize | filecheck %s
// An elementwise op writes over an operand that dies there; one that reads across places does not.

// CHECK-LABEL: func.func public @chain(
// CHECK-SAME:  %[[x:[^:]+]]: memref<4x4xf64>, %[[r:[^:]+]]: memref<4x4xf64> {mlirad.result = 0 : i64}) {
// CHECK-NOT:   memref.alloc
// CHECK:       linalg.generic {{.*}} ins(%[[x]], %[[x]] : {{.*}}) outs(%[[r]] :
// CHECK:       linalg.generic {{.*}} ins(%[[r]], %[[x]] : {{.*}}) outs(%[[r]] :
// CHECK-NOT:   memref.copy
// CHECK:       func.return
func.func public @chain(%x: tensor<4x4xf64>) -> tensor<4x4xf64> {
  %m0 = tensor.empty() : tensor<4x4xf64>
  %a = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1, d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%x, %x : tensor<4x4xf64>, tensor<4x4xf64>) outs(%m0 : tensor<4x4xf64>) {
  ^bb0(%e: f64, %f: f64, %o: f64):
    %s = arith.addf %e, %f : f64
    linalg.yield %s : f64
  } -> tensor<4x4xf64>
  %b = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%a, %x : tensor<4x4xf64>, tensor<4x4xf64>) outs(%m0 : tensor<4x4xf64>) {
  ^bb0(%e: f64, %f: f64, %o: f64):
    %s = arith.mulf %e, %f : f64
    linalg.yield %s : f64
  } -> tensor<4x4xf64>
  return %b : tensor<4x4xf64>
}

// CHECK-LABEL: func.func public @transposed(
// CHECK-SAME:  %[[r:[^:]+]]: memref<4x4xf64> {mlirad.result = 0 : i64}) {
// CHECK:       %[[a:[^ ]+]] = memref.alloc() : memref<4x4xf64>
// CHECK:       linalg.fill {{.*}} outs(%[[a]] :
// CHECK:       linalg.generic {{.*}} ins(%[[a]], %[[a]] : {{.*}}) outs(%[[r]] :
func.func public @transposed(%v: f64) -> tensor<4x4xf64> {
  %a = tensor.splat %v : tensor<4x4xf64>
  %memory = tensor.empty() : tensor<4x4xf64>
  %r = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1, d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%a, %a : tensor<4x4xf64>, tensor<4x4xf64>) outs(%memory : tensor<4x4xf64>) {
  ^bb0(%e: f64, %f: f64, %o: f64):
    %s = arith.addf %e, %f : f64
    linalg.yield %s : f64
  } -> tensor<4x4xf64>
  return %r : tensor<4x4xf64>
}

// `b = 2 * a; a[:] = 0`: b must not be made in the memory that a's new content is made in.
// CHECK-LABEL: func.func public @reserved(
// CHECK-SAME:  %[[a:[^:]+]]: memref<4xf64> {mlirad.written = 0 : i64}, %[[b:[^:]+]]: memref<4xf64> {mlirad.result = 1 : i64}) {
// CHECK-NOT:   memref.alloc
// CHECK:       linalg.generic {{.*}} ins(%[[a]] : {{.*}}) outs(%[[b]] :
// CHECK:       linalg.fill {{.*}} outs(%[[a]] :
// CHECK-NOT:   memref.copy
// CHECK:       func.return
func.func public @reserved(%a: tensor<4xf64> {mlirad.written = 0 : i64}) -> (tensor<4xf64>, tensor<4xf64>) {
  %memory = tensor.empty() : tensor<4xf64>
  %b = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%a : tensor<4xf64>) outs(%memory : tensor<4xf64>) {
  ^bb0(%e: f64, %o: f64):
    %s = arith.addf %e, %e : f64
    linalg.yield %s : f64
  } -> tensor<4xf64>
  %zeros = arith.constant dense<0.0> : tensor<4xf64>
  return %zeros, %b : tensor<4xf64>, tensor<4xf64>
}
