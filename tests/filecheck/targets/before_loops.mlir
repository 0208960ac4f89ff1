// RUN: mlirad-opt %s -t 'mlirad{target=cpu after=loops stage=llvmir}' | filecheck %s

// What does not vary with a loop is computed before it, as far out as it may be, and what is computed twice only once.
// An element is reached in steps: by what the innermost loop leaves as it is, by what it changes, by a number.
// CHECK-LABEL: define internal i32 @"mlirad.body.rows"
// CHECK-SAME:  double [[X:%a[0-9]+]]
// CHECK-NOT:   body{{[0-9]+}}:
// CHECK:       [[SQUARE:%v[0-9]+]] = fmul double [[X]], [[X]]
// CHECK:       shufflevector <4 x double>
// CHECK:       body{{[0-9]+}}:
// CHECK-NEXT:  [[I:%v[0-9]+]] = phi i64
// CHECK-NEXT:  [[ROW:%v[0-9]+]] = mul nsw i64 [[I]], 16
// CHECK-NEXT:  [[P:%v[0-9]+]] = getelementptr inbounds double, ptr [[R:%a[0-9]+]], i64 [[ROW]]
// CHECK:       body{{[0-9]+}}:
// CHECK-NEXT:  [[J:%v[0-9]+]] = phi i64
// CHECK-NEXT:  [[Q:%v[0-9]+]] = getelementptr inbounds double, ptr [[P]], i64 [[J]]
// CHECK-NEXT:  store <4 x double> {{.*}}, ptr [[Q]]
// CHECK-NEXT:  [[NEXT:%v[0-9]+]] = getelementptr inbounds double, ptr [[Q]], i64 4
// CHECK-NEXT:  store <4 x double> {{.*}}, ptr [[NEXT]]
// CHECK-NOT:   fmul
// CHECK-LABEL: define internal i32 @"mlirad.body.backwards"
// CHECK-NOT:   getelementptr inbounds
// CHECK-COUNT-3: getelementptr double, ptr
// CHECK-NEXT:  store <4 x double>
func.func public @rows(%x: f64, %r: memref<3x16xf64> {mlirad.result = 0 : i64}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  scf.for %i = %c0 to %c3 step %c1 {
    %tail = memref.subview %r[0, 4] [3, 12] [1, 1] : memref<3x16xf64> to memref<3x12xf64, strided<[16, 1], offset: 4>>
    scf.for %j = %c0 to %c8 step %c8 {
      %square = arith.mulf %x, %x : f64
      %again = arith.mulf %x, %x : f64
      %v = vector.broadcast %square : f64 to vector<4xf64>
      %w = vector.broadcast %again : f64 to vector<4xf64>
      vector.store %v, %r[%i, %j] : memref<3x16xf64>, vector<4xf64>
      vector.store %w, %tail[%i, %j] : memref<3x12xf64, strided<[16, 1], offset: 4>>, vector<4xf64>
    }
  }
  func.return
}

// Steps of an array that is read backwards may lead out of it before they lead back: they promise nothing.
func.func public @backwards(%x: f64, %r: memref<3x16xf64> {mlirad.result = 0 : i64}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %c16 = arith.constant 16 : index
  %v = vector.broadcast %x : f64 to vector<4xf64>
  %b = memref.reinterpret_cast %r to offset: [32], sizes: [3, 16], strides: [-16, 1]
    : memref<3x16xf64> to memref<3x16xf64, strided<[-16, 1], offset: 32>>
  scf.for %i = %c0 to %c3 step %c1 {
    scf.for %j = %c0 to %c16 step %c4 {
      vector.store %v, %b[%i, %j] : memref<3x16xf64, strided<[-16, 1], offset: 32>>, vector<4xf64>
    }
  }
  func.return
}
