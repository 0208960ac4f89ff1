"""numpy.linalg in kernels: NumPy's bits where LAPACK computes, its exceptions, derivatives, loops and lanes."""

# Mistakes are tested too.
# pyright: reportCallIssue=false, reportArgumentType=false

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from library_outcomes import outcome_of, require_same
from numpy.linalg import LinAlgError
from other_numpys import HAS_REAL_CONDITIONS

import mlirad
from mlirad.errors import CompileError, DifferentiationError, TargetError
from mlirad.library import index
from mlirad.testing.interpreted import Interpreted

LA = np.linalg
ORDERS = (None, 2, -2, 1, -1, np.inf, -np.inf, "fro", "nuc", 0, 3, "x")


def exact(a, b):
    """Everything that LAPACK computes for square matrices: NumPy's bits."""
    symmetric = a @ np.swapaxes(np.conj(a), -1, -2)  # exact: the elements are quarters
    definite = symmetric + np.eye(a.shape[-1], dtype=a.dtype)
    return (
        LA.solve(a, b),
        LA.solve(a, b[..., :1]),
        LA.inv(a),
        LA.det(a),
        LA.slogdet(a),
        (LA.eigvalsh(a), LA.eigvalsh(a, "U"), LA.eigh(a), LA.eigh(a, UPLO="u")),
        (LA.svd(a), LA.svd(a, full_matrices=False), LA.svdvals(a)),
        (LA.qr(a), LA.qr(a, "complete"), LA.qr(a, "r"), LA.qr(a, mode="raw")),
        (LA.cholesky(definite), LA.cholesky(definite, upper=True)),
        (LA.eigvals(a) * 1j, LA.eig(a)[0] * 1j, LA.eig(a)[1] * 1j),  # NumPy drops imaginary parts that are 0
    )


def exact_of_any(a, b):
    """Everything that it computes for other matrices."""
    return (
        (LA.svd(a), LA.svd(a, full_matrices=False), LA.svdvals(a)),
        (LA.qr(a), LA.qr(a, "complete"), LA.qr(a, "r"), LA.qr(a, mode="raw")),
        LA.lstsq(a, b),
        LA.lstsq(a, b[:, 0], rcond=0.5),
    )


# Calls with one array; if NumPy raises an exception, the same is expected.
CALLS: dict[str, list[Callable[[Any], Any]]] = {
    "norm": [
        *(lambda a, o=o: LA.norm(a, o) for o in ORDERS),
        *(lambda a, o=o: (LA.norm(a[0], o), LA.norm(a, o, axis=1, keepdims=True)) for o in ORDERS),
        *(lambda a, o=o: LA.norm(a, o, axis=(1, 0), keepdims=True) for o in ORDERS[:7]),
        lambda a: LA.norm(a, axis="x"),
        lambda a: LA.norm(a, axis=(0, 0)),
    ],
    "matrix_norm": [lambda a: LA.matrix_norm(a), lambda a: LA.matrix_norm(a, ord=2)],
    "vector_norm": [
        lambda a: LA.vector_norm(a),
        lambda a: LA.vector_norm(a, axis=(0, 1), keepdims=True),
        lambda a: LA.vector_norm(a, axis=1, ord=1),
    ],
    "cond": [lambda a, p=p: LA.cond(a, p) for p in ORDERS[:-3]],
    "matrix_rank": [
        lambda a: LA.matrix_rank(a),
        lambda a: LA.matrix_rank(a[0]),
        lambda a: LA.matrix_rank(a, tol=0.5),
        lambda a: LA.matrix_rank(a, rtol=0.5, hermitian=True),
    ],
    "matrix_power": [*(lambda a, n=n: LA.matrix_power(a, n) for n in range(-3, 8)), lambda a: LA.matrix_power(a, 1.5)],
    "multi_dot": [
        lambda a: LA.multi_dot([a, a.T]),
        lambda a: LA.multi_dot([a, a.T, a]),
        lambda a: LA.multi_dot([a[0], a.T, a, a.T, a[:, 0]]),
        lambda a: LA.multi_dot([a]),
    ],
    "pinv": [
        lambda a: LA.pinv(a),
        lambda a: LA.pinv(a, 0.5),
        lambda a: LA.pinv(a, rtol=None),
        lambda a: LA.pinv(a, 1, rtol=2),
    ],
    "svd": [lambda a: LA.svd(a, hermitian=True)[1], lambda a: LA.svd(a, True, False, True)],
    "tensorinv": [lambda a: LA.tensorinv(a, ind=1), lambda a: LA.tensorinv(a, 0)],
    "tensorsolve": [lambda a: LA.tensorsolve(a, a[0]), lambda a: LA.tensorsolve(a, a[0], (0,))],
    "outer": [lambda a: LA.outer(a[0], a[1]), lambda a: LA.outer(a, a)],
    "cross": [lambda a: LA.cross(a, a), lambda a: LA.cross(a, a[::-1])],
    "vecdot": [lambda a: LA.vecdot(a, a, axis=0)],
    "matmul": [lambda a: LA.matmul(a, a)],
    "tensordot": [lambda a: LA.tensordot(a, a, axes=1)],
    "diagonal": [lambda a: LA.diagonal(a, offset=1)],
    "trace": [lambda a: LA.trace(a, offset=-1)],
    "matrix_transpose": [lambda a: LA.matrix_transpose(a)],
    "solve": [lambda a: LA.solve(a, 2.0), lambda a: LA.solve(a, a[:-1]), lambda a: LA.solve(a[0], a)],
    "inv": [lambda a: LA.inv(a[:1]), lambda a: LA.inv(a * 0.0)],
    "det": [lambda a: LA.det(a[0])],
    "slogdet": [lambda a: LA.slogdet(a * 0)],
    "eig": [lambda a: LA.eig(a + 0j), lambda a: LA.eig(a[0])],
    "eigvals": [lambda a: LA.eigvals(a + 0j), lambda a: LA.eigvals(a[:, :1])],
    "cholesky": [lambda a: LA.cholesky(-np.abs(a))],
    "qr": [lambda a: LA.qr(a, "q")],
    "eigh": [lambda a: LA.eigh(a, "x")],
    "eigvalsh": [lambda a: LA.eigvalsh(a[0])],
    "lstsq": [lambda a: LA.lstsq(a, a[:-1]), lambda a: LA.lstsq(a, a[:, :0])],
    "svdvals": [lambda a: LA.svdvals(a[0])],
}
ARRAYS = (
    np.array([[0.5, -1.0, 2.0], [3.0, 0.25, 1.0], [-0.75, 2.0, 4.0]]),
    np.arange(9).reshape(3, 3) % 5,
    np.ones((2, 3)),
    np.full((2, 2, 2), np.nan),
    np.zeros((0, 3)),
    np.array([[0.5, -1j, 2.0 + 1j], [3.0, 0.25j, 1.0], [1j - 0.75, 2.0, 4.0]]),
)


def result_of(call: Callable[..., Any], *arguments: Any) -> Any:
    try:
        return outcome_of(call, *arguments)
    except LinAlgError as error:
        return error


@pytest.mark.parametrize("name", CALLS)
def test_values_and_exceptions(name: str) -> None:
    arrays = ARRAYS[:-1] if name == "cond" and not HAS_REAL_CONDITIONS else ARRAYS
    for number, call in enumerate(CALLS[name]):
        for array in arrays if number == 0 else arrays[number % 6 :][:1] + arrays[:1]:
            require_same(result_of(Interpreted(call, "tensor"), array), result_of(call, array))


def test_each_function_has_calls() -> None:
    names = {name.removeprefix("numpy.linalg.") for name in index.FUNCTIONS if name.startswith("numpy.linalg.")}
    assert names == {*CALLS}


def leaves(found: Any) -> Iterator[np.ndarray]:
    for each in found if isinstance(found, tuple) else ():
        yield from leaves(each)
    if not isinstance(found, tuple):
        yield np.asarray(found)


def require_bits(kernel: Callable[..., Any], function: Callable[..., Any], *arrays: np.ndarray) -> None:
    for actual, expected in zip(leaves(kernel(*arrays)), leaves(function(*arrays)), strict=True):
        assert actual.dtype == expected.dtype
        np.testing.assert_array_equal(actual, expected, strict=True)


def square(n: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(-9, 9, (n, n)) / 4 + np.diag(np.arange(4.0, 4 + n))


def test_bits_are_numpys() -> None:
    kernel = mlirad.jit(exact)
    stack = np.stack([square(4, seed) for seed in range(6)]).reshape(2, 3, 4, 4)
    require_bits(kernel, exact, np.swapaxes(stack[:, ::-1], -1, -2), np.ones((4, 3, 2)).swapaxes(0, 1))
    require_bits(kernel, exact, np.zeros((0, 0)), np.zeros((0, 3)))
    require_bits(kernel, exact, square(5).astype(np.float32)[::-1, ::-1], square(5)[:, :2].astype(np.float32))
    other = mlirad.jit(exact_of_any)
    for shape in ((5, 3), (3, 5)):
        require_bits(other, exact_of_any, square(5)[: shape[0], : shape[1]], square(5)[: shape[0], :2])
    require_bits(other, exact_of_any, np.ones((5, 3)), square(5)[:, :2])  # of rank 1: no sums of squares
    turned = square(5) + 1j * square(5, 1)
    require_bits(kernel, exact, np.stack([turned, turned.T])[:, ::-1], turned[:, :2])
    require_bits(kernel, exact, turned.astype(np.complex64), turned[:, :2].astype(np.complex64))
    require_bits(other, exact_of_any, turned[:3], turned[:3, :2])


@pytest.mark.full
def test_bits_are_numpys_of_many_sizes() -> None:
    kernel = mlirad.jit(exact)
    for n in [*range(1, 65), 100, 257, 500]:
        for dtype in (np.float32, np.float64, np.complex64, np.complex128):
            turn = 1j if np.dtype(dtype).kind == "c" else 0.0
            a = square(n) + turn * square(n, 2)
            require_bits(kernel, exact, a.astype(dtype), square(n, 1)[:, :3].astype(dtype))


def test_errors_are_at_the_users_line() -> None:
    def inverse(a):
        return np.sum(LA.inv(a))

    place = f"test_linalg.py:{inverse.__code__.co_firstlineno + 1}:"
    kernel, stack = mlirad.jit(inverse), np.stack([np.eye(3), np.ones((3, 3))])
    for call, given in ((kernel, stack), (mlirad.grad(kernel), stack[1]), (mlirad.vmap(kernel), stack)):
        with pytest.raises(LinAlgError, match=f"{place}.*: Singular matrix"):
            call(given)
    assert np.isnan(kernel(np.full((3, 3), np.nan)))  # no failure, as in NumPy

    def values(a):
        return LA.eigvalsh(a), LA.solve(a, a)

    with pytest.raises(LinAlgError, match="Eigenvalues did not converge"):
        mlirad.jit(values)(np.full((3, 3), np.nan))
    for hint, function in (
        ("full_matrices=False", lambda a: np.sum(LA.svd(a)[0])),
        ("mode='reduced'", lambda a: np.sum(LA.qr(a, "complete")[0])),
        ("mode='reduced'", lambda a: np.sum(LA.qr(a, "raw")[0])),
    ):
        with pytest.raises(DifferentiationError) as caught:
            mlirad.grad(function)(np.ones((3, 2)))
        assert caught.value.hint is not None and hint in caught.value.hint


WITHOUT_MEMORY = """
import resource
import numpy as np
import mlirad

@mlirad.jit
def transformed(z):
    return np.fft.fft(z)

z = np.ones(2**21, complex)
transformed(z)
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + 40 * 2**20, resource.RLIM_INFINITY))
try:
    transformed(z)
except MemoryError as error:
    print(error)
resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
print(transformed(z)[0])
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the memory of a process is limited as Linux does")
def test_without_memory_a_call_is_left_before_the_loop(tmp_path: Path) -> None:
    """A loop would take the interpreter's lock, and leave their results unchanged."""
    program = tmp_path / "without_memory.py"
    program.write_text(WITHOUT_MEMORY)
    ran = subprocess.run([sys.executable, program], capture_output=True, text=True, check=False)
    assert ran.stdout.splitlines() == ["no memory for the arrays of a compiled function", "(2097152+0j)"], ran.stderr


def test_other_targets() -> None:
    def total(a, b):
        return np.sum(LA.solve(a, b)) + LA.det(a) + LA.slogdet(a)[1] + np.sum(LA.eigh(a)[1])

    kernel = mlirad.jit(total, target="python")
    assert kernel(A, B) == pytest.approx(total(A, B), rel=1e-14)
    np.testing.assert_allclose(mlirad.grad(kernel)(A, B), mlirad.grad(total)(A, B), rtol=1e-12)
    lowered = kernel.lower(A, B)
    assert "np.linalg.slogdet(a)" in lowered.as_text(lowered.stages[-1])
    with pytest.raises(LinAlgError, match="Singular matrix"):
        kernel(A * 0.0, B)
    with pytest.raises(TargetError, match=r"nd\.solve is another library's code"):
        mlirad.jit(lambda a, b: LA.solve(a, b), target="ascend")(A.astype(np.float32), B.astype(np.float32))


def test_complex_products_and_norms() -> None:
    def total(z):
        norms = [LA.norm(z, order) for order in (None, 1, -1, np.inf, "fro")]
        return (
            *norms,
            LA.norm(z, axis=0),
            LA.matrix_power(z, 3),
            LA.multi_dot([z, z, z]),
            LA.trace(z),
            LA.outer(z[0], z[1]),
        )

    z = np.array([[1 + 2j, 3 - 1j], [0.5j, 0.0]])
    for found, wanted in zip(Interpreted(total, "tensor")(z), total(z), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-14)
    moves = [(LA.norm(z + step) - LA.norm(z - step)) / 2e-6 for step in (1e-6, 1e-6j)]
    gradient = mlirad.grad(lambda z: LA.norm(z))(z)
    np.testing.assert_allclose([np.sum(gradient.real), -np.sum(gradient.imag)], moves, rtol=1e-8)


# --- derivatives ------------------------------------------------------------------------------------------------


def all_of(a, b):
    """Numbers that depend on all results of every function."""
    symmetric = a @ a.T + np.eye(3)
    sign, logarithm = LA.slogdet(a)
    w, v = LA.eigh(symmetric)
    u, s, vt = LA.svd(a @ b, full_matrices=False)
    q, r = LA.qr(b)
    x, squares, _, values = LA.lstsq(b, a)
    lower = LA.cholesky(symmetric)
    return (
        np.sum(LA.solve(a, b) ** 2) * sign + logarithm + LA.det(a) + np.sum(LA.inv(a) ** 2),
        np.sum(w * np.abs(v[0])) + np.sum(s * np.abs(u[0, :2] * vt[0])),
        np.sum(np.abs(q) * a[:, :2]) + np.sum(r**2) + np.sum(lower**3),
        np.sum(x**2) + np.sum(squares**2) + np.sum(values**3) + np.sum(LA.pinv(b) ** 3),
    )


A = np.array([[2.0, 0.5, -1.0], [0.25, 1.5, 0.75], [-0.5, 1.0, 3.0]])
B = np.array([[1.0, 2.0], [0.5, -1.0], [3.0, 0.25]])


def difference(f: Callable[..., Any], x: np.ndarray, step: float = 1e-3) -> np.ndarray:
    """The derivative by differences of order 6."""
    weights = {1: 45 / 60, 2: -9 / 60, 3: 1 / 60}
    places = [step * each.reshape(x.shape) for each in np.eye(x.size)]
    rows = [sum(w * (f(x + k * d) - f(x - k * d)) for k, w in weights.items()) / step for d in places]
    return np.array(rows).reshape(*x.shape, *np.shape(rows[0]))


def test_first_and_second_derivatives() -> None:
    def total(a, b):
        parts = all_of(a, b)
        return parts[0] + parts[1] * 2.0 + parts[2] * 3.0 + parts[3] * 0.5

    gradient = mlirad.grad(total, argnums=(0, 1))
    of_a, of_b = gradient(A, B)
    np.testing.assert_allclose(of_a, difference(lambda a: total(a, B), A), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(of_b, difference(lambda b: total(A, b), B), rtol=1e-9, atol=1e-9)
    forward = mlirad.jacfwd(total)
    np.testing.assert_allclose(forward(A, B), of_a, rtol=1e-12, atol=1e-12)
    wanted = difference(lambda a: gradient(a, B)[0], A)
    np.testing.assert_allclose(mlirad.hessian(total)(A, B), wanted, rtol=1e-8, atol=1e-8)


def test_derivatives_of_determinants_of_singular_matrices() -> None:
    singular = np.outer([1.0, 2.0, -1.0], [0.5, 1.0, 2.0]) + np.outer([0.0, 1.0, 1.0], [1.0, 0.0, 1.0])
    gradient = mlirad.grad(LA.det)
    for matrix in (singular, singular * 0.0, np.outer(singular[0], singular[1])):
        np.testing.assert_allclose(gradient(matrix), difference(LA.det, matrix, 0.25), atol=1e-12)
        wanted = difference(gradient, matrix, 0.25)
        np.testing.assert_allclose(mlirad.jacfwd(gradient)(matrix), wanted, atol=1e-12)


def test_sizes_of_the_run() -> None:
    def total(a, m, k):
        part, chosen = a[:k, :k], a[m][:, m]
        solved = LA.solve(part, a[:k, 0]) @ LA.inv(part)[0] + LA.det(part) + LA.slogdet(part)[1]
        return solved + np.sum(LA.cholesky(chosen @ chosen.T + np.eye(len(chosen))) ** 3) + LA.eigvalsh(chosen)[-1]

    kernel, gradient = mlirad.jit(total), mlirad.grad(total)
    for mask, k in (([True, True, True], 3), ([True, False, True], 2)):
        m = np.array(mask)
        np.testing.assert_allclose(kernel(A, m, k), total(A, m, k), rtol=1e-13)
        wanted = difference(lambda a, m=m, k=k: total(a, m, k), A)
        np.testing.assert_allclose(gradient(A, m, k), wanted, rtol=1e-9, atol=1e-10)
    with pytest.raises(CompileError, match="must be known at compile time"):
        mlirad.jit(lambda a, m: LA.svdvals(a[m]))(A, m)


def newton(a, b, n):
    """Systems in a loop and in a branch."""
    x = b
    for k in range(n):
        if k % 2 == 0:
            x = LA.solve(a + np.diag(np.tanh(x)), b + x)
        else:
            x = x + LA.inv(a)[k % 3] * np.linalg.norm(x)
    return np.sum(x * x)


def test_loops_branches_and_lanes() -> None:
    b = B[:, 0]
    wanted = difference(lambda a: newton(a, b, 5), A)
    gradient = mlirad.grad(newton)
    np.testing.assert_allclose(gradient(A, b, 5), wanted, rtol=1e-9)
    np.testing.assert_allclose(mlirad.jacfwd(newton)(A, b, 5), wanted, rtol=1e-9)
    np.testing.assert_allclose(mlirad.grad(mlirad.checkpoint(newton))(A, b, 5), wanted, rtol=1e-9)
    stack = np.stack([A, A.T, A + 1.0])
    found = mlirad.vmap(gradient, in_axes=(0, None, None))(stack, b, 5)
    np.testing.assert_allclose(found, [gradient(each, b, 5) for each in stack], rtol=1e-12)


def test_jacobians_of_solutions_factor_once() -> None:
    """If only the right side has lanes, they are columns of one system."""
    kernel = mlirad.vmap(LA.solve, in_axes=(None, 0))
    assert "tensor<5x3x3xf64>" not in kernel.lower(A, np.ones((5, 3))).as_text("optimized")
    right = np.arange(15.0).reshape(5, 3)
    np.testing.assert_allclose(kernel(A, right), LA.solve(A, right.T).T, rtol=1e-13)


def test_powers_given_as_arguments() -> None:
    def f(a, n):
        return np.sum(LA.matrix_power(a, n)) + n.bit_length()

    a = np.array([[0.5, 0.25], [0.75, 1.5]])
    for n in (-2, 0, 1, 3, 6):
        np.testing.assert_allclose(mlirad.jit(f)(a, n), f(a, n), rtol=1e-13)
    with pytest.raises(CompileError, match="an int whose bit_length is used must be known at compile time"):
        mlirad.jit(lambda a: f(a, int(a[0, 0])))(a)
