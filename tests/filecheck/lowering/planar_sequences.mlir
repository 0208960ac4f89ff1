// RUN: mlirad-opt %s -p 'mlirad-exchange-loops{least=1}' --split-input-file | filecheck %s

// A sweep up, a few planes, and a sweep down. Row i of each array needs row i of the others only, so all of it is computed
// for one row, and in a row for one column after the other: what is used only between is an array of one column.
//
//     for k in range(15):
//         up[:, :, k + 1] = x[1:, :, k] + up[:, :, k]
//     y = up * up
//     down = y[:, :, 15]
//     for k in range(15, 0, -1):
//         down = down * y[:, :, k]
//
// CHECK-LABEL: func.func @two_sweeps
// CHECK:         scf.for %row =
// CHECK:           scf.for %row_1 =
// CHECK:             %[[ZEROS:.*]] = nd.full %{{.*}} to tensor<1x1x16xf64>
// CHECK:             %[[UP:.*]] = scf.for %k = {{.*}} iter_args(%{{.*}} = %[[ZEROS]])
// CHECK:             %[[Y:.*]] = nd.mul %[[UP]], %[[UP]] : tensor<1x1x16xf64>
// CHECK:             scf.for %k_1 =
// CHECK:               nd.extract_slice %[[Y]]
// CHECK-NOT:     scf.for
// CHECK:         func.return
func.func @two_sweeps(%x: tensor<10x7x16xf64>) -> tensor<9x7x1xf64> {
  %c0 = nd.constant {value = 0 : i64} : i64
  %c1 = nd.constant {value = 1 : i64} : i64
  %last = nd.constant {value = 15 : i64} : i64
  %zero = nd.constant {value = 0.0 : f64} : f64
  %zeros = nd.full %zero : f64 to tensor<9x7x16xf64>
  %up = scf.for %k = %c0 to %last step %c1 iter_args(%t = %zeros) -> (tensor<9x7x16xf64>) : i64 {
    %next = nd.add %k, %c1 : i64
    %a = nd.extract_slice %x[%c1, %c0, %k] {sizes = array<i64: 9, 7, 1>, strides = array<i64: 1, 1, 1>} : tensor<10x7x16xf64> -> tensor<9x7x1xf64>
    %b = nd.extract_slice %t[%c0, %c0, %k] {sizes = array<i64: 9, 7, 1>, strides = array<i64: 1, 1, 1>} : tensor<9x7x16xf64> -> tensor<9x7x1xf64>
    %sum = nd.add %a, %b : tensor<9x7x1xf64>
    %s = nd.insert_slice %sum, %t[%c0, %c0, %next] {sizes = array<i64: 9, 7, 1>, strides = array<i64: 1, 1, 1>} : tensor<9x7x1xf64> into tensor<9x7x16xf64>
    scf.yield %s : tensor<9x7x16xf64>
  }
  %y = nd.mul %up, %up : tensor<9x7x16xf64>
  %top = nd.extract_slice %y[%c0, %c0, %last] {sizes = array<i64: 9, 7, 1>, strides = array<i64: 1, 1, 1>} : tensor<9x7x16xf64> -> tensor<9x7x1xf64>
  %down = scf.for %k = %c0 to %last step %c1 iter_args(%t = %top) -> (tensor<9x7x1xf64>) : i64 {
    %level = nd.sub %last, %k : i64
    %a = nd.extract_slice %y[%c0, %c0, %level] {sizes = array<i64: 9, 7, 1>, strides = array<i64: 1, 1, 1>} : tensor<9x7x16xf64> -> tensor<9x7x1xf64>
    %product = nd.mul %a, %t : tensor<9x7x1xf64>
    scf.yield %product : tensor<9x7x1xf64>
  }
  func.return %down : tensor<9x7x1xf64>
}

// -----

// With more columns, the loops compute as many columns at a time as a cache line has numbers. The column is the last axis
// of all arrays of a strip, so each op computes a vector, and what loops read of %x is brought into that order first. The
// last strip ends with the last column, so it computes some columns again.
//
// CHECK-LABEL: func.func @strips
// CHECK:         scf.for %row =
// CHECK:           %[[COUNT:.*]] = nd.constant {value = 3 : i64} : i64
// CHECK:           scf.for %strip = %{{.*}} to %[[COUNT]] step
// CHECK:             nd.mul %strip, %c8
// CHECK:             %[[MOST:.*]] = nd.constant {value = 12 : i64} : i64
// CHECK:             %[[FIRST:.*]] = nd.minimum %{{.*}}, %[[MOST]] : i64
// CHECK:             nd.extract_slice %x[{{.*}}] {sizes = array<i64: 1, 8, 16>
// CHECK:             %[[COPY:.*]] = nd.transpose %{{.*}} to tensor<1x1x16x8xf64>
// CHECK:             scf.for %k =
// CHECK:               nd.extract_slice %[[COPY]][{{.*}}, %k, {{.*}}] {sizes = array<i64: 1, 1, 1, 8>
// CHECK:               nd.add %{{.*}}, %{{.*}} : tensor<1x1x1x8xf64>
// CHECK:             nd.mul %{{.*}}, %{{.*}} : tensor<1x1x16x8xf64>
// CHECK:             scf.for %k_1 =
// CHECK-NOT:     scf.for
// CHECK:         func.return
func.func @strips(%x: tensor<10x20x16xf64>) -> tensor<9x20x1xf64> {
  %c0 = nd.constant {value = 0 : i64} : i64
  %c1 = nd.constant {value = 1 : i64} : i64
  %last = nd.constant {value = 15 : i64} : i64
  %zero = nd.constant {value = 0.0 : f64} : f64
  %zeros = nd.full %zero : f64 to tensor<9x20x16xf64>
  %up = scf.for %k = %c0 to %last step %c1 iter_args(%t = %zeros) -> (tensor<9x20x16xf64>) : i64 {
    %next = nd.add %k, %c1 : i64
    %a = nd.extract_slice %x[%c1, %c0, %k] {sizes = array<i64: 9, 20, 1>, strides = array<i64: 1, 1, 1>} : tensor<10x20x16xf64> -> tensor<9x20x1xf64>
    %b = nd.extract_slice %t[%c0, %c0, %k] {sizes = array<i64: 9, 20, 1>, strides = array<i64: 1, 1, 1>} : tensor<9x20x16xf64> -> tensor<9x20x1xf64>
    %sum = nd.add %a, %b : tensor<9x20x1xf64>
    %s = nd.insert_slice %sum, %t[%c0, %c0, %next] {sizes = array<i64: 9, 20, 1>, strides = array<i64: 1, 1, 1>} : tensor<9x20x1xf64> into tensor<9x20x16xf64>
    scf.yield %s : tensor<9x20x16xf64>
  }
  %y = nd.mul %up, %up : tensor<9x20x16xf64>
  %top = nd.extract_slice %y[%c0, %c0, %last] {sizes = array<i64: 9, 20, 1>, strides = array<i64: 1, 1, 1>} : tensor<9x20x16xf64> -> tensor<9x20x1xf64>
  %down = scf.for %k = %c0 to %last step %c1 iter_args(%t = %top) -> (tensor<9x20x1xf64>) : i64 {
    %level = nd.sub %last, %k : i64
    %a = nd.extract_slice %y[%c0, %c0, %level] {sizes = array<i64: 9, 20, 1>, strides = array<i64: 1, 1, 1>} : tensor<9x20x16xf64> -> tensor<9x20x1xf64>
    %product = nd.mul %a, %t : tensor<9x20x1xf64>
    scf.yield %product : tensor<9x20x1xf64>
  }
  func.return %down : tensor<9x20x1xf64>
}

// -----

// The sweep down reads the rows in the other order, so it needs all rows of the sweep up.
//
// CHECK-LABEL: func.func @other_rows
// CHECK:         scf.for %row =
// CHECK:             scf.for %k =
// CHECK:         nd.extract_slice %{{.*}} {sizes = array<i64: 9, 7, 16>, strides = array<i64: -1, -1, 1>}
// CHECK-NEXT:    scf.for %k
// CHECK:         func.return
func.func @other_rows(%x: tensor<10x7x16xf64>, %top: tensor<9x7x1xf64>) -> tensor<9x7x1xf64> {
  %c0 = nd.constant {value = 0 : i64} : i64
  %c1 = nd.constant {value = 1 : i64} : i64
  %last = nd.constant {value = 15 : i64} : i64
  %zero = nd.constant {value = 0.0 : f64} : f64
  %c6 = nd.constant {value = 6 : i64} : i64
  %c8 = nd.constant {value = 8 : i64} : i64
  %zeros = nd.full %zero : f64 to tensor<9x7x16xf64>
  %up = scf.for %k = %c0 to %last step %c1 iter_args(%t = %zeros) -> (tensor<9x7x16xf64>) : i64 {
    %next = nd.add %k, %c1 : i64
    %a = nd.extract_slice %x[%c1, %c0, %k] {sizes = array<i64: 9, 7, 1>, strides = array<i64: 1, 1, 1>} : tensor<10x7x16xf64> -> tensor<9x7x1xf64>
    %b = nd.extract_slice %t[%c0, %c0, %k] {sizes = array<i64: 9, 7, 1>, strides = array<i64: 1, 1, 1>} : tensor<9x7x16xf64> -> tensor<9x7x1xf64>
    %sum = nd.add %a, %b : tensor<9x7x1xf64>
    %s = nd.insert_slice %sum, %t[%c0, %c0, %next] {sizes = array<i64: 9, 7, 1>, strides = array<i64: 1, 1, 1>} : tensor<9x7x1xf64> into tensor<9x7x16xf64>
    scf.yield %s : tensor<9x7x16xf64>
  }
  %y = nd.extract_slice %up[%c8, %c6, %c0] {sizes = array<i64: 9, 7, 16>, strides = array<i64: -1, -1, 1>} : tensor<9x7x16xf64> -> tensor<9x7x16xf64>
  %down = scf.for %k = %c0 to %last step %c1 iter_args(%t = %top) -> (tensor<9x7x1xf64>) : i64 {
    %level = nd.sub %last, %k : i64
    %a = nd.extract_slice %y[%c0, %c0, %level] {sizes = array<i64: 9, 7, 1>, strides = array<i64: 1, 1, 1>} : tensor<9x7x16xf64> -> tensor<9x7x1xf64>
    %product = nd.mul %a, %t : tensor<9x7x1xf64>
    scf.yield %product : tensor<9x7x1xf64>
  }
  func.return %down : tensor<9x7x1xf64>
}

// -----

// The sum between the sweeps is not needed by the second one. Each row is summed where it is computed, so that `up` is not
// stored for the sum; the sums of rows are added after both sweeps. The check comes after both, too.
//
// CHECK-LABEL: func.func @sum_between
// CHECK:         scf.for %row =
// CHECK-NOT:     nd.check
// CHECK:           scf.for %row_1 =
// CHECK:             %[[UP:.*]] = scf.for %k =
// CHECK:             nd.sum %[[UP]] {axes = array<i64: 2>} : tensor<1x1x16xf64> to tensor<1x1xf64>
// CHECK:             scf.for %k_1 =
// CHECK:           nd.sum %{{.*}} {axes = array<i64: 1>} : tensor<1x7xf64> to tensor<1xf64>
// CHECK:         nd.sum %{{.*}} {axes = array<i64: 0>} : tensor<9xf64> to f64
// CHECK:         nd.check
// CHECK:         func.return
func.func @sum_between(%x: tensor<10x7x16xf64>, %is_good: i1) -> (tensor<9x7x1xf64>, f64) {
  %c0 = nd.constant {value = 0 : i64} : i64
  %c1 = nd.constant {value = 1 : i64} : i64
  %last = nd.constant {value = 15 : i64} : i64
  %zero = nd.constant {value = 0.0 : f64} : f64
  %zeros = nd.full %zero : f64 to tensor<9x7x16xf64>
  %up = scf.for %k = %c0 to %last step %c1 iter_args(%t = %zeros) -> (tensor<9x7x16xf64>) : i64 {
    %next = nd.add %k, %c1 : i64
    %a = nd.extract_slice %x[%c1, %c0, %k] {sizes = array<i64: 9, 7, 1>, strides = array<i64: 1, 1, 1>} : tensor<10x7x16xf64> -> tensor<9x7x1xf64>
    %b = nd.extract_slice %t[%c0, %c0, %k] {sizes = array<i64: 9, 7, 1>, strides = array<i64: 1, 1, 1>} : tensor<9x7x16xf64> -> tensor<9x7x1xf64>
    %sum = nd.add %a, %b : tensor<9x7x1xf64>
    %s = nd.insert_slice %sum, %t[%c0, %c0, %next] {sizes = array<i64: 9, 7, 1>, strides = array<i64: 1, 1, 1>} : tensor<9x7x1xf64> into tensor<9x7x16xf64>
    scf.yield %s : tensor<9x7x16xf64>
  }
  %sum = nd.sum %up {axes = array<i64: 0, 1, 2>} : tensor<9x7x16xf64> to f64
  nd.check %is_good, "ValueError", "not good"
  %y = nd.mul %up, %up : tensor<9x7x16xf64>
  %top = nd.extract_slice %y[%c0, %c0, %last] {sizes = array<i64: 9, 7, 1>, strides = array<i64: 1, 1, 1>} : tensor<9x7x16xf64> -> tensor<9x7x1xf64>
  %down = scf.for %k = %c0 to %last step %c1 iter_args(%t = %top) -> (tensor<9x7x1xf64>) : i64 {
    %level = nd.sub %last, %k : i64
    %a = nd.extract_slice %y[%c0, %c0, %level] {sizes = array<i64: 9, 7, 1>, strides = array<i64: 1, 1, 1>} : tensor<9x7x16xf64> -> tensor<9x7x1xf64>
    %product = nd.mul %a, %t : tensor<9x7x1xf64>
    scf.yield %product : tensor<9x7x1xf64>
  }
  func.return %down, %sum : tensor<9x7x1xf64>, f64
}

// -----

// A sum over the rows alone needs all of them: it comes after the loop over rows.
//
// CHECK-LABEL: func.func @sum_over_rows
// CHECK:         scf.for %row =
// CHECK-NOT:     nd.sum
// CHECK:             scf.for %k =
// CHECK:             scf.for %k_1 =
// CHECK:         nd.sum %{{.*}} {axes = array<i64: 0>} : tensor<9x7x16xf64> to tensor<7x16xf64>
// CHECK:         func.return
func.func @sum_over_rows(%x: tensor<10x7x16xf64>) -> (tensor<9x7x1xf64>, tensor<7x16xf64>) {
  %c0 = nd.constant {value = 0 : i64} : i64
  %c1 = nd.constant {value = 1 : i64} : i64
  %last = nd.constant {value = 15 : i64} : i64
  %zero = nd.constant {value = 0.0 : f64} : f64
  %zeros = nd.full %zero : f64 to tensor<9x7x16xf64>
  %up = scf.for %k = %c0 to %last step %c1 iter_args(%t = %zeros) -> (tensor<9x7x16xf64>) : i64 {
    %next = nd.add %k, %c1 : i64
    %a = nd.extract_slice %x[%c1, %c0, %k] {sizes = array<i64: 9, 7, 1>, strides = array<i64: 1, 1, 1>} : tensor<10x7x16xf64> -> tensor<9x7x1xf64>
    %b = nd.extract_slice %t[%c0, %c0, %k] {sizes = array<i64: 9, 7, 1>, strides = array<i64: 1, 1, 1>} : tensor<9x7x16xf64> -> tensor<9x7x1xf64>
    %sum = nd.add %a, %b : tensor<9x7x1xf64>
    %s = nd.insert_slice %sum, %t[%c0, %c0, %next] {sizes = array<i64: 9, 7, 1>, strides = array<i64: 1, 1, 1>} : tensor<9x7x1xf64> into tensor<9x7x16xf64>
    scf.yield %s : tensor<9x7x16xf64>
  }
  %sum = nd.sum %up {axes = array<i64: 0>} : tensor<9x7x16xf64> to tensor<7x16xf64>
  %y = nd.mul %up, %up : tensor<9x7x16xf64>
  %top = nd.extract_slice %y[%c0, %c0, %last] {sizes = array<i64: 9, 7, 1>, strides = array<i64: 1, 1, 1>} : tensor<9x7x16xf64> -> tensor<9x7x1xf64>
  %down = scf.for %k = %c0 to %last step %c1 iter_args(%t = %top) -> (tensor<9x7x1xf64>) : i64 {
    %level = nd.sub %last, %k : i64
    %a = nd.extract_slice %y[%c0, %c0, %level] {sizes = array<i64: 9, 7, 1>, strides = array<i64: 1, 1, 1>} : tensor<9x7x16xf64> -> tensor<9x7x1xf64>
    %product = nd.mul %a, %t : tensor<9x7x1xf64>
    scf.yield %product : tensor<9x7x1xf64>
  }
  func.return %down, %sum : tensor<9x7x1xf64>, tensor<7x16xf64>
}

// -----

// The loops need the checked index, so the check stays before them, and with it all ops before the check.
//
// CHECK-LABEL: func.func @check_before
// CHECK:         nd.add %{{.*}} : tensor<9x7x16xf64>
// CHECK:         %[[J:.*]] = nd.check_index
// CHECK:         scf.for %row =
// CHECK:             scf.for %k =
// CHECK:               nd.add %[[J]], %row
// CHECK:             scf.for %k_1 =
// CHECK:         func.return
func.func @check_before(%x: tensor<10x7x16xf64>, %i: i64) -> tensor<9x7x1xf64> {
  %c0 = nd.constant {value = 0 : i64} : i64
  %c1 = nd.constant {value = 1 : i64} : i64
  %last = nd.constant {value = 15 : i64} : i64
  %zero = nd.constant {value = 0.0 : f64} : f64
  %n = nd.constant {value = 10 : i64} : i64
  %part = nd.extract_slice %x[%c0, %c0, %c0] {sizes = array<i64: 9, 7, 16>, strides = array<i64: 1, 1, 1>} : tensor<10x7x16xf64> -> tensor<9x7x16xf64>
  %twice = nd.add %part, %part : tensor<9x7x16xf64>
  %j = nd.check_index %i, %n {axis = 0 : i64}
  %up = scf.for %k = %c0 to %last step %c1 iter_args(%t = %twice) -> (tensor<9x7x16xf64>) : i64 {
    %next = nd.add %k, %c1 : i64
    %a = nd.extract_slice %x[%j, %c0, %k] {sizes = array<i64: 9, 7, 1>, strides = array<i64: 1, 1, 1>} : tensor<10x7x16xf64> -> tensor<9x7x1xf64>
    %b = nd.extract_slice %t[%c0, %c0, %k] {sizes = array<i64: 9, 7, 1>, strides = array<i64: 1, 1, 1>} : tensor<9x7x16xf64> -> tensor<9x7x1xf64>
    %sum = nd.add %a, %b : tensor<9x7x1xf64>
    %s = nd.insert_slice %sum, %t[%c0, %c0, %next] {sizes = array<i64: 9, 7, 1>, strides = array<i64: 1, 1, 1>} : tensor<9x7x1xf64> into tensor<9x7x16xf64>
    scf.yield %s : tensor<9x7x16xf64>
  }
  %y = nd.mul %up, %up : tensor<9x7x16xf64>
  %top = nd.extract_slice %y[%c0, %c0, %last] {sizes = array<i64: 9, 7, 1>, strides = array<i64: 1, 1, 1>} : tensor<9x7x16xf64> -> tensor<9x7x1xf64>
  %down = scf.for %k = %c0 to %last step %c1 iter_args(%t = %top) -> (tensor<9x7x1xf64>) : i64 {
    %level = nd.sub %last, %k : i64
    %a = nd.extract_slice %y[%c0, %c0, %level] {sizes = array<i64: 9, 7, 1>, strides = array<i64: 1, 1, 1>} : tensor<9x7x16xf64> -> tensor<9x7x1xf64>
    %product = nd.mul %a, %t : tensor<9x7x1xf64>
    scf.yield %product : tensor<9x7x1xf64>
  }
  func.return %down : tensor<9x7x1xf64>
}
