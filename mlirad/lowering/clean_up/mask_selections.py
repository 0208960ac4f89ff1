"""Computes on the whole array, under the mask, where a program selects elements but does not need their number.

Reads: nd on tensors. Writes: nd: selects, and ops on whole arrays instead of selections. Leaves: selections whose
elements, order or length the program needs. The ops on the other selections are dead afterwards.

`x[m]` is a gather at the true elements of m. Its sum is a sum of x with 0 where the mask is false, and `x[m] = y[m]` is
a select: neither needs the indices, or memory for the selected elements. Before each op, the other elements are
replaced: by the neutral element of a reduction, or by a number at which the op and its derivatives are finite.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeGuard

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue, Use
from xdsl.passes import ModulePass

from mlirad.dialect.arrays.gather import GatherOp, ScatterOp
from mlirad.dialect.core import types
from mlirad.dialect.core.answers import Generic
from mlirad.dialect.core.attributes import ints
from mlirad.dialect.core.expr import Expr, dim, emit, unknown_dims, where
from mlirad.dialect.core.op import NdOp, PureOp
from mlirad.dialect.ops.movement import TransposeOp, broadcast
from mlirad.lowering.rewriting import erase, in_place_of, replace
from mlirad.xdsl_support.traversal import find


@dataclass(frozen=True)
class MaskSelections(ModulePass):
    """Replace computations on selections by a mask by computations on whole arrays.

    Before:

        func.func @f(%x: tensor<3xf64>, %m: tensor<3xi1>, %n: i64) -> f64 {
          %i = nd.flatnonzero %m, %n : tensor<3xi1> to tensor<?xi64>
          %y = nd.gather %x[%i] {axes = array<i64: 0>, at = 0 : i64} : tensor<3xf64> [tensor<?xi64>] -> tensor<?xf64>
          %s = nd.sum %y {axes = array<i64: 0>} : tensor<?xf64> to f64
          func.return %s : f64
        }

    After `mlirad-mask-selections`:

        func.func @f(%x: tensor<3xf64>, %m: tensor<3xi1>, %n: i64) -> f64 {
          %c0 = nd.constant {value = 0.0 : f64} : f64
          %z = nd.full %c0 : f64 to tensor<3xf64>
          %y = nd.select %m, %x, %z : tensor<3xi1>, tensor<3xf64>
          %s = nd.sum %y {axes = array<i64: 0>} : tensor<3xf64> to f64
          func.return %s : f64
        }
    """

    name = "mlirad-mask-selections"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if not any(gather.mask is not None for gather in find(op, GatherOp)):
            return
        ops = find(op, PureOp)
        selections = _Selections({})
        arrays = set[SSAValue]()
        while True:
            selections = _selections(ops, arrays)
            needed = {value for value in selections.axes if not all(map(selections.takes, value.uses))}
            if not needed:
                break
            arrays |= needed
        _Rewriting(selections).run(ops)


@dataclass(frozen=True)
class _Axis:
    """The axis of an array along which a mask selects elements."""

    mask: SSAValue
    axis: int


@dataclass(frozen=True)
class _Selections:
    """axes: for each value that may be computed on the whole array, the axis of the mask."""

    axes: dict[SSAValue, _Axis]

    def along(self, op: NdOp) -> tuple[SSAValue, int] | None:
        """The mask of an op on selections, and the loop along it; all operands that vary along this loop are
        selections."""
        if not any(operand in self.axes for operand in op.operands):
            return None
        answer = op.loops()
        if not isinstance(answer, Generic):
            return None
        reads = list(zip(op.operands, answer.maps[:-1], strict=False))
        found = {(own.mask, read[own.axis]) for x, read in reads if (own := self.axes.get(x)) is not None}
        if len(found) != 1:
            return None
        ((mask, loop),) = found
        others = [(x, read.index(loop)) for x, read in reads if loop in read and x not in self.axes]
        is_known = loop not in answer.counters and all(_repeats(x, axis) for x, axis in others)
        return (mask, loop) if is_known else None

    def of_result(self, op: NdOp) -> _Axis | None:
        """The selection axis of an op's result, if the result is also a selection."""
        if isinstance(op, GatherOp):
            if op.mask is None or not _fits(op.t, ints(op.axes)[0], op.mask):
                return None
            return _Axis(op.mask, op.position)
        found = self.along(op)
        if found is None:
            return None
        mask, loop = found
        write = _maps(op)[-1]
        return _Axis(mask, write.index(loop)) if loop in write else None

    def reduces(self, op: NdOp) -> bool:
        """Whether an op reduces over the whole selection."""
        found = self.along(op)
        return found is not None and found[1] not in _maps(op)[-1]

    def stores(self, op: NdOp) -> TypeGuard[ScatterOp]:
        """Whether an op writes a selection, or one value for all elements, where its mask holds."""
        if not isinstance(op, ScatterOp) or op.mask is None or not _fits(op.t, ints(op.axes)[0], op.mask):
            return False
        own = self.axes.get(op.value)
        return own == _Axis(op.mask, op.position) if own is not None else _repeats(op.value, op.position)

    def takes(self, use: Use) -> bool:
        """Whether this use of a selection does not need it as an array."""
        op = use.operation
        if not isinstance(op, NdOp) or isinstance(op, GatherOp):
            return False
        if isinstance(op, ScatterOp):
            return use.index == 0 and self.stores(op)
        return op.results[0] in self.axes or self.reduces(op)


def _selections(ops: Sequence[PureOp], arrays: set[SSAValue]) -> _Selections:
    """The selections that are not needed as `arrays`."""
    found = _Selections({})
    for op in ops:
        if len(op.results) == 1 and op.results[0] not in arrays and (axis := found.of_result(op)) is not None:
            found.axes[op.results[0]] = axis
    return found


def _maps(op: NdOp) -> tuple[tuple[int, ...], ...]:
    answer = op.loops()
    assert isinstance(answer, Generic)
    return answer.maps


def _repeats(x: SSAValue, axis: int) -> bool:
    return isinstance(x.owner, NdOp) and x.owner.repeats(axis)


def _fits(t: SSAValue, axis: int, mask: SSAValue) -> bool:
    """Whether a mask and the masked axis have the same size, according to their types."""
    return types.shape(t.type)[axis] == types.shape(mask.type)[0]


@dataclass(frozen=True)
class _Rewriting:
    selections: _Selections

    def run(self, ops: Sequence[PureOp]) -> None:
        whole: dict[SSAValue, Expr] = {}
        for op in ops:
            with in_place_of(op):
                if self.selections.stores(op):
                    replace(op, [self._stored(op, whole).value])
                elif self.selections.reduces(op):
                    replace(op, [self._computed(op, whole).value])
                elif len(op.results) == 1 and op.results[0] in self.selections.axes:
                    whole[op.results[0]] = self._gathered(op) if isinstance(op, GatherOp) else self._computed(op, whole)
        for selection in reversed(whole):
            _erase_unused(selection.owner)

    def _gathered(self, op: GatherOp) -> Expr:
        """The whole array; the masked axis moves to its position in the gather's result."""
        return _moved(Expr(op.t), ints(op.axes)[0], op.position)

    def _stored(self, op: ScatterOp, whole: dict[SSAValue, Expr]) -> Expr:
        assert op.mask is not None
        mask, axis = Expr(op.mask), ints(op.axes)[0]
        new = whole[op.value] if op.value in whole else _repeated(op.value, op.position, mask)
        return where(_spread(mask, axis, Expr(op.t)), _moved(new, op.position, axis), Expr(op.t))

    def _computed(self, op: NdOp, whole: dict[SSAValue, Expr]) -> Expr:
        """An op on whole arrays."""
        found = self.selections.along(op)
        answer = op.loops()
        assert found is not None and isinstance(answer, Generic)
        mask, loop = Expr(found[0]), found[1]
        *reads, write = answer.maps
        number = _replacement(op, answer, loop)
        operands: list[Expr] = []
        for x, read in zip(op.operands, reads, strict=False):
            if x in whole:
                x = whole[x]
                operands.append(x if number is None else where(_spread(mask, read.index(loop), x), x, number))
            elif loop in read:
                operands.append(_repeated(x, read.index(loop), mask))
            else:
                operands.append(Expr(x))
        return op.resized(operands, write.index(loop) if loop in write else None, _length(mask))


def _replacement(op: NdOp, answer: Generic, loop: int) -> int | float | None:
    """The value that replaces unselected elements in an op's operand; None: they may stay."""
    if op.linear and loop in answer.maps[-1]:
        return None
    return op.harmless if answer.initial is None else answer.initial


def _repeated(x: SSAValue, axis: int, mask: Expr) -> Expr:
    """An array that is constant along an axis, resized to the length of the mask."""
    op = x.owner
    assert isinstance(op, NdOp)
    answer = op.loops()
    count = len(answer.maps) - 1 if isinstance(answer, Generic) else 1
    return op.resized([Expr(operand) for operand in op.operands[:count]], axis, _length(mask))


def _erase_unused(op: object) -> None:
    """Erase an unused pure op, then the ops that only it used."""
    if isinstance(op, PureOp) and op.parent is not None and all(result.first_use is None for result in op.results):
        owners = [operand.owner for operand in op.operands]
        erase(op)
        for owner in owners:
            _erase_unused(owner)


def _length(mask: Expr) -> int | Expr:
    return mask.shape[0] if mask.shape[0] >= 0 else dim(mask, 0)


def _spread(mask: Expr, axis: int, like: Expr) -> Expr:
    """A one-axis mask, broadcast to the shape of an array."""
    if len(like.shape) == 1:
        return mask
    return broadcast(mask, [axis], like.shape, unknown_dims(like))


def _moved(x: Expr, axis: int, to: int) -> Expr:
    """An array with one axis moved."""
    if axis == to:
        return x
    order = [own for own in range(len(x.shape)) if own != axis]
    return emit(TransposeOp, x, permutation=[*order[:to], axis, *order[to:]])
