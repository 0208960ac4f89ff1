# RUN: python %s | filecheck %s
"""Results are computed directly in new arrays of the caller's or in a donated argument, and not copied."""

import numpy as np

import mlirad


def increment(x):
    return x + 1.0


# CHECK-LABEL: new
# CHECK: func.func public @increment(%[[x:[^:]+]]: memref<4xf64>, %[[r:[^:]+]]: memref<4xf64> {mlirad.result = 0 : i64})
# CHECK-NOT: memref.alloc
# CHECK-NOT: memref.copy
# CHECK: linalg.generic {{.*}} ins(%[[x]] : memref<4xf64>) outs(%[[r]] : memref<4xf64>)
# CHECK-NOT: memref.copy
# CHECK: func.return
print("new", mlirad.jit(increment).lower(np.ones(4)).as_text("bufferized"))

# CHECK-LABEL: asked
# CHECK: func.func public @increment(%{{.*}}: tensor<4xf64> {mlirad.donated = 0 : i64}) -> tensor<4xf64>
# CHECK-LABEL: taken
# CHECK: @increment(%[[x:[^:]+]]: memref<4xf64> {mlirad.donated = 0 : i64, mlirad.written = 0 : i64})
# CHECK-NOT: memref.alloc
# CHECK-NOT: memref.copy
# CHECK: linalg.generic {{.*}} ins(%[[x]] : memref<4xf64>) outs(%[[x]] : memref<4xf64>)
# CHECK-NOT: memref.copy
# CHECK: func.return
lowered = mlirad.jit(increment, donate_argnums=0).lower(np.ones(4))
print("asked", lowered.as_text("tensor"))
print("taken", lowered.as_text("bufferized"))


def loss(x):
    return np.sum(np.sin(x) * x)


# CHECK-LABEL: gradient
# CHECK: func.func public @grad_loss(%[[x:[^:]+]]: memref<4xf64> {mlirad.donated = 0 : i64, mlirad.written = 0 : i64})
# CHECK-NOT: memref.alloc
# CHECK-NOT: memref.copy
# CHECK: linalg.generic {{.*}} outs(%[[x]] : memref<4xf64>)
# CHECK: func.return
print("gradient", mlirad.jit(mlirad.grad(loss), donate_argnums=0).lower(np.ones(4)).as_text("bufferized"))
