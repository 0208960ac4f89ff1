// RUN: mlirad-opt %s -p 'mlirad-linalg-to-loops,mlirad-keep-in-registers' | filecheck %s

// A row of three, and the sum of its squares: straight code at known places, no loop, no mask, and nothing in the arena.
// The sum has the order that lanes would give it.
// CHECK-LABEL: func.func @length_of_row
// CHECK-NOT:   memref.alloc()
// CHECK:       %row = memref.alloca() {mlirad.offset = 0 : i64} : memref<3xf64>
// CHECK-NOT:   mask
// CHECK-NOT:   scf.for
// CHECK:       %[[A:.*]] = arith.mulf
// CHECK:       %[[B:.*]] = arith.mulf
// CHECK:       %[[C:.*]] = arith.mulf
// CHECK-NEXT:  %[[AC:.*]] = arith.addf %[[A]], %[[C]] : f64
// CHECK-NEXT:  %[[ALL:.*]] = arith.addf %[[AC]], %[[B]] : f64
// CHECK:       func.return
func.func @length_of_row(%rows: memref<?x3xf64>, %k: index, %by: f64, %s: memref<f64>) {
  %0 = arith.constant 0 : index
  %from = memref.subview %rows[%k, %0] [1, 3] [1, 1] : memref<?x3xf64> to memref<3xf64, strided<[1], offset: ?>>
  %row = memref.alloc() {mlirad.offset = 0 : i64} : memref<3xf64>
  linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>, affine_map<(i) -> (i)>],
                  iterator_types = ["parallel"]}
    ins(%from, %by : memref<3xf64, strided<[1], offset: ?>>, f64) outs(%row : memref<3xf64>) {
  ^bb0(%a: f64, %b: f64, %old: f64):
    %c = arith.divf %a, %b : f64
    linalg.yield %c : f64
  }
  linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>], iterator_types = ["reduction"]}
    ins(%row : memref<3xf64>) outs(%s : memref<f64>) {
  ^bb0(%a: f64, %total: f64):
    %b = arith.mulf %a, %a : f64
    %c = arith.addf %b, %total : f64
    linalg.yield %c : f64
  }
  func.return
}

// A product of 3 x 3: fused multiplications and additions of numbers. One of 4 x 4 has rows that are whole vectors.
// CHECK-LABEL:   func.func @products
// CHECK-NOT:     vector
// CHECK-COUNT-27: math.fma
// CHECK-NOT:     math.fma
// CHECK-COUNT-16: vector.fma %{{.*}} : vector<4xf64>
// CHECK-NOT:     vector.fma
// CHECK:         func.return
func.func @products(%a: memref<3x3xf64>, %b: memref<3x3xf64>, %c: memref<3x3xf64>,
                    %x: memref<4x4xf64>, %y: memref<4x4xf64>, %z: memref<4x4xf64>) {
  linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>,
                                   affine_map<(i, j, k) -> (i, j)>],
                  iterator_types = ["parallel", "parallel", "reduction"]}
    ins(%a, %b : memref<3x3xf64>, memref<3x3xf64>) outs(%c : memref<3x3xf64>) {
  ^bb0(%p: f64, %q: f64, %old: f64):
    %r = arith.mulf %p, %q : f64
    %s = arith.addf %r, %old : f64
    linalg.yield %s : f64
  }
  linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>,
                                   affine_map<(i, j, k) -> (i, j)>],
                  iterator_types = ["parallel", "parallel", "reduction"]}
    ins(%x, %y : memref<4x4xf64>, memref<4x4xf64>) outs(%z : memref<4x4xf64>) {
  ^bb0(%p: f64, %q: f64, %old: f64):
    %r = arith.mulf %p, %q : f64
    %s = arith.addf %r, %old : f64
    linalg.yield %s : f64
  }
  func.return
}

// What may be read before it is written begins with zeros.
// CHECK-LABEL: func.func @read_first
// CHECK:       %a = memref.alloca()
// CHECK:       memref.store %[[ZERO:.*]], %a[%{{.*}}]
// CHECK-NEXT:  memref.store %[[ZERO]], %a[%{{.*}}]
func.func @read_first(%x: f64, %p: i1) -> f64 {
  %0 = arith.constant 0 : index
  %1 = arith.constant 1 : index
  %a = memref.alloc() {mlirad.offset = 0 : i64} : memref<2xf64>
  memref.store %x, %a[%0] : memref<2xf64>
  scf.if %p {
    memref.store %x, %a[%1] : memref<2xf64>
  }
  %y = memref.load %a[%1] : memref<2xf64>
  func.return %y : f64
}

// What has a subscript that only the run knows, what a call gets, and what threads share stay in memory.
// CHECK-LABEL: func.func @in_memory
// CHECK-NOT:   memref.alloca
// CHECK:       func.return
func.func @in_memory(%i: index, %x: f64) -> f64 {
  %0 = arith.constant 0 : index
  %1 = arith.constant 1 : index
  %a = memref.alloc() {mlirad.offset = 0 : i64} : memref<2xf64>
  memref.store %x, %a[%i] : memref<2xf64>
  %b = memref.alloc() {mlirad.offset = 64 : i64} : memref<2xf64>
  func.call @get(%b) : (memref<2xf64>) -> ()
  %c = memref.alloc() {mlirad.offset = 128 : i64} : memref<2xf64>
  "scf.parallel"(%0, %1, %1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%t: index):
    memref.store %x, %c[%0] : memref<2xf64>
    scf.reduce
  }) : (index, index, index) -> ()
  %y = memref.load %a[%0] : memref<2xf64>
  func.return %y : f64
}
func.func private @get(memref<2xf64>)
