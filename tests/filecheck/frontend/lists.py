# RUN: python %s | filecheck %s
"""A list that a loop appends to is an array and a count, both carried by the loop.

The array has room for one item a trip; the count says how many there are. If the length were the number of trips, the
items that no trip appended would be read as zeros.

    kept      3.0  7.0  1.0   -    -          count 3, room for 5
"""

import numpy as np

import mlirad


def appended(x):
    kept = []
    for v in x:
        if v > 0.0:
            kept.append(v)
    total = 0.0
    for v in kept:
        total += v
    return total + len(kept)


# Where nothing is appended, the array and the count stay. The loop over the list ends at the count.
# CHECK-LABEL: func.func public @appended
# CHECK:         %[[ROOM:.+]] = nd.full %cst, %c8 : f64 to tensor<?xf64>
# CHECK:         %[[LENGTH:.+]], %[[ITEMS:.+]] = scf.for {{.*}}(%[[N:[0-9]+]] = %c0, %[[KEPT:.+]] = %[[ROOM]])
# CHECK:           %[[V:v]] = nd.extract %x[%v_index
# CHECK:           scf.if %{{.*}} -> (i64, tensor<?xf64>)
# CHECK-NEXT:        %[[LONGER:.+]] = nd.insert %[[V]], %[[KEPT]][%[[N]]]
# CHECK:             %[[MORE:.+]] = nd.add %[[N]], %{{c1.*}} :
# CHECK-NEXT:        scf.yield %[[MORE]], %[[LONGER]]
# CHECK:           } else {
# CHECK-NEXT:        scf.yield %[[N]], %[[KEPT]]
# CHECK:         scf.for %{{v_index.*}} = %{{c0.*}} to %[[LENGTH]] step
# CHECK-NEXT:      nd.extract %[[ITEMS]][
# CHECK:         nd.cast %[[LENGTH]] : i64 to f64
print(mlirad.jit(appended).lower(np.ones(8)).as_text("tensor"))


def comprehension(x):
    ys = [v * k for k, v in enumerate(x)]
    return ys


# A list of few items, each with a number of its own, is no array. Its items have the list's name.
# CHECK-LABEL: func.func public @comprehension(%x: tensor<3xf64>) -> (f64, f64, f64)
# CHECK-NOT:     scf.for
# CHECK:         %v = nd.extract %x[%c0]
# CHECK:         %ys.0 = nd.mul %v,
# CHECK:         %ys.1 = nd.mul %{{v_[0-9]+}},
# CHECK:         %ys.2 = nd.mul %{{v_[0-9]+}},
# CHECK:         func.return %ys.0, %ys.1, %ys.2
print(mlirad.jit(comprehension).lower(np.ones(3)).as_text("tensor"))


def unpacked(x):
    first, *middle, last = x[0], x[1], x[2], x[3]
    first, last = last, first
    return first - last * sum(middle)


# Unpacking and tuples give names to values. They compute nothing.
# CHECK-LABEL: func.func public @unpacked
# CHECK:         %first = nd.extract %x[%c0]
# CHECK:         %middle.0 = nd.extract %x[%c1]
# CHECK:         %middle.1 = nd.extract %x[%c2]
# CHECK:         %last = nd.extract %x[%c3]
# CHECK:         %[[PRODUCT:.+]] = nd.mul %first,
# CHECK-NEXT:    nd.sub %last, %[[PRODUCT]]
print(mlirad.jit(unpacked).lower(np.ones(8)).as_text("tensor"))
