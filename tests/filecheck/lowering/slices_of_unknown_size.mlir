// RUN: mlirad-opt %s -p mlirad-nd-to-linalg,mlirad-bufferize,mlirad-plan-arena | filecheck %s

// Slices of traced length are views; what is added to one is computed in its place, without a copy.

// CHECK-LABEL: func.func public @add_to_a_row
// CHECK:         scf.for
// CHECK-NOT:       memref.copy
// CHECK-NOT:       memref.alloc
// CHECK:           %[[X:.*]] = memref.subview %{{.*}}[%{{.*}}] [%{{.*}}] [1] : memref<8xf64> to memref<?xf64
// CHECK:           %[[ROW:.*]] = memref.subview %{{.*}}[%{{.*}}, %{{.*}}] [1, %{{.*}}] [1, 1] : memref<8x8xf64> to memref<?xf64
// CHECK:           linalg.generic {{.*}} ins(%[[X]], %[[ROW]] : {{.*}}) outs(%[[ROW]] : 
// CHECK:             arith.mulf
// CHECK:             arith.addf
// CHECK-NOT:       memref.copy
// CHECK:         func.return
func.func public @add_to_a_row(%a: tensor<8x8xf64> {mlirad.written = 0 : i64}, %x: tensor<8xf64>, %c: f64) -> tensor<8x8xf64> {
  %zero = nd.constant {value = 0 : i64} : i64
  %one = nd.constant {value = 1 : i64} : i64
  %n = nd.constant {value = 8 : i64} : i64
  %r = scf.for %i = %zero to %n step %one iter_args(%b = %a) -> (tensor<8x8xf64>) : i64 {
    %part = nd.extract_slice %x[%zero][%i] {sizes = array<i64: -1>, strides = array<i64: 1>} : tensor<8xf64> -> tensor<?xf64>
    %scaled = nd.contract "i,->i" %part, %c : (tensor<?xf64>, f64) -> tensor<?xf64>
    %wide = nd.reshape %scaled : tensor<?xf64> to tensor<1x?xf64>
    %changed = nd.add_slice %wide, %b[%i, %zero] {sizes = array<i64: 1, -1>, strides = array<i64: 1, 1>} : tensor<1x?xf64> into tensor<8x8xf64>
    scf.yield %changed : tensor<8x8xf64>
  }
  func.return %r : tensor<8x8xf64>
}

// What must have memory of its own has it in the arena, with room for the longest.

// CHECK-LABEL: func.func public @turn
// CHECK-SAME:    mlirad.arena_size = 64
// CHECK:         scf.for
// CHECK:           memref.alloc(%{{.*}}) {{.*}}mlirad.bound = 7 : i64, mlirad.offset = 0 : i64} : memref<?xf64>
// CHECK-COUNT-1:   memref.copy
// CHECK-NOT:       memref.copy
// CHECK:         func.return
func.func public @turn(%y: tensor<8xf64> {mlirad.written = 0 : i64}) -> tensor<8xf64> {
  %zero = nd.constant {value = 0 : i64} : i64
  %one = nd.constant {value = 1 : i64} : i64
  %n = nd.constant {value = 7 : i64} : i64
  %r = scf.for %q = %zero to %n step %one iter_args(%z = %y) -> (tensor<8xf64>) : i64 {
    %k = nd.add %q, %one : i64
    %there = nd.extract_slice %z[%zero][%k] {sizes = array<i64: -1>, strides = array<i64: 1>} : tensor<8xf64> -> tensor<?xf64>
    %back = nd.extract_slice %z[%q][%k] {sizes = array<i64: -1>, strides = array<i64: -1>} : tensor<8xf64> -> tensor<?xf64>
    %sum = nd.add %there, %back : tensor<?xf64>
    %changed = nd.insert_slice %sum, %z[%zero] {sizes = array<i64: -1>, strides = array<i64: 1>} : tensor<?xf64> into tensor<8xf64>
    scf.yield %changed : tensor<8xf64>
  }
  func.return %r : tensor<8xf64>
}
