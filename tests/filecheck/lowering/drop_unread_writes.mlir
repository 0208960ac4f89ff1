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
