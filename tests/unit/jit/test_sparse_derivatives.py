"""Sparse Jacobians and Hessians: the dense ones, patterns that are exact, few sweeps, refusals."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse

import mlirad
from mlirad.jit.sparse.colouring import column_colours, star_colours

EDGES = np.array([[0, 3], [3, 1], [4, 2]])


def boundary_value(u):
    """A residual as a loop with branches: of the index, and (upwind) of the values."""
    n = u.shape[0]
    r = np.empty(n)
    for i in range(n):
        if i == 0:
            r[i] = u[0] - 1.0
        elif i == n - 1:
            r[i] = u[i] * u[i]
        else:
            if u[i] > 0:
                slope = u[i] - u[i - 1]
            else:
                slope = u[i + 1] - u[i]
            r[i] = u[i] * slope - (u[i + 1] - 2.0 * u[i] + u[i - 1])
    return r


def springs(x, edges):
    force = np.zeros(x.shape[0])
    for k in range(edges.shape[0]):
        i, j = edges[k, 0], edges[k, 1]
        pull = np.sin(x[i] - x[j])
        force[i] -= pull
        force[j] += pull
    return force


def mixed(x):
    """Slices, reshapes, index arrays, products, reductions, where, sort, in-place writes."""
    y = np.concatenate([x[:3] * x[1:4], np.where(x[2:4] > 0, x[2:4], x[4:6]), [np.sum(x[::3])]])
    y[0] += np.max(x[6:8])
    z = np.sort(x[4:7])
    w = np.array([[1.0, 0.0], [2.0, 1.0]]) @ x[6:8]
    return np.concatenate([y, z, w, x[[7, 0]] ** 2])


MIXED = """
11....11 .11..... ..11.... ..1.1... ...1.1.. 1..1..1. ....111. ....111. ....111. ......11 ......11 .......1 1.......
"""


def dense(text: str) -> np.ndarray:
    return np.array([[mark == "1" for mark in row] for row in text.split()])


def test_jacobian_of_a_loop_with_branches() -> None:
    jacobian = mlirad.jacobian(boundary_value)
    for u in (np.linspace(-1.0, 1.0, 9), np.zeros(9)):
        found = jacobian(u)
        assert isinstance(found, scipy.sparse.csr_array)
        np.testing.assert_array_equal(found.toarray(), mlirad.jacfwd(boundary_value)(u))
    expected = np.eye(9, dtype=bool) | np.eye(9, k=1, dtype=bool) | np.eye(9, k=-1, dtype=bool)
    expected[0, 1] = expected[8, 7] = False
    np.testing.assert_array_equal(jacobian.pattern(u).toarray(), expected)
    assert set(jacobian.colours(u)) == {0, 1, 2}


def test_ten_thousand_unknowns_take_three_sweeps() -> None:
    n = 10_000
    jacobian = mlirad.jacobian(boundary_value)
    u = np.linspace(-1.0, 1.0, n)
    found = jacobian(u)
    expected = cast(Any, scipy.sparse).diags_array([1.0, 1.0, 1.0], offsets=[-1, 0, 1], shape=(n, n)).tolil()
    expected[0, 1] = expected[n - 1, n - 2] = 0.0
    assert (jacobian.pattern(u) != (expected.tocsr() != 0)).nnz == 0
    assert jacobian.colours(u).max() == 2
    step = 1e-6 * np.cos(np.arange(n))
    change = (boundary_value(u + step) - boundary_value(u - step)) / 2e-6
    np.testing.assert_allclose(found @ np.cos(np.arange(n)), change, atol=1e-8)


def test_pattern_of_many_ops() -> None:
    x = np.linspace(-1.0, 1.0, 8) ** 3 + 0.01
    jacobian = mlirad.jacobian(mixed)
    np.testing.assert_array_equal(jacobian.pattern(x).toarray(), dense(MIXED))
    np.testing.assert_array_equal(jacobian(x).toarray(), mlirad.jacfwd(mixed)(x))
    single = x.astype(np.float32)
    assert jacobian(single).dtype == mlirad.jacfwd(mixed)(single).dtype
    np.testing.assert_allclose(jacobian(single).toarray(), mlirad.jacfwd(mixed)(single), rtol=1e-6)


def test_the_pattern_follows_the_other_arguments() -> None:
    """Index arrays, as arguments and from around the function, are read again at each call."""
    x = np.linspace(0.1, 0.9, 5)
    jacobian, dense_jacobian = mlirad.jacobian(springs), mlirad.jacfwd(springs)
    captured = EDGES.copy()
    around = mlirad.jacobian(lambda x: springs(x, captured))
    for edges in (EDGES, EDGES[::-1, ::-1], np.array([[0, 1], [1, 2], [0, 2]])):
        captured[...] = edges
        for found in (jacobian(x, edges), around(x)):
            np.testing.assert_array_equal(found.toarray(), dense_jacobian(x, edges))
    assert jacobian.pattern(x, EDGES).sum() == 5 + 6
    np.testing.assert_array_equal(mlirad.jacobian(springs, argnums=-2)(x, EDGES).toarray(), dense_jacobian(x, EDGES))


def test_hessians() -> None:
    def rosenbrock(x):
        total = 0.0
        for i in range(x.shape[0] - 1):
            total += 100.0 * (x[i + 1] - x[i] ** 2) ** 2 + (1.0 - x[i]) ** 2
        return total

    hessian = mlirad.hessian(rosenbrock, sparsity="find")
    x = np.linspace(-1.2, 1.0, 50)
    np.testing.assert_allclose(hessian(x).toarray(), scipy.optimize.rosen_hess(x), rtol=1e-12, atol=1e-10)
    assert hessian.colours(x).max() == 2
    assert hessian.pattern(x).sum() == 50 + 2 * 49
    arrow = mlirad.hessian(lambda x: np.sum(np.sin(x[1:]) * x[0]), sparsity="find")
    np.testing.assert_allclose(
        arrow(x).toarray(), mlirad.hessian(lambda x: np.sum(np.sin(x[1:]) * x[0]))(x), rtol=1e-13, atol=1e-15
    )
    assert arrow.colours(x).max() == 1


def test_arrays_of_other_shapes() -> None:
    def heat(u):
        v = u.copy()
        v[1:-1, 1:-1] += 0.1 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4.0 * u[1:-1, 1:-1])
        return v

    u = np.random.default_rng(0).normal(size=(5, 6))
    jacobian = mlirad.jacobian(heat)
    for given in (u, u[::-1, ::-1], np.asfortranarray(u)):
        np.testing.assert_allclose(jacobian(given).toarray(), mlirad.jacfwd(heat)(given).reshape(30, 30), atol=1e-15)
    assert jacobian.pattern(u).sum() == 30 + 4 * 12
    assert jacobian.colours(u).max() < 8
    assert mlirad.jacobian(heat)(np.zeros((3, 0))).shape == (0, 0)
    assert mlirad.jacobian(lambda x: x[0] * x[1])(np.array([2.0, 3.0])).toarray().tolist() == [[3.0, 2.0]]


@mlirad.custom_jvp
def by_tangents(x):
    return x * x


@by_tangents.defjvp
def by_tangents_jvp(primals, tangents):
    """It depends on other numbers than the function: on the first one, too."""
    (x,), (t,) = primals, tangents
    return by_tangents(x), 2.0 * x * t + t[0]


@mlirad.custom_vjp
def by_cotangents(x):
    return np.sum(x)


def by_cotangents_bwd(kept, g):
    """Every other number, and those before it where that is positive."""
    found = np.zeros_like(kept)
    for i in range(0, kept.shape[0], 2):
        found[i] += g * kept[i] if kept[i] > 0.0 else g
    return (found,)


by_cotangents.defvjp(lambda x: (by_cotangents(x), x), by_cotangents_bwd)
checkpointed = mlirad.checkpoint(lambda x: np.sin(x) * x[::-1])


def folded(v, k):
    total = 0.0
    for i in range(v.shape[0]):
        if v[i] > 0.3:
            total += k * v[i]
        else:
            total -= np.sin(v[i])
    return total


def with_calls(x):
    r = np.empty(5)
    for i in range(3):
        r[i] = by_cotangents(by_tangents(x[i : i + 3])) if x[i] > 0.0 else x[0]
    r[3] = folded(x[:2], 1.0) + folded(x[1:3], 2.0) + folded(x[:2], x[3])
    r[4] = folded(x[2:4], 3.0) * folded(x[3:], 4.0)
    return np.concatenate([r, checkpointed(checkpointed(x))])


WITH_CALLS = """
1.1.. 11.1. 1.1.1 1111. ..111 1...1 .1.1. ..1.. .1.1. 1...1
"""


def test_patterns_go_through_calls() -> None:
    """Functions that several calls share, that are checkpointed, and that have a rule for one of the modes."""
    x = np.array([0.5, -0.3, 0.7, 1.1, -2.0])
    assert "mlirad.shared" in mlirad.jit(with_calls).lower(x).as_text("tensor")
    jacobian = mlirad.jacobian(with_calls)
    np.testing.assert_array_equal(jacobian.pattern(x).toarray(), dense(WITH_CALLS))
    np.testing.assert_array_equal(jacobian(x).toarray(), mlirad.jacfwd(with_calls)(x))

    def energy(x):
        return by_cotangents(by_tangents(x)) + folded(x[1:3], x[0]) * folded(x[3:], 1.0) + folded(x[:2], 2.0)

    found = mlirad.hessian(energy, sparsity="find")
    np.testing.assert_allclose(found(x).toarray(), mlirad.hessian(energy)(x), rtol=1e-13)


def while_of_values(x):
    y = x * 1.0
    while y[0] < 1.0:
        y *= 2.0
    return y


def chosen_element(x):
    return x[np.array([int(x[0])])]


def power(v, n):
    return 1.0 if n == 0 else v * power(v, n - 1)


def powers(x):
    n = 0
    while n * n < x.shape[0] + 1 + EDGES[0, 0]:
        n += 1
    return x * power(x[0], n)


def raises(x):
    if x[0] > 100.0:
        raise ValueError("too large")
    return x * x


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (while_of_values, "how often this loop runs"),
        (chosen_element, "which elements are used here"),
        (powers, "this call is recursive"),
    ],
)
def test_what_the_values_decide_is_refused(function: Any, message: str) -> None:
    x = np.array([0.5, 1.5, 2.5])
    with pytest.raises(mlirad.DifferentiationError, match=message) as caught:
        mlirad.jacobian(function)(x)
    assert caught.value.filename == __file__
    given = mlirad.jacobian(function, sparsity=np.ones((function(x).size, 3)))
    np.testing.assert_array_equal(given(x).toarray(), mlirad.jacfwd(function)(x))


def test_a_check_on_the_side_that_is_not_taken() -> None:
    with pytest.raises(ValueError, match="too large") as caught:
        mlirad.jacobian(raises)(np.ones(2))
    assert "give sparsity=pattern" in caught.value.__notes__[0]


def test_bad_arguments() -> None:
    x = np.ones(3)
    with pytest.raises(ValueError, match="sparsity has 2 rows, and <lambda> gives 3"):
        mlirad.jacobian(lambda x: x * x, sparsity=np.ones((2, 3)))(x)
    with pytest.raises(ValueError, match=r"the shape \(3, 4\), and the argument has 3"):
        mlirad.jacobian(lambda x: x * x, sparsity=np.ones((3, 4)))(x)
    with pytest.raises(TypeError, match="argument 0 is a float"):
        mlirad.jacobian(lambda x: x * x)(2.0)
    with pytest.raises(TypeError, match="with respect to one argument"):
        mlirad.jacobian(lambda x: x * x, argnums=(0, 1))  # pyright: ignore[reportArgumentType]  # what is tested
    with pytest.raises(TypeError, match="called with 1 arguments"):
        mlirad.jacobian(lambda x: x * x, argnums=1)(x)
    with pytest.raises(ValueError, match=r"sparsity is 'find' or a pattern .*, not 'band'"):
        mlirad.jacobian(lambda x: x * x, sparsity="band")
    with pytest.raises(TypeError, match="without aux"):
        mlirad.hessian(lambda x: (x.sum(), x), has_aux=True, sparsity="find")


def test_in_a_kernel_it_is_refused() -> None:
    def newton(x):
        return mlirad.jacobian(lambda y: y * y)(x)

    with pytest.raises(mlirad.UnsupportedSyntaxError, match=r"sparse matrices are not compiled[^$]*use mlirad.jacfwd"):
        mlirad.jit(newton)(np.ones(3))


def test_colours() -> None:
    """No row has two columns of a colour; stars: each entry of a symmetric matrix can be read off a sum."""
    rng = np.random.default_rng(3)
    for _ in range(30):
        pattern = scipy.sparse.csr_array(rng.random((12, 15)) < 0.2)
        colours = column_colours(pattern)
        for row in pattern.toarray():
            assert len(set(colours[row])) == row.sum()
        square = rng.random((14, 14)) < 0.12
        symmetric = square | square.T | np.eye(14, dtype=bool)
        colours = star_colours(scipy.sparse.csr_array(symmetric))
        for i, j in zip(*np.nonzero(symmetric), strict=True):
            alone = [np.sum(symmetric[row] & (colours == colours[column])) == 1 for row, column in ((i, j), (j, i))]
            assert any(alone)


def test_least_squares_and_minimize() -> None:
    """SciPy's solvers take them as they are."""
    target = np.linspace(0.2, 1.0, 40)

    def residual(u):
        return boundary_value(u) - boundary_value(target)

    jacobian = mlirad.jacobian(residual)
    found = scipy.optimize.least_squares(residual, np.ones(40), jac=cast(Any, jacobian))
    np.testing.assert_allclose(boundary_value(found.x), boundary_value(target), atol=1e-7)
