// RUN: mlirad-opt %s -p mlirad-differentiate | filecheck %s

// Lanes that leave a `while` at their own trips go in blocks of 32. A block runs until its last lane is done; a lane
// that is done keeps what it carries. The lanes that fill no block go one by one.

func.func private @f(%a: f64, %b: f64) -> f64 {
  %x = scf.while (%s = %a) : (f64) -> f64 {
    %go = nd.less %b, %s : (f64, f64) -> i1
    scf.condition(%go) %s : f64
  } do {
  ^bb0(%t: f64):
    %half = nd.mul %t, %b : f64
    %small = nd.less %half, %a : (f64, f64) -> i1
    %next = scf.if %small -> (f64) {
      %r = nd.sin %half : f64
      scf.yield %r : f64
    } else {
      scf.yield %half : f64
    }
    scf.yield %next : f64
  }
  func.return %x : f64
}

func.func @lanes(%a: tensor<300xf64>, %b: f64) -> tensor<300xf64> {
  %x = ad.vmap @f(%a, %b)() wrt [0] outs [0] : (tensor<300xf64>, f64)() -> (tensor<300xf64>)
  func.return %x : tensor<300xf64>
}

// Too few for a block.
func.func @few(%a: tensor<5xf64>, %b: f64) -> tensor<5xf64> {
  %x = ad.vmap @f(%a, %b)() wrt [0] outs [0] : (tensor<5xf64>, f64)() -> (tensor<5xf64>)
  func.return %x : tensor<5xf64>
}

// CHECK-LABEL: func.func @few
// CHECK: func.call @[[FEW:.*]](%a, %b)

// CHECK-LABEL: func.func private @f.vmap(%a: tensor<32xf64>, %b: f64) -> tensor<32xf64>
// CHECK: scf.while (%s = %a) : (tensor<32xf64>) -> tensor<32xf64>
// CHECK: %go = nd.less %{{.*}}, %s : (tensor<32xf64>
// CHECK: %[[ANY:.*]] = nd.max %go {axes = array<i64: 0>} : tensor<32xi1> to i1
// CHECK: scf.condition(%[[ANY]]) %s : tensor<32xf64>
// CHECK: ^bb0(%t: tensor<32xf64>):
// CHECK: %[[GO:.*]] = nd.less %{{.*}}, %t : (tensor<32xf64>
// CHECK: %next = nd.select %small, %r, %half
// CHECK: %[[KEPT:.*]] = nd.select %[[GO]], %next, %t
// CHECK: scf.yield %[[KEPT]]

// CHECK-LABEL: func.func private @f.vmap.1(%a: tensor<300xf64>, %b: f64) -> tensor<300xf64>
// CHECK: scf.for
// CHECK: func.call @f.vmap(
// CHECK: nd.insert_slice
// CHECK: scf.for
// CHECK: func.call @f(

// CHECK-LABEL: func.func private @f.vmap.2(%a: tensor<5xf64>, %b: f64) -> tensor<5xf64>
// CHECK: func.call @f(
