// RUN: mlirad-opt %s -p mlirad-differentiate | filecheck %s

// A function of each lane becomes a loop over the lanes that calls it: what it does is done lane by lane, in order.

func.func private @f(%x: tensor<3xf64>, %i: i64, %c: f64) -> (f64, tensor<3xf64>) {
  %n = nd.constant {value = 3 : i64} : i64
  %j = nd.check_index %i, %n {axis = 0 : i64}
  %y = nd.extract %x[%j] : tensor<3xf64> -> f64
  %z = nd.mul %y, %c : f64
  func.return %z, %x : f64, tensor<3xf64>
}

// CHECK-LABEL: func.func @lanes
// CHECK: func.call @f.vmap(%x, %i, %c)
// Both requests are for the same lanes, and share the function.
// CHECK: func.call @f.vmap(%x, %i, %c)
func.func @lanes(%x: tensor<5x3xf64>, %i: tensor<5xi64>, %c: f64) -> (tensor<5xf64>, tensor<5xf64>) {
  %z, %y = ad.vmap @f(%x, %i, %c)() wrt [0, 1] outs [0, 1] : (tensor<5x3xf64>, tensor<5xi64>, f64)() -> (tensor<5xf64>, tensor<5x3xf64>)
  %z2, %y2 = ad.vmap @f(%x, %i, %c)() wrt [0, 1] outs [0, 1] : (tensor<5x3xf64>, tensor<5xi64>, f64)() -> (tensor<5xf64>, tensor<5x3xf64>)
  func.return %z, %z2 : tensor<5xf64>, tensor<5xf64>
}

// As many lanes as only the run knows.
// CHECK-LABEL: func.func @unknown
// CHECK: func.call @f.vmap.1(%x, %i, %c)
func.func @unknown(%x: tensor<3xf64>, %i: tensor<?xi64>, %c: f64) -> tensor<?xf64> {
  %z, %y = ad.vmap @f(%x, %i, %c)() wrt [1] outs [0, 1] : (tensor<3xf64>, tensor<?xi64>, f64)() -> (tensor<?xf64>, tensor<?x3xf64>)
  func.return %z : tensor<?xf64>
}

// CHECK-LABEL: func.func private @f.vmap(%x: tensor<5x3xf64>, %i: tensor<5xi64>, %c: f64) -> (tensor<5xf64>, tensor<5x3xf64>)
// CHECK: scf.for %[[LANE:.*]] = %{{.*}} iter_args(%[[Z:.*]] = %{{.*}}, %[[Y:.*]] = %{{.*}}) -> (tensor<5xf64>, tensor<5x3xf64>)
// CHECK: nd.extract_slice %x[%[[LANE]], %{{.*}}]
// CHECK: nd.extract %i[%[[LANE]]]
// CHECK: func.call @f({{.*}}, %c) : (tensor<3xf64>, i64, f64) -> (f64, tensor<3xf64>)
// CHECK: nd.insert %{{.*}}, %[[Z]][%[[LANE]]]
// CHECK: nd.insert_slice %{{.*}}, %[[Y]][%[[LANE]], %{{.*}}]

// CHECK-LABEL: func.func private @f.vmap.1(%x: tensor<3xf64>, %i: tensor<?xi64>, %c: f64) -> (tensor<?xf64>, tensor<?x3xf64>)
// CHECK: %[[LANES:.*]] = nd.dim %i {axis = 0 : i64}
// CHECK: scf.for %{{.*}} = %{{.*}} to %[[LANES]]
// CHECK: func.call @f(%x, 
