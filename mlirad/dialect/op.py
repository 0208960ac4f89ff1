"""What every op of ours answers: type rule, spelling and reference, derivative, loops, memory.

`@op(...)` refuses, at import, a class that leaves one of the five questions open.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np
from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, StringAttr, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import IRDLOperation, ParsePropInAttrDict, VarIRConstruct, irdl_op_definition, traits_def
from xdsl.irdl.operations import BeforeVariadicSingleAccessor
from xdsl.traits import MemoryEffect, Pure
from xdsl.utils.exceptions import VerifyException

from mlirad.dialect import types
from mlirad.errors import CompileError

if TYPE_CHECKING:
    from mlirad.dialect.expr import Expr

Properties = Mapping[str, Attribute]
# The loops that an array's axes run along.
Dims = tuple[int, ...]


@dataclass(frozen=True)
class At:
    """A cotangent that touches only a part of its operand: `add(accumulator)` adds it in place."""

    add: Callable[[Expr], Expr]


@dataclass(frozen=True)
class Memory:
    """What an op does with its operands' memory.

    overwrites: the operand whose buffer the result takes. shape_only: operands of which only the shape is read.
    cost: what recomputing one element costs, an addition being 1.
    """

    overwrites: int | None = None
    shape_only: frozenset[int] = frozenset()
    cost: float = 1.0


@dataclass(frozen=True)
class Generic:
    """An op that is one `linalg.generic`.

    maps: the loop that each axis runs along, of every operand, then of the result. What the result has no axis for is
    reduced. body: from the elements of the operands (then the counters of the loops `counters`; then, where there are
    reductions, the accumulator) to the element of the result, in upstream ops. initial: the accumulator's start.
    sizes: how many operands without a map follow, which are the result's unknown sizes; without them, an operand that
    runs along an axis has its size.
    """

    maps: tuple[Dims, ...]
    body: Callable[..., SSAValue]
    initial: int | float | None = None
    sizes: int = 0
    counters: Dims = ()


@dataclass(frozen=True)
class Composed:
    """An op that is a few ops of ours: `build` gets the operands and emits them."""

    build: Callable[..., Sequence[Expr]]


@dataclass(frozen=True)
class Upstream:
    """An op that is a few upstream ops: `build` gets the lowered operands and emits them (with `expr.insert`).

    It may give nothing for a result that nothing uses.
    """

    build: Callable[..., Sequence[SSAValue]]


class NdOp(IRDLOperation):
    """An op of ours; the five questions are its methods."""

    irdl_options = (ParsePropInAttrDict(),)

    # What `@op` sets on the class, after xDSL has read it.
    if TYPE_CHECKING:
        spellings: ClassVar[tuple[Callable[..., Any], ...]]
        memory: ClassVar[Memory]
        singular: ClassVar[bool]
        linear: ClassVar[bool]
        partial: ClassVar[frozenset[int]]

    @classmethod
    @abstractmethod
    def infer(
        cls, operands: Sequence[Attribute], properties: Properties, result_type: Attribute | None = None
    ) -> list[Attribute]:
        """The result types. Raises ShapeError or DTypeError where the operands do not fit.

        result_type is what is asked for, of the ops whose operands leave it open; the others ignore it.
        """

    def reference(self, *arrays: Any) -> Any:
        """What the op computes, by NumPy."""
        return self.spellings[0](*arrays)

    @abstractmethod
    def vjp(self, g: Expr, out: Expr, *operands: Expr) -> Any:
        """The cotangents of the operands, one each (not a tuple, where there is one operand): Expr, At, or None."""

    @abstractmethod
    def jvp(self, tangents: Sequence[Expr | None], out: Expr, *operands: Expr) -> Expr | None:
        """The tangent of the result; None stands for a zero tangent."""

    def scales(self, index: int) -> bool:
        """Whether the cotangent of operand `index` is the result's, times a factor that may not be finite."""
        return False

    def is_finite(self) -> bool:
        """Whether it is known at compile time that the result holds neither an infinity nor a nan."""
        return False

    @abstractmethod
    def loops(self) -> Generic | Composed | Upstream:
        """What the op is upstream."""

    def size_source(self, axis: int) -> SSAValue | tuple[SSAValue, int] | None:
        """What gives an unknown size of the result: an i64 operand, or an axis of an operand; None: the op itself."""
        if self.memory.overwrites is not None:
            return self.operands[self.memory.overwrites], axis
        answer = self.loops()
        if not isinstance(answer, Generic):
            return None
        *reads, write = answer.maps
        if answer.sizes:
            return self.operands[len(reads) + types.shape(self.results[0].type)[:axis].count(-1)]
        found = (
            (operand, place)
            for operand, read in zip(self.operands, reads, strict=True)
            for place, dim in enumerate(read)
            if dim == write[axis]
        )
        return next(found, None)

    @classmethod
    def properties_of(cls, attributes: Mapping[str, Any]) -> dict[str, Attribute]:
        """MLIR attributes for plain Python ones: ints, strings, and sequences of ints."""
        return {name: attribute_of(value) for name, value in attributes.items()} if attributes else {}

    def rebuild(self, *operands: Expr) -> Expr:
        """The same op on other operands."""
        from mlirad.dialect.expr import emit

        return emit(type(self), *operands, result_type=self.results[0].type, **self.properties)

    def recomputed(self, *operands: SSAValue) -> Expr:
        """How a value computed once is computed again: by the same op, but for checks, which have been passed."""
        from mlirad.dialect.expr import Expr

        return self.rebuild(*(Expr(operand) for operand in operands))

    def verify_(self) -> None:
        try:
            operands = [operand.type for operand in self.operands]
            asked = self.results[0].type if self.results else None
            expected = type(self).infer(operands, self.properties, asked)
        except CompileError as error:
            raise VerifyException(error.message) from error
        actual = [result.type for result in self.results]
        if expected != actual:
            raise VerifyException(
                f"{self.name}: the result types should be {[str(t) for t in expected]}, not {[str(t) for t in actual]}"
            )


class PureOp(NdOp):
    """An op without effects that cannot trap."""

    traits = traits_def(Pure())


NdOpT = TypeVar("NdOpT", bound=NdOp)
_MOST_VERIFIED = 1000


@dataclass
class _Registry:
    """Every class that `@op` has accepted, and which of them a NumPy function spells."""

    classes: list[type[NdOp]] = field(default_factory=list)
    spelled: dict[Callable[..., Any], type[NdOp]] = field(default_factory=dict)


_registry = _Registry()


def op(
    *spellings: Callable[..., Any],
    cost: float = 1.0,
    overwrites: int | None = None,
    shape_only: Sequence[int] = (),
    singular: bool = False,
    linear: bool = False,
    partial: Sequence[int] = (),
) -> Callable[[type[NdOpT]], type[NdOpT]]:
    """Define an op of ours, which is what the functions `spellings` are in IR (the first is its reference).

    cost, overwrites, shape_only: see `Memory`. singular: its derivative's factor may be infinite where the op itself is
    finite, so that an exactly zero cotangent always annihilates it. linear: an elementwise op whose derivative has no
    factors but constants. partial: the operands that may have elements which are not in the result, such as a
    select's branches and the array that a write changes. Raises TypeError for a class that leaves a question open.
    """

    def define(cls: type[NdOpT]) -> type[NdOpT]:
        # Python itself would complain at the first instance only. What a family leaves to its members counts too.
        open_questions = sorted(cls.__abstractmethods__)
        if not spellings and cls.reference is NdOp.reference:
            open_questions.append("reference (give a spelling, or define it)")
        if open_questions:
            raise TypeError(f"{cls.__name__} leaves open: {', '.join(open_questions)}")
        for spelling in spellings:
            if spelling in _registry.spelled:
                raise TypeError(f"{spelling!r} spells both {_registry.spelled[spelling].__name__} and {cls.__name__}")
        defined = irdl_op_definition(cls)
        _read_places(defined)
        defined.verify_ = _once_for_all_alike(defined.verify_)  # pyright: ignore[reportAttributeAccessIssue]
        defined.spellings = spellings
        defined.memory = Memory(overwrites, frozenset(shape_only), cost)
        defined.singular = singular
        defined.linear = linear
        defined.partial = frozenset(partial)
        _registry.classes.append(defined)
        _registry.spelled.update(dict.fromkeys(spellings, defined))
        return defined

    return define


class _OperandAt(BeforeVariadicSingleAccessor):
    """An operand that stands at a fixed place is read from there: to read them is most of what a compiler does, and the
    accessor of xDSL, which serves results, regions and successors too, takes several times as long."""

    def __get__(self, obj: Any, objtype: type | None = None) -> SSAValue:
        return tuple.__getitem__(obj._operands, self.idx)


class _ResultAt(BeforeVariadicSingleAccessor):
    """As `_OperandAt`, of results."""

    def __get__(self, obj: Any, objtype: type | None = None) -> SSAValue:
        return tuple.__getitem__(obj.results, self.idx)


_AT_ITS_PLACE = {VarIRConstruct.OPERAND: _OperandAt, VarIRConstruct.RESULT: _ResultAt}


def _read_places(cls: type[NdOp]) -> None:
    """Let what stands at a fixed place among a class's operands and results be read from there."""
    for name, accessor in tuple(vars(cls).items()):
        if isinstance(accessor, BeforeVariadicSingleAccessor) and accessor.construct in _AT_ITS_PLACE:
            setattr(cls, name, _AT_ITS_PLACE[accessor.construct](accessor.construct, accessor.idx))


def _once_for_all_alike(verify: Callable[[Any], None]) -> Callable[[Any], None]:
    """The verifier of a class, which runs once for ops of the same types and attributes (the very objects, which the
    table keeps alive): nothing else of an op of ours is looked at. Where ops stand, xDSL itself verifies."""
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


def op_classes() -> tuple[type[NdOp], ...]:
    """Every op of ours that has been defined."""
    return tuple(_registry.classes)


def spelled() -> Mapping[Callable[..., Any], type[NdOp]]:
    """Which op a NumPy (or math) function is."""
    return _registry.spelled


def op_of(function: Callable[..., Any]) -> type[NdOp]:
    return _registry.spelled[function]


def ints(attribute: Attribute) -> tuple[int, ...]:
    """The values of an array-of-integers attribute."""
    assert isinstance(attribute, DenseArrayBase)
    return tuple(int(value) for value in attribute.get_values())


def attribute_of(value: Any) -> Attribute:
    """The attribute that a string, an integer (of 64 bits) or a sequence of integers is."""
    if isinstance(value, Attribute):
        return value
    if isinstance(value, str | int | np.integer):
        return _single(value if isinstance(value, str) else int(value))
    return _several(tuple([int(item) for item in value]))


@lru_cache(1024)
def _single(value: str | int) -> Attribute:
    return StringAttr(value) if isinstance(value, str) else IntegerAttr(value, i64)


@lru_cache(4096)
def _several(values: tuple[int, ...]) -> Attribute:
    return DenseArrayBase.from_list(i64, list(values))
