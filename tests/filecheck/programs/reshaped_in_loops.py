# RUN: python %s | filecheck %s
"""The cotangent of a reshaped array is one array for all trips of the loops that read its elements."""

import numpy as np

import mlirad


def f(x):
    rows, s = np.reshape(x, (-1, 4)), 0.0
    for i in range(rows.shape[0]):
        for j in range(4):
            s += rows[i, j] * rows[i, j] * s
    return s


# CHECK: func.func public @grad_f
# CHECK: scf.for {{.*}} -> (f64, tensor<3x4xf64>)
# CHECK-NOT: nd.insert
# CHECK: nd.add_at %{{.*}} : f64 into tensor<3x4xf64>
print(mlirad.grad(f).lower(np.zeros(12)).as_text("optimized"))
