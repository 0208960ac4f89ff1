"""Programs with slices of lengths that change from trip to trip, each with its NumPy function."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from loop_programs import Program

from mlirad.dialect.arrays.slices import add_slice, extract_slice, insert_slice
from mlirad.dialect.core import types
from mlirad.dialect.core.expr import Expr, broadcast_scalar, constant, full, sum_of, where
from mlirad.dialect.ops.contraction import contract
from mlirad.dialect.ops.movement import reshape
from mlirad.testing.expr_functions import branch, for_loop, get, put, while_loop

Length = Expr | int


@dataclass(frozen=True)
class Sliced(Program):
    """`numpy` does what the body does, in place where the body returns an argument changed."""

    numpy: Callable[..., Any]


def i64(value: Length) -> Expr:
    return value if isinstance(value, Expr) else constant(value, types.I64)


def _vector(part: Expr) -> Expr:
    """A slice of one row or column as a vector."""
    return reshape(part, types.tensor([size for size in part.shape if size != 1], part.element))


def row(a: Expr, i: Expr, begin: Length, length: Length) -> Expr:
    """a[i, begin:begin + length]"""
    return _vector(extract_slice(a, [i, i64(begin)], [1, length]))


def column(a: Expr, j: Expr, begin: Length, length: Length) -> Expr:
    """a[begin:begin + length, j]"""
    return _vector(extract_slice(a, [i64(begin), j], [length, 1]))


def head(x: Expr, length: Length) -> Expr:
    """x[:length]"""
    return extract_slice(x, [i64(0)], [length])


def flipped_head(x: Expr, length: Expr) -> Expr:
    """x[:length][::-1], length > 0"""
    return extract_slice(x, [length - 1], [length], [-1])


def dot(x: Expr, y: Expr) -> Expr:
    return contract("i,i->", x, y)


def _cholesky(a: Expr) -> Expr:
    def step(i: Expr, a: Expr) -> Any:
        def left(j: Expr, a: Expr) -> Expr:
            return put((get(a, i, j) - dot(row(a, i, 0, j), row(a, j, 0, j))) / get(a, j, j), a, i, j)

        (a,) = for_loop(i, [a], left)
        return put(np.sqrt(get(a, i, i) - dot(row(a, i, 0, i), row(a, i, 0, i))), a, i, i)

    return for_loop(a.shape[0], [a], step)[0]


def _numpy_cholesky(a: np.ndarray) -> np.ndarray:
    for i in range(a.shape[0]):
        for j in range(i):
            a[i, j] = (a[i, j] - a[i, :j] @ a[j, :j]) / a[j, j]
        a[i, i] = np.sqrt(a[i, i] - a[i, :i] @ a[i, :i])
    return a


def _lu(a: Expr) -> Expr:
    n = a.shape[0]

    def step(i: Expr, a: Expr) -> Any:
        def left(j: Expr, a: Expr) -> Expr:
            return put((get(a, i, j) - dot(row(a, i, 0, j), column(a, j, 0, j))) / get(a, j, j), a, i, j)

        def right(q: Expr, a: Expr) -> Expr:
            j = i + q
            return put(get(a, i, j) - dot(row(a, i, 0, i), column(a, j, 0, i)), a, i, j)

        (a,) = for_loop(i, [a], left)
        return for_loop(i64(n) - i, [a], right)

    return for_loop(n, [a], step)[0]


def _numpy_lu(a: np.ndarray) -> np.ndarray:
    n = len(a)
    for i in range(n):
        for j in range(i):
            a[i, j] = (a[i, j] - a[i, :j] @ a[:j, j]) / a[j, j]
        for j in range(i, n):
            a[i, j] -= a[i, :i] @ a[:i, j]
    return a


def _ludcmp(a: Expr, b: Expr) -> Expr:
    a, n = _lu(a), a.shape[0]

    def forward(i: Expr, y: Expr) -> Expr:
        return put(get(b, i) - dot(row(a, i, 0, i), head(y, i)), y, i)

    def backward(q: Expr, x: Expr) -> Expr:
        i = (n - 1) - q
        rest = dot(row(a, i, i + 1, q), extract_slice(x, [i + 1], [q]))
        return put((get(y, i) - rest) / get(a, i, i), x, i)

    (y,) = for_loop(n, [full(constant(0, types.F64), [n])], forward)
    return for_loop(n, [full(constant(0, types.F64), [n])], backward)[0]


def _numpy_ludcmp(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    a, n = _numpy_lu(a), len(b)
    y, x = np.zeros(n), np.zeros(n)
    for i in range(n):
        y[i] = b[i] - a[i, :i] @ y[:i]
    for i in range(n - 1, -1, -1):
        x[i] = (y[i] - a[i, i + 1 :] @ x[i + 1 :]) / a[i, i]
    return x


def _trisolv(lower: Expr, b: Expr) -> Expr:
    def step(i: Expr, x: Expr) -> Expr:
        return put((get(b, i) - dot(row(lower, i, 0, i), head(x, i))) / get(lower, i, i), x, i)

    return for_loop(b.shape[0], [full(constant(0, types.F64), b.shape)], step)[0]


def _numpy_trisolv(lower: np.ndarray, b: np.ndarray) -> np.ndarray:
    x = np.zeros_like(b)
    for i in range(len(b)):
        x[i] = (b[i] - lower[i, :i] @ x[:i]) / lower[i, i]
    return x


def _durbin(r: Expr) -> Expr:
    y = put(-get(r, 0), full(constant(0, types.F64), r.shape), 0)

    def step(q: Expr, y: Expr, alpha: Expr, beta: Expr) -> Any:
        k = q + 1
        beta = beta * (1.0 - alpha * alpha)
        alpha = -((get(r, k) + dot(flipped_head(r, k), head(y, k))) / beta)
        known = head(y, k)
        moved = known + broadcast_scalar(alpha, known) * flipped_head(y, k)
        return put(alpha, insert_slice(moved, y, [i64(0)]), k), alpha, beta

    return for_loop(r.shape[0] - 1, [y, -get(r, 0), constant(1.0, types.F64)], step)[0]


def _numpy_durbin(r: np.ndarray) -> np.ndarray:
    y = np.zeros_like(r)
    y[0] = alpha = -r[0]
    beta = 1.0
    for k in range(1, len(r)):
        beta *= 1.0 - alpha * alpha
        alpha = -(r[k] + np.dot(np.flip(r[:k]), y[:k])) / beta
        y[:k] += alpha * np.flip(y[:k])
        y[k] = alpha
    return y


def _gramschmidt(a: Expr) -> Any:
    """Whole rows and blocks at once: a vector times a matrix, and an outer product, of changing widths."""
    m, n = a.shape
    zero = constant(0, types.F64)

    def step(k: Expr, a: Expr, q: Expr, r: Expr) -> Any:
        of_k = column(a, k, 0, m)
        norm = np.sqrt(dot(of_k, of_k))
        r = put(norm, r, k, k)
        unit = of_k / broadcast_scalar(norm, of_k)
        q = insert_slice(reshape(unit, types.tensor((m, 1), a.element)), q, [i64(0), k])
        width = (n - 1) - k
        rest = extract_slice(a, [i64(0), k + 1], [m, width])
        products = contract("i,ij->j", unit, rest)
        r = insert_slice(reshape(products, types.tensor((1, -1), a.element)), r, [k, k + 1])
        return insert_slice(rest - contract("i,j->ij", unit, products), a, [i64(0), k + 1]), q, r

    _, q, r = for_loop(n, [a, full(zero, (m, n)), full(zero, (n, n))], step)
    return q, r


def _numpy_gramschmidt(a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    m, n = a.shape
    q, r = np.zeros((m, n)), np.zeros((n, n))
    for k in range(n):
        r[k, k] = np.sqrt(a[:, k] @ a[:, k])
        q[:, k] = a[:, k] / r[k, k]
        r[k, k + 1 :] = q[:, k] @ a[:, k + 1 :]
        a[:, k + 1 :] -= np.outer(q[:, k], r[k, k + 1 :])
    return q, r


def _prefixes(x: Expr) -> Expr:
    """Values of traced size that something nonlinear needs again, some of them in a branch and in a while."""

    def step(q: Expr, y: Expr, total: Expr) -> Any:
        n = q + 1
        waves = np.sin(head(y, n)) * head(x, n)
        squares = waves * waves
        (bent,) = branch(sum_of(waves) > 0.3, lambda: [np.exp(squares)], lambda: [np.tanh(waves) * squares])
        kept = where(bent > 0.5, bent, 0.5)
        y = add_slice(kept * waves, y, [i64(0)])
        total = total + sum_of(kept) / (sum_of(squares) + 1.0)
        (total,) = while_loop([total], lambda t: t > 3.0, lambda t: [t - sum_of(np.sin(head(y, n))) ** 2.0 - 1.0])
        return y, total

    y, total = for_loop(x.shape[0], [x * 1.0, constant(0, types.F64)], step)
    return sum_of(y * y) + total


def _numpy_prefixes(x: np.ndarray) -> Any:
    y, total = x.copy(), 0.0
    for n in range(1, len(x) + 1):
        waves = np.sin(y[:n]) * x[:n]
        squares = waves * waves
        bent = np.exp(squares) if np.sum(waves) > 0.3 else np.tanh(waves) * squares
        kept = np.where(bent > 0.5, bent, 0.5)
        y[:n] += kept * waves
        total = total + np.sum(kept) / (np.sum(squares) + 1.0)
        while total > 3.0:
            total = total - np.sum(np.sin(y[:n])) ** 2.0 - 1.0
    return np.sum(y * y) + total


def _carried(x: Expr) -> Expr:
    """A loop around a slice of traced length that it carries, from whole to nothing."""

    def step(q: Expr, total: Expr) -> Any:
        part = extract_slice(x, [q], [x.shape[0] - q])
        (part,) = for_loop(3, [part], lambda _, p: [np.sin(p) * p])
        return total + sum_of(part * part)

    return for_loop(x.shape[0] + 1, [constant(0, types.F64)], step)[0]


def _numpy_carried(x: np.ndarray) -> Any:
    total = 0.0
    for q in range(len(x) + 1):
        part = x[q:]
        for _ in range(3):
            part = np.sin(part) * part
        total = total + np.sum(part * part)
    return total


def _spd(n: int) -> np.ndarray:
    a = np.random.default_rng(3).uniform(0.1, 0.9, (n, n))
    return a @ a.T + n * np.eye(n)


def programs(n: int = 6) -> Mapping[str, Sliced]:
    """Every program, by name, on arrays of n elements along each axis."""
    rng = np.random.default_rng(1)
    square = rng.uniform(0.1, 0.9, (n, n)) + n * np.eye(n)
    x, small = rng.uniform(0.3, 0.9, n), rng.uniform(-0.3, 0.3, n)
    return {
        "cholesky": Sliced(_cholesky, (_spd(n),), _numpy_cholesky),
        "lu": Sliced(_lu, (square,), _numpy_lu),
        "ludcmp": Sliced(_ludcmp, (square, x), _numpy_ludcmp),
        "trisolv": Sliced(_trisolv, (np.tril(square), x), _numpy_trisolv),
        "durbin": Sliced(_durbin, (small,), _numpy_durbin),
        "gramschmidt": Sliced(_gramschmidt, (square[:, : n - 1].copy(),), _numpy_gramschmidt),
        "prefixes": Sliced(_prefixes, (x,), _numpy_prefixes),
        "carried": Sliced(_carried, (x,), _numpy_carried),
    }


def outputs(program: Sliced) -> int:
    """How many results a program has."""
    result = program.numpy(*(np.copy(argument) for argument in program.arguments))
    return len(result) if isinstance(result, tuple) else 1


def expected(program: Sliced) -> tuple[Any, ...]:
    result = program.numpy(*(np.copy(argument) for argument in program.arguments))
    return result if isinstance(result, tuple) else (result,)


def exactly(program: Sliced) -> tuple[Any, ...]:
    """The results in extended precision."""
    result = program.numpy(*(argument.astype(np.longdouble) for argument in program.arguments))
    return result if isinstance(result, tuple) else (result,)
