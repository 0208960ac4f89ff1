// RUN: mlirad-opt %s -t 'mlirad{target=cpu after=loops stage=llvmir}' | filecheck %s

// The body is a function of blocks [first, last), with what it captures as parameters; a task fetches them from the
// caller's stack. Arguments are as far apart in it as in the whole function.
// CHECK:      define internal void @"mlirad.blocks.fill.parallel[[N:[0-9]+]]"(double %[[V:.*]], ptr noalias %a0, i64 %first, i64 %last)
// CHECK:        %[[B:.*]] = phi i64 [ %first, %entry ]
// CHECK:        icmp slt i64 %[[B]], %last
// CHECK:        %[[AT:.*]] = mul nsw i64 %[[B]], 100
// CHECK:        store double %[[V]]
// CHECK:        ret void
// CHECK:      define internal void @"mlirad.task.fill.parallel[[N]]"(ptr %captured, i64 %first, i64 %last)
// CHECK:        call void @"mlirad.blocks.fill.parallel[[N]]"(double %[[V]], ptr %a0, i64 %first, i64 %last)
// CHECK:      define internal i32 @"mlirad.body.fill"
// CHECK:        %[[CODE:.*]] = call i32 @mlirad_parallel_for(ptr %ctx, ptr @"mlirad.task.fill.parallel[[N]]", ptr %captured{{.*}}, i64 10)
// CHECK:        icmp eq i32 %[[CODE]], 0
func.func public @fill(%x: memref<1000xf64>, %v: f64) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c100 = arith.constant 100 : index
  %c1000 = arith.constant 1000 : index
  %twice = arith.addf %v, %v : f64
  "scf.parallel"(%c0, %c1000, %c100) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%start: index):
    scf.for %i = %c0 to %c100 step %c1 {
      %at = arith.addi %start, %i : index
      memref.store %twice, %x[%at] : memref<1000xf64>
    }
    scf.reduce
  }) : (index, index, index) -> ()
  func.return
}
