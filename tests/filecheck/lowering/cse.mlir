// RUN: mlirad-opt %s -p 'mlirad-cse' | filecheck %s

// Equal pure ops are one, also below; equal checks that dominate too.
// CHECK-LABEL: func.func @dominated
// CHECK-NEXT:    %i = nd.check_index %k, %n
// CHECK-NEXT:    %a = nd.exp %x
// CHECK-NEXT:    scf.if %c -> (f64) {
// CHECK-NEXT:      %[[E:.*]] = nd.extract %t[%i]
// CHECK-NEXT:      scf.yield %[[E]]
// CHECK-NEXT:    } else {
// CHECK-NEXT:      scf.yield %a
func.func @dominated(%c: i1, %x: f64, %t: tensor<?xf64>, %k: i64, %n: i64) -> f64 {
  %i = nd.check_index %k, %n {axis = 0 : i64}
  %a = nd.exp %x : f64
  %r = scf.if %c -> (f64) {
    %j = nd.check_index %k, %n {axis = 0 : i64}
    %e = nd.extract %t[%j] : tensor<?xf64> -> f64
    scf.yield %e : f64
  } else {
    %b = nd.exp %x : f64
    scf.yield %b : f64
  }
  func.return %r : f64
}

// What stands in one branch is not known in the other, nor behind the branches.
// CHECK-LABEL: func.func @branches
// CHECK-COUNT-3: nd.exp
func.func @branches(%c: i1, %x: f64) -> (f64, f64) {
  %r = scf.if %c -> (f64) {
    %a = nd.exp %x : f64
    scf.yield %a : f64
  } else {
    %b = nd.exp %x : f64
    scf.yield %b : f64
  }
  %d = nd.exp %x : f64
  func.return %r, %d : f64, f64
}

// -0.0 and 0.0 are two constants.
// CHECK-LABEL: func.func @zeros
// CHECK-COUNT-2: nd.constant
func.func @zeros() -> (f64, f64) {
  %a = nd.constant {value = 0.0 : f64} : f64
  %b = nd.constant {value = -0.0 : f64} : f64
  func.return %a, %b : f64, f64
}

// In a branch the condition is known.
// CHECK-LABEL: func.func @truth
// CHECK:         scf.if %c
// CHECK-NEXT:      %[[TRUE:.*]] = nd.constant {value = true}
// CHECK-NEXT:      scf.yield %[[TRUE]]
func.func @truth(%c: i1, %d: i1) -> i1 {
  %r = scf.if %c -> (i1) {
    scf.yield %c : i1
  } else {
    scf.yield %d : i1
  }
  func.return %r : i1
}

// Two tapes are two.
// CHECK-LABEL: func.func @tapes
// CHECK-COUNT-2: ad.tape
func.func @tapes() -> (tensor<8xf64>, tensor<8xf64>) {
  %a = ad.tape : tensor<8xf64>
  %b = ad.tape : tensor<8xf64>
  func.return %a, %b : tensor<8xf64>, tensor<8xf64>
}
