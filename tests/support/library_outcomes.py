"""What functions give or raise, and whether two of them do the same.

Reads: functions, arguments. Writes: nothing. Gives: results, exceptions.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np


def outcome_of(function: Callable[..., Any], *arguments: Any) -> Any:
    """What a function gives, or raises."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return function(*arguments)
        except (ValueError, TypeError, IndexError, ArithmeticError, RuntimeError) as error:
            return error


def require_same(found: Any, wanted: Any) -> None:
    if isinstance(wanted, Exception):
        kinds = next((kind for kind in (ValueError, TypeError) if isinstance(wanted, kind)), type(wanted))
        assert isinstance(found, kinds), f"{found!r}, not {wanted!r}"
        return
    assert type(found) is type(wanted), f"{found!r}, not {wanted!r}"
    if isinstance(wanted, (tuple, list)):
        assert len(found) == len(wanted), f"{found!r}, not {wanted!r}"
        for one, other in zip(found, wanted, strict=True):
            require_same(one, other)
        return
    if not hasattr(wanted, "dtype"):
        assert found == wanted, f"{found!r}, not {wanted!r}"
        return
    assert found.dtype == wanted.dtype
    assert found.shape == wanted.shape
    np.testing.assert_allclose(found, wanted, rtol=1e-6 if found.dtype == np.float32 else 1e-13)
