"""What every op of mlirad answers: type rule, spelling and reference, derivative, loops, memory.

What an op knows of integers, sizes, subsets and contents has a default. `@op(...)` refuses, at import, a class that
leaves a question without a default open.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.irdl import ParsePropInAttrDict, irdl_op_definition, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from mlirad.dialect.core import types
from mlirad.dialect.core.expr import Expr, emit, emit_all
from mlirad.dialect.core.intervals import UNKNOWN, Integer, Interval, Proofs, Values
from mlirad.dialect.core.native import NativeCalls
from mlirad.dialect.core.numpy_source import NumpySource, NumpyText
from mlirad.dialect.core.registry import TypedOp, require_free, spell
from mlirad.dialect.core.scalars import Complex, Flag, Real
from mlirad.dialect.core.subset import Change, Subset
from mlirad.errors import CompileError
from mlirad.xdsl_support.fast_accessors import once_for_all_alike, read_places, result_count

# The loops that an array's axes run along.
Dims = tuple[int, ...]


@dataclass(frozen=True)
class At:
    """A cotangent that touches only a part of its operand: `add(accumulator)` adds it in place."""

    add: Callable[[Expr], Expr]


Cotangent = Expr | At | None
"""What an op gives for an operand; None stands for zeros."""
Given = Sequence[Expr | None]
"""The cotangents of an op's results, or the tangents of its operands; None stands for zeros."""
Series = Sequence[Expr | None]
"""The coefficients of a truncated Taylor series, the value first; None stands for zeros."""


@dataclass(frozen=True)
class Memory:
    """What an op does with its operands' memory.

    overwrites: the operand whose buffer the result takes. changes: whether that changes any of its elements. views: the
    operand whose memory the result may show. shape_only: operands whose shape alone is read. cost: of one element, an
    addition being 1; see `analysis/cost.py`.
    """

    overwrites: int | None = None
    changes: bool = True
    views: int | None = None
    shape_only: frozenset[int] = frozenset()
    cost: int = 1


@dataclass(frozen=True)
class Generic:
    """An op that is one `linalg.generic`.

    maps: the loop that each axis runs along, of every operand, then of the result. What the result has no axis for is
    reduced. body: from the elements of the operands (then the counters of the loops `counters`; then, where there are
    reductions, the accumulator) to the element of the result, in upstream ops. initial: the accumulator's start. start:
    the operand, behind those with a map, that it starts as instead; `initial` then changes nothing that is added.
    sizes: how many operands without a map follow, which are the result's unknown sizes; without them, an operand that
    runs along an axis has its size.
    """

    maps: tuple[Dims, ...]
    body: Callable[..., SSAValue]
    initial: int | float | None = None
    sizes: int = 0
    counters: Dims = ()
    start: int | None = None

    @property
    def is_pointwise(self) -> bool:
        """Whether each element of the result is computed of the elements at the same place."""
        write = self.maps[-1]
        is_whole = set(self.maps) == {write} and write == tuple(range(len(write)))
        return is_whole and not self.counters and not self.sizes and self.initial is None

    def repeats(self, dim: int) -> bool:
        """Whether the element of the result is the same all along a loop."""
        return dim not in self.counters and not any(dim in read for read in self.maps[:-1])


@dataclass(frozen=True)
class Composed:
    """An op made of a few others of mlirad: `build` gets the operands and emits them."""

    build: Callable[..., Sequence[Expr]]


@dataclass(frozen=True)
class Upstream:
    """An op that is a few upstream ops: `build` gets the lowered operands and emits them (with `expr.insert`).

    It may give nothing for a result that nothing uses.
    """

    build: Callable[..., Sequence[SSAValue]]


@dataclass(frozen=True)
class SizeOf:
    """An op that is the size of operand `operand` along an axis, an i64. The array itself is not needed for it."""

    operand: int
    axis: int


class NdOp(TypedOp):
    """An op of mlirad. The questions are its methods; `TypedOp` has the type rule."""

    irdl_options = (ParsePropInAttrDict(),)

    # What `@op` sets on the class, after xDSL has read it.
    if TYPE_CHECKING:
        memory: ClassVar[Memory]
        singular: ClassVar[bool]
        linear: ClassVar[bool]
        harmless: ClassVar[float]
        partial: ClassVar[frozenset[int]]
        inert: ClassVar[frozenset[int]]

    def reference(self, *arrays: Any, **named: Any) -> Any:
        """What the op computes, by NumPy: a number or an array, a tuple of them where there are several results."""
        return self.spellings[0](*arrays, **named)

    def numpy_source(self, source: NumpySource) -> NumpyText:
        """How it is written in NumPy: a call of its first spelling, by default. Several results are a tuple.

        An op that overwrites an operand has a line do that, and gives what becomes of the operand. An op without a
        spelling that does not answer is refused by targets that need its source.
        """
        return source.called(self.spellings[0], *source.operands())

    @classmethod
    def has_numpy_source(cls) -> bool:
        """Whether it can be written in NumPy."""
        return bool(cls.spellings) or cls.numpy_source is not NdOp.numpy_source

    def numpy_repeats(self) -> frozenset[int]:
        """The operands that are in its `numpy_source` more than once."""
        return frozenset()

    @abstractmethod
    def cotangents(self, gs: Given, outs: Sequence[Expr], operands: Sequence[Expr]) -> Sequence[Cotangent]:
        """The cotangents of the operands, for cotangents of the results; at least one is not None."""

    @abstractmethod
    def tangents(self, given: Given, outs: Sequence[Expr], operands: Sequence[Expr]) -> Given:
        """The tangents of the results, for those of the operands."""

    def paths(self, given: Given, outs: Sequence[Expr], operands: Sequence[Expr]) -> Given | None:
        """The tangents of the results if all factors of the derivative were 1.

        They count paths of dependence: a number of a result with 0 depends on no number that `given` has paths to. None
        as a whole: that is not known.
        """
        return None

    def coefficient(self, order: int, outs: Sequence[Series], operands: Sequence[Series]) -> Given | None:
        """Taylor coefficients number `order` > 0 of the results, for the operands' up to it and the results' below it.

        None: they follow from `tangents`, taken of series (`autodiff/taylor.py`).
        """
        return self.tangents(*at_order(order, outs, operands)) if self.linear else None

    def has_looped_tangent(self) -> bool:
        """Whether `tangents` are computed by a loop, so that no formula gives Taylor coefficients."""
        return False

    def scales(self, index: int) -> bool:
        """Whether the cotangent of operand `index` is the result's, times a factor that may not be finite."""
        return False

    def is_finite(self) -> bool:
        """Whether it is known at compile time that the result holds neither an infinity nor a nan."""
        return False

    def is_rounded(self) -> bool:
        """Whether it computes with its elements and rounds what it gives, so that f16 may be computed in f32."""
        return False

    def on_complex(self, *operands: Any, **named: Any) -> Complex | Real | Flag:
        """An element of the result, of an elementwise op on complex numbers: it takes them if it answers. operands:
        each a `Complex`."""
        raise NotImplementedError(self.name)

    def is_foldable(self) -> bool:
        """Whether its result on known numbers may be computed while compiling: the code may run in another process."""
        return True

    def is_simpler_if_known(self, index: int) -> bool:
        """Whether a number known at compile time, as operand `index`, makes it a simpler op."""
        return False

    @abstractmethod
    def loops(self) -> Generic | tuple[Generic, ...] | Composed | Upstream | SizeOf | NativeCalls:
        """What the op is upstream. A Generic has one result: of several, there is a tuple, each in its own loops."""

    def size_source(self, axis: int, result: int = 0) -> SSAValue | tuple[SSAValue, int] | None:
        """What gives an unknown size of a result: an i64 operand, or an axis of an operand; None: the op itself."""
        if self.memory.overwrites is not None:
            return self.operands[self.memory.overwrites], axis
        answer = self.loops()
        if isinstance(answer, tuple):
            answer = answer[result]
        if not isinstance(answer, Generic):
            return None
        *reads, write = answer.maps
        if answer.sizes:
            return self.operands[len(reads) + types.shape(self.results[result].type)[:axis].count(-1)]
        found = (
            (operand, place)
            for operand, read in zip(self.operands, reads, strict=True)
            for place, dim in enumerate(read)
            if dim == write[axis]
        )
        return next(found, None)

    def part_of(self, axis: int) -> tuple[SSAValue, int | None, int] | None:
        """An array and its axis that the result's axis is chosen from, and the least distance between chosen places.

        None for its axis: the places are chosen from all its elements.
        """
        return None

    def contents(self) -> Attribute | SSAValue | None:
        """What is known of the result: an attribute with its elements, or a scalar that all its elements are."""
        return None

    def repeats(self, axis: int) -> bool:
        """Whether all places along an axis of the result certainly have the same elements."""
        if isinstance(self.contents(), SSAValue):
            return True
        answer = self.loops()
        return isinstance(answer, Generic) and answer.repeats(answer.maps[-1][axis])

    def resized(self, operands: Sequence[Expr], axis: int | None, size: int | Expr) -> Expr:
        """The same op on operands of another size along one loop, which is an axis of the result, or reduced (None).

        The operands are those with a map: unknown sizes of the result follow.
        """
        type, given = self.results[0].type, list(map(Expr, self.operands[len(operands) :]))
        if axis is not None:
            shape = types.shape(type)
            if given:
                place = shape[:axis].count(-1)
                given[place : place + 1] = [size] if isinstance(size, Expr) else []
            length = -1 if isinstance(size, Expr) else size
            type = types.tensor([*shape[:axis], length, *shape[axis + 1 :]], types.element_type(type))
        return emit(self.__class__, *operands, *given, result_type=type, **self.properties)

    def integer(self, *operands: Interval) -> Integer:
        """What is known of the result, an i64, where the operands lie in these intervals."""
        return UNKNOWN

    def simplified(self, proofs: Proofs) -> Sequence[SSAValue] | None:
        """The values in place of the results, if proofs about integers or other ops decide them; the op itself does
        nothing then.

        What it takes to compute them is emitted at the insertion point.
        """
        return None

    def established(self, proofs: Proofs) -> Sequence[Values]:
        """The forms that are not negative once the op has been passed."""
        return ()

    def implied(self, proofs: Proofs, truth: bool) -> Sequence[Values]:
        """The forms that are not negative where the result, a boolean, is `truth`."""
        return ()

    def subset(self) -> Subset | None:
        """The part of an array that the op reads and gives, or changes and leaves the rest; None: it may be all."""
        return None

    def batched(self, operands: Sequence[Expr], stacked: Sequence[bool], lanes: int | Expr) -> Sequence[Expr] | None:
        """The results of all lanes, stacked along a first axis, where some operands (`stacked`) are of all lanes, too.

        None: it computes each number of its results of the numbers at the same place, as its loops say; or there is no
        such op, and it is computed lane by lane.
        """
        return None

    def addend(self, index: int, operands: Sequence[Expr]) -> Expr | None:
        """What the op adds to operand `index`, made of its other operands; None where the result is no such sum."""
        return None

    def hinted(self) -> SSAValue | None:
        """The operand that the op is once all derivatives have been taken, if it is a hint to differentiation."""
        return None

    def linear_part(self) -> SSAValue | None:
        """The operand that the op is wherever all factors are finite, if it only tells 0 times infinity from nan."""
        return None

    def rebuild(self, *operands: Expr) -> tuple[Expr, ...]:
        """The results of the same op on other operands."""
        asked = self.results[0].type if self.results else None
        return emit_all(type(self), *operands, result_type=asked, **self.properties)

    def result_on(self, *operands: Expr) -> Expr:
        """The one result of the same op on other operands."""
        (result,) = self.rebuild(*operands)
        return result

    def recomputed(self, *operands: SSAValue) -> tuple[Expr, ...]:
        """How results are computed again: by the same op. A check has been passed, and is not repeated."""
        return self.rebuild(*map(Expr, operands))

    def replayed(self, recorded: Sequence[Expr]) -> Sequence[Expr]:
        """The results of an op with an ordered effect, where a part of the program runs again: what was recorded when
        it was done, with the op's derivatives. An op without an answer is refused there."""
        raise NotImplementedError(self.name)

    def verify_(self) -> None:
        try:
            operands = [operand.type for operand in self.operands]
            self.require_taken(operands)
            asked = self.results[0].type if self.results else None
            expected = type(self).infer(operands, self.properties, asked)
        except CompileError as error:
            raise VerifyException(error.message) from error
        actual = [result.type for result in self.results]
        if expected != actual:
            raise VerifyException(
                f"{self.name}: the result types should be {[str(t) for t in expected]}, not {[str(t) for t in actual]}"
            )


def at_order(
    order: int, outs: Sequence[Series], operands: Sequence[Series]
) -> tuple[Given, Sequence[Expr], Sequence[Expr]]:
    """What `tangents` is asked for one coefficient of an op that is linear: its derivative is the same along a path."""
    values, arguments = ([each for one in many if (each := one[0]) is not None] for many in (outs, operands))
    return [one[order] for one in operands], values, arguments


def read_subset(op: Operation | Block) -> Subset | None:
    """The part of an array that is the result of `op`, if it is one."""
    subset = op.subset() if isinstance(op, NdOp) and op.memory.overwrites is None else None
    return subset if subset is not None and subset.change is Change.NONE else None


def written_subset(op: Operation | Block) -> Subset | None:
    """The part of an array that `op` changes, if it leaves the rest."""
    return op.subset() if isinstance(op, NdOp) and op.memory.overwrites is not None else None


class PureOp(NdOp):
    """An op without effects that cannot trap."""

    traits = traits_def(Pure())


NdOpT = TypeVar("NdOpT", bound=NdOp)

_OF_ONE_RESULT = ("contents", "implied", "integer", "is_finite", "part_of", "resized", "subset")
"""The questions about an op's one result. Verbs ask them where a value comes from: an op of several has no answer."""


DIALECTS = ("nd", "ad")
"""Those of mlirad. Ops of others are a target's."""
_classes: list[type[NdOp]] = []
"""Every class that `@op` has accepted."""


def op(
    *spellings: Callable[..., Any],
    cost: int = 1,
    overwrites: int | None = None,
    changes: bool = True,
    views: int | None = None,
    shape_only: Sequence[int] = (),
    singular: bool = False,
    linear: bool = False,
    harmless: float = 1,
    partial: Sequence[int] = (),
    inert: Sequence[int] = (),
    complex: bool = False,
) -> Callable[[type[NdOpT]], type[NdOpT]]:
    """Define an op of mlirad, which is what the functions `spellings` are in IR (the first is its reference).

    An op of another dialect is its target's: the functions are that op in code for this target only, and anything else
    for all others (see `Target.dialects`).

    cost, overwrites, changes, views, shape_only: see `Memory`. singular: its derivative's factor may be infinite where
    the op itself is finite, so that an exactly zero cotangent always annihilates it. linear: its derivative has no
    factors but constants. harmless: where all operands are that, the op and its derivatives are finite; it stands in
    the place of elements that are not needed, if the op is not linear. partial: the operands that may have elements
    which are not in the result, such as a select's branches and the array that a write changes. inert: the results, of
    several, through which no derivative flows. complex: whether it takes complex numbers: its rules are right for them
    (C-linear, as JAX's); an elementwise op that has `on_complex` takes them, too. Raises TypeError for a class that
    leaves a question open.
    """

    def define(cls: type[NdOpT]) -> type[NdOpT]:
        # Python itself would complain at the first instance only. What a family leaves to its members counts too.
        open_questions = sorted(cls.__abstractmethods__)
        if not spellings and cls.reference is NdOp.reference:
            open_questions.append("reference (give a spelling, or define it)")
        if open_questions:
            raise TypeError(f"{cls.__name__} leaves open: {', '.join(open_questions)}")
        is_own = cls.name.partition(".")[0] in DIALECTS
        if is_own:
            require_free(spellings, cls.__name__)
        defined = irdl_op_definition(cls)
        if result_count(defined) != 1:
            answered = [name for name in _OF_ONE_RESULT if getattr(cls, name) is not getattr(NdOp, name)]
            answered += [name for name, index in (("overwrites", overwrites), ("views", views)) if index is not None]
            if answered:
                raise TypeError(f"{cls.__name__} has several results, but answers for one: {', '.join(answered)}")
        read_places(defined)
        defined.verify_ = once_for_all_alike(defined.verify_)  # pyright: ignore[reportAttributeAccessIssue]  # all ops have it
        defined.spellings = spellings
        defined.memory = Memory(overwrites, changes, views, frozenset(shape_only), cost)
        defined.singular = singular
        defined.linear = linear
        defined.harmless = harmless
        defined.partial = frozenset(partial)
        defined.inert = frozenset(inert)
        defined.takes_complex = complex or cls.on_complex is not NdOp.on_complex
        if is_own:
            _classes.append(defined)
            spell(defined, spellings)
        return defined

    return define


def op_classes() -> tuple[type[NdOp], ...]:
    """Every op of mlirad that has been defined."""
    return tuple(_classes)
