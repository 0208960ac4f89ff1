"""Derivative rules for existing functions of NumPy, SciPy and other packages; native functions as ops.

Reads and writes: the tables of rules and of native ops. Leaves: no code that was compiled without the rules.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from mlirad.contract.native_sources import native_source
from mlirad.contract.registered_ops import NativeOp, registered
from mlirad.jit.kernel import forget_all
from mlirad.library.own_rules import REGISTERED, CustomJvp, CustomVjp, OwnRule
from mlirad.requests.python_functions import plain


def register_derivative(
    function: Callable[..., Any],
    *,
    vjp: tuple[Callable[..., Any], Callable[..., Any]] | None = None,
    jvp: Callable[..., Any] | None = None,
    nondiff_argnums: Sequence[int] = (),
) -> None:
    """Give `function` this derivative in all compiled functions from now on.

    Give either `jvp`, a rule as for `mlirad.custom_jvp`, or `vjp`, the two functions of `mlirad.custom_vjp`. A rule may
    call the function. Operators and methods that compute the same are not calls of it. Code that was compiled before is
    compiled again. Raises TypeError unless exactly one of both is given.
    """
    if (vjp is None) == (jvp is None):
        raise TypeError("register_derivative takes either jvp=, a rule, or vjp=, a pair of functions")
    REGISTERED[id(plain(function))] = _rule(function, vjp, jvp, nondiff_argnums)
    forget_all()


def _rule(
    function: Callable[..., Any],
    vjp: tuple[Callable[..., Any], Callable[..., Any]] | None,
    jvp: Callable[..., Any] | None,
    nondiff_argnums: Sequence[int],
) -> OwnRule:
    if jvp is not None:
        rule = CustomJvp(function, nondiff_argnums)
        rule.defjvp(jvp)
        return rule
    assert vjp is not None
    rule = CustomVjp(function, nondiff_argnums)
    rule.defvjp(*vjp)
    return rule


def register_op(
    name: str,
    function: Any,
    *,
    signature: str | None = None,
    vjp: tuple[Callable[..., Any], Callable[..., Any]] | None = None,
    jvp: Callable[..., Any] | None = None,
    needs_gil: bool = False,
) -> NativeOp:
    """A native function of numbers as an op: kernels call it with numbers or, element by element, with arrays.

        j1 = mlirad.register_op("j1", "scipy.special.cython_special.j1", jvp=lambda primals, tangents: ...)

    function: a ctypes function, a `numba.cfunc`, or the name of a function that a Cython module exports to C. It takes
    and returns float32, float64, and integers of 32 and 64 bits; it says which by itself, or `signature` does:
    "float64(float64, int64)". Arguments are broadcast and cast as for a ufunc, but never where digits may be lost.

    jvp, vjp: the derivative rule, at most one, as for register_derivative. The rule gets arguments of one shape and of
    the function's dtypes. It may call the op. Without a rule the op has no derivative.

    The function must be pure, because it may be called more often than the program says, or not at all, with any
    numbers and in any thread. It must not raise: a `numba.cfunc` that raises prints the exception and returns garbage,
    and so does a ctypes callback into Python. needs_gil: call it with the interpreter's lock. Code on disk refers to
    the op by name, so it works only in processes that have registered the op.

    Raises TypeError if the function is not native or has other types, and ValueError for a wrong name or signature.
    """
    if vjp is not None and jvp is not None:
        raise TypeError("register_op takes jvp=, a rule, or vjp=, a pair of functions, not both")
    source = native_source(function, signature)
    made = registered(name, source.address, source.prototype, needs_gil or source.needs_gil, source.owner)
    if vjp is not None or jvp is not None:
        REGISTERED[id(made)] = _rule(made, vjp, jvp, ())
    return made
