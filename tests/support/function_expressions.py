"""Expressions of NumPy's functions and methods on an array x, for the dtype of what they give.

Reads: nothing. Writes: nothing. Leaves: texts of expressions, of x and of literals.
"""

from __future__ import annotations

JOINED = ("max(x[0], 3)", "min(x[0], 0)")
"""For a Python number or a NumPy number, depending on the values."""

_WITH_NUMBERS = (
    *("np.concatenate([x, [1, 2]])", "np.concatenate([x, [2.5]])", "np.append(x, 3)", "np.append(x, 2.5)"),
    *("np.hstack([x, 1])", "np.stack([x, x])", "np.where(x > 0, x, 0)", "np.where(x > 0, x, 300)"),
    *("np.where(x > 0, 1, 0.5)", "np.where(x > 0, 2.5, x)", "np.where(x > 0, True, x)", "np.where(x > 0, -1, x)"),
    *("np.select([x > 1, x > 0], [x, 2 * x], 0)", "np.select([x > 1, x > 0], [1, 2])", "np.select([x > 1], [x], 2.5)"),
    *("np.select([x > 1], [x], -1)", "np.select([x > 1, x > 0], [1, 2.5], 0)", "np.full(3, True)", "np.full(3, 1)"),
    *("np.full_like(x, 2.5)", "np.full_like(x, 300)", "np.full_like(x, -1)", "np.full_like(x, True)"),
    *("np.full_like(x, np.int64(300))", "np.full_like(x, 1, dtype=np.float32)", "np.full(3, np.uint8(3))"),
    *("np.zeros_like(x)", "np.ones_like(x, dtype=int)", "np.array([1, np.uint8(3)])", "np.array([1, np.float32(3)])"),
    *("np.array([True, np.uint8(3)])", "np.array([np.int8(1), np.uint8(3)])", "np.array([1.5, np.float32(3)])"),
    *("np.array([x[0], 1])", "np.array([x[0], 2.5])", "np.array([[x[0], 1], [2, x[1]]])", "np.asarray([x[0], True])"),
    *("sum(x)", "sum(x, 1)", "sum(x, 0.5)", "sum(v * 2 for v in x)", "max(x)", "min(x)", "max(x[0], x[1])"),
    *("round(x[0])", "pow(x[0], 2)", "divmod(x[0], 2)[0]", "float(x[0])", "int(x[1])", "bool(x[0])"),
    *("np.clip(x, 0, 1)", "np.clip(x, 0, 2.5)", "np.clip(x, 1, 300)", "np.clip(x, None, 3)", "x.clip(0, 100)"),
    *("np.maximum(x, 0)", "np.maximum(x, 0.5)", "np.minimum(x, 300)", "np.hypot(x, 3)", "np.arctan2(x, 2)"),
    *("np.mod(x, 3)", "np.remainder(x, 2.5)", "np.float_power(x, 2)", "np.true_divide(x, 3)", "np.reciprocal(x)"),
    *("x == 300", "x < -1", "x != 2.5", "x + 300", "x - 1", "x * 2.5", "x // 2.5", "x % 300", "x / 3"),
    *("np.arange(3, dtype=x.dtype)", "np.linspace(0, 1, 3, dtype=np.float32)", "np.eye(2, dtype=x.dtype)"),
    *("np.dot(x, x)", "x @ x", "np.outer(x, x)", "np.einsum('i,i->', x, x)", "np.einsum('i->', x)", "np.diff(x)"),
    *("np.add.reduce(x)", "np.minimum.reduce(x)", "np.maximum.reduce(x)", "np.multiply.reduce(x)"),
    *("np.sum(x, keepdims=True)", "np.mean(x, keepdims=True)", "np.sum(x, where=x > 0)", "np.round(x)", "np.sign(x)"),
)
_REDUCTIONS = ("mean", "sum", "prod", "cumsum", "cumprod", "std", "var", "max", "min", "any", "all", "argmax", "argmin")


def _reductions() -> list[str]:
    found: list[str] = []
    for name in _REDUCTIONS:
        found += [f"np.{name}(x)", f"x.{name}()", f"np.{name}(x, axis=0)", f"np.{name}(x.reshape(2, -1), axis=1)"]
        found += [f"x.reshape(2, -1).{name}(axis=0)", f"x.reshape(2, -1).{name}(1)"]
    kinds = ("np.float32", "np.int64", "float", "np.uint8", "bool")
    return found + [f"np.{name}(x, dtype={kind})" for name in _REDUCTIONS[:4] for kind in kinds]


EXPRESSIONS = (*_WITH_NUMBERS, *JOINED, *_reductions())
VALUES = {"b": (False, True, True, False), "i": (100, -3, 7, 120), "u": (100, 3, 7, 120), "f": (1.5, -2.5, 3.0, 300.7)}
"""The elements of x, by the kind of its dtype."""
