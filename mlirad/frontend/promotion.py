"""Which dtype an operation computes in, and which shape it has: asked of NumPy itself.

Reads: dtypes, weak kinds, shapes. Writes: nothing. Leaves: NumPy dtypes, or NumPy's own refusal as a CompileError.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from mlirad.dialect import types
from mlirad.errors import (
    CompileError,
    DTypeError,
    ShapeError,
    StaticIndexError,
    StaticOverflowError,
    StaticValueError,
    StaticZeroDivisionError,
)
from mlirad.frontend.kinds import Either, agreed

# What stands for an operand when NumPy is asked: a dtype, or bool, int, float for a Python number (NEP 50: weak), or
# both. Functions of stand-ins raise PoisonUsed where it matters which of the two an operand is.
StandIn = np.dtype | type | Either

_WEAK_DTYPES: dict[type, np.dtype] = {bool: np.dtype(bool), int: np.dtype(np.int64), float: np.dtype(np.float64)}
_WEAK_ORDER = (bool, int, float)

# The first that matches counts: an AxisError is an IndexError and a ValueError, and about shapes.
_REFUSALS: tuple[tuple[type[Exception], type[CompileError]], ...] = (
    (np.exceptions.AxisError, ShapeError),
    (OverflowError, StaticOverflowError),
    (ZeroDivisionError, StaticZeroDivisionError),
    (IndexError, StaticIndexError),
    (TypeError, DTypeError),
    (ValueError, StaticValueError),
)


class numpys_refusal:
    """What Python or NumPy raises in here becomes the CompileError that is also an instance of it."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        if error is not None and not isinstance(error, CompileError):
            ours = next((ours for raised, ours in _REFUSALS if isinstance(error, raised)), None)
            if ours is not None:
                raise ours(str(error)) from None


def weak_dtype(kind: type) -> np.dtype:
    """The dtype in which a Python bool, int or float is held."""
    return _WEAK_DTYPES[kind]


def weak_kind(dtype: np.dtype) -> type:
    """bool, int or float: the Python number that a dtype holds."""
    return {"b": bool, "f": float}.get(dtype.kind, int)


def weak_join(*kinds: type) -> type:
    """The larger of Python's bool < int < float."""
    return max(kinds, key=_WEAK_ORDER.index)


def strong(stand_in: StandIn) -> np.dtype:
    """The dtype that a Python number takes where NumPy makes an array of it."""
    return agreed([stand_in], lambda chosen: _strong(*chosen))


def _strong(stand_in: np.dtype | type) -> np.dtype:
    return stand_in if isinstance(stand_in, np.dtype) else _WEAK_DTYPES[stand_in]


def loop_dtypes(ufunc: np.ufunc, operands: Sequence[StandIn]) -> tuple[np.dtype, ...]:
    """The dtypes in which `ufunc` computes: of its operands, then of its result.

    A comparison of Python ints only is one of int64 here (NumPy would compare objects).
    Raises DTypeError with NumPy's text where the ufunc has no such loop, and for dtypes that mlirad does not have.
    """
    return agreed(operands, lambda chosen: _loop_dtypes(ufunc, chosen))


@cache
def _loop_dtypes(ufunc: np.ufunc, operands: tuple[np.dtype | type, ...]) -> tuple[np.dtype, ...]:
    if not any(isinstance(operand, np.dtype) for operand in operands):
        operands = tuple(_WEAK_DTYPES[weak_join(*operands)] for _ in operands)  # type: ignore[arg-type]
    asked = tuple(np.dtype(bool) if operand is bool else operand for operand in operands)
    with numpys_refusal():
        dtypes = ufunc.resolve_dtypes((*asked, None))  # type: ignore[arg-type]
    for dtype in dtypes:
        require_dtype(dtype, f"np.{ufunc.__name__} of {_listed(operands)}")
    return dtypes


def require_dtype(dtype: np.dtype, what: str) -> np.dtype:
    """`dtype`, where mlirad has it. Raises DTypeError."""
    if types.has_dtype(dtype):
        return dtype
    hint = "cast the operands to float32 or float64 first" if dtype == np.float16 else None
    raise DTypeError(f"{what} is {dtype} in NumPy, which mlirad does not compile", hint=hint)


def _listed(operands: Sequence[np.dtype | type]) -> str:
    return " and ".join(str(o) if isinstance(o, np.dtype) else f"a Python {o.__name__}" for o in operands)


def common_dtype(operands: Sequence[StandIn]) -> np.dtype:
    """The dtype in which values of several dtypes are one array (`np.where`, `np.concatenate`, ...)."""
    return agreed(operands, _common_dtype)


def _common_dtype(operands: tuple[np.dtype | type, ...]) -> np.dtype:
    representatives = [o if isinstance(o, np.dtype) else o(0) for o in operands]
    with numpys_refusal():
        return require_dtype(np.result_type(*representatives), f"the common type of {_listed(operands)}")


@cache
def result_dtype(function: Callable[..., Any], dtype: np.dtype) -> np.dtype:
    """The dtype of a function of one array (a reduction, say): that of its result on ones."""
    with numpys_refusal():
        return require_dtype(np.asarray(function(np.ones(1, dtype))).dtype, f"np.{function.__name__} of {dtype}")


def convert(value: Any, dtype: np.dtype) -> np.ndarray:
    """A Python or NumPy number, or a constant array, in a dtype that it has been promoted to.

    Raises StaticOverflowError for a Python int that is out of the dtype's range, as NumPy does.
    """
    with numpys_refusal():
        return np.asarray(value, dtype=dtype)


def dtype_of(spelling: Any) -> np.dtype:
    """A dtype from what users write: float, "f4", np.float32, np.dtype(...)."""
    with numpys_refusal():
        return require_dtype(np.dtype(spelling), f"dtype={spelling!r}")


def broadcast_shapes(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    """The shape that shapes broadcast to. Raises ShapeError with the text of NumPy's ufuncs."""
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        listed = " ".join(str(shape).replace(" ", "") for shape in shapes)
        raise ShapeError(f"operands could not be broadcast together with shapes {listed}") from None


def normalize_axes(axis: int | Sequence[int] | None, rank: int) -> tuple[int, ...]:
    """The axes that `axis=` names, increasing and non-negative; None names all. Raises ShapeError."""
    if axis is None:
        return tuple(range(rank))
    with numpys_refusal():
        return tuple(sorted(np.lib.array_utils.normalize_axis_tuple(axis, rank)))
