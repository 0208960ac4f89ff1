"""A sum of multiples of expressions, as a person would write it: `n - 2*k + 1`.

Reads: expressions with integer factors. Writes: nothing. Leaves: one expression.
"""

from __future__ import annotations

from collections.abc import Sequence

from mlirad.dialect.core.numpy_source import NumpyText, Rank, infix, literal, text


def sum_of(terms: Sequence[tuple[NumpyText, int]], constant: int) -> NumpyText:
    """The sum of terms, each with its factor, and of a constant. Positive terms come first."""
    total: NumpyText | None = None
    for expression, factor in terms:
        if factor > 0:
            term = _scaled(expression, factor)
            total = term if total is None else infix(total, "+", term, Rank.SUM)
    if total is None and (constant > 0 or not terms):
        total, constant = literal(constant), 0
    for expression, factor in terms:
        if factor < 0:
            term = _scaled(expression, -factor)
            total = term.negative() if total is None else infix(total, "-", term, Rank.SUM)
    assert total is not None
    return infix(total, "+" if constant > 0 else "-", literal(abs(constant)), Rank.SUM) if constant else total


def _scaled(expression: NumpyText, factor: int) -> NumpyText:
    return expression if factor == 1 else infix(text(factor, is_numpy=False), "*", expression, Rank.PRODUCT)
