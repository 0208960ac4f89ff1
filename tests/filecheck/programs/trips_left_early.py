# RUN: python %s | filecheck %s
"""A trip that is left before it writes leaves the array as it is: the write in the other trips is in place."""

import numpy as np

import mlirad


def skipped(x):
    for i in range(x.shape[0]):
        if x[i] < 0.0:
            continue
        x[i] = np.sqrt(x[i])


def stopped(x, limit):
    y = np.zeros(x.shape[0])
    for i in range(x.shape[0]):
        if x[i] > limit:
            break
        y[i] = 2.0 * x[i]
        if y[i] > limit:
            return y
        y[0] += x[i]
    return y


def in_either_loop(x, y):
    for i in range(x.shape[0]):
        for j in range(3):
            if x[i] < j:
                continue
            y[i] += x[i]
            if y[i] > 5.0:
                break
        if y[i] < 0.0:
            break
        y[i] *= 2.0


x = np.ones(1000)

# CHECK-LABEL: skipped
# CHECK: func.func public
# CHECK-NOT: memref.{{copy|alloc}}
# CHECK: scf.for
# CHECK-NOT: memref.{{copy|alloc}}
# CHECK: func.return
print("skipped", mlirad.jit(skipped).lower(x).as_text("bufferized"))

# The caller's memory is the array.
# CHECK-LABEL: stopped
# CHECK: func.func public
# CHECK-NOT: memref.{{copy|alloc}}
# CHECK: scf.while
# CHECK-NOT: memref.{{copy|alloc}}
# CHECK: func.return
print("stopped", mlirad.jit(stopped).lower(x, 1.0).as_text("bufferized"))

# CHECK-LABEL: in_either_loop
# CHECK: func.func public
# CHECK-NOT: memref.{{copy|alloc}}
# CHECK: scf.while
# CHECK-NOT: memref.{{copy|alloc}}
# CHECK: func.return
print("in_either_loop", mlirad.jit(in_either_loop).lower(x, x + 1.0).as_text("bufferized"))


# The gradient stores one element a trip, and undoes the writes in place.
# CHECK-LABEL: gradient
# CHECK: func.func public
# CHECK-NOT: memref.copy{{.*}}1000xf64
# CHECK: func.return
def loss(x):
    y = x + 0.0
    for i in range(1, x.shape[0]):
        if y[i - 1] > 1.0:
            continue
        y[i] = y[i] * y[i - 1]
    return np.sum(y)


print("gradient", mlirad.grad(loss).lower(x).as_text("bufferized"))
