// RUN: mlirad-opt %s -p mlirad-bufferize --print-debuginfo | filecheck %s
// What takes an op's place takes its location.

// CHECK: memref.load {{.*}} loc("user.py":3:5)
// CHECK: memref.copy{{.*}} loc("user.py":4:5)
// CHECK: memref.store {{.*}} loc("user.py":4:5)
func.func public @f(%x: tensor<4xf64>, %i: index) -> tensor<4xf64> {
  %e = tensor.extract %x[%i] : tensor<4xf64> loc("user.py":3:5)
  %r = tensor.insert %e into %x[%i] : tensor<4xf64> loc("user.py":4:5)
  return %r : tensor<4xf64> loc("user.py":5:5)
}
