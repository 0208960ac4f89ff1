// RUN: mlirad-opt %s -t 'mlirad{target=cpu after=loops stage=llvmir}' | filecheck %s

// A loop has its condition at its end. What is known to make a trip needs no guard, and a counter that is bound to meet
// its bound is compared for equality, from which LLVM sees the trip count.
// CHECK-LABEL: define internal i32 @"mlirad.body.conditions"
// CHECK: br label %[[EVEN:body[0-9]+]]
// CHECK-NEXT: {{^}}[[EVEN]]:
// CHECK-NEXT: phi i64 [ 0, %entry ]
// CHECK: icmp ne i64 {{%v[0-9]+}}, 6
// CHECK: br i1 {{%v[0-9]+}}, label %[[EVEN]], label
// CHECK: br label %[[ODD:body[0-9]+]]
// CHECK: {{^}}[[ODD]]:
// CHECK: icmp slt i64 {{%v[0-9]+}}, 5
// CHECK: br i1 {{%v[0-9]+}}, label %[[ODD]], label %[[HERE:done[0-9]+]]
// CHECK-LABEL: define internal void @"mlirad.leaf.guarded"
// CHECK: [[ANY:%v[0-9]+]] = icmp slt i64 [[N:%a[0-9]+]], 4
// CHECK-NEXT: br i1 [[ANY]], label %[[SOME:body[0-9]+]], label %[[DONE:done[0-9]+]]
// CHECK-NEXT: {{^}}[[SOME]]:
// CHECK: [[NEXT:%v[0-9]+]] = fadd
// CHECK: icmp ne i64 {{%v[0-9]+}}, 4
// CHECK: {{^}}[[DONE]]:
// CHECK-NEXT: phi double [ 0x0000000000000000, %entry ], [ [[NEXT]], %[[SOME]] ]
func.func public @conditions(%x: memref<8xf64>, %n: index) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c5 = arith.constant 5 : index
  %c6 = arith.constant 6 : index
  %zero = arith.constant 0.0 : f64
  scf.for %i = %c0 to %c6 step %c2 {
    memref.store %zero, %x[%i] : memref<8xf64>
  }
  scf.for %i = %c0 to %c5 step %c2 {
    memref.store %zero, %x[%i] : memref<8xf64>
  }
  func.call @guarded(%x, %n) : (memref<8xf64>, index) -> ()
  func.return
}
func.func private @guarded(%x: memref<8xf64>, %n: index) attributes {mlirad.leaf} {
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %zero = arith.constant 0.0 : f64
  %s = scf.for %i = %n to %c4 step %c1 iter_args(%t = %zero) -> (f64) {
    %v = memref.load %x[%i] : memref<8xf64>
    %u = arith.addf %t, %v : f64
    scf.yield %u : f64
  }
  memref.store %s, %x[%n] : memref<8xf64>
  func.return
}
