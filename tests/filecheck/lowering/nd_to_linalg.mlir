// RUN: mlirad-opt %s -p 'mlirad-nd-to-linalg' | filecheck %s

// Scalars become arith and math, arrays generics; no nd or ad op is left.
// CHECK-NOT: {{ (nd|ad)\.}}

// CHECK-LABEL: func.func public @elementwise
// CHECK-NEXT:    arith.mulf %x, %x
// CHECK-NEXT:    %[[EMPTY:.*]] = tensor.empty() : tensor<4xf64>
// CHECK-NEXT:    linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%a : tensor<4xf64>) outs(%[[EMPTY]] : tensor<4xf64>)
// CHECK:           math.exp
func.func public @elementwise(%x: f64, %a: tensor<4xf64>) -> (f64, tensor<4xf64>) {
  %y = nd.mul %x, %x : f64
  %b = nd.exp %a : tensor<4xf64>
  func.return %y, %b : f64, tensor<4xf64>
}

// Signedness picks the op, then it is gone.
// CHECK-LABEL: func.func public @unsigned(%x: i32, %y: i32, %a: tensor<4xi8>) -> (i1, tensor<4xf64>)
// CHECK:         arith.cmpi ult, %x, %y : i32
// CHECK:           arith.uitofp
func.func public @unsigned(%x: ui32, %y: ui32, %a: tensor<4xui8>) -> (i1, tensor<4xf64>) {
  %c = nd.less %x, %y : (ui32, ui32) -> i1
  %b = nd.cast %a : tensor<4xui8> to tensor<4xf64>
  func.return %c, %b : i1, tensor<4xf64>
}

// A sum starts from zeros; over all axes it is a scalar.
// CHECK-LABEL: func.func public @sums
// CHECK:         linalg.fill ins(%{{.*}} : f64) outs(%{{.*}} : tensor<3xf64>)
// CHECK-NEXT:    linalg.generic {{.*}}iterator_types = ["parallel", "reduction"]
// CHECK:         linalg.generic {{.*}}iterator_types = ["reduction", "reduction"]{{.*}} outs(%{{.*}} : tensor<f64>)
// CHECK:         tensor.extract %{{.*}}[] : tensor<f64>
func.func public @sums(%a: tensor<3x4xf64>) -> (tensor<3xf64>, f64) {
  %rows = nd.sum %a {axes = array<i64: 1>} : tensor<3x4xf64> to tensor<3xf64>
  %all = nd.sum %a {axes = array<i64: 0, 1>} : tensor<3x4xf64> to f64
  func.return %rows, %all : tensor<3xf64>, f64
}

// A check is a call; its message is in attributes. A tape grows by a call.
// CHECK-LABEL: func.func public @calls
// CHECK:         arith.cmpi ult
// CHECK:         func.call @mlirad_check(%{{.*}}, %i, %n) {mlirad.error = "IndexError", mlirad.message = "index {0} is out of bounds for axis 0 with size {1}"} : (i1, i64, i64) -> ()
// CHECK:         func.call @mlirad_grow_f64(%t, %{{.*}}) : (tensor<?xf64>, index) -> tensor<?xf64>
func.func public @calls(%t: tensor<?xf64>, %i: i64, %n: i64) -> (i64, tensor<?xf64>) {
  %j = nd.check_index %i, %n {axis = 0 : i64}
  %u = ad.grow %t, %j : tensor<?xf64>
  func.return %j, %u : i64, tensor<?xf64>
}

// What loops overwrite is filled for each of them: to copy it would cost more.
// CHECK-LABEL: func.func public @fills
// CHECK:         %[[A:.*]] = linalg.fill
// CHECK:         %[[B:.*]] = linalg.fill
// CHECK:         func.return %[[B]], %[[A]]
func.func public @fills(%x: f64) -> (tensor<4xf64>, tensor<4xf64>) {
  %z = nd.full %x : f64 to tensor<4xf64>
  func.return %z, %z : tensor<4xf64>, tensor<4xf64>
}

// A remainder needs no quotient.
// CHECK-LABEL: func.func public @remainder
// CHECK-NOT:     arith.divsi
// CHECK:         arith.remsi
// CHECK-NOT:     arith.divsi
// CHECK:         func.return
func.func public @remainder(%x: i64, %y: i64) -> i64 {
  %r = nd.mod %x, %y : i64
  func.return %r : i64
}

// Written arguments keep their attribute.
// CHECK-LABEL: func.func public @written
// CHECK-SAME:    {mlirad.written = 0 : i64}
func.func public @written(%a: tensor<4xf64> {mlirad.written = 0 : i64}, %x: f64, %i: i64) -> tensor<4xf64> {
  %t = nd.add_at %x, %a[%i] : f64 into tensor<4xf64>
  func.return %t : tensor<4xf64>
}

// CHECK-LABEL: func.func private @mlirad_check(i1, i64, i64) -> ()
// CHECK-LABEL: func.func private @mlirad_grow_f64(tensor<?xf64>, index) -> tensor<?xf64>
