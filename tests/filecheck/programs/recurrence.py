# RUN: python %s | filecheck %s
"""The gradient of a recurrence written in place: two loops that touch single elements, and nothing else in them."""

import numpy as np

import mlirad


def loss(x, c):
    y = np.empty(x.shape[0])
    y[0] = x[0]
    for i in range(1, x.shape[0]):
        y[i] = c * np.sin(y[i - 1]) + x[i]
    return np.sum(y * y)


lowered = mlirad.grad(loss).lower(np.ones(1000), 1.1)

# No index is checked, wrapped or selected in the loops; no array is copied; the forward sweep keeps only y itself. The
# reverse sweep's cosines are computed before it, in vectors.
# CHECK-LABEL: loops
# CHECK: func.func public
# CHECK-NOT: memref.copy
# CHECK-NOT: mlirad_check
# CHECK-NOT: arith.select
# CHECK: scf.for %{{.*}} : i64 {
# CHECK: math.sin
# CHECK: memref.store
# CHECK-NOT: memref.store
# CHECK: vector.store
# CHECK-NOT: memref.copy
# CHECK: math.cos
# CHECK-NOT: memref.copy
# CHECK-NOT: mlirad_grow
# CHECK: scf.for %{{.*}} : i64 {
# CHECK-NOT: math.cos
# CHECK-NOT: arith.select
# CHECK-NOT: memref.copy
# CHECK: func.return
print("loops", lowered.as_text("loops"))

# Both sweeps' loops are left to LLVM with half of the widest vectors at most: wide ones slow the scalar code down.
# CHECK-LABEL: llvmir
# CHECK-NOT: inttoptr
# CHECK-NOT: <8 x double>
# CHECK: call double @llvm.sin.f64
# CHECK-NOT: <8 x double>
# CHECK: declare double @llvm.sin.f64
print("llvmir", lowered.as_text("llvmir"))
