"""Discrete Fourier transforms: numpy.fft, by pocketfft's loops on the last axis.

A transform is scaled in the same precision as in NumPy: by the Python number 1, which makes it float64, or by a number
in the array's precision.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mlirad.library.linalg import fourier_loops
from mlirad.library.primitives import is_fixed
from mlirad.library.spells import spells


def _scale(n: int, norm: Any, is_forward: bool, dtype: Any) -> Any:
    """The factor of a transform: None for 1."""
    if norm is None:
        norm = "backward"
    if norm not in ("backward", "ortho", "forward"):
        raise ValueError(f'Invalid norm value {norm}; should be "backward","ortho" or "forward".')
    if norm == "ortho":
        return np.reciprocal(np.sqrt(n, dtype=dtype))
    return np.reciprocal(n, dtype=dtype) if (norm == "forward") == is_forward else None


def _in_line(a: Any, n: int, axis: int) -> Any:
    """The array with this axis last, cut or zero-padded to n elements."""
    if n < 1:
        raise ValueError(f"Invalid number of FFT data points ({n}) specified.")
    x = np.moveaxis(a, axis, -1)
    size = x.shape[-1]
    if not is_fixed(size):  # on either path the result has n elements
        kept = min(n, size)
        filled = np.zeros((*x.shape[:-1], n), x.dtype)
        filled[..., :kept] = x[..., :kept]
        return filled
    if n < size:
        return x[..., :n]
    if n == size:
        return x
    filled = np.zeros((*x.shape[:-1], n), x.dtype)
    filled[..., :size] = x
    return filled


def _scaled(x: Any, scale: Any) -> Any:
    """The array, and the scale as an array of one number, in the precision of the loop."""
    if scale is None:
        kind = np.complex128 if x.dtype.kind == "c" else np.float64
        return x.astype(kind), np.ones(1)
    kind = np.float64 if x.dtype in (np.float64, np.complex128) else np.float32
    return x, np.full(1, scale, kind)


def _real_dtype(a: Any) -> Any:
    return np.result_type(np.real(a).dtype, 1.0)


def _complex_dtype(a: Any) -> Any:
    return np.result_type(a.dtype, 1j)


def _transform(a: Any, n: Any, axis: int, norm: Any, is_forward: bool) -> Any:
    held = np.asarray(a)
    count = held.shape[axis] if n is None else n
    scale = _scale(count, norm, is_forward, _real_dtype(held))
    dtype = _complex_dtype(held)
    x, factor = _scaled(_in_line(held, count, axis).astype(dtype), scale)
    found = fourier_loops.fft(x, factor) if is_forward else fourier_loops.ifft(x, factor)
    return np.moveaxis(found.astype(dtype), -1, axis)


@spells("numpy.fft.fft", complex=True)
def fft(a: Any, n: Any = None, axis: int = -1, norm: Any = None) -> Any:
    return _transform(a, n, axis, norm, True)


@spells("numpy.fft.ifft", complex=True)
def ifft(a: Any, n: Any = None, axis: int = -1, norm: Any = None) -> Any:
    return _transform(a, n, axis, norm, False)


@spells("numpy.fft.rfft")
def rfft(a: Any, n: Any = None, axis: int = -1, norm: Any = None) -> Any:
    held = np.asarray(a)
    count = held.shape[axis] if n is None else n
    scale = _scale(count, norm, True, _real_dtype(held))
    dtype = np.float32 if _complex_dtype(held) == np.complex64 else np.float64
    x, factor = _scaled(_in_line(held, count, axis).astype(dtype), scale)
    found = fourier_loops.rfft(x, factor)
    return np.moveaxis(found.astype(_complex_dtype(held)), -1, axis)


@spells("numpy.fft.irfft", complex=True)
def irfft(a: Any, n: Any = None, axis: int = -1, norm: Any = None) -> Any:
    held = np.asarray(a)
    count = 2 * (held.shape[axis] - 1) if n is None else n
    if count < 1:
        raise ValueError(f"Invalid number of FFT data points ({count}) specified.")
    scale = _scale(count, norm, False, _real_dtype(held))
    x, factor = _scaled(_in_line(held, count // 2 + 1, axis).astype(_complex_dtype(held)), scale)
    found = fourier_loops.irfft_odd(x, factor) if count % 2 else fourier_loops.irfft_even(x, factor)
    return np.moveaxis(found.astype(_real_dtype(held)), -1, axis)


def _swapped(norm: Any) -> Any:
    if norm is None or norm == "backward":
        return "forward"
    return "backward" if norm == "forward" else norm


@spells("numpy.fft.hfft", complex=True)
def hfft(a: Any, n: Any = None, axis: int = -1, norm: Any = None) -> Any:
    held = np.asarray(a)
    return irfft(np.conj(held), 2 * (held.shape[axis] - 1) if n is None else n, axis, _swapped(norm))


@spells("numpy.fft.ihfft")
def ihfft(a: Any, n: Any = None, axis: int = -1, norm: Any = None) -> Any:
    held = np.asarray(a)
    return np.conj(rfft(held, held.shape[axis] if n is None else n, axis, _swapped(norm)))


def _sizes_and_axes(a: Any, s: Any, axes: Any, is_inverse_of_real: bool = False) -> Any:
    """The transformed axes and their lengths."""
    if s is None:
        chosen = list(range(a.ndim)) if axes is None else list(axes)
        sizes = [a.shape[axis] for axis in chosen]
        if is_inverse_of_real:
            sizes[-1] = 2 * (a.shape[chosen[-1]] - 1)
        return sizes, chosen
    chosen = list(range(-len(s), 0)) if axes is None else list(axes)
    if len(s) != len(chosen):
        raise ValueError("Shape and axes have different lengths.")
    return [a.shape[axis] if size == -1 else size for size, axis in zip(s, chosen, strict=True)], chosen


def _along_all(a: Any, s: Any, axes: Any, norm: Any, is_forward: bool) -> Any:
    x = np.asarray(a)
    sizes, chosen = _sizes_and_axes(x, s, axes)
    for size, axis in reversed(list(zip(sizes, chosen, strict=True))):
        x = _transform(x, size, axis, norm, is_forward)
    return x


@spells("numpy.fft.fftn", complex=True)
def fftn(a: Any, s: Any = None, axes: Any = None, norm: Any = None) -> Any:
    return _along_all(a, s, axes, norm, True)


@spells("numpy.fft.ifftn", complex=True)
def ifftn(a: Any, s: Any = None, axes: Any = None, norm: Any = None) -> Any:
    return _along_all(a, s, axes, norm, False)


@spells("numpy.fft.fft2", complex=True)
def fft2(a: Any, s: Any = None, axes: Any = (-2, -1), norm: Any = None) -> Any:
    return _along_all(a, s, axes, norm, True)


@spells("numpy.fft.ifft2", complex=True)
def ifft2(a: Any, s: Any = None, axes: Any = (-2, -1), norm: Any = None) -> Any:
    return _along_all(a, s, axes, norm, False)


@spells("numpy.fft.rfftn")
def rfftn(a: Any, s: Any = None, axes: Any = None, norm: Any = None) -> Any:
    x = np.asarray(a)
    sizes, chosen = _sizes_and_axes(x, s, axes)
    x = rfft(x, sizes[-1], chosen[-1], norm)
    for size, axis in reversed(list(zip(sizes[:-1], chosen[:-1], strict=True))):
        x = _transform(x, size, axis, norm, True)
    return x


@spells("numpy.fft.rfft2")
def rfft2(a: Any, s: Any = None, axes: Any = (-2, -1), norm: Any = None) -> Any:
    return rfftn(a, s, axes, norm)


@spells("numpy.fft.irfftn", complex=True)
def irfftn(a: Any, s: Any = None, axes: Any = None, norm: Any = None) -> Any:
    x = np.asarray(a)
    sizes, chosen = _sizes_and_axes(x, s, axes, True)
    for size, axis in zip(sizes[:-1], chosen[:-1], strict=True):
        x = _transform(x, size, axis, norm, False)
    return irfft(x, sizes[-1], chosen[-1], norm)


@spells("numpy.fft.irfft2", complex=True)
def irfft2(a: Any, s: Any = None, axes: Any = (-2, -1), norm: Any = None) -> Any:
    return irfftn(a, s, axes, norm)


def _shifted(x: Any, axes: Any, sign: int) -> Any:
    held = np.asarray(x)
    chosen = range(held.ndim) if axes is None else (axes,) if isinstance(axes, int) else axes
    for axis in chosen:
        held = np.roll(held, sign * (held.shape[axis] // 2), axis)
    return held


@spells("numpy.fft.fftshift", complex=True)
def fftshift(x: Any, axes: Any = None) -> Any:
    return _shifted(x, axes, 1)


@spells("numpy.fft.ifftshift", complex=True)
def ifftshift(x: Any, axes: Any = None) -> Any:
    return _shifted(x, axes, -1)


@spells("numpy.fft.fftfreq")
def fftfreq(n: Any, d: Any = 1.0) -> Any:
    places = np.concatenate((np.arange((n - 1) // 2 + 1), np.arange(-(n // 2), 0)))
    return places * (1.0 / (n * d))


@spells("numpy.fft.rfftfreq")
def rfftfreq(n: Any, d: Any = 1.0) -> Any:
    return np.arange(n // 2 + 1) * (1.0 / (n * d))
