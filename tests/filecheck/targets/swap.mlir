// RUN: mlirad-opt %s -t 'mlirad{target=cpu after=loops stage=llvmir}' | filecheck %s

// Two buffers change places each trip: two phis of pointers, and not one byte copied.
// CHECK-LABEL: define internal i32 @"mlirad.body.swap"
// CHECK: [[B:%v[0-9]+]] = getelementptr inbounds i8, ptr %arena, i64 64
// CHECK: {{^}}strip
// CHECK-NEXT: phi i64
// CHECK-NEXT: [[S:%v[0-9]+]] = phi ptr [ %arena, %entry ]
// CHECK-NEXT: [[T:%v[0-9]+]] = phi ptr [ [[B]], %entry ]
// CHECK: {{^}}body
// CHECK-NEXT: phi i64
// CHECK-NEXT: [[P:%v[0-9]+]] = phi ptr [ [[S]], %strip{{[0-9]+}} ], [ [[Q:%v[0-9]+]], %body
// CHECK-NEXT: [[Q]] = phi ptr [ [[T]], %strip{{[0-9]+}} ], [ [[P]], %body
// CHECK-NOT: memmove
// CHECK: ret i32 0
func.func public @swap(%n: index) -> f64 attributes {mlirad.arena_size = 128 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = memref.alloc() {mlirad.offset = 0 : i64} : memref<4xf64>
  %b = memref.alloc() {mlirad.offset = 64 : i64} : memref<4xf64>
  %p, %q = scf.for %i = %c0 to %n step %c1 iter_args(%s = %a, %t = %b) -> (memref<4xf64>, memref<4xf64>) {
    scf.yield %t, %s : memref<4xf64>, memref<4xf64>
  }
  %v = memref.load %p[%c0] : memref<4xf64>
  func.return %v : f64
}
