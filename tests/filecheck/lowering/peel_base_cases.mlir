// RUN: mlirad-opt %s -p mlirad-peel-base-cases,mlirad-inline,mlirad-canonicalize,mlirad-cse,mlirad-dce | filecheck %s

// Half of the calls of a binary recursion end it. The caller decides that, so that only the other half are calls. The base
// case is not copied once more for the first call than for any other: the function without the step is inlined everywhere.
// CHECK-LABEL: func.func @sum
// CHECK:         scf.if
// CHECK:         } else {
// CHECK:           func.call @tree.step(
// CHECK-LABEL: func.func private @tree.step(
// CHECK:         scf.if
// CHECK:           nd.extract %x
// CHECK:         } else {
// CHECK:           func.call @tree.step(
// CHECK:         scf.if
// CHECK:           nd.extract %x
// CHECK:         } else {
// CHECK:           func.call @tree.step(
// CHECK-NOT:     func.call
// CHECK:         func.func @doubled(
func.func @sum(%x: tensor<99xf64>, %n: i64) -> f64 {
  %zero = nd.constant {value = 0 : i64} : i64
  %y = func.call @tree(%x, %zero, %n) : (tensor<99xf64>, i64, i64) -> f64
  func.return %y : f64
}
func.func private @tree(%x: tensor<99xf64>, %first: i64, %n: i64) -> f64 {
  %one = nd.constant {value = 1 : i64} : i64
  %two = nd.constant {value = 2 : i64} : i64
  %is_leaf = nd.less_equal %n, %one : (i64, i64) -> i1
  %y = scf.if %is_leaf -> (f64) {
    %a = nd.extract %x[%first] : tensor<99xf64> -> f64
    scf.yield %a : f64
  } else {
    %half = nd.floordiv %n, %two : i64
    %middle = nd.add %first, %half : i64
    %rest = nd.sub %n, %half : i64
    %b = func.call @tree(%x, %first, %half) : (tensor<99xf64>, i64, i64) -> f64
    %c = func.call @tree(%x, %middle, %rest) : (tensor<99xf64>, i64, i64) -> f64
    %d = nd.add %b, %c : f64
    scf.yield %d : f64
  }
  func.return %y : f64
}

// The step takes over the memory of an array that it writes, and passes it on.
// CHECK-LABEL: func.func private @double.step(%n: i64, %x: tensor<9xf64> {mlirad.written = 0 : i64}) -> tensor<9xf64> {
func.func @doubled(%x: tensor<9xf64> {mlirad.written = 0 : i64}) -> tensor<9xf64> {
  %n = nd.constant {value = 9 : i64} : i64
  %y = func.call @double(%n, %x) : (i64, tensor<9xf64>) -> tensor<9xf64>
  func.return %y : tensor<9xf64>
}
func.func private @double(%n: i64, %x: tensor<9xf64> {mlirad.written = 0 : i64}) -> tensor<9xf64> {
  %zero = nd.constant {value = 0 : i64} : i64
  %one = nd.constant {value = 1 : i64} : i64
  %done = nd.equal %n, %zero : (i64, i64) -> i1
  %y = scf.if %done -> (tensor<9xf64>) {
    scf.yield %x : tensor<9xf64>
  } else {
    %m = nd.sub %n, %one : i64
    %a = nd.extract %x[%m] : tensor<9xf64> -> f64
    %b = nd.add %a, %a : f64
    %w = nd.insert %b, %x[%m] : f64 into tensor<9xf64>
    %z = func.call @double(%m, %w) : (i64, tensor<9xf64>) -> tensor<9xf64>
    %v = func.call @double(%m, %z) : (i64, tensor<9xf64>) -> tensor<9xf64>
    scf.yield %v : tensor<9xf64>
  }
  func.return %y : tensor<9xf64>
}

// A function stays as it is if it calls itself once at most, because one call in all would be spared; if its step would
// take an array that is not an argument; and if it calls itself through others.
// CHECK-LABEL: func.func private @root(
// CHECK:         func.call @root(
// CHECK-LABEL: func.func private @shrink(
// CHECK:         func.call @shrink(
// CHECK-LABEL: func.func private @even(
// CHECK:         func.call @odd(
// CHECK-LABEL: func.func private @odd(
// CHECK:         func.call @even(
func.func @others(%x: tensor<?xf64>, %n: i64, %a: f64) -> (f64, i1, f64) {
  %y = func.call @shrink(%n, %x) : (i64, tensor<?xf64>) -> f64
  %z = func.call @even(%n) : (i64) -> i1
  %r = func.call @root(%n, %a, %a) : (i64, f64, f64) -> f64
  func.return %y, %z, %r : f64, i1, f64
}
func.func private @root(%n: i64, %low: f64, %high: f64) -> f64 {
  %zero = nd.constant {value = 0 : i64} : i64
  %one = nd.constant {value = 1 : i64} : i64
  %done = nd.equal %n, %zero : (i64, i64) -> i1
  %y = scf.if %done -> (f64) {
    scf.yield %low : f64
  } else {
    %m = nd.sub %n, %one : i64
    %middle = nd.add %low, %high : f64
    %is_left = nd.less %low, %middle : (f64, f64) -> i1
    %a = scf.if %is_left -> (f64) {
      %b = func.call @root(%m, %low, %middle) : (i64, f64, f64) -> f64
      scf.yield %b : f64
    } else {
      %c = func.call @root(%m, %middle, %high) : (i64, f64, f64) -> f64
      scf.yield %c : f64
    }
    scf.yield %a : f64
  }
  func.return %y : f64
}
func.func private @shrink(%n: i64, %x: tensor<?xf64>) -> f64 {
  %zero = nd.constant {value = 0 : i64} : i64
  %one = nd.constant {value = 1 : i64} : i64
  %part = nd.sin %x : tensor<?xf64>
  %done = nd.equal %n, %zero : (i64, i64) -> i1
  %y = scf.if %done -> (f64) {
    %a = nd.extract %x[%zero] : tensor<?xf64> -> f64
    scf.yield %a : f64
  } else {
    %m = nd.sub %n, %one : i64
    %b = func.call @shrink(%m, %part) : (i64, tensor<?xf64>) -> f64
    %c = func.call @shrink(%m, %part) : (i64, tensor<?xf64>) -> f64
    %d = nd.add %b, %c : f64
    scf.yield %d : f64
  }
  func.return %y : f64
}
func.func private @even(%n: i64) -> i1 {
  %zero = nd.constant {value = 0 : i64} : i64
  %one = nd.constant {value = 1 : i64} : i64
  %done = nd.equal %n, %zero : (i64, i64) -> i1
  %y = scf.if %done -> (i1) {
    scf.yield %done : i1
  } else {
    %m = nd.sub %n, %one : i64
    %b = func.call @odd(%m) : (i64) -> i1
    scf.yield %b : i1
  }
  func.return %y : i1
}
func.func private @odd(%n: i64) -> i1 {
  %zero = nd.constant {value = 0 : i64} : i64
  %one = nd.constant {value = 1 : i64} : i64
  %done = nd.equal %n, %zero : (i64, i64) -> i1
  %y = scf.if %done -> (i1) {
    %no = nd.logical_not %done : i1
    scf.yield %no : i1
  } else {
    %m = nd.sub %n, %one : i64
    %b = func.call @even(%m) : (i64) -> i1
    scf.yield %b : i1
  }
  func.return %y : i1
}
