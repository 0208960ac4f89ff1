"""numpy.fft is NumPy's own pocketfft, to the bit; the derivatives are transforms too."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mlirad

RNG = np.random.default_rng(5)
Z = RNG.normal(size=(3, 8)) + 1j * RNG.normal(size=(3, 8))
X = RNG.normal(size=(3, 8))


def of_lines(z: Any, x: Any) -> Any:
    return (
        (np.fft.fft(z), np.fft.ifft(z), np.fft.rfft(x), np.fft.irfft(z), np.fft.hfft(z), np.fft.ihfft(x)),
        (np.fft.fft(x), np.fft.fft(z, axis=0), np.fft.fft(z, n=5), np.fft.fft(z, n=11, norm="ortho")),
        (np.fft.irfft(z, n=9, norm="forward"), np.fft.rfft(x, n=7, axis=0), np.fft.ifft(z, norm="forward")),
    )


def of_planes(z: Any, x: Any) -> Any:
    return (
        (
            np.fft.fft2(z),
            np.fft.ifft2(z, norm="ortho"),
            np.fft.fftn(z, s=(4, 6), axes=(0, 1)),
            np.fft.ifftn(z, axes=(0,)),
        ),
        (np.fft.rfftn(x), np.fft.irfftn(z), np.fft.rfft2(x), np.fft.irfft2(z, s=(3, 7))),
        (
            np.fft.fftshift(z),
            np.fft.ifftshift(x, axes=1),
            np.fft.fftfreq(7, 0.1) * x[0, :7],
            np.fft.rfftfreq(5) * x[:, 0],
        ),
    )


def flat(result: Any) -> list[Any]:
    return [leaf for each in result for leaf in flat(each)] if isinstance(result, tuple) else [result]


@pytest.mark.parametrize("function", [of_lines, of_planes])
def test_values_are_numpys_to_the_bit(function: Any) -> None:
    kernel = mlirad.jit(function)
    for z, x in ((Z, X), (Z.astype(np.complex64), X.astype(np.float32)), (np.repeat(Z, 2, 1)[::-1, ::-2], X[:, ::-1])):
        for number, (found, wanted) in enumerate(zip(flat(kernel(z, x)), flat(function(z, x)), strict=True)):
            assert found.dtype == wanted.dtype, number
            np.testing.assert_array_equal(found, wanted, str(number))


def lengths(z: Any, x: Any) -> Any:
    return np.fft.fft(z), np.fft.ifft(z), np.fft.rfft(x), np.fft.irfft(z, n=z.size)


@pytest.mark.parametrize("size", [1, 2, 3, 7, 97])
def test_lengths(size: int) -> None:
    z = RNG.normal(size=size) + 1j * RNG.normal(size=size)
    x = np.ascontiguousarray(np.real(z))
    for found, wanted in zip(mlirad.jit(lengths)(z, x), lengths(z, x), strict=True):
        np.testing.assert_array_equal(found, wanted)


def blocks(z: Any, x: Any) -> Any:
    """Blocks, with a shorter last one: only the run knows how much of it is padding."""
    total = np.zeros(5)
    for start in range(0, x.size, 3):
        of_real, of_complex = np.fft.rfft(x[start : start + 3], 5), np.fft.fft(z[start : start + 4], 3)
        total += np.fft.irfft(of_real * of_complex, 5) + np.abs(np.fft.ifft(of_complex[: x.size - start], 5))
    return total


def test_a_length_that_only_the_run_knows() -> None:
    z, x = Z[0, :7], X[0, :7]
    for kind in (np.float64, np.float32):
        given = z.astype(np.result_type(kind, np.complex64)), x.astype(kind)
        np.testing.assert_allclose(
            mlirad.jit(blocks)(*given), blocks(*given), rtol=1e-5 if kind == np.float32 else 1e-12
        )
    mlirad.check_grads(lambda x: np.sum(blocks(z, x)), (x,), order=1)
    with pytest.raises(mlirad.ShapeError, match="give the number of points"):
        mlirad.jit(lambda x: np.fft.fft(x[x > 0]))(x)


def loss(z: Any, x: Any) -> Any:
    a, b, c = np.fft.fft(z, n=5), np.fft.ifft(z, axis=0, norm="ortho"), np.fft.rfft(x, n=7)
    d, e, f = np.fft.irfft(z), np.fft.irfft(z, n=9), np.fft.hfft(np.fft.fftshift(z))
    first = np.sum(np.abs(a) ** 2 * np.cos(np.real(a))) + np.sum(np.abs(b) ** 3) + np.sum(np.abs(c) ** 3)
    return first + np.sum(d**3) + np.sum(np.sin(e)) + np.sum(f**2)


def test_gradients() -> None:
    of_z, of_x = mlirad.grad(loss, argnums=(0, 1))(Z, X)
    for number, found in enumerate((of_z, of_x)):
        for place in [(0, 0), (1, 3), (2, 4), (2, 7)]:
            for direction in (1, 1j) if number == 0 else (1,):
                values = []
                for sign in (1, -1):
                    moved = [Z.copy(), X.copy()]
                    moved[number][place] += sign * 1e-6 * direction
                    values.append(loss(*moved))
                wanted = (values[0] - values[1]) / 2e-6
                np.testing.assert_allclose(np.real(found[place] * direction), wanted, rtol=1e-6, atol=1e-6)


def test_duality_lanes_and_second_order() -> None:
    def pair(z: Any, x: Any) -> Any:
        return np.fft.fft(z), np.fft.rfft(x), np.fft.irfft(z)

    tangents = Z[::-1].copy(), X[::-1].copy()
    _, along = mlirad.jvp(pair, (Z, X), tangents)
    value, pullback = mlirad.vjp(pair, Z, X)
    cotangents = tuple(np.cos(np.abs(each)) * each for each in value)
    back = pullback(cotangents)
    forwards = sum(np.real(np.sum(v * d)) for v, d in zip(cotangents, along, strict=True))
    np.testing.assert_allclose(forwards, sum(np.real(np.sum(u * d)) for u, d in zip(tangents, back, strict=True)))
    np.testing.assert_array_equal(mlirad.vmap(lambda z: np.fft.fft(z))(Z), np.fft.fft(Z))
    power = mlirad.hessian(lambda x: np.sum(np.abs(np.fft.fft(x)) ** 2))(X[0])
    np.testing.assert_allclose(power, 16 * np.eye(8), atol=1e-12)


def test_what_is_refused() -> None:
    with pytest.raises(ValueError, match="Invalid norm value"):
        mlirad.jit(lambda z, norm: np.fft.fft(z, norm=norm), static_argnums=1)(Z, "none")
    with pytest.raises(ValueError, match="Invalid number of FFT data points"):
        mlirad.jit(lambda z: np.fft.fft(z, n=0))(Z)
    with pytest.raises(mlirad.CompileError, match="complex"):
        mlirad.jit(lambda z: np.fft.rfft(z))(Z)
