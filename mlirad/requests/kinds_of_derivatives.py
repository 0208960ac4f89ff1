"""Transforms that differentiate a function."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Any

from mlirad.requests.argnums import Argnums, listed
from mlirad.requests.python_functions import name_of
from mlirad.requests.request import Request


@dataclass(frozen=True, eq=False)
class Grad(Request):
    """The gradient of a scalar function with respect to the arguments `argnums`.

    argnums: an int or a name gives one gradient, a tuple a tuple. has_aux: the function returns (value, aux).
    with_value: the result is (value, gradients); with has_aux, ((value, aux), gradients) or (gradients, aux).
    holomorphic: arguments and value are complex, and the derivative is complex.
    """

    argnums: Argnums = 0
    has_aux: bool = False
    with_value: bool = False
    holomorphic: bool = False

    @property
    def __name__(self) -> str:
        return f"{'value_and_grad' if self.with_value else 'grad'}({name_of(self.function)})"

    @property
    def summary(self) -> str:
        what = "The value and the gradient" if self.with_value else "The gradient"
        return f"{what} of {name_of(self.function)} with respect to {listed(self.argnums)}."


@dataclass(frozen=True, eq=False)
class Jvp(Request):
    """Called with (primals, tangents), two tuples; gives (out, tangent of out), or (out, tangent of out, aux).

    has_aux: the function returns (out, aux).
    """

    has_aux: bool = False

    @property
    def signature(self) -> inspect.Signature:
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        return inspect.Signature([inspect.Parameter(name, kind) for name in ("primals", "tangents")])

    @property
    def summary(self) -> str:
        return f"The value of {name_of(self.function)} and its derivative along tangents."


@dataclass(frozen=True, eq=False)
class Paths(Jvp):
    """Called with (primals, counts), two tuples; counts the paths of dependence to each number of the result.

    counts: the number of paths to each number of the primals.
    """

    @property
    def summary(self) -> str:
        return f"Which numbers of the result of {name_of(self.function)} depend on which of its arguments."


@dataclass(frozen=True, eq=False)
class Sparse(Request):
    """A derivative as a matrix of scipy.sparse. Compiled functions cannot compute it."""


@dataclass(frozen=True, eq=False)
class Hvp(Jvp):
    """Called with (primals, tangents); gives the tangents of the gradients with respect to the primals."""

    @property
    def summary(self) -> str:
        return f"The Hessian of {name_of(self.function)} times tangents."


@dataclass(frozen=True, eq=False)
class Jacobian(Request):
    """All derivatives of a function with respect to the arguments `argnums`: in forward mode, or in reverse mode.

    For each leaf of the result, the same as `Grad`; has_aux: the function returns (value, aux).
    """

    argnums: Argnums = 0
    has_aux: bool = False
    is_forward: bool = True
    holomorphic: bool = False

    @property
    def __name__(self) -> str:
        return f"{'jacfwd' if self.is_forward else 'jacrev'}({name_of(self.function)})"

    @property
    def summary(self) -> str:
        return f"The Jacobian of {name_of(self.function)} with respect to {listed(self.argnums)}."


@dataclass(frozen=True, eq=False)
class Hessian(Request):
    """All second derivatives of a function with respect to the arguments `argnums`."""

    argnums: Argnums = 0
    has_aux: bool = False
    holomorphic: bool = False

    @property
    def summary(self) -> str:
        return f"The Hessian of {name_of(self.function)} with respect to {listed(self.argnums)}."


@dataclass(frozen=True, eq=False)
class Vjp(Request):
    """Called with the primals; gives out and the residuals of the pullback. has_aux: the function returns (out,
    aux)."""

    has_aux: bool = False

    @property
    def summary(self) -> str:
        return f"The value of {name_of(self.function)} and its pullback."


@dataclass(frozen=True, eq=False)
class Implicit(Request):
    """The solution of an equation given by a function: called with (x0, *params). options: names and values."""

    kind: str = "root"
    options: tuple[tuple[str, Any], ...] = ()

    @property
    def __name__(self) -> str:
        return f"{self.kind}({name_of(self.function)})"

    @property
    def summary(self) -> str:
        return f"The {self.kind} of {name_of(self.function)}, by its equation."


@dataclass(frozen=True, eq=False)
class Jet(Request):
    """Called with (primals, series), two tuples; gives (out, series of out): derivatives along a path."""

    @property
    def signature(self) -> inspect.Signature:
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        return inspect.Signature([inspect.Parameter(name, kind) for name in ("primals", "series")])

    @property
    def summary(self) -> str:
        return f"The value of {name_of(self.function)} and its derivatives along a path, of all orders."


@dataclass(frozen=True, eq=False)
class Linearize(Request):
    """Called with the primals; gives out and a linear function of tangents.

    has_aux: the function returns (out, aux), and the result is (out, linear function, aux).
    """

    has_aux: bool = False

    @property
    def summary(self) -> str:
        return f"The value of {name_of(self.function)} and its derivative as a linear function."
