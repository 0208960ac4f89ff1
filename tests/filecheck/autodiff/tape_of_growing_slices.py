# RUN: python %s | filecheck %s
"""Undoing writes to a slice that grows with the trips: its length follows from the trip, so it is not on a tape."""

import numpy as np

import mlirad


# Only the numbers that were overwritten are stored, and the reverse sweep reads them there: it does not write them back
# into the array, although each trip reads the slice in both directions.
# CHECK: ad.tape
# CHECK-NOT: tensor<{{[0-9]+}}xi64>
# CHECK: %d_x
# CHECK-NOT: nd.add_slice
# CHECK: nd.extract_slice %{{.*}} {sizes = array<i64: -1>, strides = array<i64: -1>}
# CHECK-NOT: nd.add_slice
# CHECK: nd.insert_slice
# CHECK-NOT: insert_slice
# CHECK: func.return
def f(x):
    y = x.copy()
    for k in range(1, 100):
        y[:k] *= np.flip(y[:k])
    return np.sum(y)


print(mlirad.grad(f).lower(np.ones(100)).as_text("optimized"))
