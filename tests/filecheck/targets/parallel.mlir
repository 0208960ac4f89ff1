// RUN: mlirad-opt %s -t 'mlirad{target=cpu after=loops stage=llvmir}' | filecheck %s

// The body is a function of blocks [first, last), with what it captures as parameters; a task fetches them from the
// caller's stack. Arguments are as far apart in it as in the whole function.
// CHECK:      define internal void @"mlirad.blocks.fill.parallel[[N:[0-9]+]]"(double %[[V:.*]], ptr noalias %a0, i64 %first, i64 %last, ptr %job)
// CHECK:        %[[B:.*]] = phi i64 [ %first, %entry ]
// CHECK:        icmp slt i64 %[[B]], %last
// CHECK:        %[[AT:.*]] = mul nsw i64 %[[B]], 100
// CHECK:        store double %[[V]]
// CHECK:        ret void
// CHECK:      define internal void @"mlirad.task.fill.parallel[[N]]"(ptr %captured, i64 %first, i64 %last, ptr %job)
// CHECK:        call void @"mlirad.blocks.fill.parallel[[N]]"(double %[[V]], ptr %a0, i64 %first, i64 %last, ptr %job)
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

// A loop of many trips in a body is cut into strips, as in a function, and asks the pool between them. A thread that
// learns that the call is given up returns.
// CHECK:      define internal void @"mlirad.blocks.scale.parallel[[M:[0-9]+]]"
// CHECK:        store i64 4194304, ptr %budget
// CHECK:        %[[LEFT:.*]] = sub nsw i64 %{{.*}}, 16384
// CHECK:        %[[REFILL:.*]] = call i64 @mlirad_parallel_poll(ptr %job)
// CHECK:        store i64 %[[REFILL]], ptr %budget
// CHECK:        %[[GOES:.*]] = icmp ne i64 %[[REFILL]], 0
// CHECK:        br i1 %[[GOES]], label %{{.*}}, label %[[FAIL:.*]], !prof
// CHECK:      [[FAIL]]:
// CHECK-NEXT:   br label %leave
// CHECK:      leave:
// CHECK-NEXT:   ret void
func.func public @scale(%x: memref<4x?xf64>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  "scf.parallel"(%c0, %c4, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%row: index):
    scf.for %i = %c0 to %n step %c1 {
      %old = memref.load %x[%row, %i] : memref<4x?xf64>
      %twice = arith.addf %old, %old : f64
      memref.store %twice, %x[%row, %i] : memref<4x?xf64>
    }
    scf.reduce
  }) : (index, index, index) -> ()
  func.return
}

// Each block has a place for its own memory in the arena, which the task gets from the caller.
// CHECK:      define internal void @"mlirad.blocks.own.parallel[[O:[0-9]+]]"({{.*}}ptr %arena{{.*}})
// CHECK:        %[[K:.*]] = add nsw i64 0, %{{.*}}
// CHECK:        %[[BEFORE:.*]] = mul nuw nsw i64 %[[K]], 192
// CHECK:        %[[PLACE:.*]] = add nuw nsw i64 %[[BEFORE]], 64
// CHECK:        getelementptr inbounds i8, ptr %arena, i64 %[[PLACE]]
func.func public @own(%x: memref<4xf64>) attributes {mlirad.arena_size = 832 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  "scf.parallel"(%c0, %c4, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%k: index):
    %a = memref.alloc() {mlirad.offset = 64 : i64, mlirad.block_bytes = 192 : i64} : memref<4xf64>
    %v = memref.load %x[%k] : memref<4xf64>
    memref.store %v, %a[%k] : memref<4xf64>
    %w = memref.load %a[%k] : memref<4xf64>
    memref.store %w, %x[%k] : memref<4xf64>
    scf.reduce
  }) : (index, index, index) -> ()
  func.return
}
