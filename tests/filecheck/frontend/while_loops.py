# RUN: python %s | filecheck %s
"""A `while` is an scf.while whose first region is the condition. That region is not differentiated.

So the condition may stand there only if it computes nothing that the program uses later. A condition that assigns
(`:=`), or that changes an array or an object, is evaluated in the body, which ends by saying whether there is one more
trip. A check in the condition stays in it: it fails at the trip where Python raises.
"""

import numpy as np

import mlirad


def plain_condition(x):
    n = 0
    while x > 1.0:
        x = x / 2.0
        n += 1
    return n


# CHECK-LABEL: func.func public @plain_condition
# CHECK:         %n, %{{x_[0-9]+}} = scf.while (%[[N:n_[0-9]+]] = %c0, %[[X:x_[0-9]+]] = %x)
# CHECK-NEXT:      %[[ONE:cst.*]] = nd.constant {value = 1.000000e+00 : f64}
# CHECK-NEXT:      %[[GO:.+]] = nd.greater %[[X]], %[[ONE]]
# CHECK-NEXT:      scf.condition(%[[GO]]) %[[N]], %[[X]]
# CHECK:         ^{{.*}}(%[[N1:n_[0-9]+]]: i64, %[[X1:x_[0-9]+]]: f64):
# CHECK:           %[[HALF:x_[0-9]+]] = nd.div %[[X1]],
# CHECK:           scf.yield %{{n_[0-9]+}}, %[[HALF]]
print(mlirad.jit(plain_condition).lower(8.0).as_text("tensor"))


def checked_condition(x):
    i = 0
    while x[i] > 0.0:
        i += 1
    return i


# CHECK-LABEL: func.func public @checked_condition
# CHECK:         %i = scf.while (%[[I:i_[0-9]+]] = %c0)
# CHECK:           %[[AT:.+]] = nd.check_index %[[I]], %c8
# CHECK-NEXT:      nd.extract %x[%[[AT]]]
# CHECK:           scf.condition(
print(mlirad.jit(checked_condition).lower(np.ones(8)).as_text("tensor"))


def assigning_condition(x):
    n = 0
    while (y := x[n] * 2.0) > 1.0:
        n += 1
    return y


# What the first region tests is only how the trip before ended (0: at its end). y is assigned in the body, where it
# has a derivative.
# CHECK-LABEL: func.func public @assigning_condition
# CHECK:         scf.while (%[[HOW:[0-9]+]] = %{{.*}}, %{{n_[0-9]+}} = %c0, %{{y_[0-9]+}} = %{{.*}}) :
# CHECK-NOT:       nd.mul
# CHECK:           %[[GO:.+]] = nd.equal %[[HOW]],
# CHECK-NEXT:      scf.condition(%[[GO]])
# CHECK:         do {
# CHECK:           %[[Y:y_[0-9]+]] = nd.mul
# CHECK:           %[[MORE:.+]] = nd.greater %[[Y]],
# CHECK-NEXT:      scf.if %[[MORE]]
# CHECK:           scf.yield %{{.*}}, %{{.*}}, %[[Y]],
print(mlirad.jit(assigning_condition).lower(np.ones(8)).as_text("tensor"))


def forever(x):
    n = 0
    while True:
        y = x * 0.5
        n += 1
        if y < 1.0:
            break
        x = y
    return n


# `while True` ends where a `break` makes the number 1.
# CHECK-LABEL: func.func public @forever
# CHECK:         %{{.*}}, %n, %{{x_[0-9]+}} = scf.while (%[[HOW:[0-9]+]] =
# CHECK:           %[[GO:.+]] = nd.equal %[[HOW]], %{{c0.*}} :
# CHECK-NEXT:      scf.condition(%[[GO]])
# CHECK:           %y = nd.mul
# CHECK:           %[[SMALL:.+]] = nd.less %y,
# CHECK-NEXT:      %[[ENDS:.+]] = scf.if %[[SMALL]] -> (i64)
# CHECK-NEXT:        nd.constant {value = 1 : i64}
# CHECK:           scf.yield %[[ENDS]], %{{n_[0-9]+}}, %y :
print(mlirad.jit(forever).lower(8.0).as_text("tensor"))
