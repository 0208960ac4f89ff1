// RUN: mlirad-opt %s -p 'mlirad-nd-to-linalg' | filecheck %s
// Which ops share loops. Each array that is made costs a write and a read of memory; an op that is computed in two
// groups costs its work twice, and one that a product reads would be computed again for each row. So an op joins the
// loops of what reads it, if all that reads it is in there and each of its elements is computed once there. What is
// cheap and reads one array of its own size, and what only moves elements, joins every group that reads it.
//
//     a --> exp --> mul  [group 1]           exp is read in two groups: it stays, and is an array
//            +----> sum  [group 2]
//
//     a --> add --> tanh --> mul             one group: the root is mul, and no array in between

// A chain is one generic; constants and broadcasts are read as they are; no intermediate exists.
// CHECK-LABEL: func.func public @chain
// CHECK-COUNT-1: tensor.empty
// CHECK-NEXT:    linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%a, %v : tensor<3x4xf64>, tensor<4xf64>)
// CHECK:           arith.addf
// CHECK-NEXT:      math.tanh
// CHECK-NEXT:      arith.mulf %{{.*}}, %two
// CHECK-NOT:     linalg.generic
// CHECK:         func.return
func.func public @chain(%a: tensor<3x4xf64>, %v: tensor<4xf64>) -> tensor<3x4xf64> {
  %two = nd.constant {value = 2.0 : f64} : f64
  %w = nd.broadcast %v {dims = array<i64: 1>} : tensor<4xf64> to tensor<3x4xf64>
  %b = nd.add %a, %w : tensor<3x4xf64>
  %c = nd.tanh %b : tensor<3x4xf64>
  %twos = nd.full %two : f64 to tensor<3x4xf64>
  %d = nd.mul %c, %twos : tensor<3x4xf64>
  func.return %d : tensor<3x4xf64>
}

// Into a reduction too: each element is computed once.
// CHECK-LABEL: func.func public @reduction
// CHECK-COUNT-1: linalg.generic
// CHECK:           math.exp
// CHECK-NEXT:      arith.addf
// CHECK-NOT:     linalg.generic
// CHECK:         func.return
func.func public @reduction(%a: tensor<3x4xf64>) -> tensor<3xf64> {
  %b = nd.exp %a : tensor<3x4xf64>
  %s = nd.sum %b {axes = array<i64: 1>} : tensor<3x4xf64> to tensor<3xf64>
  func.return %s : tensor<3xf64>
}

// A costly op is computed once for two readers of one group, and stays where two groups read it.
// CHECK-LABEL: func.func public @shared
// CHECK-COUNT-1: math.exp
// CHECK-NOT:     math.exp
// CHECK:         func.return
func.func public @shared(%a: tensor<4xf64>, %b: tensor<4xf64>) -> (tensor<4xf64>, f64) {
  %e = nd.exp %a : tensor<4xf64>
  %x = nd.add %e, %b : tensor<4xf64>
  %y = nd.mul %e, %x : tensor<4xf64>
  %s = nd.sum %e {axes = array<i64: 0>} : tensor<4xf64> to f64
  func.return %y, %s : tensor<4xf64>, f64
}

// What is cheap and reads broadcast arrays reads less than it would store: no 6 x 5 x 4 array, though two groups read it.
// CHECK-LABEL: func.func public @apart
// CHECK:         linalg.generic {{.*}} ins(%p, %c : tensor<6x4xf64>, tensor<5x4xf64>) outs(%{{.*}} : tensor<6x5xf64>)
// CHECK:           arith.subf
// CHECK:         linalg.generic {{.*}} ins(%p, %c, %g : tensor<6x4xf64>, tensor<5x4xf64>, tensor<6x5xf64>) outs(%{{.*}} : tensor<5x4xf64>)
// CHECK:           arith.subf
// CHECK-NOT:     linalg.generic
// CHECK:         func.return
func.func public @apart(%p: tensor<6x4xf64>, %c: tensor<5x4xf64>, %g: tensor<6x5xf64>) -> (tensor<6x5xf64>, tensor<5x4xf64>) {
  %0 = nd.broadcast %p {dims = array<i64: 0, 2>} : tensor<6x4xf64> to tensor<6x5x4xf64>
  %1 = nd.broadcast %c {dims = array<i64: 1, 2>} : tensor<5x4xf64> to tensor<6x5x4xf64>
  %apart = nd.sub %0, %1 : tensor<6x5x4xf64>
  %2 = nd.mul %apart, %apart : tensor<6x5x4xf64>
  %s = nd.sum %2 {axes = array<i64: 2>} : tensor<6x5x4xf64> to tensor<6x5xf64>
  %3 = nd.broadcast %g {dims = array<i64: 0, 1>} : tensor<6x5xf64> to tensor<6x5x4xf64>
  %4 = nd.mul %3, %apart : tensor<6x5x4xf64>
  %d = nd.sum %4 {axes = array<i64: 0>} : tensor<6x5x4xf64> to tensor<5x4xf64>
  func.return %s, %d : tensor<6x5xf64>, tensor<5x4xf64>
}

// A product reads its operands many times: only a movement joins it.
// CHECK-LABEL: func.func public @product
// CHECK:         %[[E:.*]] = linalg.generic
// CHECK:           math.exp
// CHECK:         linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d2, d0)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>]{{.*}} ins(%a, %[[E]] :
// CHECK-NOT:     linalg.generic
// CHECK:         func.return
func.func public @product(%a: tensor<5x3xf64>, %b: tensor<5x4xf64>) -> tensor<3x4xf64> {
  %t = nd.transpose %a {permutation = array<i64: 1, 0>} : tensor<5x3xf64> to tensor<3x5xf64>
  %e = nd.exp %b : tensor<5x4xf64>
  %p = nd.contract "ij,jk->ik" %t, %e : (tensor<3x5xf64>, tensor<5x4xf64>) -> tensor<3x4xf64>
  func.return %p : tensor<3x4xf64>
}

// A read does not move past the write that takes the array's memory.
// CHECK-LABEL: func.func public @destroyed
// CHECK:         linalg.generic
// CHECK:         tensor.insert
// CHECK:         linalg.generic
// CHECK:         func.return
func.func public @destroyed(%a: tensor<4xf64>, %x: f64, %i: i64) -> tensor<4xf64> {
  %n = nd.neg %a : tensor<4xf64>
  %t = nd.insert %x, %a[%i] : f64 into tensor<4xf64>
  %s = nd.add %n, %t : tensor<4xf64>
  func.return %s : tensor<4xf64>
}

// Only within a block: the loop would repeat what stands before it.
// CHECK-LABEL: func.func public @loop
// CHECK:         math.exp
// CHECK:         scf.for
// CHECK-NOT:       math.exp
// CHECK:         func.return
func.func public @loop(%a: tensor<4xf64>, %n: i64) -> tensor<4xf64> {
  %c0 = nd.constant {value = 0 : i64} : i64
  %c1 = nd.constant {value = 1 : i64} : i64
  %e = nd.exp %a : tensor<4xf64>
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%s = %a) -> (tensor<4xf64>) : i64 {
    %t = nd.add %s, %e : tensor<4xf64>
    scf.yield %t : tensor<4xf64>
  }
  func.return %r : tensor<4xf64>
}

// How far a dimension runs must stay known: the sum of one row repeated, and of one number.
// CHECK-LABEL: func.func public @sizes
// CHECK:         linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>]
// CHECK:         linalg.generic {{.*}}iterator_types = ["reduction", "parallel"]} ins(%{{.*}} : tensor<3x4xf64>)
// CHECK:           math.exp
// CHECK:         func.return
func.func public @sizes(%v: tensor<4xf64>) -> tensor<4xf64> {
  %w = nd.broadcast %v {dims = array<i64: 1>} : tensor<4xf64> to tensor<3x4xf64>
  %e = nd.exp %w : tensor<3x4xf64>
  %s = nd.sum %e {axes = array<i64: 0>} : tensor<3x4xf64> to tensor<4xf64>
  func.return %s : tensor<4xf64>
}

// CHECK-LABEL: func.func public @sum_of_a_number
// CHECK:         %[[F:.*]] = linalg.fill ins(%x : f64)
// CHECK:         linalg.generic {{.*}} ins(%[[F]] : tensor<3xf64>)
// CHECK:         func.return
func.func public @sum_of_a_number(%x: f64) -> f64 {
  %w = nd.full %x : f64 to tensor<3xf64>
  %s = nd.sum %w {axes = array<i64: 0>} : tensor<3xf64> to f64
  func.return %s : f64
}

// The size of an array that is computed elsewhere is read from its operand: %e never exists.
// CHECK-LABEL: func.func public @unknown_size
// CHECK:         tensor.dim %a
// CHECK-COUNT-1: linalg.generic
// CHECK:           math.exp
// CHECK-NEXT:      arith.mulf
// CHECK-NOT:     linalg.generic
// CHECK:         tensor.dim %a
// CHECK:         func.return
func.func public @unknown_size(%a: tensor<?xf64>) -> (tensor<?xf64>, i64) {
  %e = nd.exp %a : tensor<?xf64>
  %s = nd.mul %e, %a : tensor<?xf64>
  %n = nd.dim %e {axis = 0 : i64} : tensor<?xf64>
  func.return %s, %n : tensor<?xf64>, i64
}

// What is added to a slice is computed with the sum, an axis of size 1 notwithstanding; two indices are one.
// CHECK-LABEL: func.func public @add_to_a_row
// CHECK:         %[[I:.*]] = arith.index_cast %i
// CHECK-NEXT:    %[[ROW:.*]] = tensor.extract_slice %t[%[[I]], %[[I]]] [1, 3] [1, 1] : tensor<4x5xf64> to tensor<3xf64>
// CHECK:         linalg.generic {{.*}} ins({{.*}} : tensor<3xf64>, tensor<3xf64>)
// CHECK:           math.exp
// CHECK-NEXT:      arith.addf
// CHECK:         tensor.insert_slice %{{.*}} into %t[%[[I]], %[[I]]]
// CHECK:         func.return
func.func public @add_to_a_row(%t: tensor<4x5xf64>, %x: tensor<3xf64>, %i: i64) -> tensor<4x5xf64> {
  %e = nd.exp %x : tensor<3xf64>
  %row = nd.reshape %e : tensor<3xf64> to tensor<1x3xf64>
  %s = nd.add_slice %row, %t[%i, %i] {sizes = array<i64: 1, 3>, strides = array<i64: 1, 1>} : tensor<1x3xf64> into tensor<4x5xf64>
  func.return %s : tensor<4x5xf64>
}

// What is linalg already stays as it is.
// CHECK-LABEL: func.func public @linalg
// CHECK:         %[[E:.*]] = linalg.generic
// CHECK:           math.erf
// CHECK:         linalg.generic {{.*}} ins(%[[E]], %m :
// CHECK:         func.return
func.func public @linalg(%v: tensor<4xf64>, %m: tensor<3x4xf64>) -> tensor<3x4xf64> {
  %0 = tensor.empty() : tensor<4xf64>
  %e = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%v : tensor<4xf64>) outs(%0 : tensor<4xf64>) {
  ^bb0(%x: f64, %y: f64):
    %z = math.erf %x : f64
    linalg.yield %z : f64
  } -> tensor<4xf64>
  %w = nd.broadcast %e {dims = array<i64: 1>} : tensor<4xf64> to tensor<3x4xf64>
  %r = nd.mul %w, %m : tensor<3x4xf64>
  func.return %r : tensor<3x4xf64>
}

// What is read transposed is computed there.
// CHECK-LABEL: func.func public @permuted
// CHECK-COUNT-1: linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d2, d0, d1)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>]
// CHECK:         math.exp
// CHECK-NEXT:    arith.addf
// CHECK-NOT:     linalg.generic
// CHECK:         func.return
func.func public @permuted(%a: tensor<2x3x4xf64>, %x: tensor<3x4x2xf64>) -> tensor<3x4x2xf64> {
  %e = nd.exp %a : tensor<2x3x4xf64>
  %t = nd.transpose %e {permutation = array<i64: 1, 2, 0>} : tensor<2x3x4xf64> to tensor<3x4x2xf64>
  %s = nd.add %t, %x : tensor<3x4x2xf64>
  func.return %s : tensor<3x4x2xf64>
}

// What is counted is counted where it is used, along the dimension that it is used along.
// CHECK-LABEL: func.func public @counted
// CHECK-COUNT-1: linalg.generic
// CHECK:           linalg.index 1 : index
// CHECK-NOT:     linalg.generic
// CHECK:         func.return
func.func public @counted(%a: tensor<3x4xi64>) -> tensor<3x4xi64> {
  %n = nd.arange : tensor<4xi64>
  %w = nd.broadcast %n {dims = array<i64: 1>} : tensor<4xi64> to tensor<3x4xi64>
  %b = nd.add %a, %w : tensor<3x4xi64>
  func.return %b : tensor<3x4xi64>
}

// A division that two groups read, one of which needs all elements for its result. If the array does not fit into a
// cache, each group divides again: that costs less than to store the quotients and to read them twice.
// CHECK-LABEL: func.func public @divided_far
// CHECK:         linalg.generic {{.*}} iterator_types = ["reduction"]} ins(%w, %x :
// CHECK:           arith.divf
// CHECK-NEXT:      arith.mulf
// CHECK-NEXT:      arith.addf
// CHECK:         linalg.generic {{.*}} iterator_types = ["parallel"]} ins(%w :
// CHECK:           arith.divf
// CHECK-NEXT:      arith.subf
// CHECK-NOT:     linalg.generic
// CHECK:         func.return
func.func public @divided_far(%x: tensor<300000xf64>, %w: tensor<300000xf64>, %s: f64) -> tensor<300000xf64> {
  %divisor = nd.full %s : f64 to tensor<300000xf64>
  %y = nd.div %w, %divisor : tensor<300000xf64>
  %products = nd.mul %y, %x : tensor<300000xf64>
  %total = nd.sum %products {axes = array<i64: 0>} : tensor<300000xf64> to f64
  %totals = nd.full %total : f64 to tensor<300000xf64>
  %centred = nd.sub %y, %totals : tensor<300000xf64>
  func.return %centred : tensor<300000xf64>
}

// In a cache, the quotients are stored.
// CHECK-LABEL: func.func public @divided_near
// CHECK:         arith.divf
// CHECK-NOT:     arith.divf
// CHECK:         func.return
func.func public @divided_near(%x: tensor<3000xf64>, %w: tensor<3000xf64>, %s: f64) -> tensor<3000xf64> {
  %divisor = nd.full %s : f64 to tensor<3000xf64>
  %y = nd.div %w, %divisor : tensor<3000xf64>
  %products = nd.mul %y, %x : tensor<3000xf64>
  %total = nd.sum %products {axes = array<i64: 0>} : tensor<3000xf64> to f64
  %totals = nd.full %total : f64 to tensor<3000xf64>
  %centred = nd.sub %y, %totals : tensor<3000xf64>
  func.return %centred : tensor<3000xf64>
}

// Groups that need one row at a time share the rows: the quotients of a row stay in the cache, and are stored.
// CHECK-LABEL: func.func public @divided_rows
// CHECK:         arith.divf
// CHECK-NOT:     arith.divf
// CHECK:         func.return
func.func public @divided_rows(%x: tensor<500x600xf64>, %w: tensor<500x600xf64>, %s: f64) -> tensor<500x600xf64> {
  %divisor = nd.full %s : f64 to tensor<500x600xf64>
  %y = nd.div %w, %divisor : tensor<500x600xf64>
  %products = nd.mul %y, %x : tensor<500x600xf64>
  %total = nd.sum %products {axes = array<i64: 1>} : tensor<500x600xf64> to tensor<500xf64>
  %totals = nd.broadcast %total {dims = array<i64: 0>} : tensor<500xf64> to tensor<500x600xf64>
  %centred = nd.sub %y, %totals : tensor<500x600xf64>
  func.return %centred : tensor<500x600xf64>
}
