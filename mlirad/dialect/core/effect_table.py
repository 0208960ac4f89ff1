"""The effects of ops, and their consequences: the one table of effect x verb that all verbs read.

Reads: the traits of ops. Writes: nothing. Leaves: questions that only an op itself can answer, such as how to recompute
a check that has passed.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from functools import cache
from types import MappingProxyType

from xdsl.ir import Operation, OpResult
from xdsl.traits import EffectInstance, MemoryEffectKind, MemoryWriteEffect, SymbolOpInterface, get_effects

from mlirad.xdsl_support.effects import is_terminator, only_computes


class Effect(Enum):
    """What an op does besides computing its results."""

    NONE = "nothing"
    OWN_MEMORY = "allocates its own memory, or reads memory that others write"
    MAY_FAIL = "leaves the kernel with an exception if a condition does not hold"
    ORDERED = "acts on the outside of the program, in the program's order"

    __hash__ = object.__hash__  # passes ask the table for every op, and Enum's own hash is a function of Python


class Verb(Enum):
    """What may be done to an op."""

    REMOVE = "remove it if its results are not used"
    RECOMPUTE = "compute its results again in the reverse sweep, instead of storing them"
    HOIST = "move it out of a loop in which its operands do not change"
    VMAP = "run it for all lanes at once"
    JVP = "differentiate code that contains it, in forward mode"
    VJP = "differentiate code that contains it, in reverse mode"
    CHECKPOINT = "rerun it with the trip of a checkpointed loop"
    CACHE = "use the results of an earlier equal op"

    __hash__ = object.__hash__


class Rule(Enum):
    """The meaning of a cell of the table."""

    ALLOWED = "allowed"
    FORBIDDEN = "forbidden"
    WITHOUT_EFFECT = "allowed without the effect, as the op's `recomputed` says; forbidden without that answer"
    RECORDED = "its results are recorded, and read back, as the op's `replayed` says; forbidden without that answer"
    ONCE = "the effect happens once, at its place in the program; transforms add no further effects"
    EACH_IN_ORDER = "once for each lane, in their order"


class MayFail(MemoryWriteEffect):
    """The trait of ops with the effect `Effect.MAY_FAIL`. For xDSL they write memory, so that nothing moves past
    them."""


def _row(*rules: Rule) -> Mapping[Verb, Rule]:
    return MappingProxyType(dict(zip(Verb, rules, strict=True)))


_YES, _NO, _ONCE, _EACH = Rule.ALLOWED, Rule.FORBIDDEN, Rule.ONCE, Rule.EACH_IN_ORDER

TABLE: Mapping[Effect, Mapping[Verb, Rule]] = MappingProxyType(
    {
        #                        REMOVE RECOMPUTE             HOIST VMAP   JVP    VJP    CHECKPOINT CACHE
        Effect.NONE: _row(_YES, _YES, _YES, _YES, _YES, _YES, _YES, _YES),
        Effect.OWN_MEMORY: _row(_YES, _NO, _NO, _YES, _YES, _YES, _YES, _NO),
        Effect.MAY_FAIL: _row(_NO, Rule.WITHOUT_EFFECT, _NO, _EACH, _ONCE, _ONCE, _YES, _YES),
        Effect.ORDERED: _row(_NO, _NO, _NO, _EACH, _ONCE, _ONCE, Rule.RECORDED, _NO),
    }
)
"""A check may be cached: values never change, so a check that has passed holds from then on. It may be rerun with a
trip of a checkpointed loop, where it passes again. The results of an op with an ordered effect are read from a record.
(An op without results, such as a print, is omitted from rerun trips.)"""


@cache
def _declared(kind: type[Operation]) -> Effect | None:
    """The effect of all ops of a class; None if it differs from op to op."""
    if only_computes(kind):
        return Effect.NONE
    if kind.has_trait(MayFail):
        return Effect.MAY_FAIL
    return Effect.ORDERED if is_terminator(kind) or kind.has_trait(SymbolOpInterface) else None


def effect_of(op: Operation) -> Effect:
    """The effect of an op without regions. An op that does not declare its effects may do anything."""
    declared = _declared(op.__class__)
    if declared is not None:
        return declared
    effects = get_effects(op)
    if effects is None or not all(_is_own_or_read(op, effect) for effect in effects):
        return Effect.ORDERED
    return Effect.OWN_MEMORY if effects else Effect.NONE


def _is_own_or_read(op: Operation, effect: EffectInstance) -> bool:
    if effect.kind is MemoryEffectKind.READ:
        return True
    return effect.kind is MemoryEffectKind.ALLOC and isinstance(effect.value, OpResult) and effect.value.op is op


def rule(op: Operation, verb: Verb) -> Rule:
    """The table's cell for an op without regions."""
    return TABLE[effect_of(op)][verb]


def may(op: Operation, verb: Verb) -> bool:
    """Whether a verb may be applied to an op without regions, without changes to the op."""
    return rule(op, verb) is Rule.ALLOWED


def is_removable(op: Operation) -> bool:
    """Whether an op without regions may be removed if its results are unused."""
    return only_computes(op.__class__) or may(op, Verb.REMOVE)
