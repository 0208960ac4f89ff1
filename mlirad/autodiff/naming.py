"""How a reverse block names the values of the forward block it undoes.

Values of the function's own block are visible, so they keep their names. A loop's index becomes the reverse counter.
Any other value becomes an `ad.residual`, which the tape eliminates later.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.dialects import scf
from xdsl.dialects.builtin import IntegerAttr, i64
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint

from mlirad.analysis.integers import size_axis
from mlirad.analysis.loops import StructuredOp, block_of, terminator
from mlirad.autodiff.sizes import size_source, size_value, unknown_axes, zeros
from mlirad.dialect.ad.sweep_markers import RecordOp, ReplayOp, ResidualOp
from mlirad.dialect.core.expr import Expr, building, dim, insert, located
from mlirad.xdsl_support.effects import has_no_effect, is_terminator


@dataclass(frozen=True)
class Mirror:
    """A reverse block that is being built. `forward` is the block that it undoes, `outer` the mirror around it.

    The function's own block is its own mirror: its values are visible.
    """

    forward: Block
    outer: Mirror | None = None
    replay: ReplayOp | None = None
    counter: SSAValue | None = None
    residuals: dict[SSAValue, ResidualOp] = field(default_factory=dict)

    def of(self, block: Block) -> Mirror:
        """The mirror of the forward block `block`: this one, or one around it."""
        mirror = self
        while mirror.forward is not block:
            assert mirror.outer is not None, "a value is named outside of the region that defines it"
            mirror = mirror.outer
        return mirror


@dataclass
class Naming:
    """The residuals of one function, and their mirrors."""

    mirrors: list[Mirror] = field(default_factory=list)

    def enter(self, forward: Block, outer: Mirror, counter: SSAValue | None) -> Mirror:
        """The mirror of a forward block. The insertion point is at the head of the reverse block."""
        token = outer.replay.trip if outer.replay is not None else None
        replay = insert(ReplayOp.of(len(self.mirrors), counter, token))
        replay.trip.name_hint = "trip"
        mirror = Mirror(forward, outer, replay, counter)
        self.mirrors.append(mirror)
        return mirror

    def name(self, value: SSAValue, at: Mirror) -> SSAValue:
        """The value that represents a forward value in the reverse block of `at`."""
        block = block_of(value)
        mirror = at.of(block)
        if mirror.replay is None:
            return value
        if isinstance(block.parent_op(), scf.ForOp) and value is block.args[0]:
            assert mirror.counter is not None
            return mirror.counter
        if value not in mirror.residuals:
            residual = ResidualOp.of(mirror.replay.trip, len(mirror.residuals), value.type)
            residual.location = mirror.replay.location
            residual.result.name_hint = value.name_hint
            head = mirror.replay.parent
            assert head is not None
            head.insert_op_after(residual, mirror.replay)
            mirror.residuals[value] = residual
        return mirror.residuals[value].result

    def zeros_like(self, value: SSAValue, at: Mirror) -> Expr:
        """Zeros for a cotangent of `value`. Names the unknown sizes of the array, but not the array itself."""
        return zeros(value, [Expr(self._size(value, axis, at)) for axis in unknown_axes(value)])

    def _size(self, value: SSAValue, axis: int, at: Mirror) -> SSAValue:
        source = size_source(value, axis)
        if isinstance(source, SSAValue):
            return self.name(source, at)
        if at.of(block_of(source[0])).replay is None:
            return dim(Expr(source[0]), source[1]).value
        return self.name(size_value(value, axis), at)

    def close(self, reverse: Block, first: Operation | None) -> None:
        """Write the records. `reverse` is the function's block; the reverse sweep begins after `first`."""
        self._name_sizes()
        erase_dead(reverse, first)
        for mirror in reversed(self.mirrors):
            assert mirror.replay is not None
            used = {value: residual for value, residual in mirror.residuals.items() if residual.parent is not None}
            for number, residual in enumerate(used.values()):
                residual.number = IntegerAttr(number, i64)
            end = terminator(mirror.forward)
            record = RecordOp.of(mirror.replay.block.value.data, list(used))
            record.location = end.location
            mirror.forward.insert_op_before(record, end)

    def _name_sizes(self) -> None:
        """Give rules that need only an array's size the size instead of the array."""
        for mirror in list(self.mirrors):
            for value, residual in list(mirror.residuals.items()):
                for use in list(residual.result.uses):
                    if (axis := size_axis(use.operation)) is not None:
                        with located(use.operation.location), building(InsertPoint.before(use.operation)):
                            size = self._size(value, axis, mirror)
                        use.operation.results[0].replace_all_uses_with(size)


def hint_cotangent(g: SSAValue, of: SSAValue) -> None:
    """Set name hints, so that a dump shows which value g is the cotangent or tangent of."""
    if g.name_hint is None and of.name_hint is not None:
        g.name_hint = f"d_{of.name_hint}"


def erase_dead(block: Block, first: Operation | None) -> None:
    """Erase the unused ops after `first`: results of rules for operands without a cotangent, unused residuals, and
    whole reverse loops and branches."""
    op = block.last_op
    while op is not None and op is not first:
        before = op.prev_op
        for region in op.regions:
            for inner in region.blocks:
                erase_dead(inner, None)
        if all(result.first_use is None for result in op.results) and _is_removable(op):
            op.detach()
            op.erase()
        op = before


def _is_removable(op: Operation) -> bool:
    return not is_terminator(op.__class__) and not isinstance(op, ReplayOp) and _is_effect_free(op)


def _is_effect_free(op: Operation) -> bool:
    """Whether an op has no effect other than marking a block."""
    if not op.regions:
        return has_no_effect(op) or isinstance(op, ReplayOp)
    inner_ops = (inner for region in op.regions for block in region.blocks for inner in block.ops)
    return isinstance(op, StructuredOp) and all(
        is_terminator(inner.__class__) or _is_effect_free(inner) for inner in inner_ops
    )
