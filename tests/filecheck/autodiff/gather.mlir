// RUN: mlirad-opt %s -p mlirad-differentiate,mlirad-dce,mlirad-tape,mlirad-cse,mlirad-dce | filecheck %s
// What is read through an index array adds its cotangent in place; of what is written, the last writer gets it.

// CHECK-LABEL: func.func private @read.vjp(%x: tensor<9xf64>, %i: tensor<4xi64>, %d_y: tensor<4xf64>)
// CHECK:         %[[zeros:.*]] = nd.full
// CHECK:         %[[dx:.*]] = nd.scatter_add %d_y, %[[zeros]][%i]
// CHECK-NEXT:    func.return %{{.*}}, %[[dx]]
func.func private @read(%x: tensor<9xf64>, %i: tensor<4xi64>) -> tensor<4xf64> {
  %y = nd.gather %x[%i] {axes = array<i64: 0>, at = 0 : i64} : tensor<9xf64>[tensor<4xi64>] -> tensor<4xf64>
  return %y : tensor<4xf64>
}

// CHECK-LABEL: func.func private @write.vjp(
// CHECK:         %[[taken:.*]] = nd.gather %d_y[%i]
// CHECK-NEXT:    %[[dv:.*]] = nd.keep_last %[[taken]], %d_y[%i]
// CHECK:         %[[dx:.*]] = nd.scatter %{{.*}}, %d_y[%i]
// CHECK-NEXT:    func.return %{{.*}}, %[[dx]], %[[dv]]
func.func private @write(%x: tensor<9xf64>, %v: tensor<4xf64>, %i: tensor<4xi64>) -> tensor<9xf64> {
  %y = nd.scatter %v, %x[%i] {axes = array<i64: 0>, at = 0 : i64} : tensor<4xf64> into tensor<9xf64>[tensor<4xi64>]
  return %y : tensor<9xf64>
}

// No place occurs twice among known indices: none needs to be distinguished from another.
// CHECK-LABEL: func.func private @write_known.vjp(
// CHECK-NOT:     nd.keep_last
// CHECK:         func.return
func.func private @write_known(%x: tensor<9xf64>, %v: tensor<2xf64>) -> tensor<9xf64> {
  %i = nd.constant {value = dense<[3, 1]> : tensor<2xi64>} : tensor<2xi64>
  %y = nd.scatter %v, %x[%i] {axes = array<i64: 0>, at = 0 : i64} : tensor<2xf64> into tensor<9xf64>[tensor<2xi64>]
  return %y : tensor<9xf64>
}

// What is scattered goes onto what is added later, and no array of zeros is made for it.
// CHECK-LABEL: func.func private @both.vjp(
// CHECK-NOT:     nd.full
// CHECK:         %[[all:.*]] = nd.annihilate %{{.*}} by %d_e
// CHECK-NEXT:    %[[dx:.*]] = nd.scatter_add %d_y, %[[all]][%i]
// CHECK-NEXT:    func.return %{{.*}}, %{{.*}}, %[[dx]]
func.func private @both(%x: tensor<9xf64>, %i: tensor<4xi64>) -> (tensor<9xf64>, tensor<4xf64>) {
  %e = nd.exp %x : tensor<9xf64>
  %y = nd.gather %x[%i] {axes = array<i64: 0>, at = 0 : i64} : tensor<9xf64>[tensor<4xi64>] -> tensor<4xf64>
  return %e, %y : tensor<9xf64>, tensor<4xf64>
}

func.func @gradients(%x: tensor<9xf64>, %v: tensor<4xf64>, %w: tensor<2xf64>, %i: tensor<4xi64>, %u: tensor<4xf64>, %g: tensor<9xf64>) -> (tensor<9xf64>, tensor<4xf64>, tensor<2xf64>, tensor<9xf64>) {
  %y, %dx = ad.vjp @read(%x, %i)(%u) wrt [0] outs [0] : (tensor<9xf64>, tensor<4xi64>)(tensor<4xf64>) -> (tensor<4xf64>, tensor<9xf64>)
  %z, %dz, %dv = ad.vjp @write(%x, %v, %i)(%g) wrt [0, 1] outs [0] : (tensor<9xf64>, tensor<4xf64>, tensor<4xi64>)(tensor<9xf64>) -> (tensor<9xf64>, tensor<9xf64>, tensor<4xf64>)
  %k, %dk, %dw = ad.vjp @write_known(%x, %w)(%g) wrt [0, 1] outs [0] : (tensor<9xf64>, tensor<2xf64>)(tensor<9xf64>) -> (tensor<9xf64>, tensor<9xf64>, tensor<2xf64>)
  %e, %f, %db = ad.vjp @both(%x, %i)(%g, %u) wrt [0] outs [0, 1] : (tensor<9xf64>, tensor<4xi64>)(tensor<9xf64>, tensor<4xf64>) -> (tensor<9xf64>, tensor<4xf64>, tensor<9xf64>)
  return %dx, %dv, %dw, %db : tensor<9xf64>, tensor<4xf64>, tensor<2xf64>, tensor<9xf64>
}
