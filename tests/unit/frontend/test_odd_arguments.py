"""Static arguments of odd kinds: refusals are at the user's line, and no error is an internal error of the compiler."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest

import mlirad
from mlirad.errors import CompileError

X = np.arange(6.0).reshape(2, 3)

ODD: list[Any] = [
    *(
        None,
        True,
        0,
        -1,
        7,
        10**30,
        1.5,
        float("nan"),
        1j,
        "C",
        "F",
        "nonsense",
        b"x",
        (),
        (0, 1),
        (0, 0),
        (5,),
        [],
        [0],
    ),
    *(
        [None],
        {},
        {"a": 1},
        slice(1),
        Ellipsis,
        np.newaxis,
        np._CopyMode.IF_NEEDED,
        np._CopyMode.NEVER,
        np.float32,
        int,
    ),
    *(
        object,
        np.dtype("f4"),
        np.dtype("U3"),
        "f4",
        "datetime64[s]",
        complex,
        np.int64(1),
        np.float64(0.5),
        print,
        np.add,
        np,
    ),
]

CALLS: dict[str, Any] = {
    "array_dtype": lambda x, odd: np.array(x, dtype=odd),
    "array_copy": lambda x, odd: np.array(x, copy=odd),
    "array_order": lambda x, odd: np.array(x, order=odd),
    "array_ndmin": lambda x, odd: np.array(x, ndmin=odd),
    "array_of": lambda x, odd: np.array([x[0, 0], odd]),
    "asarray": lambda x, odd: np.asarray(x, odd),
    "asarray_order": lambda x, odd: np.asarray(x, order=odd),
    "asarray_copy": lambda x, odd: np.asarray(x, copy=odd),
    "astype": lambda x, odd: x.astype(odd),
    "astype_casting": lambda x, odd: x.astype("f4", casting=odd),
    "copy": lambda x, odd: x.copy(odd),
    "zeros": lambda x, odd: np.zeros(odd) + x[0, 0],
    "zeros_dtype": lambda x, odd: np.zeros(3, odd) + x[0, 0],
    "full": lambda x, odd: np.full((2, 2), odd) + x[0, 0],
    "zeros_like": lambda x, odd: np.zeros_like(x, odd),
    "ones_like_shape": lambda x, odd: np.ones_like(x, shape=odd),
    "arange": lambda x, odd: np.arange(odd) + x[0, 0],
    "linspace": lambda x, odd: np.linspace(x[0, 0], 1.0, odd),
    "eye": lambda x, odd: np.eye(odd) * x[0, 0],
    "reshape": lambda x, odd: x.reshape(odd),
    "reshape_order": lambda x, odd: np.reshape(x, 6, order=odd),
    "ravel": lambda x, odd: x.ravel(odd),
    "transpose": lambda x, odd: np.transpose(x, odd),
    "swapaxes": lambda x, odd: np.swapaxes(x, 0, odd),
    "moveaxis": lambda x, odd: np.moveaxis(x, 0, odd),
    "expand_dims": lambda x, odd: np.expand_dims(x, odd),
    "squeeze": lambda x, odd: np.squeeze(x, odd),
    "broadcast_to": lambda x, odd: np.broadcast_to(x, odd),
    "sum_axis": lambda x, odd: np.sum(x, axis=odd),
    "sum_keepdims": lambda x, odd: np.sum(x, axis=0, keepdims=odd),
    "sum_dtype": lambda x, odd: np.sum(x, dtype=odd),
    "sum_initial": lambda x, odd: np.sum(x, initial=odd),
    "max_axis": lambda x, odd: x.max(odd),
    "mean": lambda x, odd: np.mean(x, odd),
    "var_ddof": lambda x, odd: np.var(x, ddof=odd),
    "cumsum": lambda x, odd: np.cumsum(x, axis=odd),
    "argmax": lambda x, odd: np.argmax(x, axis=odd),
    "sort": lambda x, odd: np.sort(x, axis=odd),
    "sort_kind": lambda x, odd: np.sort(x, kind=odd),
    "concatenate": lambda x, odd: np.concatenate([x, x], axis=odd),
    "concatenate_of": lambda x, odd: np.concatenate(odd) + x,
    "stack": lambda x, odd: np.stack([x, x], axis=odd),
    "take": lambda x, odd: np.take(x, odd),
    "take_axis": lambda x, odd: np.take(x, [0], axis=odd),
    "repeat": lambda x, odd: np.repeat(x, odd),
    "tile": lambda x, odd: np.tile(x, odd),
    "roll": lambda x, odd: np.roll(x, odd),
    "roll_axis": lambda x, odd: np.roll(x, 1, odd),
    "pad": lambda x, odd: np.pad(x, odd),
    "pad_mode": lambda x, odd: np.pad(x, 1, odd),
    "diff": lambda x, odd: np.diff(x, odd),
    "clip": lambda x, odd: np.clip(x, 0.0, odd),
    "where": lambda x, odd: np.where(x > 1, x, odd),
    "round": lambda x, odd: np.round(x, odd),
    "einsum": lambda x, odd: np.einsum(odd, x),
    "tensordot": lambda x, odd: np.tensordot(x, x, odd),
    "dot": lambda x, odd: np.dot(x, odd),
    "index": lambda x, odd: x[odd],
    "plus": lambda x, odd: x + odd,
    "compared": lambda x, odd: x < odd,
    "attribute": lambda x, odd: getattr(x, odd, 0.0),
    "isinstance": lambda x, odd: x * isinstance(x, odd),
    "issubdtype": lambda x, odd: x * np.issubdtype(x.dtype, odd),
    "result_type": lambda x, odd: x.astype(np.result_type(x, odd)),
    "len": lambda x, odd: x * len(odd),
    "range": lambda x, odd: [x[0, 0] * i for i in range(odd)],
    "polyval": lambda x, odd: np.polyval(odd, x),
    "searchsorted": lambda x, odd: np.searchsorted(x[0], 1.0, side=odd),
    "quantile": lambda x, odd: np.quantile(x, odd),
    "linalg_norm": lambda x, odd: np.linalg.norm(x, odd),
}


@pytest.mark.parametrize("name", CALLS)
def test_errors_are_documented_ones(name: str) -> None:
    """All are CompileErrors at a line of this file. Exceptions raised by the running code are ignored."""
    call = CALLS[name]
    every = 1 if os.environ.get("MLIRAD_FULL") else 4
    for odd in ODD[list(CALLS).index(name) % every :: every]:

        def program(x, odd=odd):
            return call(x, odd)

        try:
            mlirad.jit(program).lower(X)
        except CompileError as error:
            assert error.filename == __file__, (name, odd, error)
        except Exception as error:
            raise AssertionError(f"{name} of {odd!r}: {type(error).__name__}: {error}") from error
