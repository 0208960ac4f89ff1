// RUN: mlirad-opt %s -t 'mlirad{target=cpu after=loops stage=llvmir}' | filecheck %s

// Buffers of the arena that share no byte get scopes of their own; %c lies where %a was, and is only known not to
// overlap %b; its bound says where it ends.
// CHECK-LABEL: define internal i32 @"mlirad.body.scopes"
// CHECK: store double {{.*}} !alias.scope ![[A:[0-9]+]], !noalias ![[NOT_A:[0-9]+]]
// CHECK: store double {{.*}} !alias.scope ![[B:[0-9]+]], !noalias ![[NOT_B:[0-9]+]]
// CHECK: load double, {{.*}} !alias.scope ![[C:[0-9]+]], !noalias ![[NOT_C:[0-9]+]]
// CHECK: ![[DOMAIN:[0-9]+]] = distinct !{![[DOMAIN]]}
// CHECK-DAG: ![[A]] = !{![[SA:[0-9]+]]}
// CHECK-DAG: ![[B]] = !{![[SB:[0-9]+]]}
// CHECK-DAG: ![[C]] = !{![[SC:[0-9]+]]}
// CHECK-DAG: ![[NOT_A]] = !{![[SB]]}
// CHECK-DAG: ![[NOT_B]] = !{![[SA]], ![[SC]]}
// CHECK-DAG: ![[NOT_C]] = !{![[SB]]}
func.func public @scopes(%x: f64) -> f64 attributes {mlirad.arena_size = 128 : i64} {
  %c0 = arith.constant 0 : index
  %a = memref.alloc() {mlirad.offset = 0 : i64} : memref<4xf64>
  %b = memref.alloc() {mlirad.offset = 64 : i64} : memref<4xf64>
  %n = arith.constant 2 : index
  %c = memref.alloc(%n) {mlirad.bound = 4 : i64, mlirad.offset = 0 : i64} : memref<?xf64>
  memref.store %x, %a[%c0] : memref<4xf64>
  %view = memref.subview %b[1] [2] [1] : memref<4xf64> to memref<2xf64, strided<[1], offset: 1>>
  memref.store %x, %view[%c0] : memref<2xf64, strided<[1], offset: 1>>
  %v = memref.load %c[%c0] : memref<?xf64>
  func.return %v : f64
}
