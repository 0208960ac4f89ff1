# RUN: python %s | filecheck %s
"""`x[mask]` has a length that only the run knows. It is a gather at the places of the mask.

    y[y > 3] = 4           y = select(y > 3, 4, y)
    x[x > 3].sum()         select(x > 3, x, 0).sum()
    x[x > 3][0]            gather(x, places of x > 3)[0]

What needs no length is computed on all of x, under the mask (lowering/mask_selections.mlir): its loops have a known
length and no branch, and their derivative needs no list of the elements that were selected.
"""

import numpy as np

import mlirad


def masked_update(x):
    y = x * 2.0
    y[y > 3.0] = 4.0
    return y


# CHECK-LABEL: func.func public @masked_update
# CHECK:         %y = nd.mul %x,
# CHECK:         %[[MASK:.+]] = nd.greater %y, %{{.*}} -> tensor<8xi1>
# CHECK:         %[[FOUR:.+]] = nd.broadcast %{{.*}} to tensor<8xf64>
# CHECK-NEXT:    %[[WRITTEN:y_[0-9]+]] = nd.select %[[MASK]], %[[FOUR]], %y
# CHECK-NEXT:    func.return %[[WRITTEN]]
print(mlirad.jit(masked_update).lower(np.ones(8)).as_text("tensor"))


def masked_sum(x):
    return x[x > 3.0].sum()


# What the mask leaves out counts as 0, the neutral element of the sum.
# CHECK-LABEL: func.func public @masked_sum
# CHECK-NOT:     tensor<?x
# CHECK:         %[[MASK:.+]] = nd.greater %x,
# CHECK-NEXT:    %[[ZERO:cst_?[0-9]*]] = nd.constant {value = 0.000000e+00 : f64}
# CHECK-NEXT:    %[[ZEROS:.+]] = nd.full %[[ZERO]]
# CHECK-NEXT:    %[[KEPT:.+]] = nd.select %[[MASK]], %x, %[[ZEROS]]
# CHECK-NEXT:    nd.sum %[[KEPT]]
print(mlirad.jit(masked_sum).lower(np.ones(8)).as_text("optimized"))


def first(x):
    return x[x > 3.0][0]


# CHECK-LABEL: func.func public @first
# CHECK:         %[[MASK:.+]] = nd.greater %x,
# CHECK-NEXT:    %[[HELD:.+]] = nd.cast %[[MASK]]
# CHECK-NEXT:    %[[COUNT:.+]] = nd.sum %[[HELD]]
# CHECK-NEXT:    %[[PLACES:.+]] = nd.flatnonzero %[[MASK]], %[[COUNT]] : tensor<8xi1> to tensor<?xi64>
# CHECK-NEXT:    %[[SELECTED:.+]] = nd.gather %x[%[[PLACES]]]
# CHECK:         nd.check_index {{.*}}, %[[COUNT]]
# CHECK-NEXT:    nd.extract %[[SELECTED]]
print(mlirad.jit(first).lower(np.ones(8)).as_text("optimized"))


def of_another_mask(x, y):
    x[x > 0] = y[y > 0] * y[y > 0]


# Another mask selects another number of elements: they are put at the places of the first one.
# CHECK-LABEL: func.func public @of_another_mask
# CHECK:         nd.check {{.*}} "NumPy boolean array indexing assignment cannot assign {0} input values
# CHECK:         nd.scatter
print(mlirad.jit(of_another_mask).lower(np.ones(8), np.ones(8)).as_text("optimized"))


def where(x):
    return np.where(x > 0.0, np.sqrt(x), 1.0)


# np.where computes both and selects, as NumPy does. It has no branch.
# CHECK-LABEL: func.func public @where
# CHECK-NOT:     scf.if
# CHECK:         %[[MASK:.+]] = nd.greater %x,
# CHECK-NEXT:    %[[ROOT:.+]] = nd.sqrt %x
# CHECK:         nd.select %[[MASK]], %[[ROOT]],
print(mlirad.jit(where).lower(np.ones(8)).as_text("tensor"))


def branch(x):
    if x > 0.0:
        y = np.sqrt(x)
    else:
        y = 1.0
    return y


# An `if` computes one of them: the derivative of the other is never taken, not even to be multiplied by 0.
# CHECK-LABEL: func.func public @branch
# CHECK:         %[[POSITIVE:.+]] = nd.greater %x,
# CHECK-NOT:     nd.sqrt
# CHECK:         %y = scf.if %[[POSITIVE]] -> (f64)
# CHECK-NEXT:      %[[ROOT:y_[0-9]+]] = nd.sqrt %x
# CHECK-NEXT:      scf.yield %[[ROOT]]
# CHECK:         func.return %y
print(mlirad.jit(branch).lower(2.0).as_text("tensor"))
