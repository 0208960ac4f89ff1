# RUN: python %s | filecheck %s
"""An index that is out of range at run time: Python's exception, with the user's line and a caret."""

import numpy as np

import mlirad


@mlirad.jit
def last_but_many(x, n):
    total = 0.0
    for i in range(n):
        total += x[-1 - i]
    return total


print(last_but_many(np.ones(3), 3))
# CHECK: 3.0
for kernel in (last_but_many, mlirad.grad(last_but_many)):
    try:
        kernel(np.ones(3), 5)
    except IndexError as error:
        print(f"IndexError {error}")
# CHECK-LABEL: IndexError
# CHECK-SAME: index_error.py:13:18: index -4 is out of bounds for axis 0 with size 3
# CHECK-NEXT: total += x[-1 - i]
# CHECK-NEXT: {{^ +\^$}}
# CHECK-LABEL: IndexError
# CHECK-SAME: index_error.py:13:18: index -4 is out of bounds for axis 0 with size 3
