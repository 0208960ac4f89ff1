# RUN: python %s | filecheck %s
"""What is refused, with the source line, a caret, and what to write instead."""

# Wrong on purpose:
# pyright: reportAttributeAccessIssue=false, reportCallIssue=false
import numpy as np

from mlirad.errors import CompileError
from mlirad.frontend.build import build
from mlirad.requests.kinds_of_derivatives import Grad
from mlirad.signature import signature_of


def refuse(function, *args):
    try:
        build(function, signature_of(args, {}))
    except CompileError as error:
        print(type(error).__name__)
        print(error)


def shapes(x, y):
    return (x * 2) + y


# CHECK-LABEL: ShapeError
# CHECK-NEXT: errors.py:[[# @LINE - 4]]:12: operands could not be broadcast together with shapes (3,) (4,)
# CHECK-NEXT:     return (x * 2) + y
# CHECK-NEXT:            ^~~~~~~~~~~
refuse(shapes, np.ones(3), np.ones(4))


def dtypes(z):
    z += 0.5
    return z


# CHECK-LABEL: DTypeError
# CHECK-NEXT: errors.py:[[# @LINE - 5]]:5: Cannot cast ufunc 'add' output from dtype('float64') to dtype('int64')
# CHECK-NEXT:     z += 0.5
# CHECK-NEXT:     ^~~~~~~~
refuse(dtypes, np.arange(3))


def statements(x):
    with open("log") as log:
        log.write(x)


# CHECK-LABEL: UnsupportedSyntaxError
# CHECK-NEXT: errors.py:[[# @LINE - 5]]:10: open is not compiled
# CHECK-NEXT:     with open("log") as log:
# CHECK-NEXT:          ^~~~~~~~~~~
# CHECK-NEXT:   help: read and write files outside
refuse(statements, np.ones(3))


def functions(x):
    return np.roots(x)


# CHECK-LABEL: UnsupportedSyntaxError
# CHECK-NEXT: errors.py:[[# @LINE - 4]]:12: np.roots is not supported
# CHECK-NEXT:     return np.roots(x)
# CHECK-NEXT:            ^~~~~~~~~~~
# CHECK-NEXT:   help: its code uses what is not compiled: the size of an array must be known at compile time
refuse(functions, np.ones(3))


def vectors(x):
    return x * 2


# CHECK-LABEL: DifferentiationError
# CHECK-NEXT: errors.py:[[# @LINE - 4]]:5: the gradient of vectors needs a scalar, and it returns an array (3,) float64
# CHECK-NEXT:     return x * 2
# CHECK-NEXT:     ^~~~~~~~~~~~
# CHECK-NEXT:   help: return a number, such as its sum
refuse(Grad(vectors), np.ones(3))


def inner(n):
    return n * 2.0


def integers(x, n):
    return x * Grad(inner)(n)


# CHECK-LABEL: DifferentiationError
# CHECK-NEXT: errors.py:[[# @LINE - 4]]:16: argument 0 of inner is of dtype int64, and only floats have derivatives
# CHECK-NEXT:     return x * Grad(inner)(n)
# CHECK-NEXT:                ^~~~~~~~~~~~~~
# CHECK-NEXT:   help: leave it out of argnums= if it is a count, an index or a shape; if it is a quantity, pass a float
refuse(integers, 1.0, 3)


def poisons(x, c):
    if c > 0:
        y = x
    else:
        y = 0.0
    return y + 1


# CHECK-LABEL: UnsupportedSyntaxError
# CHECK-NEXT: errors.py:[[# @LINE - 4]]:12: 'y' is an array (3,) float64 on one path and the float 0.0 on another
# CHECK-NEXT:     return y + 1
# CHECK-NEXT:            ^~~~~
# CHECK-NEXT:   help: give both the same type
refuse(poisons, np.ones(3), 1.0)


def shrinks(x):
    for _ in range(int(x[0])):
        x = x[1:]
    return x.sum()


# CHECK-LABEL: UnsupportedSyntaxError
# CHECK-NEXT: errors.py:[[# @LINE - 5]]:13: 'x' is an array (9,) float64 before the loop and an array (8,) float64 after
# CHECK-NEXT:         x = x[1:]
# CHECK-NEXT:             ^~~~~
# CHECK-NEXT:   help: preallocate it
refuse(shrinks, np.ones(9))


def shapes_of_data(x):
    return list(x[x > 0])


# CHECK-LABEL: UnsupportedSyntaxError
# CHECK-NEXT: errors.py:[[# @LINE - 4]]:12: the number of elements must be known at compile time, and it depends
# CHECK-NEXT:     return list(x[x > 0])
# CHECK-NEXT:            ^~~~~~~~~~~~~~
# CHECK-NEXT:   help: use a mask, np.where, or an array of fixed size and a count
refuse(shapes_of_data, np.ones(9))


def helper(x):
    return np.roots(x)


def calls_a_helper(x):
    y = x * 2.0
    return helper(y)


# CHECK-LABEL: UnsupportedSyntaxError
# CHECK-NEXT: errors.py:[[# @LINE - 9]]:12: np.roots is not supported
# CHECK-NEXT:     return np.roots(x)
# CHECK-NEXT:            ^~~~~~~~~~~
# CHECK-NEXT:   called from {{.*}}errors.py:[[# @LINE - 7]]:12
# CHECK-NEXT:     return helper(y)
# CHECK-NEXT:            ^~~~~~~~~
# CHECK-NEXT:   help: its code uses what is not compiled: the size of an array must be known at compile time
refuse(calls_a_helper, np.ones(9))


def misspelled(x):
    return np.sni(x)


# CHECK-LABEL: UnsupportedSyntaxError
# CHECK-NEXT: errors.py:[[# @LINE - 4]]:12: module 'numpy' has no attribute 'sni'
# CHECK-NEXT:     return np.sni(x)
# CHECK-NEXT:            ^~~~~~
# CHECK-NEXT:   help: did you mean np.sin?
refuse(misspelled, np.ones(9))
