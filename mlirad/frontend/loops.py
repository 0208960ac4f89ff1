"""for and while: one op with the state that the loop carries (fixpoint.py), or the body once for each trip.

Reads: ast and the state. Writes: scf.for where the body never leaves the loop, else scf.while; or the body, unrolled.
Leaves: an Outcome.
"""

from __future__ import annotations

import ast
from collections.abc import Hashable

from xdsl.dialects.builtin import IntegerAttr, StringAttr
from xdsl.dialects.scf import ConditionOp, ForOp, WhileOp, YieldOp
from xdsl.ir import Block, Operation, Region, SSAValue

from mlirad import requests
from mlirad.dialect import types
from mlirad.dialect.expr import Expr, building, constant, insert, where
from mlirad.dialect.request import CHECKPOINT
from mlirad.frontend import affine, known
from mlirad.frontend.columns import discard
from mlirad.frontend.core import Bottom
from mlirad.frontend.fixpoint import Fixpoints, NoFixpoint, NotEntered
from mlirad.frontend.header import INDEX, Header, Loop, Pass
from mlirad.frontend.merge import describe_state
from mlirad.frontend.outcomes import Exit, Outcome
from mlirad.frontend.poison import PoisonUsed
from mlirad.frontend.scope import Names
from mlirad.frontend.traced import NeedStatic, Traced
from mlirad.frontend.unrolling import KINDS, Reason
from mlirad.frontend.values import Static, Value
from mlirad.frontend.widening import given

LoopOp = ForOp | WhileOp


class Loops(Fixpoints):
    """`for_statement` and `while_statement`."""

    def for_statement(self, node: ast.For, after: Names) -> Outcome:
        over, checkpoint = self.checkpointed(node.iter)
        iterable = self.expression(over)
        with self.at(node.iter):
            self.require_no_generator(iterable)
            self.push(self.consumed(iterable))
            length = self.length(self.top())
        position = len(self.state.temps) - 1

        def bind(index: Value) -> None:
            self.assign(node.target, self.element(self.state.temps[position], index))

        return self.loop(Loop(node, self.key_of(node), bind, length, checkpoint=checkpoint), after)

    def while_statement(self, node: ast.While, after: Names) -> Outcome:
        test, checkpoint = self.checkpointed(node.test)
        self.push(Static(None))
        return self.loop(Loop(node, self.key_of(node), test=test, checkpoint=checkpoint), after)

    def checkpointed(self, node: ast.expr) -> tuple[ast.expr, str | int | None]:
        """What a loop goes over or tests, and how it is checkpointed: by a call of `mlirad.checkpointed`, or not."""
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name | ast.Attribute):
            return node, None
        function = self.expression(node.func)
        if not isinstance(function, Static) or function.value is not requests.checkpointed:
            return node, None
        given = {**dict(zip(("loop", "how"), node.args, strict=False)), **{k.arg: k.value for k in node.keywords}}
        with self.at(node):
            if len(node.args) + len(node.keywords) != 2 or given.keys() != {"loop", "how"}:
                raise self.refusal("mlirad.checkpointed(loop, how) takes two arguments")
            how = self.static(self.expression(given["how"]), "how a loop is checkpointed")
            try:
                requests.require_checkpointing(how)
            except ValueError as error:
                raise self.failed("ValueError", str(error)) from None
        return given["loop"], how

    def loop(self, loop: Loop, after: Names) -> Outcome:
        """A loop whose iterable is on top of the operands."""
        length = loop.length
        base = len(self.state.temps) - 1
        frame = self.frame
        frame.loops.append((after, self.header_live(loop)))
        try:
            if isinstance(length, int) and length == 0:
                outcome = self.exhausted(loop)
            elif loop.key in self.unrolled:
                why = self.unrolled[loop.key]
                outcome = self.unroll(loop, Reason(why.text, refusal=why.refusal))
            elif length is not None and self.must_unroll(self.top(), length):
                outcome = self.unroll(loop, Reason(KINDS))
            else:
                outcome = self.rolled_or_unrolled(loop)
        finally:
            if frame in self.active:
                del self.active[self.active.index(frame) + 1 :]
            frame.loops.pop()
        for state in outcome.states.values():
            state.temps = state.temps[:base]
        return outcome

    def rolled_or_unrolled(self, loop: Loop) -> Outcome:
        start, frame, appended = self.state.fork(), self.frame, self.appended
        live, mark = frame.live, self.current_block.last_op
        try:
            return self.rolled(loop)
        except (NeedStatic, PoisonUsed, NoFixpoint) as error:
            if not self.is_about(error, loop.key):
                raise
            reason = Reason.of(error)
        del self.active[self.active.index(frame) + 1 :]
        self.unrolled[loop.key] = reason.kept
        self.roll_back(mark)
        self.state, frame.live, self.appended = start, live, appended
        return self.unroll(loop, reason)

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

    def roll_back(self, mark: Operation | None) -> None:
        """Remove what has been emitted after `mark` in the current block."""
        block = self.current_block
        while (op := block.last_op) is not mark:
            assert op is not None
            op.detach()
            for inner in op.walk():
                inner.drop_all_references()

    # Rolled loops.

    def one_pass(self, loop: Loop, header: Header) -> Pass:
        node, key, bind = loop.node, loop.key, loop.bind
        if isinstance(node, ast.While) and not loop.leaves and key not in self.impure:
            made = self.plain_while_pass(loop, header)
            if made is not None:
                return made
            self.impure.add(key)
        leading = [] if bind is None else [types.I64]
        if loop.leaves or bind is None:
            leading.append(types.I64)
        block = Block(arg_types=[*leading, *header.types()])

        def run() -> Outcome:
            if bind is None:
                outcome = self.tested_body(loop)
            else:
                number = Expr(block.args[0])
                length = loop.length
                assert length is not None
                affine.remember_iteration(number, length.expr if isinstance(length, Traced) else length)
                bind(Traced(number, weak=True, origins=frozenset({header.naming.mark(INDEX)})))
                outcome = self.block(node.body)
            return self.relabelled(outcome, {Exit.CONTINUE: Exit.NEXT}, self.header_live(loop))

        state = header.bound_to(block.args[len(leading) :])
        start = given(state)
        outcome = self.run_in(block, state, run)
        exits = tuple(exit for exit in outcome.states if exit != Exit.NEXT)
        if Exit.NEXT not in outcome.states:
            return Pass(block, outcome, start, exits, appended=outcome.appended)
        code = outcome.operand()
        with building(block), known.scope():
            joined = self.relabelled(outcome, dict.fromkeys(exits, Exit.NEXT), self.header_live(loop))
        return Pass(block, joined, start, exits, code, appended=outcome.appended)

    def tested_body(self, loop: Loop) -> Outcome:
        """`if test: body, else: the loop is exhausted`."""
        node, truth = loop.node, self.tested(loop)
        if isinstance(truth, bool):
            return self.block(node.body) if truth else Outcome({Exit.EXHAUSTED: self.state})
        live = self.header_live(loop)
        return self.branch(truth, lambda: self.block(node.body), lambda: Outcome({Exit.EXHAUSTED: self.state}), live)

    def tested(self, loop: Loop) -> bool | Traced:
        """A while's condition."""
        assert loop.test is not None
        with self.at(loop.test):
            return self.condition(loop.test)

    def plain_while_pass(self, loop: Loop, header: Header) -> Pass | None:
        """A pass over a while that ends by its condition only; None if the condition has side effects."""
        before, block = Block(arg_types=header.types()), Block(arg_types=header.types())
        conditions: list[bool | Traced] = []

        def test() -> Outcome:
            conditions.append(self.tested(loop))
            return Outcome({Exit.NEXT: self.state})

        def identity(value: SSAValue) -> Hashable:
            return value

        state = header.bound_to(before.args)
        expected = describe_state(state, identity)
        outcome = self.run_in(before, state, test)
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
            return self.relabelled(self.block(loop.node.body), {Exit.CONTINUE: Exit.NEXT}, self.header_live(loop))

        state = header.bound_to(block.args)
        start = given(state)
        try:
            outcome = self.run_in(block, state, run)
        except BaseException:
            discard(before)
            raise
        return Pass(block, outcome, start, (), None, before, condition, outcome.appended)

    def first_only(self, loop: Loop) -> Outcome:
        """A body after which there is no further iteration: the loop is an if around its first one."""

        def first() -> Outcome:
            if loop.bind is not None:
                loop.bind(Static(0))
            return self.ended(self.block(loop.node.body))

        if isinstance(loop.node, ast.While):
            again = self.tested(loop)
        else:
            length = loop.length
            assert length is not None
            again = length > 0 if not isinstance(length, Traced) else _positive(length)
        if isinstance(again, bool):
            return first() if again else self.exhausted(loop)
        return self.branch(again, first, lambda: self.exhausted(loop), self.frame.loops[-1][0])

    def emit(self, loop: Loop, header: Header, merged: Header, made: Pass) -> Outcome:
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
            op = _marked(insert(WhileOp(inits, header.types(), [made.before], [made.block])), loop)
            self.state = header.after(op.results)
            return self.exhausted(loop)
        zero = constant(0, types.I64)
        trips, length = None, loop.length
        if length is not None:
            trips = length.expr if isinstance(length, Traced) else constant(length, types.I64)
        if trips is not None and not loop.leaves:
            with building(made.block):
                insert(YieldOp(*yields))
            one = constant(1, types.I64)
            op = _marked(insert(ForOp(zero.value, trips.value, one.value, inits, Region([made.block]))), loop)
            # A number of trips known here is not 0.
            self.state = header.after(op.results, None if isinstance(length, Traced) else columns)
            if isinstance(length, int):  # and the numbers are what the body makes of them
                self.state.decide(made.outcome.states[Exit.NEXT])
            return self.exhausted(loop)
        return self.emit_leaving(loop, header, made, trips, inits, yields)

    def emit_leaving(
        self,
        loop: Loop,
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
        op = _marked(insert(WhileOp([*counters, zero.value, *inits], result_types, [before], [made.block])), loop)
        results = op.results[len(counters) + 1 :]
        exits = set(made.exits)
        code = Expr(op.results[len(counters)])
        if trips is not None:
            exits.add(Exit.EXHAUSTED)
            code = where(code == int(Exit.NEXT), constant(int(Exit.EXHAUSTED), types.I64), code)
        if not exits:
            raise Bottom  # it never ends
        states = {exit: header.after(results) for exit in sorted(exits)}
        for exit, state in states.items():
            if exit != Exit.EXHAUSTED or trips is None or isinstance(loop.length, int):  # after one trip at least
                state.decide(made.outcome.states[Exit.NEXT])
        outcome = Outcome(states, code if len(states) > 1 else None)
        return self.after_exits(loop, outcome)

    def after_exits(self, loop: Loop, outcome: Outcome) -> Outcome:
        """What follows a loop that has been left: the else clause where it was exhausted, and a break is a NEXT."""
        if Exit.EXHAUSTED in outcome.states and loop.node.orelse:
            states = {exit: state for exit, state in outcome.states.items() if exit != Exit.EXHAUSTED}
            own = outcome.states[Exit.EXHAUSTED]
            if not states:
                self.state = own
                return self.exhausted(loop)
            assert outcome.code is not None
            left = Outcome(states, outcome.code if len(states) > 1 else None)
            left = self.ended(left)

            def orelse() -> Outcome:
                self.state = own.fork()
                return self.exhausted(loop)

            return self.branch(outcome.code == int(Exit.EXHAUSTED), orelse, lambda: left, self.frame.loops[-1][0])
        return self.relabelled(outcome, {Exit.EXHAUSTED: Exit.NEXT, Exit.BREAK: Exit.NEXT}, self.frame.loops[-1][0])


def _marked(op: LoopOp, loop: Loop) -> LoopOp:
    """The loop's op, with what the user says of its checkpoints."""
    match loop.checkpoint:
        case str() as word:
            op.attributes[CHECKPOINT] = StringAttr(word)
        case int() as states:
            op.attributes[CHECKPOINT] = IntegerAttr(states, 64)
    return op


def _positive(length: Traced) -> Traced:
    return Traced(length.expr > 0, weak=True, origins=length.origins)
