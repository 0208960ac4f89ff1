# RUN: python %s | filecheck %s
"""An array from around the function is an argument more: its numbers may change between calls without a compilation.

As a constant in the code it would keep the numbers of the first call, which is a silent wrong number. Numbers (floats
and integers) are constants, and a change of one compiles once more.
"""

import numpy as np

import mlirad

weights = np.ones(8)
rate = 3.0


def weighted(x):
    return (weights * x).sum() * rate


# CHECK-LABEL: func.func public @weighted(%x: tensor<8xf64>, %weights: tensor<8xf64>) -> f64
# CHECK:         nd.mul %weights, %x
# CHECK:         %[[RATE:cst.*]] = nd.constant {value = 3.000000e+00 : f64}
# CHECK-NEXT:    nd.mul %{{.*}}, %[[RATE]]
print(mlirad.jit(weighted).lower(np.ones(8)).as_text("tensor"))


def rebound(x, n):
    w = weights
    for t in range(n):
        w = w * x
    return w.sum()


# As the first value of what a loop rebinds, the captured array is only read: it is no result, and has no mark.
# CHECK-LABEL: func.func public @rebound(%x: f64, %n: i64, %weights: tensor<8xf64>) -> f64
# CHECK-NOT:     nd.copy
# CHECK:         %[[LAST:weights_[0-9]+]] = scf.for %t = {{.*}}, %[[W:weights_[0-9]+]] = %weights) ->
# CHECK:           %[[NEXT:w_[0-9]+]] = nd.mul %[[W]],
# CHECK:           scf.yield {{.*}}, %[[NEXT]] :
# CHECK:         nd.sum %[[LAST]]
print(mlirad.jit(rebound).lower(2.0, 3).as_text("tensor"))


def in_a_loop(x, n):
    w = np.zeros(8)
    for t in range(n):
        w = w + weights * x
    return w


# What no trip changes is not carried.
# CHECK-LABEL: func.func public @in_a_loop(%x: f64, %n: i64, %weights: tensor<8xf64>)
# CHECK:         %w = nd.full
# CHECK:         %[[LAST:w_[0-9]+]] = scf.for %t = {{.*}} iter_args(%[[W:w_[0-9]+]] = %w) -> (tensor<8xf64>)
# CHECK:           %[[TERM:.+]] = nd.mul %weights,
# CHECK-NEXT:      %[[NEXT:w_[0-9]+]] = nd.add %[[W]], %[[TERM]]
# CHECK-NEXT:      scf.yield %[[NEXT]] :
# CHECK:         func.return %[[LAST]]
print(mlirad.jit(in_a_loop).lower(2.0, 3).as_text("tensor"))


shown = np.zeros((300, 300))
is_shown = False


def without_picture(x):
    if is_shown:
        return shown.sum()
    return (weights * x).sum()


# The text names an array that no call reads: it is foreseen, and then left out. As an argument it would be kept alive,
# and a call would be refused if it overlapped another argument.
# CHECK-LABEL: func.func public @without_picture(%x: tensor<8xf64>, %weights: tensor<8xf64>) -> f64
print(mlirad.jit(without_picture).lower(np.ones(8)).as_text("tensor"))
