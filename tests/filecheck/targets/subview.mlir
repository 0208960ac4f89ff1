// RUN: mlirad-opt %s -t 'mlirad{target=cpu after=loops stage=llvmir}' | filecheck %s

// Views are arithmetic on what is known: x[1:5][::-1][k] of a static array is one multiplication and one addition.
// CHECK-LABEL: define internal i32 @"mlirad.body.view"
// CHECK-SAME: ptr noalias nonnull noundef align 8 dereferenceable(64) [[X:%[a-z0-9]+]], i64 [[K:%[a-z0-9]+]]
// CHECK-NEXT: {{^}}entry:
// CHECK-NEXT: [[S:%v[0-9]+]] = mul nsw i64 [[K]], -1
// CHECK-NEXT: [[I:%v[0-9]+]] = add nsw i64 4, [[S]]
// CHECK-NEXT: [[P:%v[0-9]+]] = getelementptr inbounds double, ptr [[X]], i64 [[I]]
// CHECK-NEXT: load double, ptr [[P]]
func.func public @view(%x: memref<8xf64>, %k: index) -> f64 {
  %a = memref.subview %x[1] [4] [1] : memref<8xf64> to memref<4xf64, strided<[1], offset: 1>>
  %b = memref.subview %a[3] [4] [-1] : memref<4xf64, strided<[1], offset: 1>> to memref<4xf64, strided<[-1], offset: 4>>
  %v = memref.load %b[%k] : memref<4xf64, strided<[-1], offset: 4>>
  func.return %v : f64
}
