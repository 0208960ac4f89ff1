// RUN: mlirad-opt %s -t 'mlirad{target=cpu after=loops stage=llvmir}' | filecheck %s

// A carried array of unknown size is a pointer and its size; its static parts are not carried.
// CHECK-LABEL: define internal i32 @"mlirad.body.carry"
// CHECK: {{^}}while
// CHECK-NEXT: [[P:%v[0-9]+]] = phi ptr
// CHECK-NEXT: [[N:%v[0-9]+]] = phi i64
// CHECK-NEXT: [[K:%v[0-9]+]] = phi i64
// CHECK-NEXT: icmp slt
// Room for element k is found inline; the runtime is called in the rare case that there is none.
// CHECK: [[FITS:%v[0-9]+]] = icmp slt i64 {{%v[0-9]+}}, [[N]]
// CHECK-NEXT: br i1 [[FITS]], label %grown{{[0-9]+}}, label %grow{{[0-9]+}}, !prof !0
// CHECK: [[NEW:%v[0-9]+]] = call ptr @mlirad.grow(ptr %ctx, ptr [[P]]
// CHECK: {{^}}grown
// CHECK-NEXT: phi ptr [ [[P]], {{%[a-z0-9]+}} ], [ [[NEW]],
// CHECK-NEXT: phi i64 [ [[N]],
// CHECK: define internal ptr @mlirad.grow
func.func private @mlirad_grow_f64(memref<?xf64>, index) -> memref<?xf64>
func.func public @carry(%n: i64) -> memref<?xf64> {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c4 = arith.constant 4 : index
  %x = arith.constant 1.0 : f64
  %tape = memref.alloc(%c4) : memref<?xf64>
  %t, %k = scf.while (%t = %tape, %k = %c0) : (memref<?xf64>, i64) -> (memref<?xf64>, i64) {
    %go = arith.cmpi slt, %k, %n : i64
    scf.condition(%go) %t, %k : memref<?xf64>, i64
  } do {
  ^bb0(%t: memref<?xf64>, %k: i64):
    %i = arith.index_cast %k : i64 to index
    %g = func.call @mlirad_grow_f64(%t, %i) : (memref<?xf64>, index) -> memref<?xf64>
    memref.store %x, %g[%i] : memref<?xf64>
    %next = arith.addi %k, %c1 : i64
    scf.yield %g, %next : memref<?xf64>, i64
  }
  func.return %t : memref<?xf64>
}
