"""Fast access to an op's operands and results by name, and verification once for all equal ops.

Reads and writes: op classes that opt in; xDSL's own classes are unchanged. Leaves: the same values and the same errors.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import IRDLOperation, VarIRConstruct
from xdsl.irdl.operations import BeforeVariadicSingleAccessor
from xdsl.traits import MemoryEffect

_MOST_VERIFIED = 1000


class _OperandAt(BeforeVariadicSingleAccessor):
    """An operand at a fixed index is read directly: a compiler mostly reads operands, and xDSL's accessor, which also
    serves results, regions and successors, is several times slower."""

    def __get__(self, obj: Any, objtype: type | None = None) -> SSAValue:
        return tuple.__getitem__(obj._operands, self.idx)


class _ResultAt(BeforeVariadicSingleAccessor):
    """Like `_OperandAt`, for results."""

    def __get__(self, obj: Any, objtype: type | None = None) -> SSAValue:
        return tuple.__getitem__(obj.results, self.idx)


_AT_ITS_PLACE = {VarIRConstruct.OPERAND: _OperandAt, VarIRConstruct.RESULT: _ResultAt}


def read_places(cls: type[IRDLOperation]) -> None:
    """Read operands and results at fixed indices directly."""
    for name, accessor in tuple(vars(cls).items()):
        if isinstance(accessor, BeforeVariadicSingleAccessor) and accessor.construct in _AT_ITS_PLACE:
            setattr(cls, name, _AT_ITS_PLACE[accessor.construct](accessor.construct, accessor.idx))


def result_count(cls: type[IRDLOperation]) -> int:
    """The number of results that a class defines; a variadic one counts as one."""
    return len(cls.get_irdl_definition().results)


def once_for_all_alike(verify: Callable[[Any], None]) -> Callable[[Any], None]:
    """A class's verifier that runs once for ops with the same types and attributes (the same objects, which the table
    keeps alive): it depends on nothing else of an op. xDSL itself verifies the positions of ops."""
    seen: dict[tuple[int | str, ...], list[Attribute]] = {}

    def verify_(self: Any) -> None:
        if self.regions:
            verify(self)
            return
        held = [operand.type for operand in self.operands]
        count = len(held)
        held += [result.type for result in self.results]
        held += self.properties.values()
        held += self.attributes.values()
        key = (count, len(self.results), len(self.properties), *map(id, held), *self.properties, *self.attributes)
        if key in seen:
            return
        verify(self)
        if all(isinstance(trait, MemoryEffect) for trait in self.traits):
            if len(seen) >= _MOST_VERIFIED:
                seen.clear()
            seen[key] = held

    return verify_
