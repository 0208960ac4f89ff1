// RUN: mlirad-opt %s -p mlirad-cse,mlirad-dce | filecheck %s

// A function that only computes is called once for the same operands, and not at all for nothing; it may be recursive.
// CHECK-LABEL: func.func public @pure
// CHECK-COUNT-1: func.call @power
// CHECK-NOT:   func.call
// CHECK:       func.return
func.func public @pure(%x: f64, %n: i64) -> f64 {
  %a = func.call @power(%x, %n) : (f64, i64) -> f64
  %b = func.call @power(%x, %n) : (f64, i64) -> f64
  %dead = func.call @power(%a, %n) : (f64, i64) -> f64
  %c = nd.mul %a, %b : f64
  func.return %c : f64
}

// One that checks something stays, as often as it is called.
// CHECK-LABEL: func.func public @checked
// CHECK-COUNT-2: func.call @tested
func.func public @checked(%x: f64, %n: i64) {
  func.call @tested(%x, %n) : (f64, i64) -> ()
  func.call @tested(%x, %n) : (f64, i64) -> ()
  func.return
}

func.func private @power(%x: f64, %n: i64) -> f64 {
  %zero = nd.constant {value = 0 : i64} : i64
  %done = nd.equal %n, %zero : (i64, i64) -> i1
  %r = scf.if %done -> (f64) {
    scf.yield %x : f64
  } else {
    %one = nd.constant {value = 1 : i64} : i64
    %m = nd.sub %n, %one : i64
    %p = func.call @power(%x, %m) : (f64, i64) -> f64
    %q = nd.mul %p, %x : f64
    scf.yield %q : f64
  }
  func.return %r : f64
}
func.func private @tested(%x: f64, %n: i64) {
  %zero = nd.constant {value = 0 : i64} : i64
  %ok = nd.greater %n, %zero : (i64, i64) -> i1
  nd.check %ok, "ValueError", "n is not positive"
  func.return
}
