"""Computes results directly in the caller's memory.

Reads: a function with moved tensors, and their webs. Writes: an argument, with the attribute `mlirad.result`, for each
result of static shape that is not in a written argument; the caller's memory in place of empty memory that only becomes
this result. Leaves: the other results, to be copied to their argument at the return.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from xdsl.dialects import func, scf
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, IntegerAttr, i64
from xdsl.ir import BlockArgument, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint

from mlirad.analysis.loops import terminator
from mlirad.analysis.memory import is_empty, is_tensor
from mlirad.dialect.core.expr import building, located
from mlirad.lowering.reshaping import reshaped
from mlirad.lowering.tensor_memory import is_static
from mlirad.lowering.to_buffers.buffer_webs import Web, Webs

RESULT = "mlirad.result"


@dataclass(frozen=True)
class Destination:
    """Where result `number` of a function must be copied at the return; is_detoured: through temporary memory."""

    number: int
    argument: BlockArgument
    is_detoured: bool = False


def place_results(function: func.FuncOp, webs: Webs, written: dict[SSAValue, int]) -> list[Destination]:
    """The remaining copies, in an order in which none overwrites the source of a later one."""
    arguments = {number: argument for argument, number in written.items()}
    results = terminator(function.body.block).operands
    copies: list[Destination] = []
    for number, value in enumerate(results):
        if not is_tensor(value):
            continue
        argument = arguments.get(number)
        if argument is None:
            if not is_static(value.type):
                continue
            argument = _add_argument(function, value, number)
            is_in_place = _is_placeable(webs.of(value), number, webs)
        else:
            web = webs.of(value)
            if value is argument or web.sources == [argument]:
                continue
            is_in_place = _is_placeable(web, number, webs) and _is_dead(webs.of(argument), web, webs)
        assert isinstance(argument, BlockArgument)
        if is_in_place:
            _place(webs.of(value), argument)
            webs.join(argument, value)
        else:
            copies.append(Destination(number, argument))
    return list(_in_order(copies, {copy.number: results[copy.number] for copy in copies}, webs))


def _in_order(copies: list[Destination], values: dict[int, SSAValue], webs: Webs) -> Iterator[Destination]:
    """Order copies so that none overwrites the source of a later one; a cycle goes through temporary memory."""
    sources: dict[int, Web | None] = {number: webs.of(value) for number, value in values.items()}
    while copies:
        ready = [copy for copy in copies if not _is_needed(webs.of(copy.argument), copy, copies, sources)]
        if not ready:
            first = copies[0]
            copies[0] = Destination(first.number, first.argument, is_detoured=True)
            sources[first.number] = None
            continue
        yield from ready[:1]
        copies.remove(ready[0])


def _is_needed(web: Web, copy: Destination, copies: list[Destination], sources: dict[int, Web | None]) -> bool:
    return any(other is not copy and sources[other.number] is web for other in copies)


def _add_argument(function: func.FuncOp, value: SSAValue, number: int) -> BlockArgument:
    block = function.body.block
    argument = block.insert_arg(value.type, len(block.args), function.location)
    set_argument_attribute(function, argument.index, RESULT, number)
    return argument


def set_argument_attribute(function: func.FuncOp, index: int, name: str, value: int) -> None:
    attributes = list(function.arg_attrs or ())
    attributes += [DictionaryAttr({})] * (len(function.body.block.args) - len(attributes))
    attributes[index] = DictionaryAttr({**attributes[index].data, name: IntegerAttr(value, i64)})
    function.arg_attrs = ArrayAttr(attributes)


def _is_placeable(web: Web, number: int, webs: Webs) -> bool:
    """Whether the result is the only one of its web, and the web is one buffer, or one on each path taken."""
    if web.result_numbers != {number} or not 1 <= len(web.sources) <= 8:
        return False
    if not all(_is_made_once(source, webs) for source in web.sources):
        return False
    branches = [_branches(source) for source in web.sources]
    return all(
        any(mine.get(op, region) is not region for op, region in other.items())
        for index, mine in enumerate(branches)
        for other in branches[:index]
    )


def _is_made_once(source: SSAValue, webs: Webs) -> bool:
    return is_empty(source) and is_static(source.type) and webs.loop_of(source) is None


def _branches(value: SSAValue) -> dict[Operation, Region]:
    """The ifs around a value, each with the branch that contains the value."""
    found: dict[Operation, Region] = {}
    op = value.owner if isinstance(value.owner, Operation) else None
    while op is not None:
        parent, region = op.parent_op(), op.parent_region()
        if isinstance(parent, scf.IfOp) and region is not None:
            found[parent] = region
        op = parent
    return found


def _is_dead(argument: Web, web: Web, webs: Webs) -> bool:
    """Whether all uses of the caller's argument come before the first memory of `web` is allocated."""
    users = [use.operation for source in web.sources for use in source.uses]
    first = min((webs.place.get(user, 0) for user in users), default=0)
    return not argument.result_numbers and first > argument.last


def _place(web: Web, argument: SSAValue) -> None:
    sources: Sequence[SSAValue] = list(web.sources)
    web.sources.clear()
    for source in sources:
        op = source.owner
        assert isinstance(op, Operation)
        with building(InsertPoint.before(op)), located(op.location):
            source.replace_all_uses_with(reshaped(argument, source.type))
