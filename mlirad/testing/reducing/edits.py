"""Ways to make a module smaller. An edit names ops by their numbers in program order, so that it fits each clone.

Reads and writes: a module of any stage, in place. Leaves: a module in which each value is defined before it is used.
Its types, calls and regions may not fit, so it is verified before it is judged.

What an op computed is replaced by a stand-in of the same type: a value that is there already, a new argument of the
function around it, or a constant.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from xdsl.dialects import arith, func
from xdsl.dialects.builtin import AnyFloat, ArrayAttr, DictionaryAttr, FloatAttr, IndexType, IntegerAttr, IntegerType
from xdsl.ir import Attribute, Operation, OpResult, SSAValue
from xdsl.rewriter import InsertPoint
from xdsl.traits import IsolatedFromAbove

from mlirad.analysis.loops import Carries, StructuredOp, is_structured
from mlirad.dialect.core.expr import constant, emitting
from mlirad.errors import CompileError
from mlirad.lowering.rewriting import erase, splice
from mlirad.xdsl_support.effects import is_terminator
from mlirad.xdsl_support.traversal import ops_inside

Edit = Callable[[Operation], bool]
"""Changes a module, and says whether it did."""


def stand_in_of_operands(op: Operation, type: Attribute) -> SSAValue | None:
    """An operand of the op, an earlier value, or a new argument of the function: what is before the op stays."""
    return _first(type, op.operands, _arguments_around(op), _results_before(op)) or _new_argument(op, type)


def stand_in_of_arguments(op: Operation, type: Attribute) -> SSAValue | None:
    """An argument, new if need be: what is before the op is needed no more."""
    return _first(type, _arguments_around(op)) or _new_argument(op, type)


def stand_in_of_constants(op: Operation, type: Attribute) -> SSAValue | None:
    """The number 1, or an array of it. A function that is called can have no new arguments."""
    if op.parent is None:
        return None
    module = op
    while (parent := module.parent_op()) is not None:
        module = parent
    point = InsertPoint.before(op)
    if any(each.name.startswith("nd.") for each in ops_inside(module)):
        try:
            with emitting(point, op.location):
                return constant(1, type).value
        except (CompileError, KeyError, TypeError, ValueError):  # a type that no constant has
            return None
    if isinstance(type, IntegerType | IndexType):
        made = arith.ConstantOp(IntegerAttr(1, type))
    elif isinstance(type, AnyFloat):
        made = arith.ConstantOp(FloatAttr(1.0, type))
    else:
        return None
    made.location = op.location
    op.parent.insert_op_before(made, op)
    return made.result


StandIn = Callable[[Operation, Attribute], SSAValue | None]
STAND_INS: tuple[StandIn, ...] = (stand_in_of_operands, stand_in_of_arguments, stand_in_of_constants)


def _first(type: Attribute, *groups: Iterator[SSAValue] | Sequence[SSAValue]) -> SSAValue | None:
    return next((value for group in groups for value in group if value.type == type), None)


def _blocks_around(op: Operation) -> Iterator[Operation]:
    """The op, and the enclosing ops with values that it sees."""
    current: Operation | None = op
    while current is not None and current.parent is not None:
        yield current
        current = current.parent_op()
        if current is None or current.has_trait(IsolatedFromAbove):
            return


def _arguments_around(op: Operation) -> Iterator[SSAValue]:
    for each in _blocks_around(op):
        if each.parent is not None:
            yield from each.parent.args


def _results_before(op: Operation) -> Iterator[SSAValue]:
    for each in _blocks_around(op):
        before = each.prev_op
        while before is not None:
            yield from before.results
            before = before.prev_op


def _new_argument(op: Operation, type: Attribute) -> SSAValue | None:
    around: Operation | None = op
    while around is not None and not isinstance(around, func.FuncOp):
        around = around.parent_op()
    if around is None or around is op or around.is_declaration:
        return None
    made = around.body.block.insert_arg(type, len(around.body.block.args))
    if around.arg_attrs is not None:
        around.properties["arg_attrs"] = ArrayAttr([*around.arg_attrs, DictionaryAttr({})])
    around.update_function_type()
    return made


def _replace_results(op: Operation, stand_in: StandIn) -> bool:
    """Let nothing use the op's results; whether that was possible."""
    for result in op.results:
        if result.first_use is not None:
            value = stand_in(op, result.type)
            if value is None:
                return False
            result.replace_all_uses_with(value)
    return True


@dataclass(frozen=True)
class Remove:
    """Removes ops, with all that is in them."""

    numbers: tuple[int, ...]
    stand_in: StandIn

    def __call__(self, module: Operation) -> bool:
        ops = ops_inside(module)
        done = False
        for number in sorted(self.numbers, reverse=True):
            if _replace_results(ops[number], self.stand_in):
                erase(ops[number])
                done = True
        return done


@dataclass(frozen=True)
class Unwrap:
    """Puts the ops of one region in the place of the op around it."""

    number: int
    region: int
    stand_in: StandIn

    def __call__(self, module: Operation) -> bool:
        op = ops_inside(module)[self.number]
        region = op.regions[self.region]
        block = region.blocks.first
        if block is None or block is not region.blocks.last or block.last_op is None:
            return False
        inputs = list(op.operands)
        arguments: list[SSAValue] = []
        for arg in block.args:
            found = next((value for value in inputs if value.type == arg.type), None)
            if found is not None:
                inputs.remove(found)
            value = self.stand_in(op, arg.type) if found is None else found
            if value is None:
                return False
            arguments.append(value)
        if not is_terminator(block.last_op.__class__):
            return False
        passed_on = splice(block, op, arguments)
        for result in op.results:
            found = next((value for value in passed_on if value.type == result.type), None)
            if found is not None:
                passed_on.remove(found)
                result.replace_all_uses_with(found)
        if not _replace_results(op, self.stand_in):
            return False
        erase(op)
        return True


@dataclass(frozen=True)
class DropReturned:
    """Drops one result of a function."""

    number: int
    place: int

    def __call__(self, module: Operation) -> bool:
        function = ops_inside(module)[self.number]
        assert isinstance(function, func.FuncOp)
        end = function.get_return_op()
        if end is None:
            return False
        end.operands = [value for place, value in enumerate(end.operands) if place != self.place]
        if function.res_attrs is not None:
            kept = [each for place, each in enumerate(function.res_attrs) if place != self.place]
            function.properties["res_attrs"] = ArrayAttr(kept)
        function.update_function_type()
        return True


@dataclass(frozen=True)
class DropArgument:
    """Drops an argument of a function that nothing uses."""

    number: int
    place: int

    def __call__(self, module: Operation) -> bool:
        function = ops_inside(module)[self.number]
        assert isinstance(function, func.FuncOp)
        arg = function.body.block.args[self.place]
        if arg.first_use is not None:
            return False
        function.body.block.erase_arg(arg)
        if function.arg_attrs is not None:
            kept = [each for place, each in enumerate(function.arg_attrs) if place != self.place]
            function.properties["arg_attrs"] = ArrayAttr(kept)
        function.update_function_type()
        return True


@dataclass(frozen=True)
class DropCarry:
    """Drops one of the values that a loop carries or a branch yields."""

    number: int
    carry: int
    stand_in: StandIn

    def __call__(self, module: Operation) -> bool:
        op = ops_inside(module)[self.number]
        assert isinstance(op, StructuredOp)
        carries = Carries(op)
        value = carries.inits[self.carry] if carries.region_args else self.stand_in(op, op.results[self.carry].type)
        if value is None:
            return False
        op.results[self.carry].replace_all_uses_with(value)
        for args in carries.region_args:
            args[self.carry].replace_all_uses_with(value)
        carries.keep(lambda number: number != self.carry)
        return True


@dataclass(frozen=True)
class UseArgument:
    """Lets an op read an argument of the same type in place of what another op computed."""

    number: int
    place: int

    def __call__(self, module: Operation) -> bool:
        op = ops_inside(module)[self.number]
        value = op.operands[self.place]
        if not isinstance(value, OpResult):
            return False
        found = _first(value.type, _arguments_around(op))
        if found is None:
            return False
        op.operands[self.place] = found
        return True


@dataclass(frozen=True)
class DropAttributes:
    """Drops the attributes that an op can do without."""

    number: int

    def __call__(self, module: Operation) -> bool:
        op = ops_inside(module)[self.number]
        had = bool(op.attributes)
        op.attributes.clear()
        return had


def small_edits(module: Operation) -> Iterator[Edit]:
    """The edits of single ops of a module, from its end; those that take most away first."""
    numbered = list(enumerate(ops_inside(module)))[::-1]
    for number, op in numbered:
        if not op.has_trait(IsolatedFromAbove):
            yield from (Unwrap(number, at, each) for at in range(len(op.regions)) for each in STAND_INS)
    for number, op in numbered:
        if isinstance(op, func.FuncOp) and not op.is_declaration:
            yield from (DropReturned(number, place) for place in reversed(range(len(op.function_type.outputs))))
        if isinstance(op, StructuredOp) and is_structured(op):
            carries = reversed(range(Carries(op).count))
            yield from (DropCarry(number, carry, each) for carry in carries for each in STAND_INS)
    for number, op in numbered:
        yield from (UseArgument(number, place) for place in range(len(op.operands)))
    for number, op in numbered:
        if isinstance(op, func.FuncOp) and not op.is_declaration:
            yield from (DropArgument(number, place) for place in reversed(range(len(op.body.block.args))))
        yield DropAttributes(number)


def size_of(module: Operation) -> tuple[int, int, int, int]:
    """Ops; operands that ops have computed; operands and arguments; attributes. An edit has to make it smaller."""
    ops = ops_inside(module)
    computed = [isinstance(value, OpResult) for op in ops for value in op.operands]
    arguments = [len(block.args) for op in ops for region in op.regions for block in region.blocks]
    return len(ops), sum(computed), len(computed) + sum(arguments), sum(len(op.attributes) for op in ops)
