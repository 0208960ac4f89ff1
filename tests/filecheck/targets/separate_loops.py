# RUN: python %s | filecheck %s
"""Which loops of a large function become functions of their own.

One scalar loop would send the whole function through all of LLVM's passes. That took most of LLVM's time for LeNet's
gradient, which has 117 loops of vectors and 43 others. Here every function counts as large.
"""

import numpy as np

import mlirad
from mlirad.targets.cpu.emit.separate import separate_loops

separate_loops.LARGE, separate_loops._SHARE = 0, 1.0


def program(x, y):
    z = np.tanh(x) * x + np.exp(x)
    for i in range(1, y.shape[0]):
        y[i] = np.sin(y[i - 1]) + z[0, 0]
    return z


# The vectors stay where they are, and are only cleaned up.
# CHECK: ; no loop here is left to be vectorised
# CHECK: define internal i32 @"mlirad.body.program"
# CHECK: fmul <
# CHECK: call i32 @"mlirad.improved.program.loop{{[0-9]+}}"(ptr %ctx, ptr null,

# Arguments are as disjoint in the new function as in the whole one.
# CHECK: ; these functions get all of LLVM's passes
# CHECK: define hidden i32 @"mlirad.improved.program.loop{{.*}}ptr noalias %a
# CHECK-NOT: fmul <
# CHECK: ; what follows belongs to all functions
print(mlirad.jit(program).lower(np.ones((16, 16)), np.ones(100)).as_text("llvmir"))
