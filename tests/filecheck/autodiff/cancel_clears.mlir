// RUN: mlirad-opt %s -p mlirad-differentiate,mlirad-dce,mlirad-tape,mlirad-canonicalize,mlirad-cse,mlirad-dce,mlirad-cancel-clears,mlirad-dce | filecheck %s
// What `x[i] = x[i] - x[j]` clears it adds back; what `x[i] = x[j]` clears stays clear; neither does a user's own clear go.

// CHECK-LABEL: func.func @own_clear
// CHECK:         nd.insert %zero, %x[%i]
// CHECK-NEXT:    nd.add_at %v, %cleared[%j]
// CHECK-NEXT:    nd.add_at %old, %more[%i]
// CHECK-LABEL: func.func private @subtract.vjp
// CHECK:         %y = nd.insert
// CHECK-NEXT:    %[[g:[^ ]+]] = nd.extract %d_y[%i]
// CHECK-NEXT:    %[[minus:[^ ]+]] = nd.neg %[[g]]
// CHECK-NEXT:    %[[sum:[^ ]+]] = nd.add_at %[[minus]], %d_y[%j]
// CHECK-NEXT:    return %y, %[[sum]]
// CHECK-LABEL: func.func private @copy.vjp
// CHECK:         %[[g:[^ ]+]] = nd.extract %d_y[%i]
// CHECK:         %[[cleared:[^ ]+]] = nd.insert %{{[^ ]+}}, %d_y[%i] : f64 into
// CHECK-NEXT:    nd.add_at %[[g]], %[[cleared]][%j]

func.func private @subtract(%x: tensor<5xf64>, %i: i64, %j: i64) -> tensor<5xf64> {
  %old = nd.extract %x[%i] : tensor<5xf64> -> f64
  %other = nd.extract %x[%j] : tensor<5xf64> -> f64
  %new = nd.sub %old, %other : f64
  %y = nd.insert %new, %x[%i] : f64 into tensor<5xf64>
  return %y : tensor<5xf64>
}

func.func private @copy(%x: tensor<5xf64>, %i: i64, %j: i64) -> tensor<5xf64> {
  %other = nd.extract %x[%j] : tensor<5xf64> -> f64
  %y = nd.insert %other, %x[%i] : f64 into tensor<5xf64>
  return %y : tensor<5xf64>
}

func.func @gradient_of_subtract(%x: tensor<5xf64>, %i: i64, %j: i64, %u: tensor<5xf64>) -> tensor<5xf64> {
  %y, %dx = ad.vjp @subtract(%x, %i, %j)(%u) wrt [0] outs [0] : (tensor<5xf64>, i64, i64)(tensor<5xf64>) -> (tensor<5xf64>, tensor<5xf64>)
  return %dx : tensor<5xf64>
}

func.func @gradient_of_copy(%x: tensor<5xf64>, %i: i64, %j: i64, %u: tensor<5xf64>) -> tensor<5xf64> {
  %y, %dx = ad.vjp @copy(%x, %i, %j)(%u) wrt [0] outs [0] : (tensor<5xf64>, i64, i64)(tensor<5xf64>) -> (tensor<5xf64>, tensor<5xf64>)
  return %dx : tensor<5xf64>
}

func.func @own_clear(%x: tensor<5xf64>, %v: f64, %i: i64, %j: i64) -> tensor<5xf64> {
  %zero = nd.constant {value = 0.0 : f64} : f64
  %old = nd.extract %x[%i] : tensor<5xf64> -> f64
  %cleared = nd.insert %zero, %x[%i] : f64 into tensor<5xf64>
  %more = nd.add_at %v, %cleared[%j] : f64 into tensor<5xf64>
  %back = nd.add_at %old, %more[%i] : f64 into tensor<5xf64>
  return %back : tensor<5xf64>
}

// Slices whose length is known only at run time: a read is given its length, a write has that of its value.
//
//     x[:n] = x[:n] + y[:n]
//
// CHECK-LABEL: func.func private @add_slices.vjp
// CHECK:         nd.extract_slice %d_z[%c0][%n]
// CHECK-NOT:     _slice %{{[^ ]+}}, %d_z
// CHECK:         return %z, %d_z, %d_y
func.func private @add_slices(%x: tensor<5xf64>, %y: tensor<5xf64>, %n: i64) -> tensor<5xf64> {
  %c0 = nd.constant {value = 0 : i64} : i64
  %old = nd.extract_slice %x[%c0][%n] {sizes = array<i64: -1>, strides = array<i64: 1>} : tensor<5xf64> -> tensor<?xf64>
  %more = nd.extract_slice %y[%c0][%n] {sizes = array<i64: -1>, strides = array<i64: 1>} : tensor<5xf64> -> tensor<?xf64>
  %new = nd.add %old, %more : tensor<?xf64>
  %z = nd.insert_slice %new, %x[%c0] {sizes = array<i64: -1>, strides = array<i64: 1>} : tensor<?xf64> into tensor<5xf64>
  return %z : tensor<5xf64>
}

func.func @gradient_of_slices(%x: tensor<5xf64>, %y: tensor<5xf64>, %n: i64, %u: tensor<5xf64>) -> (tensor<5xf64>, tensor<5xf64>) {
  %z, %dx, %dy = ad.vjp @add_slices(%x, %y, %n)(%u) wrt [0, 1] outs [0] : (tensor<5xf64>, tensor<5xf64>, i64)(tensor<5xf64>) -> (tensor<5xf64>, tensor<5xf64>, tensor<5xf64>)
  return %dx, %dy : tensor<5xf64>, tensor<5xf64>
}
