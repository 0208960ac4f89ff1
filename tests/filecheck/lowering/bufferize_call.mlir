// RUN: mlirad-opt %s -p mlirad-bufferize | filecheck %s
// A call hands memrefs over: what the function may overwrite is copied only if it is read later, and what it makes is
// made in memory that the caller gives.

// CHECK-LABEL: func.func private @set
// CHECK-SAME:    (%x: memref<4xf64> {mlirad.written = 1 : i64}, %y: memref<4xf64>, %i: index, %{{.*}}: memref<4xf64> {mlirad.result = 2 : i64}) -> f64
// CHECK-NOT:     memref.alloc
// CHECK:         memref.store
// CHECK:         func.return %{{.*}} : f64
func.func private @set(%x: tensor<4xf64> {mlirad.written = 1 : i64}, %y: tensor<4xf64>, %i: index)
    -> (f64, tensor<4xf64>, tensor<4xf64>) {
  %v = tensor.extract %y[%i] : tensor<4xf64>
  %n = tensor.insert %v into %x[%i] : tensor<4xf64>
  %e = tensor.empty() : tensor<4xf64>
  %w = linalg.fill ins(%v : f64) outs(%e : tensor<4xf64>) -> tensor<4xf64>
  func.return %v, %n, %w : f64, tensor<4xf64>, tensor<4xf64>
}

// The last use of %x hands its memory on, and the results are where the caller wants them.
// CHECK-LABEL: func.func public @moved
// CHECK-SAME:    (%x: memref<4xf64> {mlirad.written = 0 : i64}, %y: memref<4xf64>, %i: index, %[[OUT:.*]]: memref<4xf64> {mlirad.result = 1 : i64})
// CHECK-NEXT:    func.call @set(%x, %y, %i, %[[OUT]])
// CHECK-NEXT:    func.return
func.func public @moved(%x: tensor<4xf64> {mlirad.written = 0 : i64}, %y: tensor<4xf64>, %i: index)
    -> (tensor<4xf64>, tensor<4xf64>) {
  %v, %n, %w = func.call @set(%x, %y, %i) : (tensor<4xf64>, tensor<4xf64>, index) -> (f64, tensor<4xf64>, tensor<4xf64>)
  func.return %n, %w : tensor<4xf64>, tensor<4xf64>
}

// The same array read and written: the function overwrites a copy.
// CHECK-LABEL: func.func public @twice
// CHECK:         "memref.copy"(%x, %[[COPY:.*]]) : (memref<4xf64>, memref<4xf64>)
// CHECK:         func.call @set(%[[COPY]], %x, %i, 
func.func public @twice(%x: tensor<4xf64> {mlirad.written = 0 : i64}, %i: index) -> tensor<4xf64> {
  %v, %n, %w = func.call @set(%x, %x, %i) : (tensor<4xf64>, tensor<4xf64>, index) -> (f64, tensor<4xf64>, tensor<4xf64>)
  func.return %n : tensor<4xf64>
}

// What may grow is returned.
// CHECK-LABEL: func.func private @grown(%t: memref<?xf64>
// CHECK:         func.return %{{.*}} : memref<?xf64>
func.func private @grown(%t: tensor<?xf64> {mlirad.written = 0 : i64}, %i: index, %v: f64) -> tensor<?xf64> {
  %u = func.call @mlirad_grow_f64(%t, %i) : (tensor<?xf64>, index) -> tensor<?xf64>
  %r = tensor.insert %v into %u[%i] : tensor<?xf64>
  func.return %r : tensor<?xf64>
}
func.func private @mlirad_grow_f64(tensor<?xf64>, index) -> tensor<?xf64>
