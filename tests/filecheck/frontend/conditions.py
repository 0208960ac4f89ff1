# RUN: python %s | filecheck %s
"""`and`, `or`, chained comparisons, `a if c else b` and `match` evaluate only what Python evaluates.

`i < 8 and x[i] > 0` must not read x[8]. So each is an scf.if around what may be left out, and not a logical op on
values that are both computed.
"""

import numpy as np

import mlirad


def guarded(x, i):
    return i < 8 and x[i] > 0.0


# CHECK-LABEL: func.func public @guarded
# CHECK:         %[[FIRST:.+]] = nd.less %i, %c8
# CHECK-NEXT:    scf.if %[[FIRST]] -> (i1)
# CHECK:           nd.check_index %i,
# CHECK:           nd.extract %x[
# CHECK:         } else {
# CHECK-NEXT:      scf.yield %[[FIRST]]
print(mlirad.jit(guarded).lower(np.ones(8), 3).as_text("tensor"))


def guarded_or(x, i):
    return 1.0 if i >= 8 or x[i] > 0.0 else 0.0


# CHECK-LABEL: func.func public @guarded_or
# CHECK:         %[[FIRST:.+]] = nd.greater_equal %i, %c8
# CHECK-NEXT:    %[[EITHER:.+]] = scf.if %[[FIRST]] -> (i1)
# CHECK:           scf.yield %true
# CHECK-NEXT:    } else {
# CHECK:           nd.check_index %i,
# CHECK:         scf.if %[[EITHER]] -> (f64)
# CHECK-NEXT:      nd.constant {value = 1.000000e+00 : f64}
print(mlirad.jit(guarded_or).lower(np.ones(8), 3).as_text("tensor"))


def chained(x):
    return 0.0 < np.sin(x) < 0.5


# What stands in the middle is evaluated once.
# CHECK-LABEL: func.func public @chained
# CHECK:         %[[SIN:.+]] = nd.sin %x
# CHECK-NOT:     nd.sin
# CHECK:         %[[FIRST:.+]] = nd.greater %[[SIN]], %cst
# CHECK-NEXT:    scf.if %[[FIRST]] -> (i1)
# CHECK-NOT:       nd.sin
# CHECK:           nd.less %[[SIN]],
print(mlirad.jit(chained).lower(1.0).as_text("tensor"))


def conditional(x):
    return np.sqrt(x) if x > 0.0 else -x


# CHECK-LABEL: func.func public @conditional
# CHECK:         %[[POSITIVE:.+]] = nd.greater %x,
# CHECK-NEXT:    scf.if %[[POSITIVE]] -> (f64)
# CHECK-NEXT:      nd.sqrt %x
# CHECK:         } else {
# CHECK-NEXT:      nd.neg %x
print(mlirad.jit(conditional).lower(1.0).as_text("tensor"))


def matched(k, x):
    match k:
        case 0:
            y = x + 1.0
        case 1 | 2:
            y = x * x
        case _:
            y = 0.0
    return y


# The cases are tried in order, each in the `else` of the one above.
# CHECK-LABEL: func.func public @matched
# CHECK:         %[[ZERO:.+]] = nd.equal %k, %c0
# CHECK-NEXT:    %y = scf.if %[[ZERO]] -> (f64)
# CHECK:           nd.add %x,
# CHECK:         } else {
# CHECK:           %[[ONE:.+]] = nd.equal %k, %c1
# CHECK:           %[[TWO:.+]] = nd.equal %k, %c2
# CHECK-NEXT:      %[[EITHER:.+]] = nd.logical_or %[[ONE]], %[[TWO]]
# CHECK-NEXT:      scf.if %[[EITHER]] -> (f64)
# CHECK-NEXT:        nd.mul %x, %x
# CHECK:         func.return %y
print(mlirad.jit(matched).lower(1, 2.0).as_text("tensor"))


def hit(x):
    t = None
    if x > 1:
        t = np.sqrt(x)
    if t is None:
        return 0.0
    return t + x


# A name that is None on one path is a value with a flag. Where the flag is known, the value needs no check.
# CHECK-LABEL: func.func public @hit
# CHECK:         %[[T:.+]], %[[IS_THERE:.+]] = scf.if %{{.+}} -> (f64, i1)
# CHECK:         %[[IS_NONE:.+]] = nd.logical_not %[[IS_THERE]]
# CHECK-NEXT:    scf.if %[[IS_NONE]]
# CHECK-NOT:       nd.check
# CHECK:           nd.add %[[T]], %x
print(mlirad.jit(hit).lower(1.0).as_text("tensor"))
