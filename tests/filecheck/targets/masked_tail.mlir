// RUN: mlirad-opt %s -t 'mlirad{target=cpu after=loops stage=llvmir}' | filecheck %s

// A masked tail: the mask from the number of lanes left, and no promise that the masked lanes' addresses are good.
// CHECK-LABEL: define internal i32 @"mlirad.body.tail"
// CHECK: [[MASK:%v[0-9]+]] = icmp slt <8 x i32> <i32 0, i32 1
// CHECK: [[P:%v[0-9]+]] = getelementptr float, ptr
// CHECK-NEXT: call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 [[P]], <8 x i1> [[MASK]], <8 x float> splat (float 0x0000000000000000))
// CHECK: call <8 x float> @llvm.maximum.v8f32
// CHECK: call void @llvm.masked.store.v8f32.p0(<8 x float> {{%v[0-9]+}}, ptr align 4 {{%v[0-9]+}}, <8 x i1> [[MASK]])
func.func public @tail(%x: memref<?xf32> {mlirad.written = 0 : i64}, %at: index, %left: index) {
  %zero = arith.constant dense<0.0> : vector<8xf32>
  %m = vector.create_mask %left : vector<8xi1>
  %v = vector.maskedload %x[%at], %m, %zero : memref<?xf32>, vector<8xi1>, vector<8xf32> into vector<8xf32>
  %w = arith.maximumf %v, %zero : vector<8xf32>
  vector.maskedstore %x[%at], %m, %w : memref<?xf32>, vector<8xi1>, vector<8xf32>
  func.return
}
