"""Transforms of functions as frozen descriptors: user code may mention them in a kernel, `jit` makes them callable."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Request:
    """A transform of `function`, which is a plain function or another request."""

    function: Any

    @property
    def __name__(self) -> str:
        return f"{type(self).__qualname__.lower()}({name_of(self.function)})"


@dataclass(frozen=True)
class Grad(Request):
    """The gradient of a scalar function with respect to the arguments `argnums`.

    argnums: an int gives one gradient, a tuple a tuple. has_aux: the function returns (value, aux).
    with_value: the result is (value, gradients); with has_aux, ((value, aux), gradients) or (gradients, aux).
    """

    argnums: int | tuple[int, ...] = 0
    has_aux: bool = False
    with_value: bool = False


@dataclass(frozen=True)
class Jvp(Request):
    """Called with (primals, tangents), two tuples; gives (out, tangent of out)."""


@dataclass(frozen=True)
class Vjp(Request):
    """Called with the primals; gives out and what the pullback needs. has_aux: the function returns (out, aux)."""

    has_aux: bool = False


def plain(function: Any) -> Any:
    """What a kernel stands for: the plain function or request under it; anything else itself."""
    return getattr(function, "__mlirad_function__", function)


def name_of(function: Any) -> str:
    return getattr(plain(function), "__name__", type(function).__name__)
