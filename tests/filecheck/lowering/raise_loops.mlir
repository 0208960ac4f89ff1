// RUN: mlirad-opt %s -p 'mlirad-raise-loops,mlirad-canonicalize,mlirad-cse,mlirad-dce' | filecheck %s

// A loop whose trips do not need one another is a few ops on whole arrays, which have vector functions and no tape.
// What the trips add up is added in their order: the sum has the same digits.
//
//     for i in range(99):
//         y[i] = sin(x[i + 1])
//         s += y[i]
//
// CHECK-LABEL: func.func @writes_and_sums
// CHECK-NOT: scf.for
// CHECK: %[[PART:.*]] = nd.extract_slice %x[%{{.*}}] {sizes = array<i64: 99>
// CHECK: %[[SIN:.*]] = nd.sin %[[PART]] : tensor<99xf64>
// CHECK: nd.sum_in_order %[[SIN]], %start : tensor<99xf64>, f64
func.func @writes_and_sums(%x: tensor<100xf64>, %y: tensor<99xf64>, %start: f64) -> (tensor<99xf64>, f64) {
  %c0 = nd.constant {value = 0 : i64} : i64
  %c1 = nd.constant {value = 1 : i64} : i64
  %n = nd.constant {value = 99 : i64} : i64
  %r, %s = scf.for %i = %c0 to %n step %c1 iter_args(%y_1 = %y, %s_1 = %start) -> (tensor<99xf64>, f64) : i64 {
    %j = nd.add %i, %c1 : i64
    %a = nd.extract %x[%j] : tensor<100xf64> -> f64
    %b = nd.sin %a : f64
    %y_2 = nd.insert %b, %y_1[%i] : f64 into tensor<99xf64>
    %d = nd.extract %y_2[%i] : tensor<99xf64> -> f64
    %s_2 = nd.add %s_1, %d : f64
    scf.yield %y_2, %s_2 : tensor<99xf64>, f64
  }
  func.return %r, %s : tensor<99xf64>, f64
}

// A trip reads what the trip before wrote.
//
//     for i in range(99): y[i + 1] = sin(y[i])
//
// CHECK-LABEL: func.func @needs_the_trip_before
// CHECK: scf.for
func.func @needs_the_trip_before(%y: tensor<100xf64>) -> tensor<100xf64> {
  %c0 = nd.constant {value = 0 : i64} : i64
  %c1 = nd.constant {value = 1 : i64} : i64
  %n = nd.constant {value = 99 : i64} : i64
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%y_1 = %y) -> (tensor<100xf64>) : i64 {
    %a = nd.extract %y_1[%i] : tensor<100xf64> -> f64
    %b = nd.sin %a : f64
    %j = nd.add %i, %c1 : i64
    %y_2 = nd.insert %b, %y_1[%j] : f64 into tensor<100xf64>
    scf.yield %y_2 : tensor<100xf64>
  }
  func.return %r : tensor<100xf64>
}

// The trips before the first index that is out of range are computed at once. Then that index is checked.
//
// CHECK-LABEL: func.func @may_fail
// CHECK-NOT: scf.for
// CHECK: %[[SINES:.*]] = nd.sin %{{.*}} : tensor<?xf64>
// CHECK: %[[SUM:.*]] = nd.sum_in_order %[[SINES]]
// CHECK: scf.if
// CHECK-NEXT: nd.check_index
// CHECK: func.return %[[SUM]]
func.func @may_fail(%x: tensor<100xf64>, %n: i64) -> f64 {
  %c0 = nd.constant {value = 0 : i64} : i64
  %c1 = nd.constant {value = 1 : i64} : i64
  %c100 = nd.constant {value = 100 : i64} : i64
  %zero = nd.constant {value = 0.0 : f64} : f64
  %s = scf.for %i = %c0 to %n step %c1 iter_args(%s_1 = %zero) -> (f64) : i64 {
    %j = nd.check_index %i, %c100 {axis = 0 : i64}
    %a = nd.extract %x[%j] : tensor<100xf64> -> f64
    %b = nd.sin %a : f64
    %s_2 = nd.add %s_1, %b : f64
    scf.yield %s_2 : f64
  }
  func.return %s : f64
}

// An index that depends on data keeps the loop: what was written before a trip fails stays written.
//
// CHECK-LABEL: func.func @may_fail_anywhere
// CHECK: scf.for
func.func @may_fail_anywhere(%x: tensor<100xf64>, %p: tensor<100xi64>) -> f64 {
  %c0 = nd.constant {value = 0 : i64} : i64
  %c1 = nd.constant {value = 1 : i64} : i64
  %c100 = nd.constant {value = 100 : i64} : i64
  %zero = nd.constant {value = 0.0 : f64} : f64
  %s = scf.for %i = %c0 to %c100 step %c1 iter_args(%s_1 = %zero) -> (f64) : i64 {
    %k = nd.extract %p[%i] : tensor<100xi64> -> i64
    %j = nd.check_index %k, %c100 {axis = 0 : i64}
    %a = nd.extract %x[%j] : tensor<100xf64> -> f64
    %b = nd.sin %a : f64
    %s_2 = nd.add %s_1, %b : f64
    scf.yield %s_2 : f64
  }
  func.return %s : f64
}

// An element that no trip may reach is not read ahead of the loop.
//
// CHECK-LABEL: func.func @reads_nothing_without_a_trip
// CHECK: scf.for
func.func @reads_nothing_without_a_trip(%x: tensor<100xf64>, %n: i64, %k: i64) -> f64 {
  %c0 = nd.constant {value = 0 : i64} : i64
  %c1 = nd.constant {value = 1 : i64} : i64
  %zero = nd.constant {value = 0.0 : f64} : f64
  %s = scf.for %i = %c0 to %n step %c1 iter_args(%s_1 = %zero) -> (f64) : i64 {
    %a = nd.extract %x[%k] : tensor<100xf64> -> f64
    %c = nd.extract %x[%i] : tensor<100xf64> -> f64
    %d = nd.mul %a, %c : f64
    %b = nd.sin %d : f64
    %s_2 = nd.add %s_1, %b : f64
    scf.yield %s_2 : f64
  }
  func.return %s : f64
}

// The largest number so far, and the trip that found it: one op, and a search for the place of its result. Nothing is
// taken if the test is false, so nan never is.
//
//     for i in range(99):
//         if x[i] > high: high, k = x[i], i
//
// CHECK-LABEL: func.func @largest
// CHECK-NOT: scf.for
// CHECK: %[[HIGH:.*]] = nd.running_extreme %x, %start {taken = "ogt"} : tensor<99xf64>, f64
// CHECK: %[[SAME:.*]] = nd.equal %x
// CHECK: %[[PLACES:.*]] = nd.select %[[SAME]]
// CHECK: nd.min %[[PLACES]]
// CHECK: %[[K:.*]] = nd.select %{{.*}}, %none, %{{.*}} : i1, i64
// CHECK: func.return %[[HIGH]], %[[K]]
func.func @largest(%x: tensor<99xf64>, %start: f64, %none: i64) -> (f64, i64) {
  %c0 = nd.constant {value = 0 : i64} : i64
  %c1 = nd.constant {value = 1 : i64} : i64
  %n = nd.constant {value = 99 : i64} : i64
  %high, %k = scf.for %i = %c0 to %n step %c1 iter_args(%high_1 = %start, %k_1 = %none) -> (f64, i64) : i64 {
    %a = nd.extract %x[%i] : tensor<99xf64> -> f64
    %beyond = nd.greater %a, %high_1 : (f64, f64) -> i1
    %high_2, %k_2 = scf.if %beyond -> (f64, i64) {
      scf.yield %a, %i : f64, i64
    } else {
      scf.yield %high_1, %k_1 : f64, i64
    }
    scf.yield %high_2, %k_2 : f64, i64
  }
  func.return %high, %k : f64, i64
}

// A number that changes with the largest, but not to a value of the same trip.
//
// CHECK-LABEL: func.func @second_largest
// CHECK: scf.for
func.func @second_largest(%x: tensor<99xf64>, %start: f64) -> (f64, f64) {
  %c0 = nd.constant {value = 0 : i64} : i64
  %c1 = nd.constant {value = 1 : i64} : i64
  %n = nd.constant {value = 99 : i64} : i64
  %high, %second = scf.for %i = %c0 to %n step %c1 iter_args(%high_1 = %start, %second_1 = %start) -> (f64, f64) : i64 {
    %a = nd.extract %x[%i] : tensor<99xf64> -> f64
    %beyond = nd.greater %a, %high_1 : (f64, f64) -> i1
    %high_2 = nd.select %beyond, %a, %high_1 : i1, f64
    %second_2 = nd.select %beyond, %high_1, %second_1 : i1, f64
    scf.yield %high_2, %second_2 : f64, f64
  }
  func.return %high, %second : f64, f64
}
