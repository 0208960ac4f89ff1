# RUN: python %s | filecheck %s
"""A loop carries the elements of small arrays (two, and room for a third): nothing of these is in memory."""

import numpy as np

import mlirad


def state(x, v):
    for k in range(50):
        if k % 2:
            v = v - 0.01 * x
        else:
            v = 0.9 * v
        x, v = x + 0.01 * v, np.cross(x, v)
    return np.sum(x * v)


# CHECK-LABEL: func.func public @state
# CHECK-NOT:   memref.alloc()
# CHECK:       scf.for %k = {{.*}} -> (f64, f64, f64, f64, f64, f64, f64, f64, f64) : i64 {
# CHECK-NOT:   memref.alloc()
# CHECK:       func.return
lowered = mlirad.jit(state).lower(np.ones(3), np.ones(3))
print(lowered.as_text("loops"))

# LLVM makes registers of them.
# CHECK-LABEL: @mlirad.body.state
# CHECK-NOT:   alloca
# CHECK:       @mlirad.entry.state
print(lowered.as_text("llvmopt"))
