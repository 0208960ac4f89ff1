// RUN: mlirad-opt %s -t 'mlirad{target=cpu after=loops stage=llvmir}' | filecheck %s

// A transposition copies element by element, in a loop across rows inside a loop. LLVM may unroll the inner loop. It may
// not unroll the outer one as well: 320 copies in a straight line take it long to compile, and are no faster. Loops that
// make few trips together may both be unrolled: small matrices then stay in registers.
//
//     for i in range(40):        unroll.disable
//         for j in range(8):     may be unrolled
//             y[i, j] = x[j, i]
//
// CHECK-LABEL: define internal i32 @"mlirad.body.transposed"
// CHECK: store double
// CHECK: br i1 {{.*}}, !llvm.loop ![[INNER:[0-9]+]]
// CHECK: br i1 {{.*}}, !llvm.loop ![[OUTER:[0-9]+]]
// CHECK: store double
// CHECK: br i1 {{.*}}, !llvm.loop ![[SMALL:[0-9]+]]
// CHECK-NOT: !llvm.loop
// CHECK: ret i32 0
// CHECK: ![[INNER]] = distinct !{![[INNER]], ![[VECTORIZE:[0-9]+]]}
// CHECK-NEXT: ![[VECTORIZE]] = !{!"llvm.loop.vectorize.enable", i1 false}
// CHECK-NEXT: ![[OUTER]] = distinct !{![[OUTER]], ![[UNROLL:[0-9]+]]}
// CHECK-NEXT: ![[UNROLL]] = !{!"llvm.loop.unroll.disable"}
// CHECK-NEXT: ![[SMALL]] = distinct !{![[SMALL]], ![[VECTORIZE:[0-9]+]]}
// CHECK-NEXT: ![[VECTORIZE]] = !{!"llvm.loop.vectorize.enable", i1 false}
func.func public @transposed(%x: memref<8x40xf64>, %y: memref<40x8xf64>, %small: memref<3x3xf64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c8 = arith.constant 8 : index
  %c40 = arith.constant 40 : index
  scf.for %i = %c0 to %c40 step %c1 {
    scf.for %j = %c0 to %c8 step %c1 {
      %element = memref.load %x[%j, %i] : memref<8x40xf64>
      memref.store %element, %y[%i, %j] : memref<40x8xf64>
    }
  }
  scf.for %i = %c0 to %c3 step %c1 {
    scf.for %j = %c0 to %c3 step %c1 {
      %element = memref.load %small[%j, %i] : memref<3x3xf64>
      memref.store %element, %small[%i, %j] : memref<3x3xf64>
    }
  }
  func.return
}
