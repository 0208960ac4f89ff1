// RUN: mlirad-opt %s -t 'mlirad{target=cpu after=bufferized stage=loops}' | filecheck %s --check-prefix=LOOPS
// RUN: mlirad-opt %s -t 'mlirad{target=cpu after=bufferized stage=llvmir}' | filecheck %s

// A block of memory is set to zeros at once. Any other number, a negative zero too, is stored by a loop; so are few.
// LOOPS-LABEL: func.func public @clear
// LOOPS: linalg.fill
// LOOPS-NOT: linalg.fill
// LOOPS: vector.store
// LOOPS: vector.store
// CHECK-LABEL: define internal i32 @"mlirad.body.clear"
// CHECK: call ptr @memset(ptr align 4 %a0, i32 0, i64 8000) nobuiltin
// CHECK: store <
func.func public @clear(%x: memref<40x50xf32>, %y: memref<40x50xf32>, %z: memref<8xf32>) {
  %zero = arith.constant 0.0 : f32
  %negative = arith.constant -0.0 : f32
  linalg.fill ins(%zero : f32) outs(%x : memref<40x50xf32>)
  linalg.fill ins(%negative : f32) outs(%y : memref<40x50xf32>)
  linalg.fill ins(%zero : f32) outs(%z : memref<8xf32>)
  func.return
}
