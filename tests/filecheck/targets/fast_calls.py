# RUN: python %s | filecheck %s
"""Which calls bypass Python. A call through Python costs microseconds, as much as a small kernel itself.

A call that goes without it runs a list of steps: check each argument, make the results, run, return. A step that does
not fit ends the list, and the call begins again in Python. So each step before RUN has no effect, and what no step can
check has no list at all: a list that checked less would run code on arguments that it is not compiled for.

    call --> CODE --> ARRAY --> FLOAT --> NEW --> RUN --> RETURN
              |         |         |
              +---------+---------+-----> the slow path
"""

from collections.abc import Callable
from typing import Any

import numpy as np

import mlirad
from mlirad.jit import fast_calls
from mlirad.requests.python_functions import copied


def show(function: Callable[..., Any], *args: Any) -> None:
    kernel = mlirad.jit(copied(function))  # a separate kernel
    kernel(*args)
    (made,) = kernel.specializations()
    recipe = fast_calls.recipe_for(made)
    steps = "slow" if recipe is None else " ".join(step.kind.name for step in recipe.steps)
    overlap = ", no overlap" if recipe is not None and recipe.checks_overlap else ""
    print(f"{function.__name__}: {steps}{overlap}.")


def scaled(x, a):
    return x * a


# CODE: the user's function is still the one that was compiled. NEW: memory for the result.
# CHECK: scaled: CODE ARRAY FLOAT NEW RUN RETURN.
show(scaled, np.ones(3), 2.0)


def written(x, y):
    x += y


# A written argument may share memory with no other argument: that case is compiled in another way.
# CHECK-NEXT: written: CODE ARRAY ARRAY RUN OBJECT RETURN, no overlap.
show(written, np.ones(3), np.ones(3))

weights = np.ones(3)


def captured(x):
    return (x * weights).sum()


# A captured array is looked up again, and checked like an argument.
# CHECK-NEXT: captured: CODE GLOBAL ARRAY ARRAY RUN NUMBER_OF RETURN.
show(captured, np.ones(3))


def unpacked(p):
    return p["a"] + p["b"]


# CHECK-NEXT: unpacked: UNPACK_DICT CODE FLOAT FLOAT RUN FLOAT_OF RETURN.
show(unpacked, {"a": 1.0, "b": 2.0})


def view(x):
    return x[1:]


# A result that is a view of an argument is made by NumPy.
# CHECK-NEXT: view: slow.
show(view, np.ones(3))

# The steps compare shapes, but not strides.
# CHECK-NEXT: scaled: slow.
show(scaled, np.ones(6)[::2], 2.0)


def listed(x):
    return [v for v in x if v > 0.0]


# A result with a run-time length.
# CHECK-NEXT: listed: slow.
show(listed, np.ones(3))
