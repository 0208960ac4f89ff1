# RUN: python %s | filecheck %s
"""Each index is compared with the length of its axis before it is used, and negative ones count from the end.

Without the check, an index that is out of range would read or write other memory. What is known while compiling is
decided there; that an index of a loop is in range is found later, at stage `optimized`, which drops the check.
"""

import numpy as np

import mlirad


def read(x, i):
    return x[i]


# The check's result is the index to use: between 0 and the length.
# CHECK-LABEL: func.func public @read(%x: tensor<8xf64>, %i: i64)
# CHECK:         %[[AT:.+]] = nd.check_index %i, %c8 {axis = 0 : i64}
# CHECK-NEXT:    nd.extract %x[%[[AT]]]
print(mlirad.jit(read).lower(np.ones(8), 3).as_text("tensor"))


def last(x):
    return x[-1]


# CHECK-LABEL: func.func public @last
# CHECK-NOT:     nd.check_index
# CHECK:         nd.extract %x[%c7]
print(mlirad.jit(last).lower(np.ones(8)).as_text("tensor"))


def out_of_range(x, c):
    if c:
        return x[8]
    return x[0]


# An index that is out of range for certain raises at run time, as in Python: only if the line is run.
# CHECK-LABEL: func.func public @out_of_range
# CHECK:         scf.if %c
# CHECK:           nd.check %false, "IndexError", "index 8 is out of bounds for axis 0 with size 8"
# CHECK:         } else {
# CHECK:           nd.extract %x[
print(mlirad.jit(out_of_range).lower(np.ones(8), True).as_text("tensor"))


def index_arrays(x, i, v):
    y = x[i]
    x[i] = v
    np.add.at(x, i, y)


# An array of indices is checked as a whole. A read is a gather. Of a write, the last of two equal indices wins
# (scatter); np.add.at adds both (scatter_add).
# CHECK-LABEL: func.func public @index_arrays(%x: tensor<8xf64> {{.*}}, %i: tensor<2xi64>, %v: tensor<2xf64>)
# CHECK:         %[[READ:.+]] = nd.check_indices %i, %c8 {axis = 0 : i64} : tensor<2xi64>
# CHECK-NEXT:    %y = nd.gather %x[%[[READ]]]
# CHECK:         %[[WRITTEN:.+]] = nd.check_indices %i,
# CHECK-NEXT:    %[[X1:x_[0-9]+]] = nd.scatter %v, %x[%[[WRITTEN]]]
# CHECK:         %[[ADDED:.+]] = nd.check_indices %i,
# CHECK-NEXT:    %[[X2:x_[0-9]+]] = nd.scatter_add %y, %[[X1]][%[[ADDED]]]
# CHECK-NEXT:    func.return %[[X2]]
print(mlirad.jit(index_arrays).lower(np.ones(8), np.array([1, 2]), np.ones(2)).as_text("tensor"))
