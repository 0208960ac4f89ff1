"""Recipes of calls without Python: the steps of a call, for a target that can run them.

Reads: nothing. Writes: nothing. Gives: `Recipe`, which jit makes from a specialisation and a target's artifact takes.

The steps work on registers that hold Python objects: first the arguments of the call, then the objects that steps push,
in order. Compiled code takes and returns 64-bit slots, as `PassedValue` describes.

A target that calls its code in another way does not use this: its artifacts are not `PlannedCalls`.
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
    """One argument or result of a compiled function: a scalar, or an array's data and unknown sizes.

    `element` is MLIR's name of the element type, without signedness ("f64", "i1", "i8"). `shape` is None for a scalar;
    in it, -1 is an unknown size. `result` is the number of the function's result that this argument finally holds.
    """

    element: str
    shape: tuple[int, ...] | None
    result: int | None = None
    is_written: bool = False
    is_output: bool = False

    @property
    def width(self) -> int:
        """How many 64-bit slots it takes: one for a real scalar, two for a complex scalar; one for a pointer, and one
        more per unknown size."""
        if self.shape is None:
            return 2 if self.element.startswith("complex") else 1
        return 1 + self.shape.count(-1)


class StepKind(IntEnum):
    """Steps that find objects, check them and fill slots, make the call, and make the result."""

    UNPACK = 0  # register a is a tuple, exactly of type p, of b items: push them
    UNPACK_LIST = 1
    UNPACK_DICT = 2  # a dict of b items, its keys the very objects in p, in order
    CELL = 3  # push the content of the closure cell p
    GLOBAL = 4  # push the object named q in the namespace p, or else in the builtins
    OBJECT = 5  # push p
    ATTRIBUTE = 6  # push attribute q of register a
    ITEM = 7  # push item q of register a
    PYTHON = 8  # p() is True
    SAME = 9  # register a is p, or equal to it by `Comparison` b
    TYPE = 10  # register a is exactly of type p
    ARRAY = 11  # register a is an array that fits p (`Spec`): its data to slot b, its bounds to place c; or -1
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
    """What makes two objects of one type the same besides identity: nothing, ==, or equal bits of a float."""

    IDENTITY = 0
    EQUALITY = 1
    BITS = 2


class Spec(IntEnum):
    """The numbers by which a step ARRAY recognises an array. flags: the bits ARRAY_FLAGS of `ndarray.flags.num`."""

    DTYPE = 0  # its id
    NDIM = 1
    FLAGS = 2
    BYTES = 3
    IS_WRITTEN = 4
    SIZES = 5


USABLE, WRITEABLE = 0x101, 0x400
"""Bits of `ndarray.flags.num`: C-contiguous and aligned; writeable."""
ARRAY_FLAGS = USABLE | WRITEABLE


class Numbers(tuple[int, ...]):
    """Integers that a step refers to."""

    __slots__ = ()


class Objects(tuple[Any, ...]):
    """Objects that a step refers to, one by one."""

    __slots__ = ()


class Absent:
    """The value of an absent operand: None would be an object."""


ABSENT = Absent()


@dataclass(frozen=True, eq=False)
class Step:
    """An instruction and its operands. keeps: objects that `p` and `q` refer to only by number."""

    kind: StepKind
    a: int = 0
    b: int = 0
    c: int = 0
    p: Any = ABSENT
    q: Any = ABSENT
    keeps: Any = None


@dataclass(frozen=True)
class Recipe:
    """A call: positional arguments, names of the keywords, steps; and the resources of the steps.

    arrays: how many arrays' bounds are kept; if `checks_overlap`, no written array may share memory with another.
    Nothing before RUN has an effect, so a call that does not fit can be made in another way.
    """

    positional: int
    names: Objects
    steps: Sequence[Step]
    registers: int
    slots: int
    arrays: int
    checks_overlap: bool


class PlanTable(ABC):
    """The plans for calls of one callable. Only one thread changes it at a time."""

    @abstractmethod
    def serve(self, instance: object) -> None:
        """Let calls of `instance`, the callable, use these plans from now on."""

    @property
    @abstractmethod
    def hits(self) -> int:
        """How many calls used a plan."""

    @abstractmethod
    def in_order(self) -> Sequence[CallPlan]:
        """The plans, the most recently used one first."""

    @abstractmethod
    def set(self, plans: Sequence[Any]) -> None:
        """Replace the plans by the first of these, as many as there are places."""


class CallPlan(ABC):
    """A way to run calls, which an artifact makes from a recipe."""

    @abstractmethod
    def new_table(self, kind: type, attribute: str, code_cache: CodeCache | None) -> PlanTable | None:
        """A table for one instance of `kind`, or None if calls cannot use plans.

        Calls that fit no plan go to the class's `__call__`. kind: a class derived from `vectorcall.NativelyCallable`.
        attribute: one of its `__slots__`, for the table's use. code_cache: where the machine's own code may be stored.
        """


class PlannedCalls(ABC):
    """An artifact with functions that take and return 64-bit slots and may be called by plans."""

    @abstractmethod
    def passed_values(self, name: str) -> tuple[Sequence[PassedValue], Sequence[PassedValue]]:
        """The arguments of the function `name`, including outputs, and its results."""

    @abstractmethod
    def call_plan(self, name: str, recipe: Recipe) -> CallPlan | None:
        """A plan for calls of the function `name` by the recipe; None if each call has to be an `invoke`."""
