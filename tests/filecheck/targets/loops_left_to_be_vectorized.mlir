// RUN: mlirad-opt %s -t 'mlirad{target=cpu after=loops stage=llvmir}' | filecheck %s

// LLVM may add up several parts of this sum at a time, so that vectors pay although each trip goes to another row. The
// module gets all passes: its text begins with the function.
// CHECK-NOT: loops here
// CHECK: fadd reassoc double
// CHECK-NOT: !llvm.loop
// CHECK: ret i32 0
func.func public @column(%x: memref<9x8xf64>) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c9 = arith.constant 9 : index
  %zero = arith.constant 0.0 : f64
  %sum = scf.for %i = %c0 to %c9 step %c1 iter_args(%before = %zero) -> (f64) {
    %a = memref.load %x[%i, %c0] : memref<9x8xf64>
    %after = arith.addf %before, %a fastmath<reassoc> : f64
    scf.yield %after : f64
  }
  func.return %sum : f64
}
