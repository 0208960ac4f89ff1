// RUN: mlirad-opt %s -t 'mlirad{target=cpu after=loops stage=llvmir}' | filecheck %s

// The processor traps on x / 0 and on MIN / -1: neither reaches it.
// CHECK-LABEL: define internal i32 @"mlirad.body.divide"
// CHECK: [[ZERO:%v[0-9]+]] = icmp eq i64 [[B:%[a-z0-9]+]], 0
// CHECK: [[LEAST:%v[0-9]+]] = icmp eq i64 [[A:%[a-z0-9]+]], -9223372036854775808
// CHECK-NEXT: [[MINUS:%v[0-9]+]] = icmp eq i64 [[B]], -1
// CHECK-NEXT: [[WIDE:%v[0-9]+]] = and i1 [[LEAST]], [[MINUS]]
// CHECK-NEXT: [[TRAPS:%v[0-9]+]] = or i1 [[ZERO]], [[WIDE]]
// CHECK-NEXT: [[SAFE:%v[0-9]+]] = select i1 [[TRAPS]], i64 1, i64 [[B]]
// CHECK-NEXT: sdiv i64 [[A]], [[SAFE]]
// What does not fit is replaced by the smallest number, and is never poison.
// CHECK: [[SIZE:%v[0-9]+]] = call double @llvm.fabs.f64(double [[X:%[a-z0-9]+]])
// CHECK-NEXT: [[FITS:%v[0-9]+]] = fcmp olt double [[SIZE]], 0x41E0000000000000
// CHECK-NEXT: [[SAFE:%v[0-9]+]] = select i1 [[FITS]], double [[X]], double 0xC1E0000000000000
// CHECK-NEXT: fptosi double [[SAFE]] to i32
func.func public @divide(%a: i64, %b: i64, %x: f64) -> (i64, i32) {
  %q = arith.divsi %a, %b : i64
  %i = arith.fptosi %x : f64 to i32
  func.return %q, %i : i64, i32
}
