// RUN: mlirad-opt %s --dialects-of ascend -p mlirad-ascend-legal,mlirad-ascend-kernels | filecheck %s --check-prefix=KERNELS
// RUN: mlirad-opt %s --dialects-of ascend -p mlirad-ascend-legal,mlirad-ascend-kernels,mlirad-hivm-virtual | filecheck %s --check-prefix=VIRTUAL
// RUN: mlirad-opt %s --dialects-of ascend -p mlirad-ascend-legal,mlirad-ascend-kernels,mlirad-hivm-virtual,mlirad-hivm-physical | filecheck %s --check-prefix=PHYSICAL

func.func public @f(%x: tensor<1000003xf32>) -> tensor<1000003xf32> {
  %y = nd.exp %x : tensor<1000003xf32>
  %z = nd.add %y, %x : tensor<1000003xf32>
  func.return %z : tensor<1000003xf32>
}

// Both functions are one kernel.
// KERNELS-LABEL: func.func public @f
// KERNELS-SAME: hacc.function_kind = #hacc.function_kind<HOST>
// KERNELS: %[[out:.*]] = memref.alloc() : memref<1000003xf32, #hivm.address_space<gm>>
// KERNELS-NEXT: func.call @f_kernel_0(%x, %[[out]])
// KERNELS-NEXT: func.return %[[out]]
// KERNELS: func.func @f_kernel_0
// KERNELS-SAME: hivm.func_core_type = #hivm.func_core_type<AIV>
// KERNELS: linalg.generic
// KERNELS: math.exp
// KERNELS-NEXT: arith.addf
// KERNELS-NOT: func.func

// Each of 48 blocks begins at its own tile. The last tile is shorter: every instruction has the size that is left.
// VIRTUAL: func.call @f_kernel_0{{.*}}mlirad.block_dim = 48
// VIRTUAL: func.func @f_kernel_0
// VIRTUAL: memref.alloc() : memref<[[tile:[0-9]+]]xf32, #hivm.address_space<ub>>
// VIRTUAL: %[[index:.*]] = "hivm.hir.get_block_idx"
// VIRTUAL-NEXT: %[[first:.*]] = arith.index_cast %[[index]]
// VIRTUAL: scf.for %{{.*}} = %[[first]] to
// VIRTUAL: %[[left:.*]] = arith.subi
// VIRTUAL: %[[size:.*]] = arith.minui %[[left]], %{{.*}} : index
// VIRTUAL-NEXT: memref.reinterpret_cast %x to offset: {{.*}}, sizes: [%[[size]]]
// VIRTUAL-NEXT: memref.subview %{{.*}}[0] [%[[size]]] [1] : memref<[[tile]]xf32
// VIRTUAL-NEXT: "hivm.hir.load"
// VIRTUAL: "hivm.hir.vexp"
// VIRTUAL: "hivm.hir.vadd"
// VIRTUAL: "hivm.hir.store"
// VIRTUAL-NOT: pointer_cast
// VIRTUAL-NOT: _flag

// What is transferred has two buffers, which odd and even trips use; flags guard them in both directions.
// PHYSICAL: func.func @f_kernel_0
// PHYSICAL-NOT: memref.alloc
// PHYSICAL-COUNT-4: "hivm.hir.set_flag"
// PHYSICAL: scf.for
// PHYSICAL: %[[place:.*]] = arith.select
// PHYSICAL-NEXT: "hivm.hir.pointer_cast"(%[[place]])
// PHYSICAL: "hivm.hir.wait_flag"(%[[trip:.*]]) <{set_pipe = #hivm.pipe<PIPE_V>, wait_pipe = #hivm.pipe<PIPE_MTE2>}>
// PHYSICAL: "hivm.hir.load"
// PHYSICAL: "hivm.hir.set_flag"(%[[trip]]) <{set_pipe = #hivm.pipe<PIPE_MTE2>, wait_pipe = #hivm.pipe<PIPE_V>}>
// PHYSICAL: "hivm.hir.wait_flag"(%[[trip]]) <{set_pipe = #hivm.pipe<PIPE_MTE2>, wait_pipe = #hivm.pipe<PIPE_V>}>
// PHYSICAL: "hivm.hir.vexp"
// PHYSICAL: "hivm.hir.pipe_barrier"() <{pipe = #hivm.pipe<PIPE_V>}>
// PHYSICAL: "hivm.hir.vadd"
// PHYSICAL: "hivm.hir.store"
// PHYSICAL: }
// PHYSICAL-COUNT-4: "hivm.hir.wait_flag"
// PHYSICAL-NEXT: "hivm.hir.pipe_barrier"() <{pipe = #hivm.pipe<PIPE_ALL>}>
// PHYSICAL-NEXT: func.return
