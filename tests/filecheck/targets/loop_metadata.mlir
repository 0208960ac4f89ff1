// RUN: mlirad-opt %s -t 'mlirad{target=cpu after=loops stage=llvmir}' | filecheck %s

// A loop of vectors, and a loop around it, are left as they are by LLVM's vectoriser and unroller; a loop of scalars
// is LLVM's to improve. A loop down a column is not vectorised, but unrolled: LLVM would fill and empty vectors number by
// number, and compute each address with a vector product.
// CHECK-LABEL: define internal i32 @"mlirad.body.loops"
// CHECK: store <4 x double>
// CHECK: br i1 {{.*}}, !llvm.loop ![[INNER:[0-9]+]]
// CHECK: br i1 {{.*}}, !llvm.loop ![[OUTER:[0-9]+]]
// CHECK: store double
// CHECK-NOT: !llvm.loop
// CHECK: store double
// CHECK: br i1 {{.*}}, !llvm.loop ![[COLUMN:[0-9]+]]
// CHECK: ret i32 0
// CHECK: ![[INNER]] = distinct !{![[INNER]], ![[VECTORIZE:[0-9]+]], ![[UNROLL:[0-9]+]]}
// CHECK-NEXT: ![[VECTORIZE]] = !{!"llvm.loop.vectorize.enable", i1 false}
// CHECK-NEXT: ![[UNROLL]] = !{!"llvm.loop.unroll.disable"}
// CHECK-NEXT: ![[OUTER]] = distinct !{![[OUTER]], ![[VECTORIZE:[0-9]+]], ![[UNROLL:[0-9]+]]}
// CHECK: ![[COLUMN]] = distinct !{![[COLUMN]], ![[VECTORIZE:[0-9]+]]}
func.func public @loops(%x: memref<8x8xf64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant 0.0 : f64
  %zeros = arith.constant dense<0.0> : vector<4xf64>
  scf.for %i = %c0 to %c8 step %c1 {
    scf.for %j = %c0 to %c8 step %c4 {
      vector.store %zeros, %x[%i, %j] : memref<8x8xf64>, vector<4xf64>
    }
  }
  scf.for %i = %c0 to %c8 step %c1 {
    memref.store %zero, %x[%c0, %i] : memref<8x8xf64>
  }
  scf.for %i = %c0 to %c8 step %c1 {
    memref.store %zero, %x[%i, %c1] : memref<8x8xf64>
  }
  func.return
}
