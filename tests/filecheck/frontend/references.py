# RUN: python %s | filecheck %s
"""A variable is a reference to an array, and may refer to one of several: only the run knows which.

A write through such a variable changes one array. If the join made a third array of the two, neither `a` nor `b` would
change; if both were written, one would be wrong.

    w = a if c else b          number of the array: 0 or 1
    w[0] = 1.0                 a gets it where the number is 0, b where it is 1
"""

import numpy as np

import mlirad


def one_of_two(x, y, c):
    a = x * 1.0
    b = y * 1.0
    w = a if c else b
    w[0] = 1.0
    return a, b


# What joins is the number of the array. Each array is written under the condition that it is the one.
# CHECK-LABEL: func.func public @one_of_two
# CHECK:         %a = nd.mul %x,
# CHECK:         %b = nd.mul %y,
# CHECK:         %[[WHICH:.+]] = scf.if %c -> (i64)
# CHECK:         %[[IS_A:.+]] = nd.equal %[[WHICH]], %{{c0_?[0-9]*}} :
# CHECK-NEXT:    %[[A:a_[0-9]+]] = scf.if %[[IS_A]] -> (tensor<8xf64>)
# CHECK:           nd.insert %{{.*}}, %a[
# CHECK:         } else {
# CHECK-NEXT:      scf.yield %a :
# CHECK:         %[[IS_B:.+]] = nd.equal %[[WHICH]], %{{c1_?[0-9]*}} :
# CHECK-NEXT:    %[[B:b_[0-9]+]] = scf.if %[[IS_B]] -> (tensor<8xf64>)
# CHECK:           nd.insert %{{.*}}, %b[
# CHECK:         func.return %[[A]], %[[B]]
print(mlirad.jit(one_of_two).lower(np.ones(8), np.ones(8), True).as_text("tensor"))


def swapped(x, n):
    a = x * 1.0
    b = x * 2.0
    for t in range(n):
        b[0] = a[0]
        a, b = b, a
    return a


# Two names change places: the loop yields its two arrays in the other order. Nothing is copied, and no number says
# which is which.
# CHECK-LABEL: func.func public @swapped
# CHECK:         scf.for %t = {{.*}} iter_args(%[[A:a_[0-9]+]] = %a, %[[B:b_[0-9]+]] = %b) ->
# CHECK-NOT:       nd.insert_slice
# CHECK-NOT:       nd.select
# CHECK:           %[[WRITTEN:b_[0-9]+]] = nd.insert %{{.*}}, %[[B]][
# CHECK-NEXT:      scf.yield %[[WRITTEN]], %[[A]] :
print(mlirad.jit(swapped).lower(np.ones(8), 3).as_text("tensor"))


def written_in_branches(x, y, c):
    if c:
        x[0] = 1.0
    else:
        y[0] = 2.0


# An `if` yields each array that one of its sides writes; the side that does not, yields it as it was.
# CHECK-LABEL: func.func public @written_in_branches
# CHECK:         %[[X:x_[0-9]+]], %[[Y:y_[0-9]+]] = scf.if %c
# CHECK:           %[[X1:x_[0-9]+]] = nd.insert %{{.*}}, %x[
# CHECK-NEXT:      scf.yield %[[X1]], %y :
# CHECK:           %[[Y1:y_[0-9]+]] = nd.insert %{{.*}}, %y[
# CHECK-NEXT:      scf.yield %x, %[[Y1]] :
# CHECK:         func.return %[[X]], %[[Y]]
print(mlirad.jit(written_in_branches).lower(np.ones(3), np.ones(3), True).as_text("tensor"))
