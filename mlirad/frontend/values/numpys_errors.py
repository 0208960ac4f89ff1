"""Turns exceptions that Python and NumPy raise in the compiler into compile-time errors of the same classes.

Reads: exceptions. Writes: nothing. Leaves: CompileErrors with Python's and NumPy's own texts.
"""

from __future__ import annotations

import numpy as np

from mlirad.errors import (
    CompileError,
    DTypeError,
    ShapeError,
    StaticIndexError,
    StaticOverflowError,
    StaticValueError,
    StaticZeroDivisionError,
)

# The first match counts: an AxisError is both an IndexError and a ValueError, and is about shapes.
_REFUSALS: tuple[tuple[type[Exception], type[CompileError]], ...] = (
    (np.exceptions.AxisError, ShapeError),
    (OverflowError, StaticOverflowError),
    (ZeroDivisionError, StaticZeroDivisionError),
    (IndexError, StaticIndexError),
    (TypeError, DTypeError),
    (ValueError, StaticValueError),
)


_BITS = "bits are of integers and booleans: write x.astype(np.int64), or a comparison such as x > 0"
_HINTS = {
    "inhomogeneous shape": "make all rows equally long, or loop over the rows",
    "ufunc 'bitwise_": _BITS,
    "ufunc 'left_shift'": _BITS,
    "ufunc 'right_shift'": _BITS,
    "ufunc 'invert'": _BITS,
}
"""What to write instead, by a part of NumPy's text."""


class numpys_refusal:
    """Turn an exception that Python or NumPy raises inside into the CompileError that is also an instance of its
    class."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        if isinstance(error, Exception) and not isinstance(error, CompileError):
            ours = next((ours for raised, ours in _REFUSALS if isinstance(error, raised)), None)
            if ours is not None:
                text = str(error)
                hint = next((hint for part, hint in _HINTS.items() if part in text), None)
                raise ours(text, hint=hint).as_raised(type(error)) from None
