# RUN: python %s | filecheck %s
"""`x[:n]` has a length that only the run knows: tensor<?xf64>. The n that Python takes and the length are two numbers.

n may be negative or larger than x, and Python makes a length between 0 and x.shape[0] of it. Only what is known to be
equal needs no check; what is not known to be equal is compared at run time, with NumPy's message.
"""

import numpy as np

import mlirad


def sum_of_first(x, n):
    y = x[:n]
    return (y * y).sum()


# One length, twice the same slice: no check that both are of one length.
# CHECK-LABEL: func.func public @sum_of_first(%x: tensor<8xf64>, %n: i64)
# CHECK-NOT:     nd.check
# CHECK:         %[[WRAPPED:.+]] = nd.wrap_index %n, %c8
# CHECK:         %[[SHORT:.+]] = nd.minimum %[[WRAPPED]], %{{c8.*}} :
# CHECK:         %[[LENGTH:.+]] = nd.maximum %[[SHORT]], %{{c0.*}} :
# CHECK:         nd.extract_slice %x[%{{c0.*}}][%[[LENGTH]]] {{.*}} -> tensor<?xf64>
# CHECK:         nd.mul %{{.*}} : tensor<?xf64>
# CHECK-NEXT:    nd.sum
print(mlirad.jit(sum_of_first).lower(np.ones(8), 3).as_text("tensor"))


def two_lengths(x, m, n):
    return (x[:m] * x[:n]).sum()


# CHECK-LABEL: func.func public @two_lengths
# CHECK:         nd.check %{{.*}}, "ValueError", "operands could not be broadcast together with shapes ({0},) ({1},)"
# CHECK:         nd.mul
print(mlirad.jit(two_lengths).lower(np.ones(8), 3, 3).as_text("tensor"))


def first_of_first(x, n):
    y = x[:n]
    y[0] = 1.0
    return x.sum()


# A view of unknown length is still a way to the base's elements. Its index is compared with the length of the view,
# not of the base: x[:0][0] is an IndexError, although x[0] is there.
# CHECK-LABEL: func.func public @first_of_first
# CHECK-NOT:     nd.extract_slice
# CHECK:         %[[LENGTH:.+]] = nd.maximum
# CHECK:         nd.check_index %{{c0.*}}, %[[LENGTH]] {axis = 0 : i64}
# CHECK:         %[[WRITTEN:x_[0-9]+]] = nd.insert %cst, %x[
# CHECK-NEXT:    nd.sum %[[WRITTEN]]
print(mlirad.jit(first_of_first).lower(np.ones(8), 3).as_text("tensor"))


def known_length(x, n):
    y = np.zeros(n)
    for i in range(n):
        y[i] = x[i]
    return y


# The length of a result must be known: n is taken as a constant, and each value of n compiles once.
# CHECK-LABEL: func.func public @known_length(%x: tensor<8xf64>) -> tensor<3xf64>
# CHECK:         %y = nd.full %cst : f64 to tensor<3xf64>
# CHECK:         scf.for %i = %c0 to %c3 step
print(mlirad.jit(known_length).lower(np.ones(8), 3).as_text("tensor"))
