"""The fourth possible answer to `loops`: native code of another library computes the op.

`NativeFunction` declares a C function; `NativeCalls` describes how an op calls it. This file reads and writes nothing:
`lowering/to_linalg/native_calls.py` creates the calls, and the target emits them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.ir import Attribute, SSAValue


@dataclass(frozen=True)
class NativeFunction:
    """A C function that is called by its address. `contract.native_functions` finds the address by the name.

    It accesses only the memory that is passed to it, and neither raises nor jumps. failure: a Python exception and its
    message; the function then returns an int, and a value other than 0 means failure. needs_gil: whether the function
    may be called only with the interpreter's lock held. Compiled code runs with and without it.

    gufunc: for a loop of a gufunc (`contract/gufunc_loops.py`), its core signature. The function is called for one
    part, with the parts of operands and results, then the address of an i64 for failure, and then the core sizes.
    memory: it allocates at most this multiple of the bytes of these parts.
    """

    name: str
    failure: tuple[str, str] | None = None
    needs_gil: bool = False
    gufunc: str | None = None
    memory: int = 1


@dataclass(frozen=True)
class PartAddress:
    """The address of a part of an array: an operand, or a result, which is numbered after the operands."""

    array: int


@dataclass(frozen=True)
class WholeAddress:
    """The address of a one-axis operand that all calls share, from element number `start` on."""

    array: int
    start: int = 0


@dataclass(frozen=True)
class Length:
    """The size of an axis of an array, numbered in the same way; an intp."""

    array: int
    axis: int


@dataclass(frozen=True)
class ElementAt:
    """A number: an element of an operand, or a scalar operand."""

    array: int


@dataclass(frozen=True)
class NativeCalls:
    """An op computed by calls of a native function, one for each part of its arrays, or for each element.

    The parts are C-contiguous: the last `rank` axes of each array; the other axes of all arrays are equal. `start`
    creates the initial results from lowered operands; a result may be an operand itself, which is copied if it is
    needed later. A number among the arguments is an intp; 0 is also a null pointer or a C int. work: the cost of a call
    for each element of its first part. ranks: the rank of the parts of each array, if they differ.

    result: the type of the number that the function returns, if any. This number is an element of the op's only result,
    or the result itself if the op works on numbers; `start` then creates no result. The arguments are then elements and
    shared arrays, and rank is 0.
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
