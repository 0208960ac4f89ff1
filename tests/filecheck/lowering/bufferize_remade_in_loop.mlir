// RUN: mlirad-opt %s -p mlirad-bufferize,mlirad-plan-arena | filecheck %s
// A carried array that each trip replaces by a new one, and not element by element from itself, alternates between two buffers.

// CHECK-LABEL: func.func public @powers(
// CHECK-SAME:  attributes {mlirad.arena_size = 128 : i64}
// CHECK-DAG:   memref.alloc() {mlirad.offset = 0 : i64}
// CHECK-DAG:   memref.alloc() {mlirad.offset = 64 : i64}
// CHECK:       scf.for %{{[^ ]+}} = {{.*}} iter_args(%[[v:[^ ]+]] = %{{[^ ]+}}, %[[spare:[^ ]+]] = %{{[^ ]+}})
// CHECK-NOT:     memref.alloc
// CHECK-NOT:     memref.copy
// CHECK:         linalg.fill {{.*}} outs(%[[spare]] :
// CHECK:         linalg.generic {{.*}} outs(%[[spare]] :
// CHECK:         scf.yield %[[spare]], %[[v]]
func.func public @powers(%A: tensor<3x3xf64>, %x: tensor<3xf64>, %n: i64) -> tensor<3xf64> {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %zero = arith.constant 0.0 : f64
  %r = scf.for %q = %c0 to %n step %c1 iter_args(%v = %x) -> (tensor<3xf64>) : i64 {
    %memory = tensor.empty() : tensor<3xf64>
    %zeros = linalg.fill ins(%zero : f64) outs(%memory : tensor<3xf64>) -> tensor<3xf64>
    %w = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%A, %v : tensor<3x3xf64>, tensor<3xf64>) outs(%zeros : tensor<3xf64>) {
    ^bb0(%a: f64, %b: f64, %c: f64):
      %p = arith.mulf %a, %b : f64
      %s = arith.addf %p, %c : f64
      linalg.yield %s : f64
    } -> tensor<3xf64>
    scf.yield %w : tensor<3xf64>
  }
  return %r : tensor<3xf64>
}

// Where only one branch makes a new one, the spare buffer goes through the `if` too.
// CHECK-LABEL: func.func public @some_powers(
// CHECK:       } do {
// CHECK:       ^bb0(%[[v:[^:]+]]: memref<3xf64>, %{{[^:]+}}: i64, %[[spare:[^:]+]]: memref<3xf64>):
// CHECK-NOT:     memref.alloc
// CHECK-NOT:     memref.copy
// CHECK:         %[[w:[^,]+]], %[[free:[^ ]+]] = scf.if
// CHECK:           scf.yield %[[spare]], %[[v]]
// CHECK:         } else {
// CHECK-NEXT:      scf.yield %[[v]], %[[spare]]
// CHECK:         scf.yield %[[w]], %{{[^,]+}}, %[[free]]
func.func public @some_powers(%A: tensor<3x3xf64>, %x: tensor<3xf64>, %n: i64, %p: i1) -> tensor<3xf64> {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %zero = arith.constant 0.0 : f64
  %r:2 = scf.while (%v = %x, %q = %c0) : (tensor<3xf64>, i64) -> (tensor<3xf64>, i64) {
    %go = arith.cmpi slt, %q, %n : i64
    scf.condition(%go) %v, %q : tensor<3xf64>, i64
  } do {
  ^bb0(%v: tensor<3xf64>, %q: i64):
    %w = scf.if %p -> (tensor<3xf64>) {
      %memory = tensor.empty() : tensor<3xf64>
      %zeros = linalg.fill ins(%zero : f64) outs(%memory : tensor<3xf64>) -> tensor<3xf64>
      %u = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%A, %v : tensor<3x3xf64>, tensor<3xf64>) outs(%zeros : tensor<3xf64>) {
      ^bb0(%a: f64, %b: f64, %c: f64):
        %m = arith.mulf %a, %b : f64
        %s = arith.addf %m, %c : f64
        linalg.yield %s : f64
      } -> tensor<3xf64>
      scf.yield %u : tensor<3xf64>
    } else {
      scf.yield %v : tensor<3xf64>
    }
    %next = arith.addi %q, %c1 : i64
    scf.yield %w, %next : tensor<3xf64>, i64
  }
  return %r#0 : tensor<3xf64>
}

// Three arrays that move up by one: the one that drops out is where the new one is made.
// CHECK-LABEL: func.func public @rotate(
// CHECK-SAME:  attributes {mlirad.arena_size = 192 : i64}
// CHECK:       scf.for %{{[^ ]+}} = {{.*}} iter_args(%[[a:[^ ]+]] = %{{[^ ]+}}, %[[b:[^ ]+]] = %{{[^ ]+}}, %[[c:[^ ]+]] = %{{[^ ]+}})
// CHECK-NOT:     memref.copy
// CHECK:         outs(%[[c]] : memref<4xf64>)
// CHECK:         scf.yield %[[c]], %[[a]], %[[b]]
func.func public @rotate(%x: tensor<4xf64>, %n: i64) -> tensor<4xf64> {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %r:3 = scf.for %q = %c0 to %n step %c1 iter_args(%a = %x, %b = %x, %c = %x) -> (tensor<4xf64>, tensor<4xf64>, tensor<4xf64>) : i64 {
    %memory = tensor.empty() : tensor<4xf64>
    %new = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%a, %b : tensor<4xf64>, tensor<4xf64>) outs(%memory : tensor<4xf64>) {
    ^bb0(%e: f64, %f: f64, %o: f64):
      %s = arith.addf %e, %f : f64
      linalg.yield %s : f64
    } -> tensor<4xf64>
    scf.yield %new, %a, %b : tensor<4xf64>, tensor<4xf64>, tensor<4xf64>
  }
  return %r#0 : tensor<4xf64>
}
