"""The C functions that draw NumPy's random numbers: `numpy.random._generator` exports them.

Reads: names of distributions. Writes: the states of generators. Leaves: addresses, each checked by a reference draw,
and draws by ctypes. Imports no xDSL: code from disk is linked with the addresses.

Each takes a `bitgen_t *` first. A function that fills an array takes (its parameters,) a count, [0 for unmasked,] and
the array; a function that returns a number is called for each element.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from mlirad.contract.registered_ops import NativeFunctionError
from mlirad.tree import SCRATCH, words_of

_F64, _F32, _I64 = np.dtype(np.float64), np.dtype(np.float32), np.dtype(np.int64)
_U64, _U32, _U16, _U8 = (np.dtype(f"uint{bits}") for bits in (64, 32, 16, 8))


@dataclass(frozen=True)
class RandomFunction:
    """A C function `random_NAME`.

    result: the type that it returns, or fills an array with. parameters: their C types. example: sample parameters;
    `drawn` is NumPy's own draw with them. fills: it fills an array. trailing: the arguments after the parameters in an
    element's call: zeros (False), or the scratch memory (True).
    """

    result: np.dtype
    parameters: tuple[np.dtype, ...]
    example: tuple[float, ...]
    drawn: Callable[[np.random.Generator], Any]
    fills: bool = False
    trailing: tuple[bool, ...] = ()


def _filling(dtype: np.dtype, drawn: Callable[[np.random.Generator], Any]) -> RandomFunction:
    return RandomFunction(dtype, (), (), drawn, fills=True)


def _bounded(dtype: np.dtype, drawn: np.dtype) -> RandomFunction:
    wide = _U64 if dtype == _U64 else _U32  # C passes narrow integers as wide ones
    high = 2 if drawn == np.bool_ else 100
    return RandomFunction(
        dtype, (wide, wide), (0, high - 1), lambda g: g.integers(0, high, _COUNT, drawn), True, (False,)
    )


def _real(count: int, example: tuple[float, ...], drawn: Callable[[np.random.Generator], Any]) -> RandomFunction:
    return RandomFunction(_F64, (_F64,) * count, example, drawn)


def _whole(parameters: str, example: tuple[float, ...], drawn: Callable[[np.random.Generator], Any]) -> RandomFunction:
    return RandomFunction(_I64, tuple(_F64 if each == "d" else _I64 for each in parameters), example, drawn)


_COUNT = 3
"""How many numbers a reference draw has, for functions that fill arrays."""

FUNCTIONS: Mapping[str, RandomFunction] = {
    "standard_uniform_fill": _filling(_F64, lambda g: g.random(_COUNT)),
    "standard_uniform_fill_f": _filling(_F32, lambda g: g.random(_COUNT, _F32)),
    "standard_normal_fill": _filling(_F64, lambda g: g.standard_normal(_COUNT)),
    "standard_normal_fill_f": _filling(_F32, lambda g: g.standard_normal(_COUNT, _F32)),
    "standard_exponential_fill": _filling(_F64, lambda g: g.standard_exponential(_COUNT)),
    "standard_exponential_fill_f": _filling(_F32, lambda g: g.standard_exponential(_COUNT, _F32)),
    "standard_exponential_inv_fill": _filling(_F64, lambda g: g.standard_exponential(_COUNT, method="inv")),
    "standard_exponential_inv_fill_f": _filling(_F32, lambda g: g.standard_exponential(_COUNT, _F32, "inv")),
    "bounded_uint64_fill": _bounded(_U64, _U64),
    "bounded_uint32_fill": _bounded(_U32, _U32),
    "bounded_uint16_fill": _bounded(_U16, _U16),
    "bounded_uint8_fill": _bounded(_U8, _U8),
    "bounded_bool_fill": _bounded(_U8, np.dtype(np.bool_)),
    "bounded_uint64": RandomFunction(
        _U64, (_U64, _U64), (3, 96), lambda g: g.integers(3, 100), trailing=(False, False)
    ),
    "buffered_bounded_uint32": RandomFunction(
        _U32,
        (_U32, _U32),
        (3, 96),
        lambda g: g.integers([3], 100, dtype=_U32)[0],
        trailing=(False, False, False, False),
    ),
    "interval": RandomFunction(_U64, (_U64,), (1,), lambda g: g.permutation(np.arange(2.0))[-1]),
    "standard_uniform": _real(0, (), lambda g: g.random()),
    "standard_normal": _real(0, (), lambda g: g.standard_normal()),
    "standard_exponential": _real(0, (), lambda g: g.standard_exponential()),
    "standard_cauchy": _real(0, (), lambda g: g.standard_cauchy()),
    "standard_gamma": _real(1, (2.5,), lambda g: g.standard_gamma(2.5)),
    "standard_gamma_f": RandomFunction(_F32, (_F32,), (2.5,), lambda g: g.standard_gamma(2.5, dtype=_F32)),
    "laplace": _real(2, (0.0, 1.0), lambda g: g.laplace()),
    "logistic": _real(2, (0.0, 1.0), lambda g: g.logistic()),
    "gumbel": _real(2, (0.0, 1.0), lambda g: g.gumbel()),
    "lognormal": _real(2, (0.5, 1.5), lambda g: g.lognormal(0.5, 1.5)),
    "weibull": _real(1, (2.5,), lambda g: g.weibull(2.5)),
    "pareto": _real(1, (2.5,), lambda g: g.pareto(2.5)),
    "power": _real(1, (2.5,), lambda g: g.power(2.5)),
    "beta": _real(2, (2.5, 1.5), lambda g: g.beta(2.5, 1.5)),
    "f": _real(2, (2.5, 3.5), lambda g: g.f(2.5, 3.5)),
    "standard_t": _real(1, (2.5,), lambda g: g.standard_t(2.5)),
    "noncentral_chisquare": _real(2, (2.5, 1.5), lambda g: g.noncentral_chisquare(2.5, 1.5)),
    "noncentral_f": _real(3, (2.5, 3.5, 1.5), lambda g: g.noncentral_f(2.5, 3.5, 1.5)),
    "wald": _real(2, (2.5, 1.5), lambda g: g.wald(2.5, 1.5)),
    "vonmises": _real(2, (0.5, 1.5), lambda g: g.vonmises(0.5, 1.5)),
    "triangular": _real(3, (0.5, 1.5, 3.5), lambda g: g.triangular(0.5, 1.5, 3.5)),
    "poisson": _whole("d", (4.5,), lambda g: g.poisson(4.5)),
    "geometric": _whole("d", (0.2,), lambda g: g.geometric(0.2)),
    "zipf": _whole("d", (2.5,), lambda g: g.zipf(2.5)),
    "logseries": _whole("d", (0.6,), lambda g: g.logseries(0.6)),
    "negative_binomial": _whole("dd", (4.5, 0.4), lambda g: g.negative_binomial(4.5, 0.4)),
    "hypergeometric": _whole("iii", (20, 30, 15), lambda g: g.hypergeometric(20, 30, 15)),
    "binomial": RandomFunction(_I64, (_F64, _I64), (0.4, 20), lambda g: g.binomial(20, 0.4), trailing=(True,)),
}
"""The functions that compiled code calls, without the prefix `random_` of their names."""


@cache
def _library() -> ctypes.PyDLL:
    """Called with the interpreter's lock, so that no other thread draws at the same time."""
    from numpy.random import _generator

    return ctypes.PyDLL(_generator.__file__)


@cache
def address_of(name: str) -> int:
    """Raises NativeFunctionError if NumPy hides the function, or if another function has its name."""
    function = FUNCTIONS[name]
    hint = "draw the numbers outside, and pass them in, or use mlirad.random"
    try:
        found = ctypes.cast(getattr(_library(), f"random_{name}"), ctypes.c_void_p).value or 0
    except (AttributeError, OSError):
        raise NativeFunctionError(f"NumPy {np.__version__} exports no C function random_{name}: {hint}") from None
    expected, actual = (np.random.Generator(np.random.PCG64(20_260)) for _ in range(2))
    drawn = _draw_at(found, function, words_of(actual), _COUNT if function.fills else None, function.example)
    wanted = np.asarray(function.drawn(expected)).astype(function.result)
    states = [each.bit_generator.state for each in (expected, actual)]
    if not np.array_equal(drawn, wanted) or states[0] != states[1]:
        raise NativeFunctionError(f"NumPy {np.__version__} draws {name} with another C function: {hint}")
    return found


def draw(name: str, words: np.ndarray, count: int | None, parameters: tuple[Any, ...]) -> Any:
    """Numbers of a distribution, an array of `count` or one number (None), from the generator of these words."""
    return _draw_at(address_of(name), FUNCTIONS[name], words, count, parameters)


def draw_of(generator: np.random.Generator, name: str, count: int | None, parameters: tuple[Any, ...]) -> Any:
    """The same for a generator: printed source calls this if NumPy has no method for it."""
    return draw(name, words_of(generator), count, parameters)


def _draw_at(
    address: int, function: RandomFunction, words: np.ndarray, count: int | None, parameters: tuple[Any, ...]
) -> Any:
    held = np.array(words)  # the C function may write the scratch memory
    start = held.ctypes.data
    kinds = [np.ctypeslib.as_ctypes_type(each) for each in function.parameters]
    behind = [ctypes.c_void_p(start + 8 * SCRATCH) if each else ctypes.c_void_p() for each in function.trailing]
    if function.fills:
        made = np.empty(1 if count is None else count, function.result)
        call = ctypes.PYFUNCTYPE(
            None, ctypes.c_void_p, *kinds, ctypes.c_ssize_t, *[ctypes.c_void_p] * (len(behind) + 1)
        )
        call(address)(start, *(kind(each) for kind, each in zip(kinds, map(_plain, parameters), strict=True)),
                      made.size, *behind, made.ctypes.data)  # fmt: skip
        return made[0] if count is None else made
    call = ctypes.PYFUNCTYPE(
        np.ctypeslib.as_ctypes_type(function.result), ctypes.c_void_p, *kinds, *[ctypes.c_void_p] * len(behind)
    )(address)
    columns = [np.broadcast_to(each, (1 if count is None else count,)).tolist() for each in parameters]
    rows = zip(*columns, strict=True) if columns else ((),) * (1 if count is None else count)
    made = np.array([call(start, *row, *behind) for row in rows], function.result)
    return made[0] if count is None else made


def _plain(number: Any) -> Any:
    return np.asarray(number).item()
