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


class numpys_refusal:
    """Turn an exception that Python or NumPy raises inside into the CompileError that is also an instance of its
    class."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        if isinstance(error, Exception) and not isinstance(error, CompileError):
            ours = next((ours for raised, ours in _REFUSALS if isinstance(error, raised)), None)
            if ours is not None:
                raise ours(str(error)).as_raised(type(error)) from None
