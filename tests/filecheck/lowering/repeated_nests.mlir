// RUN: mlirad-opt %s -p 'mlirad-linalg-to-loops' | filecheck %s

// Fills of one shape become calls of one function, whatever the number; one of another shape stays where it is.
// CHECK-LABEL:   func.func @f
// CHECK-COUNT-8: func.call @mlirad_nest_0(%{{.*}}, %{{.*}}) {mlirad.work = {{[0-9]+}} : i64} : (f64, memref<4x4xf64>)
// CHECK-NOT:     func.call
// CHECK:         func.func private @mlirad_nest_0
// CHECK-SAME:    mlirad.leaf
// CHECK:         vector.broadcast
// CHECK:         vector.store
func.func @f(%a: memref<4x4xf64>, %b: memref<4x4xf64>, %c: memref<5x4xf64>) {
  %two = arith.constant 2.0 : f64
  %one = arith.constant 1.0 : f64
  linalg.fill ins(%two : f64) outs(%a : memref<4x4xf64>)
  linalg.fill ins(%one : f64) outs(%b : memref<4x4xf64>)
  linalg.fill ins(%two : f64) outs(%a : memref<4x4xf64>)
  linalg.fill ins(%one : f64) outs(%b : memref<4x4xf64>)
  linalg.fill ins(%two : f64) outs(%a : memref<4x4xf64>)
  linalg.fill ins(%one : f64) outs(%b : memref<4x4xf64>)
  linalg.fill ins(%two : f64) outs(%a : memref<4x4xf64>)
  linalg.fill ins(%one : f64) outs(%b : memref<4x4xf64>)
  linalg.fill ins(%one : f64) outs(%c : memref<5x4xf64>)
  func.return
}
