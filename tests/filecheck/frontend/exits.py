# RUN: python %s | filecheck %s
"""`return`, `break` and `continue` leave a block in the middle, and no op of scf does. A number says how it ended.

    0   at its end           2   continue
    1   break                3   return

A loop that may be left early is an scf.while, which goes on only while that number is 0; what stands after the exit in
a block runs only where it is 0. A `continue` ends one trip, so that its loop stays an scf.for.
"""

import numpy as np

import mlirad


def early_return(x, limit):
    for i in range(x.shape[0]):
        if x[i] > limit:
            return i
    return -1


# CHECK-LABEL: func.func public @early_return
# CHECK:         %{{.*}}, %[[ENDED:[0-9]+]], %{{.*}} = scf.while (%[[I:i_[0-9]+]] = %{{.*}}, %[[HOW:[0-9]+]] = %{{.*}},
# CHECK:           %[[GOES_ON:.+]] = nd.equal %[[HOW]], %{{c0.*}} :
# CHECK:           %[[IN_RANGE:.+]] = nd.less %[[I]], %c8
# CHECK-NEXT:      %[[BOTH:.+]] = nd.logical_and %[[IN_RANGE]], %[[GOES_ON]]
# CHECK-NEXT:      scf.condition(%[[BOTH]])
# CHECK:           %[[FOUND:.+]] = nd.greater %{{.*}}, %limit
# CHECK-NEXT:      scf.if %[[FOUND]] -> (i64)
# CHECK-NEXT:        %[[RETURN:.+]] = nd.constant {value = 3 : i64}
# CHECK-NEXT:        scf.yield %[[RETURN]]
# CHECK:         nd.equal %[[ENDED]],
print(mlirad.jit(early_return).lower(np.ones(8), 2.0).as_text("tensor"))


def break_or_else(x):
    total = 0.0
    for v in x:
        if v < 0.0:
            break
        total += v
    else:
        total += 100.0
    return total


# The `else` of a loop runs where no `break` ended it.
# CHECK-LABEL: func.func public @break_or_else
# CHECK:         %{{.*}}, %[[ENDED:[0-9]+]], %total = scf.while
# CHECK:           %[[V:v]] = nd.extract %x[%v_index
# CHECK:           %[[NEGATIVE:.+]] = nd.less %[[V]],
# CHECK-NEXT:      scf.if %[[NEGATIVE]] -> (f64, i64)
# CHECK:             %[[BREAK:.+]] = nd.constant {value = 1 : i64}
# CHECK-NEXT:        scf.yield %{{.*}}, %[[BREAK]] :
# CHECK:           } else {
# CHECK-NEXT:        nd.add %{{total_[0-9]+}}, %[[V]]
# CHECK:         nd.equal %[[ENDED]], %{{c0.*}} :
# CHECK:         %[[RESULT:total_[0-9]+]] = scf.if
# CHECK-NEXT:      nd.constant {value = 1.000000e+02 : f64}
# CHECK-NEXT:      nd.add %total,
# CHECK:           scf.yield %total :
# CHECK:         func.return %[[RESULT]]
print(mlirad.jit(break_or_else).lower(np.ones(8)).as_text("tensor"))


def continues(x):
    total = 0.0
    for v in x:
        if v < 0.0:
            continue
        total += v
    return total


# CHECK-LABEL: func.func public @continues
# CHECK-NOT:     scf.while
# CHECK:         %total = scf.for {{.*}} iter_args(%[[TOTAL:total_[0-9]+]] = %{{.*}})
# CHECK:           %[[ADDED:total_[0-9]+]], %[[HOW:[0-9]+]] = scf.if
# CHECK:           %[[CONTINUE:.+]] = nd.constant {value = 2 : i64}
# CHECK:           %[[CONTINUED:.+]] = nd.equal %[[HOW]],
# CHECK-NEXT:      scf.if %[[CONTINUED]] -> (f64)
# CHECK-NEXT:        scf.yield %[[TOTAL]]
# CHECK-NEXT:      } else {
# CHECK-NEXT:        scf.yield %[[ADDED]]
print(mlirad.jit(continues).lower(np.ones(8)).as_text("tensor"))
