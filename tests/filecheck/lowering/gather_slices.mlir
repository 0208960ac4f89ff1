// RUN: mlirad-opt %s -p 'mlirad-gather-slices{least=4}' | filecheck %s
// The gradient of a stencil adds one array to several slices of another. Where all of them overlap it is one sum, which
// reads and writes memory once; along the last axis the borders are sums, too.
//
//     t:  . . . . . . . .
//      +  s s s s s s          at 0
//      +      s s s s s s      at 2
//             |=====|          one sum of t, s[2:6] and s[0:4]

// CHECK-LABEL: func.func @stencil
// CHECK:         nd.insert_slice
// CHECK-SAME:      tensor<2xf64> into tensor<8xf64>
// CHECK-COUNT-2: nd.add %{{.*}} : tensor<4xf64>
// CHECK:         nd.insert_slice
// CHECK-SAME:      tensor<4xf64> into tensor<8xf64>
// CHECK:         nd.insert_slice
// CHECK-SAME:      tensor<2xf64> into tensor<8xf64>
// CHECK-NEXT:    func.return
func.func @stencil(%s: tensor<6xf64>, %t: tensor<8xf64>) -> tensor<8xf64> {
  %c0 = nd.constant {value = 0 : i64} : i64
  %c2 = nd.constant {value = 2 : i64} : i64
  %a = nd.add_slice %s, %t[%c0] {sizes = array<i64: 6>, strides = array<i64: 1>} : tensor<6xf64> into tensor<8xf64>
  %b = nd.add_slice %s, %a[%c2] {sizes = array<i64: 6>, strides = array<i64: 1>} : tensor<6xf64> into tensor<8xf64>
  func.return %b : tensor<8xf64>
}

// What was set to zero is not read: neither in the middle nor at the borders is there a fill of its own.
// CHECK-LABEL: func.func @cleared
// CHECK-NOT:     tensor<6xf64> into
// CHECK:         %[[BORDER:.*]] = nd.full %zero : f64 to tensor<1xf64>
// CHECK:         nd.add %[[BORDER]], %{{.*}} : tensor<1xf64>
// CHECK:         %[[OLD:.*]] = nd.full %zero : f64 to tensor<4xf64>
// CHECK:         nd.add %[[OLD]], %{{.*}} : tensor<4xf64>
// CHECK:         func.return
func.func @cleared(%s: tensor<6xf64>, %t: tensor<8xf64>, %zero: f64) -> tensor<8xf64> {
  %c0 = nd.constant {value = 0 : i64} : i64
  %c1 = nd.constant {value = 1 : i64} : i64
  %c2 = nd.constant {value = 2 : i64} : i64
  %zeros = nd.full %zero : f64 to tensor<6xf64>
  %z = nd.insert_slice %zeros, %t[%c1] {sizes = array<i64: 6>, strides = array<i64: 1>} : tensor<6xf64> into tensor<8xf64>
  %a = nd.add_slice %s, %z[%c0] {sizes = array<i64: 6>, strides = array<i64: 1>} : tensor<6xf64> into tensor<8xf64>
  %b = nd.add_slice %s, %a[%c2] {sizes = array<i64: 6>, strides = array<i64: 1>} : tensor<6xf64> into tensor<8xf64>
  func.return %b : tensor<8xf64>
}

// What was put there before is the first part of the sum, if it is computed of what is added: it needs no array.
// CHECK-LABEL: func.func @put
// CHECK-NOT:     tensor<6xf64> into
// CHECK-NOT:     nd.neg {{.*}} : tensor<6xf64>
// CHECK:         %[[OLD:.*]] = nd.neg {{.*}} : tensor<5xf64>
// CHECK:         nd.add %[[OLD]], %{{.*}} : tensor<5xf64>
// CHECK:         func.return
func.func @put(%u: tensor<6xf64>, %t: tensor<7xf64>) -> tensor<7xf64> {
  %c0 = nd.constant {value = 0 : i64} : i64
  %c1 = nd.constant {value = 1 : i64} : i64
  %s = nd.exp %u : tensor<6xf64>
  %n = nd.neg %s : tensor<6xf64>
  %a = nd.insert_slice %n, %t[%c0] {sizes = array<i64: 6>, strides = array<i64: 1>} : tensor<6xf64> into tensor<7xf64>
  %b = nd.add_slice %s, %a[%c1] {sizes = array<i64: 6>, strides = array<i64: 1>} : tensor<6xf64> into tensor<7xf64>
  func.return %b : tensor<7xf64>
}

// Another array at the same place is a part of the sum. Half of a slice computed of a slice is computed where it is added.
// CHECK-LABEL: func.func @several
// CHECK-NOT:     nd.mul {{.*}} : tensor<6xf64>
// CHECK:         nd.mul {{.*}} : tensor<4xf64>
// CHECK:         func.return
func.func @several(%s: tensor<6xf64>, %x: tensor<9xf64>, %t: tensor<8xf64>, %half: f64) -> tensor<8xf64> {
  %c0 = nd.constant {value = 0 : i64} : i64
  %c2 = nd.constant {value = 2 : i64} : i64
  %halves = nd.full %half : f64 to tensor<6xf64>
  %p = nd.extract_slice %x[%c2] {sizes = array<i64: 6>, strides = array<i64: 1>} : tensor<9xf64> -> tensor<6xf64>
  %h = nd.mul %p, %halves : tensor<6xf64>
  %a = nd.add_slice %s, %t[%c0] {sizes = array<i64: 6>, strides = array<i64: 1>} : tensor<6xf64> into tensor<8xf64>
  %b = nd.add_slice %h, %a[%c2] {sizes = array<i64: 6>, strides = array<i64: 1>} : tensor<6xf64> into tensor<8xf64>
  func.return %b : tensor<8xf64>
}

// A slice of an array that is overwritten before the last addition is not read again.
// CHECK-LABEL: func.func @overwritten
// CHECK:         nd.mul {{.*}} : tensor<6xf64>
// CHECK:         func.return
func.func @overwritten(%x: tensor<9xf64>, %half: f64) -> tensor<9xf64> {
  %c0 = nd.constant {value = 0 : i64} : i64
  %c2 = nd.constant {value = 2 : i64} : i64
  %halves = nd.full %half : f64 to tensor<6xf64>
  %p = nd.extract_slice %x[%c2] {sizes = array<i64: 6>, strides = array<i64: 1>} : tensor<9xf64> -> tensor<6xf64>
  %h = nd.mul %p, %halves : tensor<6xf64>
  %a = nd.add_slice %h, %x[%c0] {sizes = array<i64: 6>, strides = array<i64: 1>} : tensor<6xf64> into tensor<9xf64>
  %b = nd.add_slice %h, %a[%c2] {sizes = array<i64: 6>, strides = array<i64: 1>} : tensor<6xf64> into tensor<9xf64>
  func.return %b : tensor<9xf64>
}

// Slices that hardly overlap, and a place that only the run knows: these stay.
// CHECK-LABEL: func.func @apart
// CHECK-COUNT-4: nd.add_slice
// CHECK:         func.return
func.func @apart(%s: tensor<6xf64>, %t: tensor<12xf64>, %i: i64) -> tensor<12xf64> {
  %c0 = nd.constant {value = 0 : i64} : i64
  %c6 = nd.constant {value = 6 : i64} : i64
  %a = nd.add_slice %s, %t[%c0] {sizes = array<i64: 6>, strides = array<i64: 1>} : tensor<6xf64> into tensor<12xf64>
  %b = nd.add_slice %s, %a[%c6] {sizes = array<i64: 6>, strides = array<i64: 1>} : tensor<6xf64> into tensor<12xf64>
  %c = nd.add_slice %s, %b[%i] {sizes = array<i64: 6>, strides = array<i64: 1>} : tensor<6xf64> into tensor<12xf64>
  %d = nd.add_slice %s, %c[%i] {sizes = array<i64: 6>, strides = array<i64: 1>} : tensor<6xf64> into tensor<12xf64>
  func.return %d : tensor<12xf64>
}

// The ends of a row often have formulas of their own, so that elements are written between the additions. Beside the
// part that all slices share they are terms of the borders. An array that was filled is not read.
//
//     0:  . . . . . . . .
//      =                e      at 7
//      +  s s s s s s          at 0
//      +      s s s s s s      at 2
//      +    e                  at 1
//
// CHECK-LABEL: func.func @elements
// CHECK-NOT:     nd.extract_slice %zeros
// CHECK-NOT:     nd.add_at
// CHECK:         %[[END:.*]] = nd.full %e : f64 to tensor<1xf64>
// CHECK:         nd.add {{.*}}%[[END]] : tensor<1xf64>
// CHECK:         nd.insert_slice {{.*}} : tensor<4xf64> into tensor<8xf64>
// CHECK:         func.return
func.func @elements(%s: tensor<6xf64>, %e: f64, %zero: f64) -> tensor<8xf64> {
  %c0 = nd.constant {value = 0 : i64} : i64
  %c1 = nd.constant {value = 1 : i64} : i64
  %c2 = nd.constant {value = 2 : i64} : i64
  %c7 = nd.constant {value = 7 : i64} : i64
  %zeros = nd.full %zero : f64 to tensor<8xf64>
  %a = nd.insert %e, %zeros[%c7] : f64 into tensor<8xf64>
  %b = nd.add_slice %s, %a[%c0] {sizes = array<i64: 6>, strides = array<i64: 1>} : tensor<6xf64> into tensor<8xf64>
  %c = nd.add_slice %s, %b[%c2] {sizes = array<i64: 6>, strides = array<i64: 1>} : tensor<6xf64> into tensor<8xf64>
  %d = nd.add_at %e, %c[%c1] : f64 into tensor<8xf64>
  func.return %d : tensor<8xf64>
}

// An element in the shared part keeps its place in the order of the additions.
// CHECK-LABEL: func.func @element_inside
// CHECK:         nd.add_slice
// CHECK:         nd.add_at
// CHECK:         nd.add_slice
func.func @element_inside(%s: tensor<6xf64>, %e: f64, %t: tensor<8xf64>) -> tensor<8xf64> {
  %c0 = nd.constant {value = 0 : i64} : i64
  %c2 = nd.constant {value = 2 : i64} : i64
  %c3 = nd.constant {value = 3 : i64} : i64
  %b = nd.add_slice %s, %t[%c0] {sizes = array<i64: 6>, strides = array<i64: 1>} : tensor<6xf64> into tensor<8xf64>
  %c = nd.add_at %e, %b[%c3] : f64 into tensor<8xf64>
  %d = nd.add_slice %s, %c[%c2] {sizes = array<i64: 6>, strides = array<i64: 1>} : tensor<6xf64> into tensor<8xf64>
  func.return %d : tensor<8xf64>
}

// A term of two arrays is computed in the sum, if only the term needs these operations: it is then not written and read.
// CHECK-LABEL: func.func @of_two_arrays
// CHECK-NOT:     nd.mul {{.*}} : tensor<6xf64>
// CHECK-NOT:     nd.neg {{.*}} : tensor<6xf64>
// CHECK:         nd.neg {{.*}} : tensor<4xf64>
// CHECK:         nd.mul {{.*}} : tensor<4xf64>
// CHECK:         func.return
func.func @of_two_arrays(%u: tensor<6xf64>, %t: tensor<8xf64>) -> tensor<8xf64> {
  %c0 = nd.constant {value = 0 : i64} : i64
  %c2 = nd.constant {value = 2 : i64} : i64
  %s = nd.exp %u : tensor<6xf64>
  %y = nd.sin %u : tensor<6xf64>
  %n = nd.neg %s : tensor<6xf64>
  %m = nd.mul %n, %y : tensor<6xf64>
  %v = nd.mul %m, %n : tensor<6xf64>
  %a = nd.add_slice %v, %t[%c0] {sizes = array<i64: 6>, strides = array<i64: 1>} : tensor<6xf64> into tensor<8xf64>
  %b = nd.add_slice %s, %a[%c2] {sizes = array<i64: 6>, strides = array<i64: 1>} : tensor<6xf64> into tensor<8xf64>
  func.return %b : tensor<8xf64>
}

// An array that another op reads is there anyway: the term is computed of it.
// CHECK-LABEL: func.func @read_elsewhere
// CHECK:         %m = nd.div {{.*}} : tensor<6xf64>
// CHECK-NOT:     nd.mul {{.*}} : tensor<6xf64>
// CHECK:         %[[M:.*]] = nd.extract_slice %m[{{.*}} -> tensor<4xf64>
// CHECK:         nd.mul %[[M]], %{{.*}} : tensor<4xf64>
// CHECK:         func.return
func.func @read_elsewhere(%u: tensor<6xf64>, %t: tensor<8xf64>) -> (tensor<8xf64>, tensor<6xf64>) {
  %c0 = nd.constant {value = 0 : i64} : i64
  %c2 = nd.constant {value = 2 : i64} : i64
  %s = nd.exp %u : tensor<6xf64>
  %y = nd.sin %u : tensor<6xf64>
  %m = nd.div %s, %y : tensor<6xf64>
  %v = nd.mul %m, %y : tensor<6xf64>
  %a = nd.add_slice %v, %t[%c0] {sizes = array<i64: 6>, strides = array<i64: 1>} : tensor<6xf64> into tensor<8xf64>
  %b = nd.add_slice %s, %a[%c2] {sizes = array<i64: 6>, strides = array<i64: 1>} : tensor<6xf64> into tensor<8xf64>
  func.return %b, %m : tensor<8xf64>, tensor<6xf64>
}

// What is put there is computed in the sum, also if only it needs the array that it is computed of: the result is written
// once, and not read. So it is whether or not the array is read elsewhere, for a value beside its gradient.
// CHECK-LABEL: func.func @put_of_one_array
// CHECK:         %m = nd.sub {{.*}} : tensor<6xf64>
// CHECK-NOT:     nd.insert_slice {{.*}} : tensor<6xf64> into
// CHECK:         %[[M:.*]] = nd.extract_slice %m[{{.*}} -> tensor<4xf64>
// CHECK:         nd.add %[[M]], %[[M]] : tensor<4xf64>
// CHECK:         func.return
func.func @put_of_one_array(%u: tensor<6xf64>, %w: tensor<6xf64>, %t: tensor<8xf64>) -> tensor<8xf64> {
  %c0 = nd.constant {value = 0 : i64} : i64
  %c2 = nd.constant {value = 2 : i64} : i64
  %s = nd.exp %u : tensor<6xf64>
  %m = nd.sub %s, %w : tensor<6xf64>
  %v = nd.add %m, %m : tensor<6xf64>
  %a = nd.insert_slice %v, %t[%c0] {sizes = array<i64: 6>, strides = array<i64: 1>} : tensor<6xf64> into tensor<8xf64>
  %b = nd.add_slice %s, %a[%c2] {sizes = array<i64: 6>, strides = array<i64: 1>} : tensor<6xf64> into tensor<8xf64>
  func.return %b : tensor<8xf64>
}
