"""The effects of linalg's ops. xDSL declares none, so each op counts as one that may do anything.

Reads and writes: xDSL's op classes, once, when the package is imported. Leaves: linalg pure on tensors, and on memrefs
with the effects of its operands.
"""

from __future__ import annotations

from xdsl.dialects.builtin import MemRefType
from xdsl.dialects.linalg.ops import CopyOp, FillOp, GenericOp, IndexOp
from xdsl.ir import Operation
from xdsl.traits import EffectInstance, MemoryEffect, MemoryEffectKind, Pure


class OperandEffects(MemoryEffect):
    """On memrefs, inputs are read, and outputs are read and written. Tensors are values."""

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
    """Give the ops of linalg their effects. Called when the package is imported."""
    for op_class in (GenericOp, FillOp, CopyOp):
        op_class.traits.add_trait(OperandEffects())
    IndexOp.traits.add_trait(Pure())
