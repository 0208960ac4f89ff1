// RUN: mlirad-opt %s -p 'mlirad-narrow-arrays,mlirad-canonicalize' | filecheck %s

// Each trip computes a column of factors from the one before and from numbers, so all rows that are read (1 to 7) are
// equal. One is stored, and computed with numbers. What is not read, rows 0 and 8, may be anything.

// CHECK-LABEL: func.func @factors
// CHECK:         nd.full %zero : f64 to tensor<1x7xf64>
// CHECK:         scf.for {{.*}} -> (tensor<1x7xf64>)
// CHECK:           %[[OLD:.*]] = nd.extract %{{.*}}[%c0{{.*}}, %j] : tensor<1x7xf64> -> f64
// CHECK:           %[[NEW:.*]] = nd.div %x, %{{.*}} : f64
// CHECK:           nd.insert %[[NEW]], %{{.*}}[%c0{{.*}}, %{{.*}}] : f64 into tensor<1x7xf64>
// CHECK:         %[[LAST:.*]] = nd.extract
// CHECK:         nd.full %[[LAST]] : f64 to tensor<7x1xf64>
func.func @factors(%x: f64) -> tensor<7x1xf64> {
  %c0 = nd.constant {value = 0 : i64} : i64
  %c1 = nd.constant {value = 1 : i64} : i64
  %c6 = nd.constant {value = 6 : i64} : i64
  %zero = nd.constant {value = 0.0 : f64} : f64
  %zeros = nd.full %zero : f64 to tensor<9x7xf64>
  %side = nd.broadcast %x {dims = array<i64>} : f64 to tensor<7xf64>
  %p = scf.for %j = %c0 to %c6 step %c1 iter_args(%q = %zeros) -> (tensor<9x7xf64>) : i64 {
    %old = nd.extract_slice %q[%c1, %j] {sizes = array<i64: 7, 1>, strides = array<i64: 1, 1>} : tensor<9x7xf64> -> tensor<7x1xf64>
    %flat = nd.reshape %old : tensor<7x1xf64> to tensor<7xf64>
    %sum = nd.add %flat, %side : tensor<7xf64>
    %new = nd.div %side, %sum : tensor<7xf64>
    %column = nd.reshape %new : tensor<7xf64> to tensor<7x1xf64>
    %next = nd.add %j, %c1 : i64
    %r = nd.insert_slice %column, %q[%c1, %next] {sizes = array<i64: 7, 1>, strides = array<i64: 1, 1>} : tensor<7x1xf64> into tensor<9x7xf64>
    scf.yield %r : tensor<9x7xf64>
  }
  %last = nd.extract_slice %p[%c1, %c6] {sizes = array<i64: 7, 1>, strides = array<i64: 1, 1>} : tensor<9x7xf64> -> tensor<7x1xf64>
  func.return %last : tensor<7x1xf64>
}

// Planes that are equal along one of their axes keep the other, and what is added to them has one row.

// CHECK-LABEL: func.func @planes
// CHECK:         %[[ROW:.*]] = nd.broadcast %x {dims = array<i64: 1>} : tensor<5xf64> to tensor<1x5xf64>
// CHECK:         nd.mul %[[ROW]], %[[ROW]] : tensor<1x5xf64>
// CHECK:         nd.full %zero : f64 to tensor<1x5x3xf64>
// CHECK:         nd.insert_slice {{.*}}[%c0, %c0, %k] {sizes = array<i64: 1, 5, 1>, {{.*}} into tensor<1x5x3xf64>
// CHECK:         nd.extract_slice {{.*}} {sizes = array<i64: 1, 5, 1>
// CHECK:         nd.broadcast {{.*}} {dims = array<i64: 1, 2>} : tensor<5x1xf64> to tensor<4x5x1xf64>
func.func @planes(%x: tensor<5xf64>, %k: i64) -> tensor<4x5x1xf64> {
  %c0 = nd.constant {value = 0 : i64} : i64
  %zero = nd.constant {value = 0.0 : f64} : f64
  %zeros = nd.full %zero : f64 to tensor<4x5x3xf64>
  %rows = nd.broadcast %x {dims = array<i64: 1>} : tensor<5xf64> to tensor<4x5xf64>
  %squares = nd.mul %rows, %rows : tensor<4x5xf64>
  %plane = nd.reshape %squares : tensor<4x5xf64> to tensor<4x5x1xf64>
  %p = nd.add_slice %plane, %zeros[%c0, %c0, %k] {sizes = array<i64: 4, 5, 1>, strides = array<i64: 1, 1, 1>} : tensor<4x5x1xf64> into tensor<4x5x3xf64>
  %q = nd.extract_slice %p[%c0, %c0, %c0] {sizes = array<i64: 4, 5, 1>, strides = array<i64: 1, 1, 1>} : tensor<4x5x3xf64> -> tensor<4x5x1xf64>
  func.return %q : tensor<4x5x1xf64>
}

// Row 0 is read but not written; the second array gets a column whose rows differ; the third gets one of the second,
// and the fourth begins at a row that is not known.

// CHECK-LABEL: func.func @stay
// CHECK:         nd.insert_slice {{.*}} into tensor<5x7xf64>
// CHECK:         nd.insert_slice {{.*}} into tensor<4x8xf64>
// CHECK:         nd.insert_slice {{.*}} into tensor<4x9xf64>
// CHECK:         nd.insert_slice {{.*}} into tensor<6x6xf64>
func.func @stay(%x: f64, %y: tensor<4x1xf64>, %j: i64) -> (tensor<5x1xf64>, tensor<4x1xf64>, tensor<4x1xf64>) {
  %c0 = nd.constant {value = 0 : i64} : i64
  %c1 = nd.constant {value = 1 : i64} : i64
  %column = nd.full %x : f64 to tensor<4x1xf64>
  %zero = nd.constant {value = 0.0 : f64} : f64
  %p = nd.full %zero : f64 to tensor<5x7xf64>
  %p_1 = nd.insert_slice %column, %p[%c1, %j] {sizes = array<i64: 4, 1>, strides = array<i64: 1, 1>} : tensor<4x1xf64> into tensor<5x7xf64>
  %a = nd.extract_slice %p_1[%c0, %c0] {sizes = array<i64: 5, 1>, strides = array<i64: 1, 1>} : tensor<5x7xf64> -> tensor<5x1xf64>
  %q = nd.full %zero : f64 to tensor<4x8xf64>
  %q_1 = nd.insert_slice %y, %q[%c0, %j] {sizes = array<i64: 4, 1>, strides = array<i64: 1, 1>} : tensor<4x1xf64> into tensor<4x8xf64>
  %b = nd.extract_slice %q_1[%c0, %c0] {sizes = array<i64: 4, 1>, strides = array<i64: 1, 1>} : tensor<4x8xf64> -> tensor<4x1xf64>
  %r = nd.full %zero : f64 to tensor<4x9xf64>
  %r_1 = nd.insert_slice %b, %r[%c0, %j] {sizes = array<i64: 4, 1>, strides = array<i64: 1, 1>} : tensor<4x1xf64> into tensor<4x9xf64>
  %c = nd.extract_slice %r_1[%c0, %c1] {sizes = array<i64: 4, 1>, strides = array<i64: 1, 1>} : tensor<4x9xf64> -> tensor<4x1xf64>
  %s = nd.full %zero : f64 to tensor<6x6xf64>
  %s_1 = nd.insert_slice %column, %s[%j, %c0] {sizes = array<i64: 4, 1>, strides = array<i64: 1, 1>} : tensor<4x1xf64> into tensor<6x6xf64>
  %d = nd.extract_slice %s_1[%c1, %c0] {sizes = array<i64: 4, 1>, strides = array<i64: 1, 1>} : tensor<6x6xf64> -> tensor<4x1xf64>
  %e = nd.add %c, %d : tensor<4x1xf64>
  func.return %a, %b, %e : tensor<5x1xf64>, tensor<4x1xf64>, tensor<4x1xf64>
}
