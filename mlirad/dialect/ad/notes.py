"""Attributes by which functions, loops and modules tell the transforms what they are, or what is asked of them."""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerAttr, i64
from xdsl.ir import Operation

LINEARIZED = "ad.linearized"


"""On a function: its pullback is only ever transposed (`ad.transpose`). It is linear in the cotangents, whatever they
are: no product of one is annihilated."""


TRANSPOSED = "ad.transposed"


"""On a function: a derivative, linear in the arguments that it is differentiated by. Its pullback is its transpose."""


CHECKPOINT = "ad.checkpoint"


"""On a loop: its reverse keeps a few states and runs the trips again. "sqrt", "binomial", or a number of states. On a
function: its pullback runs it again from its arguments; until the derivatives are made, it is not inlined."""


BUDGET = "ad.budget"


"""On a module, and on a request: how many bytes a reverse sweep may keep of its forward sweep."""


UNBOUNDED = -1


"""As a budget: as many as it needs."""


def bound_reverse_sweeps(module: Operation, budget: int) -> None:
    """Let the reverse sweeps of a module keep no more than so many bytes of their forward sweeps."""
    module.attributes[BUDGET] = IntegerAttr(budget, i64)


RECOVERED = "ad.recovered"


"""On a loop of a reverse sweep: how many values of the forward trip it has again, and how; bytes stored a trip."""
