// RUN: mlirad-opt %s -t 'mlirad{target=cpu after=loops stage=llvmir}' | filecheck %s

// Arguments and outputs never alias one another, nor the arena; addresses are typed steps from a pointer.
// CHECK-NOT: inttoptr
// CHECK-NOT: ptrtoint
// CHECK-LABEL: define internal i32 @"mlirad.body.add"
// CHECK-SAME: ptr noalias %ctx
// CHECK-SAME: ptr noalias align 64 %arena
// CHECK-SAME: ptr noalias nonnull noundef align 8 dereferenceable(96) [[X:%[a-z0-9]+]]
// CHECK-SAME: ptr noalias nonnull noundef align 8 dereferenceable(96) [[R:%[a-z0-9]+]]
// CHECK: [[ROW:%v[0-9]+]] = mul nsw i64 {{%v[0-9]+}}, 4
// CHECK: [[AT:%v[0-9]+]] = add nsw i64 [[ROW]], {{%v[0-9]+}}
// CHECK-NEXT: [[P:%v[0-9]+]] = getelementptr inbounds double, ptr [[X]], i64 [[AT]]
// CHECK-NEXT: load double, ptr [[P]], align 8
// CHECK: getelementptr inbounds double, ptr [[R]]
// The public entry takes a context and 64-bit slots.
// CHECK-LABEL: define i32 @"mlirad.entry.add"(ptr noalias %ctx, ptr noalias %slots)
// CHECK-NOT: inttoptr
func.func public @add(%x: memref<3x4xf64>, %r: memref<3x4xf64> {mlirad.result = 0 : i64}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  scf.for %i = %c0 to %c3 step %c1 {
    scf.for %j = %c0 to %c4 step %c1 {
      %v = memref.load %x[%i, %j] : memref<3x4xf64>
      %w = arith.addf %v, %v : f64
      memref.store %w, %r[%i, %j] : memref<3x4xf64>
    }
  }
  func.return
}
