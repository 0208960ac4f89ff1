"""Derivatives of and through complex numbers follow one convention, JAX's.

The gradient of a real u with respect to z = x + iy is du/dx - i du/dy; vjp is the C-linear transpose of jvp, without
conjugation; `holomorphic=True` gives the complex derivative.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mlirad

RNG = np.random.default_rng(3)


def drawn(*shape: int) -> np.ndarray:
    return RNG.normal(size=shape) + 1j * RNG.normal(size=shape)


Z, W = drawn(4), drawn(4)


def by_differences(function: Callable[..., Any], args: tuple[Any, ...], number: int, step: float = 1e-6) -> np.ndarray:
    """du/dx - i du/dy, by central differences along the real and the imaginary axis."""
    found = np.zeros(args[number].shape, complex)
    for place in np.ndindex(found.shape):
        for direction in (1, 1j):
            values = []
            for sign in (1, -1):
                moved = [np.array(each) for each in args]
                moved[number][place] += sign * step * direction
                values.append(function(*moved))
            slope = (values[0] - values[1]) / (2 * step)
            found[place] += slope if direction == 1 else -1j * slope
    return found


def of_functions(z: Any, w: Any) -> Any:
    a = np.sum(np.abs(z * w + np.exp(z)) ** 2) + np.sum((z * np.conj(w)).real) + np.abs(np.sin(z) / w).sum()
    b = np.sum(np.angle(z) * np.abs(w)) + np.log(z).imag.sum() + np.sqrt(w).real.sum() + (z.real * w.imag).sum()
    c = np.sum((z**3 / w**2).real) + np.sum(np.tanh(z).imag * np.cosh(w).real) + np.sum((z**w).real)
    return a + b + c + np.sum(np.tan(z / 4).real * np.sinh(w).imag * np.cos(w).real)


def of_arrays(z: Any, w: Any) -> Any:
    m: Any = np.outer(z, w.conj()).reshape(2, 8)
    a = (z @ w).imag + np.vdot(z, w).real + np.prod(z).real + np.cumsum(z * w)[2].imag
    b = np.sqrt(np.sum(np.abs(z - w) ** 2)) + np.var(z) + np.mean(z * w).real + np.abs(m @ m.T.conj()).sum()
    return a + b + np.where(z.real > 0, z, w * w).imag.sum() + np.real(np.stack([z, w])[:, ::2]).prod()


def of_loops(z: Any, w: Any) -> Any:
    a: Any = np.zeros(4, complex)
    total = 0j
    for i in range(4):
        a[i] = z[i] * w[3 - i]
        if i > 0:
            a[i] += a[i - 1]
        total = total * z[i] + w[i]
    a.imag[1:] *= 2.0
    a.real = a.real**2
    k = z[0]
    while abs(k) < 3:
        k = k * k + w[1] + 2
    return np.sum(np.abs(a)) + abs(total) + k.real


@pytest.mark.parametrize("function", [of_functions, of_arrays, of_loops])
def test_gradients_of_real_values(function: Callable[..., Any]) -> None:
    found = mlirad.grad(function, argnums=(0, 1))(Z, W)
    for number in (0, 1):
        wanted = by_differences(function, (Z, W), number)
        np.testing.assert_allclose(found[number], wanted, atol=2e-8 * max(1, np.abs(wanted).max()))
    single = mlirad.grad(function)(Z.astype(np.complex64), W.astype(np.complex64))
    assert single.dtype == np.complex64
    np.testing.assert_allclose(single, found[0], rtol=2e-3, atol=1e-3 * np.abs(found[0]).max())


def through_complex(x: Any) -> Any:
    z = np.exp(1j * x) * x
    return np.sum(np.abs(z + x * x) ** 2) + z.imag.sum() + (x + 0j).real @ x


def test_real_programs_through_complex_numbers() -> None:
    x = RNG.normal(size=3)
    steps = 1e-5 * np.eye(3)
    found = mlirad.grad(through_complex)(x)
    assert found.dtype == np.float64
    wanted = [(through_complex(x + h) - through_complex(x - h)) / 2e-5 for h in steps]
    np.testing.assert_allclose(found, wanted, atol=1e-8)
    second = mlirad.hessian(through_complex)(x)
    gradient = mlirad.grad(through_complex)
    np.testing.assert_allclose(second, [(gradient(x + h) - gradient(x - h)) / 2e-5 for h in steps], atol=1e-7)


def mixed(z: Any, w: Any) -> Any:
    return z * w.conj() + np.exp(z), np.abs(z) * w.real, np.conj(z * w).imag, w / z


def test_transposes() -> None:
    """The real part of sum(v * jvp(u)) is that of sum(u * vjp(v)), without conjugation."""
    tangents = drawn(4), drawn(4)
    _, along = mlirad.jvp(mixed, (Z, W), tangents)
    for number, (up, down) in enumerate(
        zip(
            mixed(Z + 1e-6 * tangents[0], W + 1e-6 * tangents[1]),
            mixed(Z - 1e-6 * tangents[0], W - 1e-6 * tangents[1]),
            strict=True,
        )
    ):
        np.testing.assert_allclose(along[number], (up - down) / 2e-6, rtol=1e-7, atol=1e-7)
    value, pullback = mlirad.vjp(mixed, Z, W)
    cotangents = tuple(drawn(4) if each.dtype.kind == "c" else RNG.normal(size=4) for each in value)
    back = pullback(cotangents)
    forwards = sum(np.sum(v * d).real for v, d in zip(cotangents, along, strict=True))
    backwards = sum(np.sum(u * d).real for u, d in zip(tangents, back, strict=True))
    np.testing.assert_allclose(forwards, backwards, rtol=1e-12)
    _, linear = mlirad.vjp(lambda z: np.sin(z) * z, Z)
    np.testing.assert_allclose(linear(W)[0], W * (np.cos(Z) * Z + np.sin(Z)), rtol=1e-12)  # C-linear, not conjugated


def cube(z: Any) -> Any:
    return np.sum(z**3)


def squares(z: Any) -> Any:
    return z**2 * z[0]


def test_holomorphic() -> None:
    np.testing.assert_allclose(mlirad.grad(cube, holomorphic=True)(Z), 3 * Z**2, rtol=1e-13)
    wanted = np.diag(2 * Z * Z[0]) + np.outer(Z**2, np.eye(4)[0])
    for transform in (mlirad.jacfwd, mlirad.jacrev):
        np.testing.assert_allclose(transform(squares, holomorphic=True)(Z), wanted, rtol=1e-13, atol=1e-15)
    np.testing.assert_allclose(mlirad.hessian(cube, holomorphic=True)(Z), np.diag(6 * Z), rtol=1e-13, atol=1e-15)
    assert mlirad.value_and_grad(cube, holomorphic=True)(1 + 2j)[1] == 3 * (1 + 2j) ** 2


def modulus(z: Any) -> Any:
    return np.sum(np.abs(z))


def test_zero_has_the_gradient_zero() -> None:
    found = mlirad.grad(modulus)(np.array([0j, 3 + 4j]))
    assert found[0] == 0
    np.testing.assert_allclose(found[1], 0.6 - 0.8j, rtol=1e-15)


@pytest.mark.parametrize(
    ("transform", "x", "text"),
    [
        (lambda: mlirad.grad(cube), Z, "grad requires real-valued outputs"),
        (lambda: mlirad.jacrev(squares), Z, "jacrev requires real-valued outputs"),
        (lambda: mlirad.jacfwd(modulus), Z, "jacfwd requires real-valued inputs"),
        (lambda: mlirad.grad(modulus, holomorphic=True), Z, "holomorphic=True requires outputs with complex dtype"),
        (
            lambda: mlirad.grad(cube, holomorphic=True),
            np.real(Z),
            "requires inputs with complex dtype",
        ),
    ],
)
def test_what_is_refused(transform: Callable[[], Any], x: Any, text: str) -> None:
    with pytest.raises(mlirad.DifferentiationError, match=text):
        transform()(x)


def test_imaginary_tangents_of_moduli():
    """A tangent without a real part is not a tangent of zero."""

    def turned(t):
        return np.abs(np.array([2.0, 1.0 - 2.0j]) + t * 1j)

    value, tangent = mlirad.jvp(turned, (0.5,), (1.0,))
    assert np.allclose(tangent, np.array([0.5, -1.5]) / value, rtol=1e-14)

    def squared(t):
        return np.sum(turned(t) ** 4)

    # |2 + it|^4 + |1 + i(t - 2)|^4
    (curvature,) = mlirad.hvp(squared, (0.5,), (1.0,))
    s = np.array([0.5, -1.5])
    assert curvature == pytest.approx(np.sum(8 * s * s + 4 * value**2), rel=1e-13)
