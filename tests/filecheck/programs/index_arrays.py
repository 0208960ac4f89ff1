# RUN: python %s | filecheck %s
"""Index arrays in a loop touch only the elements that they read and write; also in the gradient."""

import numpy as np

import mlirad


def relax(x, i, n):
    for _ in range(n):
        x[i] += 0.5 * x[i[::-1]]


i = np.array([3, 1, 1, 7])

# The indices are checked once in each trip, not once for reading and once for writing; the array is written in place.
# CHECK-LABEL: primal
# CHECK: func.func public
# CHECK-NOT: memref.copy
# CHECK: func.call @mlirad_check
# CHECK: func.call @mlirad_check
# CHECK-NOT: memref.copy
# CHECK-NOT: func.call @mlirad_check
# CHECK: func.return
print("primal", mlirad.jit(relax).lower(np.ones(1000), i, 5).as_text("bufferized"))


def loss(x, y, i, n):
    s = 0.0
    for k in range(n):
        s += (x[i] * y[i + k]).sum()
    return s


# Their cotangents are added up in place.
# CHECK-LABEL: gradient
# CHECK: func.func public
# CHECK-NOT: memref.copy
# CHECK-NOT: memref.alloc{{.*}} : memref<1000xf64>
# CHECK-NOT: memref.copy
# CHECK: func.return
print("gradient", mlirad.grad(loss).lower(np.ones(1000), np.ones(1000), i, 5).as_text("bufferized"))


def smooth(x, n):
    for _ in range(n):
        x[x > 0] *= 0.5


# A mask is a select, in place.
# CHECK-LABEL: mask
# CHECK: func.func public
# CHECK-NOT: memref.copy
# CHECK: arith.select
# CHECK-NOT: memref.copy
# CHECK: func.return
print("mask", mlirad.jit(smooth).lower(np.ones(1000), 5).as_text("bufferized"))
