"""What ops answer with: cotangents, how memory is used, and the loops that compute an op.

Reads: nothing. Writes: nothing. Leaves: records that passes read.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.ir import SSAValue

from mlirad.dialect.core.expr import Expr

# The loops along which an array's axes run.
Dims = tuple[int, ...]


@dataclass(frozen=True)
class At:
    """A cotangent that affects only a part of its operand: `add(accumulator)` adds it in place."""

    add: Callable[[Expr], Expr]
    is_scattered: bool = False
    """Whether the part is elements here and there, so that all of the array has to be zeros otherwise."""


Cotangent = Expr | At | None
"""An op's cotangent for an operand; None stands for zeros."""
Given = Sequence[Expr | None]
"""The cotangents of an op's results, or the tangents of its operands; None stands for zeros."""
Series = Sequence[Expr | None]
"""The coefficients of a truncated Taylor series, the value first; None stands for zeros."""


@dataclass(frozen=True)
class Memory:
    """How an op uses its operands' memory.

    overwrites: the operand whose buffer the result takes. changes: whether any of its elements changes. views: the
    operand whose memory the result may be a view of. shape_only: operands that are read only for their shape. cost: per
    element, in additions; see `analysis/cost.py`.
    """

    overwrites: int | None = None
    changes: bool = True
    views: int | None = None
    shape_only: frozenset[int] = frozenset()
    cost: int = 1


@dataclass(frozen=True)
class Generic:
    """An op that is one `linalg.generic`.

    maps: for every operand, then for the result, the loop along which each axis runs. Loops without an axis in the
    result are reduced. body: computes the element of the result, in upstream ops, from the elements of the operands
    (then the counters of the loops `counters`; then, if there are reductions, the accumulator). initial: the
    accumulator's initial value. start: an operand, after those with a map, that is the initial value instead; `initial`
    must then be neutral. sizes: the number of further operands without a map, which are the result's unknown sizes;
    without them, an operand that runs along an axis has its size.
    """

    maps: tuple[Dims, ...]
    body: Callable[..., SSAValue]
    initial: int | float | None = None
    sizes: int = 0
    counters: Dims = ()
    start: int | None = None

    @property
    def is_pointwise(self) -> bool:
        """Whether each element of the result is computed from the elements at the same index."""
        write = self.maps[-1]
        is_whole = set(self.maps) == {write} and write == tuple(range(len(write)))
        return is_whole and not self.counters and not self.sizes and self.initial is None

    def repeats(self, dim: int) -> bool:
        """Whether the element of the result is constant along a loop."""
        return dim not in self.counters and not any(dim in read for read in self.maps[:-1])


@dataclass(frozen=True)
class Composed:
    """An op composed of a few other mlirad ops: `build` receives the operands and emits them."""

    build: Callable[..., Sequence[Expr]]


@dataclass(frozen=True)
class Upstream:
    """An op composed of a few upstream ops: `build` receives the lowered operands and emits them (with `expr.insert`).

    It may return nothing for an unused result.
    """

    build: Callable[..., Sequence[SSAValue]]


@dataclass(frozen=True)
class SizeOf:
    """An op that is the size of operand `operand` along an axis, an i64. The array's elements are not needed."""

    operand: int
    axis: int
