"""The fourth way in which an op answers `loops`: other libraries' native code computes it.

`NativeFunction` declares a C function, `NativeCalls` says how an op calls it. Reads and writes nothing: the calls are
made in `lowering/to_linalg/native_calls.py`, and emitted by the target.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.ir import Attribute, SSAValue


@dataclass(frozen=True)
class NativeFunction:
    """A C function that is called by its address, which `contract.native_functions` finds by its name.

    It touches only the memory that it is given, and neither raises nor jumps. failure: Python's exception and its
    message where the function, which then gives an int, gives another one than 0. needs_gil: whether it may be called
    by who holds the interpreter's lock only. Compiled code runs with and without it.

    gufunc: its core signature, of a loop of a gufunc (`contract/gufunc_loops.py`). It is called for one part, with the
    parts of operands and results, then where to put whether it failed, an i64, and then the core sizes. memory: it
    allocates at most so many times the bytes of these parts.
    """

    name: str
    failure: tuple[str, str] | None = None
    needs_gil: bool = False
    gufunc: str | None = None
    memory: int = 1


@dataclass(frozen=True)
class PartAddress:
    """The address of a part of an array: of an operand, or of a result, numbered behind the operands."""

    array: int


@dataclass(frozen=True)
class WholeAddress:
    """The address of an operand of one axis, which all calls share, from its element number `start` on."""

    array: int
    start: int = 0


@dataclass(frozen=True)
class Length:
    """The size of an axis of an array, numbered in the same way; an intp."""

    array: int
    axis: int


@dataclass(frozen=True)
class ElementAt:
    """A number: an element of an operand, or an operand that is a number."""

    array: int


@dataclass(frozen=True)
class NativeCalls:
    """An op that is calls of a native function, one for each part of its arrays, or for each element.

    The parts are C-contiguous: the last `rank` axes of each array, whose other axes are alike. `start` makes the
    results as they are before the calls, from lowered operands; a result may be an operand itself, which is copied if
    it is needed later. A number among the arguments is an intp, or where it is 0 a null pointer or a C int. work: the
    cost of a call for each element of its first part. ranks: the rank of the parts of each array, where they differ.

    result: the type of the number that the function gives, if it does: an element of the op's one result, or on numbers
    the result, which is then not there before the calls. Its arguments are elements and shared arrays then, and rank
    is 0.
    """

    function: NativeFunction
    arguments: tuple[PartAddress | WholeAddress | Length | ElementAt | int, ...]
    start: Callable[..., Sequence[SSAValue]]
    rank: int = 1
    work: int = 1
    result: Attribute | None = None
    ranks: tuple[int, ...] | None = None

    def rank_of(self, array: int) -> int:
        return self.rank if self.ranks is None else self.ranks[array]
