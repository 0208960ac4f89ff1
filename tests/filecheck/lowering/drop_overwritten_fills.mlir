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
