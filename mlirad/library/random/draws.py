"""How methods of random generators draw: the primitive, and draws of any shape built from it."""

from __future__ import annotations

from typing import Any

import numpy as np


def drawn(words: Any, function: str, count: Any, *parameters: Any) -> Any:  # noqa: ARG001  (for compiled code)
    """Numbers drawn by NumPy's C function `random_FUNCTION`: one (None), or an array of `count`.

    words: those of a generator. parameters: numbers, or arrays of `count`.
    """
    raise TypeError("only compiled code draws random numbers so: call the method of the generator")


def number_of(shape: Any) -> Any:
    """The number of elements of an array."""
    total = 1
    for size in shape:
        total *= size
    return total


def shape_of_draw(size: Any, *parameters: Any) -> Any:
    """The shape of a draw; None for a single number, which is a Python number."""
    if size is not None:
        return np.empty(size).shape
    shapes = [np.shape(each) for each in parameters]
    return np.broadcast_shapes(*shapes) if max([0, *map(len, shapes)]) > 0 else None


def real(x: Any) -> Any:
    """A parameter as the C function takes it: a number, or an array of float64."""
    return float(x) if np.ndim(x) == 0 else np.asarray(x, np.float64)


def whole(x: Any) -> Any:
    """An integer parameter: a number, or an array of int64. Raises TypeError for arrays of floats, as NumPy does; a
    single float, or a list of floats, is truncated."""
    if isinstance(x, np.ndarray) and x.dtype.kind not in "biu":
        raise TypeError(
            f"Cannot cast array data from dtype('{x.dtype}') to dtype('int64') according to the rule 'safe'"
        )
    return int(x) if np.ndim(x) == 0 else np.asarray(x).astype(np.int64)


def standard(rng: Any, function: str, shape: Any, *constants: Any) -> Any:
    """Float64 numbers without parameters; NumPy fills whole arrays with some of them."""
    words = rng._bitgen_words
    if shape is None:
        return float(drawn(words, function, None, *constants))
    name = function if constants or function == "standard_cauchy" else f"{function}_fill"
    return drawn(words, name, number_of(shape), *constants).reshape(shape)


def as_drawn(made: Any, shape: Any) -> Any:
    """The result computed from a draw: with the shape () it is an array too, which NumPy's operators turn into a
    number."""
    return np.asarray(made) if shape is not None and len(shape) == 0 else made


def each(rng: Any, function: str, size: Any, *parameters: Any) -> Any:
    """Numbers from a distribution with parameters: floats, or integers."""
    shape = shape_of_draw(size, *parameters)
    if shape is None:
        return drawn(rng._bitgen_words, function, None, *parameters)
    flat = [x if np.ndim(x) == 0 else np.broadcast_to(x, shape).ravel() for x in parameters]
    return drawn(rng._bitgen_words, function, number_of(shape), *flat).reshape(shape)


def each_real(rng: Any, function: str, size: Any, *parameters: Any) -> Any:
    made = each(rng, function, size, *parameters)
    return float(made) if shape_of_draw(size, *parameters) is None else made


def each_whole(rng: Any, function: str, size: Any, *parameters: Any) -> Any:
    made = each(rng, function, size, *parameters)
    return int(made) if shape_of_draw(size, *parameters) is None else made


def filled(rng: Any, function: str, size: Any, dtype: Any, out: Any, name: str) -> Any:
    """Float64 or float32 numbers without parameters, in a new array or in `out`."""
    kind = np.dtype(dtype)
    if kind != np.float64 and kind != np.float32:
        raise TypeError(f"Unsupported dtype dtype('{kind}') for {name}")
    if out is not None:
        require_output(out, kind, size)
        out[...] = filled(rng, function, out.shape, dtype, None, name)
        return out
    if kind == np.float64 and function != "standard_exponential_inv":
        return standard(rng, function, None if size is None else np.empty(size).shape)
    suffix = "_fill" if kind == np.float64 else "_fill_f"
    if size is None:
        return float(drawn(rng._bitgen_words, function + suffix, 1)[0])
    shape = np.empty(size).shape
    return drawn(rng._bitgen_words, function + suffix, number_of(shape)).reshape(shape)


def require_output(out: Any, kind: Any, size: Any) -> None:
    """Raise NumPy's errors for an array for results; refuse arrays that are not row-major."""
    if not out.flags.c_contiguous:
        raise NotImplementedError(
            "out= of an array that is not row-major is not compiled", "write out[...] = rng.random(out.shape)"
        )
    if out.dtype != kind:
        raise TypeError(f"Supplied output array has the wrong type. Expected {kind}, got {out.dtype}")
    if size is not None and np.empty(size).shape != out.shape:
        raise ValueError("size must match out.shape when used together")
