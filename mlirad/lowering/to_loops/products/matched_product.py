"""Recognises products of matrices among loop nests: c[i, j] += a[i, k] * b[k, j], a and b of any layout.

Reads: nests whose body multiplies two inputs and adds. Writes: nothing. Leaves: nests without an i, a j or a k, for
which the general loops are as good.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

from mlirad.lowering.loop_body import Body
from mlirad.lowering.loop_builder import Index
from mlirad.lowering.to_loops.loop_nest import Nest, Operand

_SHORT, _MANY_SUMS = 64, 1 << 16
"""Up to _SHORT steps of k, and from _MANY_SUMS elements on, accessing c costs as much as computing it."""
_FAR = 1 << 18
"""From so many elements on, c leaves a cache of 1 MB between its clear and the sums, however long they are."""
_FEWEST_ROWS = 3
"""Tiles of fewer rows wait for their loads."""


@dataclass(frozen=True)
class Contraction:
    """c[.. i .. j] += a[.. i .. k ..] * b[.. k .. j ..]; c is contiguous along j. `others` are loops around tiles."""

    a: Operand
    b: Operand
    c: Operand
    i: int
    j: int
    k: int
    others: tuple[int, ...]
    is_swapped: bool = False
    """Whether a is the second factor in the nest."""
    is_tangent: bool = False
    """Whether a is a tangent: rows of zeros add nothing to c, whatever b is."""

    def extents(self, nest: Nest) -> tuple[Index, Index, Index]:
        """The sizes of i, j and k."""
        return nest.sizes[self.i], nest.sizes[self.j], nest.sizes[self.k]

    def of(self, nest: Nest) -> Contraction:
        """The same dimensions, for a nest that is a block of the original nest."""
        a, b, c = nest.operands
        return replace(self, a=b, b=a, c=c) if self.is_swapped else replace(self, a=a, b=b, c=c)


def match_contraction(nest: Nest, body: Body) -> Contraction | None:
    """The nest as a product of matrices, one for each point of `others`; None if it is not a product."""
    if len(nest.inputs) != 2 or len(nest.outputs) != 1 or not body.is_multiply_add:
        return None
    a, b, c = nest.operands
    for operand in nest.operands:
        terms = [s.atom for s in operand.subscripts if s.terms]
        if not operand.is_memref or None in terms or len(set(terms)) != len(terms):
            return None
    j = next((d for d in nest.live if c.is_unit(d)), None)
    if j is None:
        return None
    is_swapped = j in a.dimensions
    if is_swapped:
        a, b = b, a
    rows = [d for d in nest.live if d in a.dimensions and d in c.dimensions and d not in b.dimensions]
    depths = [d for d in nest.live if d in a.dimensions and d in b.dimensions and d not in c.dimensions]
    if j in a.dimensions or j not in b.dimensions or not rows or not depths:
        return None
    is_tangent = body.tangent_factor is body.block.args[int(is_swapped)]
    i, k = _rows_of_one_direction(nest, rows, c) if is_tangent else None, _longest(nest, depths, b)
    i = _longest(nest, rows, c) if i is None else i
    reduced = [d for d in nest.live if d not in c.dimensions]
    if any(d not in a.dimensions | b.dimensions for d in reduced):
        return None
    around = [d for d in nest.live if d in c.dimensions and d not in (i, j)]
    others = (*around, *(d for d in reduced if d != k))
    return Contraction(a, b, c, i, j, k, others, is_swapped, is_tangent)


def needs_no_clear(product: Contraction, nest: Nest, most: int, has_own_tiles: bool) -> bool:
    """Whether tiles may store their sums into a c that has only been cleared: one tile computes each element, once.
    most: the steps of the longest sum for which that pays.

    For tiles that products share, it is one more function, which only many short sums, or very many, are worth.
    """
    k = nest.sizes[product.k]
    if not isinstance(k, int) or k > most:
        return False
    if not has_own_tiles and prod(product.c.shape) < (_MANY_SUMS if k <= _SHORT else _FAR):
        return False
    if any(d not in product.c.dimensions for d in product.others):
        return False
    axes = zip(product.c.subscripts, product.c.shape, strict=True)
    return all(length == (1 if s.atom is None else nest.sizes[s.atom]) for s, length in axes)


def _rows_of_one_direction(nest: Nest, rows: Sequence[int], c: Operand) -> int | None:
    """The innermost dimension of a tangent's rows, if tiles of it are not much slower. The directions are further out:
    most of them may be zero (`zero_rows.py`), but not together with their neighbours."""
    axes = [s.atom for s in c.subscripts]
    innermost = max(rows, key=axes.index)
    size = nest.sizes[innermost]
    return innermost if isinstance(size, int) and size >= _FEWEST_ROWS else None


def _longest(nest: Nest, dimensions: Sequence[int], operand: Operand) -> int:
    """The longest dimension; among equals, the innermost in memory."""
    axes = [s.atom for s in operand.subscripts]

    def key(d: int) -> tuple[int, int]:
        size = nest.sizes[d]
        return (size if isinstance(size, int) else 1 << 30, axes.index(d))

    return max(dimensions, key=key)
