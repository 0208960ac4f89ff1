// RUN: mlirad-opt %s --dialects-of ascend -p mlirad-ascend-legal,mlirad-ascend-kernels | filecheck %s --check-prefix=KERNELS
// RUN: mlirad-opt %s --dialects-of ascend -p mlirad-ascend-legal,mlirad-ascend-kernels,mlirad-hivm-virtual | filecheck %s --check-prefix=VIRTUAL
// RUN: mlirad-opt %s --dialects-of ascend -p mlirad-ascend-legal,mlirad-ascend-kernels,mlirad-hivm-virtual,mlirad-hivm-physical | filecheck %s --check-prefix=PHYSICAL

func.func public @f(%x: tensor<100x200xf32>) -> tensor<100xf32> {
  %y = nd.sum %x {axes = array<i64: 1>} : tensor<100x200xf32> to tensor<100xf32>
  func.return %y : tensor<100xf32>
}

// The kernel itself sets its output to 0.
// KERNELS: func.func @f_kernel_0
// KERNELS: linalg.fill
// KERNELS-NEXT: linalg.generic
// KERNELS-SAME: iterator_types = ["parallel", "reduction"]

// Sums of tiles are added to those of the tiles before them.
// VIRTUAL: func.func @f_kernel_0
// VIRTUAL: scf.for
// VIRTUAL: "hivm.hir.vbrc"
// VIRTUAL: scf.for
// VIRTUAL: "hivm.hir.load"
// VIRTUAL: "hivm.hir.vreduce"{{.*}}#hivm.reduce_op<sum>, reduce_dims = array<i64: 1>
// VIRTUAL: "hivm.hir.vadd"
// VIRTUAL: }
// VIRTUAL: "hivm.hir.store"

// Outside of the inner loop, each instruction waits for all pipes.
// PHYSICAL: func.func @f_kernel_0
// PHYSICAL: "hivm.hir.vbrc"
// PHYSICAL-NEXT: "hivm.hir.pipe_barrier"() <{pipe = #hivm.pipe<PIPE_ALL>}>
// PHYSICAL: scf.for
// PHYSICAL: "hivm.hir.vreduce"
// PHYSICAL: "hivm.hir.pipe_barrier"() <{pipe = #hivm.pipe<PIPE_V>}>
// PHYSICAL: "hivm.hir.vadd"
// PHYSICAL: "hivm.hir.store"
// PHYSICAL-NEXT: "hivm.hir.pipe_barrier"() <{pipe = #hivm.pipe<PIPE_ALL>}>
