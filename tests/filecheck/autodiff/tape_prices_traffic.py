# RUN: python %s | filecheck %s
"""A step of two stages, each of which fills a new array: the tape has the state of each step, and no stage."""

import numpy as np

import mlirad


def slope(y):
    d = np.empty_like(y)
    d[0] = y[1] - y[0]
    d[1:-1] = y[2:] - 2.0 * y[1:-1] + y[:-2] - y[1:-1] ** 3
    d[-1] = y[-2] - y[-1]
    return d


def two_stages(y):
    for _ in range(50):
        middle = y + 0.05 * slope(y)
        y = y + 0.1 * slope(middle)
    return np.sum(y)


# CHECK-LABEL: @grad_two_stages
# CHECK:       ad.tape {mlirad.slot = 10000 : i64} : tensor<500000xf64>
# CHECK-NOT:   ad.tape
# CHECK:       func.return
print(mlirad.grad(two_stages).lower(np.zeros(10_000)).as_text("optimized"))

# What stays in the cache is cheaper kept than computed again.
# CHECK-LABEL:   @grad_two_stages
# CHECK-COUNT-2: ad.tape {mlirad.slot = 98 : i64} : tensor<4900xf64>
# CHECK:         func.return
print(mlirad.grad(two_stages).lower(np.zeros(100)).as_text("optimized"))
