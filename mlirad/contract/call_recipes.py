"""Recipes of calls without Python: the steps of a call, for a target that can run them.

Reads: nothing. Writes: nothing. Gives: `Recipe`, which jit makes of a specialisation and a target's artifact takes.

The steps work on registers that hold Python objects: first the arguments of the call, then what the steps push, in
order. Compiled code takes and returns 64-bit slots, as `PassedValue` describes.

A target whose code is called in another way does not use this: its artifacts are not `PlannedCalls`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from mlirad.contract.code_cache import CodeCache


@dataclass(frozen=True, slots=True)
class PassedValue:
    """What a compiled function takes or gives at one place: a scalar, or an array's data and unknown sizes.

    `element` is MLIR's name of the element type, without signedness ("f64", "i1", "i8"). `shape` is None for a scalar;
    in it, -1 is an unknown size. `result` is the number of the function's result that this place finally holds.
    """

    element: str
    shape: tuple[int, ...] | None
    result: int | None = None
    is_written: bool = False
    is_output: bool = False

    @property
    def width(self) -> int:
        """How many 64-bit slots it takes: one for a real scalar or a pointer, one more per unknown size; a complex
        scalar has one for each part."""
        if self.shape is None:
            return 2 if self.element.startswith("complex") else 1
        return 1 + self.shape.count(-1)


class StepKind(IntEnum):
    """Steps: those that find objects, those that check them and fill slots, the call, those that make the result."""

    UNPACK = 0  # register a is a tuple, exactly of type p, of b items: push them
    UNPACK_LIST = 1
    UNPACK_DICT = 2  # a dict of b items, its keys the very objects in p, in order
    CELL = 3  # push what the closure cell p holds
    GLOBAL = 4  # push what the namespace p has under the name q, or else the builtins
    OBJECT = 5  # push p
    ATTRIBUTE = 6  # push attribute q of register a
    ITEM = 7  # push item q of register a
    PYTHON = 8  # p() is True
    SAME = 9  # register a is p, or equal to it by `Comparison` b
    TYPE = 10  # register a is exactly of type p
    ARRAY = 11  # register a is an array as the numbers p say (`Spec`): its data to slot b, its bounds to place c; or -1
    FLOAT = 12  # register a is exactly a float: to slot b, or -1
    INT = 13
    BOOL = 14
    NUMBER = 15  # a NumPy number of type p
    NEW = 16  # push an array of dtype p and of b sizes, the numbers q; its data to slot a
    RUN = 17
    FLOAT_OF = 18  # push the float in slot b
    INT_OF = 19
    BOOL_OF = 20
    NUMBER_OF = 21  # a NumPy number of dtype p
    COPY = 22  # push register a
    MAKE_TUPLE = 23  # the last b registers become one
    MAKE_LIST = 24
    MAKE_DICT = 25  # under the keys in p
    CALL = 26  # p(*the last b registers)
    RETURN = 27  # the last register
    CODE = 28  # the function p has the code q
    UNCHANGED = 29  # the a namespaces in p are as when q() was True the last time, or q() is True again; c = 0
    STAYS = 30  # the namespace p has an object under a name, the two in q; c = 0


class Comparison(IntEnum):
    """What besides identity makes two objects of one type the same: nothing, ==, or equal bits of a float."""

    IDENTITY = 0
    EQUALITY = 1
    BITS = 2


class Spec(IntEnum):
    """The numbers by which a step ARRAY knows an array. flags: the bits ARRAY_FLAGS of `ndarray.flags.num`."""

    DTYPE = 0  # its id
    NDIM = 1
    FLAGS = 2
    BYTES = 3
    IS_WRITTEN = 4
    SIZES = 5


USABLE, WRITEABLE = 0x101, 0x400
"""Of `ndarray.flags.num`: C-contiguous and aligned; writeable."""
ARRAY_FLAGS = USABLE | WRITEABLE


class Numbers(tuple[int, ...]):
    """Integers that a step refers to."""

    __slots__ = ()


class Objects(tuple[Any, ...]):
    """Objects that a step refers to, one by one."""

    __slots__ = ()


class Absent:
    """What an operand is that there is not: None would be an object."""


ABSENT = Absent()


@dataclass(frozen=True, eq=False)
class Step:
    """What to do, and its operands. keeps: what `p` and `q` only name by numbers."""

    kind: StepKind
    a: int = 0
    b: int = 0
    c: int = 0
    p: Any = ABSENT
    q: Any = ABSENT
    keeps: Any = None


@dataclass(frozen=True)
class Recipe:
    """A call: positional arguments, names of the keywords, steps; and how much the steps use.

    arrays: of how many arrays the bounds are kept; no written one may share memory with another if `checks_overlap`.
    Nothing before RUN has an effect, so that a call that does not fit may be made in another way.
    """

    positional: int
    names: Objects
    steps: Sequence[Step]
    registers: int
    slots: int
    arrays: int
    checks_overlap: bool


class PlanTable(ABC):
    """The plans by which calls of one callable may go. It is changed by one thread at a time."""

    @abstractmethod
    def serve(self, instance: object) -> None:
        """From now on calls of `instance`, the callable, go by these plans."""

    @property
    @abstractmethod
    def hits(self) -> int:
        """How many calls went by a plan."""

    @abstractmethod
    def in_order(self) -> Sequence[CallPlan]:
        """The plans, the last used one first."""

    @abstractmethod
    def set(self, plans: Sequence[Any]) -> None:
        """The first of these plans, as many as there are places, instead of those before."""


class CallPlan(ABC):
    """A way in which calls may go, made of a recipe by an artifact."""

    @abstractmethod
    def new_table(self, kind: type, attribute: str, code_cache: CodeCache | None) -> PlanTable | None:
        """A table for one instance of `kind`, or None where calls cannot go by plans.

        What fits no plan goes to the class's `__call__`. kind: a class derived from `vectorcall.NativelyCallable`.
        attribute: one of its `__slots__`, for the table's use. code_cache: where the machine's own code may be stored.
        """


class PlannedCalls(ABC):
    """What an artifact also is, whose functions take and give 64-bit slots and may be called by plans."""

    @abstractmethod
    def passed_values(self, name: str) -> tuple[Sequence[PassedValue], Sequence[PassedValue]]:
        """What the function `name` takes, outputs included, and what it returns."""

    @abstractmethod
    def call_plan(self, name: str, recipe: Recipe) -> CallPlan | None:
        """Calls of the function `name` by the recipe; None where each has to be an `invoke`."""
