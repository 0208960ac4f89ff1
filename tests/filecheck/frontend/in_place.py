# RUN: python %s | filecheck %s
"""`y += 1` writes into the array, which all its names see; `y = y + 1` makes a new one, which only `y` names.

Both compute the same numbers, so that only a second name, or the caller, can tell the difference. An argument that is
written is marked: the caller's array is written through, and bufferization may not treat it as read-only.
"""

import numpy as np

import mlirad
from mlirad.frontend.aliases import Alias
from mlirad.frontend.build import build
from mlirad.frontend.values.numpy_strides import strides_of
from mlirad.frontend.values.views.view import View
from mlirad.signature import signature_of


def in_place(x):
    y = x * 2.0
    z = y
    y += 1.0
    return z


# CHECK-LABEL: func.func public @in_place
# CHECK:         %y = nd.mul %x,
# CHECK:         %[[WRITTEN:y_[0-9]+]] = nd.add %y,
# CHECK-NEXT:    func.return %[[WRITTEN]]
print(mlirad.jit(in_place).lower(np.ones(8)).as_text("tensor"))


def rebound(x):
    y = x * 2.0
    z = y
    y = y + 1.0
    return z, y


# CHECK-LABEL: func.func public @rebound
# CHECK:         %y = nd.mul %x,
# CHECK:         %[[NEW:y_[0-9]+]] = nd.add %y,
# CHECK-NEXT:    func.return %y, %[[NEW]]
print(mlirad.jit(rebound).lower(np.ones(8)).as_text("tensor"))


def writes_argument(a, x):
    x *= a
    return x.sum()


# The number says which result the caller's array gets.
# CHECK-LABEL: func.func public @writes_argument(%a: tensor<8xf64>, %x: tensor<8xf64> {mlirad.written = 1 : i64})
# CHECK:         %[[WRITTEN:x_[0-9]+]] = nd.mul %x, %a
# CHECK-NEXT:    %[[SUM:.+]] = nd.sum %[[WRITTEN]]
# CHECK-NEXT:    func.return %[[SUM]], %[[WRITTEN]]
print(mlirad.jit(writes_argument).lower(np.ones(8), np.ones(8)).as_text("tensor"))


def writes_then_reads(x, y):
    y[0] = 5.0
    return x[0]


# Two arguments of a call are one array: what is written to y is read from x. For two separate arrays it is not, and
# so the two calls need two specialisations.
# CHECK-LABEL: func.func public @writes_then_reads(%x: tensor<8xf64>, %y: tensor<8xf64>
# CHECK:         %{{y_[0-9]+}} = nd.insert %{{.*}}, %y[
# CHECK:         nd.extract %x[
# CHECK-LABEL: func.func public @writes_then_reads(%x: tensor<8xf64> {mlirad.written = 1 : i64}
# CHECK-NOT:     %y
# CHECK:         %[[WRITTEN:x_[0-9]+]] = nd.insert %{{.*}}, %x[
# CHECK:         nd.extract %[[WRITTEN]][
signature = signature_of((np.ones(8), np.ones(8)), {})
base = signature.leaves[0]
whole = Alias(0, View.of(base.shape, base.dtype, strides_of(base), base.readonly))
print(build(writes_then_reads, signature).module)
print(build(writes_then_reads, signature, aliases={1: whole}).module)


def stores(x, k):
    k[0] = x
    y = np.zeros(3, np.float32)
    y[1] = x


# A store converts to the array's dtype, which stays what it is. A float that no integer can hold is refused first.
# CHECK-LABEL: func.func public @stores
# CHECK:         nd.check %{{.*}}, "ValueError", "cannot convert float NaN to integer"
# CHECK:         nd.check %{{.*}}, "OverflowError", "a float out of the range of 64-bit integers
# CHECK-NEXT:    %[[WHOLE:.+]] = nd.cast %x : f64 to i64
# CHECK:         %{{k_[0-9]+}} = nd.insert %[[WHOLE]], %k[
# CHECK:         %[[SHORT:.+]] = nd.cast %x : f64 to f32
# CHECK:         %{{y_[0-9]+}} = nd.insert %[[SHORT]], %y[
print(mlirad.jit(stores).lower(1.5, np.zeros(3, np.int64)).as_text("tensor"))
