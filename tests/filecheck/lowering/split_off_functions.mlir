// RUN: mlirad-opt %s -p 'mlirad-split-off-functions,mlirad-canonicalize,mlirad-dce' | filecheck %s

// A reverse sweep goes from one cotangent to the one before it, but its cosines are of values that are all known: they
// are computed before it, in vectors, and stored as the reverse sweep reads them: from the last to the first.
//
// CHECK-LABEL: func.func @reverse
// CHECK: %[[PART:.*]] = nd.extract_slice %y[%{{.*}}] {sizes = array<i64: 99>, strides = array<i64: 1>}
// CHECK: %[[ALL:.*]] = nd.cos %[[PART]] : tensor<99xf64>
// CHECK: scf.for
// CHECK-NOT: nd.cos
// CHECK: %[[LAST:.*]] = nd.constant {value = 98 : i64}
// CHECK-NEXT: %[[PLACE:.*]] = nd.sub %[[LAST]], %i
// CHECK-NEXT: %{{.*}} = nd.extract %[[ALL]][%[[PLACE]]]
// CHECK: scf.yield
func.func @reverse(%y: tensor<100xf64>, %g: f64) -> f64 {
  %c0 = nd.constant {value = 0 : i64} : i64
  %c1 = nd.constant {value = 1 : i64} : i64
  %n = nd.constant {value = 99 : i64} : i64
  %last = nd.constant {value = 98 : i64} : i64
  %s = scf.for %i = %c0 to %n step %c1 iter_args(%t = %g) -> (f64) : i64 {
    %q = nd.sub %last, %i : i64
    %a = nd.extract %y[%q] : tensor<100xf64> -> f64
    %b = nd.cos %a : f64
    %c = nd.mul %t, %b : f64
    %d = nd.add %c, %a : f64
    scf.yield %d : f64
  }
  func.return %s : f64
}

// A sine of what the trip before has computed stays, as does one of a value that the loop writes.
//
// CHECK-LABEL: func.func @forward
// CHECK-NOT: tensor<99xf64>
// CHECK: scf.for
// CHECK: nd.sin
// CHECK: nd.cos
// CHECK: scf.yield
func.func @forward(%x: tensor<100xf64>, %start: f64) -> (f64, tensor<100xf64>) {
  %c0 = nd.constant {value = 0 : i64} : i64
  %c1 = nd.constant {value = 1 : i64} : i64
  %n = nd.constant {value = 99 : i64} : i64
  %s, %y = scf.for %i = %c0 to %n step %c1 iter_args(%t = %start, %z = %x) -> (f64, tensor<100xf64>) : i64 {
    %a = nd.extract %z[%i] : tensor<100xf64> -> f64
    %b = nd.sin %t : f64
    %c = nd.cos %a : f64
    %d = nd.add %b, %c : f64
    %next = nd.add %i, %c1 : i64
    %w = nd.insert %d, %z[%next] : f64 into tensor<100xf64>
    scf.yield %d, %w : f64, tensor<100xf64>
  }
  func.return %s, %y : f64, tensor<100xf64>
}

// Few trips are not worth an array.
//
// CHECK-LABEL: func.func @few
// CHECK: scf.for
// CHECK: nd.sin
// CHECK: scf.yield
func.func @few(%x: tensor<9xf64>, %start: f64) -> f64 {
  %c0 = nd.constant {value = 0 : i64} : i64
  %c1 = nd.constant {value = 1 : i64} : i64
  %n = nd.constant {value = 9 : i64} : i64
  %s = scf.for %i = %c0 to %n step %c1 iter_args(%t = %start) -> (f64) : i64 {
    %a = nd.extract %x[%i] : tensor<9xf64> -> f64
    %b = nd.sin %a : f64
    %c = nd.mul %t, %b : f64
    %d = nd.add %c, %a : f64
    scf.yield %d : f64
  }
  func.return %s : f64
}
