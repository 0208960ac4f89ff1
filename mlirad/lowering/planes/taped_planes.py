"""Orders the planes on a tape by points, so that the numbers of one point in all trips are contiguous.

Reads: scf and nd. Writes: the tape as an array with the axes of the planes, and then an axis for the trips. Leaves:
tapes that hold anything but planes of one shape, and tapes that other loops use.

A tape holds plane after plane. Each trip of a loop over points would touch another cache line, and with large planes
another page.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod

from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import Rewriter

from mlirad.analysis.loops import Loop
from mlirad.analysis.trip_forms import Form, Opaque, Trip, linear
from mlirad.dialect.ad.tape import TapeOp
from mlirad.dialect.arrays.slices import extract_slice, insert_slice
from mlirad.dialect.core import types
from mlirad.dialect.core.expr import Expr, constant
from mlirad.dialect.core.op import accessed_subset, written_subset
from mlirad.dialect.core.subset import Change, Subset
from mlirad.dialect.ops.movement import reshape
from mlirad.lowering.layouts.sliced_arrays import is_reshape
from mlirad.lowering.rewriting import erase, in_place_of, replace
from mlirad.xdsl_support.effects import is_terminator
from mlirad.xdsl_support.traversal import find

_MOST = 1 << 48
"""Forms are modulo 2**64, so only forms with small numbers can be divided."""


def store_planes_by_points(module: ModuleOp, loops: Sequence[scf.ForOp]) -> None:
    """Reorder each tape that only these loops use."""
    for tape in find(module, TapeOp):
        found = _Tape()
        if types.is_static(tape.result.type) and found.has_planes(tape.result, loops):
            found.store_by_points(tape)


@dataclass
class _Tape:
    """A tape of planes.

    values: its versions. accesses: the ops that read or write a plane, with the index of its first number. plane: the
    shape of all planes, without axes of size 1.
    """

    values: dict[SSAValue, None] = field(default_factory=dict)
    accesses: dict[Operation, Form] = field(default_factory=dict)
    plane: tuple[int, ...] = ()

    def has_planes(self, tape: SSAValue, loops: Sequence[scf.ForOp]) -> bool:
        """Whether all uses of a tape are planes of one shape, in these loops."""
        pending = [tape]
        while pending:
            value = pending.pop()
            if value in self.values:
                continue
            self.values[value] = None
            for use in value.uses:
                op = use.operation
                loop = op.parent_op() if is_terminator(op.__class__) else op
                if isinstance(loop, scf.ForOp):
                    number = use.index - (3 if loop is op else 0)
                    if number < 0:
                        return False
                    carry = Loop(loop).carry(number)
                    pending += (carry.init, carry.arg, carry.yielded, carry.result)
                elif op.parent_op() in loops and self._is_plane(op, use.index):
                    pending += op.results if written_subset(op) is not None else ()
                else:
                    return False
        makers = {value.owner for value in self.values if isinstance(value.owner, Operation) and value is not tape}
        is_whole = all(op in self.accesses or isinstance(op, scf.ForOp) for op in makers)
        return bool(self.accesses) and is_whole and not types.shape(tape.type)[0] % prod(self.plane)

    def _is_plane(self, op: Operation, index: int) -> bool:
        """Whether an op reads or writes the numbers of a plane with the same shape as all others."""
        subset = _slice_of(op)
        if subset is None or subset.number != index:
            return False
        size = prod(types.shape(subset.part.type))
        form, around = linear(subset.places[0]), _around(op)
        is_number = all(not each % size and abs(each) <= _MOST for each in (form.constant, *form.terms.values()))
        if not is_number or not all(_is_known(term, around) for term in form.terms):
            return False
        self.accesses[op] = form
        shapes = {tuple(size for size in types.shape(value.type) if size > 1) for value in _unflattened(subset)}
        self.plane = self.plane or next(iter(shapes), ())
        return shapes == {self.plane} and len(self.plane) > 1

    def store_by_points(self, tape: TapeOp) -> None:
        (length,) = types.shape(tape.result.type)
        element = types.element_type(tape.result.type)
        array = types.tensor([*self.plane, length // prod(self.plane)], element)
        following = tape.next_op
        assert following is not None
        for value in self.values:
            if value is not tape.result:
                Rewriter.replace_value_with_new_type(value, array)
        with in_place_of(following):
            ordered = reshape(Expr(tape.result), array).value
        tape.result.replace_uses_with_if(ordered, lambda use: use.operation is not ordered.owner)
        for op, form in self.accesses.items():
            with in_place_of(op):
                self._replace(op, form)

    def _replace(self, op: Operation, form: Form) -> None:
        subset = _slice_of(op)
        assert subset is not None
        part, size = subset.part, prod(self.plane)
        number = constant(form.constant // size, types.I64)
        for term, factor in form.terms.items():
            number = number + _computed(term) * (factor // size)
        starts = [*(constant(0, types.I64) for _ in self.plane), number]
        plane = [*self.plane, 1]
        if subset.change is Change.NONE:
            read = extract_slice(Expr(subset.array), starts, plane)
            for use in list(part.uses):
                with in_place_of(use.operation):
                    replace(use.operation, [reshape(read, use.operation.results[0].type).value])
            erase(op)
        else:
            (unflattened,) = _unflattened(subset)
            source = Expr(unflattened)
            new = insert_slice(reshape(source, types.tensor(plane, source.element)), Expr(subset.array), starts)
            replace(op, [new.value])


def _slice_of(op: Operation) -> Subset | None:
    """The contiguous part of a flat array of known size that an op reads or replaces."""
    subset = accessed_subset(op)
    if subset is None or subset.change not in (Change.NONE, Change.REPLACED) or subset.axes != (0,):
        return None
    (place,) = subset.ranges
    is_plain = place is not None and place.stride == 1 and types.is_static(subset.part.type)
    return subset if is_plain and prod(types.shape(subset.part.type)) > 1 else None


def _unflattened(subset: Subset) -> list[SSAValue]:
    """The value that was flattened to a part, or its reshapes if it is read; empty if other ops make or use it."""
    if subset.change is Change.NONE:
        readers = [use.operation for use in subset.part.uses]
        return [each.results[0] for each in readers] if all(map(is_reshape, readers)) else []
    owner = subset.part.owner
    return [owner.operands[0]] if isinstance(owner, Operation) and is_reshape(owner) else []


def _is_known(term: Trip | Opaque, loops: Sequence[Operation]) -> bool:
    """Whether a term of an index can be computed again at an op in these loops."""
    if isinstance(term, Opaque):
        return term.axis is None
    return term.loop in loops and isinstance(term.loop, scf.ForOp)


def _computed(term: Trip | Opaque) -> Expr:
    if isinstance(term, Opaque):
        return Expr(term.value)
    assert isinstance(term.loop, scf.ForOp)
    return Expr(term.loop.body.block.args[0])


def _around(op: Operation) -> list[Operation]:
    found: list[Operation] = []
    while (parent := op.parent_op()) is not None:
        found.append(parent)
        op = parent
    return found
