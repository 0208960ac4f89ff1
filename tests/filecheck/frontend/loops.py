# RUN: python %s | filecheck %s
"""A `for` stays a loop where its trips differ only in numbers. Otherwise there is one copy of the body for each trip.

What would be wrong otherwise: a loop that is rolled although its items are of different types has no type for the
item; one that is unrolled although it could be rolled makes code as long as the array.

    for v in x                      scf.for, one body, for any number of elements
    for f, k in [(sin, 2), ...]     one body each: a function is no number
"""

import numpy as np

import mlirad


def rolled(a):
    total = 0.0
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            total += a[i, j]
    return total


# Both loops stay, with the indices' names, and hand the total on from one to the other.
# CHECK-LABEL: func.func public @rolled(%a: tensor<30x40xf64>)
# CHECK:         %total = scf.for %i = %c0 to %c30 step %c1 iter_args(%[[OUTER:total_[0-9]+]] = %cst)
# CHECK:           %[[ROW:total_[0-9]+]] = scf.for %j = {{.*}} iter_args(%[[INNER:total_[0-9]+]] = %[[OUTER]])
# CHECK:             %[[ITEM:.+]] = nd.extract %a[%i, %j]
# CHECK-NEXT:        %[[SUM:total_[0-9]+]] = nd.add %[[INNER]], %[[ITEM]]
# CHECK-NEXT:        scf.yield %[[SUM]]
# CHECK:           scf.yield %[[ROW]]
# CHECK:         func.return %total
print(mlirad.jit(rolled).lower(np.ones((30, 40))).as_text("tensor"))


def unrolled(x):
    total = 0.0
    for f, k in [(np.sin, 2), (np.cos, 0.5)]:
        total += f(x) * k
    return total


# CHECK-LABEL: func.func public @unrolled
# CHECK-NOT:     scf.for
# CHECK:         %[[SIN:.+]] = nd.sin %x
# CHECK:         nd.mul %[[SIN]],
# CHECK:         %total = nd.add
# CHECK:         %[[COS:.+]] = nd.cos %x
# CHECK:         %[[HALF:.+]] = nd.mul %[[COS]],
# CHECK:         nd.add %total, %[[HALF]]
print(mlirad.jit(unrolled).lower(1.0).as_text("tensor"))


def together(x, y):
    total = 0.0
    for k, (p, q) in enumerate(zip(x, reversed(y), strict=True)):
        total += k * p * q
    return total


# enumerate, zip and reversed make no lists: they are three ways to compute an index of one loop.
# CHECK-LABEL: func.func public @together
# CHECK:         %total = scf.for %k = %c0 to %c8 step %c1 iter_args(%[[TOTAL:total_[0-9]+]] = %cst)
# CHECK-NEXT:      %p = nd.extract %x[%k]
# CHECK:           %[[BACK:.+]] = nd.sub %c7, %k
# CHECK-NEXT:      %q = nd.extract %y[%[[BACK]]]
# CHECK:           nd.add %[[TOTAL]],
print(mlirad.jit(together).lower(np.ones(8), np.ones(8)).as_text("tensor"))


def index_after(n, x):
    for i in range(n):
        x = x * 2.0
    return x, i


# After the loop, `i` is the index of the last trip, and a variable that no trip has assigned is an error.
# CHECK-LABEL: func.func public @index_after
# CHECK:         %{{x_[0-9]+}}, %i, %[[ASSIGNED:[0-9]+]] = scf.for %[[I:i_[0-9]+]] =
# CHECK:           %true = nd.constant {value = true}
# CHECK-NEXT:      scf.yield %{{x_[0-9]+}}, %[[I]], %true
# CHECK:         nd.check %[[ASSIGNED]], "UnboundLocalError", "cannot access local variable 'i' where it is not
# CHECK-NEXT:    func.return %{{x_[0-9]+}}, %i
print(mlirad.jit(index_after).lower(3, 1.0).as_text("tensor"))


def smallest(x):
    best = None
    for v in x:
        if best is None or v < best:
            best = v
    return best


# A name that is None only in the first iteration: that one is peeled off, and the loop carries a number.
# CHECK-LABEL: func.func public @smallest
# CHECK:         %[[FIRST:.+]] = nd.extract %x[%c0]
# CHECK:         scf.for %{{.+}} = %{{.+}} to %c99 step %{{.+}} iter_args(%{{.+}} = %[[FIRST]]) -> (f64)
# CHECK-NOT:     scf.for
# CHECK:         func.return
print(mlirad.jit(smallest).lower(np.ones(100)).as_text("tensor"))
