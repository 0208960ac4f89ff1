// RUN: mlirad-opt %s --dialects-of ascend -p mlirad-ascend-legal,mlirad-ascend-kernels | filecheck %s --check-prefix=KERNELS
// RUN: mlirad-opt %s --dialects-of ascend -p mlirad-ascend-legal,mlirad-ascend-kernels,mlirad-hivm-virtual | filecheck %s --check-prefix=VIRTUAL

func.func public @f(%x: tensor<40x24xf32>) -> tensor<24x40xf32> {
  %t = nd.transpose %x {permutation = array<i64: 1, 0>} : tensor<40x24xf32> to tensor<24x40xf32>
  %y = nd.exp %t : tensor<24x40xf32>
  func.return %y : tensor<24x40xf32>
}

// A transpose is how a kernel reads its operand.
// KERNELS-NOT: memref.copy
// KERNELS: func.func @f_kernel_0
// KERNELS: linalg.generic
// KERNELS-SAME: affine_map<(d0, d1) -> (d1, d0)>

// A tile is loaded as it lies in memory, into whole blocks of 16 rows and columns, and exchanged in the unified buffer.
// VIRTUAL: memref.alloc() : memref<48x16xf32, #hivm.address_space<ub>>
// VIRTUAL: "hivm.hir.load"
// VIRTUAL: "hivm.hir.vtranspose"{{.*}}permutation = array<i64: 1, 0>
// VIRTUAL: "hivm.hir.vexp"
// VIRTUAL: "hivm.hir.store"
