"""Attributes of functions, loops and modules that transforms read: properties, and requests."""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerAttr, i64
from xdsl.ir import Operation

LINEARIZED = "ad.linearized"
"""On a function: its pullback is only ever transposed (`ad.transpose`). It is linear in all cotangents: no product of a
cotangent is annihilated."""


TRANSPOSED = "ad.transposed"
"""On a function: a derivative that is linear in its differentiated arguments. Its pullback is its transpose."""


CHECKPOINT = "ad.checkpoint"
"""On a loop: its reverse stores a few states and reruns the trips. "sqrt", "binomial", or a number of states. On a
function: its pullback reruns it from its arguments; it is not inlined before all derivatives are expanded."""


BUDGET = "ad.budget"
"""On a module, and on a request: how many bytes a reverse sweep may store of its forward sweep."""


UNBOUNDED = -1
"""As a budget: no limit."""


def bound_reverse_sweeps(module: Operation, budget: int) -> None:
    """Limit the bytes that each reverse sweep of a module stores of its forward sweep."""
    module.attributes[BUDGET] = IntegerAttr(budget, i64)


RECOVERED = "ad.recovered"
"""On a loop of a reverse sweep: how many values of the forward trip it recovers, and how; bytes stored per trip."""
