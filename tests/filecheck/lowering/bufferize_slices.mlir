// RUN: mlirad-opt %s -p mlirad-bufferize | filecheck %s
// A slice that is read, changed and put back is changed where it stands.

// CHECK-LABEL: func.func public @scale_rows(
// CHECK-SAME:  %[[a:[^:]+]]: memref<4x5xf64> {mlirad.written = 0 : i64}
// CHECK:       scf.for
// CHECK:         %[[row:[^ ]+]] = memref.subview %[[a]]
// CHECK-NEXT:    linalg.generic {{.*}} ins(%[[row]], %{{[^:]+}} : {{.*}}) outs(%[[row]] :
// CHECK-NOT:   memref.copy
// CHECK:       func.return
func.func public @scale_rows(%a: tensor<4x5xf64> {mlirad.written = 0 : i64}, %b: tensor<5xf64>, %n: i64) -> tensor<4x5xf64> {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %r = scf.for %q = %c0 to %n step %c1 iter_args(%t = %a) -> (tensor<4x5xf64>) : i64 {
    %i = arith.index_cast %q : i64 to index
    %row = tensor.extract_slice %t[%i, 0] [1, 5] [1, 1] : tensor<4x5xf64> to tensor<5xf64>
    %memory = tensor.empty() : tensor<5xf64>
    %new = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%row, %b : tensor<5xf64>, tensor<5xf64>) outs(%memory : tensor<5xf64>) {
    ^bb0(%e: f64, %f: f64, %o: f64):
      %m = arith.mulf %e, %f : f64
      linalg.yield %m : f64
    } -> tensor<5xf64>
    %u = tensor.insert_slice %new into %t[%i, 0] [1, 5] [1, 1] : tensor<5xf64> into tensor<4x5xf64>
    scf.yield %u : tensor<4x5xf64>
  }
  return %r : tensor<4x5xf64>
}

// One element of it, likewise.
// CHECK-LABEL: func.func public @one_element(
// CHECK-SAME:  %[[a:[^:]+]]: memref<4x5xf64>
// CHECK:       %[[row:[^ ]+]] = memref.subview %[[a]]
// CHECK-NEXT:  memref.store %{{[^,]+}}, %[[row]]
// CHECK-NEXT:  func.return
func.func public @one_element(%a: tensor<4x5xf64> {mlirad.written = 0 : i64}, %v: f64, %i: index) -> tensor<4x5xf64> {
  %row = tensor.extract_slice %a[%i, 0] [1, 5] [1, 1] : tensor<4x5xf64> to tensor<5xf64>
  %new = tensor.insert %v into %row[%i] : tensor<5xf64>
  %r = tensor.insert_slice %new into %a[%i, 0] [1, 5] [1, 1] : tensor<5xf64> into tensor<4x5xf64>
  return %r : tensor<4x5xf64>
}

// `a[1:] = 2 * a[:-1]` reads before it writes: the two slices overlap, and the new one must be computed aside.
// CHECK-LABEL: func.func public @shifted(
// CHECK-SAME:  %[[a:[^:]+]]: memref<8xf64>
// CHECK:       %[[read:[^ ]+]] = memref.subview %[[a]][0] [7] [1]
// CHECK:       %[[aside:[^ ]+]] = memref.alloc() : memref<7xf64>
// CHECK:       linalg.generic {{.*}} ins(%[[read]] : {{.*}}) outs(%[[aside]] :
// CHECK:       %[[place:[^ ]+]] = memref.subview %[[a]][1] [7] [1]
// CHECK-NEXT:  "memref.copy"(%[[aside]], %[[place]])
func.func public @shifted(%a: tensor<8xf64> {mlirad.written = 0 : i64}) -> tensor<8xf64> {
  %part = tensor.extract_slice %a[0] [7] [1] : tensor<8xf64> to tensor<7xf64>
  %memory = tensor.empty() : tensor<7xf64>
  %new = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%part : tensor<7xf64>) outs(%memory : tensor<7xf64>) {
  ^bb0(%e: f64, %o: f64):
    %m = arith.addf %e, %e : f64
    linalg.yield %m : f64
  } -> tensor<7xf64>
  %r = tensor.insert_slice %new into %a[1] [7] [1] : tensor<7xf64> into tensor<8xf64>
  return %r : tensor<8xf64>
}

// A slice that is still needed when its array is overwritten is the copy, not the array.
// CHECK-LABEL: func.func public @kept(
// CHECK-SAME:  %[[a:[^:]+]]: memref<800xf64>
// CHECK:       %[[part:[^ ]+]] = memref.subview %[[a]]
// CHECK:       %[[kept:[^ ]+]] = memref.alloc() : memref<2xf64>
// CHECK-NEXT:  "memref.copy"(%[[part]], %[[kept]])
// CHECK:       memref.store %{{[^,]+}}, %[[a]]
// CHECK-NEXT:  memref.load %[[kept]]
// CHECK-NOT:   memref.copy
// CHECK:       func.return
func.func public @kept(%a: tensor<800xf64> {mlirad.written = 0 : i64}, %v: f64) -> (tensor<800xf64>, f64) {
  %c0 = arith.constant 0 : index
  %part = tensor.extract_slice %a[0] [2] [1] : tensor<800xf64> to tensor<2xf64>
  %r = tensor.insert %v into %a[%c0] : tensor<800xf64>
  %old = tensor.extract %part[%c0] : tensor<2xf64>
  return %r, %old : tensor<800xf64>, f64
}

// Backwards.
// CHECK-LABEL: func.func public @reversed(
// CHECK:       memref.subview %{{[^[]+}}[7] [8] [-1] : memref<8xf64> to memref<8xf64, strided<[-1], offset: 7>>
func.func public @reversed(%x: tensor<8xf64>) -> tensor<8xf64> {
  %r = tensor.extract_slice %x[7] [8] [-1] : tensor<8xf64> to tensor<8xf64>
  return %r : tensor<8xf64>
}

// A row as nd ops write it, with a dimension of size 1 that a reshape takes away and adds again: no copy either.
// CHECK-LABEL: func.func public @thin(
// CHECK-SAME:  %[[a:[^:]+]]: memref<4x5xf64>
// CHECK:       %[[thin:[^ ]+]] = memref.subview %[[a]][%{{[^,]+}}, 0] [1, 5] [1, 1]
// CHECK-NEXT:  %[[row:[^ ]+]] = memref.subview %[[thin]][0, 0] [1, 5] [1, 1] : {{.*}} to memref<5xf64, strided<[1], offset: ?>>
// CHECK-NEXT:  linalg.generic {{.*}} ins(%[[row]], %{{[^:]+}} : {{.*}}) outs(%[[row]] :
// CHECK-NOT:   memref.copy
// CHECK:       func.return
func.func public @thin(%a: tensor<4x5xf64> {mlirad.written = 0 : i64}, %b: tensor<5xf64>, %i: index) -> tensor<4x5xf64> {
  %thin = tensor.extract_slice %a[%i, 0] [1, 5] [1, 1] : tensor<4x5xf64> to tensor<1x5xf64>
  %row = tensor.collapse_shape %thin [[0, 1]] : tensor<1x5xf64> into tensor<5xf64>
  %memory = tensor.empty() : tensor<5xf64>
  %new = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%row, %b : tensor<5xf64>, tensor<5xf64>) outs(%memory : tensor<5xf64>) {
  ^bb0(%e: f64, %f: f64, %o: f64):
    %m = arith.mulf %e, %f : f64
    linalg.yield %m : f64
  } -> tensor<5xf64>
  %wide = tensor.expand_shape %new [[0, 1]] output_shape [1, 5] : tensor<5xf64> into tensor<1x5xf64>
  %r = tensor.insert_slice %wide into %a[%i, 0] [1, 5] [1, 1] : tensor<1x5xf64> into tensor<4x5xf64>
  return %r : tensor<4x5xf64>
}

// One element of a column changes.
// CHECK-LABEL: func.func public @thin_element(
// CHECK-NOT:   memref.alloc
// CHECK-NOT:   memref.copy
// CHECK:       memref.store
// CHECK-NOT:   memref.copy
// CHECK:       func.return
func.func public @thin_element(%a: tensor<4x5xf64> {mlirad.written = 0 : i64}, %v: f64, %i: index) -> tensor<4x5xf64> {
  %thin = tensor.extract_slice %a[0, %i] [4, 1] [1, 1] : tensor<4x5xf64> to tensor<4x1xf64>
  %column = tensor.collapse_shape %thin [[0, 1]] : tensor<4x1xf64> into tensor<4xf64>
  %new = tensor.insert %v into %column[%i] : tensor<4xf64>
  %wide = tensor.expand_shape %new [[0, 1]] output_shape [4, 1] : tensor<4xf64> into tensor<4x1xf64>
  %r = tensor.insert_slice %wide into %a[0, %i] [4, 1] [1, 1] : tensor<4x1xf64> into tensor<4x5xf64>
  return %r : tensor<4x5xf64>
}

// Two slices begin at one number, which is made behind the nest that fills them: it moves before both, once.
// CHECK-LABEL: func.func @one_place
// CHECK:         %[[I:.*]] = arith.index_cast
// CHECK-DAG:     memref.subview %{{.*}}[%[[I]]] [4] [1]
// CHECK-DAG:     memref.subview %{{.*}}[%[[I]]] [4] [1]
// CHECK:         linalg.generic
func.func @one_place(%v: tensor<4xf64>) -> (tensor<5xf64>, tensor<5xf64>) {
  %zero = arith.constant 0.0 : f64
  %0 = tensor.empty() : tensor<5xf64>
  %x = linalg.fill ins(%zero : f64) outs(%0 : tensor<5xf64>) -> tensor<5xf64>
  %1 = tensor.empty() : tensor<5xf64>
  %y = linalg.fill ins(%zero : f64) outs(%1 : tensor<5xf64>) -> tensor<5xf64>
  %2 = tensor.empty() : tensor<4xf64>
  %3 = tensor.empty() : tensor<4xf64>
  %a, %b = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],
                           iterator_types = ["parallel"]}
           ins(%v : tensor<4xf64>) outs(%2, %3 : tensor<4xf64>, tensor<4xf64>) {
  ^bb0(%n: f64, %old: f64, %other: f64):
    %c = arith.mulf %n, %n : f64
    %d = arith.addf %n, %n : f64
    linalg.yield %c, %d : f64, f64
  } -> (tensor<4xf64>, tensor<4xf64>)
  %at = arith.constant 1 : i64
  %place = arith.index_cast %at : i64 to index
  %p = tensor.insert_slice %a into %x[%place] [4] [1] : tensor<4xf64> into tensor<5xf64>
  %q = tensor.insert_slice %b into %y[%place] [4] [1] : tensor<4xf64> into tensor<5xf64>
  func.return %p, %q : tensor<5xf64>, tensor<5xf64>
}

// A row that is computed as a matrix is computed in the array, as its memory is one piece; two columns are not.
// CHECK-LABEL: func.func public @row_as_matrix(
// CHECK-SAME:  %[[a:[^:]+]]: memref<4x6xf64>
// CHECK:       %[[row:[^ ]+]] = memref.subview %[[a]]
// CHECK:       %[[matrix:[^ ]+]] = memref.expand_shape {{.*}} into memref<2x3xf64
// CHECK:       linalg.generic {{.*}} outs(%[[matrix]] :
// CHECK-NOT:   memref.copy
// CHECK:       return
func.func public @row_as_matrix(%a: tensor<4x6xf64> {mlirad.written = 0 : i64}, %b: tensor<2x3xf64>, %i: index) -> tensor<4x6xf64> {
  %memory = tensor.empty() : tensor<2x3xf64>
  %new = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%b : tensor<2x3xf64>) outs(%memory : tensor<2x3xf64>) {
  ^bb0(%e: f64, %o: f64):
    %m = arith.addf %e, %e : f64
    linalg.yield %m : f64
  } -> tensor<2x3xf64>
  %row = tensor.collapse_shape %new [[0 : i64, 1 : i64]] : tensor<2x3xf64> into tensor<6xf64>
  %r = tensor.insert_slice %row into %a[%i, 0] [1, 6] [1, 1] : tensor<6xf64> into tensor<4x6xf64>
  return %r : tensor<4x6xf64>
}

// CHECK-LABEL: func.func public @columns_as_row(
// CHECK:       "memref.copy"
func.func public @columns_as_row(%a: tensor<4x6xf64> {mlirad.written = 0 : i64}, %b: tensor<8xf64>, %i: index) -> tensor<4x6xf64> {
  %memory = tensor.empty() : tensor<8xf64>
  %new = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%b : tensor<8xf64>) outs(%memory : tensor<8xf64>) {
  ^bb0(%e: f64, %o: f64):
    %m = arith.addf %e, %e : f64
    linalg.yield %m : f64
  } -> tensor<8xf64>
  %columns = tensor.expand_shape %new [[0 : i64, 1 : i64]] output_shape [4, 2] : tensor<8xf64> into tensor<4x2xf64>
  %r = tensor.insert_slice %columns into %a[0, %i] [4, 2] [1, 1] : tensor<4x2xf64> into tensor<4x6xf64>
  return %r : tensor<4x6xf64>
}

// `a[i + 1] = 2 * a[i]` reads one row and writes the next one: nothing is copied, although the place is computed late.
// CHECK-LABEL: func.func public @next_row(
// CHECK-SAME:  %[[a:[^:]+]]: memref<5x5xf64>
// CHECK-NOT:   memref.alloc
// CHECK:       %[[read:[^ ]+]] = memref.subview %[[a]][%{{[^,]+}}, 0] [1, 5] [1, 1]
// CHECK:       %[[place:[^ ]+]] = memref.subview %[[a]][%{{[^,]+}}, 0] [1, 5] [1, 1]
// CHECK:       linalg.generic {{.*}} ins(%[[read]] : {{.*}}) outs(%[[place]] :
// CHECK-NOT:   memref.copy
// CHECK:       func.return
func.func public @next_row(%a: tensor<5x5xf64> {mlirad.written = 0 : i64}, %n: i64) -> tensor<5x5xf64> {
  %c1 = arith.constant 1 : i64
  %i = arith.index_cast %n : i64 to index
  %row = tensor.extract_slice %a[%i, 0] [1, 5] [1, 1] : tensor<5x5xf64> to tensor<5xf64>
  %memory = tensor.empty() : tensor<5xf64>
  %new = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%row : tensor<5xf64>) outs(%memory : tensor<5xf64>) {
  ^bb0(%e: f64, %o: f64):
    %m = arith.addf %e, %e : f64
    linalg.yield %m : f64
  } -> tensor<5xf64>
  %next = arith.addi %n, %c1 : i64
  %j = arith.index_cast %next : i64 to index
  %r = tensor.insert_slice %new into %a[%j, 0] [1, 5] [1, 1] : tensor<5xf64> into tensor<5x5xf64>
  return %r : tensor<5x5xf64>
}

// `a[k : 2 * k] = 2 * a[:k]`, and `a[k - 1 : 2 * k - 1]`, which has an element in common with `a[:k]`.
// CHECK-LABEL: func.func public @behind(
// CHECK-NOT:   memref.copy
// CHECK:       func.return
func.func public @behind(%a: tensor<8xf64> {mlirad.written = 0 : i64}, %size: index) -> tensor<8xf64> {
  %part = tensor.extract_slice %a[0] [%size] [1] : tensor<8xf64> to tensor<?xf64>
  %memory = tensor.empty(%size) : tensor<?xf64>
  %new = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%part : tensor<?xf64>) outs(%memory : tensor<?xf64>) {
  ^bb0(%e: f64, %o: f64):
    %m = arith.addf %e, %e : f64
    linalg.yield %m : f64
  } -> tensor<?xf64>
  %r = tensor.insert_slice %new into %a[%size] [%size] [1] : tensor<?xf64> into tensor<8xf64>
  return %r : tensor<8xf64>
}

// CHECK-LABEL: func.func public @one_in_common(
// CHECK:       memref.copy
func.func public @one_in_common(%a: tensor<8xf64> {mlirad.written = 0 : i64}, %size: index) -> tensor<8xf64> {
  %one = arith.constant 1 : index
  %last = arith.subi %size, %one : index
  %part = tensor.extract_slice %a[0] [%size] [1] : tensor<8xf64> to tensor<?xf64>
  %memory = tensor.empty(%size) : tensor<?xf64>
  %new = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%part : tensor<?xf64>) outs(%memory : tensor<?xf64>) {
  ^bb0(%e: f64, %o: f64):
    %m = arith.addf %e, %e : f64
    linalg.yield %m : f64
  } -> tensor<?xf64>
  %r = tensor.insert_slice %new into %a[%last] [%size] [1] : tensor<?xf64> into tensor<8xf64>
  return %r : tensor<8xf64>
}
