// RUN: mlirad-opt %s -p 'mlirad-dce' | filecheck %s

// A carry that only feeds itself dies, with all that is computed for it; the other lives.
// CHECK-LABEL: func.func @carry
// CHECK:         %[[R:.*]] = scf.for %i = %{{.*}} to %n step %{{.*}} iter_args(%s = %x) -> (f64) : i64 {
// CHECK-NEXT:      %a = nd.sin %s
// CHECK-NEXT:      scf.yield %a : f64
// CHECK-NEXT:    }
// CHECK-NEXT:    func.return %[[R]]
func.func @carry(%x: f64, %y: f64, %n: i64) -> f64 {
  %c0 = nd.constant {value = 0 : i64} : i64
  %c1 = nd.constant {value = 1 : i64} : i64
  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%d = %y, %s = %x) -> (f64, f64) : i64 {
    %a = nd.sin %s : f64
    %b = nd.mul %d, %a : f64
    scf.yield %b, %a : f64, f64
  }
  func.return %r#1 : f64
}

// A loop without results and effects goes; a while too, which might not have ended.
// CHECK-LABEL: func.func @dead_loops
// CHECK-NEXT:    func.return %x
func.func @dead_loops(%x: f64, %n: i64) -> f64 {
  %c0 = nd.constant {value = 0 : i64} : i64
  %c1 = nd.constant {value = 1 : i64} : i64
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%s = %x) -> (f64) : i64 {
    %a = nd.sin %s : f64
    scf.yield %a : f64
  }
  %w = scf.while (%s = %x) : (f64) -> f64 {
    %c = nd.greater %s, %x : (f64, f64) -> i1
    scf.condition(%c) %s : f64
  } do {
  ^bb0(%s: f64):
    %t = nd.add %s, %s : f64
    scf.yield %t : f64
  }
  func.return %x : f64
}

// A check keeps its loop, its bound and its operand alive, and nothing else.
// CHECK-LABEL: func.func @effects
// CHECK:         scf.for %i = {{.*}} : i64 {
// CHECK-NEXT:      nd.check_index %i, %m
// CHECK-NEXT:    }
// CHECK-NEXT:    func.return %x
func.func @effects(%x: f64, %n: i64, %m: i64) -> f64 {
  %c0 = nd.constant {value = 0 : i64} : i64
  %c1 = nd.constant {value = 1 : i64} : i64
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%s = %x) -> (f64) : i64 {
    %j = nd.check_index %i, %m {axis = 0 : i64}
    %a = nd.sin %s : f64
    scf.yield %a : f64
  }
  func.return %x : f64
}

// Of a while, the carries of the condition stay, also if no result of theirs is used. Of an if, the used results.
// CHECK-LABEL: func.func @while_and_if
// CHECK:         scf.while (%[[I:.*]] = %{{.*}}, %[[S:.*]] = %x) : (i64, f64) -> (i64, f64)
// CHECK:         scf.if %c -> (f64) {
// CHECK-NEXT:      %a = nd.sin
// CHECK-NEXT:      scf.yield %a : f64
func.func @while_and_if(%x: f64, %n: i64, %c: i1) -> f64 {
  %c0 = nd.constant {value = 0 : i64} : i64
  %c1 = nd.constant {value = 1 : i64} : i64
  %w:3 = scf.while (%i = %c0, %s = %x, %d = %x) : (i64, f64, f64) -> (i64, f64, f64) {
    %go = nd.less %i, %n : (i64, i64) -> i1
    scf.condition(%go) %i, %s, %d : i64, f64, f64
  } do {
  ^bb0(%i: i64, %s: f64, %d: f64):
    %j = nd.add %i, %c1 : i64
    %t = nd.add %s, %s : f64
    %u = nd.add %d, %s : f64
    scf.yield %j, %t, %u : i64, f64, f64
  }
  %r:2 = scf.if %c -> (f64, f64) {
    %a = nd.sin %w#1 : f64
    %b = nd.cos %w#1 : f64
    scf.yield %a, %b : f64, f64
  } else {
    scf.yield %x, %x : f64, f64
  }
  func.return %r#0 : f64
}
