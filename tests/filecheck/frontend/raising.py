# RUN: python %s | filecheck %s
"""`raise` and `assert` are checks: an op with a condition, the exception, its message, and the numbers in the message.

A check has an effect, so that no pass may drop it because its result is not used, and it stands on the path on which
Python raises. Lifted out of its `if`, it would fail for inputs that are right.
"""

import numpy as np

import mlirad


def raises(x):
    if x < 0.0:
        raise ValueError(f"negative: {x}")
    return np.sqrt(x)


# CHECK-LABEL: func.func public @raises
# CHECK:         %[[NEGATIVE:.+]] = nd.less %x,
# CHECK-NEXT:    scf.if %[[NEGATIVE]] -> (f64)
# CHECK-NEXT:      %[[BITS:.+]] = nd.float_bits %x
# CHECK:           nd.check %false, "ValueError", "negative: {0.float}"(%[[BITS]])
# CHECK:         } else {
# CHECK-NEXT:      nd.sqrt %x
print(mlirad.jit(raises).lower(1.0).as_text("tensor"))


def asserts(x):
    assert x > 0.0, "not positive"
    return np.sqrt(x)


# CHECK-LABEL: func.func public @asserts
# CHECK:         %[[POSITIVE:.+]] = nd.greater %x,
# CHECK-NEXT:    nd.check %[[POSITIVE]], "AssertionError", "not positive"
# CHECK-NEXT:    nd.sqrt %x
print(mlirad.jit(asserts).lower(1.0).as_text("tensor"))


def raises_in_loop(x):
    for i in range(x.shape[0]):
        if x[i] < 0.0:
            raise ValueError(f"x[{i}] is negative")
    return x[0]


# No number says how a trip ended: nothing runs after the check that fails, and the loop stays an scf.for.
# CHECK-LABEL: func.func public @raises_in_loop
# CHECK-NOT:     iter_args
# CHECK:         scf.for %i = %c0 to %c8 step
# CHECK:           %[[NEGATIVE:.+]] = nd.less
# CHECK-NEXT:      scf.if %[[NEGATIVE]] {
# CHECK:             nd.check %false, "ValueError", "x[{0.int}] is negative"(%i)
print(mlirad.jit(raises_in_loop).lower(np.ones(8)).as_text("tensor"))


def divides(a, b):
    return a // b


# Python's own errors are checks, too.
# CHECK-LABEL: func.func public @divides
# CHECK:         %[[GOES:.+]] = nd.not_equal %b, %c0
# CHECK-NEXT:    nd.check %[[GOES]], "ZeroDivisionError", "integer division or modulo by zero"
# CHECK:         nd.floordiv %a, %b
print(mlirad.jit(divides).lower(3, 4).as_text("tensor"))
