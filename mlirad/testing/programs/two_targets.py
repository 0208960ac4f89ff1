"""Compares what two targets make of one program: values, what is written, gradients.

Reads: a program. Writes: nothing. Leaves: verdicts.

Both run the same optimized module, so that they may differ only by the order in which terms are added.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from mlirad.errors import CompileError
from mlirad.testing.programs.oracle import call
from mlirad.testing.programs.program import Program

SINGLES = (np.dtype(np.float32), np.dtype(np.complex64))
DOUBLE, SINGLE = 1e-12, 1e-5
"""Of the largest number at hand, which stands for the sum of the absolute terms."""


def difference(program: Program, one: Callable[..., Any], other: Callable[..., Any], numbers: int) -> str | None:
    """How two compiled forms of one function differ in some calls; None if they agree. Arguments that they write are
    results, too."""
    for number in range(numbers):
        args, others = program.arguments(number, generic=True), program.arguments(number, generic=True)
        want, got = call(one, args), call(other, others)
        if isinstance(want, CompileError):
            return None
        if isinstance(want, Exception) or isinstance(got, Exception):
            if type(want) is not type(got) or str(want) != str(got):
                return f"{got!r}, not {want!r}"
            continue
        is_single = any(dtype.name in program.source for dtype in SINGLES)
        if not are_alike((want, args), (got, others), is_single):
            return f"{got!r} and {others}, not {want!r} and {args}"
    return None


def are_alike(want: Any, got: Any, is_single: bool = False) -> bool:
    """Whether two structures of numbers are alike: integers and booleans are equal. is_single: what is in float64 has
    been computed of float32, too."""
    ours, theirs = ([*map(np.asarray, _leaves(each))] for each in (want, got))
    if [(x.dtype, x.shape) for x in ours] != [(x.dtype, x.shape) for x in theirs]:
        return False
    with np.errstate(all="ignore"):
        finite = [np.abs(x[np.isfinite(x)]).max(initial=1.0) for x in ours if x.dtype.kind in "fc"]
        scale = float(max(finite, default=1.0))
        is_single = is_single or any(x.dtype in SINGLES for x in ours)
        tolerance = (SINGLE if is_single else DOUBLE) * scale
        return all(
            np.allclose(x, y, rtol=0, atol=tolerance, equal_nan=True) if x.dtype.kind in "fc" else np.array_equal(x, y)
            for x, y in zip(ours, theirs, strict=True)
        )


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, tuple | list):
        for each in value:
            yield from _leaves(each)
    elif isinstance(value, np.random.Generator):
        yield np.frombuffer(pickle.dumps(value.bit_generator.state), np.uint8)
    elif value is not None:
        yield value
