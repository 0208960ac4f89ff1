// RUN: mlirad-opt %s -t 'mlirad{target=cpu after=loops stage=llvmir}' | filecheck %s

// A function that is also called from inside the module may get one array twice: nothing is promised of its arguments.
// CHECK-LABEL: define internal i32 @"mlirad.body.inner"
// CHECK-SAME: , ptr nonnull noundef align 8
// CHECK-LABEL: define internal i32 @"mlirad.body.outer"
// CHECK-SAME: , ptr noalias nonnull noundef align 8
// CHECK: [[CODE:%v[0-9]+]] = call i32 @"mlirad.body.inner"
// CHECK-NEXT: [[OK:%v[0-9]+]] = icmp eq i32 [[CODE]], 0
// CHECK-NEXT: br i1 [[OK]]
// CHECK: %code = phi i32
// CHECK-SAME: [ [[CODE]],
func.func private @inner(%x: memref<4xf64>, %y: memref<4xf64>) -> f64 {
  %c0 = arith.constant 0 : index
  %v = memref.load %x[%c0] : memref<4xf64>
  memref.store %v, %y[%c0] : memref<4xf64>
  func.return %v : f64
}
func.func public @outer(%x: memref<4xf64>) -> f64 {
  %v = func.call @inner(%x, %x) : (memref<4xf64>, memref<4xf64>) -> f64
  func.return %v : f64
}
