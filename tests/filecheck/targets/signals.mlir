// RUN: mlirad-opt %s -t 'mlirad{target=cpu after=loops stage=llvmir}' | filecheck %s

// A loop of unknown length is cut into strips, and the budget is charged between two strips; a loop known to be short is
// left alone, also one that runs to the counter of another; a while charges at each trip, and where the budget is used
// up, the runtime looks for signals.
// CHECK-LABEL: define internal i32 @"mlirad.body.strips"
// CHECK: %budget = alloca i64
// CHECK: %[[LEFT:.*]] = sub nsw i64
// CHECK: call i64 @llvm.smin.i64(i64 %[[LEFT]], i64 {{[0-9]+}})
// CHECK: sub nsw i64 %{{.*}}, 16384
// CHECK: call i64 @mlirad.poll(ptr %ctx)
// CHECK: ret i32 0
func.func public @strips(%x: memref<8xf64>, %n: i64) {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %at = arith.constant 3 : index
  %zero = arith.constant 0.0 : f64
  scf.for %i = %c0 to %n step %c1 : i64 {
    memref.store %zero, %x[%at] : memref<8xf64>
  }
  func.return
}

// CHECK-LABEL: define internal i32 @"mlirad.body.short"
// CHECK-NOT: %budget
// CHECK: ret i32 0
func.func public @short(%x: memref<8x8xf64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant 0.0 : f64
  scf.for %i = %c0 to %c8 step %c1 {
    scf.for %j = %c0 to %i step %c1 {
      memref.store %zero, %x[%i, %j] : memref<8x8xf64>
    }
  }
  func.return
}

// A slice of known rows is as short as these, and so is the part of it that fills vectors.
// CHECK-LABEL: define internal i32 @"mlirad.body.slices"
// CHECK-NOT: %budget
// CHECK: ret i32 0
func.func public @slices(%x: memref<8x8xf64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %whole = arith.constant -4 : index
  %zero = arith.constant 0.0 : f64
  %zeros = arith.constant dense<0.0> : vector<4xf64>
  scf.for %i = %c0 to %c8 step %c1 {
    %row = memref.subview %x[%i, 0] [1, %i] [1, 1] : memref<8x8xf64> to memref<?xf64, strided<[1], offset: ?>>
    %size = memref.dim %row, %c0 : memref<?xf64, strided<[1], offset: ?>>
    %vectors = arith.andi %size, %whole : index
    scf.for %j = %c0 to %vectors step %c4 {
      vector.store %zeros, %row[%j] : memref<?xf64, strided<[1], offset: ?>>, vector<4xf64>
    }
    scf.for %j = %vectors to %size step %c1 {
      memref.store %zero, %row[%j] : memref<?xf64, strided<[1], offset: ?>>
    }
  }
  func.return
}

// A loop over a part of another loop's range has few trips, wherever the part begins: at most two vectors and 7 numbers
// here. So the loop around it is cut into strips of many parts; counted as the whole range, each part would poll.
// CHECK-LABEL: define internal i32 @"mlirad.body.parts"
// CHECK: %[[LEFT:.*]] = sub nsw i64 2097150, %{{.*}}
// CHECK: call i64 @llvm.smin.i64(i64 %[[LEFT]], i64 7696)
// CHECK: call i64 @mlirad.poll(ptr %ctx)
// CHECK-NOT: call i64 @mlirad.poll(ptr %ctx)
// CHECK: ret i32 0
func.func public @parts(%x: memref<2097152xf64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %end = arith.constant 2097150 : index
  %whole = arith.constant -8 : index
  %zero = arith.constant 0.0 : f64
  %zeros = arith.constant dense<0.0> : vector<8xf64>
  scf.for %i = %c0 to %end step %c16 {
    %next = arith.addi %i, %c16 : index
    %stop = arith.minsi %next, %end : index
    %size = arith.subi %stop, %i : index
    %rounded = arith.andi %size, %whole : index
    %middle = arith.addi %i, %rounded : index
    scf.for %j = %i to %middle step %c8 {
      vector.store %zeros, %x[%j] : memref<2097152xf64>, vector<8xf64>
    }
    scf.for %j = %middle to %stop step %c1 {
      memref.store %zero, %x[%j] : memref<2097152xf64>
    }
  }
  func.return
}

// CHECK-LABEL: define internal i32 @"mlirad.body.trips"
// CHECK: %[[HAD:.*]] = load i64, ptr %budget
// CHECK: %[[LESS:.*]] = sub nsw i64 %[[HAD]], {{[0-9]+}}
// CHECK: store i64 %[[LESS]], ptr %budget
// CHECK: %[[IS:.*]] = icmp sgt i64 %[[LESS]], 0
// CHECK: br i1 %[[IS]]
// CHECK: %[[REFILL:.*]] = call i64 @mlirad.poll(ptr %ctx)
// CHECK: icmp ne i64 %[[REFILL]], 0
// CHECK: ret i32 0
func.func public @trips(%x: f64) -> f64 {
  %one = arith.constant 1.0 : f64
  %y = scf.while (%a = %x) : (f64) -> f64 {
    %go = arith.cmpf olt, %a, %one : f64
    scf.condition(%go) %a : f64
  } do {
  ^bb0(%a: f64):
    %b = arith.addf %a, %one : f64
    scf.yield %b : f64
  }
  func.return %y : f64
}

// What a copy moves is work too. Many elements are charged for at each trip; as many as only the run knows, after the
// copy, whether in a loop or not.
// CHECK-LABEL: define internal i32 @"mlirad.body.copies"
// CHECK: call void @llvm.memmove
// CHECK: sub nsw i64 %{{.*}}, 250{{[0-9]+}}
// CHECK: call void @llvm.memmove
// CHECK: %[[MOVED:.*]] = lshr i64 %a{{[0-9]+}}, 2
// CHECK: sub nsw i64 %{{.*}}, %[[MOVED]]
// CHECK: ret i32 0
func.func public @copies(%x: memref<100000xf64>, %y: memref<100000xf64>, %a: memref<?xf64>, %b: memref<?xf64>, %n: i64) {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  scf.for %i = %c0 to %n step %c1 : i64 {
    "memref.copy"(%x, %y) : (memref<100000xf64>, memref<100000xf64>) -> ()
  }
  "memref.copy"(%a, %b) : (memref<?xf64>, memref<?xf64>) -> ()
  func.return
}
