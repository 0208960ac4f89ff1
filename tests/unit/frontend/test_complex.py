"""Complex numbers behave as in NumPy: values, dtypes and classes of results, views of the parts, refusals.

Random expressions over all functions that take complex numbers, and programs of each kind. (The derivatives are in
tests/unit/derivatives/test_complex_derivatives.py.)
"""

from __future__ import annotations

import copy
import linecache
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mlirad

RNG = np.random.default_rng(7)
Z = RNG.normal(size=7) + 1j * RNG.normal(size=7)
W = RNG.normal(size=7) + 1j * RNG.normal(size=7)
M = RNG.normal(size=(3, 4)) + 1j * RNG.normal(size=(3, 4))
X = RNG.normal(size=7)


def flat(result: Any) -> list[Any]:
    return [leaf for each in result for leaf in flat(each)] if isinstance(result, tuple | list) else [result]


def require_numpys(function: Callable[..., Any], *args: Any, units: float = 8) -> None:
    """The compiled function returns and writes the same as Python: to `units` in the last place of |z|."""
    theirs, ours = copy.deepcopy(args), copy.deepcopy(args)
    with np.errstate(all="ignore"):
        expected = flat(function(*theirs))
    actual = flat(mlirad.jit(function)(*ours))
    assert len(actual) == len(expected)
    for number, (found, wanted) in enumerate(zip([*actual, *ours], [*expected, *theirs], strict=True)):
        assert type(found) is type(wanted), (number, type(found), type(wanted))
        assert np.asarray(found).dtype == np.asarray(wanted).dtype, number
        if np.asarray(wanted).dtype.kind not in "fc":
            np.testing.assert_array_equal(found, wanted, str(number))
            continue
        unit = np.finfo(np.asarray(wanted).dtype).eps
        np.testing.assert_allclose(found, wanted, rtol=units * unit, atol=1e-300, err_msg=str(number))


def from_text(text: str) -> Any:
    """A function made from a text; the compiler finds its source."""
    name = f"<complex {len(linecache.cache)}>"
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    namespace: dict[str, Any] = {"np": np}
    exec(compile(text, name, "exec"), namespace)
    return namespace["f"]


def of_elements(z: Any, w: Any, x: Any) -> Any:
    return (
        (z + w, z - w, z * w, z / w, -z, z * 2.0, 1j * z, z + 1, z / 2, 2 / z, z * x, x * z, x + 1j * x, z / x, x / z),
        (np.exp(z), np.log(z), np.sqrt(z), np.sin(z), np.cos(z), np.tan(z), np.sinh(z), np.cosh(z), np.tanh(z)),
        (z.real, z.imag, np.real(z), np.imag(z), np.abs(z), np.angle(z), np.conj(z), z.conj(), z.conjugate()),
        (z**2, z**3, z**-1, z**0.5, z**w, z ** (1 + 1j), np.square(z), np.reciprocal(z), 2**z),
        (z == w, z != w, z == z, z == 1, np.isnan(z), np.isfinite(z), np.isinf(z), z.astype(bool)),
        (z.astype(np.complex64), x.astype(complex), x + 0j, np.where(x > 0, z, w), np.where(x > 0, z, 0)),
        (np.iscomplex(z), np.isreal(z), np.iscomplexobj(z), np.isrealobj(x)),
        (np.imag(x), x.imag, np.sum(x).imag, np.imag(np.sum(x)) ** 2, np.sum(x).real, np.sum(z).nbytes),
    )


@pytest.mark.parametrize(
    ("z", "w", "x"),
    [
        (Z, W, X),
        (Z.astype(np.complex64), W.astype(np.complex64), X.astype(np.float32)),
        (np.repeat(Z, 3)[::-3], np.repeat(W, 2)[::2], X[::-1]),
        (Z[:0], W[:0], X[:0]),
        (np.asarray(Z[0]), np.asarray(W[0]), np.asarray(X[0])),
    ],
    ids=["c128", "c64", "strided", "empty", "0-d"],
)
def test_elements(z: Any, w: Any, x: Any) -> None:
    readonly = z.copy() if z.flags.c_contiguous else z
    readonly.flags.writeable = False
    require_numpys(of_elements, readonly, w, x, units=24)


def of_arrays(z: Any, w: Any, m: Any) -> Any:
    n = m.T.conj()
    return (
        (
            z.sum(),
            np.mean(z),
            np.prod(z),
            m.sum(axis=0),
            m.sum(axis=1, keepdims=True),
            np.mean(m, axis=0),
            np.sum(z * z),
        ),
        (m @ n, np.dot(z, w), np.vdot(z, w), np.einsum("ij,jk->ik", m, n), np.outer(z, w), np.inner(z, w), z @ w),
        (np.cumsum(z), np.diff(z), np.any(z), np.all(z), np.var(z), np.std(z), np.average(z), np.trapezoid(z)),
        (np.stack([z, w]), np.concatenate([z, w]), z[::-1], z[1:4], z.reshape(7, 1), np.roll(z, 2), z[[0, 2, 1]]),
        (z[z.real > 0], np.tile(z, 2), np.repeat(z, 2), m.T, m.ravel(), m[:, 0], m[1], np.trace(m), np.diag(m)),
        (
            np.zeros(3, complex),
            np.ones((2, 2), np.complex64),
            np.full(3, 1 + 2j),
            np.array([1j, 2, z[0]]),
            np.eye(2) * 1j,
        ),
        (np.convolve(z, w), np.cross(z[:3], w[:3]), np.kron(z, w), np.polyval(z, w), np.allclose(z, z), np.pad(z, 1)),
        (np.gradient(z), np.average(z, weights=w), np.pad(z, 2, mode="linear_ramp")),
    )


def of_numbers(z: Any, s: complex, t: float) -> Any:
    a, b = z[0], z[1]
    total = 0j
    for k in range(7):
        total = total * z[k] + 1
    steps, orbit = 0, z[2] * 0.1
    while abs(orbit) < 50:
        orbit = orbit * orbit + 2
        steps += 1
    return (
        (a * b, a / b, abs(a), a.real, a.imag, a.conjugate(), np.exp(a), a + 1, a * 2j, a if a.real > 0 else b),
        (s * s, s + 1, s / 2, abs(s), s.real, s.imag, s.conjugate(), s**2, 1j * s, s == s, -s, s * t, complex(t, t)),
        (total, steps, orbit, complex(t), complex(s, 2), np.complex64(a), np.exp(2j * np.pi * 0.25) * a),
    )


def of_writes(z: Any, out: Any) -> Any:
    a, b, c, d = z.copy(), z.copy(), np.zeros(7, complex), z.copy()
    a[0], a[1:3], a[3] = 1j, 2, a[3] + 1j
    a[4:] *= 2j
    a[::2] -= 1
    c[[0, 2]] = z[[1, 3]]
    b.imag[1:3] = 7
    b.real[0] += 1
    d.real = 1.0
    seen = b.real
    b[0] = 100j
    out[1:] = z[:-1]
    out[0] += z[0]
    return a, b, c, d, seen, seen[::2], z.imag


def test_arrays_numbers_and_writes() -> None:
    require_numpys(of_arrays, Z, W, M, units=32)
    require_numpys(of_numbers, Z, 1.5 - 2j, 0.25, units=32)
    require_numpys(of_writes, Z, W.copy())
    parts = mlirad.jit(lambda z: (z.real, z.imag))(shared := Z.copy())
    assert all(np.shares_memory(part, shared) for part in parts)


UNARY = ("-{}", "np.exp({})", "np.sqrt({})", "np.sin({})", "np.tanh({})", "np.conj({})", "({}).real", "({}).imag")
UNARY += ("np.abs({})", "1j * {}", "({})[::-1]", "np.roll({}, 1)", "({}) ** 2", "({}).conj() / 3", "np.cumsum({})")
BINARY = ("{} + {}", "{} * {}", "{} - {}", "({}) / ({} + 3)", "np.where(np.real({}) > 0, {}, 1j)", "{} * np.sum({})")


def random_program(seed: int) -> str:
    """A function of two complex arrays and a real one that combines ten random steps."""
    rng = np.random.default_rng(seed)
    names, lines = ["z", "w", "x"], ["def f(z, w, x):"]
    for number in range(10):
        text = str(rng.choice(UNARY if rng.random() < 0.5 else BINARY))
        chosen = [str(rng.choice(names)) for _ in range(text.count("{}"))]
        lines.append(f"    v{number} = np.tanh({text.format(*chosen)})")
        names.append(f"v{number}")
    lines.append(f"    return {', '.join(names[3:])}, np.sum(np.abs({names[-1]} * {names[-2]} + {names[-3]}))")
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("seed", range(4))
def test_random_expressions(seed: int) -> None:
    require_numpys(from_text(random_program(seed)), 0.3 * Z, 0.3 * W, 0.3 * X, units=1e5)


def special(z: Any, w: Any) -> Any:
    return (
        (np.exp(z), np.log(z), np.sqrt(z), np.sin(z), np.cos(z), np.tan(z), np.sinh(z), np.cosh(z), np.tanh(z)),
        (np.abs(z), z / w, z + w, z - w, z == w, z != w),
    )


def test_infinities_and_nan() -> None:
    """As in C's Annex G, and in NumPy. (A product that overflows is left out: see docs/deviations.md.)"""
    numbers = [0.0, -0.0, 1.0, -2.5, np.inf, -np.inf, np.nan, 1e300]
    z = np.array([complex(x, y) for x in numbers for y in numbers])
    z, w = np.repeat(z, len(z)), np.tile(z, len(z))
    with np.errstate(all="ignore"):
        expected = flat(special(z, w))
    for found, wanted in zip(flat(mlirad.jit(special)(z, w)), expected, strict=True):
        for part in (np.real, np.imag):
            ours, theirs = part(found), part(wanted)
            is_open = np.isnan(wanted)  # C leaves the sign of an infinity beside nan open
            np.testing.assert_allclose(*(np.where(is_open, np.abs(each), each) for each in (ours, theirs)), rtol=1e-14)
            zeros = np.isfinite(z) & np.isfinite(w) & (theirs == 0)
            np.testing.assert_array_equal(np.signbit(ours)[zeros], np.signbit(theirs)[zeros])


def compares(z: Any) -> Any:
    return z[0] < z[1]


def rounds(z: Any) -> Any:
    return np.floor(z)


def largest(z: Any) -> Any:
    return np.max(z)


def searches(z: Any) -> Any:
    return np.sort(z)


def medians(z: Any) -> Any:
    return np.median(z)


def to_float(z: Any) -> Any:
    return float(z[0])


def into_real(z: Any) -> Any:
    a = np.zeros(3)
    a[0] = complex(z[0])
    return a


@pytest.mark.parametrize("function", [compares, rounds, largest, searches, medians, to_float, into_real])
def test_what_is_refused(function: Callable[..., Any]) -> None:
    """Functions that have no complex numbers, in NumPy or here, are refused at their line."""
    with pytest.raises(mlirad.CompileError) as caught:
        mlirad.jit(function)(Z)
    assert __file__ in str(caught.value)


def test_keys_and_signatures() -> None:
    """Complex and real arguments get separate code; a Python complex is weak."""
    kernel = mlirad.jit(lambda z: z * 2)
    dtypes = (np.complex64, np.complex128, np.float32)
    assert [kernel(np.ones(2, dtype)).dtype for dtype in dtypes] == list(map(np.dtype, dtypes))
    assert kernel(1 + 2j) == 2 + 4j
    assert type(kernel(1 + 2j)) is complex
    assert mlirad.jit(lambda x, s: x * s)(np.ones(2, np.complex64), 2j).dtype == np.complex64
    lanes = mlirad.vmap(lambda z, t: z * t.conj())(M, M[:, 0])
    np.testing.assert_allclose(lanes, M * M[:, :1].conj(), rtol=1e-15)


def solutions(a: Any, b: Any) -> Any:
    return np.linalg.solve(a, b), np.linalg.solve(a, b[:, 0]), np.linalg.inv(a), np.linalg.solve(np.real(a), b)


def test_linear_systems() -> None:
    """Computed by NumPy's own LAPACK loops, to the bit; the derivative is C-linear."""
    a, b = M[:, :3] + 2 * np.eye(3), M[:, 1:]
    for x, y in ((a, b), (a.astype(np.complex64), b.astype(np.complex64))):
        for found, wanted in zip(mlirad.jit(solutions)(x, y), solutions(x, y), strict=True):
            assert found.dtype == wanted.dtype
            np.testing.assert_array_equal(found, wanted)
    along = mlirad.jvp(np.linalg.inv, (a,), (b,))[1]
    np.testing.assert_allclose(along, -np.linalg.inv(a) @ b @ np.linalg.inv(a), rtol=1e-12)
    _, pullback = mlirad.vjp(lambda a, b: np.linalg.solve(a, b), a, b)
    np.testing.assert_allclose(pullback(b)[1], np.linalg.solve(a.T, b), rtol=1e-12)
