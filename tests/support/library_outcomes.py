"""The results or exceptions of functions, and whether two functions agree.

Reads: functions, arguments. Writes: nothing. Gives: results, exceptions.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import other_numpys


def outcome_of(function: Callable[..., Any], *arguments: Any) -> Any:
    """The result of a function, or its exception."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return function(*arguments)
        except (ValueError, TypeError, IndexError, ArithmeticError, RuntimeError) as error:
            return error


_TOLERANCES = {"e": 2e-3, "f": 1e-6}


def require_same(found: Any, wanted: Any) -> None:
    if other_numpys.has_changed(found, wanted):
        return
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
    is_half = found.dtype == np.float16  # in which NumPy computes fractions of percentiles, and differences cancel
    size = np.max(np.abs(wanted), where=np.isfinite(wanted), initial=0.5) if is_half else 0.0
    np.testing.assert_allclose(found, wanted, rtol=_TOLERANCES.get(found.dtype.char, 1e-13), atol=5e-3 * float(size))
