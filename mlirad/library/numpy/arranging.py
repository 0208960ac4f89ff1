"""Splitting and padding arrays; inserting and deleting parts."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from mlirad.library.spells import spells


@spells("numpy.array_split", complex=True)
def array_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> Any:
    x = np.asarray(ary)
    length = ary.shape[axis] if hasattr(ary, "shape") else len(ary)
    if np.ndim(indices_or_sections) > 0:
        ends = [*indices_or_sections, length]
    else:
        sections = int(indices_or_sections)
        if sections <= 0:
            raise ValueError("number sections must be larger than 0.")
        each, extras = length // sections, length % sections
        ends = [each * (k + 1) + min(k + 1, extras) for k in range(sections)]
    first = np.swapaxes(x, axis, 0)
    return [np.swapaxes(first[0 if k == 0 else ends[k - 1] : ends[k]], axis, 0) for k in range(len(ends))]


@spells("numpy.split", complex=True)
def split(ary: Any, indices_or_sections: Any, axis: int = 0) -> Any:
    if np.ndim(indices_or_sections) == 0 and ary.shape[axis] % indices_or_sections:
        raise ValueError("array split does not result in an equal division")
    return array_split(ary, indices_or_sections, axis)


@spells("numpy.hsplit", complex=True)
def hsplit(ary: Any, indices_or_sections: Any) -> Any:
    if np.ndim(ary) == 0:
        raise ValueError("hsplit only works on arrays of 1 or more dimensions")
    return split(ary, indices_or_sections, 1 if np.ndim(ary) > 1 else 0)


@spells("numpy.vsplit", complex=True)
def vsplit(ary: Any, indices_or_sections: Any) -> Any:
    if np.ndim(ary) < 2:
        raise ValueError("vsplit only works on arrays of 2 or more dimensions")
    return split(ary, indices_or_sections, 0)


@spells("numpy.dsplit", complex=True)
def dsplit(ary: Any, indices_or_sections: Any) -> Any:
    if np.ndim(ary) < 3:
        raise ValueError("dsplit only works on arrays of 3 or more dimensions")
    return split(ary, indices_or_sections, 2)


@spells("numpy.unstack", complex=True)
def unstack(x: Any, /, *, axis: int = 0) -> Any:
    if x.ndim == 0:
        raise ValueError("Input array must be at least 1-d.")
    return tuple(np.moveaxis(x, axis, 0))


@spells("numpy.insert", complex=True)
def insert(arr: Any, obj: Any, values: Any, axis: Any = None) -> Any:
    x = np.ravel(arr) if axis is None else np.asarray(arr)
    place = normalize_axis_index(0 if axis is None else axis, x.ndim)
    length = x.shape[place]
    new = np.array(values, x.dtype, ndmin=x.ndim)
    before = np.moveaxis(x, place, 0)
    places: Any = range(length)[obj] if isinstance(obj, slice) else obj
    if np.ndim(places) == 0 or len(places) == 1:
        given = places if np.ndim(places) == 0 else places[0]
        if given < -length or given > length:
            raise IndexError(f"index {obj} is out of bounds for axis {place} with size {length}")
        at = given + length if given < 0 else given
        # A number represents one line, and NumPy expects its axis at the front of the values.
        put = np.moveaxis(new, 0, place) if np.ndim(places) == 0 else new
        put = np.moveaxis(put, place, 0)
        put = np.broadcast_to(put, (put.shape[0], *before.shape[1:]))
        made = np.concatenate((before[:at], put, before[at:]))
        return np.moveaxis(made, 0, place)
    count = len(places)
    spots = [each + length if each < 0 else each for each in places]
    for spot in spots:
        if spot < 0 or spot > length:
            raise IndexError(f"index {spot} is out of bounds for axis {place} with size {length}")
    put = np.broadcast_to(np.moveaxis(new, place, 0), (count, *before.shape[1:]))
    parts = []
    done = 0
    for _, number in sorted([(spots[number], number) for number in range(count)]):
        parts.append(before[done : spots[number]])
        parts.append(put[number : number + 1])
        done = spots[number]
    parts.append(before[done:])
    return np.moveaxis(np.concatenate(parts), 0, place)


@spells("numpy.delete", complex=True)
def delete(arr: Any, obj: Any, axis: Any = None) -> Any:
    x = np.ravel(arr) if axis is None else np.asarray(arr)
    place = normalize_axis_index(0 if axis is None else axis, x.ndim)
    length = x.shape[place]
    before = np.moveaxis(x, place, 0)
    chosen: Any = obj
    if isinstance(obj, (np.ndarray, np.generic)) and np.ndim(obj) > 0:
        if chosen.dtype == bool and len(chosen) != length:
            raise ValueError(
                f"boolean array argument obj to delete must be one dimensional and match the axis length of {length}"
            )
        kept = np.ones(length, bool)
        kept[chosen] = False
        return np.moveaxis(before[kept], 0, place)
    places: Any = range(length)[obj] if isinstance(obj, slice) else obj
    if np.ndim(places) == 0:
        if places < -length or places >= length:
            raise IndexError(f"index {places} is out of bounds for axis {place} with size {length}")
        at = places + length if places < 0 else places
        return np.moveaxis(np.concatenate((before[:at], before[at + 1 :])), 0, place)
    spots = [each + length if each < 0 else each for each in places]
    for spot in spots:
        if spot < 0 or spot >= length:
            raise IndexError(f"index {spot} is out of bounds for axis {place} with size {length}")
    parts = []
    done = 0
    for spot in sorted(spots):
        if spot >= done:
            parts.append(before[done:spot])
            done = spot + 1
    parts.append(before[done:])
    return np.moveaxis(np.concatenate(parts), 0, place)


_OPTIONS = {
    "constant": ("constant_values",),
    "linear_ramp": ("end_values",),
    "maximum": ("stat_length",),
    "mean": ("stat_length",),
    "median": ("stat_length",),
    "minimum": ("stat_length",),
    "reflect": ("reflect_type",),
    "symmetric": ("reflect_type",),
    "edge": (),
    "empty": (),
    "wrap": (),
}


@spells("numpy.pad", complex=True)
def pad(
    array: Any,
    pad_width: Any,
    mode: str = "constant",
    *,
    constant_values: Any = None,
    end_values: Any = None,
    stat_length: Any = None,
    reflect_type: Any = None,
) -> Any:
    x = np.asarray(array)
    widths = _pairs(pad_width, max(x.ndim, 1))  # a number has no axis, but NumPy checks the widths
    for before, after in widths:
        if not (isinstance(before, (int, np.integer)) and isinstance(after, (int, np.integer))):
            raise TypeError("`pad_width` must be of integral type.")
        if before < 0 or after < 0:
            raise ValueError("index can't contain negative values")
    if callable(mode):
        raise NotImplementedError("a function as the mode of np.pad is not compiled", "fill the borders afterwards")
    if mode not in _OPTIONS:
        raise ValueError(f"mode '{mode}' is not supported")
    for name, given in (
        ("constant_values", constant_values),
        ("end_values", end_values),
        ("stat_length", stat_length),
        ("reflect_type", reflect_type),
    ):
        if given is not None and name not in _OPTIONS[mode]:
            raise ValueError(f"unsupported keyword arguments for mode '{mode}': {{'{name}'}}")
    is_number = mode == "constant" or mode == "empty"
    numbers = _pairs(_or_zero(constant_values if mode == "constant" else end_values), x.ndim)
    lengths = _pairs(stat_length, x.ndim)
    for axis in range(x.ndim):
        left, right = widths[axis]
        moved = np.moveaxis(x, axis, 0)
        if left == 0 and right == 0:
            continue
        if x.shape[axis] == 0 and not is_number:
            raise ValueError(f"can't extend empty axis {axis} using modes other than 'constant' or 'empty'")
        if is_number:
            moved = _with_numbers(moved, left, right, numbers[axis])
        elif mode == "linear_ramp":
            moved = _with_ramps(moved, left, right, numbers[axis])
        elif mode == "edge" or (len(moved) == 1 and mode in ("reflect", "symmetric")):
            moved = _with_lines(moved, left, right, moved[:1], moved[-1:])
        elif mode == "wrap":
            moved = _wrapped(moved, left, right)
        elif mode in ("reflect", "symmetric"):
            moved = _reflected(moved, left, right, mode == "symmetric", reflect_type == "odd")
        else:
            moved = _with_statistics(moved, left, right, lengths[axis], mode)
        x = np.moveaxis(moved, 0, axis)
    return np.array(x)


def _or_zero(given: Any) -> Any:
    return 0 if given is None else given


def _pairs(given: Any, rank: int) -> Any:
    """A pair for each axis, from a number, a pair, or pairs."""
    if isinstance(given, dict):
        widths = [given.get(axis, given.get(axis - rank, 0)) for axis in range(rank)]
        return [each if isinstance(each, (tuple, list)) else (each, each) for each in widths]
    if not isinstance(given, (tuple, list)):
        return [(given, given)] * rank
    entries: Any = [each if isinstance(each, (tuple, list)) else (each,) for each in given]
    if not isinstance(given[0], (tuple, list)):
        if len(entries) > 2:
            raise ValueError(
                f"operands could not be broadcast together with remapped shapes [original->remapped]: "
                f"({len(entries)},) and requested shape ({rank},2)"
            )
        return [(entries[0][0], entries[-1][0])] * rank
    if len(entries) == 1:
        return [(entries[0][0], entries[0][-1])] * rank
    if len(entries) != rank:
        raise ValueError(
            f"operands could not be broadcast together with remapped shapes [original->remapped]: "
            f"({len(given)},{len(entries[0])}) and requested shape ({rank},2)"
        )
    return [(each[0], each[-1]) for each in entries]


def _with_lines(x: Any, left: int, right: int, first: Any, last: Any) -> Any:
    """x, with one line repeated before it and another one after it."""
    before = np.broadcast_to(first, (left, *x.shape[1:]))
    return np.concatenate((before, x, np.broadcast_to(last, (right, *x.shape[1:]))))


def _with_numbers(x: Any, left: int, right: int, numbers: Any) -> Any:
    first, last = numbers
    before = np.full((left, *x.shape[1:]), first, x.dtype)
    return np.concatenate((before, x, np.full((right, *x.shape[1:]), last, x.dtype)))


def _with_ramps(x: Any, left: int, right: int, numbers: Any) -> Any:
    first, last = numbers
    return np.concatenate((_ramp(first, x[:1], left), x, _ramp(last, x[-1:], right)[::-1]))


def _ramp(number: Any, edge: Any, count: int) -> Any:
    """Numbers from one value towards an edge, which is not reached."""
    dtype = np.result_type(edge, 1.0)
    steps = np.reshape(np.arange(count), (count,) + (1,) * (edge.ndim - 1)).astype(dtype)
    ramp = steps * ((edge.astype(dtype) - number) / max(count, 1)) + number
    return (ramp if edge.dtype.kind in "fc" else ramp // 1.0).astype(edge.dtype)


def _wrapped(x: Any, left: int, right: int) -> Any:
    length = len(x)
    before = np.concatenate([x] * (-(-left // length) or 1))
    after = np.concatenate([x] * (-(-right // length) or 1))
    return np.concatenate((before[len(before) - left :], x, after[:right]))


def _reflected(x: Any, left: int, right: int, has_edge: bool, is_odd: bool) -> Any:
    offset = 1 if has_edge else 0
    period = len(x) if has_edge else len(x) - 1
    while left > 0 or right > 0:
        reach = len(x) // period * period if has_edge else (len(x) - 1) // period * period
        before, after = min(reach, left), min(reach, right)
        first = x[1 - offset : 1 - offset + before][::-1]
        end = len(x) - 1 + offset
        last = x[end - after : end][::-1]
        if is_odd:
            first = (2 * x[:1] - first).astype(x.dtype)
            last = (2 * x[-1:] - last).astype(x.dtype)
        x = np.concatenate((first, x, last))
        left, right = left - before, right - after
    return x


def _with_statistics(x: Any, left: int, right: int, lengths: Any, mode: str) -> Any:
    length = len(x)
    before, after = [length if each is None else min(each, length) for each in lengths]
    if before == 0 or after == 0:
        if mode in ("maximum", "minimum"):
            raise ValueError("stat_length of 0 yields no value for padding")
    first, last = _statistic(x[:before], mode), _statistic(x[length - after :], mode)
    return _with_lines(x, left, right, first, last)


def _statistic(x: Any, mode: str) -> Any:
    if mode == "maximum":
        return np.max(x, 0, keepdims=True)
    if mode == "minimum":
        return np.min(x, 0, keepdims=True)
    found = np.mean(x, 0, keepdims=True) if mode == "mean" else np.median(x, 0, keepdims=True)
    return (np.rint(found) if x.dtype.kind in "iu" else found).astype(x.dtype)


@spells(method="tolist", complex=True)
def tolist(a: Any) -> Any:
    return a.item() if np.ndim(a) == 0 else [tolist(row) for row in a]
