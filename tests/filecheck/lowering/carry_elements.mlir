// RUN: mlirad-opt %s -p mlirad-carry-elements | filecheck %s

// a[i] -= b[k] * a[k] for k < i, as in a forward substitution. As long as each trip stores a[i], LLVM cannot add up several
// sums at a time with fastmath, because a[k] might be a[i].
// CHECK-LABEL: func.func @apart
// CHECK:         scf.for %i =
// CHECK-NEXT:      %[[first:[^ ]+]] = nd.extract %outer[%i]
// CHECK-NEXT:      %[[array:[^,]+]], %[[last:[^ ]+]] = scf.for %k = {{.*}} iter_args(%inner = %outer, %[[s:[^ ]+]] = %[[first]])
// CHECK-NEXT:        %[[x:[^ ]+]] = nd.extract %inner[%k]
// CHECK-NEXT:        %[[y:[^ ]+]] = nd.extract %b[%k]
// CHECK-NEXT:        %[[xy:[^ ]+]] = nd.mul %[[x]], %[[y]]
// CHECK-NEXT:        %[[t:[^ ]+]] = nd.sub %[[s]], %[[xy]]
// CHECK-NEXT:        scf.yield %inner, %[[t]]
// CHECK-NEXT:      }
// CHECK-NEXT:      nd.insert %[[last]], %[[array]][%i]
func.func @apart(%a: tensor<5xf64>, %b: tensor<5xf64>) -> tensor<5xf64> {
  %zero = nd.constant {value = 0 : i64} : i64
  %one = nd.constant {value = 1 : i64} : i64
  %five = nd.constant {value = 5 : i64} : i64
  %r = scf.for %i = %zero to %five step %one iter_args(%outer = %a) -> (tensor<5xf64>) : i64 {
    %c = scf.for %k = %zero to %i step %one iter_args(%inner = %outer) -> (tensor<5xf64>) : i64 {
      %s = nd.extract %inner[%i] : tensor<5xf64> -> f64
      %x = nd.extract %inner[%k] : tensor<5xf64> -> f64
      %y = nd.extract %b[%k] : tensor<5xf64> -> f64
      %xy = nd.mul %x, %y : f64
      %t = nd.sub %s, %xy : f64
      %d = nd.insert %t, %inner[%i] : f64 into tensor<5xf64>
      scf.yield %d : tensor<5xf64>
    }
    scf.yield %c : tensor<5xf64>
  }
  return %r : tensor<5xf64>
}

// a[k] is a[i] in one trip.
// CHECK-LABEL: func.func @may_meet
// CHECK:         scf.for %k = {{.*}} iter_args(%inner = %outer) -> (tensor<5xf64>)
func.func @may_meet(%a: tensor<5xf64>) -> tensor<5xf64> {
  %zero = nd.constant {value = 0 : i64} : i64
  %one = nd.constant {value = 1 : i64} : i64
  %five = nd.constant {value = 5 : i64} : i64
  %r = scf.for %i = %zero to %five step %one iter_args(%outer = %a) -> (tensor<5xf64>) : i64 {
    %c = scf.for %k = %zero to %five step %one iter_args(%inner = %outer) -> (tensor<5xf64>) : i64 {
      %x = nd.extract %inner[%k] : tensor<5xf64> -> f64
      %d = nd.add_at %x, %inner[%i] : f64 into tensor<5xf64>
      scf.yield %d : tensor<5xf64>
    }
    scf.yield %c : tensor<5xf64>
  }
  return %r : tensor<5xf64>
}

// Without a trip, a[i] is not read: it may be out of range.
// CHECK-LABEL: func.func @may_be_out_of_range
// CHECK:         scf.for %k = {{.*}} iter_args(%inner = %a) -> (tensor<5xf64>)
func.func @may_be_out_of_range(%a: tensor<5xf64>, %i: i64, %n: i64, %x: f64) -> tensor<5xf64> {
  %zero = nd.constant {value = 0 : i64} : i64
  %one = nd.constant {value = 1 : i64} : i64
  %c = scf.for %k = %zero to %n step %one iter_args(%inner = %a) -> (tensor<5xf64>) : i64 {
    %d = nd.add_at %x, %inner[%i] : f64 into tensor<5xf64>
    scf.yield %d : tensor<5xf64>
  }
  return %c : tensor<5xf64>
}

// After a failed check, the caller's array holds what was written until then.
// CHECK-LABEL: func.func @may_fail
// CHECK:         scf.for %k = {{.*}} iter_args(%inner = %a) -> (tensor<5xf64>)
func.func @may_fail(%a: tensor<5xf64>, %b: tensor<5xf64>, %n: i64) -> tensor<5xf64> {
  %zero = nd.constant {value = 0 : i64} : i64
  %one = nd.constant {value = 1 : i64} : i64
  %five = nd.constant {value = 5 : i64} : i64
  %c = scf.for %k = %zero to %n step %one iter_args(%inner = %a) -> (tensor<5xf64>) : i64 {
    %j = nd.check_index %k, %five {axis = 0 : i64}
    %x = nd.extract %b[%j] : tensor<5xf64> -> f64
    %d = nd.add_at %x, %inner[%zero] : f64 into tensor<5xf64>
    scf.yield %d : tensor<5xf64>
  }
  return %c : tensor<5xf64>
}

// What is read after the write is an earlier version, as of a copy.
// CHECK-LABEL: func.func @earlier
// CHECK:         scf.for %k = {{.*}} iter_args(%inner = %a, %sum = %x) -> (tensor<5xf64>, f64)
func.func @earlier(%a: tensor<5xf64>, %x: f64) -> f64 {
  %zero = nd.constant {value = 0 : i64} : i64
  %one = nd.constant {value = 1 : i64} : i64
  %five = nd.constant {value = 5 : i64} : i64
  %c, %s = scf.for %k = %zero to %five step %one iter_args(%inner = %a, %sum = %x) -> (tensor<5xf64>, f64) : i64 {
    %d = nd.insert %x, %inner[%zero] : f64 into tensor<5xf64>
    %before = nd.extract %inner[%zero] : tensor<5xf64> -> f64
    %more = nd.add %sum, %before : f64
    scf.yield %d, %more : tensor<5xf64>, f64
  }
  return %s : f64
}
