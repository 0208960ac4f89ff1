// RUN: mlirad-opt %s -p 'mlirad-linalg-to-loops' | filecheck %s

// x.T @ d with three columns. Vectors along the columns would have three lanes of four. A step needs a row of d and
// a number of each row of x.T, and these numbers are adjacent:
//
//     x  (k, i):  . . . . . . . .  -> i        so vectors run along i, in a small buffer of three rows:  c.T = d.T @ x
//
// Nothing is cleared: the sums are stored into the buffer, and squares of it, transposed in registers, into c. The last
// square begins a little earlier.
// CHECK-LABEL: func.func @few_columns
// CHECK-NOT:   linalg.fill
// CHECK:       %[[T:.*]] = memref.alloc() {{.*}} : memref<3x30xf64>
// CHECK:       scf.for {{.*}} iter_args
// CHECK:         vector.load %x[%[[K:.*]], %{{.*}}] : memref<40x30xf64>, vector<4xf64>
// CHECK:         memref.load %d[%[[K]], %{{.*}}]
// CHECK:         vector.fma
// CHECK:       vector.store %{{.*}}, %[[T]]
// CHECK:       scf.for
// CHECK:         %[[I:.*]] = arith.minsi
// CHECK-COUNT-3: vector.load %[[T]][%{{.*}}, %[[I]]] : memref<3x30xf64>, vector<4xf64>
// CHECK:         vector.shuffle
// CHECK-COUNT-4: vector.maskedstore %c
// CHECK:       func.return
func.func @few_columns(%x: memref<40x30xf64>, %d: memref<40x3xf64>, %c: memref<30x3xf64>) {
  %zero = arith.constant 0.0 : f64
  linalg.fill ins(%zero : f64) outs(%c : memref<30x3xf64>)
  linalg.generic {
    indexing_maps = [affine_map<(i, j, k) -> (k, i)>, affine_map<(i, j, k) -> (k, j)>,
                     affine_map<(i, j, k) -> (i, j)>],
    iterator_types = ["parallel", "parallel", "reduction"]
  } ins(%x, %d : memref<40x30xf64>, memref<40x3xf64>) outs(%c : memref<30x3xf64>) {
  ^bb0(%a: f64, %b: f64, %s: f64):
    %p = arith.mulf %a, %b : f64
    %r = arith.addf %p, %s : f64
    linalg.yield %r : f64
  }
  func.return
}

// What c holds is in the buffer first, so that each sum has its steps in the same order as elsewhere.
// CHECK-LABEL: func.func @added
// CHECK-COUNT-4: vector.maskedload %c
// CHECK:       vector.store %{{.*}}, %[[T:.*]][%{{.*}}] : memref<3x32xf64>
// CHECK:       vector.fma
// CHECK-COUNT-4: vector.maskedstore %c
func.func @added(%x: memref<40x32xf64>, %d: memref<40x3xf64>, %c: memref<32x3xf64>) {
  linalg.generic {
    indexing_maps = [affine_map<(i, j, k) -> (k, i)>, affine_map<(i, j, k) -> (k, j)>,
                     affine_map<(i, j, k) -> (i, j)>],
    iterator_types = ["parallel", "parallel", "reduction"]
  } ins(%x, %d : memref<40x32xf64>, memref<40x3xf64>) outs(%c : memref<32x3xf64>) {
  ^bb0(%a: f64, %b: f64, %s: f64):
    %p = arith.mulf %a, %b : f64
    %r = arith.addf %p, %s : f64
    linalg.yield %r : f64
  }
  func.return
}

// A whole vector of columns is used as it is, if x is small.
// CHECK-LABEL: func.func @four_columns
// CHECK-NOT:   memref.alloc
// CHECK:       vector.load %d
// CHECK:       func.return
func.func @four_columns(%x: memref<40x32xf64>, %d: memref<40x4xf64>, %c: memref<32x4xf64>) {
  linalg.generic {
    indexing_maps = [affine_map<(i, j, k) -> (k, i)>, affine_map<(i, j, k) -> (k, j)>,
                     affine_map<(i, j, k) -> (i, j)>],
    iterator_types = ["parallel", "parallel", "reduction"]
  } ins(%x, %d : memref<40x32xf64>, memref<40x4xf64>) outs(%c : memref<32x4xf64>) {
  ^bb0(%a: f64, %b: f64, %s: f64):
    %p = arith.mulf %a, %b : f64
    %r = arith.addf %p, %s : f64
    linalg.yield %r : f64
  }
  func.return
}
