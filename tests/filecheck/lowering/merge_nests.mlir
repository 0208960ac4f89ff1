// RUN: mlirad-opt %s -p 'mlirad-nd-to-linalg,mlirad-merge-nests' | filecheck %s
// Nests over the same points become one with several results, if one reads what another reads or makes: each array is
// then read once, and what only these nests read is not stored.
//
//     x --> exp --> mul by s --> y           sin and the second sum are computed while exp is summed; y needs that sum,
//            +----> sum --> s                 so it is another nest
//     x --> sin

// A value and its gradient: exp and cos are computed once, and only the gradient is stored.
// CHECK-LABEL: func.func public @value_and_gradient
// CHECK-COUNT-1: linalg.generic
// CHECK-SAME:    iterator_types = ["reduction"]} ins(%x : tensor<64xf64>) outs(%{{.*}}, %{{.*}} : tensor<f64>, tensor<64xf64>)
// CHECK-COUNT-1:   math.exp
// CHECK-NOT:       math.exp
// CHECK:           linalg.yield %{{.*}}, %{{.*}} : f64, f64
// CHECK-NOT:     linalg.generic
// CHECK:         func.return
func.func public @value_and_gradient(%x: tensor<64xf64>) -> (f64, tensor<64xf64>) {
  %e = nd.exp %x : tensor<64xf64>
  %p = nd.mul %e, %x : tensor<64xf64>
  %s = nd.sum %p {axes = array<i64: 0>} : tensor<64xf64> to f64
  %d = nd.add %p, %e : tensor<64xf64>
  func.return %s, %d : f64, tensor<64xf64>
}

// What needs the sum of all elements is another nest; what moves behind the last nest keeps its order.
// CHECK-LABEL: func.func public @two_passes
// CHECK:         %[[E:.*]], %[[S:.*]], %[[C:.*]] = linalg.generic
// CHECK-SAME:      iterator_types = ["parallel", "reduction"]
// CHECK:         linalg.generic
// CHECK-SAME:      ins(%[[E]], %[[S]] :
// CHECK-NOT:     linalg.generic
// CHECK:         func.return
func.func public @two_passes(%x: tensor<4x32xf64>) -> (tensor<4x32xf64>, tensor<4xf64>) {
  %e = nd.exp %x : tensor<4x32xf64>
  %s = nd.sum %e {axes = array<i64: 1>} : tensor<4x32xf64> to tensor<4xf64>
  %w = nd.broadcast %s {dims = array<i64: 0>} : tensor<4xf64> to tensor<4x32xf64>
  %y = nd.div %e, %w : tensor<4x32xf64>
  %c = nd.sum %x {axes = array<i64: 1>} : tensor<4x32xf64> to tensor<4xf64>
  func.return %y, %c : tensor<4x32xf64>, tensor<4xf64>
}

// Sums along different axes need different loops; so do arrays of different shapes.
// CHECK-LABEL: func.func public @apart
// CHECK-COUNT-3: linalg.generic
// CHECK:         func.return
func.func public @apart(%x: tensor<4x32xf64>, %v: tensor<32xf64>) -> (tensor<4xf64>, tensor<32xf64>, tensor<32xf64>) {
  %a = nd.sum %x {axes = array<i64: 1>} : tensor<4x32xf64> to tensor<4xf64>
  %b = nd.sum %x {axes = array<i64: 0>} : tensor<4x32xf64> to tensor<32xf64>
  %c = nd.sin %v : tensor<32xf64>
  func.return %a, %b, %c : tensor<4xf64>, tensor<32xf64>, tensor<32xf64>
}

// Short rows: elementwise loops run along the whole array, which they could not beside the sums of rows.
// CHECK-LABEL: func.func public @short_rows
// CHECK-COUNT-2: linalg.generic
// CHECK:         func.return
func.func public @short_rows(%x: tensor<99x3xf64>) -> (tensor<99x3xf64>, tensor<99xf64>) {
  %y = nd.sin %x : tensor<99x3xf64>
  %s = nd.sum %x {axes = array<i64: 1>} : tensor<99x3xf64> to tensor<99xf64>
  func.return %y, %s : tensor<99x3xf64>, tensor<99xf64>
}

// The first nest would read x behind its last use, which overwrites it: it stays, rather than cost a copy.
// CHECK-LABEL: func.func public @overwritten
// CHECK:         linalg.generic
// CHECK:         tensor.insert
// CHECK:         linalg.generic
// CHECK:         func.return
func.func public @overwritten(%v: tensor<32xf64>, %i: i64, %n: f64) -> (tensor<32xf64>, f64, tensor<32xf64>) {
  %x = nd.exp %v : tensor<32xf64>
  %y = nd.sin %x : tensor<32xf64>
  %z = nd.insert %n, %x[%i] : f64 into tensor<32xf64>
  %p = nd.mul %y, %v : tensor<32xf64>
  %s = nd.sum %p {axes = array<i64: 0>} : tensor<32xf64> to f64
  func.return %y, %s, %z : tensor<32xf64>, f64, tensor<32xf64>
}

// Products keep their own loops.
// CHECK-LABEL: func.func public @product
// CHECK-COUNT-2: linalg.generic
// CHECK:         func.return
func.func public @product(%a: tensor<16x16xf64>, %b: tensor<16x16xf64>) -> (tensor<16x16xf64>, tensor<16x16xf64>) {
  %c = nd.contract "ij,jk->ik" %a, %b : (tensor<16x16xf64>, tensor<16x16xf64>) -> tensor<16x16xf64>
  %d = nd.sin %a : tensor<16x16xf64>
  func.return %c, %d : tensor<16x16xf64>, tensor<16x16xf64>
}

// What only the sum reads is stored all the same: nothing else says how many numbers there are.
// CHECK-LABEL: func.func public @no_other_array
// CHECK-COUNT-2: linalg.generic
// CHECK:         func.return
func.func public @no_other_array(%m: i1) -> i64 {
  %0 = nd.reshape %m : i1 to tensor<1xi1>
  %1 = nd.cast %0 : tensor<1xi1> to tensor<1xi64>
  %2 = nd.sum %1 {axes = array<i64: 0>} : tensor<1xi64> to i64
  func.return %2 : i64
}

// Arrays whose lengths are one value known only at run time, and one that may have another length.
// CHECK-LABEL: func.func public @unknown_lengths
// CHECK:         linalg.generic {{.*}} ins(%{{.*}}) outs(%{{.*}}, %{{.*}} : tensor<?xf64>, tensor<f64>)
// CHECK:         linalg.generic {{.*}} outs(%{{.*}} : tensor<?xf64>)
// CHECK:         func.return
func.func public @unknown_lengths(%x: tensor<64xf64>, %n: i64, %m: i64) -> (tensor<?xf64>, f64, tensor<?xf64>) {
  %c0 = nd.constant {value = 0 : i64} : i64
  %a = nd.extract_slice %x[%c0][%n] {sizes = array<i64: -1>, strides = array<i64: 1>} : tensor<64xf64> -> tensor<?xf64>
  %b = nd.extract_slice %x[%c0][%m] {sizes = array<i64: -1>, strides = array<i64: 1>} : tensor<64xf64> -> tensor<?xf64>
  %y = nd.sin %a : tensor<?xf64>
  %s = nd.sum %y {axes = array<i64: 0>} : tensor<?xf64> to f64
  %z = nd.cos %b : tensor<?xf64>
  func.return %y, %s, %z : tensor<?xf64>, f64, tensor<?xf64>
}

// A nest that takes one element of each row stays apart from one that sums the rows: alone it need not go along them.

// CHECK-LABEL: func.func @picked
// CHECK:         arith.addf
// CHECK:       linalg.generic
// CHECK:         arith.maximumf
func.func @picked(%x: tensor<90x70xf64>, %labels: tensor<90xi64>) -> (tensor<90xf64>, tensor<90xf64>) {
  %zero = arith.constant 0.0 : f64
  %least = arith.constant 0xFFF0000000000000 : f64
  %0 = tensor.empty() : tensor<90xf64>
  %zeros = linalg.fill ins(%zero : f64) outs(%0 : tensor<90xf64>) -> tensor<90xf64>
  %s = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<90x70xf64>) outs(%zeros : tensor<90xf64>) {
  ^bb0(%a: f64, %old: f64):
    %b = arith.mulf %a, %a : f64
    %c = arith.addf %old, %b : f64
    linalg.yield %c : f64
  } -> tensor<90xf64>
  %1 = tensor.empty() : tensor<90xf64>
  %leasts = linalg.fill ins(%least : f64) outs(%1 : tensor<90xf64>) -> tensor<90xf64>
  %y = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]} ins(%x, %labels : tensor<90x70xf64>, tensor<90xi64>) outs(%leasts : tensor<90xf64>) {
  ^bb0(%a: f64, %label: i64, %old: f64):
    %d = linalg.index 1 : index
    %j = arith.index_cast %d : index to i64
    %e = arith.cmpi eq, %j, %label : i64
    %g = arith.select %e, %a, %least : f64
    %h = arith.maximumf %old, %g : f64
    linalg.yield %h : f64
  } -> tensor<90xf64>
  func.return %s, %y : tensor<90xf64>, tensor<90xf64>
}
