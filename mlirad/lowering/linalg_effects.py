"""Says what xDSL does not: which memory the ops of linalg read and write, so that clean-up passes work on them.

Reads and writes: xDSL's op classes. Leaves: linalg on tensors pure, on memrefs with the effects of its operands.
"""

from __future__ import annotations

from xdsl.dialects.builtin import MemRefType
from xdsl.dialects.linalg.ops import CopyOp, FillOp, GenericOp, IndexOp
from xdsl.ir import Operation
from xdsl.traits import EffectInstance, MemoryEffect, MemoryEffectKind, Pure


class OperandEffects(MemoryEffect):
    """Inputs are read and outputs are read and written, where they are memrefs. Tensors are values."""

    @classmethod
    def get_effects(cls, op: Operation) -> frozenset[EffectInstance]:
        assert isinstance(op, GenericOp | FillOp | CopyOp)
        effects: set[EffectInstance] = set()
        if any(isinstance(value.type, MemRefType) for value in op.operands):
            effects.add(EffectInstance(MemoryEffectKind.READ))
        if any(isinstance(value.type, MemRefType) for value in op.outputs):
            effects.add(EffectInstance(MemoryEffectKind.WRITE))
        return frozenset(effects)


def declare_effects() -> None:
    """Give the ops of linalg their effects, unless they have them already."""
    for op_class in (GenericOp, FillOp, CopyOp):
        if not op_class.has_trait(OperandEffects):
            op_class.traits.add_trait(OperandEffects())
    if not IndexOp.has_trait(Pure):
        IndexOp.traits.add_trait(Pure())
