# RUN: python %s | filecheck %s
"""The dtype of a result is NumPy's (NEP 50): a Python number takes the dtype of the array, a NumPy number does not.

Computed in float64 where NumPy computes in float32, a result would have other digits; the other way round it would
lose half of its digits. Both are silent.

    float32 array * 2               float32
    float32 array * int             float32
    float32 array * np.int64        float64
"""

import numpy as np

import mlirad


def scaled(x, n):
    return x * 2 + x * n


# CHECK-LABEL: func.func public @scaled(%x: tensor<3xf32>, %n: i64) -> tensor<3xf32>
# CHECK:         %[[TWO:cst.*]] = nd.constant {value = 2.000000e+00 : f32}
# CHECK:         %[[N:.+]] = nd.cast %n : i64 to f32
# CHECK-NOT:     f64
# CHECK-LABEL: func.func public @scaled(%x: tensor<3xf32>, %n: i64) -> tensor<3xf64>
# CHECK:         %{{cst.*}} = nd.constant {value = 2.000000e+00 : f32}
# CHECK:         %[[WIDE:.+]] = nd.cast %x : tensor<3xf32> to tensor<3xf64>
# CHECK-NEXT:    %[[N:.+]] = nd.cast %n : i64 to f64
# CHECK-NEXT:    %[[NS:.+]] = nd.broadcast %[[N]]
# CHECK-NEXT:    nd.mul %[[WIDE]], %[[NS]]
print(mlirad.jit(scaled).lower(np.ones(3, np.float32), 3).as_text("tensor"))
print(mlirad.jit(scaled).lower(np.ones(3, np.float32), np.int64(3)).as_text("tensor"))


def joined(x, c):
    s = 2 if c else 0.5
    return x * s


# A number that is Python's on both paths is still Python's after the join: it takes the array's dtype where it is used.
# CHECK-LABEL: func.func public @joined(%x: tensor<3xf32>, %c: i1) -> tensor<3xf32>
# CHECK:         %s = scf.if %c -> (f64)
# CHECK-NEXT:      nd.constant {value = 2.000000e+00 : f64}
# CHECK:         %[[NARROW:.+]] = nd.cast %s : f64 to f32
# CHECK-NEXT:    %[[ALL:.+]] = nd.broadcast %[[NARROW]]
# CHECK-NEXT:    nd.mul %x, %[[ALL]]
print(mlirad.jit(joined).lower(np.ones(3, np.float32), True).as_text("tensor"))


def squared(n):
    return n * n


# A Python integer has no upper end: where it leaves 64 bits, an error is raised. NumPy's integers wrap around.
# CHECK-LABEL: func.func public @squared
# CHECK:         %[[FITS:.+]] = nd.mul_fits %n, %n
# CHECK-NEXT:    nd.check %[[FITS]], "OverflowError", "the Python integer {0} * {1} does not fit in 64 bits"(%n, %n)
# CHECK-NEXT:    nd.mul %n, %n
# CHECK-LABEL: func.func public @squared
# CHECK-NOT:     nd.check
# CHECK:         nd.mul %n, %n
print(mlirad.jit(squared).lower(3).as_text("tensor"))
print(mlirad.jit(squared).lower(np.int64(3)).as_text("tensor"))


def fibonacci(n):
    a, b = 0, 1
    for k in range(n):
        a, b = b, a + b
    return a


# CHECK-LABEL: func.func public @fibonacci
# CHECK:         %a, %b = scf.for %k = {{.*}} iter_args(%[[A:a_[0-9]+]] = %{{c0.*}}, %[[B:b_[0-9]+]] = %{{c1.*}})
# CHECK:           nd.add_fits %[[A]], %[[B]]
# CHECK:           %[[NEXT:b_[0-9]+]] = nd.add %[[A]], %[[B]]
# CHECK-NEXT:      scf.yield %[[B]], %[[NEXT]]
# CHECK:         func.return %a
print(mlirad.jit(fibonacci).lower(3).as_text("tensor"))
