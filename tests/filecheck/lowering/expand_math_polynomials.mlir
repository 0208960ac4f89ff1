// RUN: mlirad-opt %s -p 'mlirad-expand-math' | filecheck %s

// Scalars are the C library's, and so is what processors do on vectors.
// CHECK-LABEL: func.func @kept
// CHECK:       math.exp %x : f64
// CHECK-NEXT:  math.sqrt %v : vector<4xf64>
// CHECK-NEXT:  func.return
func.func @kept(%x: f64, %v: vector<4xf64>) {
  %a = math.exp %x : f64
  %b = math.sqrt %v : vector<4xf64>
  func.return
}

// The argument is bounded, so that it over- and underflows as it should, but a nan goes through: no comparison holds.
// CHECK-LABEL: func.func @exp
// CHECK:       %[[ABOVE:.*]] = arith.cmpf ogt, %v, %[[HIGH:.*]] : vector<8xf32>
// CHECK-NEXT:  arith.select %[[ABOVE]], %[[HIGH]], %v : vector<8xi1>, vector<8xf32>
// CHECK:       vector.fma
// CHECK:       arith.bitcast %{{.*}} : vector<8xf32> to vector<8xi32>
// CHECK:       arith.shli
// CHECK:       %a = arith.mulf %{{.*}} : vector<8xf32>
// CHECK-NEXT:  func.return %a : vector<8xf32>
func.func @exp(%v: vector<8xf32>) -> vector<8xf32> {
  %a = math.exp %v : vector<8xf32>
  func.return %a : vector<8xf32>
}

// Angles too wide to be reduced go to the library, in a branch that is hardly ever taken.
// CHECK-LABEL: func.func @sin
// CHECK:       %[[ANY:.*]] = vector.reduction <or>, %[[WIDE:.*]] : vector<4xi1> into i1
// CHECK-NEXT:  scf.if %[[ANY]] -> (vector<4xf64>) {
// CHECK:         scf.for %[[LANE:[a-z0-9]+]] =
// CHECK-NEXT:      vector.extract %v[%[[LANE]]] : f64 from vector<4xf64>
// CHECK-NEXT:      math.sin %{{.*}} : f64
// CHECK-NEXT:      vector.insert
// CHECK:         arith.select %[[WIDE]]
// CHECK:       } else {
func.func @sin(%v: vector<4xf64>) -> vector<4xf64> {
  %a = math.sin %v : vector<4xf64>
  func.return %a : vector<4xf64>
}

// A power of usual numbers takes neither branch: the first makes them usual, the second is for signs, zeros and the like.
// CHECK-LABEL: func.func @pow
// CHECK:       %[[USUAL:.*]] = vector.reduction <and>, %{{.*}} : vector<4xi1> into i1
// CHECK-NEXT:  scf.if %[[USUAL]]
// CHECK-NEXT:    scf.yield %v, %{{.*}}, %w : vector<4xf64>, vector<4xf64>, vector<4xf64>
// CHECK-NOT:   math.powf
// CHECK:       scf.if %[[USUAL]] -> (vector<4xf64>) {
// CHECK-NEXT:    scf.yield %{{.*}} : vector<4xf64>
// CHECK-NEXT:  } else {
func.func @pow(%v: vector<4xf64>, %w: vector<4xf64>) -> vector<4xf64> {
  %a = math.powf %v, %w : vector<4xf64>
  func.return %a : vector<4xf64>
}

// What has no polynomial is called lane after lane.
// CHECK-LABEL: func.func @erf
// CHECK:       scf.for
// CHECK-NEXT:    vector.extract %v
// CHECK-NEXT:    math.erf %{{.*}} : f64
func.func @erf(%v: vector<4xf64>) -> vector<4xf64> {
  %a = math.erf %v : vector<4xf64>
  func.return %a : vector<4xf64>
}
