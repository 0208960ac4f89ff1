"""Derivatives of numpy.linalg, numpy.fft and scipy.linalg agree with differences of order 8 to 1e-10; for holomorphic
functions with complex steps to 1e-12.

Real and complex matrices, first and second order, forward and reverse, in loops and in lanes. LAPACK chooses the phases
of complex vectors: nothing below depends on them, except for `eig` and `qr`, which define their own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mlirad

LA, FFT = np.linalg, np.fft
S: Any = pytest.importorskip("scipy.linalg")
WEIGHTS = np.cos(np.arange(36.0) * 1.7).reshape(6, 6)
TURNED = WEIGHTS + 1j * np.sin(np.arange(36.0) * 0.9).reshape(6, 6)


def of(x):
    """A real number that depends on all elements, real or complex."""
    rows = np.atleast_2d(x)
    size = rows.shape
    squares = np.real(rows * np.conj(rows))
    return np.sum(np.real(rows * TURNED[: size[0], : size[1]]) + squares * WEIGHTS[: size[0], : size[1]])


def sizes(x):
    """The same without phases."""
    return np.sum(np.real(x * np.conj(x)) * WEIGHTS[: x.shape[0], : x.shape[1]])


def solving(a):
    sign, logarithm = LA.slogdet(a)
    found = of(LA.solve(a, a[:, :2] * a[0, 0] + 1.0)) + of(LA.inv(a)) + of(LA.det(a)) + of(sign) + logarithm
    powers = of(LA.matrix_power(a, 3)) * 0.1 + of(LA.matrix_power(a, -2)) + of(LA.multi_dot([a, a, a[:, :2]])) * 0.1
    return found + powers + of(LA.vecdot(a, a * a[0])) + of(LA.tensorsolve(a, a[0]))


def definite(a):
    matrix = a @ np.conj(a.T) + np.eye(3)
    lower, upper = LA.cholesky(matrix), LA.cholesky(a @ np.conj(a.T), upper=True)
    (w, v), (other, u) = LA.eigh(matrix), LA.eigh(a, "U")
    found = of(lower) + of(upper) + of(w) + sizes(v) + of(other) + sizes(u)
    return found + of(LA.eigvalsh(a)) + of((v * w**2) @ np.conj(v.T))


def values(a):
    u, s, vh = LA.svd(a)
    tall, first, short = LA.svd(a[:, :2], full_matrices=False)
    wide = LA.svd(a[:2], False)
    vectors = sizes(u) + sizes(vh) + sizes(tall) + sizes(short) + sizes(wide[0]) + sizes(wide[2])
    products = of(u[:, :1] @ vh[:1]) + of(tall[:, 1:] @ short[1:]) + of((wide[0] * np.sqrt(wide[1])) @ wide[2])
    norms = LA.norm(a) + LA.norm(a, 2) + LA.norm(a, -2) + LA.norm(a, "nuc") + LA.norm(a, 1) + LA.norm(a[0], 3)
    return of(s) + of(first) + vectors + products + of(LA.svdvals(a[1:])) + norms + LA.cond(a) + LA.cond(a, 1)


def factors(a):
    found = of(LA.pinv(a[:, :2])) + of(LA.pinv(a[:2], 0.01))
    for part in (a, a[:, :2], a[:2]):
        q, r = LA.qr(part)
        found += of(q) + of(r)
    x, squares, _, singular = LA.lstsq(a[:, :2], a)
    return found + of(x) + of(squares[1:]) + of(singular) + of(LA.qr(a, "r"))


def eigen(a):
    w, v = LA.eig(a)
    return of(w) + sizes(v) + np.sum(np.real(v**2 * TURNED[:3, :3])) + of(LA.eigvals(a) ** 2)


def fourier(a):
    lines = of(FFT.fft(a, n=5)) + of(FFT.ifft(a, axis=0)) + of(FFT.irfft(a, n=5)) + of(FFT.hfft(a))
    x = np.real(a)
    planes = of(FFT.fft2(a)) + of(FFT.ifftn(a)) + of(FFT.irfftn(a)) + of(FFT.rfft(x)) + of(FFT.ihfft(x))
    return lines * 0.1 + planes * 0.1 + of(FFT.rfftn(x, norm="ortho")) + of(FFT.fftshift(FFT.ifftshift(a, axes=1)))


def of_scipy(a):
    matrix = a @ np.conj(a.T) + np.eye(3)
    solved = of(S.solve_triangular(a, a[:, :1], lower=True)) + of(S.solve_triangular(a, a[0], trans="C"))
    found = of(S.lu_solve(S.lu_factor(a), a[:, :2])) + of(S.cho_solve(S.cho_factor(matrix), a[:, 0]))
    return solved + found + of(S.expm(a * 0.5)) * 0.1 + of(S.toeplitz(a[0], a[1])) + of(S.block_diag(a[:1], a[1:]))


REAL = np.array([[2.0, 0.5, -1.0], [0.25, 1.5, 0.75], [-0.5, 1.0, 3.0]])
COMPLEX = REAL + 1j * np.array([[0.5, -0.25, 1.0], [0.75, -0.5, 0.125], [-1.0, 0.5, 0.25]])
STEP = np.array([[0.5, -1.0, 0.25], [1.0, 0.75, -0.5], [-0.25, 0.5, 1.0]])
CASES = (solving, definite, values, factors, eigen, fourier, of_scipy)
ORDER_8 = {1: 4 / 5, 2: -1 / 5, 3: 4 / 105, 4: -1 / 280}


def along(f: Callable[..., Any], x: np.ndarray, step: np.ndarray, length: float = 4e-3) -> Any:
    """The derivative along a step, by differences of order 8."""
    moves = ((weight, k * length * step) for k, weight in ORDER_8.items())
    return sum(weight * (f(x + move) - f(x - move)) for weight, move in moves) / length


def gradient_of(f: Callable[..., Any], x: np.ndarray) -> np.ndarray:
    """du/dx - i du/dy of each element of x + iy."""
    found = np.zeros_like(x)
    for place in np.ndindex(x.shape):
        for direction in (1, 1j) if x.dtype.kind == "c" else (1,):
            step = np.zeros_like(x)
            step[place] = direction
            found[place] += along(f, x, step) * np.conj(direction)
    return found


def require_digits(found: Any, wanted: Any, digits: float = 1e-10) -> None:
    np.testing.assert_allclose(found, wanted, rtol=digits, atol=digits * np.max(np.abs(wanted)))


@pytest.mark.parametrize("case", CASES)
def test_gradients(case: Callable[..., Any]) -> None:
    gradient = mlirad.grad(case)
    for x in (REAL, COMPLEX):
        require_digits(gradient(x), gradient_of(case, x))


def holomorphic(a):
    """Analytic in each element, so the imaginary part after a step of 1e-20 j is the derivative."""
    weights = WEIGHTS[:3, :3]
    found = LA.det(a) + np.sum((LA.inv(a) + LA.matrix_power(a, 3) + LA.matrix_power(a, -2)) * weights)
    found = found + np.sum(LA.solve(a, a[:, :2] * a[0, 0]) * weights[:, :2]) + np.sum(LA.eigvals(a) ** 3)
    return found + np.sum(LA.multi_dot([a, a, a[:, :2]])) + np.sum(S.expm(a * 0.5) * weights)


def test_gradients_by_complex_steps() -> None:
    def stepped(f: Callable[..., Any], step: np.ndarray) -> Any:
        return np.imag(f(REAL + 1e-20j * step)) / 1e-20

    def real(a):
        return np.real(holomorphic(a))

    gradient = mlirad.grad(real)
    units = [np.reshape(unit, (3, 3)) for unit in np.eye(9)]
    require_digits(gradient(REAL), np.reshape([stepped(holomorphic, unit) for unit in units], (3, 3)), 1e-12)
    second = mlirad.jvp(gradient, (REAL,), (STEP,))[1]
    require_digits(second, stepped(mlirad.grad(holomorphic, holomorphic=True), STEP), 1e-12)


@pytest.mark.full
@pytest.mark.parametrize("is_complex", [False, True])
@pytest.mark.parametrize("case", CASES)
def test_second_derivatives_in_loops_and_lanes(case: Callable[..., Any], is_complex: bool) -> None:
    def looped(x, n):
        total = 0.0
        for k in range(n):
            total += case(x * (1.0 + 0.25 * k))
        return total

    def all_of(x, dx, n):
        gradient = mlirad.grad(lambda x: looped(x, n))
        return mlirad.jvp(lambda x: looped(x, n), (x,), (dx,)), mlirad.jvp(gradient, (x,), (dx,))

    x, dx = (COMPLEX, STEP * (1 + 0.5j)) if is_complex else (REAL, STEP)
    kernel = mlirad.jit(all_of)
    if is_complex:  # in lanes
        one = mlirad.vmap(kernel, in_axes=(0, 0, None))
        (value, tangent), (gradient, second) = one(np.stack([x + 0.25j, x]), np.stack([dx * 2.0, dx]), 2)
        value, tangent, gradient, second = value[1], tangent[1], gradient[1], second[1]
    else:
        (value, tangent), (gradient, second) = kernel(x, dx, 2)
    require_digits(value, looped(x, 2), 1e-13)
    require_digits(gradient, gradient_of(lambda x: looped(x, 2), x))
    require_digits(tangent, np.sum(np.real(gradient * dx)), 1e-12)
    require_digits(second, along(lambda x: kernel(x, dx, 2)[1][0], x, dx))


def test_large_cholesky_factors_by_blocks():
    """The blocks do not divide the rows. The inverse of no whole matrix is needed, only those of blocks."""
    rows = 101
    weights, change = np.random.default_rng(0).normal(size=(2, 2, rows, rows))
    matrices = 0.1 * change @ np.swapaxes(change, -1, -2) + np.eye(rows)

    def weighted(a):
        return np.sum(weights * LA.cholesky(a)) + np.sum(weights * LA.cholesky(a[0], upper=True))

    gradient = mlirad.grad(weighted)
    found = gradient(matrices)
    change = change + np.swapaxes(change, -1, -2)
    _, expected = mlirad.jvp(weighted, (matrices,), (change,))
    assert abs(np.sum(found * change) - expected) < 1e-11 * abs(expected)
    assert "nd.inv %" in (text := gradient.lower(matrices).as_text("optimized"))
    assert not any(f"{rows}x{rows}x" in line for line in text.splitlines() if "nd.inv %" in line)


def test_determinants_use_an_inverse_if_it_is_precise():
    """Singular and almost singular matrices get their cofactors from singular values, at run time."""
    regular = np.array([[2.0, 0.3, -0.4], [0.1, 1.5, 0.2], [-0.3, 0.4, 1.1]])
    singular = np.array([[1.0, 2.0, 3.0], [2.0, 4.0, 6.0], [0.5, 0.1, 0.2]])
    gradient = mlirad.grad(LA.det)

    def cofactors(a):
        return np.stack([np.cross(a[1], a[2]), np.cross(a[2], a[0]), np.cross(a[0], a[1])])

    for matrix in (regular, singular, singular + 1e-9 * regular, 1e-99 * regular):
        expected = cofactors(matrix)
        np.testing.assert_allclose(gradient(matrix), expected, rtol=1e-13, atol=1e-13 * abs(expected).max())
    text = gradient.lower(regular).as_text("optimized")
    assert text.index("nd.inv") < text.index("scf.if") < text.index("nd.cofactors")
