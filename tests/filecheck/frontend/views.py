# RUN: python %s | filecheck %s
"""A view has no value of its own: a write through it is a write to the array that it looks at.

If a view were a copy, its base would not change, which is a silent wrong number. If it were carried beside its base,
each write would need a copy of both. So the view is a way to the base's elements, and only the base has a value:

    y      0 1 2 3 4 5 6 7        v = y[1:5]
    v        0 1 2 3              v[2] = 7.0   is   y[1 + 2] = 7.0
"""

import numpy as np

import mlirad


def slice_of_base(x):
    y = x * 2.0
    v = y[1:5]
    v[2] = 7.0
    return y[3]


# The element's number is computed in the base, and the slice is never made.
# CHECK-LABEL: func.func public @slice_of_base(%x: tensor<8xf64>) -> f64
# CHECK:         %y = nd.mul %x,
# CHECK-NOT:     nd.extract_slice
# CHECK:         %[[SEVEN:cst_?[0-9]*]] = nd.constant {value = 7.000000e+00 : f64}
# CHECK:         %[[THREE:c3_?[0-9]*]] = nd.constant {value = 3 : i64}
# CHECK:         %[[WRITTEN:y_[0-9]+]] = nd.insert %[[SEVEN]], %y[%[[THREE]]]
# CHECK:         nd.extract %[[WRITTEN]][
print(mlirad.jit(slice_of_base).lower(np.ones(8)).as_text("tensor"))


def view_of_view(x):
    y = x * 2.0
    y[::-2][1] = 0.0
    return y


# y[::-2] is the elements 7, 5, 3, 1. A chain of views is still one number in the base.
# CHECK-LABEL: func.func public @view_of_view
# CHECK:         %y = nd.mul %x,
# CHECK:         %[[FIVE:c5_?[0-9]*]] = nd.constant {value = 5 : i64}
# CHECK:         %[[WRITTEN:y_[0-9]+]] = nd.insert %{{.*}}, %y[%[[FIVE]]]
# CHECK:         func.return %[[WRITTEN]]
print(mlirad.jit(view_of_view).lower(np.ones(8)).as_text("tensor"))


def reshaped_view(x):
    y = x + 1.0
    grid = y.reshape(2, 4)
    grid[1, 0] = 5.0
    return y


# The elements of y lie in order, so that NumPy makes a view: y gets the new value.
# CHECK-LABEL: func.func public @reshaped_view
# CHECK:         %y = nd.add %x,
# CHECK:         %[[GRID:.+]] = nd.reshape %y : tensor<8xf64> to tensor<2x4xf64>
# CHECK:         %[[INTO:.+]] = nd.insert %{{.*}}, %[[GRID]][%{{.*}}, %{{.*}}]
# CHECK-NEXT:    %[[WRITTEN:y_[0-9]+]] = nd.reshape %[[INTO]] : tensor<2x4xf64> to tensor<8xf64>
# CHECK-NEXT:    func.return %[[WRITTEN]]
print(mlirad.jit(reshaped_view).lower(np.ones(8)).as_text("tensor"))


def reshaped_copy(x):
    y = x + 1.0
    flat = y.T.reshape(8)
    flat[3] = 5.0
    return y


# The elements of y.T do not lie in order, so that NumPy makes a copy: y stays as it is.
# CHECK-LABEL: func.func public @reshaped_copy
# CHECK:         %y = nd.add %x,
# CHECK:         %[[TURNED:.+]] = nd.transpose %y
# CHECK:         %flat = nd.reshape %[[TURNED]]
# CHECK:         %{{flat_[0-9]+}} = nd.insert %{{.*}}, %flat[
# CHECK-NOT:     %{{y_[0-9]+}} =
# CHECK:         func.return %y :
print(mlirad.jit(reshaped_copy).lower(np.ones((2, 4))).as_text("tensor"))
