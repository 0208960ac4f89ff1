// RUN: mlirad-opt %s -p mlirad-bufferize | filecheck %s
// Results are computed straight into the memory that the caller hands over.

// Each branch in its own way.
// CHECK-LABEL: func.func public @either(
// CHECK-SAME:  %[[r:[^:]+]]: memref<4xf64> {mlirad.result = 0 : i64}) {
// CHECK:       scf.if
// CHECK:         linalg.fill {{.*}} outs(%[[r]] :
// CHECK:       } else {
// CHECK:         linalg.generic {{.*}} outs(%[[r]] :
// CHECK-NOT:   memref.copy
// CHECK:       func.return
func.func public @either(%x: tensor<4xf64>, %p: i1, %v: f64) -> tensor<4xf64> {
  %r = scf.if %p -> (tensor<4xf64>) {
    %memory = tensor.empty() : tensor<4xf64>
    %filled = linalg.fill ins(%v : f64) outs(%memory : tensor<4xf64>) -> tensor<4xf64>
    scf.yield %filled : tensor<4xf64>
  } else {
    %memory = tensor.empty() : tensor<4xf64>
    %doubled = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%x : tensor<4xf64>) outs(%memory : tensor<4xf64>) {
    ^bb0(%e: f64, %o: f64):
      %s = arith.addf %e, %e : f64
      linalg.yield %s : f64
    } -> tensor<4xf64>
    scf.yield %doubled : tensor<4xf64>
  }
  return %r : tensor<4xf64>
}

// In another shape.
// CHECK-LABEL: func.func public @reshaped(
// CHECK-SAME:  %[[r:[^:]+]]: memref<2x3xf64> {mlirad.result = 0 : i64}) {
// CHECK:       %[[flat:[^ ]+]] = memref.collapse_shape %[[r]]
// CHECK:       linalg.fill {{.*}} outs(%[[flat]] : memref<6xf64>)
// CHECK-NOT:   memref.copy
// CHECK:       func.return
func.func public @reshaped(%v: f64) -> tensor<2x3xf64> {
  %flat = tensor.splat %v : tensor<6xf64>
  %r = tensor.expand_shape %flat [[0, 1]] output_shape [2, 3] : tensor<6xf64> into tensor<2x3xf64>
  return %r : tensor<2x3xf64>
}

// The same value twice, an argument as it is, and a constant: one copy each, into the caller's memory.
// CHECK-LABEL: func.func public @given(
// CHECK-SAME:  %[[x:[^:]+]]: memref<3xf64>, %[[v:[^:]+]]: f64
// CHECK-SAME:  %[[a:[^:]+]]: memref<3xf64> {mlirad.result = 0 : i64}, %[[b:[^:]+]]: memref<3xf64> {mlirad.result = 1 : i64}, %[[c:[^:]+]]: memref<3xf64> {mlirad.result = 2 : i64}, %[[d:[^:]+]]: memref<3xf64> {mlirad.result = 4 : i64}) -> f64 {
// CHECK-NOT:   memref.alloc
// CHECK-DAG:   memref.store %[[v]], %[[a]]
// CHECK-DAG:   "memref.copy"(%[[a]], %[[b]])
// CHECK-DAG:   "memref.copy"(%[[x]], %[[c]])
// CHECK-DAG:   %[[k:[^ ]+]] = memref.get_global
// CHECK-DAG:   "memref.copy"(%[[k]], %[[d]])
// CHECK:       func.return %[[v]] : f64
func.func public @given(%x: tensor<3xf64>, %v: f64) -> (tensor<3xf64>, tensor<3xf64>, tensor<3xf64>, f64, tensor<3xf64>) {
  %made = tensor.from_elements %v, %v, %v : tensor<3xf64>
  %constant = arith.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf64>
  return %made, %made, %x, %v, %constant : tensor<3xf64>, tensor<3xf64>, tensor<3xf64>, f64, tensor<3xf64>
}

// A size that is not known comes back as a memref.
// CHECK-LABEL: func.func public @unknown(
// CHECK-SAME:  -> memref<?xf64> {
// CHECK:       %[[r:[^ ]+]] = memref.alloc(%{{[^)]+}}) : memref<?xf64>
// CHECK:       func.return %[[r]]
func.func public @unknown(%n: index, %v: f64) -> tensor<?xf64> {
  %r = tensor.splat %v[%n] : tensor<?xf64>
  return %r : tensor<?xf64>
}
