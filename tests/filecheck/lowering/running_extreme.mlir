// RUN: mlirad-opt %s -p 'mlirad-nd-to-linalg,mlirad-bufferize,mlirad-linalg-to-loops' | filecheck %s

// The largest number is found in vectors. Which of equal zeros comes first decides only the sign of a zero: then the
// numbers are compared again, one after the other.
//
// CHECK-LABEL: func.func @f
// CHECK: arith.maximumf %{{.*}} : vector<{{.*}}xf64>
// CHECK: %[[FOUND:.*]] = arith.select %{{.*}}, %{{.*}}, %start : f64
// CHECK: %[[ZERO:.*]] = arith.cmpf oeq, %[[FOUND]], %{{.*}} : f64
// CHECK: scf.if %[[ZERO]]
// CHECK: scf.for %{{.*}} iter_args(%[[SO_FAR:.*]] = %{{.*}}) -> (f64)
// CHECK: arith.cmpf ogt, %{{.*}}, %[[SO_FAR]] : f64
// CHECK: arith.select %{{.*}} : f64
func.func @f(%x: tensor<1000xf64>, %start: f64) -> f64 {
  %m = nd.running_extreme %x, %start {taken = "ogt"} : tensor<1000xf64>, f64
  func.return %m : f64
}
