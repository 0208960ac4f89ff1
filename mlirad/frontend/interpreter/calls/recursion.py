"""Functions that call themselves: each becomes a func.func, and its calls become func.calls.

Reads: calls, and the functions being interpreted. Writes: private func.funcs, and func.call. Leaves: the value of the
call, in the state after it.

A call is a recursion if an earlier, unfinished call has seen the same (the same kinds of values, the same aliasing).
Then the earlier call starts again as a function. Every value that it sees is a parameter, and its result is a
fix-point: while nothing is known of the result, a recursive call never returns. If static numbers in the arguments
differ in every call, the calls are inlined in one another up to a limit; beyond it these numbers are traced.

A function is its code and its cells: `compose(compose(f, g), h)` calls the same inner code again, but with other cells,
so it is no recursion.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import NoReturn

from xdsl.dialects import func
from xdsl.dialects.builtin import FunctionType
from xdsl.ir import Block, Region

from mlirad.analysis.call_graph import set_written
from mlirad.contract.captures import CAPTURE
from mlirad.dialect.core import types
from mlirad.dialect.core.expr import building, constant, insert, located
from mlirad.errors import DifferentiationError
from mlirad.frontend.interpreter import attempts, branches, dispatch, grown_lists, storage, variables
from mlirad.frontend.interpreter.context import Context
from mlirad.frontend.join.call_state import FUNCTION, Ambiguous, Ended, Seen
from mlirad.frontend.join.frames import Frame
from mlirad.frontend.join.join_columns import discard
from mlirad.frontend.join.numbers import number_dtype
from mlirad.frontend.join.outcomes import Exit
from mlirad.frontend.join.recursions import Recursion, Site
from mlirad.frontend.join.steering import Bottom, Recursive
from mlirad.frontend.join.value_names import name_variable
from mlirad.frontend.program.scope import RESULT, always_leaves, scope_of
from mlirad.frontend.program.source import FunctionNode
from mlirad.frontend.values.known_facts import scope
from mlirad.frontend.values.state import State, trim
from mlirad.frontend.values.traced import NeedStatic, Traced
from mlirad.frontend.values.values import Closure, Static, Value
from mlirad.signature import NUMBERS, is_same_static
from mlirad.xdsl_support.once_per_object import once

# How deep a function is inlined in itself; and how deep, and how often, before its static numbers are traced.
DEPTH, CHAIN, COPIES = 60, 12, 40
# How deep closures with the same code, each with cells of its own, may call one another.
CLOSURES = 500
# After this many passes, a function's results are considered to have no common type.
PASSES = 8
INLINED = "inlined"


def symbol(context: Context, name: str) -> str:
    base = re.sub(r"\W", "_", name).strip("_") or "lambda"
    taken = {function.sym_name.data for function in context.functions} | context.reserved
    number = 0
    while f"{base}_{number}" in taken:
        number += 1
    return f"{base}_{number}"


def as_number(value: Value) -> Value:
    """A static number as a traced one."""
    if isinstance(value, Static) and (known := number_dtype(value)) is not None:
        dtype, weak = known
        return Traced(constant(value.value, types.from_dtype(dtype)), weak=weak)
    return value


def entered(context: Context, site: Site) -> Value:
    """The value of a call: of a known function, or of the body, interpreted here."""
    running = [frame.site for frame in context.active if frame.scope.node is site.node and frame.site is not None]
    if (made := known_call(context, site)) is not None:
        return made
    if running:
        find_recursion(context, site, running)
    try:
        return interpreted(context, site)
    except Recursive as found:
        if found.site is not site:
            raise
        traced = found.traced
    while True:
        give_up(context, site)
        try:
            return as_function(context, replace(site, bound=with_traced(site.bound, traced), seen=None), traced)
        except Recursive as found:
            if found.site.identity is not site.identity:
                raise
            traced |= found.traced


def give_up(context: Context, site: Site) -> None:
    """Return to the place of the call."""
    attempts.roll_back(site.block, site.mark)
    context.state = site.state.fork()


def interpreted(context: Context, site: Site) -> Value:
    """The value of the body, in a frame of its own; afterwards the state no longer has the frame."""
    number = context.fresh()
    active, location = len(context.active), context.location
    frame = Frame(number, site.source, scope_of(site.node), site.parent, site=site)
    context.frames[number] = frame
    context.state.frames[number] = dict(site.bound)
    for name, value in site.bound.items():
        name_variable(context.state, name, value)
    context.active.append(frame)
    if site.parent is not None:
        # Everything that the function sees from outside lives as long as it runs.
        context.push(Closure(site.node, site.parent, site.source, (), ()))
    try:
        result = run_body(context, site.node, number)
    except Recursive:
        del context.active[active:]
        raise
    finally:
        context.location = location
    if site.parent is not None:
        context.pop()
    variables.leave(context)
    return result


# What a call sees.


def seen_at(context: Context, site: Site, state: State, bound: dict[str, Value]) -> Seen:
    """The values that a call sees: its arguments, captured arrays, and variables of its closures."""
    captures = {name: value for name, value in state.frames[0].items() if name.startswith(CAPTURE)}
    frames = {**state.frames, 0: captures}
    function: tuple[Value, ...] = ()
    if site.parent is not None:
        function = (Closure(site.node, site.parent, site.source, (), ()),)
    own = State(frames, state.heap, state.store, (*bound.values(), *function))
    trimmed = trim(own, {0: None}, context.seen_by)
    trimmed.live = None
    return Seen.of(trimmed, called(site))


def called(site: Site) -> frozenset[Hashable]:
    """The origin of a function's arguments and results: they are static only if the calls are inlined."""
    return frozenset({(INLINED, id(site.node))})


def with_traced(bound: dict[str, Value], traced: frozenset[str]) -> dict[str, Value]:
    return {name: as_number(value) if name in traced else value for name, value in bound.items()}


# Finding out.


def known_call(context: Context, site: Site) -> Value | None:
    """The value of a call of a known recursive function; None if it is unknown, or known for other arguments."""
    for known in context.calling.known:
        if known.function == site.function:
            seen = seen_at(context, site, context.state, with_traced(site.bound, known.traced))
            if seen.description == known.description and is_right_here(context, known):
                return emitted_call(context, known, seen)
    return None


def is_right_here(context: Context, known: Recursion) -> bool:
    """Whether a function is right even though arrays share memory here, and did not where it was created."""
    if not context.memory or known.knew_memory:
        return True
    known.meets_memory = True
    return not known.writes_copies


def find_recursion(context: Context, site: Site, running: list[Site]) -> None:
    """Raise Recursive if the call repeats one of the sites, which call the same function."""
    must_inline = (INLINED, id(site.node)) in context.unrolled
    if len(running) >= CLOSURES:
        too_deep(context, site.name, tuple(site.bound.values()))
    running = [other for other in running if other.function == site.function]
    if not running:
        return
    site.seen = seen_at(context, site, site.state, site.bound)
    for other in running:
        if other.seen is None:
            other.seen = seen_at(context, other, other.state, other.bound)
        if other.seen.description == site.seen.description:
            if must_inline:
                too_deep(context, site.name, tuple(site.bound.values()))
            raise Recursive(other, frozenset())
    context.calling.copies[site.function] += 1
    if not must_inline and (len(running) >= CHAIN or context.calling.copies[site.function] >= COPIES):
        for other in running:
            differing = differing_numbers(other.bound, site.bound, NUMBERS)
            if differing and is_same_but(context, differing, other, site):
                raise Recursive(other, differing)
    if len(running) >= DEPTH:
        too_deep(context, site.name, tuple(site.bound.values()))


def is_same_but(context: Context, differing: frozenset[str], one: Site, other: Site) -> bool:
    """Whether two calls see the same, once their static numbers under these names are traced."""
    scratch = Block()
    with building(scratch):
        a, b = (
            seen_at(context, each, each.state, with_traced(each.bound, differing)).description for each in (one, other)
        )
    discard(scratch)
    return a == b


def as_function(context: Context, site: Site, traced: frozenset[str]) -> Value:
    """Create the function for a call, and call it."""
    seen = seen_at(context, site, context.state, site.bound)
    require_no_grown(context, seen.state, f"{site.name} calls itself, and an argument contains")
    made = Recursion(site.function, symbol(context, site.name), seen.description, traced, bool(context.memory))
    writes_copies, context.writes_copies = context.writes_copies, False
    reserved, context.reserved = context.reserved, context.reserved | {made.symbol}
    known, outer = context.calling.known, context.state
    functions, active = len(context.functions), len(context.active)
    context.calling.known = [*known, made]
    try:
        for _ in range(PASSES):
            block = Block(arg_types=[value.type for value in seen.parameters])
            del context.functions[functions:]
            context.calling.known = [*known, made]
            ended = pass_over(context, site, seen, block)
            if made.ended is not None and ended.description == made.ended.description:
                break
            made.ended = ended
            discard(block)
        else:
            raise context.refusal(
                f"the results of {site.name} have no common type", "always return the same kind of value"
            )
    except BaseException:
        del context.active[active:]
        context.calling.known, context.reserved = known, reserved
        context.writes_copies |= writes_copies
        raise
    finally:
        context.state = outer
    made.ended, made.writes_copies = ended, context.writes_copies
    context.writes_copies |= writes_copies
    if made.writes_copies and made.meets_memory:
        message = f"{site.name} is called by a function that is differentiated, on arrays that may share memory"
        raise DifferentiationError(message, context.location, "pass a copy of one of them: x.copy()")
    context.functions.append(function(context, made, seen, block))
    return emitted_call(context, made, seen)


def pass_over(context: Context, site: Site, seen: Seen, block: Block) -> Ended:
    """Interpret the function's body, with what is known about its results."""
    with building(block):
        context.state = seen.entered(block.args)
    count = len(site.bound)
    bound = dict(zip(site.bound, context.state.temps[:count], strict=True))
    if site.parent is not None:
        context.state.frames[0][FUNCTION] = context.state.temps[count]
    context.state.temps = ()
    active, start = len(context.active), context.location
    try:
        with building(block), scope(), located(context.location):
            again = replace(site, bound=bound, state=context.state.fork(), block=block, mark=None, seen=seen)
            value = interpreted(context, again)
            context.push(context.use(value))
            return left(context, site, seen, block)
    except Bottom:
        del context.active[active:]
        context.location = start
        discard(block)
        if any(known.ended is None and known.function != site.function for known in context.calling.known):
            raise  # by what is known about the functions around it, it does not return
        hint = "let it return on one path without calling itself"
        users = site
        if site.source.is_hidden and context.calling.known[-1].users is not None:
            users = context.calling.known[-1].users
            context.location = users.source.location(users.node)
        raise context.refusal(f"{users.name} calls itself and never returns", hint) from None
    except BaseException:
        discard(block)
        raise


def left(context: Context, site: Site, seen: Seen, block: Block) -> Ended:
    """The state that the function leaves, with its result on top of the operands."""
    state = trim(context.state, {0: None}, context.seen_by)
    require_no_grown(context, state, f"{site.name} calls itself, and its result contains")
    if set(state.frames) - set(seen.state.frames) - {0}:
        message = f"{site.name} calls itself and returns a function that it defines"
        raise context.refusal(message, "define that function outside of it")
    try:
        return Ended.of(seen, state, block.args, called(site), lambda array: context.read(array).contents)
    except Ambiguous:
        hint = "return a copy of it: x.copy()"
        raise context.refusal(f"it cannot be determined which array {site.name} returns", hint) from None


def require_no_grown(context: Context, state: State, what: str) -> None:
    if any(entry.growth is not None for entry in state.heap.values()):
        raise context.refusal(f"{what} a list that a loop fills", "convert it first: np.array(xs)")


def function(context: Context, made: Recursion, seen: Seen, block: Block) -> func.FuncOp:
    ended = made.ended
    assert ended is not None
    with building(block):
        insert(func.ReturnOp(*ended.results))
    place = {value: number for number, value in enumerate(ended.results)}
    written: dict[int, int] = {}
    for index, contents in ended.contents.items():
        cell = seen.state.store[seen.numbers[index]].value
        if contents.value in place and place[contents.value] not in written.values():
            written[seen.parameters.index(cell)] = place[contents.value]
    op = func.FuncOp(
        made.symbol,
        FunctionType.from_lists([a.type for a in block.args], [value.type for value in ended.results]),
        Region([block]),
        visibility="private",
    )
    set_written(op, written)
    op.location = types.to_location(context.location)
    return op


def emitted_call(context: Context, known: Recursion, seen: Seen) -> Value:
    """A call of the function. While it is unknown whether the function returns, the call does not return."""
    if known.ended is None:
        sites = [frame.site for frame in context.active if frame.site is not None]
        known.users = next((each for each in reversed(sites) if not each.source.is_hidden), None)
        raise Bottom
    ended = known.ended
    for index, contents in ended.contents.items():
        if contents.value not in ended.parameters:
            grown_lists.require_free(context, seen.numbers[index])
    op = insert(func.CallOp(known.symbol, seen.operands, [value.type for value in ended.results]))
    if written := ended.written(context.state, seen):
        storage.note_write(context, written)
    value, context.state = ended.into(context.state, seen, op.results, context.fresh)
    context.writes_copies |= known.writes_copies
    context.captures_used.update(name for name in seen.state.frames.get(0, {}) if name.startswith(CAPTURE))
    return value


def differing_numbers(one: dict[str, Value], other: dict[str, Value], kinds: type | tuple[type, ...]) -> frozenset[str]:
    """The names with different static numbers of these kinds."""
    return frozenset(
        name
        for name, value in one.items()
        if isinstance(value, Static)
        and isinstance(value.value, kinds)
        and isinstance(found := other.get(name), Static)
        and isinstance(found.value, kinds)
        and not is_same_static(value.value, found.value)
    )


def run_body(context: Context, node: FunctionNode, number: int) -> Value:
    if isinstance(node, ast.Lambda):
        context.frame.live = context.frame.scope.local
        return dispatch.expression(context, node.body)
    outcome = dispatch.block(context, _ending_by_return(node))
    falls_off = outcome.states.get(Exit.NEXT)
    if falls_off is not None:
        falls_off.frames[number][RESULT] = Static(None)
        # From here on only the result is live, as after a return.
        with context.at(node):
            outcome = branches.relabelled(context, outcome, {Exit.NEXT: Exit.RETURN}, frozenset({RESULT}))
    if Exit.RETURN not in outcome.states:
        raise Bottom
    context.state = outcome.states[Exit.RETURN]
    return context.state.frames[number].pop(RESULT)


def too_deep(context: Context, name: str, args: Sequence[Value]) -> NoReturn:
    numbers = [context.use(arg) for arg in args]
    origins: frozenset[Hashable] = frozenset()
    for number in numbers:
        if isinstance(number, Traced) and number.dtype.kind == "i":
            origins |= number.origins
    if origins:
        raise NeedStatic(origins, f"how deep {name} calls itself")
    raise context.refusal(f"{name} calls itself too often, or never returns", "write it as a loop")


@once
def _ending_by_return(node: ast.FunctionDef) -> Sequence[ast.stmt]:
    """The body, with a return added at the end if it has one elsewhere: then every path leaves it in the same way."""
    if always_leaves(node.body) or not any(isinstance(each, ast.Return) for each in ast.walk(node)):
        return node.body
    return [*node.body, ast.copy_location(ast.Return(value=None), node.body[-1])]
