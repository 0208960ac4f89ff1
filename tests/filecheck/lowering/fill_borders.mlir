// RUN: mlirad-opt %s -p 'mlirad-fill-borders{least=4}' | filecheck %s
// An array of zeros that is mostly overwritten: only the border is filled.
//
//     0 0 0 0 0 0 0 0      1st strip
//     0 . . . . . . 0      3rd and 4th strip; inside, nothing
//     0 . . . . . . 0
//     0 0 0 0 0 0 0 0      2nd strip

// CHECK-LABEL: func.func @overwritten
// CHECK-NOT:     nd.full {{.*}} tensor<6x8xf64>
// CHECK:         tensor.empty() : tensor<6x8xf64>
// CHECK-COUNT-2: nd.insert_slice {{.*}} : tensor<1x8xf64> into
// CHECK-COUNT-2: nd.insert_slice {{.*}} : tensor<4x1xf64> into
// CHECK:         nd.insert_slice %s, {{.*}} : tensor<4x6xf64> into
// CHECK-NEXT:    func.return
func.func @overwritten(%s: tensor<4x6xf64>) -> tensor<6x8xf64> {
  %c1 = nd.constant {value = 1 : i64} : i64
  %zero = nd.constant {value = 0.0 : f64} : f64
  %zeros = nd.full %zero : f64 to tensor<6x8xf64>
  %a = nd.insert_slice %s, %zeros[%c1, %c1] {sizes = array<i64: 4, 6>, strides = array<i64: 1, 1>} : tensor<4x6xf64> into tensor<6x8xf64>
  func.return %a : tensor<6x8xf64>
}

// Zeros that are read, or added to, before they are overwritten stay.
// CHECK-LABEL: func.func @added_to
// CHECK-NOT:     tensor.empty
// CHECK:         func.return
func.func @added_to(%s: tensor<6xf64>) -> tensor<8xf64> {
  %c0 = nd.constant {value = 0 : i64} : i64
  %c1 = nd.constant {value = 1 : i64} : i64
  %zero = nd.constant {value = 0.0 : f64} : f64
  %zeros = nd.full %zero : f64 to tensor<8xf64>
  %a = nd.add_slice %s, %zeros[%c0] {sizes = array<i64: 6>, strides = array<i64: 1>} : tensor<6xf64> into tensor<8xf64>
  %r = nd.extract_slice %a[%c1] {sizes = array<i64: 6>, strides = array<i64: 1>} : tensor<8xf64> -> tensor<6xf64>
  %b = nd.insert_slice %r, %a[%c0] {sizes = array<i64: 6>, strides = array<i64: 1>} : tensor<6xf64> into tensor<8xf64>
  func.return %b : tensor<8xf64>
}

// Padded images have four axes, batches of volumes five.
// CHECK-LABEL: func.func @images
// CHECK-NOT:     nd.full {{.*}} tensor<2x3x1x6x8xf64>
// CHECK:         tensor.empty() : tensor<2x3x1x6x8xf64>
// CHECK-COUNT-2: nd.insert_slice {{.*}} : tensor<2x3x1x1x8xf64> into
// CHECK-COUNT-2: nd.insert_slice {{.*}} : tensor<2x3x1x4x1xf64> into
// CHECK:         nd.insert_slice %s, {{.*}} : tensor<2x3x1x4x6xf64> into
func.func @images(%s: tensor<2x3x1x4x6xf64>) -> tensor<2x3x1x6x8xf64> {
  %c0 = nd.constant {value = 0 : i64} : i64
  %c1 = nd.constant {value = 1 : i64} : i64
  %zero = nd.constant {value = 0.0 : f64} : f64
  %zeros = nd.full %zero : f64 to tensor<2x3x1x6x8xf64>
  %a = nd.insert_slice %s, %zeros[%c0, %c0, %c0, %c1, %c1] {sizes = array<i64: 2, 3, 1, 4, 6>, strides = array<i64: 1, 1, 1, 1, 1>} : tensor<2x3x1x4x6xf64> into tensor<2x3x1x6x8xf64>
  func.return %a : tensor<2x3x1x6x8xf64>
}
