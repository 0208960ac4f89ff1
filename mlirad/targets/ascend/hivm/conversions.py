"""How the vector unit converts elements.

Reads: NumPy arrays. Writes: NumPy arrays of another dtype. Leaves: nothing. Elements of bf16 are represented by their
bits, in uint16.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mlirad.targets.ascend.hivm.hivm_attributes import RoundMode

_EXACT = (RoundMode.RINT,)
_TO_INTEGER = (RoundMode.RINT, RoundMode.ROUND, RoundMode.FLOOR, RoundMode.CEIL, RoundMode.TRUNC)
_TO_NARROW_FLOAT = (RoundMode.RINT, RoundMode.FLOOR, RoundMode.CEIL, RoundMode.TRUNC)

CASTS: dict[tuple[str, str], tuple[RoundMode, ...]] = {
    ("f32", "f16"): _TO_NARROW_FLOAT,
    ("f32", "bf16"): _TO_NARROW_FLOAT,
    ("f32", "f32"): _TO_INTEGER,  # to the integers among them
    ("f32", "i16"): _TO_INTEGER,
    ("f32", "i32"): _TO_INTEGER,
    ("f32", "i64"): _TO_INTEGER,
    ("f16", "f32"): _EXACT,
    ("f16", "i8"): _TO_INTEGER,
    ("f16", "i16"): _TO_INTEGER,
    ("f16", "i32"): _TO_INTEGER,
    ("bf16", "f32"): _EXACT,
    ("bf16", "i32"): _TO_INTEGER,
    ("i8", "f16"): _EXACT,
    ("i16", "f16"): _EXACT,
    ("i16", "f32"): _EXACT,
    ("i32", "f32"): _EXACT,
    ("i32", "i16"): (RoundMode.TRUNC_WITH_OVERFLOW,),
    ("i32", "i64"): _EXACT,
    ("i64", "f32"): _EXACT,
    ("i64", "i32"): (RoundMode.TRUNC_WITH_OVERFLOW,),
    ("i1", "f16"): _EXACT,
    ("i1", "f32"): _EXACT,
    ("i1", "bf16"): _EXACT,
    ("i1", "i16"): _EXACT,
    ("i1", "i32"): _EXACT,
}
"""The conversions of the 910B's library, with the round modes that are modelled."""

_DTYPES: dict[str, type[np.generic]] = {
    "f16": np.float16,
    "f32": np.float32,
    "i8": np.int8,
    "i16": np.int16,
    "i32": np.int32,
    "i64": np.int64,
}


def _away_from_zero(x: np.ndarray) -> np.ndarray:
    return np.trunc(x + np.copysign(0.5, x))


_ROUNDED: dict[RoundMode, Callable[[np.ndarray], np.ndarray]] = {
    RoundMode.RINT: np.rint,
    RoundMode.ROUND: _away_from_zero,
    RoundMode.FLOOR: np.floor,
    RoundMode.CEIL: np.ceil,
    RoundMode.TRUNC: np.trunc,
}


def bf16_to_f32(bits: np.ndarray) -> np.ndarray:
    return (bits.astype(np.uint32) << np.uint32(16)).view(np.float32)


def f32_to_bf16(x: np.ndarray, mode: RoundMode = RoundMode.RINT) -> np.ndarray:
    """The bits of the nearest bf16, or of the next one in a direction. NaN stays a quiet NaN."""
    bits = np.ascontiguousarray(x, np.float32).view(np.uint32)
    away = np.uint32(0)
    if mode is RoundMode.RINT:
        away = np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))
    elif mode in (RoundMode.FLOOR, RoundMode.CEIL):
        away = np.where(np.signbit(x) == (mode is RoundMode.FLOOR), np.uint32(0xFFFF), np.uint32(0))
    kept = (bits + away) >> np.uint32(16)
    unrounded = np.where(np.isnan(x), (bits >> np.uint32(16)) | np.uint32(0x40), bits >> np.uint32(16))
    return np.where(np.isfinite(x), kept, unrounded).astype(np.uint16)


def _f32_to_f16(x: np.ndarray, mode: RoundMode) -> np.ndarray:
    nearest = x.astype(np.float16)
    if mode is RoundMode.RINT:
        return nearest
    down = np.where(nearest.astype(np.float32) > x, np.nextafter(nearest, np.float16(-np.inf)), nearest)
    up = np.where(nearest.astype(np.float32) < x, np.nextafter(nearest, np.float16(np.inf)), nearest)
    if mode is RoundMode.TRUNC:
        return np.where(np.signbit(x), up, down)
    return down if mode is RoundMode.FLOOR else up


def _to_integers(x: np.ndarray, dtype: np.dtype[Any], mode: RoundMode) -> np.ndarray:
    """Rounded and clamped to the nearest representable integer; 0 for NaN."""
    whole = np.nan_to_num(_ROUNDED[mode](x.astype(np.float64)), nan=0.0, posinf=np.inf, neginf=-np.inf)
    limits = np.iinfo(dtype)
    inside = (whole >= float(limits.min)) & (whole < float(limits.max) + (limits.bits < 64))
    edge = np.where(whole < 0, limits.min, limits.max)
    return np.where(inside, np.where(inside, whole, 0).astype(dtype), edge).astype(dtype)


def convert(x: np.ndarray, from_: str, to: str, mode: RoundMode) -> np.ndarray:
    """Convert elements of the type named `from_` to the type named `to`."""
    if from_ == "bf16":
        x, from_ = bf16_to_f32(x), "f32"
        if to == "f32":
            return x
    with np.errstate(all="ignore"):
        if to == "bf16":
            return f32_to_bf16(x.astype(np.float32), mode)
        if from_ == to:
            return _ROUNDED[mode](x)
        if (from_, to) == ("f32", "f16"):
            return _f32_to_f16(x, mode)
        dtype = np.dtype(_DTYPES[to])
        if from_.startswith("f") and dtype.kind == "i":
            return _to_integers(x, dtype, mode)
        return x.astype(dtype)
