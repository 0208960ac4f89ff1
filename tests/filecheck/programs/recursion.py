# RUN: python %s | filecheck %s
"""A function that calls itself stays a function at every stage; only its base case is inlined, where it is called."""

import numpy as np

import mlirad


def total(x, first, last):
    if last - first == 1:
        return x[first]
    middle = (first + last) // 2
    x[middle] *= 2
    return total(x, first, middle) + total(x, middle, last)


lowered = mlirad.jit(total).lower(np.ones(8), 0, 8)

# Everything that a call sees is passed, and everything that it changes is returned.
# CHECK-LABEL: tensor
# CHECK: func.func public @total
# CHECK: func.call @total_0
# CHECK: func.func private @total_0
# CHECK-SAME: (%{{.*}}: i64, %{{.*}}: i64, %{{.*}}: tensor<8xf64> {mlirad.written = {{.}} : i64}) -> ({{.*}}f64
# CHECK: func.call @total_0
# CHECK: func.call @total_0
print("tensor", lowered.as_text("tensor"))

# In place, without a copy.
# CHECK-LABEL: bufferized
# CHECK: func.func private @total_0.step
# CHECK-SAME: %{{.*}}: memref<8xf64> {mlirad.written = {{.}} : i64}
# CHECK-NOT: memref.copy
# CHECK-NOT: memref.alloc
# CHECK: func.call @total_0.step
# CHECK: func.call @total_0.step
# CHECK: func.return
print("bufferized", lowered.as_text("bufferized"))

# A call looks at how much of the stack is left.
# CHECK-LABEL: llvmir
# CHECK: define internal i32 @"mlirad.body.total_0.step"
# CHECK: call ptr @llvm.frameaddress.p0
# CHECK: icmp ugt ptr
# CHECK: call i32 @"mlirad.body.total_0.step"
print("llvmir", lowered.as_text("llvmir"))
