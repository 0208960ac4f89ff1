// RUN: mlirad-opt %s -t 'mlirad{target=cpu after=loops stage=llvmir}' | filecheck %s

// Loops across rows are faster in scalars than in vectors, so LLVM only unrolls them: all of its passes would take four
// times as long. Each trip of this one divides once for three accesses, and adds to a sum whose order stays.
// CHECK: ; loops here are only left to be unrolled
// CHECK: fdiv double
// CHECK: br i1 {{.*}}, !llvm.loop ![[COLUMN:[0-9]+]]
// CHECK: ![[COLUMN]] = distinct !{![[COLUMN]], ![[VECTORIZE:[0-9]+]]}
// CHECK-NEXT: ![[VECTORIZE]] = !{!"llvm.loop.vectorize.enable", i1 false}
func.func public @column(%x: memref<9x8xf64>, %y: memref<9xf64>) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c9 = arith.constant 9 : index
  %zero = arith.constant 0.0 : f64
  %sum = scf.for %i = %c0 to %c9 step %c1 iter_args(%before = %zero) -> (f64) {
    %a = memref.load %x[%i, %c0] : memref<9x8xf64>
    %b = memref.load %x[%i, %c1] : memref<9x8xf64>
    %q = arith.divf %a, %b : f64
    memref.store %q, %y[%i] : memref<9xf64>
    %after = arith.addf %before, %q : f64
    scf.yield %after : f64
  }
  func.return %sum : f64
}
