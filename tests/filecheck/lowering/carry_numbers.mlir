// RUN: mlirad-opt %s -p 'mlirad-carry-numbers' | filecheck %s

// What a loop carries is numbers; at the head of its body they fill an array, and one behind it.
// CHECK-LABEL: func.func @carried
// CHECK:       %[[INIT:.*]] = memref.load %a
// CHECK:       scf.for %{{.*}} iter_args(%[[IN:.*]] = %[[INIT]]) -> (f64)
// CHECK-NEXT:    %b = memref.alloc()
// CHECK-NEXT:    memref.store %[[IN]], %b
// CHECK:         memref.store %{{.*}}, %b
// CHECK-NEXT:    %[[OUT:.*]] = memref.load %b
// CHECK-NEXT:    scf.yield %[[OUT]] : f64
func.func @carried(%n: index, %x: f64) -> f64 {
  %0 = arith.constant 0 : index
  %1 = arith.constant 1 : index
  %a = memref.alloc() {mlirad.offset = 0 : i64} : memref<1xf64>
  memref.store %x, %a[%0] : memref<1xf64>
  %r = scf.for %i = %0 to %n step %1 iter_args(%b = %a) -> (memref<1xf64>) {
    %y = memref.load %b[%0] : memref<1xf64>
    %z = arith.mulf %y, %x : f64
    memref.store %z, %b[%0] : memref<1xf64>
    scf.yield %b : memref<1xf64>
  }
  %s = memref.load %r[%0] : memref<1xf64>
  func.return %s : f64
}

// An array of the caller's, one that is read by its first name later, and one with a subscript that only the run knows.
// CHECK-LABEL: func.func @in_memory
// CHECK-COUNT-3: iter_args({{.*}}) -> (memref<2xf64>)
func.func @in_memory(%n: index, %x: f64, %p: memref<2xf64>) -> f64 {
  %0 = arith.constant 0 : index
  %1 = arith.constant 1 : index
  %q = scf.for %i = %0 to %n step %1 iter_args(%b = %p) -> (memref<2xf64>) {
    memref.store %x, %b[%0] : memref<2xf64>
    scf.yield %b : memref<2xf64>
  }
  %a = memref.alloc() {mlirad.offset = 0 : i64} : memref<2xf64>
  memref.store %x, %a[%0] : memref<2xf64>
  %r = scf.for %i = %0 to %n step %1 iter_args(%b = %a) -> (memref<2xf64>) {
    memref.store %x, %b[%0] : memref<2xf64>
    scf.yield %b : memref<2xf64>
  }
  %c = memref.alloc() {mlirad.offset = 64 : i64} : memref<2xf64>
  %s = scf.for %i = %0 to %n step %1 iter_args(%b = %c) -> (memref<2xf64>) {
    memref.store %x, %b[%i] : memref<2xf64>
    scf.yield %b : memref<2xf64>
  }
  %y = memref.load %a[%0] : memref<2xf64>
  %z = memref.load %q[%0] : memref<2xf64>
  %w = memref.load %s[%0] : memref<2xf64>
  func.return %y : f64
}

// One that is exchanged with an array of the caller's: each is the other's memory in the next trip.
// CHECK-LABEL: func.func @exchanged
// CHECK:       iter_args({{.*}}) -> (memref<2xf64>, memref<2xf64>)
func.func @exchanged(%n: index, %x: f64, %p: memref<2xf64>) -> f64 {
  %0 = arith.constant 0 : index
  %1 = arith.constant 1 : index
  %a = memref.alloc() {mlirad.offset = 0 : i64} : memref<2xf64>
  %q, %r = scf.for %i = %0 to %n step %1 iter_args(%b = %p, %c = %a) -> (memref<2xf64>, memref<2xf64>) {
    memref.store %x, %c[%0] : memref<2xf64>
    scf.yield %c, %b : memref<2xf64>, memref<2xf64>
  }
  %y = memref.load %q[%0] : memref<2xf64>
  func.return %y : f64
}
