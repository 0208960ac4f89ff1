// RUN: mlirad-opt %s -p 'mlirad-canonicalize' | filecheck %s

// What is exact is applied: one, minus zero, a double negation.
// CHECK-LABEL: func.func @exact
// CHECK-NEXT:    func.return %x, %x, %x, %x
func.func @exact(%x: f64) -> (f64, f64, f64, f64) {
  %one = nd.constant {value = 1.0 : f64} : f64
  %minus_zero = nd.constant {value = -0.0 : f64} : f64
  %zero = nd.constant {value = 0.0 : f64} : f64
  %a = nd.mul %one, %x : f64
  %b = nd.add %x, %minus_zero : f64
  %c = nd.sub %x, %zero : f64
  %d = nd.neg %x : f64
  %e = nd.neg %d : f64
  func.return %a, %b, %c, %e : f64, f64, f64, f64
}

// x + 0.0 makes 0.0 of -0.0, and x * 0.0 makes nan of inf: both stay. Of integers they go.
// CHECK-LABEL: func.func @inexact
// CHECK:         nd.add %x
// CHECK-NEXT:    nd.mul %x
// CHECK-NEXT:    func.return %a, %b, %n, %zero_i
func.func @inexact(%x: f64, %n: i64) -> (f64, f64, i64, i64) {
  %zero = nd.constant {value = 0.0 : f64} : f64
  %zero_i = nd.constant {value = 0 : i64} : i64
  %a = nd.add %x, %zero : f64
  %b = nd.mul %x, %zero : f64
  %c = nd.add %n, %zero_i : i64
  %d = nd.mul %n, %zero_i : i64
  func.return %a, %b, %c, %d : f64, f64, i64, i64
}

// Numbers are computed, arrays of one number are computed once.
// CHECK-LABEL: func.func @known
// CHECK-NEXT:    %[[A:.*]] = nd.constant {value = 6.000000e+00 : f64}
// CHECK-NEXT:    %[[B:.*]] = nd.constant {value = 6.000000e+00 : f64}
// CHECK-NEXT:    %[[FULL:.*]] = nd.full %[[B]] : f64 to tensor<3xf64>
// CHECK-NEXT:    func.return %[[A]], %[[FULL]]
func.func @known() -> (f64, tensor<3xf64>) {
  %two = nd.constant {value = 2.0 : f64} : f64
  %three = nd.constant {value = 3.0 : f64} : f64
  %a = nd.mul %two, %three : f64
  %twos = nd.constant {value = dense<2.0> : tensor<3xf64>} : tensor<3xf64>
  %threes = nd.broadcast %three {dims = array<i64>} : f64 to tensor<3xf64>
  %b = nd.mul %twos, %threes : tensor<3xf64>
  func.return %a, %b : f64, tensor<3xf64>
}

// A float that was widened is what it was; a 64-bit integer that was made a float may not be.
// CHECK-LABEL: func.func @casts
// CHECK-NEXT:    nd.cast %n
// CHECK-NEXT:    %[[BACK:.*]] = nd.cast
// CHECK-NEXT:    func.return %x, %[[BACK]]
func.func @casts(%x: f32, %n: i64) -> (f32, i64) {
  %a = nd.cast %x : f32 to f64
  %b = nd.cast %a : f64 to f32
  %c = nd.cast %n : i64 to f64
  %d = nd.cast %c : f64 to i64
  func.return %b, %d : f32, i64
}

// Numbers are added up; of floats that would round otherwise.
// CHECK-LABEL: func.func @offsets
// CHECK-DAG:     %[[FIVE:.*]] = nd.constant {value = 5 : i64}
// CHECK-DAG:     nd.add %n, %[[FIVE]]
// CHECK:         nd.add %{{.*}}, %h
// CHECK:         func.return %n,
func.func @offsets(%n: i64, %x: f64) -> (i64, i64, f64) {
  %a = nd.constant {value = 2 : i64} : i64
  %b = nd.constant {value = 3 : i64} : i64
  %g = nd.constant {value = 1.0e100 : f64} : f64
  %h = nd.constant {value = -1.0e100 : f64} : f64
  %c = nd.add %n, %a : i64
  %d = nd.sub %c, %a : i64
  %e = nd.add %b, %c : i64
  %f = nd.add %x, %g : f64
  %k = nd.add %f, %h : f64
  func.return %d, %e, %k : i64, i64, f64
}

// A cotangent times a finite number is never nan where the cotangent is 0; times any other number it may be.
// CHECK-LABEL: func.func @annihilated
// CHECK:         %[[D:.*]] = nd.annihilate %c by %g
// CHECK-NEXT:    func.return %a, %b, %[[D]]
func.func @annihilated(%g: f64, %x: f64, %p: i1) -> (f64, f64, f64) {
  %one = nd.constant {value = 1.5 : f64} : f64
  %minus = nd.constant {value = -1.5 : f64} : f64
  %sign = nd.select %p, %one, %minus : i1, f64
  %a = nd.mul %g, %one : f64
  %b = nd.mul %sign, %g : f64
  %c = nd.mul %g, %x : f64
  %d = nd.annihilate %a by %g : f64
  %e = nd.annihilate %b by %g : f64
  %f = nd.annihilate %c by %g : f64
  func.return %d, %e, %f : f64, f64, f64
}
