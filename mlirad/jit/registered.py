"""Derivative rules for functions that are there already: NumPy's, SciPy's, other people's.

Reads and writes: the table of rules. Leaves: no code that was compiled without them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from mlirad import requests
from mlirad.jit.kernel import forget_all
from mlirad.library.own_rules import REGISTERED, CustomJvp, CustomVjp, OwnRule


def register_derivative(
    function: Callable[..., Any],
    *,
    vjp: tuple[Callable[..., Any], Callable[..., Any]] | None = None,
    jvp: Callable[..., Any] | None = None,
    nondiff_argnums: Sequence[int] = (),
) -> None:
    """From now on, calls of `function` in compiled functions have this derivative, whoever makes them.

    Either `jvp`, a rule as of `mlirad.custom_jvp`, or `vjp`, the two functions of `mlirad.custom_vjp`. A rule may call
    the function. Neither operators nor methods that do the same are calls of it. All that was compiled is compiled
    again. Raises TypeError where not one of both is given.
    """
    if (vjp is None) == (jvp is None):
        raise TypeError("register_derivative takes either jvp=, a rule, or vjp=, a pair of functions")
    rule: OwnRule
    if jvp is not None:
        rule = CustomJvp(function, nondiff_argnums)
        rule.defjvp(jvp)
    else:
        assert vjp is not None
        rule = CustomVjp(function, nondiff_argnums)
        rule.defvjp(*vjp)
    REGISTERED[id(requests.plain(function))] = rule
    forget_all()
