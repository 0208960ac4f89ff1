"""Functions called from several places: each becomes one func.func, and its calls become func.calls.

Reads: calls. Writes: private func.funcs marked as shared, and func.call. Leaves: the value of the call, in the state
after it.

At first a call is inlined. Once a function has been called from enough places, the program is interpreted again, and
calls of the function that see the same (the same kinds of values, the same static numbers, the same aliasing) become
calls of one func.func. If the source shows enough calls in one block, this applies from the first call on. Static
floats that differ between calls become arguments, unless the function must know them, or would be slower otherwise. A
function is inlined after all if it changes lists, dicts or names of its caller, or only few elements of an array, or if
anything in it is refused or must be known at compile time: more is known at the place of the call. So is a function
called in a `try`, whose handlers must see what it raises.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import prod

from xdsl.dialects import scf
from xdsl.dialects.builtin import UnitAttr
from xdsl.ir import Block, Operation, SSAValue

from mlirad.analysis.call_graph import SHARED
from mlirad.analysis.cost import CALL
from mlirad.analysis.overwriting import elements_written
from mlirad.dialect.core import types
from mlirad.dialect.core.expr import Expr
from mlirad.dialect.core.op import NdOp
from mlirad.errors import CompileError
from mlirad.frontend.interpreter import attempts
from mlirad.frontend.interpreter.calls import recursion
from mlirad.frontend.interpreter.calls.outlining.call_changes import is_unchanged
from mlirad.frontend.interpreter.context import Context
from mlirad.frontend.join.call_state import Ended, Seen
from mlirad.frontend.join.recursions import Recursion, Site
from mlirad.frontend.join.repeated_calls import RepeatedCalls, Repeats
from mlirad.frontend.join.steering import Bottom, Recursive, Restart
from mlirad.frontend.program.caught_exceptions import is_any_caught
from mlirad.frontend.program.scope import calls_in_a_row
from mlirad.frontend.values import affine
from mlirad.frontend.values.poison import PoisonUsed
from mlirad.frontend.values.traced import NeedStatic
from mlirad.frontend.values.values import Static, Value
from mlirad.library.spells import is_in_library
from mlirad.xdsl_support.effects import has_no_effect, is_terminator

LONG = 2 * CALL
"""A loop with fewer iterations may cost no more than a call."""

MOST_AGAIN = 4
"""The build restarts for a function only if it has interpreted at most this many times the ops of the function's
calls."""


class _NotShared(Exception):
    """The function must be inlined."""


def entered(context: Context, site: Site) -> Value:
    """The value of a call: of a shared function, or of the body, interpreted here."""
    calls = context.calling.repeated
    if not _may_share(context, site):
        return recursion.entered(context, site)
    floats = _floats_that_differ(calls, site)
    if id(site.node) in calls.wanted:
        return _shared_if_possible(context, site, floats)
    attempt, number = attempts.begin(context), context.fresh()
    value = recursion.entered(context, site)
    repeats = calls.repeats.setdefault(site.function, Repeats())
    calls.ops += _note(context, site, repeats)
    if repeats.is_worth_sharing:
        calls.wanted.add(id(site.node))
        if len(repeats.sites) == 1:
            attempts.begin_again(context, attempt)
            calls.forget_frames(number)
            return _shared_if_possible(context, site, floats)
        if calls.ops <= MOST_AGAIN * repeats.all_ops:
            raise Restart
    return value


def _shared_if_possible(context: Context, site: Site, floats: frozenset[str]) -> Value:
    """Call the shared function, or interpret the body if there cannot be one. floats: those that become arguments."""
    calls = context.calling.repeated
    attempt = attempts.begin(context)
    for traced in dict.fromkeys((floats, frozenset[str]())):
        try:
            return _shared(context, site, traced)
        except (CompileError, NeedStatic, PoisonUsed, Bottom, Recursive, _NotShared):
            (calls.fixed if traced else calls.refused).add(site.function)
            attempts.begin_again(context, attempt)
    return recursion.entered(context, site)


def _may_share(context: Context, site: Site) -> bool:
    calls = context.calling.repeated
    return (
        bool(context.active)
        and calls.is_allowed
        and not is_any_caught()
        and site.function not in calls.refused
        and (recursion.INLINED, id(site.node)) not in context.unrolled
        and not any(frame.scope.node is site.node for frame in context.active)
    )


def _floats_that_differ(calls: RepeatedCalls, site: Site) -> frozenset[str]:
    """The parameters with different static floats in the calls met so far; none if they must be known."""
    if site.function in calls.fixed:
        return frozenset()
    first = calls.bound.setdefault(site.function, site.bound)
    found = calls.floats.get(site.function, frozenset()) | recursion.differing_numbers(first, site.bound, float)
    calls.floats[site.function] = found
    return found


def _note(context: Context, site: Site, repeats: Repeats) -> int:
    """Note the place of an inlined call, and its ops. Returns the number of ops."""
    repeats.sites.add((context.frame.number, context.location))
    if len(repeats.sites) > 1 or not _has_static_floats(site):
        repeats.alike = max(repeats.alike, _places_alike(context))
    repeats.is_in_loop |= any(frame.loops for frame in context.active)
    first = site.block.first_op if site.mark is None else site.mark.next_op
    ops = [inner for op in _from(first) for inner in op.walk()]
    loops = [op for op in ops if isinstance(op, scf.ForOp | scf.WhileOp)]
    repeats.ops = max(repeats.ops, len(ops))
    repeats.has_loop |= bool(loops)
    repeats.has_long_loop |= any(map(_is_long, loops))
    return len(ops)


def _has_static_floats(site: Site) -> bool:
    """Whether a call has static floats. The first call cannot say which of them differ between calls."""
    return any(isinstance(value, Static) and isinstance(value.value, float) for value in site.bound.values())


def _places_alike(context: Context) -> int:
    """How many calls in the same block call the same name, by the source text."""
    frame, here = context.frame, context.location
    if here is None or here.filename != frame.source.filename:
        return 1
    alike = calls_in_a_row(frame.scope.node)
    return alike.get((here.lineno, here.col_offset, here.end_lineno, here.end_col_offset), 1)


def _from(op: Operation | None) -> Iterator[Operation]:
    while op is not None:
        yield op
        op = op.next_op


def _is_long(op: scf.ForOp | scf.WhileOp) -> bool:
    if isinstance(op, scf.WhileOp):
        return True
    trips = affine.difference(Expr(op.ub), Expr(op.lb))
    return trips is None or trips >= LONG


def _shared(context: Context, site: Site, traced: frozenset[str]) -> Value:
    """Call the function for this call, and create it first if necessary. traced: the floats that are arguments."""
    if (value := recursion.known_call(context, site)) is not None:
        return value
    site = replace(site, bound=recursion.with_traced(site.bound, traced))
    seen = recursion.seen_at(context, site, context.state, site.bound)
    recursion.require_no_grown(context, seen.state, f"{site.name} is given")
    name = recursion.symbol(context, site.name)
    made = Recursion(site.function, name, seen.description, traced, bool(context.memory))
    writes_copies, context.writes_copies = context.writes_copies, False
    reserved, context.reserved = context.reserved, context.reserved | {name}
    known, outer, appended = context.calling.known, context.state, context.appended
    active, block = len(context.active), Block(arg_types=[value.type for value in seen.parameters])
    try:
        made.ended = recursion.pass_over(context, site, seen, block)
        made.writes_copies = context.writes_copies
        is_same = is_unchanged(seen.entered(block.args), context.state, with_contents=False)
        if not (is_same and _overwrites_enough(seen, made.ended) and _may_stand_alone(site, block)):
            raise _NotShared
        if traced and _is_slower(block, {arg for arg in block.args if not types.is_tensor(arg.type)}):
            raise _NotShared
    except BaseException:
        del context.active[active:]
        context.calling.known, context.reserved = known, reserved
        raise
    finally:
        context.state, context.appended = outer, appended
        context.writes_copies |= writes_copies
    function = recursion.function(context, made, seen, block)
    function.attributes[SHARED] = UnitAttr()
    context.functions.append(function)
    context.calling.known = [*context.calling.known, made]
    return recursion.emitted_call(context, made, seen)


def _overwrites_enough(seen: Seen, ended: Ended) -> bool:
    """Whether the function overwrites at least half of each of the caller's arrays that it writes.

    The pullback may need the old or the new contents, and the caller keeps these arrays whole. For many writes, that
    takes no more memory than undoing them; for few writes it takes more.
    """
    arguments = list(ended.parameters)
    for index, contents in ended.contents.items():
        start = arguments[seen.parameters.index(seen.state.store[seen.numbers[index]].value)]
        if contents.value is start:
            continue
        if 2 * elements_written(contents.value, start) < prod(types.shape(contents.type)):
            return False
    return True


def _may_stand_alone(site: Site, block: Block) -> bool:
    """Whether one body can serve all calls.

    A caller could not store arrays of unknown size for its reverse sweep. If an op of the library fails, the error
    shows the user's call of the library, which differs each time.
    """
    if is_in_library(site.source.filename) and _may_fail(block, set(block.args), False):
        return False
    values = [*block.args, *(result for op in block.walk() for result in op.results)]
    return all(types.is_static(value.type) for value in values if types.is_tensor(value.type))


def _is_slower(block: Block, numbers: set[SSAValue]) -> bool:
    """Whether an op in the block would be simpler if these arguments were known."""
    for op in (inner for each in block.ops for inner in each.walk()):
        if isinstance(op, NdOp) and any(
            op.is_simpler_if_known(index) for index, operand in enumerate(op.operands) if operand in numbers
        ):
            return True
        if numbers.issuperset(op.operands):  # known where its operands are, like a constant
            numbers.update(op.results)
    return False


def _may_fail(block: Block, data: set[SSAValue], is_chosen: bool) -> bool:
    """Whether it depends on the `data` if an op fails. (Indices that count from one constant to another are in range,
    or the library's function is always wrong.) is_chosen: whether the data decide if and how often the block runs."""
    for op in block.ops:
        depends = is_chosen or not data.isdisjoint(op.operands)
        if op.regions:
            bounds = (op.lb, op.ub, op.step) if isinstance(op, scf.ForOp) else op.operands
            chosen = is_chosen or isinstance(op, scf.WhileOp) or not data.isdisjoint(bounds)
            for inner in (inner for region in op.regions for inner in region.blocks):
                data.update(inner.args[1:] if isinstance(op, scf.ForOp) and not chosen else inner.args)
                if _may_fail(inner, data, chosen):
                    return True
            data.update(op.results)
        elif depends:
            if not (is_terminator(type(op)) or has_no_effect(op)):
                return True
            data.update(op.results)
    return False
