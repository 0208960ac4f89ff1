"""for and while: the state that a loop carries is a fix-point over whole states, starting with nothing widened.

Reads: ast and the state. Writes: scf.for where the body never leaves the loop, else scf.while; or the body, unrolled.
Leaves: an Outcome.
"""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any

from xdsl.dialects.scf import ConditionOp, ForOp, WhileOp, YieldOp
from xdsl.ir import Block, Operation, Region, SSAValue

from mlirad.dialect import types
from mlirad.dialect.expr import Expr, building, constant, insert, where
from mlirad.frontend.calls import Calls
from mlirad.frontend.columns import Columns, discard
from mlirad.frontend.core import Bottom, Exit, Outcome, PoisonUsed
from mlirad.frontend.iteration import Iteration
from mlirad.frontend.merge import Merge, Naming, describe_state
from mlirad.frontend.scope import Names, assigned, may_leave, uses
from mlirad.frontend.state import Place, State
from mlirad.frontend.traced import NeedStatic, Traced
from mlirad.frontend.values import Lazy, Object, Static, Tuple, Value, inside

# A loop is unrolled into this many copies of its body at most.
UNROLL_LIMIT = 200
# Passes after which a header is looked for in the other order, and after which there is none.
PATIENCE, PASSES = 4, 20


class NoFixpoint(Exception):
    """The header of a loop does not converge."""


@dataclass
class LoopNaming(Naming):
    """Numbers of the merged cells and objects of one loop's header: the same slot has the same number in every pass.

    by_identity: pair what was one thing before the loop first (the order of an if), and not by where it stands.
    """

    used: Names = frozenset()
    changed: Names = frozenset()
    frame: int = 0
    by_identity: bool = False
    numbers: dict[Hashable, int] = field(default_factory=dict)
    origin: dict[int, int | None] = field(default_factory=dict)

    def rank(self, place: Place) -> int:
        if place[0] != "frame" or place[1] != self.frame:
            return 2
        return 1 if place[2] in self.changed else 0 if place[2] in self.used else 2

    def number(self, slot: Hashable, left: int | None, right: int | None) -> int:
        number = self.numbers.setdefault((self.by_identity, slot), 0) or self.fresh()
        self.numbers[self.by_identity, slot] = number
        return number

    def same(self, left: dict[int, object], right: dict[int, object]) -> list[tuple[int, int]]:
        if not self.by_identity:
            return []
        pairs = ((self.origin.get(number, number), number) for number in right)
        found: dict[int, int] = {}
        for a, b in pairs:
            if a is not None and a in left and a not in found:
                found[a] = b
        return list(found.items())


@dataclass
class Header:
    """What a loop carries: the state at its header, whose placeholders are columns."""

    state: State
    columns: Columns
    naming: LoopNaming

    def description(self) -> Hashable:
        names = {column.placeholder: slot for slot, column in self.columns.columns.items()}

        def name(value: SSAValue) -> Hashable:
            slot = names.get(value)
            return ("column", slot, str(value.type)) if slot is not None else value

        return describe_state(self.state, name)

    def slots(self) -> list[Hashable]:
        return list(self.columns.columns)

    def types(self) -> list[Any]:
        return [column.type for column in self.columns.columns.values()]

    def bound_to(self, arguments: Sequence[SSAValue]) -> State:
        """The header's state with these values for its columns."""
        placeholders = (column.placeholder for column in self.columns.columns.values())
        values = dict(zip(placeholders, arguments, strict=True))
        return self.state.renamed(lambda value: values.get(value, value)).fork()


@dataclass(eq=False)
class Pass:
    """One pass over a loop's body.

    block: the body. outcome: NEXT is the state at its end, whichever way it ends, and `exits` are the ways in which
    the loop may be left from inside; `code` says which, NEXT (0) among them. before: the condition region of a while
    whose condition is an expression without side effects, and `condition` its value.
    """

    block: Block
    outcome: Outcome
    exits: tuple[Exit, ...] = ()
    code: Expr | int | None = None
    before: Block | None = None
    condition: Expr | None = None

    def discard(self) -> None:
        discard(self.block)
        if self.before is not None:
            discard(self.before)


class NotEntered(Exception):
    """The condition of a while is false before the first iteration."""


class Loops(Iteration, Calls):
    """`for_statement` and `while_statement`."""

    def for_statement(self, node: ast.For, after: Names) -> Outcome:
        self.push(self.expression(node.iter))
        with self.at(node.iter):
            length = self.length(self.top())
        position = len(self.state.temps) - 1

        def bind(index: Value) -> None:
            self.assign(node.target, self.element(self.state.temps[position], index))

        return self.loop(node, after, bind, length)

    def while_statement(self, node: ast.While, after: Names) -> Outcome:
        self.push(Static(None))
        return self.loop(node, after, None, None)

    def loop(
        self, node: ast.For | ast.While, after: Names, bind: Callable[[Value], None] | None, length: int | Traced | None
    ) -> Outcome:
        """A loop whose iterable is on top of the operands; `bind` binds the target, and length is that of a for."""
        key = self.key_of(node)
        base = len(self.state.temps) - 1
        frame = self.frame
        frame.loops.append((after, frame.scope.liveness.header[id(node)]))
        start, live = self.state.fork(), frame.live
        mark = self.current_block.last_op
        try:
            if key in self.unrolled or (length is not None and self.must_unroll(self.top(), length)):
                outcome = self.unroll(node, bind, length, None)
            else:
                try:
                    outcome = self.rolled(node, key, bind, length)
                except (NeedStatic, PoisonUsed, NoFixpoint) as reason:
                    if not self.is_about(reason, key):
                        raise
                    self.unrolled.add(key)
                    self.roll_back(mark)
                    self.state, frame.live = start, live
                    outcome = self.unroll(node, bind, length, reason)
        finally:
            if frame in self.active:
                del self.active[self.active.index(frame) + 1 :]
            frame.loops.pop()
        for state in outcome.states.values():
            state.temps = state.temps[:base]
        return outcome

    def key_of(self, node: ast.AST) -> Hashable:
        """A loop on one path of calls."""
        path = tuple((frame.scope.node.lineno, frame.scope.node.col_offset) for frame in self.active)
        return (id(node), path)

    @staticmethod
    def is_about(reason: Exception, key: Hashable) -> bool:
        """Whether unrolling this loop is what an exception asks for."""
        if isinstance(reason, NeedStatic):
            return ("loop", key) in reason.origins
        return isinstance(reason, NoFixpoint) or (isinstance(reason, PoisonUsed) and reason.poison.loop == key)

    def must_unroll(self, iterable: Value, length: int | Traced) -> bool:
        """Whether the elements are not those of arrays and ranges, so that each has a value of its own."""
        if isinstance(length, Traced):
            return False
        for value in inside(iterable):
            if isinstance(value, Tuple | Object) or (
                isinstance(value, Static) and isinstance(value.value, str | tuple)
            ):
                return True
            if isinstance(value, Lazy) and value.kind is iter:
                return True
        return False

    def roll_back(self, mark: Operation | None) -> None:
        """Remove what has been emitted after `mark` in the current block."""
        block = self.current_block
        while (op := block.last_op) is not mark:
            assert op is not None
            op.detach()
            for inner in op.walk():
                inner.drop_all_references()

    # Unrolling.

    def unroll(
        self,
        node: ast.For | ast.While,
        bind: Callable[[Value], None] | None,
        length: int | Traced | None,
        reason: Exception | None,
    ) -> Outcome:
        if isinstance(length, Traced):
            # Not known here: the numbers that the trip count comes from must be known, or it is refused.
            if isinstance(reason, PoisonUsed):
                known = {origin for origin in length.origins if origin != "data"}
                if not known or known != set(length.origins):
                    raise _without_loop(reason)
            raise NeedStatic(length.origins, _why(reason, self))
        if length is not None and length > UNROLL_LIMIT and reason is not None:
            hint = "use arrays of a fixed shape in it, and numbers that keep their type"
            self.refuse(f"this loop would be unrolled {length} times because {_why(reason, self)}", hint)
        return self.unrolled_from(node, bind, length, 0, reason)

    def unrolled_from(
        self,
        node: ast.For | ast.While,
        bind: Callable[[Value], None] | None,
        length: int | None,
        trip: int,
        reason: Exception | None,
    ) -> Outcome:
        """The iterations from number `trip` on, and the else clause."""
        while True:
            again = self.is_another(node, length, trip, reason)
            if not again:
                return self.exhausted(node)
            if bind is not None:
                bind(Static(trip))
            outcome = self.relabelled(self.block(node.body), {Exit.CONTINUE: Exit.NEXT}, self.header_live(node))
            trip += 1
            if Exit.NEXT not in outcome.states:
                return self.ended(outcome, node)
            if len(outcome.states) > 1:
                return self.ended(self.unrolled_rest(node, bind, length, trip, outcome, reason), node)
            self.state = outcome.states[Exit.NEXT]

    def unrolled_rest(
        self,
        node: ast.For | ast.While,
        bind: Callable[[Value], None] | None,
        length: int | None,
        trip: int,
        outcome: Outcome,
        reason: Exception | None,
    ) -> Outcome:
        """The other iterations, where this one may have left the loop."""
        assert outcome.code is not None
        left = {exit: state for exit, state in outcome.states.items() if exit != Exit.NEXT}
        leaving = self.ended(Outcome(left, outcome.code if len(left) > 1 else None), node)

        def go_on() -> Outcome:
            self.state = outcome.states[Exit.NEXT].fork()
            return self.unrolled_from(node, bind, length, trip, reason)

        return self.branch(outcome.code == int(Exit.NEXT), go_on, lambda: leaving, self.frame.loops[-1][0])

    def is_another(self, node: ast.For | ast.While, length: int | None, trip: int, reason: Exception | None) -> bool:
        if length is not None:
            return trip < length
        assert isinstance(node, ast.While)
        with self.at(node.test):
            truth = self.truth(self.expression(node.test))
            if isinstance(truth, Traced):
                if isinstance(reason, PoisonUsed):
                    raise _without_loop(reason)
                raise NeedStatic(truth.origins, _why(reason, self))
            if truth and trip >= UNROLL_LIMIT:
                self.refuse(f"this loop would be unrolled more than {trip} times because {_why(reason, self)}")
        return truth

    def exhausted(self, node: ast.For | ast.While) -> Outcome:
        """The end of a loop that was not left by break: its else clause."""
        if not node.orelse:
            return Outcome({Exit.NEXT: self.state})
        loops = self.frame.loops
        own = loops.pop()  # a break in the else clause is the enclosing loop's
        try:
            return self.block(node.orelse)
        finally:
            loops.append(own)

    def ended(self, outcome: Outcome, node: ast.For | ast.While) -> Outcome:
        """The outcome of iterations that have left the loop: a break of its own is a NEXT."""
        if Exit.BREAK not in outcome.states:
            return outcome
        return self.relabelled(outcome, {Exit.BREAK: Exit.NEXT}, self.frame.loops[-1][0])

    def header_live(self, node: ast.For | ast.While) -> Names:
        return self.frame.scope.liveness.header[id(node)]

    # Rolled loops.

    def rolled(
        self,
        node: ast.For | ast.While,
        key: Hashable,
        bind: Callable[[Value], None] | None,
        length: int | Traced | None,
    ) -> Outcome:
        live = self.header_live(node)
        entry = self.trimmed(self.state, Exit.NEXT, live)
        header = self.empty_header(node, entry)
        previous: Hashable = None
        outer = self.current_block
        mark = outer.last_op
        for number in range(PASSES):
            if number == PATIENCE:
                header, previous = self.empty_header(node, entry, by_identity=True), None
            try:
                made = self.one_pass(node, key, header, bind, length)
            except NotEntered:
                self.state = entry
                return self.exhausted(node)
            if Exit.NEXT not in made.outcome.states:
                made.discard()
                self.roll_back(mark)
                self.state = entry
                return self.first_only(node, bind, length)
            columns = Columns(outer, made.block, is_loop=True)
            origins = frozenset({("loop", key)})
            merge = Merge(entry, made.outcome.states[Exit.NEXT], columns, header.naming, origins, key, self.location)
            merged = Header(merge.run(), columns, header.naming)
            merged.naming.origin = {number: sides[0] for number, sides in merge.cells.sides.items()}
            merged.naming.origin |= {number: sides[0] for number, sides in merge.objects.sides.items()}
            description = merged.description()
            if description == previous:
                return self.emit(node, header, merged, made, length)
            made.discard()
            self.roll_back(mark)
            header, previous = merged, description
        raise NoFixpoint

    def empty_header(self, node: ast.For | ast.While, entry: State, by_identity: bool = False) -> Header:
        """The state before the loop, with nothing widened."""
        block = Block()
        bound = [*node.body, node.target] if isinstance(node, ast.For) else node.body
        read = node.body if isinstance(node, ast.For) else [*node.body, node.test]
        changed = frozenset().union(*map(assigned, bound))
        used = frozenset().union(*map(uses, read))
        naming = LoopNaming(self.fresh, used, changed, self.frame.number, by_identity)
        return Header(entry, Columns(block, block, is_loop=True), naming)

    def one_pass(
        self,
        node: ast.For | ast.While,
        key: Hashable,
        header: Header,
        bind: Callable[[Value], None] | None,
        length: int | Traced | None,
    ) -> Pass:
        if isinstance(node, ast.While) and not may_leave(node.body) and key not in self.impure:
            made = self.plain_while_pass(node, key, header)
            if made is not None:
                return made
            self.impure.add(key)
        leading = [] if bind is None else [types.I64]
        if may_leave(node.body) or bind is None:
            leading.append(types.I64)
        block = Block(arg_types=[*leading, *header.types()])

        def run() -> Outcome:
            if bind is None:
                assert isinstance(node, ast.While)
                outcome = self.tested_body(node)
            else:
                bind(Traced(Expr(block.args[0]), weak=True, origins=frozenset({("loop", key)})))
                outcome = self.block(node.body)
            return self.relabelled(outcome, {Exit.CONTINUE: Exit.NEXT}, self.header_live(node))

        outcome = self.run_in(block, header.bound_to(block.args[len(leading) :]), run)
        exits = tuple(exit for exit in outcome.states if exit != Exit.NEXT)
        if Exit.NEXT not in outcome.states:
            return Pass(block, outcome, exits)
        code = outcome.operand()
        with building(block):
            joined = self.relabelled(outcome, dict.fromkeys(exits, Exit.NEXT), self.header_live(node))
        return Pass(block, joined, exits, code)

    def tested_body(self, node: ast.While) -> Outcome:
        """`if test: body, else: the loop is exhausted`."""
        with self.at(node.test):
            truth = self.truth(self.expression(node.test))
        if isinstance(truth, bool):
            return self.block(node.body) if truth else Outcome({Exit.EXHAUSTED: self.state})
        live = self.header_live(node)
        return self.branch(truth, lambda: self.block(node.body), lambda: Outcome({Exit.EXHAUSTED: self.state}), live)

    def plain_while_pass(self, node: ast.While, key: Hashable, header: Header) -> Pass | None:
        """A pass over a while that ends by its condition only; None if the condition has side effects."""
        before, block = Block(arg_types=header.types()), Block(arg_types=header.types())
        conditions: list[bool | Traced] = []

        def test() -> Outcome:
            with self.at(node.test):
                conditions.append(self.truth(self.expression(node.test)))
            return Outcome({Exit.NEXT: self.state})

        def identity(value: SSAValue) -> Hashable:
            return value

        start = header.bound_to(before.args)
        expected = describe_state(start, identity)
        outcome = self.run_in(before, start, test)
        if not outcome.states or describe_state(outcome.states[Exit.NEXT], identity) != expected:
            discard(before)
            return None
        (truth,) = conditions
        if truth is False and not header.columns.columns:
            discard(before)
            raise NotEntered
        with building(before):
            condition = truth.expr if isinstance(truth, Traced) else constant(truth, types.I1)

        def run() -> Outcome:
            return self.relabelled(self.block(node.body), {Exit.CONTINUE: Exit.NEXT}, self.header_live(node))

        try:
            outcome = self.run_in(block, header.bound_to(block.args), run)
        except BaseException:
            discard(before)
            raise
        return Pass(block, outcome, (), None, before, condition)

    def first_only(
        self, node: ast.For | ast.While, bind: Callable[[Value], None] | None, length: int | Traced | None
    ) -> Outcome:
        """A body after which there is no further iteration: the loop is an if around its first one."""

        def first() -> Outcome:
            if bind is not None:
                bind(Static(0))
            return self.ended(self.block(node.body), node)

        if isinstance(node, ast.While):
            with self.at(node.test):
                again: bool | Traced = self.truth(self.expression(node.test))
        else:
            assert length is not None
            again = length > 0 if not isinstance(length, Traced) else _positive(length)
        if isinstance(again, bool):
            return first() if again else self.exhausted(node)
        return self.branch(again, first, lambda: self.exhausted(node), self.frame.loops[-1][0])

    def emit(
        self, node: ast.For | ast.While, header: Header, merged: Header, made: Pass, length: int | Traced | None
    ) -> Outcome:
        """The op of a loop whose header has been found: `made` is a pass from it, `merged` what that pass gives."""
        outer, columns = self.current_block, merged.columns
        inits: list[SSAValue] = []
        yields: list[SSAValue] = []
        arguments = made.block.args[len(made.block.args) - len(header.slots()) :]
        for slot, argument in zip(header.slots(), arguments, strict=True):
            column = columns.columns[slot]
            inits.append(columns.value_of(column, column.left, outer))
            yields.append(argument if column.right is None else columns.value_of(column, column.right, made.block))
        if made.before is not None:
            assert made.condition is not None
            with building(made.before):
                insert(ConditionOp(made.condition.value, *made.before.args))
            with building(made.block):
                insert(YieldOp(*yields))
            op = insert(WhileOp(inits, header.types(), [made.before], [made.block]))
            self.state = header.bound_to(op.results)
            return self.exhausted(node)
        zero = constant(0, types.I64)
        trips = None
        if length is not None:
            trips = length.expr if isinstance(length, Traced) else constant(length, types.I64)
        if trips is not None and not may_leave(node.body):
            with building(made.block):
                insert(YieldOp(*yields))
            one = constant(1, types.I64)
            op = insert(ForOp(zero.value, trips.value, one.value, inits, Region([made.block])))
            self.state = header.bound_to(op.results)
            return self.exhausted(node)
        return self.emit_leaving(node, header, made, trips, inits, yields)

    def emit_leaving(
        self,
        node: ast.For | ast.While,
        header: Header,
        made: Pass,
        trips: Expr | None,
        inits: list[SSAValue],
        yields: list[SSAValue],
    ) -> Outcome:
        """A loop that is left from inside: it carries a counter (a for's) and the code of its end, 0 for none yet."""
        zero = constant(0, types.I64)
        counters = [] if trips is None else [zero.value]
        before = Block(arg_types=[argument.type for argument in made.block.args])
        with building(before):
            code = Expr(before.args[len(counters)])
            go = code == int(Exit.NEXT)
            if trips is not None:
                go = (Expr(before.args[0]) < trips) & go
            insert(ConditionOp(go.value, *before.args))
        with building(made.block):
            ended = made.code if isinstance(made.code, Expr) else constant(made.code or 0, types.I64)
            counted = [] if trips is None else [(Expr(made.block.args[0]) + 1).value]
            insert(YieldOp(*counted, ended.value, *yields))
        result_types = [argument.type for argument in made.block.args]
        op = insert(WhileOp([*counters, zero.value, *inits], result_types, [before], [made.block]))
        results = op.results[len(counters) + 1 :]
        exits = set(made.exits)
        code = Expr(op.results[len(counters)])
        if trips is not None:
            exits.add(Exit.EXHAUSTED)
            code = where(code == int(Exit.NEXT), constant(int(Exit.EXHAUSTED), types.I64), code)
        if not exits:
            raise Bottom  # it never ends
        states = {exit: header.bound_to(results) for exit in sorted(exits)}
        outcome = Outcome(states, code if len(states) > 1 else None)
        return self.after_exits(node, outcome)

    def after_exits(self, node: ast.For | ast.While, outcome: Outcome) -> Outcome:
        """What follows a loop that has been left: the else clause where it was exhausted, and a break is a NEXT."""
        if Exit.EXHAUSTED in outcome.states and node.orelse:
            states = {exit: state for exit, state in outcome.states.items() if exit != Exit.EXHAUSTED}
            own = outcome.states[Exit.EXHAUSTED]
            if not states:
                self.state = own
                return self.exhausted(node)
            assert outcome.code is not None
            left = Outcome(states, outcome.code if len(states) > 1 else None)
            left = self.ended(left, node)

            def orelse() -> Outcome:
                self.state = own.fork()
                return self.exhausted(node)

            return self.branch(outcome.code == int(Exit.EXHAUSTED), orelse, lambda: left, self.frame.loops[-1][0])
        return self.relabelled(outcome, {Exit.EXHAUSTED: Exit.NEXT, Exit.BREAK: Exit.NEXT}, self.frame.loops[-1][0])


def _positive(length: Traced) -> Traced:
    return Traced(length.expr > 0, weak=True, origins=length.origins)


def _without_loop(reason: PoisonUsed) -> PoisonUsed:
    """The same refusal, where unrolling its loop is no way out."""
    final = PoisonUsed(dataclasses.replace(reason.poison, loop=None))
    final.__dict__["location"] = reason.__dict__.get("location")
    return final


def _why(reason: Exception | None, loops: Loops) -> str:
    if isinstance(reason, NeedStatic):
        return f"{reason.what} depends on it"
    if isinstance(reason, PoisonUsed):
        return reason.poison.why
    if isinstance(reason, NoFixpoint):
        return "the arrays that its variables may share cannot be followed"
    return "its elements are of different kinds"
