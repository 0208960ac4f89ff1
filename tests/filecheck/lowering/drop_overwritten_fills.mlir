// RUN: mlirad-opt %s -p 'mlirad-drop-overwritten-fills' | filecheck %s
// RUN: mlirad-opt %s -p 'mlirad-drop-overwritten-fills,mlirad-nd-to-linalg,mlirad-bufferize' | filecheck %s --check-prefix=MEMORY

// d = np.empty(n); d[0] = ...; d[1:-1] = ...; d[-1] = ... in a loop: no fill.

// CHECK-LABEL: func.func @covered
// CHECK:         scf.for
// CHECK:           tensor.empty
// CHECK-NEXT:      nd.insert
// MEMORY-LABEL: func.func @covered
// MEMORY:         scf.for
// MEMORY-NOT:       linalg.fill
// MEMORY:         func.return
func.func @covered(%x: tensor<8xf64>, %n: i64) -> tensor<8xf64> {
  %c0 = nd.constant {value = 0 : i64} : i64
  %c1 = nd.constant {value = 1 : i64} : i64
  %c7 = nd.constant {value = 7 : i64} : i64
  %zero = nd.constant {value = 0.0 : f64} : f64
  %zeros = nd.full %zero : f64 to tensor<8xf64>
  %first = nd.extract %x[%c1] : tensor<8xf64> -> f64
  %a = scf.for %_ = %c0 to %n step %c1 iter_args(%y = %zeros) -> (tensor<8xf64>) : i64 {
    %last = nd.extract %y[%c0] : tensor<8xf64> -> f64
    %middle = nd.extract_slice %x[%c0] {sizes = array<i64: 6>, strides = array<i64: 1>} : tensor<8xf64> -> tensor<6xf64>
    %roots = nd.sqrt %middle : tensor<6xf64>
    %b = nd.insert %last, %zeros[%c7] : f64 into tensor<8xf64>
    %c = nd.insert_slice %roots, %b[%c1] {sizes = array<i64: 6>, strides = array<i64: 1>} : tensor<6xf64> into tensor<8xf64>
    %d = nd.insert %first, %c[%c0] : f64 into tensor<8xf64>
    scf.yield %d : tensor<8xf64>
  }
  func.return %a : tensor<8xf64>
}

// An element is left out; an element is written twice, and another left out; the array is read, and added to.

// CHECK-LABEL: func.func @kept
// CHECK-NOT:     tensor.empty
// CHECK:         func.return
func.func @kept(%v: f64, %s: tensor<2xf64>) -> (tensor<3xf64>, tensor<3xf64>, tensor<3xf64>, f64, tensor<2xf64>) {
  %c0 = nd.constant {value = 0 : i64} : i64
  %c1 = nd.constant {value = 1 : i64} : i64
  %zero = nd.constant {value = 0.0 : f64} : f64
  %zeros = nd.full %zero : f64 to tensor<3xf64>
  %a = nd.insert_slice %s, %zeros[%c1] {sizes = array<i64: 2>, strides = array<i64: 1>} : tensor<2xf64> into tensor<3xf64>
  %b = nd.insert_slice %s, %zeros[%c1] {sizes = array<i64: 2>, strides = array<i64: 1>} : tensor<2xf64> into tensor<3xf64>
  %twice = nd.insert %v, %b[%c1] : f64 into tensor<3xf64>
  %c = nd.insert_slice %s, %zeros[%c1] {sizes = array<i64: 2>, strides = array<i64: 1>} : tensor<2xf64> into tensor<3xf64>
  %read = nd.extract %c[%c0] : tensor<3xf64> -> f64
  %d = nd.insert %v, %c[%c0] : f64 into tensor<3xf64>
  %two = nd.full %zero : f64 to tensor<2xf64>
  %e = nd.add_at %v, %two[%c0] : f64 into tensor<2xf64>
  %f = nd.insert %v, %e[%c1] : f64 into tensor<2xf64>
  func.return %a, %twice, %d, %read, %f : tensor<3xf64>, tensor<3xf64>, tensor<3xf64>, f64, tensor<2xf64>
}

// for i in range(3): for j in range(4): y[i, :, j] = ...: each element is set before anything reads it, so no fill.

// CHECK-LABEL: func.func @by_trips
// CHECK:         %[[FRESH:.*]] = tensor.empty() : tensor<3x2x4xf64>
// CHECK-NEXT:    scf.for {{.*}} iter_args({{.*}} = %[[FRESH]])
// CHECK:           scf.for {{.*}} iter_args({{.*}} = %y)
func.func @by_trips(%s: tensor<1x2x1xf64>) -> tensor<3x2x4xf64> {
  %c0 = nd.constant {value = 0 : i64} : i64
  %c1 = nd.constant {value = 1 : i64} : i64
  %c3 = nd.constant {value = 3 : i64} : i64
  %c4 = nd.constant {value = 4 : i64} : i64
  %zero = nd.constant {value = 0.0 : f64} : f64
  %zeros = nd.full %zero : f64 to tensor<3x2x4xf64>
  %a = scf.for %i = %c0 to %c3 step %c1 iter_args(%y = %zeros) -> (tensor<3x2x4xf64>) : i64 {
    %b = scf.for %j = %c0 to %c4 step %c1 iter_args(%z = %y) -> (tensor<3x2x4xf64>) : i64 {
      %c = nd.insert_slice %s, %z[%i, %c0, %j] {sizes = array<i64: 1, 2, 1>, strides = array<i64: 1, 1, 1>} : tensor<1x2x1xf64> into tensor<3x2x4xf64>
      scf.yield %c : tensor<3x2x4xf64>
    }
    scf.yield %b : tensor<3x2x4xf64>
  }
  func.return %a : tensor<3x2x4xf64>
}

// Loops leave the first, the last or every second element out, write the diagonal, run an unknown number of times, or
// read what they carry.

// CHECK-LABEL: func.func @trips_that_leave_some
// CHECK-NOT:     tensor.empty
// CHECK:         func.return
func.func @trips_that_leave_some(%v: f64, %n: i64) -> (tensor<4xf64>, tensor<4xf64>, tensor<4xf64>, tensor<4x4xf64>, tensor<4xf64>, tensor<4xf64>) {
  %c0 = nd.constant {value = 0 : i64} : i64
  %c1 = nd.constant {value = 1 : i64} : i64
  %c2 = nd.constant {value = 2 : i64} : i64
  %c3 = nd.constant {value = 3 : i64} : i64
  %c4 = nd.constant {value = 4 : i64} : i64
  %zero = nd.constant {value = 0.0 : f64} : f64
  %zeros = nd.full %zero : f64 to tensor<4xf64>
  %square = nd.full %zero : f64 to tensor<4x4xf64>
  %a = scf.for %i = %c1 to %c4 step %c1 iter_args(%y = %zeros) -> (tensor<4xf64>) : i64 {
    %z = nd.insert %v, %y[%i] : f64 into tensor<4xf64>
    scf.yield %z : tensor<4xf64>
  }
  %b = scf.for %i = %c0 to %c3 step %c1 iter_args(%y = %zeros) -> (tensor<4xf64>) : i64 {
    %z = nd.insert %v, %y[%i] : f64 into tensor<4xf64>
    scf.yield %z : tensor<4xf64>
  }
  %c = scf.for %i = %c0 to %c4 step %c2 iter_args(%y = %zeros) -> (tensor<4xf64>) : i64 {
    %z = nd.insert %v, %y[%i] : f64 into tensor<4xf64>
    scf.yield %z : tensor<4xf64>
  }
  %d = scf.for %i = %c0 to %c4 step %c1 iter_args(%y = %square) -> (tensor<4x4xf64>) : i64 {
    %z = nd.insert %v, %y[%i, %i] : f64 into tensor<4x4xf64>
    scf.yield %z : tensor<4x4xf64>
  }
  %e = scf.for %i = %c0 to %n step %c1 iter_args(%y = %zeros) -> (tensor<4xf64>) : i64 {
    %z = nd.insert %v, %y[%i] : f64 into tensor<4xf64>
    scf.yield %z : tensor<4xf64>
  }
  %f = scf.for %i = %c0 to %c4 step %c1 iter_args(%y = %zeros) -> (tensor<4xf64>) : i64 {
    %last = nd.extract %y[%c3] : tensor<4xf64> -> f64
    %z = nd.insert %last, %y[%i] : f64 into tensor<4xf64>
    scf.yield %z : tensor<4xf64>
  }
  func.return %a, %b, %c, %d, %e, %f : tensor<4xf64>, tensor<4xf64>, tensor<4xf64>, tensor<4x4xf64>, tensor<4xf64>, tensor<4xf64>
}

// The reverse sweep of a loop over i adds once to each d[i], from the last to the first, so it sets each. 0.0 is added to
// what may be -0.0, as before.

// CHECK-LABEL: func.func @added_once
// CHECK:         %[[FRESH:.*]] = tensor.empty() : tensor<4xf64>
// CHECK:         scf.for {{.*}} iter_args({{.*}} = %[[FRESH]])
// CHECK:           %[[SUM:.*]] = nd.add %v, %{{.*}} : f64
// CHECK:           nd.insert %[[SUM]], %y[%q]
// CHECK:         %[[OTHER:.*]] = tensor.empty() : tensor<4x1x2xf64>
// CHECK:         scf.for {{.*}} iter_args({{.*}} = %[[OTHER]])
// CHECK:           nd.insert_slice %product, %y_1[%q_1, %c0, %c0]
func.func @added_once(%v: f64, %m: tensor<1x1x3xf64>, %n: tensor<3x2xf64>) -> (tensor<4xf64>, tensor<4x1x2xf64>) {
  %c0 = nd.constant {value = 0 : i64} : i64
  %c1 = nd.constant {value = 1 : i64} : i64
  %c3 = nd.constant {value = 3 : i64} : i64
  %c4 = nd.constant {value = 4 : i64} : i64
  %zero = nd.constant {value = 0.0 : f64} : f64
  %zeros = nd.full %zero : f64 to tensor<4xf64>
  %a = scf.for %i = %c0 to %c4 step %c1 iter_args(%y = %zeros) -> (tensor<4xf64>) : i64 {
    %q = nd.sub %c3, %i : i64
    %z = nd.add_at %v, %y[%q] : f64 into tensor<4xf64>
    scf.yield %z : tensor<4xf64>
  }
  %more = nd.full %zero : f64 to tensor<4x1x2xf64>
  %b = scf.for %i = %c0 to %c4 step %c1 iter_args(%y = %more) -> (tensor<4x1x2xf64>) : i64 {
    %q = nd.sub %c3, %i : i64
    %product = nd.contract "aXY,YZ->aXZ" %m, %n : (tensor<1x1x3xf64>, tensor<3x2xf64>) -> tensor<1x1x2xf64>
    %z = nd.add_slice %product, %y[%q, %c0, %c0] {sizes = array<i64: 1, 1, 2>, strides = array<i64: 1, 1, 1>} : tensor<1x1x2xf64> into tensor<4x1x2xf64>
    scf.yield %z : tensor<4x1x2xf64>
  }
  func.return %a, %b : tensor<4xf64>, tensor<4x1x2xf64>
}

// Additions to ones, and down to 1 instead of 0, stay.

// CHECK-LABEL: func.func @added_elsewhere
// CHECK-COUNT-2: nd.add_at
func.func @added_elsewhere(%v: f64) -> (tensor<4xf64>, tensor<4xf64>) {
  %c0 = nd.constant {value = 0 : i64} : i64
  %c1 = nd.constant {value = 1 : i64} : i64
  %c3 = nd.constant {value = 3 : i64} : i64
  %c4 = nd.constant {value = 4 : i64} : i64
  %zero = nd.constant {value = 0.0 : f64} : f64
  %one = nd.constant {value = 1.0 : f64} : f64
  %zeros = nd.full %zero : f64 to tensor<4xf64>
  %ones = nd.full %one : f64 to tensor<4xf64>
  %a = scf.for %i = %c0 to %c4 step %c1 iter_args(%y = %ones) -> (tensor<4xf64>) : i64 {
    %z = nd.add_at %v, %y[%i] : f64 into tensor<4xf64>
    scf.yield %z : tensor<4xf64>
  }
  %b = scf.for %i = %c0 to %c3 step %c1 iter_args(%y = %zeros) -> (tensor<4xf64>) : i64 {
    %q = nd.sub %c3, %i : i64
    %z = nd.add_at %v, %y[%q] : f64 into tensor<4xf64>
    scf.yield %z : tensor<4xf64>
  }
  func.return %a, %b : tensor<4xf64>, tensor<4xf64>
}

// Each trip of the loop around adds to all elements again, so the additions stay.

// CHECK-LABEL: func.func @added_again
// CHECK:         nd.full
// CHECK:         nd.add_at
// CHECK:         func.return
func.func @added_again(%v: f64) -> tensor<4xf64> {
  %c0 = nd.constant {value = 0 : i64} : i64
  %c1 = nd.constant {value = 1 : i64} : i64
  %c4 = nd.constant {value = 4 : i64} : i64
  %zero = nd.constant {value = 0.0 : f64} : f64
  %zeros = nd.full %zero : f64 to tensor<4xf64>
  %a = scf.for %j = %c0 to %c4 step %c1 iter_args(%x = %zeros) -> (tensor<4xf64>) : i64 {
    %b = scf.for %i = %c0 to %c4 step %c1 iter_args(%y = %x) -> (tensor<4xf64>) : i64 {
      %z = nd.add_at %v, %y[%i] : f64 into tensor<4xf64>
      scf.yield %z : tensor<4xf64>
    }
    scf.yield %b : tensor<4xf64>
  }
  func.return %a : tensor<4xf64>
}
