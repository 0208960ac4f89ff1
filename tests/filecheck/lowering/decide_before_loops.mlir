// RUN: mlirad-opt %s -p mlirad-decide-before-loops | filecheck %s

// In the reverse sweep of a triangular factorisation, both products of a trip have the same cotangent, which is hardly
// ever 0: with two comparisons and two selects, a trip takes twice as long. Now there is one comparison before the loop.
// CHECK-LABEL: func.func @scalars
// CHECK:         %[[test:[^ ]+]] = arith.cmpf oeq, %g, %{{.*}} : f64
// CHECK-NEXT:    scf.if %[[test]] {
// CHECK-NEXT:      scf.for
// CHECK:             arith.select
// CHECK:           } else {
// CHECK-NEXT:      scf.for
// CHECK-NOT:         arith.cmpf
// CHECK-NOT:         arith.select
// CHECK:         func.return
func.func @scalars(%x: memref<8xf64>, %g: f64) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant 0.0 : f64
  scf.for %i = %c0 to %c8 step %c1 {
    %a = memref.load %x[%i] : memref<8xf64>
    %b = arith.mulf %a, %g : f64
    %is_nan = arith.cmpf uno, %b, %b : f64
    %is_zero = arith.cmpf oeq, %g, %zero : f64
    %both = arith.andi %is_nan, %is_zero : i1
    %c = arith.select %both, %zero, %b : f64
    memref.store %c, %x[%i] : memref<8xf64>
  }
  func.return
}

// A loop of vectors compares the same number in all lanes. What the loop carries leaves both sides.
// CHECK-LABEL: func.func @vectors
// CHECK:         arith.cmpf oeq, %g, {{.*}} : f64
// CHECK-NEXT:    %{{.*}} = scf.if %{{.*}} -> (vector<4xf64>) {
// CHECK:             arith.select
// CHECK:           scf.yield
// CHECK:           scf.yield %{{.*}} : vector<4xf64>
// CHECK-NEXT:    } else {
// CHECK-NOT:         arith.select
// CHECK:         func.return
func.func @vectors(%x: memref<8xf64>, %g: f64) -> vector<4xf64> {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %zeros = arith.constant dense<0.0> : vector<4xf64>
  %s = scf.for %i = %c0 to %c8 step %c4 iter_args(%t = %zeros) -> (vector<4xf64>) {
    %a = vector.load %x[%i] : memref<8xf64>, vector<4xf64>
    %gs = vector.broadcast %g : f64 to vector<4xf64>
    %b = arith.mulf %a, %gs : vector<4xf64>
    %is_nan = arith.cmpf uno, %b, %b : vector<4xf64>
    %is_zero = arith.cmpf oeq, %gs, %zeros : vector<4xf64>
    %both = arith.andi %is_nan, %is_zero : vector<4xi1>
    %c = arith.select %both, %zeros, %b : vector<4xi1>, vector<4xf64>
    %u = arith.addf %t, %c : vector<4xf64>
    scf.yield %u : vector<4xf64>
  }
  func.return %s : vector<4xf64>
}

// A cotangent of its own in each trip, and a comparison with another number, stay.
// CHECK-LABEL: func.func @varying
// CHECK-NOT:     scf.if
func.func @varying(%x: memref<8xf64>, %y: memref<8xf64>, %g: f64) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant 0.0 : f64
  %one = arith.constant 1.0 : f64
  scf.for %i = %c0 to %c8 step %c1 {
    %a = memref.load %x[%i] : memref<8xf64>
    %f = memref.load %y[%i] : memref<8xf64>
    %b = arith.mulf %a, %f : f64
    %is_nan = arith.cmpf uno, %b, %b : f64
    %is_zero = arith.cmpf oeq, %f, %zero : f64
    %is_one = arith.cmpf oeq, %g, %one : f64
    %both = arith.andi %is_nan, %is_zero : i1
    %c = arith.select %both, %zero, %b : f64
    %d = arith.select %is_one, %zero, %c : f64
    memref.store %d, %x[%i] : memref<8xf64>
  }
  func.return
}
