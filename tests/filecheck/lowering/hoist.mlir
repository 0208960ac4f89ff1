// RUN: mlirad-opt %s -p 'mlirad-hoist' | filecheck %s

// Scalars leave; an array only if the loop surely runs; a read only if its index is in range by itself.
// CHECK-LABEL: func.func @unknown_trips
// CHECK:         nd.exp %x
// CHECK-NEXT:    scf.for
// CHECK-NEXT:      nd.add %t, %t
// CHECK-NEXT:      nd.extract %t[%k]
func.func @unknown_trips(%x: f64, %t: tensor<4xf64>, %n: i64, %k: i64) -> f64 {
  %c0 = nd.constant {value = 0 : i64} : i64
  %c1 = nd.constant {value = 1 : i64} : i64
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%s = %x) -> (f64) : i64 {
    %e = nd.exp %x : f64
    %u = nd.add %t, %t : tensor<4xf64>
    %a = nd.extract %t[%k] : tensor<4xf64> -> f64
    %b = nd.extract %u[%c1] : tensor<4xf64> -> f64
    %p = nd.mul %e, %a : f64
    %q = nd.add %p, %b : f64
    %v = nd.add %q, %s : f64
    scf.yield %v : f64
  }
  func.return %r : f64
}

// Out of both loops, at once.
// CHECK-LABEL: func.func @known_trips
// CHECK:         nd.add %t, %t
// CHECK-NEXT:    nd.extract
// CHECK-NEXT:    scf.for
func.func @known_trips(%x: f64, %t: tensor<4xf64>) -> f64 {
  %c0 = nd.constant {value = 0 : i64} : i64
  %c1 = nd.constant {value = 1 : i64} : i64
  %c4 = nd.constant {value = 4 : i64} : i64
  %r = scf.for %i = %c0 to %c4 step %c1 iter_args(%s = %x) -> (f64) : i64 {
    %q = scf.for %j = %c0 to %c4 step %c1 iter_args(%p = %s) -> (f64) : i64 {
      %u = nd.add %t, %t : tensor<4xf64>
      %b = nd.extract %u[%c1] : tensor<4xf64> -> f64
      %v = nd.add %p, %b : f64
      scf.yield %v : f64
    }
    scf.yield %q : f64
  }
  func.return %r : f64
}

// What the loop overwrites is made in each trip; what may fail stays, and what stands in a branch.
// CHECK-LABEL: func.func @stays
// CHECK:         scf.for
// CHECK-NEXT:      nd.full
// CHECK-NEXT:      nd.insert
// CHECK-NEXT:      nd.check_index %k, %n
// CHECK:           scf.if
// CHECK-NEXT:        nd.exp
func.func @stays(%x: f64, %c: i1, %n: i64, %k: i64) -> f64 {
  %c0 = nd.constant {value = 0 : i64} : i64
  %c1 = nd.constant {value = 1 : i64} : i64
  %c4 = nd.constant {value = 4 : i64} : i64
  %r = scf.for %i = %c0 to %c4 step %c1 iter_args(%s = %x) -> (f64) : i64 {
    %z = nd.full %x : f64 to tensor<4xf64>
    %t = nd.insert %s, %z[%i] : f64 into tensor<4xf64>
    %j = nd.check_index %k, %n {axis = 0 : i64}
    %a = nd.extract %t[%j] : tensor<4xf64> -> f64
    %e = scf.if %c -> (f64) {
      %b = nd.exp %x : f64
      scf.yield %b : f64
    } else {
      scf.yield %a : f64
    }
    scf.yield %e : f64
  }
  func.return %r : f64
}
