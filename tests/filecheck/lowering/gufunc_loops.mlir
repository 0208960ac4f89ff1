// RUN: mlirad-opt %s -p mlirad-nd-to-linalg | filecheck %s
// RUN: mlirad-opt %s -p 'mlirad-nd-to-linalg,mlirad-bufferize' | filecheck %s --check-prefix=MEMORY

// A system of linear equations is solved by a loop of NumPy's, which is called for each matrix of the stack. Behind the
// operands and the solution it gets where to say whether it failed, and the sizes m and n.

// CHECK-LABEL: func.func @solve
// CHECK-DAG:     %[[X:.+]] = tensor.empty() : tensor<2x3x4xf64>
// CHECK-DAG:     %[[FAILED:.+]] = tensor.empty() : tensor<2xi64>
// CHECK:         scf.for %[[PART:.+]] = %{{.*}} iter_args(%[[XS:.+]] = %[[X]], %[[FLAGS:.+]] = %[[FAILED]])
// CHECK:           func.call @"mlirad.native.gufunc.linalg.solve.ddd(2x3x3, 2x3x4, 2x3x4, 2)"(%{{[^,]*}}, %a, %{{.*}}, %b, %{{.*}}, %[[XS]], %{{.*}}, %[[FLAGS]], %{{[^)]*}})
// CHECK-SAME:        mlirad.gufunc = "(m,m),(m,n)->(m,n)"
func.func @solve(%a: tensor<2x3x3xf64>, %b: tensor<2x3x4xf64>) -> (tensor<2x3x4xf64>, tensor<2xi64>) {
  %x, %failed = nd.solve %a, %b : (tensor<2x3x3xf64>, tensor<2x3x4xf64>) -> (tensor<2x3x4xf64>, tensor<2xi64>)
  return %x, %failed : tensor<2x3x4xf64>, tensor<2xi64>
}

// The loop changes its operand, which is needed no more, in place.

// MEMORY-LABEL: func.func @in_place
// MEMORY-NOT:    memref.copy
// MEMORY:        func.call @"mlirad.native.gufunc.linalg.qr_r_raw.dd(4x3, 3, )"
// MEMORY-NOT:    memref.copy
func.func @in_place(%x: tensor<4x3xf64>) -> (tensor<4x3xf64>, tensor<3xf64>) {
  %y = nd.sin %x : tensor<4x3xf64>
  %packed, %factors, %failed = nd.reflections %y : (tensor<4x3xf64>) -> (tensor<4x3xf64>, tensor<3xf64>, tensor<i64>)
  return %packed, %factors : tensor<4x3xf64>, tensor<3xf64>
}
