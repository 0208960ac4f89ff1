"""Small programs with loops, each with the NumPy arguments to differentiate it at: see `programs`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from mlirad.dialect.arrays.slices import ExtractSliceOp, InsertSliceOp
from mlirad.dialect.core import types
from mlirad.dialect.core.expr import Expr, constant, emit, full, sum_of, where
from mlirad.dialect.ops.contraction import ContractOp
from mlirad.dialect.ops.movement import reshape
from mlirad.testing.expr_functions import branch, for_loop, function, get, put, while_loop

F64, I64 = types.F64, types.I64


@dataclass(frozen=True)
class Program:
    """A function's body, and the arguments at which it is differentiated with respect to all of them."""

    body: Callable[..., Any]
    arguments: Sequence[Any]

    def define(self, module: ModuleOp, name: str = "f") -> Any:
        return function(module, name, [_type_of(argument) for argument in self.arguments], self.body)


def _type_of(argument: Any) -> Any:
    array = np.asarray(argument)
    return types.of_shape(array.shape, types.from_dtype(array.dtype))


def _f(value: float) -> Expr:
    return constant(value, F64)


def _zeros(*shape: int) -> Expr:
    return full(_f(0.0), shape)


def _square_sum(x: Expr) -> Expr:
    return sum_of(x * x)


def _numbers(*shape: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).uniform(0.3, 1.2, shape)


def _recurrence(x: Expr, c: Expr) -> Expr:
    """y[i] = c * sin(y[i - 1]) + x[i]"""

    def step(q: Expr, y: Expr) -> Expr:
        i = q + 1
        return put(c * np.sin(get(y, i - 1)) + get(x, i), y, i)

    return _square_sum(for_loop(x.shape[0] - 1, [put(get(x, 0), _zeros(*x.shape), 0)], step)[0])


def _last_value(x: Expr) -> Expr:
    """s = sin(s) * x[i] + s"""
    (s,) = for_loop(x.shape[0], [_f(0.5)], lambda i, s: np.sin(s) * get(x, i) + s)
    return s


def _seidel(x: Expr) -> Expr:
    """Three sweeps, in place, linear."""

    def sweep(_: Expr, y: Expr) -> Any:
        return for_loop(
            x.shape[0] - 2, [y], lambda q, y: put((get(y, q) + get(y, q + 1) + get(y, q + 2)) * 0.3, y, q + 1)
        )

    return _square_sum(for_loop(3, [x], sweep)[0])


def _stencil(x: Expr) -> Expr:
    """Nonlinear, in place, in a nest of three."""
    n, m = x.shape

    def at(t: Expr, i: Expr, j: Expr, y: Expr) -> Expr:
        value = get(y, i, j + 1) * np.sin(get(y, i + 1, j)) + get(y, i + 2, j + 1) * get(y, i + 1, j + 1)
        return put(value, y, i + 1, j + 1)

    def row(t: Expr, i: Expr, y: Expr) -> Any:
        return for_loop(m - 1, [y], lambda j, y: at(t, i, j, y))

    return _square_sum(for_loop(2, [x], lambda t, y: for_loop(n - 2, [y], lambda i, y: row(t, i, y)))[0])


def _newton(a: Expr) -> Expr:
    """The square root, by a damped Newton iteration."""
    (x,) = while_loop([a], lambda x: abs_of(x * x - a) > 1e-12, lambda x: x - 0.9 * (x * x - a) / (2.0 * x))
    return x


def abs_of(x: Expr) -> Expr:
    return np.abs(x)


def _newton_each(x: Expr) -> Expr:
    """A Newton iteration for every element, the number of trips differing."""

    def step(i: Expr, y: Expr) -> Expr:
        a = get(x, i)
        (root,) = while_loop([a], lambda r: abs_of(r * r - a) > 1e-12, lambda r: r - 0.9 * (r * r - a) / (2.0 * r))
        return put(root * np.sin(root), y, i)

    return _square_sum(for_loop(x.shape[0], [_zeros(*x.shape)], step)[0])


def _break(x: Expr) -> Expr:
    """A for with break: a while that carries a flag; writes under a condition."""
    n = x.shape[0]

    def body(i: Expr, go: Expr, s: Expr, y: Expr) -> Any:
        v = get(x, i)
        s = s + v * np.sin(s)
        (y,) = branch(v > 0.5, lambda: put(s * v, y, i), lambda: y)
        return i + 1, s < 3.0, s, y

    start = [constant(0, I64), constant(True, types.I1), _f(0.7), _zeros(n)]
    _, _, s, y = while_loop(start, lambda i, go, s, y: (i < n) & go, body)
    return s + _square_sum(y)


def _swap(x: Expr) -> Expr:
    """Jacobi, its two buffers swapped."""
    n = x.shape[0]

    def sweep(_: Expr, a: Expr, b: Expr) -> Any:
        (b,) = for_loop(n - 2, [b], lambda i, b: put(get(a, i) * np.sin(get(a, i + 2)), b, i + 1))
        return b, a

    a, b = for_loop(3, [x, x], sweep)
    return _square_sum(a) + sum_of(b)


def _trisolve(a: Expr, b: Expr) -> Expr:
    """x[i] = (b[i] - sum_j<i a[i, j] x[j]) / a[i, i]"""

    def row(i: Expr, x: Expr) -> Expr:
        (s,) = for_loop(i, [get(b, i)], lambda j, s: s - get(a, i, j) * get(x, j))
        return put(s / get(a, i, i), x, i)

    return _square_sum(for_loop(b.shape[0], [_zeros(*b.shape)], row)[0])


def _local(x: Expr) -> Expr:
    """A new array in every outer trip."""
    n = x.shape[0]

    def outer(i: Expr, s: Expr) -> Expr:
        (t,) = for_loop(n, [_zeros(n)], lambda j, t: put(get(x, j) * np.sin(get(x, i) + s), t, j))
        return s + sum_of(t * t) * 0.1

    return for_loop(n, [_f(0.2)], outer)[0]


def _mix(x: Expr) -> Expr:
    """while in if in for; in the else a triangular for that writes in place."""
    n = x.shape[0]

    def outer(i: Expr, y: Expr, s: Expr) -> Any:
        v = get(y, i)

        def then() -> Any:
            (r,) = while_loop([v], lambda r: r > 0.3, lambda r: r * (0.6 + 0.1 * np.sin(r)))
            return put(r * s, y, i), s + r

        def other() -> Any:
            (z,) = for_loop(i, [y], lambda j, z: put(get(z, j) * get(z, i) + np.sin(get(z, j)), z, j))
            return z, s * 1.1

        return branch(v > 0.8, then, other)

    y, s = for_loop(n, [x, _f(1.0)], outer)
    return _square_sum(y) * s


def _zero_trips(x: Expr, c: Expr) -> Expr:
    """Loops that do not run."""
    (a,) = for_loop(0, [c], lambda i, a: np.sin(a) * c)
    (b,) = while_loop([a * 2.0], lambda b: b > 100.0, lambda b: b * b)
    (y,) = for_loop(0, [x], lambda i, y: put(b, y, i))
    return b * c + _square_sum(y)


def _inactive_branch(x: Expr) -> Expr:
    """Branches without a derivative, and one that only passes on."""

    def step(i: Expr, s: Expr, y: Expr) -> Any:
        v = get(x, i)
        s, y = branch(v > 0.7, lambda: (_f(1.0), y), lambda: (s * v, put(s, y, i)))
        return s, y

    s, y = for_loop(x.shape[0], [_f(1.0), _zeros(*x.shape)], step)
    return s + _square_sum(y)


def _masked(x: Expr) -> Expr:
    """where masks a square root that has no derivative at 0."""
    return sum_of(where(x > 0.0, np.sqrt(x), 0.0)) + sum_of(x * x)


def _vector_steps(w: Expr, x: Expr) -> Expr:
    """Arrays as carries: h = tanh(w @ h + x[t]), each step's h kept in a row."""
    steps, n = x.shape

    def step(t: Expr, h: Expr, rows: Expr) -> Any:
        zero = constant(0, I64)
        row = reshape(emit(ExtractSliceOp, x, t, zero, sizes=[1, n], strides=[1, 1]), h.type)
        h = np.tanh(emit(ContractOp, w, h, spec="ij,j->i") + row)
        kept = reshape(h, types.tensor([1, n], F64))
        return h, emit(InsertSliceOp, kept, rows, t, zero, sizes=[1, n], strides=[1, 1])

    h, rows = for_loop(steps, [full(_f(0.1), [n]), _zeros(steps, n)], step)
    return _square_sum(rows) + sum_of(h)


def _while_in_while(x: Expr) -> Expr:
    """Trip counts unknown at both levels."""

    def outer(a: Expr, s: Expr) -> Any:
        (b,) = while_loop([a], lambda b: b < 4.0, lambda b: b * (1.2 + 0.1 * np.sin(s * b)))
        return a * 1.3, s + np.sin(b) * 0.1

    _, s = while_loop([x, x * x], lambda a, s: a < 3.0, outer)
    return s


def _for_in_while(x: Expr) -> Expr:
    """An unknown trip count outside, known ones inside; a value stored in a branch."""

    def body(a: Expr, y: Expr) -> Any:
        def inner(i: Expr, y: Expr) -> Any:
            v = get(y, i)
            (v,) = branch(v > 1.0, lambda: np.sin(v * v), lambda: v * np.exp(v * 0.1))
            return put(v * a, y, i)

        (y,) = for_loop(x.shape[0], [y], inner)
        return a * 1.2, y

    _, y = while_loop([_f(1.0), x], lambda a, y: a < 2.0, body)
    return _square_sum(y)


def programs() -> Mapping[str, Program]:
    """Every program, by name."""
    lower = np.tril(_numbers(5, 5)) + 2 * np.eye(5)
    number = np.float64
    return {
        "recurrence": Program(_recurrence, (_numbers(8), number(1.1))),
        "last_value": Program(_last_value, (_numbers(6),)),
        "seidel": Program(_seidel, (_numbers(7),)),
        "stencil": Program(_stencil, (_numbers(5, 4),)),
        "newton": Program(_newton, (number(3.7),)),
        "newton_each": Program(_newton_each, (_numbers(4) * 4,)),
        "break": Program(_break, (_numbers(9),)),
        "swap": Program(_swap, (_numbers(6),)),
        "trisolve": Program(_trisolve, (lower, _numbers(5))),
        "local": Program(_local, (_numbers(4),)),
        "mix": Program(_mix, (np.array([0.9, 0.4, 1.1, 0.6, 0.95]),)),
        "zero_trips": Program(_zero_trips, (_numbers(3), number(0.7))),
        "inactive_branch": Program(_inactive_branch, (np.array([0.9, 0.4, 0.5, 0.75, 0.65]),)),
        "vector_steps": Program(_vector_steps, (_numbers(3, 3), _numbers(4, 3))),
        "while_in_while": Program(_while_in_while, (number(0.8),)),
        "for_in_while": Program(_for_in_while, (_numbers(3),)),
    }


MASKED = Program(_masked, (np.array([0.0, 0.5, 2.0]),))
