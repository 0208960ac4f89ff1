// RUN: mlirad-opt %s --dialects-of ascend -p mlirad-ascend-legal,mlirad-ascend-kernels | filecheck %s --check-prefix=KERNELS
// RUN: mlirad-opt %s --dialects-of ascend -p mlirad-ascend-legal,mlirad-ascend-kernels,mlirad-hivm-virtual | filecheck %s --check-prefix=VIRTUAL
// RUN: mlirad-opt %s --dialects-of ascend -p mlirad-ascend-legal,mlirad-ascend-kernels,mlirad-hivm-virtual,mlirad-hivm-physical | filecheck %s --check-prefix=PHYSICAL

func.func public @f(%x: tensor<40x24xf16>, %y: tensor<24x70xf16>) -> tensor<40x70xf16> {
  %p = nd.contract "XY,YZ->XZ" %x, %y : (tensor<40x24xf16>, tensor<24x70xf16>) -> tensor<40x70xf16>
  %e = nd.exp %p : tensor<40x70xf16>
  func.return %e : tensor<40x70xf16>
}

// The product is a kernel of the cube cores, what follows one of the vector cores.
// KERNELS: func.call @f_kernel_0(%x, %y, %[[product:[a-z0-9_]+]])
// KERNELS-NEXT: func.call @f_kernel_1(%[[product]]
// KERNELS: func.func @f_kernel_0
// KERNELS-SAME: hivm.func_core_type = #hivm.func_core_type<AIC>
// KERNELS: func.func @f_kernel_1
// KERNELS-SAME: hivm.func_core_type = #hivm.func_core_type<AIV>

// VIRTUAL: func.func @f_kernel_0
// VIRTUAL: tensor.empty() : tensor<{{.*}}xf32>
// VIRTUAL: "hivm.hir.mmadL1"
// VIRTUAL: "hivm.hir.store"
// VIRTUAL: func.func @f_kernel_1
// VIRTUAL: "hivm.hir.vexp"

// L1, then L0A and L0B, the multiplication into L0C, and from there to global memory, rounded to f16.
// PHYSICAL: func.func @f_kernel_0
// PHYSICAL: "hivm.hir.nd2nz"{{.*}}#hivm.address_space<cbuf>
// PHYSICAL: "hivm.hir.nd2nz"{{.*}}#hivm.address_space<cbuf>
// PHYSICAL: name = "load_cbuf_to_ca"
// PHYSICAL: name = "load_cbuf_to_cb"
// PHYSICAL: "hivm.hir.wait_flag"(%{{.*}}) <{set_pipe = #hivm.pipe<PIPE_MTE1>, wait_pipe = #hivm.pipe<PIPE_M>}>
// PHYSICAL-NEXT: "hivm.hir.pipe_barrier"() <{pipe = #hivm.pipe<PIPE_M>}>
// PHYSICAL-NEXT: name = "mad"
// PHYSICAL: "hivm.hir.wait_flag"(%{{.*}}) <{set_pipe = #hivm.pipe<PIPE_M>, wait_pipe = #hivm.pipe<PIPE_FIX>}>
// PHYSICAL: "hivm.hir.fixpipe"{{.*}}xf32, #hivm.address_space<cc>>, {{.*}}xf16
