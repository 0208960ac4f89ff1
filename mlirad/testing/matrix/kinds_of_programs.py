"""The programs of the matrix: scalar functions of three numbers, one for each kind of control and data flow.

Each is plain NumPy, and runs on arrays of `Digits` unchanged; the program with custom rules has a reference.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import mlirad


def straight_line(x):
    return np.sum(np.sin(x) * x[::-1]) + x[0] * x[1] * x[2] * x[2]


def for_loop(x):
    s = x[0]
    for i in range(x.shape[0]):
        s = 0.7 * np.sin(s * x[i]) + x[i]
    return s


def while_loop(x):
    """The trips depend on the data."""
    s = x[0] * x[1]
    while s < 3.0:
        s = s * 1.4 + 0.2 * np.sin(x[2] * s) + 0.1
    return s


def if_branches(x):
    y = np.sin(x[0]) * x[1] * x[2] if x[0] < x[1] else x[0] * x[0] * x[0]
    if y > 0.1:
        y = y * np.exp(x[0] * x[2])
    return y


def in_place(x):
    """An array is overwritten, through views, by values computed from it."""
    y = x * x
    y[0] = np.sin(y[1]) * x[2]
    y[1:] *= y[:-1]
    y[1] += y[0] * y[2]
    return np.sum(y * x)


def index_arrays(x):
    """A constant index array with repeated indices, and one computed at run time."""
    twice, order = np.array([2, 0, 2]), np.argsort(x)
    y = x[order] * np.sin(x[twice])
    y[twice] += x * x
    return np.sum(y[order] * y)


def recursion(x):
    """The depth depends on the data."""

    def climb(s, a):
        if s > 3.0:
            return s
        return climb(s * 1.5 + 0.2 * np.sin(a * s) + 0.1, a)

    return climb(x[0] * x[1], x[2]) * x[1]


@mlirad.custom_jvp
def doubled(x):
    return np.sin(x)


@doubled.defjvp
def doubled_jvp(primals, tangents):
    (x,), (t,) = primals, tangents
    return doubled(x), 2.0 * np.cos(x) * t


@mlirad.custom_vjp
def tripled(x, y):
    return np.sin(x * y)


def tripled_fwd(x, y):
    return tripled(x, y), (x, y)


def tripled_bwd(kept, g):
    x, y = kept
    slope = 3.0 * np.cos(x * y) * g
    return slope * y, slope * x


tripled.defvjp(tripled_fwd, tripled_bwd)


def own_rule(x):
    """The rules are false on purpose: two and three times the derivative."""
    return doubled(x[0] * x[1]) * x[2] + np.sum(tripled(x, x[::-1]))


def own_rule_reference(x, at):
    """A function with exactly these rules: its value at a fixed point, and a multiple of the difference from there."""
    once, again = np.sin(at[0] * at[1]), np.sin(at * at[::-1])
    return (once + 2.0 * (np.sin(x[0] * x[1]) - once)) * x[2] + np.sum(again + 3.0 * (np.sin(x * x[::-1]) - again))


@dataclass(frozen=True)
class Program:
    """`reference(x, at)`: the program of x. Parts with no derivative or a false one use `at`, which is equal to x."""

    name: str
    function: Callable[[Any], Any]
    reference: Callable[[Any, Any], Any]


def _plain(function: Callable[[Any], Any]) -> Program:
    return Program(function.__name__.replace("_", " "), function, lambda x, at: function(x))


PROGRAMS = (
    *map(_plain, (straight_line, for_loop, while_loop, if_branches, in_place, index_arrays, recursion)),
    Program("own rule", own_rule, own_rule_reference),
)
