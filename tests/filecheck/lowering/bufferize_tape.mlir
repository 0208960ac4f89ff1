// RUN: mlirad-opt %s -p mlirad-bufferize | filecheck %s
// A tape is written once a trip and read backwards; it grows by taking its own memory over.

// CHECK: func.func private @mlirad_grow_f64(memref<?xf64>, index) -> memref<?xf64>
func.func private @mlirad_grow_f64(tensor<?xf64>, index) -> tensor<?xf64>

// CHECK-LABEL: func.func public @sweep(
// CHECK:       %[[start:[^ ]+]] = memref.alloc(%{{[^)]+}}) : memref<?xf64>
// CHECK:       %[[tape:[^ ]+]] = scf.for {{.*}} iter_args(%[[t:[^ ]+]] = %[[start]])
// CHECK:         %[[grown:[^ ]+]] = func.call @mlirad_grow_f64(%[[t]], %{{[^)]+}}) : (memref<?xf64>, index) -> memref<?xf64>
// CHECK:         memref.store %{{[^,]+}}, %[[grown]]
// CHECK-NEXT:    scf.yield %[[grown]]
// CHECK:       scf.for
// CHECK:         memref.load %[[tape]]
// CHECK-NOT:   memref.copy
// CHECK:       func.return
func.func public @sweep(%x: tensor<8xf64>, %n: i64) -> f64 {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %size = arith.constant 64 : index
  %zero = arith.constant 0.0 : f64
  %start = tensor.empty(%size) : tensor<?xf64>
  %tape = scf.for %q = %c0 to %n step %c1 iter_args(%t = %start) -> (tensor<?xf64>) : i64 {
    %k = arith.index_cast %q : i64 to index
    %e = tensor.extract %x[%k] : tensor<8xf64>
    %grown = func.call @mlirad_grow_f64(%t, %k) : (tensor<?xf64>, index) -> tensor<?xf64>
    %u = tensor.insert %e into %grown[%k] : tensor<?xf64>
    scf.yield %u : tensor<?xf64>
  }
  %last = arith.subi %n, %c1 : i64
  %sum = scf.for %q = %c0 to %n step %c1 iter_args(%s = %zero) -> (f64) : i64 {
    %back = arith.subi %last, %q : i64
    %k = arith.index_cast %back : i64 to index
    %e = tensor.extract %tape[%k] : tensor<?xf64>
    %more = arith.addf %s, %e : f64
    scf.yield %more : f64
  }
  return %sum : f64
}
