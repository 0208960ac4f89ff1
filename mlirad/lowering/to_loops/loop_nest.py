"""The iteration space of a linalg op on memrefs, and its accesses: the data that loops are built from.

Reads: linalg.generic, linalg.fill, linalg.copy, memref.copy. Writes: the sizes and collapsed views that loops need.
Leaves: the ops, which the caller erases.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import pairwise
from math import prod

from xdsl.dialects import memref
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ArrayAttr,
    ComplexType,
    IntegerAttr,
    MemRefType,
    NoneAttr,
    StridedLayoutAttr,
    i64,
)
from xdsl.dialects.linalg.attrs import IteratorType
from xdsl.dialects.linalg.ops import FillOp, GenericOp, IndexOp, YieldOp
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
    AffineMap,
)

from mlirad.dialect.core.intervals import LinearForm
from mlirad.dialect.core.types import from_location, itemsize
from mlirad.errors import CompileError
from mlirad.lowering.loop_builder import Index, LoopBuilder
from mlirad.lowering.memory_views import known_layout, known_shape

Subscript = LinearForm[int]
"""The sum of coefficient * dimension, plus a constant."""


@dataclass(frozen=True)
class Operand:
    """A memref read or written at `subscripts`, or a scalar, which has no subscripts.

    `shape` has -1 and `strides` None for sizes and strides known only at run time.
    """

    value: SSAValue
    subscripts: tuple[Subscript, ...] = ()
    shape: tuple[int, ...] = ()
    strides: tuple[int | None, ...] = ()

    @property
    def is_memref(self) -> bool:
        return isinstance(self.value.type, MemRefType)

    @property
    def element(self) -> Attribute:
        type = self.value.type
        return type.element_type if isinstance(type, MemRefType) else type

    @property
    def dimensions(self) -> frozenset[int]:
        """The dimensions with which it varies."""
        return frozenset(d for subscript in self.subscripts for d in subscript.terms)

    def is_unit(self, dimension: int) -> bool:
        """Whether a step along a dimension is a step to the next element in memory."""
        if not self.subscripts or self.strides[-1] != 1 or self.subscripts[-1].terms.get(dimension, 0) != 1:
            return False
        return all(subscript.terms.get(dimension, 0) == 0 for subscript in self.subscripts[:-1])

    def step(self, dimension: int) -> int | None:
        """The elements in memory from one point along a dimension to the next; None if that is not known."""
        total = 0
        for subscript, stride in zip(self.subscripts, self.strides, strict=True):
            coefficient = subscript.terms.get(dimension, 0)
            if coefficient and stride is None:
                return None
            total += coefficient * (stride or 0)
        return total

    def is_spaced(self, dimension: int) -> bool:
        """Whether a dimension has every second element in memory, or neighbours backwards: vectors of neighbours are
        shuffled."""
        is_plain = not isinstance(self.element, ComplexType) and itemsize(self.element) >= 4
        return is_plain and self.step(dimension) in (2, -1)

    def place(self, builder: LoopBuilder, subscripts: Mapping[int, Index]) -> list[Index]:
        """Where it is read or written at a point of the loops."""
        place: list[Index] = []
        for subscript in self.subscripts:
            position: Index = subscript.constant
            for d, coefficient in subscript.terms.items():
                position = builder.add(position, builder.multiply(subscripts[d], coefficient))
            place.append(position)
        return place


@dataclass(frozen=True)
class Nest:
    """Loops over `sizes`; at each point `body`, whose arguments are the elements of the inputs, then of the outputs."""

    sizes: tuple[Index, ...]
    is_parallel: tuple[bool, ...]
    inputs: tuple[Operand, ...]
    outputs: tuple[Operand, ...]
    body: Block
    starts: Mapping[int, Index] = field(default_factory=dict)
    """For dimensions that do not begin at 0: the offset that linalg.index adds."""

    @property
    def operands(self) -> tuple[Operand, ...]:
        return self.inputs + self.outputs

    @property
    def live(self) -> tuple[int, ...]:
        """The dimensions that become loops: those with a size other than 1."""
        return tuple(d for d, size in enumerate(self.sizes) if size != 1)

    @property
    def is_empty(self) -> bool:
        return 0 in self.sizes


def nest_of(op: Operation, builder: LoopBuilder) -> Nest:
    """The nest of a linalg op on memrefs, or of a copy. Raises CompileError for a nonlinear subscript."""
    if isinstance(op, GenericOp):
        maps = [attribute.data for attribute in op.indexing_maps]
        kinds = tuple(kind.data == IteratorType.PARALLEL for kind in op.iterator_types)
        operands = [_operand(value, map, op) for value, map in zip(op.operands, maps, strict=True)]
        return _sized(operands, len(op.inputs), kinds, op.body.block, builder)
    source, target = op.operands
    rank = len(_memref_type(target).get_shape())
    is_fill = isinstance(op, FillOp)
    maps = [AffineMap(rank, 0, ()) if is_fill else AffineMap.identity(rank), AffineMap.identity(rank)]
    operands = [_operand(value, map, op) for value, map in zip((source, target), maps, strict=True)]
    body = Block(arg_types=[operand.element for operand in operands])
    body.add_op(YieldOp(body.args[0]))
    return _sized(operands, 1, (True,) * rank, body, builder)


def loops_around(
    builder: LoopBuilder,
    sizes: Sequence[Index],
    dimensions: Sequence[int],
    subscripts: MutableMapping[int, Index],
    inner: Callable[[], None],
) -> None:
    """Loops over all points of some dimensions, the first one outermost. Inside, `subscripts` has their counters."""
    if not dimensions:
        inner()
        return
    first, *others = dimensions

    def body(index: Index, _: Sequence[SSAValue]) -> Sequence[SSAValue]:
        subscripts[first] = index
        loops_around(builder, sizes, others, subscripts, inner)
        return ()

    builder.loop(0, sizes[first], 1, (), body)


def _memref_type(value: SSAValue) -> MemRefType:
    assert isinstance(value.type, MemRefType)
    return value.type


def _operand(value: SSAValue, map: AffineMap, op: Operation) -> Operand:
    if not isinstance(value.type, MemRefType):
        return Operand(value)
    subscripts = []
    for expression in map.results:
        linear = _linear(expression)
        if linear is None:
            raise CompileError(f"cannot index a memref by {expression}", from_location(op.location))
        subscripts.append(linear)
    return Operand(value, tuple(subscripts), known_shape(value.type), known_layout(value.type)[1])


def _linear(expression: AffineExpr) -> Subscript | None:
    """An affine expression as a sum of terms, None if it contains a division."""
    if isinstance(expression, AffineConstantExpr):
        return Subscript(expression.value)
    if isinstance(expression, AffineDimExpr):
        return Subscript.of(expression.position)
    if not isinstance(expression, AffineBinaryOpExpr):
        return None
    lhs, rhs = _linear(expression.lhs), _linear(expression.rhs)
    if lhs is None or rhs is None:
        return None
    if expression.kind == AffineBinaryOpKind.Add:
        total = lhs + rhs
        return Subscript(total.constant, dict(sorted(total.terms.items())))
    if expression.kind == AffineBinaryOpKind.Mul:
        if lhs.number is not None or rhs.number is not None:
            return rhs.scaled(lhs.number) if lhs.number is not None else lhs.scaled(rhs.constant)
    return None


def _sized(
    operands: Sequence[Operand], inputs: int, kinds: tuple[bool, ...], body: Block, builder: LoopBuilder
) -> Nest:
    """Find the sizes of the dimensions, static if any operand's is, and drop dimensions of size 1."""
    sizes: list[Index] = []
    for d in range(len(kinds)):
        axes = [
            (operand, axis)
            for operand in operands
            for axis, subscript in enumerate(operand.subscripts)
            if subscript.atom == d
        ]
        known = [operand.shape[axis] for operand, axis in axes if operand.shape[axis] >= 0]
        sizes.append(known[0] if known else builder.size(axes[0][0].value, axes[0][1]))
    ones = frozenset(d for d, size in enumerate(sizes) if size == 1)
    operands = [
        replace(
            operand,
            subscripts=tuple(
                subscript.put(lambda d: Subscript() if d in ones else Subscript.of(d))
                for subscript in operand.subscripts
            ),
        )
        for operand in operands
    ]
    return Nest(tuple(sizes), kinds, tuple(operands[:inputs]), tuple(operands[inputs:]), body)


def simplify(nest: Nest, builder: LoopBuilder) -> Nest:
    """Merge dimensions that all operands traverse as one, by collapsed views of the memrefs.

    A long contiguous loop fills vectors that a short innermost loop would leave mostly empty.
    """
    kept = {_dimension(op) for op in nest.body.ops if isinstance(op, IndexOp)}
    groups = [_unit_groups(operand) for operand in nest.operands]
    merged: dict[int, int] = {}
    sizes = list(nest.sizes)
    for outer, inner in _pairs(nest, kept):
        outer = merged.get(outer, outer)
        if nest.is_parallel[outer] != nest.is_parallel[inner]:
            continue
        pairs, size = zip(nest.operands, groups, strict=True), sizes[inner]
        if all(_can_merge(operand, group, outer, inner, size) for operand, group in pairs):
            groups = [_merge(group, outer) for group in groups]
            merged[inner] = outer
            sizes[outer] = builder.multiply(sizes[outer], sizes[inner])
            sizes[inner] = 1
    operands = [_collapse(operand, group, builder) for operand, group in zip(nest.operands, groups, strict=True)]
    split = len(nest.inputs)
    return replace(nest, sizes=tuple(sizes), inputs=tuple(operands[:split]), outputs=tuple(operands[split:]))


Groups = tuple[tuple[tuple[int, ...], Subscript], ...]
"""Memref axes that become one axis, and that axis's subscript."""


def merged(operand: Operand, dimensions: Sequence[int], nest: Nest, builder: LoopBuilder) -> Operand | None:
    """The operand of a nest with these dimensions as one, the first of them; None if they are not contiguous in this
    order."""
    groups = _unit_groups(operand)
    for inner in dimensions[1:]:
        if not _can_merge(operand, groups, dimensions[0], inner, nest.sizes[inner]):
            return None
        groups = _merge(groups, dimensions[0])
    return _collapse(operand, groups, builder)


def _dimension(op: IndexOp) -> int:
    attribute = op.dim
    assert isinstance(attribute, IntegerAttr)
    return attribute.value.data


def _pairs(nest: Nest, kept: set[int]) -> Iterator[tuple[int, int]]:
    """Dimensions that are on neighbouring axes of some operand, outer ones first."""
    seen: set[tuple[int, int]] = set()
    for operand in sorted(nest.operands, key=lambda operand: -len(operand.subscripts)):
        plain = [s.atom for s in operand.subscripts if s.terms]
        for outer, inner in pairwise(plain):
            if outer is None or inner is None or kept.intersection((outer, inner)) or (outer, inner) in seen:
                continue
            seen.add((outer, inner))
            yield outer, inner


def _is_identity(operand: Operand) -> bool:
    return isinstance(_memref_type(operand.value).layout, NoneAttr)


def _unit_groups(operand: Operand) -> Groups:
    """Every axis in a group of its own, except that axes of size 1 join a neighbour: N x 1 is treated as N."""
    groups: list[tuple[tuple[int, ...], Subscript]] = []
    for axis, subscript in enumerate(operand.subscripts):
        if groups and _is_identity(operand):
            axes, previous = groups[-1]
            if operand.shape[axis] == 1 and subscript == Subscript():
                groups[-1] = ((*axes, axis), previous)
                continue
            if previous == Subscript() and all(operand.shape[a] == 1 for a in axes):
                groups[-1] = ((*axes, axis), subscript)
                continue
        groups.append(((axis,), subscript))
    return tuple(groups)


def _position(groups: Groups, dimension: int) -> int | None:
    """The group with this dimension as its subscript."""
    return next((i for i, (_, subscript) in enumerate(groups) if subscript.atom == dimension), None)


def _can_merge(operand: Operand, groups: Groups, outer: int, inner: int, size: Index) -> bool:
    """size: of the inner dimension."""
    used = [d for _, subscript in groups for d in subscript.terms]
    if outer not in used and inner not in used:
        return True
    position = _position(groups, outer)
    if position is None or used.count(outer) != 1 or used.count(inner) != 1:
        return False
    if _position(groups, inner) != position + 1 or not _is_contiguous(operand, groups, position):
        return False
    # Windows with a single place along an axis may end before it does.
    lengths = [operand.shape[axis] for axis in groups[position + 1][0]]
    return -1 in lengths or not isinstance(size, int) or prod(lengths) == size


def _is_contiguous(operand: Operand, groups: Groups, position: int) -> bool:
    """Whether a group and the next are contiguous in memory."""
    if _is_identity(operand):
        return True
    axis = groups[position + 1][0][0]
    step, size, stride = operand.strides[axis], operand.shape[axis], operand.strides[axis - 1]
    return step is not None and size >= 0 and stride == size * step


def _merge(groups: Groups, outer: int) -> Groups:
    """Merge the group of `outer` with the next."""
    position = _position(groups, outer)
    if position is None:
        return groups
    axes = groups[position][0] + groups[position + 1][0]
    return (*groups[:position], (axes, Subscript.of(outer)), *groups[position + 2 :])


def _collapse(operand: Operand, groups: Groups, builder: LoopBuilder) -> Operand:
    """The operand, seen through a collapsed view."""
    if len(groups) == len(operand.subscripts):
        return operand
    axes, subscripts = zip(*groups, strict=True) if groups else ((), ())
    result = _collapsed_type(_memref_type(operand.value), axes)
    view = builder.op(memref.CollapseShapeOp, [operand.value], result, reassociation=_reassociation(axes))
    return Operand(view, subscripts, known_shape(result), known_layout(result)[1])


@lru_cache(maxsize=1024)
def _collapsed_type(type: MemRefType, groups: tuple[tuple[int, ...], ...]) -> MemRefType:
    """The type of a memref with groups of axes merged."""
    sizes, strides = known_shape(type), known_layout(type)[1]
    merged = [[sizes[axis] for axis in axes] for axes in groups]
    shape = [DYNAMIC_INDEX if -1 in each else prod(each) for each in merged]
    layout = type.layout
    if isinstance(layout, StridedLayoutAttr):
        layout = StridedLayoutAttr([strides[axes[-1]] for axes in groups], layout.offset)
    return MemRefType(type.element_type, shape, layout, type.memory_space)


@lru_cache(maxsize=256)
def _reassociation(groups: tuple[tuple[int, ...], ...]) -> ArrayAttr[ArrayAttr[IntegerAttr]]:
    return ArrayAttr([ArrayAttr([IntegerAttr(axis, i64) for axis in axes]) for axes in groups])
