"""Builds the body of the `linalg.generic` of a group of fused ops on arrays.

Reads: a group (see `fusion.py`), and the lowered arrays and scalars that it reads. Writes: arith, math and
linalg.index, into a block. Leaves: the block without its terminator, and the meaning of its arguments.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from xdsl.dialects import arith
from xdsl.dialects.linalg.ops import FillOp, IndexOp
from xdsl.ir import Attribute, Block, SSAValue

from mlirad.analysis.constants import number_of
from mlirad.dialect.core import types
from mlirad.dialect.core.answers import Dims
from mlirad.dialect.core.expr import building, insert, located
from mlirad.dialect.core.scalars import number
from mlirad.lowering.to_linalg.fast_arithmetic import allow_fast, since
from mlirad.lowering.to_linalg.fusion import FusionPlan, Member, is_uniform


@dataclass
class FusedBody:
    """The body of a group. values: what each value of the old function is in the new one. fastmath: see `allow_fast`.

    inputs: the arrays that it reads, with their loops; the block's arguments are their elements, and the result's.
    """

    root: Member
    plan: FusionPlan
    values: Mapping[SSAValue, SSAValue]
    fastmath: bool
    block: Block = field(default_factory=Block)
    inputs: list[tuple[SSAValue, Dims]] = field(default_factory=list)
    _computed: dict[tuple[SSAValue, Dims], SSAValue] = field(default_factory=dict)

    def build(self, element: Attribute) -> SSAValue:
        """Emit the ops that compute an element of the result. Returns that element."""
        self.block.insert_arg(element, 0)
        with building(self.block):
            root, *others = self.root.group
            # In program order, which avoids deep recursion: the operands of an element are computed already.
            for member, place in reversed(others):
                if member.cost > 0:
                    self._element(member.result, place)
            return self._result(*root)

    def _element(self, value: SSAValue, dims: Dims) -> SSAValue:
        """The element of an array at the group's indices along the given loops, computed or read once."""
        key = (value, dims)
        found = self._computed.get(key)
        if found is None:
            found = self._computed[key] = self._made(value, dims)
        return found

    def _made(self, value: SSAValue, dims: Dims) -> SSAValue:
        """The element, computed or read here; a scalar unchanged."""
        if not types.is_tensor(value.type):
            return self.values[value]
        maker = self.plan.maker(value, self.root)
        if maker is not None:
            return self._result(maker, dims)
        if self.root.captures and is_uniform(value):
            return _number_in(self.values[value])
        arg = self.block.insert_arg(types.element_type(self.values[value].type), len(self.inputs))
        self.inputs.append((value, dims))
        return arg

    def _result(self, member: Member, place: Dims) -> SSAValue:
        """The element that a member computes, if its loops are the group's loops at `place`."""
        answer = member.answer
        # An op that is not fused reads each operand: the product of an array with itself also has two operands.
        element = self._element if len(self.root.group) > 1 else self._made
        elements = [
            element(operand, tuple([place[dim] for dim in read]))
            for operand, read in zip(member.op.operands, answer.maps[:-1], strict=False)
        ]
        with located(member.op.location):
            counters = [insert(IndexOp(place[dim])).result for dim in answer.counters]
            accumulator = self.block.args[-1:] if member.reduces else ()
            before = self.block.last_op
            number = answer.body(*elements, *counters, *accumulator)
        if self.fastmath:
            allow_fast(member.op, since(before, self.block))
        return number


def _number_in(array: SSAValue) -> SSAValue:
    """The scalar that fills an array."""
    owner = array.owner
    if isinstance(owner, FillOp):
        return owner.operands[0]
    assert isinstance(owner, arith.ConstantOp)
    return number(number_of(owner.value, array.type), types.element_type(array.type))
