"""Derivatives of plain Python functions of one number by dual numbers, nested to any order, without mlirad.

`grad` and `jvp` have mlirad's signatures. A dual number has the tag of the derivative it belongs to, so that an inner
derivative does not see the tangents of an outer one.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any

import numpy as np

_tags = count(1)


class Dual:
    def __init__(self, value: Any, tangent: Any, tag: int) -> None:
        self.value, self.tangent, self.tag = value, tangent, tag

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *operands: Any, **named: Any) -> Any:
        if method != "__call__" or named:
            return NotImplemented
        tag = max(each.tag for each in operands if isinstance(each, Dual))
        values = [each.value if isinstance(each, Dual) and each.tag == tag else each for each in operands]
        tangent: Any = 0.0
        for partial, each in zip(PARTIALS[ufunc](*values), operands, strict=True):
            if isinstance(each, Dual) and each.tag == tag:
                tangent = tangent + partial() * each.tangent
        return Dual(ufunc(*values), tangent, tag)

    def __add__(self, other: Any) -> Any:
        return applied(np.add, self, other)

    def __sub__(self, other: Any) -> Any:
        return applied(np.subtract, self, other)

    def __mul__(self, other: Any) -> Any:
        return applied(np.multiply, self, other)

    def __radd__(self, other: Any) -> Any:
        return applied(np.add, other, self)

    def __rsub__(self, other: Any) -> Any:
        return applied(np.subtract, other, self)

    def __rmul__(self, other: Any) -> Any:
        return applied(np.multiply, other, self)

    def __neg__(self) -> Any:
        return applied(np.multiply, -1.0, self)

    def __lt__(self, other: Any) -> bool:
        return bool(plain(self) < plain(other))

    def __gt__(self, other: Any) -> bool:
        return bool(plain(self) > plain(other))


def applied(ufunc: Any, *operands: Any) -> Any:
    """NumPy's function, which asks the dual numbers among its operands."""
    return ufunc(*operands)


def plain(x: Any) -> Any:
    return plain(x.value) if isinstance(x, Dual) else x


# The partial derivatives of each function, evaluated only where they are needed.
PARTIALS: dict[np.ufunc, Callable[..., tuple[Callable[[], Any], ...]]] = {
    np.add: lambda _x, _y: (lambda: 1.0, lambda: 1.0),
    np.subtract: lambda _x, _y: (lambda: 1.0, lambda: -1.0),
    np.multiply: lambda x, y: (lambda: y, lambda: x),
    np.sin: lambda x: (lambda: np.cos(x),),
    np.cos: lambda x: (lambda: -1.0 * np.sin(x),),
    np.tanh: lambda x: (lambda: 1.0 - np.tanh(x) * np.tanh(x),),
}


def grad(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda x: jvp(function, (x,), (1.0,))[1]


def jvp(function: Callable[[Any], Any], primals: tuple[Any], tangents: tuple[Any]) -> tuple[Any, Any]:
    tag = next(_tags)
    out = function(Dual(primals[0], tangents[0], tag))
    return (out.value, out.tangent) if isinstance(out, Dual) and out.tag == tag else (out, 0.0)
