// RUN: mlirad-opt %s -p mlirad-eliminate-checks | filecheck %s
// a[i] is read ahead of the loop over j < i that writes to a[j] only; not if j may be i, or if i may be out of range.

// CHECK-LABEL: func.func @apart
// CHECK:         scf.for %i =
// CHECK-NOT:       nd.maximum
// CHECK:           %[[g:[^ ]+]] = nd.extract %outer[%i]
// CHECK-NEXT:      scf.for %j = %zero to %i step
// CHECK-NEXT:        nd.add_at %[[g]], %inner[%j]
func.func @apart(%a: tensor<5xf64>) -> tensor<5xf64> {
  %zero = nd.constant {value = 0 : i64} : i64
  %one = nd.constant {value = 1 : i64} : i64
  %five = nd.constant {value = 5 : i64} : i64
  %b = scf.for %i = %zero to %five step %one iter_args(%outer = %a) -> (tensor<5xf64>) : i64 {
    %trips = nd.maximum %i, %zero : i64
    %c = scf.for %j = %zero to %trips step %one iter_args(%inner = %outer) -> (tensor<5xf64>) : i64 {
      %g = nd.extract %inner[%i] : tensor<5xf64> -> f64
      %d = nd.add_at %g, %inner[%j] : f64 into tensor<5xf64>
      scf.yield %d : tensor<5xf64>
    }
    scf.yield %c : tensor<5xf64>
  }
  return %b : tensor<5xf64>
}

// CHECK-LABEL: func.func @may_meet
// CHECK:           scf.for %j =
// CHECK-NEXT:        nd.extract %inner[%i]
func.func @may_meet(%a: tensor<5xf64>) -> tensor<5xf64> {
  %zero = nd.constant {value = 0 : i64} : i64
  %one = nd.constant {value = 1 : i64} : i64
  %five = nd.constant {value = 5 : i64} : i64
  %b = scf.for %i = %zero to %five step %one iter_args(%outer = %a) -> (tensor<5xf64>) : i64 {
    %c = scf.for %j = %zero to %five step %one iter_args(%inner = %outer) -> (tensor<5xf64>) : i64 {
      %g = nd.extract %inner[%i] : tensor<5xf64> -> f64
      %d = nd.add_at %g, %inner[%j] : f64 into tensor<5xf64>
      scf.yield %d : tensor<5xf64>
    }
    scf.yield %c : tensor<5xf64>
  }
  return %b : tensor<5xf64>
}

// CHECK-LABEL: func.func @may_be_out_of_range
// CHECK:         scf.for %j =
// CHECK-NEXT:      nd.extract %inner[%i]
func.func @may_be_out_of_range(%a: tensor<5xf64>, %i: i64) -> tensor<5xf64> {
  %zero = nd.constant {value = 0 : i64} : i64
  %one = nd.constant {value = 1 : i64} : i64
  %b = scf.for %j = %zero to %i step %one iter_args(%inner = %a) -> (tensor<5xf64>) : i64 {
    %g = nd.extract %inner[%i] : tensor<5xf64> -> f64
    %d = nd.add_at %g, %inner[%j] : f64 into tensor<5xf64>
    scf.yield %d : tensor<5xf64>
  }
  return %b : tensor<5xf64>
}
