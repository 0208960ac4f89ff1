"""Takes the base case out of a recursive function, so that the caller decides it without a call.

Reads: private functions that call themselves in one branch only. Writes: that branch as a function of its own, the
step, in which a copy of the rest replaces each call; a call of the step in the branch. Leaves: functions that call
themselves at most once, or whose rest is large.

Most calls of a branching recursion are base cases. Each of them passes arguments, checks the stack, and makes a record
in the forward sweep.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import func, scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, BlockArgument, Operation, OpResult, Region, SSAValue
from xdsl.passes import ModulePass

from mlirad.analysis.call_graph import APART, calls_in, functions_of, recursive, set_written, written_by
from mlirad.analysis.loops import branches, terminator, yields
from mlirad.analysis.rule_attributes import own_rule
from mlirad.dialect.ad.notes import CHECKPOINT
from mlirad.dialect.ad.request_op import RequestOp
from mlirad.dialect.core import types
from mlirad.dialect.core.expr import building, insert, located
from mlirad.lowering.rewriting import replace, splice
from mlirad.xdsl_support.effects import has_no_effect, is_terminator
from mlirad.xdsl_support.traversal import blocks_around, defining_block, find, ops_inside, ops_of

MOST_COPIED = 64
"""The most ops that are copied in all. They cost about as much as a few calls."""


@dataclass(frozen=True)
class PeelBaseCases(ModulePass):
    """Make a function of the branch in which a function calls itself, and replace each call in it by the rest.

    Before:

        func.func private @fibonacci(%x: f64, %n: i64) -> f64 {
          %one = nd.constant {value = 1 : i64} : i64
          %is_first = nd.less_equal %n, %one : (i64, i64) -> i1
          %y = scf.if %is_first -> (f64) {
            scf.yield %x : f64
          } else {
            %k = nd.sub %n, %one : i64
            %a = func.call @fibonacci(%x, %k) : (f64, i64) -> f64
            %m = nd.sub %k, %one : i64
            %b = func.call @fibonacci(%x, %m) : (f64, i64) -> f64
            %c = nd.add %a, %b : f64
            scf.yield %c : f64
          }
          func.return %y : f64
        }

    After `mlirad-peel-base-cases`:

        func.func private @fibonacci(%x: f64, %n: i64) -> f64 {
          %one = nd.constant {value = 1 : i64} : i64
          %is_first = nd.less_equal %n, %one : (i64, i64) -> i1
          %y = scf.if %is_first -> (f64) {
            scf.yield %x : f64
          } else {
            %0 = func.call @fibonacci.step(%n, %x) : (i64, f64) -> f64
            scf.yield %0 : f64
          }
          func.return %y : f64
        }
        func.func private @fibonacci.step(%n: i64, %x: f64) -> f64 {
          %one = nd.constant {value = 1 : i64} : i64
          %k = nd.sub %n, %one : i64
          %one_1 = nd.constant {value = 1 : i64} : i64
          %is_first = nd.less_equal %k, %one_1 : (i64, i64) -> i1
          %y = scf.if %is_first -> (f64) {
            scf.yield %x : f64
          } else {
            %0 = func.call @fibonacci.step(%k, %x) : (i64, f64) -> f64
            scf.yield %0 : f64
          }
          %m = nd.sub %k, %one : i64
          %one_2 = nd.constant {value = 1 : i64} : i64
          %is_first_1 = nd.less_equal %m, %one_2 : (i64, i64) -> i1
          %y_1 = scf.if %is_first_1 -> (f64) {
            scf.yield %x : f64
          } else {
            %1 = func.call @fibonacci.step(%m, %x) : (i64, f64) -> f64
            scf.yield %1 : f64
          }
          %c = nd.add %y, %y_1 : f64
          func.return %c : f64
        }
    """

    name = "mlirad-peel-base-cases"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        functions = functions_of(op)
        found = recursive(functions)
        for name, function in functions.items():
            if name in found and _may_be_copied(function) and _calls_only_itself(name, functions):
                if (step := _step_of(function)) is not None and step.is_separable:
                    op.body.block.insert_op_after(step.separate(), function)


def _may_be_copied(function: func.FuncOp) -> bool:
    if function.sym_visibility is None or function.sym_visibility.data != "private":
        return False
    if APART in function.attributes or CHECKPOINT in function.attributes or own_rule(function) is not None:
        return False
    return not find(function, RequestOp)


def _calls_only_itself(name: str, functions: dict[str, func.FuncOp]) -> bool:
    """Whether a function is recursive by its own calls alone, and not through another function."""
    others = {other: function for other, function in functions.items() if other != name}
    pending, seen = [call.callee.string_value() for call in calls_in(functions[name])], {name}
    if name not in pending:
        return False
    while pending:
        callee = pending.pop()
        if callee in others and callee not in seen:
            seen.add(callee)
            called = [call.callee.string_value() for call in calls_in(others[callee])]
            if name in called:
                return False
            pending += called
    return True


def _calls(function: func.FuncOp, name: str) -> list[func.CallOp]:
    return [call for call in calls_in(function) if call.callee.string_value() == name]


def _step_of(function: func.FuncOp) -> _Step | None:
    """The innermost branch, outside of loops, that contains all calls of a function to itself."""
    calls, block = _calls(function, function.sym_name.data), function.body.block
    path: list[tuple[scf.IfOp, Block]] = []
    while True:
        ops = {block.find_ancestor_op_in_block(call) for call in calls}
        op = ops.pop()
        inner = None if ops or not isinstance(op, scf.IfOp) else _only_branch(op, calls)
        if inner is None:
            return _Step(function, tuple(path)) if path else None
        assert isinstance(op, scf.IfOp)
        path.append((op, inner))
        block = inner


def _most_calls(block: Block, name: str) -> int:
    """The most calls of a function that one run of a block makes, if each loop makes two trips."""
    count = 0
    for op in block.ops:
        inner = [_most_calls(each, name) for region in op.regions for each in region.blocks]
        if isinstance(op, func.CallOp):
            count += op.callee.string_value() == name
        elif inner:
            count += max(inner) * (1 if isinstance(op, scf.IfOp) else 2)
    return count


def _only_branch(op: scf.IfOp, calls: Collection[func.CallOp]) -> Block | None:
    """The branch that contains all of these calls; None if there is none."""
    return next((each for each in branches(op) if all(map(each.find_ancestor_op_in_block, calls))), None)


@dataclass(frozen=True)
class _Step:
    """The branch of a function in which it calls itself.

    path: the ifs around it, outermost first, each with its branch.
    """

    function: func.FuncOp
    path: tuple[tuple[scf.IfOp, Block], ...]

    @property
    def block(self) -> Block:
        return self.path[-1][1]

    @property
    def name(self) -> str:
        return self.function.sym_name.data

    @property
    def is_separable(self) -> bool:
        """Whether the step can be a function, and this pays off.

        It may call the function more than once, copies of the rest cost less than the calls, the arrays that it uses
        are arguments of the function, and those that it writes become its results.
        """
        rest = len(ops_inside(self.function)) - sum(1 + len(ops_inside(op)) for op in self.block.ops)
        if _most_calls(self.block, self.name) < 2 or rest * len(_calls(self.function, self.name)) > MOST_COPIED:
            return False
        entry, written = self.function.body.block, written_by(self.function)
        for value in self._captured():
            if types.is_tensor(value.type) and not _is_constant(value):
                if not isinstance(value, BlockArgument) or value.owner is not entry:
                    return False
                if value.index in written and self._passed_on(written[value.index]) is None:
                    return False
        return True

    def _passed_on(self, result: int) -> int | None:
        """The number of the step's result that becomes a result of the function."""
        block = self.function.body.block
        for op, inner in self.path:
            value = yields(block)[result]
            if not isinstance(value, OpResult) or value.op is not op:
                return None
            block, result = inner, value.index
        return result

    def _captured(self) -> list[SSAValue]:
        """The values from outside of the step that it uses."""
        used = [operand for op in self.block.ops for inner in op.walk() for operand in inner.operands]
        return [value for value in dict.fromkeys(used) if not self._is_inside(value)]

    def _is_inside(self, value: SSAValue) -> bool:
        return any(block is self.block for block in blocks_around(defining_block(value)))

    def separate(self) -> func.FuncOp:
        """Make a function of the step, and inline the rest of the function in it."""
        self._sink()
        captured = self._captured()
        made = self._function([value for value in captured if not _is_constant(value)])
        for value in filter(_is_constant, captured):
            assert isinstance(value, OpResult)
            copy = value.op.clone()
            copy.location = value.op.location
            made.body.block.insert_ops_before([copy], ops_of(made.body.block)[0])
            value.replace_uses_with_if(copy.results[0], lambda use: made.is_ancestor(use.operation))
        for call in _calls(made, self.name):
            replace(call, splice(self.function.body.clone().block, call, list(call.arguments)))
        return made

    def _sink(self) -> None:
        """Move computations of numbers into the step, if only the step uses them."""
        for block in [*(each for _, each in reversed(self.path[:-1])), self.function.body.block]:
            for op in reversed(ops_of(block)):
                if _computes_numbers(op) and all(map(self._only_uses, op.results)):
                    op.detach()
                    self.block.insert_ops_before([op], ops_of(self.block)[0])

    def _only_uses(self, value: SSAValue) -> bool:
        """Whether the step is the only user of a value."""
        users = [self.block.find_ancestor_op_in_block(use.operation) for use in value.uses]
        return bool(users) and None not in users

    def _function(self, given: list[SSAValue]) -> func.FuncOp:
        """Move the step's ops to a new function, with arguments for the given values, and call it instead."""
        name, entry, written = f"{self.name}.step", self.function.body.block, dict[int, int]()
        for number, result in written_by(self.function).items():
            passed_on = self._passed_on(result)
            if entry.args[number] in given and passed_on is not None:
                written[given.index(entry.args[number])] = passed_on
        end = terminator(self.block)
        results = [value.type for value in end.operands]
        body = Block(arg_types=[value.type for value in given])
        for op in ops_of(self.block):
            op.detach()
            body.add_op(op)
        made = func.FuncOp(name, ([value.type for value in given], results), Region(body), "private")
        made.location = self.function.location
        made.attributes = dict(self.function.attributes)
        for value, arg in zip(given, body.args, strict=True):
            arg.name_hint = value.name_hint
            value.replace_uses_with_if(arg, lambda use: made.is_ancestor(use.operation))
        set_written(made, written)
        with located(end.location):
            with building(body):
                insert(func.ReturnOp(*end.operands))
            with building(self.block):
                call = insert(func.CallOp(name, given, results))
                insert(scf.YieldOp(*call.results))
        end.detach()
        end.erase()
        return made


def _is_constant(value: SSAValue) -> bool:
    return isinstance(value, OpResult) and not value.op.operands and not value.op.regions and has_no_effect(value.op)


def _computes_numbers(op: Operation) -> bool:
    if op.regions or is_terminator(op.__class__) or not has_no_effect(op):
        return False
    return not any(types.is_tensor(value.type) for value in (*op.operands, *op.results))
