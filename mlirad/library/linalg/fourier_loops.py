"""The loops of NumPy's gufuncs for pocketfft; the functions of numpy.fft are written with them.

Each transforms the last axis, which has the transform's size, and multiplies by `scale`, an array of one number.
Compiled code calls none of these functions: they are the references for ops.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.fft import _pocketfft_umath  # pyright: ignore[reportAttributeAccessIssue]  # NumPy's stubs leave it out


def fft(x: Any, scale: Any) -> Any:
    """The sums of x_j e**(-2 pi i j k / n)."""
    return _pocketfft_umath.fft(x, scale[0], out=np.empty_like(x))


def ifft(x: Any, scale: Any) -> Any:
    """The sums of x_j e**(2 pi i j k / n)."""
    return _pocketfft_umath.ifft(x, scale[0], out=np.empty_like(x))


def rfft(x: Any, scale: Any) -> Any:
    """The first n // 2 + 1 numbers of `fft`, for real x."""
    size = x.shape[-1]
    loop = _pocketfft_umath.rfft_n_odd if size % 2 else _pocketfft_umath.rfft_n_even
    return loop(x, scale[0], out=np.empty((*x.shape[:-1], size // 2 + 1), np.result_type(x, 1j)))


def _real(x: Any, scale: Any, size: int) -> Any:
    return _pocketfft_umath.irfft(x, scale[0], out=np.empty((*x.shape[:-1], size), np.real(x).dtype))


def irfft_even(x: Any, scale: Any) -> Any:
    """`ifft` of 2 (m - 1) numbers: the first m are x, the others their conjugates."""
    return _real(x, scale, 2 * (x.shape[-1] - 1))


def irfft_odd(x: Any, scale: Any) -> Any:
    """`ifft` of 2 m - 1 numbers: the first m are x, the others their conjugates."""
    return _real(x, scale, 2 * x.shape[-1] - 1)
