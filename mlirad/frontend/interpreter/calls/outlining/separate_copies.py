"""A differentiated function receives copies. It may not write arrays that share memory, because the result would be
wrong.

Reads: the arguments of a differentiated function, and everything else that it sees. Writes: names in frame 0 that keep
its copies alive. Leaves: nothing, or a DifferentiationError.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from xdsl.ir import SSAValue

from mlirad.contract.captures import CAPTURE
from mlirad.errors import DifferentiationError
from mlirad.frontend.interpreter.context import Context
from mlirad.frontend.values.sizes import TRACED
from mlirad.frontend.values.state import reached
from mlirad.frontend.values.values import Ref, Value
from mlirad.frontend.values.views.view import View
from mlirad.frontend.values.views.view_steps import WHOLE, Affine

Memory = frozenset[Hashable]
_ANY: Memory = frozenset({"any"})
COPY = "$copy "
"""The prefix of the copies' names in frame 0."""


@dataclass(frozen=True, eq=False)
class SharedArgument:
    """A passed array (number `index`), and what it shares memory with: other arguments or surrounding arrays, and
    captures (their names in frame 0), which count if the function turns out to use them."""

    index: int
    argument: str
    array: Ref
    memory: Memory
    others: tuple[str, ...]
    captures: tuple[str, ...]


def shared_among(context: Context, function: Value, leaves: Sequence[tuple[str, Value]]) -> list[SharedArgument]:
    """The arrays among `leaves`, each with the name of its argument, that share memory with others."""
    arrays = [(name, leaf, memory_of(context, cells_of(leaf))) for name, leaf in leaves if isinstance(leaf, Ref)]
    if not arrays:
        return []
    cells = reached(context.state, [function], context.seen_by).cells
    around = memory_of(context, cells)
    captures = [
        (name, value, memory_of(context, cells_of(value)))
        for name, value in context.state.frames.get(0, {}).items()
        if name.startswith(CAPTURE) and isinstance(value, Ref)
    ]
    found: list[SharedArgument] = []
    for index, (argument, array, memory) in enumerate(arrays):
        others = [
            f"its {name}" if name != argument else "another array in it"
            for k, (name, other, memory_of_other) in enumerate(arrays)
            if k != index and (memory & memory_of_other or may_meet(array, other))
        ]
        if cells & cells_of(array) or memory & around:
            others.append("an array of the code around it that it uses")
        met = [n for n, other, its_memory in captures if memory & its_memory or may_meet(array, other)]
        if others or met:
            found.append(SharedArgument(index, argument, array, memory, tuple(others), tuple(met)))
    return found


def memory_of(context: Context, cells: set[int]) -> Memory:
    """The keys of the memory of these cells."""
    if not (context.memory and cells):
        return frozenset()
    if any(frame.site is not None and frame.site.seen is not None for frame in context.active):
        return _ANY  # the function is compiled once, and may be called again with others
    found: Memory = frozenset()
    for name, value in context.state.frames.get(0, {}).items():
        if name in context.memory and isinstance(value, Ref) and cells & cells_of(value):
            found |= context.memory[name]
    return found


KeptCopy = tuple[SharedArgument, str, SSAValue]
"""The argument that was copied, the name that keeps the copy alive, and the contents of the copy."""


def kept(context: Context, shared: Sequence[SharedArgument], copies: Sequence[Ref]) -> list[KeptCopy]:
    """Keep the copies of arrays that share memory alive, to see at the end whether they are written."""
    found: list[KeptCopy] = []
    for each in shared:
        copy = copies[each.index]
        name = f"{COPY}{context.fresh()}"
        context.state.frames.setdefault(0, {})[name] = copy
        cells: Memory = frozenset(("cell", cell) for cell in cells_of(each.array))
        context.memory[name] = each.memory | cells
        found.append((each, name, context.state.store[copy.alternatives[0].cell].value))
    return found


def require_unwritten(context: Context, kept: Sequence[KeptCopy], function: str) -> None:
    """Raise DifferentiationError if a copy is written, and its array shares memory with another one in use."""
    for each, name, value in kept:
        others = [
            *each.others,
            *(f"{other.removeprefix(CAPTURE)!r}" for other in each.captures if other in context.captures_used),
        ]
        if not others:
            continue
        if (name, 0) not in context.reached_by_writes:
            continue
        array = context.state.frames.get(0, {}).get(name)
        if isinstance(array, Ref) and array.selector is None:
            (alternative,) = array.alternatives
            if context.state.store[alternative.cell].value is value:
                continue
        raise DifferentiationError(
            f"{function} is differentiated, and writes its {each.argument}, which shares memory with {others[0]}",
            context.location,
            "pass a copy of one of them: x.copy()",
        )


def cells_of(array: Ref) -> set[int]:
    return {alternative.cell for alternative in array.alternatives}


def may_meet(a: Ref, b: Ref) -> bool:
    """Whether two arrays may have an element in common, by their cells and views."""
    return any(x.cell == y.cell and not are_apart(x.view, y.view) for x in a.alternatives for y in b.alternatives)


def are_apart(a: View, b: View) -> bool:
    """Whether two views of one array certainly share no element."""
    pairs = zip(_ranges(a), _ranges(b), strict=True)
    return any(x is not None and y is not None and not _meet(x, y) for x, y in pairs)


def _ranges(view: View) -> list[range | None]:
    """For each axis of the array, the indices of its view; None if unknown."""
    base = view.base
    whole: list[range | None] = [None if size == TRACED else range(size) for size in base]
    if not view.steps or not isinstance(step := view.steps[0], Affine):
        return whole
    _, params, _ = next(iter(view.chain()))
    found: list[range | None] = []
    for start, size, stride, full in zip(params[: len(base)], step.sizes, step.strides, base, strict=True):
        count = full if size == WHOLE else size
        if isinstance(start, int) and count != TRACED and stride:
            found.append(range(start, start + count * stride, stride))
        else:
            found.append(None)
    return found


def _meet(a: range, b: range) -> bool:
    """Whether two ranges have a number in common."""
    if len(a) > len(b):
        a, b = b, a
    return any(each in b for each in a)
