"""scipy.special: Bessel functions of integer order, for real numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from mlirad.library import primitives
from mlirad.library.scipy.special_functions import floats, wide
from mlirad.library.spells import spells


@spells("scipy.special.j0")
def j0(x: Any, /) -> Any:
    return primitives.bessel_j(0, floats(x))


@spells("scipy.special.j1")
def j1(x: Any, /) -> Any:
    return primitives.bessel_j(1, floats(x))


@spells("scipy.special.y0")
def y0(x: Any, /) -> Any:
    return primitives.bessel_y(0, floats(x))


@spells("scipy.special.y1")
def y1(x: Any, /) -> Any:
    return primitives.bessel_y(1, floats(x))


@spells("scipy.special.i0")
def i0(x: Any, /) -> Any:
    return primitives.bessel_i(0, floats(x))


@spells("scipy.special.i0e")
def i0e(x: Any, /) -> Any:
    return primitives.bessel_ie(0, floats(x))


@spells("scipy.special.i1")
def i1(x: Any, /) -> Any:
    return primitives.bessel_i(1, floats(x))


@spells("scipy.special.i1e")
def i1e(x: Any, /) -> Any:
    return primitives.bessel_ie(1, floats(x))


@spells("scipy.special.k0")
def k0(x: Any, /) -> Any:
    return primitives.bessel_k(0, floats(x))


@spells("scipy.special.k0e")
def k0e(x: Any, /) -> Any:
    return primitives.bessel_ke(0, floats(x))


@spells("scipy.special.k1")
def k1(x: Any, /) -> Any:
    return primitives.bessel_k(1, floats(x))


@spells("scipy.special.k1e")
def k1e(x: Any, /) -> Any:
    return primitives.bessel_ke(1, floats(x))


def _order(order: Any) -> tuple[int, float]:
    """The absolute value of the order, and (-1)^n for a negative one."""
    if isinstance(order, bool) or not isinstance(order, (int, float, np.integer, np.floating)) or order != int(order):
        raise NotImplementedError(
            "a Bessel function whose order is no integer known while compiling is not compiled",
            "write the order as a number, such as special.jv(2, x)",
        )
    number = int(order)
    return abs(number), -1.0 if number < 0 and number % 2 else 1.0


@spells("scipy.special.jv")
def jv(v: Any, z: Any, /) -> Any:
    order, sign = _order(v)
    return sign * primitives.bessel_j(order, floats(v, z, narrow=True)[1])


@spells("scipy.special.iv")
def iv(v: Any, z: Any, /) -> Any:
    return primitives.bessel_i(_order(v)[0], floats(v, z, narrow=True)[1])


@spells("scipy.special.ive")
def ive(v: Any, z: Any, /) -> Any:
    return primitives.bessel_ie(_order(v)[0], floats(v, z, narrow=True)[1])


def _of_integer(order: Any, x: Any) -> Any:
    """The argument, in 64 bits if the order is an integer: SciPy has no loop for integers and float32."""
    x = floats(x)
    return x if isinstance(order, (float, np.floating)) else wide(x)


@spells("scipy.special.yn")
def yn(n: Any, x: Any, /) -> Any:
    order, sign = _order(n)
    return sign * primitives.bessel_y(order, _of_integer(n, x))


@spells("scipy.special.kn")
def kn(n: Any, x: Any, /) -> Any:
    return primitives.bessel_k(_order(n)[0], _of_integer(n, x))
