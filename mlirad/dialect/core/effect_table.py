"""The effects of an op, and what follows: the one table of effect x verb that all verbs read.

Reads: the traits of ops. Writes: nothing. Leaves: what only an op itself knows, such as how a check that has passed is
recomputed.
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
    OWN_MEMORY = "makes memory of its own, or reads memory that others write"
    MAY_FAIL = "leaves the kernel with an exception if a condition does not hold"
    ORDERED = "acts on what is outside of the program, in the program's order"


class Verb(Enum):
    """What may be done to an op."""

    REMOVE = "remove it if its results are not used"
    RECOMPUTE = "compute its results again in the reverse sweep, and do not store them"
    HOIST = "move it out of a loop in which its operands do not change"
    VMAP = "do it for a batch at once"
    JVP = "differentiate what contains it forwards"
    VJP = "differentiate what contains it backwards"
    CHECKPOINT = "run it again with the trip of a checkpointed loop"
    CACHE = "use the results of an earlier equal op"


class Rule(Enum):
    """What a cell of the table says."""

    ALLOWED = "allowed"
    FORBIDDEN = "forbidden"
    WITHOUT_EFFECT = "allowed without the effect, as the op's `recomputed` says; forbidden without that answer"
    RECORDED = "its results are recorded, and read again, as the op's `replayed` says; forbidden without that answer"
    ONCE = "the effect is had once, where it is in the program; nothing of it is added"
    EACH_IN_ORDER = "once for each member of the batch, in their order"


class MayFail(MemoryWriteEffect):
    """The trait of ops whose effect is `Effect.MAY_FAIL`. For xDSL they write memory: nothing moves past them."""


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
"""A check may be cached: values never change, so what has been checked once holds. It may run again with a trip of a
checkpointed loop, where it passes again; what an op with an ordered effect gave is read from a record. (One that gives
nothing, as a print, is left out of the trips that run again.)"""


@cache
def _declared(kind: type[Operation]) -> Effect | None:
    """The effect of all ops of a class; None if it depends on the op."""
    if only_computes(kind):
        return Effect.NONE
    if kind.has_trait(MayFail):
        return Effect.MAY_FAIL
    return Effect.ORDERED if is_terminator(kind) or kind.has_trait(SymbolOpInterface) else None


def effect_of(op: Operation) -> Effect:
    """The effect of an op without regions. What does not declare its effects may do anything."""
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
    """What the table says of an op without regions."""
    return TABLE[effect_of(op)][verb]


def may(op: Operation, verb: Verb) -> bool:
    """Whether a verb is allowed for an op without regions, as it is."""
    return rule(op, verb) is Rule.ALLOWED


def is_removable(op: Operation) -> bool:
    """Whether an op without regions may be removed if its results are not used."""
    return only_computes(op.__class__) or may(op, Verb.REMOVE)
