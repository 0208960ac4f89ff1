"""Matrices of scipy.sparse as arguments, captured and created inside: products, gradients with their structure,
refusals."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import mlirad

DENSE = np.array([[1.0, 0.0, 2.0, 0.0], [0.0, 3.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]])
X, U = np.array([1.0, 2.0, 3.0, -1.0]), np.array([1.0, -2.0, 0.5])
CLASSES: list[Any] = [sparse.csr_array, sparse.csc_matrix, sparse.coo_array]
MATRIX: Any = sparse.csr_array(DENSE)


def uses(a, x, xs, u):
    products = a @ x, a @ xs, a.dot(x), u @ a, a.T @ u, xs.T @ a.T
    sizes = a.shape, a.nnz, a.ndim, len(a.data), a.dtype == np.float64
    return *products, a.toarray(), (2.0 * a).toarray(), (a / 4.0 * 3).T.toarray(), -a, *sizes


def loss(a, x):
    return np.sum((a @ x) ** 3) + np.sum(a.data)


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
def test_products_and_gradients(kind: Any) -> None:
    """SciPy's result; and a gradient has the same class and pattern, with separate index arrays."""
    a, xs = kind(DENSE), np.arange(8.0).reshape(4, 2)[::-1]
    found, expected = mlirad.jit(uses)(a, X, xs, U), uses(a, X, xs, U)
    for own, scipys in zip(found, expected, strict=True):
        assert type(own) is type(scipys)
        both: tuple[Any, Any] = own, scipys
        pair = [x.toarray() if sparse.issparse(x) else x for x in both]
        np.testing.assert_allclose(*pair, rtol=1e-15)
    if kind is sparse.csc_matrix:
        return
    g, gx = mlirad.grad(loss, argnums=(0, 1))(a, X)
    slope = 3 * (DENSE @ X) ** 2
    assert type(g) is kind and g.shape == a.shape
    np.testing.assert_allclose(g.toarray(), (np.outer(slope, X) + 1) * (DENSE != 0))
    np.testing.assert_allclose(gx, DENSE.T @ slope)
    for own, given in zip(mlirad.tree.leaves(g)[1:], mlirad.tree.leaves(a)[1:], strict=True):
        assert not np.shares_memory(own, given)
        np.testing.assert_array_equal(own, given)


def test_pytrees() -> None:
    leaves, structure = mlirad.tree.flatten({"a": MATRIX})
    assert [len(leaf) for leaf in leaves] == [3, 3, 4]
    assert (mlirad.tree.unflatten(structure, leaves)["a"] != MATRIX).nnz == 0
    other = sparse.csr_array((MATRIX.data, MATRIX.indices, MATRIX.indptr), shape=(3, 5))
    assert mlirad.tree.flatten({"a": other})[1] != structure
    assert mlirad.tree.leaves(sparse.dia_array(DENSE))[0].format == "dia"  # a leaf


def test_one_around_the_function_is_looked_at_in_each_call() -> None:
    """Its numbers, its places and its shape, even when calls run without Python."""
    held: list[Any] = [sparse.csr_array(DENSE)]

    @mlirad.jit
    def scaled(s):
        (a,) = held
        return a.data * s + a.shape[1]

    for _ in range(8):
        np.testing.assert_array_equal(scaled(2.0), 2 * held[0].data + 4)
    held[0].data[0] = 7.0
    np.testing.assert_array_equal(scaled(2.0), [18.0, 8.0, 10.0])
    held[0] = sparse.csr_array((held[0].data, held[0].indices, held[0].indptr), shape=(3, 9))
    np.testing.assert_array_equal(scaled(2.0), [23.0, 13.0, 15.0])


@mlirad.custom_vjp
def product(a, x):
    return a @ x


def product_backward(kept, g):
    a, x = kept
    numbers = np.empty(a.nnz)
    for i in range(a.shape[0]):
        for k in range(a.indptr[i], a.indptr[i + 1]):
            numbers[k] = g[i] * x[a.indices[k]]
    return type(a)((numbers, a.indices, a.indptr), shape=a.shape), a.T @ g


product.defvjp(lambda a, x: (a @ x, (a, x)), product_backward)


def test_rules_loops_and_second_derivatives() -> None:
    """A matrix from a custom rule, and matrices created inside, in a loop, in a dict; a gradient of a gradient."""
    found = mlirad.grad(lambda p: np.sum(product(p["a"], p["x"]) ** 2))({"a": MATRIX, "x": X})
    slope = 2 * DENSE @ X
    np.testing.assert_allclose(found["a"].toarray(), np.outer(slope, X) * (DENSE != 0))
    np.testing.assert_allclose(found["x"], DENSE.T @ slope)

    def of_numbers(data, x):
        a = sparse.csr_array((data, MATRIX.indices, MATRIX.indptr), shape=MATRIX.shape)
        for _ in range(2):
            x = x + a.T @ np.sin(a @ x)
        return np.sum(x)

    mlirad.check_grads(of_numbers, (MATRIX.data, X))

    def doubled(data):
        return sparse.csr_array((2 * data, MATRIX.indices, MATRIX.indptr), shape=MATRIX.shape)

    out, tangent = mlirad.jvp(doubled, (MATRIX.data,), (np.ones(3),))
    np.testing.assert_array_equal(out.toarray(), 2 * DENSE)
    np.testing.assert_array_equal(tangent.toarray(), 2.0 * (DENSE != 0))
    inner = mlirad.grad(lambda a: np.sum(a.data**3))
    outer = mlirad.grad(lambda a: np.sum(inner(a).data ** 2))(MATRIX)
    np.testing.assert_allclose(outer.data, 36 * MATRIX.data**3)
    assert mlirad.grad(lambda a: 3.0)(MATRIX).nnz == 3
    with mlirad.disable_jit():
        np.testing.assert_allclose(mlirad.grad(loss)(MATRIX, X).data, mlirad.grad(loss)(MATRIX, X).data)
    pattern = mlirad.jacobian(lambda x: MATRIX @ np.sin(x))(X)
    np.testing.assert_allclose(pattern.toarray(), DENSE * np.cos(X))
    assert pattern.nnz == 3
    lanes = mlirad.vmap(lambda a, x: a @ x, in_axes=(None, 0))(MATRIX, np.stack([X, 2 * X]))
    np.testing.assert_allclose(lanes, [DENSE @ X, 2 * DENSE @ X])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (mlirad.jit(lambda a: a.sum()), "'sum' of a csr_array is not compiled"),
        (mlirad.jit(lambda a: a + a), "write a loop over its arrays .data, .indices and .indptr"),
        (mlirad.jit(lambda a: a @ a), "a sparse matrix times anything but an array is not compiled"),
        (mlirad.jit(lambda a: a * np.ones(4)), "write a @ x, or compute with its data"),
        (mlirad.jit(lambda a: a @ np.ones(3)), "matmul: dimension mismatch"),
        (mlirad.jit(lambda a: sparse.csr_array(a.data)), "write csr_array((data, indices, indptr), shape=(m, n))"),
        (mlirad.jit(lambda a: setattr(a, "data", a.data + 1)), "an attribute of a csr_array cannot be assigned"),
        (mlirad.jacfwd(lambda a: a.data * 2), "a Jacobian takes no csr_array; mlirad.grad does"),
        (lambda a: mlirad.jvp(lambda a: a @ X, (a,), (a,)), "make it inside: csr_array((data, indices, indptr)"),
        (lambda a: mlirad.vjp(lambda a: a @ X, a), "this derivative takes no csr_array"),
        (lambda a: mlirad.check_grads(loss, (a, X)), "cannot be moved along a direction"),
        (mlirad.vmap(lambda a, x: a @ x), "argument 0 of <lambda> is a csr_array, whose arrays have no lanes"),
        (
            lambda a: mlirad.vmap(lambda s: type(a)((a.data * s, a.indices, a.indptr), shape=a.shape))(X),
            "returns a csr_array, which cannot be stacked into an array",
        ),
        (lambda a: mlirad.grad(lambda a: np.sum(a.data))(a.astype(int)), "only floats have derivatives"),
        (mlirad.jit(lambda a: a @ np.ones(9)), "mismatch"),
    ],
)
def test_refusals(call: Any, message: str) -> None:
    arguments = (MATRIX, X) if "vmap" in repr(call) else (MATRIX,)
    with pytest.raises((mlirad.CompileError, TypeError, ValueError)) as raised:
        call(*arguments)
    assert message in str(raised.value)


def test_places_outside_are_errors() -> None:
    """A matrix with wrong index arrays reads no memory of others."""
    wrong: Any = sparse.csr_array(DENSE)
    wrong.indices[0] = 1000
    with pytest.raises(IndexError, match="index 1000 is out of bounds"):
        mlirad.jit(lambda a, x: a @ x)(wrong, X)
    wrong = sparse.csr_array(DENSE)
    wrong.indptr[1] = 50
    with pytest.raises(IndexError, match="out of bounds"):
        mlirad.jit(lambda a, x: a @ x)(wrong, X)


PROGRAM = """
import sys
import numpy as np
from scipy import sparse
import mlirad

slope = mlirad.grad(lambda a, x: np.sum((a @ x) ** 2))
for n in map(int, sys.argv[1:]):
    print(slope(sparse.csr_array(np.eye(3, n)), np.arange(float(n))).data, "xdsl.ir" in sys.modules)
"""


def test_code_on_disk_is_of_a_shape(tmp_path: Any) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    environment = {**os.environ, "MLIRAD_CACHE_DIR": str(tmp_path / "cache")}
    environment.pop("MLIRAD_CACHE", None)

    def told(*columns: str) -> str:
        command = [sys.executable, str(program), *columns]
        done = subprocess.run(command, env=environment, capture_output=True, check=True, text=True, timeout=120)
        return done.stdout.strip()

    assert told("3") == "[0. 2. 8.] True"
    assert told("3", "5") == "[0. 2. 8.] False\n[0. 2. 8.] True"
