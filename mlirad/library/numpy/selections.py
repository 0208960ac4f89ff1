"""Places of nonzero elements, and selections by conditions."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

from mlirad.library.numpy.axes import require_axis
from mlirad.library.spells import spells


@spells("numpy.flatnonzero", complex=True)
def flatnonzero(a: Any) -> Any:
    return np.nonzero(np.ravel(a))[0]


@spells("numpy.argwhere", complex=True)
def argwhere(a: Any) -> Any:
    places = np.nonzero(a)
    made = np.empty((len(places[0]), len(places)), np.int64)
    for axis, along in enumerate(places):
        made[:, axis] = along
    return made


@spells("numpy.compress", complex=True)
def compress(condition: Any, a: Any, axis: Any = None) -> Any:
    require_axis(axis)
    held = np.asarray(condition)
    if held.ndim != 1:
        raise ValueError("condition must be a 1-d array")
    (places,) = np.nonzero(held)
    if axis is None:
        return np.ravel(a)[places]
    return np.moveaxis(np.moveaxis(np.asarray(a), axis, 0)[places], 0, axis)


@spells("numpy.extract", complex=True)
def extract(condition: Any, arr: Any) -> Any:
    return np.ravel(arr)[np.nonzero(np.ravel(condition))[0]]


@spells(method="choose", complex=True)
def choose_of_array(a: Any, choices: Any, /, mode: str = "raise") -> Any:
    return choose(a, choices, mode)


@spells("numpy.choose", complex=True)
def choose(a: Any, choices: Any, mode: str = "raise") -> Any:
    places, count = np.asarray(a), len(choices)
    if count == 0:
        raise ValueError("0-length sequence.")
    if not np.can_cast(places.dtype, np.int64):
        raise TypeError(
            f"Cannot cast array data from dtype('{places.dtype}') to dtype('int64') according to the rule 'safe'"
        )
    if mode == "wrap":
        places = places % count
    elif mode == "clip":
        places = np.clip(places, 0, count - 1)
    elif mode != "raise":
        raise ValueError(f"clipmode must be one of 'clip', 'raise', or 'wrap' (got '{mode}')")
    elif np.any((places < 0) | (places >= count)):
        raise ValueError("invalid entry in choice array")
    dtype = np.result_type(*choices)
    made = np.asarray(choices[0]).astype(dtype)
    for number in range(1, count):
        made = np.where(places == number, np.asarray(choices[number]).astype(dtype), made)
    return made + np.zeros(np.shape(places), dtype) if count == 1 else made[()]


@spells("numpy.select", complex=True)
def select(condlist: Any, choicelist: Any, default: Any = 0) -> Any:
    if len(condlist) != len(choicelist):
        raise ValueError("list of cases must be same length as list of conditions")
    if len(condlist) == 0:
        raise ValueError("select with an empty condition list is not possible")
    dtype = np.result_type(*[_number_or_array(each) for each in choicelist], _number_or_array(default))
    made = np.asarray(default, dtype)
    for number in range(len(condlist) - 1, -1, -1):
        condition = np.asarray(condlist[number])
        if condition.dtype != bool:
            raise TypeError(f"invalid entry {number} in condlist: should be boolean ndarray")
        made = np.where(condition, np.asarray(choicelist[number], dtype), made)
    return made


def _number_or_array(x: Any) -> Any:
    return x if isinstance(x, (int, float)) and not isinstance(x, np.generic) else np.asarray(x)


@spells("numpy.piecewise", complex=True)
def piecewise(x: Any, condlist: Any, funclist: Any, *args: Any, **kw: Any) -> Any:
    held = np.asarray(x)
    if np.ndim(condlist) == 0 or (not isinstance(condlist[0], (list, np.ndarray)) and held.ndim != 0):
        conditions = [np.asarray(condlist, bool)]
    else:
        conditions = [np.asarray(each, bool) for each in condlist]
    if len(conditions) == len(funclist) - 1:
        rest = conditions[0]
        for each in conditions[1:]:
            rest = rest | each
        conditions = [*conditions, ~rest]
    elif len(conditions) != len(funclist):
        count = len(conditions)
        raise ValueError(f"with {count} condition(s), either {count} or {count + 1} functions are expected")
    lines = np.reshape(held, (1,)) if held.ndim == 0 else held
    made = np.zeros_like(lines)
    for number in range(len(funclist)):
        condition = np.reshape(conditions[number], (1,)) if held.ndim == 0 else conditions[number]
        if callable(funclist[number]):
            values = lines[condition]
            if values.size > 0:
                made[condition] = funclist[number](values, *args, **kw)
        else:
            made[condition] = funclist[number]
    return np.reshape(made, held.shape)


@spells("numpy.place", complex=True)
def place(arr: Any, mask: Any, vals: Any) -> None:
    if not isinstance(arr, np.ndarray):
        raise TypeError(f"place() argument 1 must be numpy.ndarray, not {type(arr).__name__}")
    held, values = np.asarray(mask).astype(bool), np.ravel(_safely(vals, arr.dtype))
    if held.size != arr.size:
        raise ValueError("place: mask and data must be the same size")
    if len(values) == 0:
        if np.any(held):
            raise ValueError("Cannot insert from an empty array!")
        return
    number = np.cumsum(held) - 1
    found = values[np.maximum(number, 0) % len(values)]
    np.copyto(arr, np.reshape(found, arr.shape), where=np.reshape(held, arr.shape))


def _safely(values: Any, dtype: Any) -> Any:
    if isinstance(values, np.ndarray) and not np.can_cast(values.dtype, dtype):
        raise TypeError(
            f"Cannot cast array data from dtype('{values.dtype}') to dtype('{dtype}') according to the rule 'safe'"
        )
    return np.asarray(values, dtype)


@spells("numpy.putmask", complex=True)
def putmask(a: Any, mask: Any, values: Any) -> None:
    if not isinstance(a, np.ndarray):
        raise TypeError("putmask: first argument must be an array")
    held = np.asarray(mask).astype(bool)
    if held.size != a.size:
        raise ValueError("putmask: mask and data must be the same size")
    if np.size(values) > 0:
        found = np.resize(_safely(values, a.dtype), a.shape)
        np.copyto(a, found, where=np.reshape(held, a.shape))


@spells("numpy.put_along_axis", complex=True)
def put_along_axis(arr: Any, indices: Any, values: Any, axis: Any) -> None:
    index = indices
    if axis is None:
        if index.ndim != 1:
            raise ValueError("when axis=None, `indices` must have a single dimension.")
        arr[np.unravel_index(np.where(index < 0, index + arr.size, index), arr.shape)] = values
        return
    place = normalize_axis_index(axis, arr.ndim)
    if index.dtype.kind not in "iu":
        raise IndexError("`indices` must be an integer array")
    if index.ndim != arr.ndim:
        raise ValueError("`indices` and `arr` must have the same number of dimensions")
    at = []
    for k in range(arr.ndim):
        if k == place:
            at.append(index)
        else:
            at.append(np.reshape(np.arange(arr.shape[k]), [-1 if each == k else 1 for each in range(arr.ndim)]))
    arr[tuple(at)] = values


@spells(method="compress", complex=True)
def compress_array(a: Any, condition: Any, axis: Any = None) -> Any:
    return compress(condition, a, axis)


@spells("numpy.put", method="put", complex=True)
def put(a: Any, ind: Any, v: Any, mode: str = "raise") -> None:
    if mode not in ("raise", "wrap", "clip"):
        raise ValueError(f"clipmode must be one of 'clip', 'raise', or 'wrap' (got {mode!r})")
    index, values = np.ravel(ind), np.ravel(v)
    if index.dtype.kind == "f":
        if isinstance(ind, np.ndarray) and ind.ndim > 0:
            raise TypeError(
                "Cannot cast array data from dtype('float64') to dtype('int64') according to the rule 'safe'"
            )
        index = index.astype(np.int64)
    if index.size == 0:
        return
    if a.size == 0:
        raise IndexError("cannot replace elements of an empty array")
    if values.size == 0:
        return
    if mode == "wrap":
        index = index % a.size
    elif mode == "clip":
        index = np.clip(index, 0, a.size - 1)
    elif np.any((index < -a.size) | (index >= a.size)):
        wrong = index[np.argmax((index < -a.size) | (index >= a.size))]
        raise IndexError(f"index {wrong} is out of bounds for axis 0 with size {a.size}")
    else:
        index = np.where(index < 0, index + a.size, index)
    given = v if np.ndim(v) == 0 else values[0] if values.size == 1 else np.resize(values, index.size)
    if a.ndim == 1:
        a[index] = given
    else:
        a[np.unravel_index(index, a.shape)] = given


@spells("numpy.trim_zeros")
def trim_zeros(filt: Any, trim: str = "fb", axis: Any = None) -> Any:
    x = np.asarray(filt)
    sides = trim.lower()
    if sides not in ("fb", "bf", "f", "b"):
        raise ValueError(f"unexpected character(s) in `trim`: {trim!r}")
    axes = tuple(range(x.ndim)) if axis is None else normalize_axis_tuple(axis, x.ndim, argname="axis")
    is_other = x != 0
    for place in axes:
        if x.shape[place] > 0:
            is_kept = np.any(is_other, axis=tuple(each for each in range(x.ndim) if each != place))
            first = np.argmax(is_kept) if "f" in sides else 0
            end = len(is_kept) - np.argmax(is_kept[::-1]) if "b" in sides else len(is_kept)
            x = np.moveaxis(np.moveaxis(x, place, 0)[first : end if np.any(is_kept) else 0], 0, place)
    return x


@spells("numpy.imag", complex=True)
def imag(val: Any) -> Any:
    """The imaginary part of real numbers: read-only zeros."""
    if not isinstance(val, np.ndarray | list | tuple):
        return val.imag
    x: Any = np.asarray(val)
    if x.dtype.kind == "c":
        return x.imag
    return np.broadcast_to(np.zeros_like(x), x.shape)


@spells("numpy.broadcast", complex=True)
def broadcast(*args: Any) -> Any:
    return Broadcast(np.broadcast_shapes(*[np.shape(each) for each in args]), len(args))


class Broadcast:
    """np.broadcast, without iteration."""

    def __init__(self, shape: Any, number: int):
        self.shape = shape
        self.numiter = number

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def nd(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        size = 1
        for each in self.shape:
            size *= each
        return size


@spells("numpy.isreal", complex=True)
def isreal(x: Any) -> Any:
    held: Any = np.asarray(x)
    return (held.imag == 0)[()]


@spells("numpy.isfortran", complex=True)
def isfortran(a: Any) -> Any:
    return a.flags.fnc
