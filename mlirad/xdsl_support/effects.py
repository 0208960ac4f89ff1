"""The effects of an op class. Most passes need them for every op, and xDSL searches the op's traits each time.

Reads: classes of ops. Writes: nothing. Leaves: questions that depend on the op itself to the passes.
"""

from __future__ import annotations

from functools import cache

from xdsl.ir import Operation
from xdsl.traits import IsTerminator, MemoryEffect, NoMemoryEffect, SymbolOpInterface, is_side_effect_free


@cache
def is_terminator(kind: type[Operation]) -> bool:
    """Whether ops of a class end their block."""
    return kind.has_trait(IsTerminator)


@cache
def only_computes(kind: type[Operation]) -> bool:
    """Whether ops of a class are pure, whatever their operands are. Most ops are."""
    if is_terminator(kind) or kind.has_trait(SymbolOpInterface):
        return False
    effects = tuple(kind.get_traits_of_type(MemoryEffect))
    return bool(effects) and all(isinstance(each, NoMemoryEffect) for each in effects)


def has_no_effect(op: Operation) -> bool:
    """Whether an op without regions writes nothing, reads nothing that may change, and cannot fail."""
    return only_computes(op.__class__) or is_side_effect_free(op)
