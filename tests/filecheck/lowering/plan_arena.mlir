// RUN: mlirad-opt %s -p mlirad-plan-arena | filecheck %s
// Buffers whose lives do not meet share their place.

// CHECK-LABEL: func.func public @in_turn(
// CHECK-SAME:  attributes {mlirad.arena_size = 192 : i64}
// CHECK:       memref.alloc() {mlirad.offset = 0 : i64} : memref<9xf64>
// CHECK:       memref.alloc() {mlirad.offset = 128 : i64} : memref<1xi1>
// CHECK:       memref.alloc() {mlirad.offset = 0 : i64} : memref<3xf64>
func.func public @in_turn(%v: f64, %p: i1) {
  %a = memref.alloc() : memref<9xf64>
  linalg.fill ins(%v : f64) outs(%a : memref<9xf64>)
  %b = memref.alloc() : memref<1xi1>
  linalg.fill ins(%p : i1) outs(%b : memref<1xi1>)
  %view = memref.expand_shape %a [[0, 1]] output_shape [3, 3] : memref<9xf64> into memref<3x3xf64>
  linalg.fill ins(%v : f64) outs(%view : memref<3x3xf64>)
  %c = memref.alloc() : memref<3xf64>
  linalg.fill ins(%v : f64) outs(%c : memref<3xf64>)
  linalg.fill ins(%p : i1) outs(%b : memref<1xi1>)
  func.return
}

// A buffer from outside lives through the whole loop; one that the loop carries has no place if it is made there.
// CHECK-LABEL: func.func public @in_a_loop(
// CHECK-SAME:  attributes {mlirad.arena_size = 128 : i64}
// CHECK:       %[[a:[^ ]+]] = memref.alloc() {mlirad.offset = 0 : i64}
// CHECK:       scf.for
// CHECK:         linalg.fill {{.*}} outs(%[[a]]
// CHECK:         memref.alloc() {mlirad.offset = 64 : i64}
// CHECK:         memref.alloc() : memref<4xf64>
// CHECK:       }
// CHECK:       memref.alloc() {mlirad.offset = 0 : i64}
func.func public @in_a_loop(%x: memref<4xf64>, %v: f64, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = memref.alloc() : memref<4xf64>
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%t = %x) -> (memref<4xf64>) {
    linalg.fill ins(%v : f64) outs(%a : memref<4xf64>)
    %b = memref.alloc() : memref<4xf64>
    linalg.fill ins(%v : f64) outs(%b : memref<4xf64>)
    %carried = memref.alloc() : memref<4xf64>
    linalg.fill ins(%v : f64) outs(%carried : memref<4xf64>)
    scf.yield %carried : memref<4xf64>
  }
  %c = memref.alloc() : memref<4xf64>
  linalg.fill ins(%v : f64) outs(%c : memref<4xf64>)
  func.return
}

// A number that is needed to the end does not lie between the two arrays: the second, larger one has the place of the first.
// CHECK-LABEL: func.func public @small_ones_behind(
// CHECK-SAME:  attributes {mlirad.arena_size = 8256 : i64}
// CHECK:       memref.alloc() {mlirad.offset = 0 : i64} : memref<512xf64>
// CHECK:       memref.alloc() {mlirad.offset = 8192 : i64} : memref<f64>
// CHECK:       memref.alloc() {mlirad.offset = 0 : i64} : memref<1024xf64>
func.func public @small_ones_behind(%v: f64) {
  %a = memref.alloc() : memref<512xf64>
  linalg.fill ins(%v : f64) outs(%a : memref<512xf64>)
  %total = memref.alloc() : memref<f64>
  linalg.fill ins(%v : f64) outs(%total : memref<f64>)
  linalg.fill ins(%v : f64) outs(%a : memref<512xf64>)
  %b = memref.alloc() : memref<1024xf64>
  linalg.fill ins(%v : f64) outs(%b : memref<1024xf64>)
  linalg.fill ins(%v : f64) outs(%total : memref<f64>)
  func.return
}
