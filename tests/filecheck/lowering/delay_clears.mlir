// RUN: mlirad-opt %s -p 'mlirad-delay-clears' | filecheck %s
// RUN: mlirad-opt %s -p 'mlirad-delay-clears,mlirad-gather-slices{least=1},mlirad-nd-to-linalg,mlirad-bufferize' | filecheck %s --check-prefix=ONE

// The reverse sweep of jacobi: the cotangent of the array that a trip overwrote is cleared, and the next trip adds to
// it. Right before these additions the clear is a part of their sum: there is no fill, no copy and no temporary array.

// CHECK-LABEL: func.func @sweeps
// CHECK:         scf.for
// CHECK:           nd.insert_slice %{{.*}}, %h
// CHECK:           nd.add_slice
// CHECK:           scf.yield %{{.*}}, %g :
// CHECK:         nd.insert_slice %{{.*}} : tensor<6xf64> into tensor<8xf64>

// ONE-LABEL: func.func @sweeps
// ONE:         scf.for
// ONE-NOT:       linalg.fill
// ONE-NOT:       memref.copy
// ONE-NOT:       memref.alloc
// ONE:           scf.yield
func.func @sweeps(%x: tensor<8xf64>, %n: i64) -> (tensor<8xf64>, tensor<8xf64>) {
  %c0 = nd.constant {value = 0 : i64} : i64
  %c1 = nd.constant {value = 1 : i64} : i64
  %c2 = nd.constant {value = 2 : i64} : i64
  %zero = nd.constant {value = 0.0 : f64} : f64
  %half = nd.constant {value = 0.5 : f64} : f64
  %zeros = nd.full %zero : f64 to tensor<8xf64>
  %a, %b = scf.for %_ = %c0 to %n step %c1 iter_args(%g = %x, %h = %zeros) -> (tensor<8xf64>, tensor<8xf64>) : i64 {
    %part = nd.extract_slice %g[%c1] {sizes = array<i64: 6>, strides = array<i64: 1>} : tensor<8xf64> -> tensor<6xf64>
    %none = nd.full %zero : f64 to tensor<6xf64>
    %cleared = nd.insert_slice %none, %g[%c1] {sizes = array<i64: 6>, strides = array<i64: 1>} : tensor<6xf64> into tensor<8xf64>
    %halves = nd.full %half : f64 to tensor<6xf64>
    %p = nd.mul %part, %halves : tensor<6xf64>
    %i = nd.add_slice %p, %h[%c0] {sizes = array<i64: 6>, strides = array<i64: 1>} : tensor<6xf64> into tensor<8xf64>
    %j = nd.add_slice %p, %i[%c2] {sizes = array<i64: 6>, strides = array<i64: 1>} : tensor<6xf64> into tensor<8xf64>
    scf.yield %j, %cleared : tensor<8xf64>, tensor<8xf64>
  }
  func.return %a, %b : tensor<8xf64>, tensor<8xf64>
}

// The loop does not begin with a cleared array, which it gives back if it makes no trip: the clear stays.
// CHECK-LABEL: func.func @begins_with_numbers
// CHECK:         scf.for
// CHECK-NEXT:      nd.add_slice
// CHECK:           nd.insert_slice
// CHECK-NEXT:      scf.yield
func.func @begins_with_numbers(%s: tensor<6xf64>, %x: tensor<8xf64>, %n: i64) -> tensor<8xf64> {
  %c0 = nd.constant {value = 0 : i64} : i64
  %c1 = nd.constant {value = 1 : i64} : i64
  %zero = nd.constant {value = 0.0 : f64} : f64
  %none = nd.full %zero : f64 to tensor<6xf64>
  %a = scf.for %_ = %c0 to %n step %c1 iter_args(%g = %x) -> (tensor<8xf64>) : i64 {
    %i = nd.add_slice %s, %g[%c0] {sizes = array<i64: 6>, strides = array<i64: 1>} : tensor<6xf64> into tensor<8xf64>
    %cleared = nd.insert_slice %none, %i[%c1] {sizes = array<i64: 6>, strides = array<i64: 1>} : tensor<6xf64> into tensor<8xf64>
    scf.yield %cleared : tensor<8xf64>
  }
  func.return %a : tensor<8xf64>
}

// A clear moves down to the additions that follow it: until then, others may read the array in its memory.
// CHECK-LABEL: func.func @sunk
// CHECK:         %[[PART:.*]] = nd.extract_slice %t
// CHECK:         nd.mul %[[PART]], %[[PART]]
// CHECK-NEXT:    %[[CLEAR:.*]] = nd.insert_slice %{{.*}}, %t
// CHECK-NEXT:    nd.add_slice %{{.*}}, %[[CLEAR]]
func.func @sunk(%t: tensor<8xf64>) -> tensor<8xf64> {
  %one = nd.constant {value = 1 : i64} : i64
  %two = nd.constant {value = 2 : i64} : i64
  %z = nd.constant {value = 0.0 : f64} : f64
  %four = nd.full %z : f64 to tensor<4xf64>
  %p = nd.extract_slice %t[%one] {sizes = array<i64: 4>, strides = array<i64: 1>} : tensor<8xf64> -> tensor<4xf64>
  %c = nd.insert_slice %four, %t[%one] {sizes = array<i64: 4>, strides = array<i64: 1>} : tensor<4xf64> into tensor<8xf64>
  %s = nd.mul %p, %p : tensor<4xf64>
  %b = nd.add_slice %s, %c[%two] {sizes = array<i64: 4>, strides = array<i64: 1>} : tensor<4xf64> into tensor<8xf64>
  func.return %b : tensor<8xf64>
}

// The reverse sweep of `h[t + 1] = f(h[t])`: the clear of one row waits for the addition to another, which needs what
// the row held before. There is no copy of it.
//
//   g = d[t + 1];  d[t + 1] = 0;  d[t] += g * x     ->     d[t] += d[t + 1] * x;  d[t + 1] = 0
//
// CHECK-LABEL: func.func @rows
// CHECK:         nd.add_slice
// CHECK-NEXT:    nd.insert_slice
// CHECK-NEXT:    scf.yield

// ONE-LABEL: func.func @rows
// ONE:         scf.for
// ONE-NOT:       memref.copy
// ONE-NOT:       memref.alloc
// ONE:           linalg.generic
// ONE:           linalg.fill
// ONE-NEXT:    }
func.func @rows(%x: tensor<1x8xf64>, %d: tensor<9x8xf64> {mlirad.written = 0 : i64}, %n: i64) -> tensor<9x8xf64> {
  %c0 = nd.constant {value = 0 : i64} : i64
  %c1 = nd.constant {value = 1 : i64} : i64
  %zero = nd.constant {value = 0.0 : f64} : f64
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %d) -> (tensor<9x8xf64>) : i64 {
    %next = nd.add %i, %c1 : i64
    %g = nd.extract_slice %a[%next, %c0] {sizes = array<i64: 1, 8>, strides = array<i64: 1, 1>} : tensor<9x8xf64> -> tensor<1x8xf64>
    %none = nd.full %zero : f64 to tensor<1x8xf64>
    %b = nd.insert_slice %none, %a[%next, %c0] {sizes = array<i64: 1, 8>, strides = array<i64: 1, 1>} : tensor<1x8xf64> into tensor<9x8xf64>
    %p = nd.mul %g, %x : tensor<1x8xf64>
    %c = nd.add_slice %p, %b[%i, %c0] {sizes = array<i64: 1, 8>, strides = array<i64: 1, 1>} : tensor<1x8xf64> into tensor<9x8xf64>
    scf.yield %c : tensor<9x8xf64>
  }
  func.return %r : tensor<9x8xf64>
}

// The row is added to, and then read: it is cleared before.
// CHECK-LABEL: func.func @same_row
// CHECK:         nd.insert_slice
// CHECK:         nd.add_slice
// CHECK-NEXT:    scf.yield
func.func @same_row(%x: tensor<1x8xf64>, %d: tensor<9x8xf64>, %n: i64, %j: i64) -> tensor<9x8xf64> {
  %c0 = nd.constant {value = 0 : i64} : i64
  %c1 = nd.constant {value = 1 : i64} : i64
  %zero = nd.constant {value = 0.0 : f64} : f64
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %d) -> (tensor<9x8xf64>) : i64 {
    %none = nd.full %zero : f64 to tensor<1x8xf64>
    %b = nd.insert_slice %none, %a[%i, %c0] {sizes = array<i64: 1, 8>, strides = array<i64: 1, 1>} : tensor<1x8xf64> into tensor<9x8xf64>
    %c = nd.add_slice %x, %b[%j, %c0] {sizes = array<i64: 1, 8>, strides = array<i64: 1, 1>} : tensor<1x8xf64> into tensor<9x8xf64>
    scf.yield %c : tensor<9x8xf64>
  }
  func.return %r : tensor<9x8xf64>
}
