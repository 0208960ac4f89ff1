// RUN: mlirad-opt %s -p 'mlirad-drop-unread-writes' | filecheck %s

// The reverse sweep of d[0] = ...; d[1:-1] = ...; d[-1] = ...: each part of the cotangent is read, then cleared. Only
// other parts are read after each clear, so none is needed.

// CHECK-LABEL: func.func @cleared
// CHECK-NOT:     nd.insert
// CHECK:         func.return
func.func @cleared(%g: tensor<8xf64>) -> (f64, tensor<6xf64>, f64) {
  %c0 = nd.constant {value = 0 : i64} : i64
  %c1 = nd.constant {value = 1 : i64} : i64
  %c7 = nd.constant {value = 7 : i64} : i64
  %zero = nd.constant {value = 0.0 : f64} : f64
  %last = nd.extract %g[%c7] : tensor<8xf64> -> f64
  %a = nd.insert %zero, %g[%c7] : f64 into tensor<8xf64>
  %middle = nd.extract_slice %a[%c1] {sizes = array<i64: 6>, strides = array<i64: 1>} : tensor<8xf64> -> tensor<6xf64>
  %zeros = nd.full %zero : f64 to tensor<6xf64>
  %b = nd.insert_slice %zeros, %a[%c1] {sizes = array<i64: 6>, strides = array<i64: 1>} : tensor<6xf64> into tensor<8xf64>
  %first = nd.extract %b[%c0] : tensor<8xf64> -> f64
  func.return %last, %middle, %first : f64, tensor<6xf64>, f64
}

// A read of the same element, of a slice with it, at an unknown index, in steps, or of the whole array keeps the write.

// CHECK-LABEL: func.func @kept
// CHECK-COUNT-5: nd.insert %v
func.func @kept(%g: tensor<8xf64>, %v: f64, %i: i64) -> (f64, tensor<2xf64>, f64, tensor<2xf64>, tensor<8xf64>, f64) {
  %c0 = nd.constant {value = 0 : i64} : i64
  %c1 = nd.constant {value = 1 : i64} : i64
  %a = nd.insert %v, %g[%c1] : f64 into tensor<8xf64>
  %1 = nd.extract %a[%c1] : tensor<8xf64> -> f64
  %b = nd.insert %v, %g[%c1] : f64 into tensor<8xf64>
  %2 = nd.extract_slice %b[%c0] {sizes = array<i64: 2>, strides = array<i64: 1>} : tensor<8xf64> -> tensor<2xf64>
  %c = nd.insert %v, %g[%c1] : f64 into tensor<8xf64>
  %3 = nd.extract %c[%i] : tensor<8xf64> -> f64
  %d = nd.insert %v, %g[%c1] : f64 into tensor<8xf64>
  %4 = nd.extract_slice %d[%c0] {sizes = array<i64: 2>, strides = array<i64: 3>} : tensor<8xf64> -> tensor<2xf64>
  %e = nd.insert %v, %g[%c1] : f64 into tensor<8xf64>
  %5 = nd.extract %e[%c0] : tensor<8xf64> -> f64
  func.return %1, %2, %3, %4, %e, %5 : f64, tensor<2xf64>, f64, tensor<2xf64>, tensor<8xf64>, f64
}

// The reverse sweep of for i in range(4): y[i] = ...: each trip reads its part of the cotangent and clears it. No other
// trip reads that part, so the trips read the array from before the loop, which is not carried.

// CHECK-LABEL: func.func @cleared_by_trips
// CHECK:         scf.for %i = {{.*}} iter_args(%s = %{{[^,]*}}) -> (tensor<2xf64>)
// CHECK-NOT:       nd.insert_slice
// CHECK:           nd.extract_slice %g[%q, %c0]
// CHECK:         func.return
func.func @cleared_by_trips(%g: tensor<4x2xf64>) -> tensor<2xf64> {
  %c0 = nd.constant {value = 0 : i64} : i64
  %c1 = nd.constant {value = 1 : i64} : i64
  %c3 = nd.constant {value = 3 : i64} : i64
  %c4 = nd.constant {value = 4 : i64} : i64
  %zero = nd.constant {value = 0.0 : f64} : f64
  %zeros = nd.full %zero : f64 to tensor<1x2xf64>
  %sum = nd.full %zero : f64 to tensor<2xf64>
  %a, %b = scf.for %i = %c0 to %c4 step %c1 iter_args(%d = %g, %s = %sum) -> (tensor<4x2xf64>, tensor<2xf64>) : i64 {
    %q = nd.sub %c3, %i : i64
    %part = nd.extract_slice %d[%q, %c0] {sizes = array<i64: 1, 2>, strides = array<i64: 1, 1>} : tensor<4x2xf64> -> tensor<1x2xf64>
    %e = nd.insert_slice %zeros, %d[%q, %c0] {sizes = array<i64: 1, 2>, strides = array<i64: 1, 1>} : tensor<1x2xf64> into tensor<4x2xf64>
    %row = nd.reshape %part : tensor<1x2xf64> to tensor<2xf64>
    %t = nd.add %s, %row : tensor<2xf64>
    scf.yield %e, %t : tensor<4x2xf64>, tensor<2xf64>
  }
  func.return %b : tensor<2xf64>
}

// Trips that read another part, the same part each time, parts that overlap, what they have written, or whose array is
// needed after the loop, keep their writes.

// CHECK-LABEL: func.func @kept_by_trips
// CHECK-COUNT-5: nd.insert_slice
// CHECK:         func.return
func.func @kept_by_trips(%g: tensor<8xf64>, %v: tensor<2xf64>) -> (tensor<2xf64>, tensor<2xf64>, tensor<2xf64>, tensor<2xf64>, tensor<8xf64>) {
  %c0 = nd.constant {value = 0 : i64} : i64
  %c1 = nd.constant {value = 1 : i64} : i64
  %c2 = nd.constant {value = 2 : i64} : i64
  %c3 = nd.constant {value = 3 : i64} : i64
  %a, %r = scf.for %i = %c0 to %c3 step %c1 iter_args(%d = %g, %s = %v) -> (tensor<8xf64>, tensor<2xf64>) : i64 {
    %p = nd.mul %i, %c2 : i64
    %q = nd.add %p, %c2 : i64
    %part = nd.extract_slice %d[%p] {sizes = array<i64: 2>, strides = array<i64: 1>} : tensor<8xf64> -> tensor<2xf64>
    %e = nd.insert_slice %v, %d[%q] {sizes = array<i64: 2>, strides = array<i64: 1>} : tensor<2xf64> into tensor<8xf64>
    %t = nd.add %s, %part : tensor<2xf64>
    scf.yield %e, %t : tensor<8xf64>, tensor<2xf64>
  }
  %b, %u = scf.for %i = %c0 to %c3 step %c1 iter_args(%d = %g, %s = %v) -> (tensor<8xf64>, tensor<2xf64>) : i64 {
    %part = nd.extract_slice %d[%c1] {sizes = array<i64: 2>, strides = array<i64: 1>} : tensor<8xf64> -> tensor<2xf64>
    %e = nd.insert_slice %v, %d[%c1] {sizes = array<i64: 2>, strides = array<i64: 1>} : tensor<2xf64> into tensor<8xf64>
    %t = nd.add %s, %part : tensor<2xf64>
    scf.yield %e, %t : tensor<8xf64>, tensor<2xf64>
  }
  %c, %w = scf.for %i = %c0 to %c3 step %c1 iter_args(%d = %g, %s = %v) -> (tensor<8xf64>, tensor<2xf64>) : i64 {
    %part = nd.extract_slice %d[%i] {sizes = array<i64: 2>, strides = array<i64: 1>} : tensor<8xf64> -> tensor<2xf64>
    %e = nd.insert_slice %v, %d[%i] {sizes = array<i64: 2>, strides = array<i64: 1>} : tensor<2xf64> into tensor<8xf64>
    %t = nd.add %s, %part : tensor<2xf64>
    scf.yield %e, %t : tensor<8xf64>, tensor<2xf64>
  }
  %f, %x = scf.for %i = %c0 to %c3 step %c1 iter_args(%d = %g, %s = %v) -> (tensor<8xf64>, tensor<2xf64>) : i64 {
    %p = nd.mul %i, %c2 : i64
    %e = nd.insert_slice %s, %d[%p] {sizes = array<i64: 2>, strides = array<i64: 1>} : tensor<2xf64> into tensor<8xf64>
    %part = nd.extract_slice %e[%c1] {sizes = array<i64: 2>, strides = array<i64: 1>} : tensor<8xf64> -> tensor<2xf64>
    scf.yield %e, %part : tensor<8xf64>, tensor<2xf64>
  }
  %h = scf.for %i = %c0 to %c3 step %c1 iter_args(%d = %g) -> (tensor<8xf64>) : i64 {
    %p = nd.mul %i, %c2 : i64
    %part = nd.extract_slice %d[%p] {sizes = array<i64: 2>, strides = array<i64: 1>} : tensor<8xf64> -> tensor<2xf64>
    %twice = nd.add %part, %part : tensor<2xf64>
    %e = nd.insert_slice %twice, %d[%p] {sizes = array<i64: 2>, strides = array<i64: 1>} : tensor<2xf64> into tensor<8xf64>
    scf.yield %e : tensor<8xf64>
  }
  func.return %r, %u, %w, %x, %h : tensor<2xf64>, tensor<2xf64>, tensor<2xf64>, tensor<2xf64>, tensor<8xf64>
}
