"""The questions that every op of mlirad answers: type rule, spelling and reference, derivative, loops, memory.

Questions about integers, sizes, subsets and contents have default answers. `@op(...)` refuses, at import, a class that
lacks an answer to a question without a default.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.irdl import ParsePropInAttrDict, irdl_op_definition, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from mlirad.dialect.core import types
from mlirad.dialect.core.answers import Composed, Cotangent, Generic, Given, Memory, Series, SizeOf, Upstream
from mlirad.dialect.core.expr import Expr, emit, emit_all
from mlirad.dialect.core.intervals import UNKNOWN, Integer, Interval, Proofs, Values
from mlirad.dialect.core.native import NativeCalls
from mlirad.dialect.core.numpy_source import NumpySource, NumpyText
from mlirad.dialect.core.registry import TypedOp, require_free, spell
from mlirad.dialect.core.scalars import Complex, Flag, Real
from mlirad.dialect.core.shift import Shift
from mlirad.dialect.core.subset import Change, Subset
from mlirad.errors import CompileError
from mlirad.xdsl_support.fast_accessors import once_for_all_alike, read_places, result_count


class NdOp(TypedOp):
    """An op of mlirad. Its methods are the questions; `TypedOp` has the type rule."""

    irdl_options = (ParsePropInAttrDict(),)

    # Attributes that `@op` sets on the class, after xDSL has processed it.
    if TYPE_CHECKING:
        memory: ClassVar[Memory]
        singular: ClassVar[bool]
        linear: ClassVar[bool]
        harmless: ClassVar[float]
        partial: ClassVar[frozenset[int]]
        inert: ClassVar[frozenset[int]]
        arithmetic: ClassVar[bool]

    def reference(self, *arrays: Any, **named: Any) -> Any:
        """The op's result, computed by NumPy: a number or an array; for several results a tuple of them."""
        return self.spellings[0](*arrays, **named)

    def numpy_source(self, source: NumpySource) -> NumpyText:
        """The op as NumPy source: by default a call of its first spelling. Several results are a tuple.

        An op that overwrites an operand writes a line that does so, and returns the operand's new value. Targets that
        need the source refuse an op that has no spelling and does not override this method.
        """
        return source.called(self.spellings[0], *source.operands())

    @classmethod
    def has_numpy_source(cls) -> bool:
        """Whether the op can be written in NumPy."""
        return bool(cls.spellings) or cls.numpy_source is not NdOp.numpy_source

    def numpy_repeats(self) -> frozenset[int]:
        """The operands that its `numpy_source` contains more than once."""
        return frozenset()

    @abstractmethod
    def cotangents(self, gs: Given, outs: Sequence[Expr], operands: Sequence[Expr]) -> Sequence[Cotangent]:
        """The cotangents of the operands, given cotangents of the results; at least one of these is not None."""

    @abstractmethod
    def tangents(self, given: Given, outs: Sequence[Expr], operands: Sequence[Expr]) -> Given:
        """The tangents of the results, given those of the operands."""

    def paths(self, given: Given, outs: Sequence[Expr], operands: Sequence[Expr]) -> Given | None:
        """The tangents of the results as if all factors of the derivative were 1.

        They count paths of dependence: an element of a result with 0 does not depend on any element with a nonzero
        count in `given`. None instead of a sequence: unknown.
        """
        return None

    def coefficient(self, order: int, outs: Sequence[Series], operands: Sequence[Series]) -> Given | None:
        """Taylor coefficients number `order` > 0 of the results, from the operands' up to it and the results' below it.

        None: they follow from `tangents`, evaluated on series (`autodiff/taylor.py`).
        """
        return self.tangents(*at_order(order, outs, operands)) if self.linear else None

    def has_looped_tangent(self) -> bool:
        """Whether a loop computes `tangents`, so that no formula gives Taylor coefficients."""
        return False

    def scales(self, index: int) -> bool:
        """Whether the cotangent of operand `index` is the result's cotangent times a factor that may not be finite."""
        return False

    def is_finite(self) -> bool:
        """Whether it is known at compile time that the result contains neither an infinity nor a nan."""
        return False

    def is_rounded(self) -> bool:
        """Whether it computes with its elements and rounds the result, so that f16 may be computed in f32."""
        return False

    def on_complex(self, *operands: Any, **named: Any) -> Complex | Real | Flag:
        """An element of the result, for an elementwise op on complex numbers. An op that overrides this supports
        complex numbers. operands: each a `Complex`."""
        raise NotImplementedError(self.name)

    def is_reshape(self) -> bool:
        """Whether the result has the operand's elements, in the same row-major order."""
        return False

    def sums_from_zero(self) -> bool:
        """Whether each element of the result is a sum that begins with 0.0, so that none is -0.0."""
        return False

    def is_undefined(self) -> bool:
        """Whether the result is new memory, whose elements nothing has written yet."""
        return False

    def is_foldable(self) -> bool:
        """Whether its result on known numbers may be computed at compile time: the code may run in another process."""
        return True

    def is_simpler_if_known(self, index: int) -> bool:
        """Whether the op becomes simpler if operand `index` is a number known at compile time."""
        return False

    @abstractmethod
    def loops(self) -> Generic | tuple[Generic, ...] | Composed | Upstream | SizeOf | NativeCalls:
        """The op in upstream terms. A Generic has one result: several results are a tuple, each with its own loops."""

    def size_source(self, axis: int, result: int = 0) -> SSAValue | tuple[SSAValue, int] | None:
        """The source of an unknown size of a result: an i64 operand, or an axis of an operand; None: the op itself."""
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
        """An array and its axis from which the result's axis is selected, and the least distance between selected
        indices.

        None as the axis: the elements are selected from the whole array.
        """
        return None

    def contents(self) -> Attribute | SSAValue | None:
        """What is known of the result: an attribute with its elements, or a scalar that all its elements equal."""
        return None

    def repeats(self, axis: int) -> bool:
        """Whether the elements of the result are certainly constant along an axis."""
        if isinstance(self.contents(), SSAValue):
            return True
        answer = self.loops()
        return isinstance(answer, Generic) and answer.repeats(answer.maps[-1][axis])

    def resized(self, operands: Sequence[Expr], axis: int | None, size: int | Expr) -> Expr:
        """The same op on operands with another size along one loop: an axis of the result, or a reduced one (None).

        The operands are those with a map; unknown sizes of the result follow from them.
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
        """What is known of the result, an i64, if the operands lie in these intervals."""
        return UNKNOWN

    def simplified(self, proofs: Proofs) -> Sequence[SSAValue] | None:
        """The values that replace the results, if proofs about integers or other ops determine them; the op itself is
        then dropped.

        The ops that compute them are emitted at the insertion point.
        """
        return None

    def established(self, proofs: Proofs) -> Sequence[Values]:
        """The forms that are not negative once the op has completed."""
        return ()

    def implied(self, proofs: Proofs, truth: bool) -> Sequence[Values]:
        """The forms that are not negative if the result, a boolean, is `truth`."""
        return ()

    def subset(self) -> Subset | None:
        """The part of an array that the op returns, or that it changes, leaving the rest; None: possibly the whole
        array."""
        return None

    def batched(self, operands: Sequence[Expr], stacked: Sequence[bool], lanes: int | Expr) -> Sequence[Expr] | None:
        """The results of all lanes, stacked along a first axis; some operands (`stacked`) also contain all lanes.

        None: each element of the results depends only on the elements at the same index, as `loops` shows; or there is
        no batched form, and the lanes are computed one by one.
        """
        return None

    def addend(self, index: int, operands: Sequence[Expr]) -> Expr | None:
        """What the op adds to operand `index`, computed from its other operands; None if the result is not such a
        sum."""
        return None

    def selection(self) -> tuple[SSAValue, SSAValue, SSAValue] | None:
        """(condition, x, y), if the only result is x where the condition holds and y elsewhere; None for other ops."""
        return None

    def shifted(self, *operands: Any, **named: Any) -> Shift | None:
        """How the only result changes with a number, given the same of each operand (Shifts); None if not known."""
        return None

    def hinted(self) -> SSAValue | None:
        """The operand that replaces the op once all derivatives are expanded, if it is a hint to differentiation."""
        return None

    def linear_part(self) -> SSAValue | None:
        """The operand that equals the op if all factors are finite, for an op that only separates 0 times infinity from
        nan."""
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
        """The results, computed again by the same op. A check has already passed, and is not repeated."""
        return self.rebuild(*map(Expr, operands))

    def replayed(self, recorded: Sequence[Expr]) -> Sequence[Expr]:
        """The results of an op with an ordered effect, in a rerun part of the program: the recorded results, with the
        op's derivatives. An op that does not override this is refused there."""
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
    """The arguments of `tangents` for one coefficient of a linear op: its derivative is the same along a path."""
    values, arguments = ([each for one in many if (each := one[0]) is not None] for many in (outs, operands))
    return [one[order] for one in operands], values, arguments


def read_subset(op: Operation | Block) -> Subset | None:
    """The part of an array that is the result of `op`, if there is one."""
    subset = op.subset() if isinstance(op, NdOp) and op.memory.overwrites is None else None
    return subset if subset is not None and subset.change is Change.NONE else None


def written_subset(op: Operation | Block) -> Subset | None:
    """The part of an array that `op` changes, if it leaves the rest unchanged."""
    return op.subset() if isinstance(op, NdOp) and op.memory.overwrites is not None else None


def accessed_subset(op: Operation | Block) -> Subset | None:
    """The part of an array that `op` reads or changes, if there is one."""
    return read_subset(op) or written_subset(op)


def is_pointwise(op: NdOp) -> bool:
    """Whether each element of the results depends only on the operands' elements at the same index."""
    answers = op.loops()
    generics = answers if isinstance(answers, tuple) else (answers,)
    return all(isinstance(each, Generic) and each.is_pointwise for each in generics)


class PureOp(NdOp):
    """An op without effects that cannot trap."""

    traits = traits_def(Pure())


NdOpT = TypeVar("NdOpT", bound=NdOp)


_OF_ONE_RESULT = ("contents", "implied", "integer", "is_finite", "part_of", "resized", "subset")
"""The questions about an op's only result. Verbs ask them about a value's origin: an op with several results has no
answer."""


DIALECTS = ("nd", "ad")
"""The dialects of mlirad. Ops of other dialects belong to a target."""


_classes: list[type[NdOp]] = []
"""Every class accepted by `@op`."""


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
    arithmetic: bool = False,
) -> Callable[[type[NdOpT]], type[NdOpT]]:
    """Define an op of mlirad. In IR it represents the functions `spellings` (the first is its reference).

    An op of another dialect belongs to its target: the functions become this op in code for that target only, and are
    compiled otherwise for all others (see `Target.dialects`).

    cost, overwrites, changes, views, shape_only: see `Memory`. singular: its derivative's factor may be infinite where
    the op itself is finite, so an exactly zero cotangent always annihilates it. linear: the factors of its derivative
    are constants. harmless: an operand value at which the op and its derivatives are finite; it replaces elements that
    are not needed, if the op is not linear. partial: the operands that may have elements which do not reach the result,
    such as a select's branches and the array that a write changes. inert: of several results, those through which no
    derivative flows. complex: whether it takes complex numbers, for which its rules must be right (C-linear, as in
    JAX); an elementwise op that has `on_complex` also takes them. arithmetic: its float instructions are the program's
    own arithmetic, which `fastmath=True` may round in another order; other ops are formulas, whose accuracy depends on
    the order. Raises TypeError for a class that leaves a question unanswered.
    """

    def define(cls: type[NdOpT]) -> type[NdOpT]:
        # Python itself would complain only at the first instance. What a family leaves to its members counts too.
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
        defined.arithmetic = arithmetic
        defined.takes_complex = complex or cls.on_complex is not NdOp.on_complex
        if is_own:
            _classes.append(defined)
            spell(defined, spellings)
        return defined

    return define


def op_classes() -> tuple[type[NdOp], ...]:
    """Every op of mlirad that is defined so far."""
    return tuple(_classes)
