"""A run of a function in Python: each step is computed at once, and written as IR.

Reads: the values of a call, and the function's operations on recorded numbers and arrays. Writes: ops, with the
frontend's interpreter parts, and their values, with the evaluator. Leaves: straight-line ops, which are differentiated
like any others.
"""

from __future__ import annotations

import ast
import dataclasses
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, Region, SSAValue

from mlirad import pipeline
from mlirad.dialect.ad.request_op import RequestOp
from mlirad.dialect.core import types
from mlirad.dialect.core.expr import insertion_point, swap_location
from mlirad.dialect.ops.check import CheckFailed
from mlirad.errors import UnsupportedSyntaxError
from mlirad.evaluator.evaluator import Evaluator
from mlirad.frontend.interpreter import attribute_access, dispatch, outside_objects, storage
from mlirad.frontend.interpreter.context import Context
from mlirad.frontend.interpreter.expressions import expressions, item_access
from mlirad.frontend.interpreter.statements import assigning, augmented
from mlirad.frontend.join.steering import Bottom
from mlirad.frontend.values.poison import Unresolved
from mlirad.frontend.values.traced import Traced
from mlirad.frontend.values.values import Bound, Entry, Lazy, Object, Ref, Static, Tuple, Value, kind_of
from mlirad.jit.live import substituted
from mlirad.jit.live.recorded import RecordedValue, recorded_in
from mlirad.location import SourceLocation
from mlirad.raised_exceptions import located_exception

_OWN = str(Path(__file__).parents[2])
_NUMPY = str(Path(np.__file__).parent)


_ENDED = "the function that computed this number or array has ended: return it, or keep its text"


class NoOneValue(Exception):
    """Something has no single value in this run, such as a number of a lane."""


class Recording:
    """One run. values: the leaves of the call, by number."""

    def __init__(self, function: FunctionType, values: Sequence[Any]):
        self.function = function
        self.values = values
        self._environment: dict[int, Any] = {}
        self._kept: list[SSAValue] = []  # the environment finds them by identity
        self._operands: dict[int, SSAValue] = {}
        self._last: dict[Block, Operation | None] = {}
        self._context: Context | None = None
        self.dropped: list[str] = []
        """The names of recorded values that nothing refers to any more."""
        self._numbers = count()

    # The frontend's interface; see `context.Live`.

    def start(self, arguments: Sequence[SSAValue], keys: Sequence[int]) -> None:
        for argument, key in zip(arguments, keys, strict=True):
            if key >= 0:
                dtype = types.to_dtype(types.element_type(argument.type))
                value = np.array(self.values[key], dtype)
                self._note(argument, value if types.is_tensor(argument.type) else value[()])

    def bind(self, arguments: Sequence[SSAValue], operands: Sequence[SSAValue]) -> None:
        self._kept += arguments
        self._operands.update(zip(map(id, arguments), operands, strict=True))

    def run(self, context: Context, args: Sequence[Value], kwargs: dict[str, Value]) -> Value | None:
        outer, self._context = self._context, context
        try:
            try:
                given = [self.to_python(arg) for arg in args]
                named = {name: self.to_python(value) for name, value in kwargs.items()}
            except NoOneValue:
                return None
            result = substituted.run(self.function, self, given, named)
            for value, each in zip((*args, *kwargs.values()), (*given, *named.values()), strict=True):
                self._take_over(value, each)
            return self.to_value(result)
        finally:
            self._context = outer

    # Values.

    def recorded(self, value: Ref | Traced) -> RecordedValue:
        """The Python object of a number or an array."""
        name = f"$recorded {next(self._numbers)}"
        self.context.state.frames[0][name] = value
        return RecordedValue(self, name)

    def held_by(self, value: object) -> set[str]:
        return {each._name for each in recorded_in(value)}

    def variable(self, name: str) -> Value:
        found = self.context.state.frames[0].get(name)
        if found is None:
            raise RuntimeError(_ENDED)
        return found

    @property
    def context(self) -> Context:
        if self._context is None:
            raise RuntimeError(_ENDED)
        return self._context

    def _note(self, ssa: SSAValue, value: Any) -> None:
        self._kept.append(ssa)
        self._environment[id(ssa)] = value

    def _evaluated(self, ssa: SSAValue) -> Any:
        """The value of an SSA value, of this block or an enclosing one. Raises NoOneValue."""
        if id(ssa) not in self._environment:
            if (operand := self._operands.get(id(ssa))) is not None:
                self._note(ssa, self._evaluated(operand))
            elif isinstance(owner := ssa.owner, Operation):
                self._run(owner)
            else:
                raise NoOneValue
        return self._environment[id(ssa)]

    def _run(self, op: Operation) -> None:
        operands = [self._evaluated(operand) for operand in op.operands]
        for inner in op.walk() if op.regions else ():
            for operand in inner.operands:
                if not op.is_ancestor(operand.owner):
                    self._evaluated(operand)
        module = ModuleOp([])
        try:
            with np.errstate(all="ignore"):
                if any(isinstance(inner, RequestOp | func.CallOp) for inner in op.walk()):
                    results = self._expanded(op, operands)
                else:
                    results = Evaluator(module).op(op, operands, self._environment)
        except CheckFailed as failed:
            raise located_exception(failed.error, failed.message, None) from None
        for result, value in zip(op.results, results, strict=True):
            self._note(result, value)

    def _expanded(self, op: Operation, operands: Sequence[Any]) -> Sequence[Any]:
        """The result of a request or a call, computed in a separate module."""
        block = Block(arg_types=[operand.type for operand in op.operands])
        copy = op.clone(dict(zip(op.operands, block.args, strict=True)))
        block.add_ops([copy, func.ReturnOp(*copy.results)])
        types = [operand.type for operand in op.operands], [result.type for result in op.results]
        main = func.FuncOp("mlirad_step", types, Region([block]))
        module = pipeline.differentiate(ModuleOp([main, *(each.clone() for each in self.context.functions)]))
        (main,) = [each for each in module.ops if isinstance(each, func.FuncOp) and each.sym_name.data == "mlirad_step"]
        return Evaluator(module).call(main, operands)

    def advance(self) -> None:
        """Run the ops that have been written since the last time: their checks may fail."""
        block = insertion_point().block
        last = self._last.get(block)
        op = block.first_op if last is None else last.next_op
        while op is not None:
            if not (op.results and all(id(result) in self._environment for result in op.results)):
                self._run(op)
            self._last[block] = op
            op = op.next_op

    def value_of(self, value: Ref | Traced) -> Any:
        """The current value of a number or an array: a Python number, a NumPy number or a new array."""
        with self._step():
            expr = self.context.read(value).contents if isinstance(value, Ref) else value.expr
            found = self._evaluated(expr.value)
        if isinstance(value, Ref) or value.is_array:
            return np.array(found)
        return value.kind(found) if value.weak else value.dtype.type(found)

    def taken(self, value: Any) -> Any:
        """A value that NumPy has made for the function: an array of floats may be written, and is recorded."""
        is_made = type(value) is np.ndarray and value.dtype.kind == "f"
        return self.recorded(self._array(value)) if is_made else value

    def _array(self, value: np.ndarray) -> Ref:
        with self._step():
            made = storage.result(self.context, value)
        assert isinstance(made, Ref)
        return made

    def concrete(self, value: Any) -> Any:
        return value._value() if type(value) is RecordedValue else value

    def to_python(self, value: Value) -> Any:
        """The object that the function sees for a value: floats and arrays are recorded, other numbers are plain."""
        value = self.context.use(value)
        match value:
            case Ref():
                self.value_of(value)
                return self.recorded(value)
            case Traced():
                known = self.value_of(value)
                return self.recorded(value) if value.kind is float else known
            case Static():
                return value.value
            case Tuple():
                items = [self.to_python(item) for item in value.items]
                return tuple(items) if value.kind is tuple else value.kind(*items)
            case Object():
                entry = storage.entry_of(self.context, value)
                items = [self.to_python(item) for item in entry.items]
                if entry.kind is list:
                    return items
                named = dict(zip(entry.keys, items, strict=True))
                return named if entry.kind is dict else _instance(entry.kind, named)
            case Bound():
                return lambda *args, **kwargs: self._called(value, args, kwargs)
            case Lazy() if value.kind is not str:
                with self._step():
                    made = dispatch.call(self.context, Static(list), [value], {})
                return self.to_python(made)
        raise self.context.refusal(f"{kind_of(value)} is not recorded with mlirad.disable_jit()")

    def to_value(self, value: Any) -> Value:
        context = self.context
        if type(value) is RecordedValue:
            return value.__mlirad_value__
        if isinstance(value, tuple):
            return Tuple(tuple(map(self.to_value, value)), type(value))
        if type(value) is slice:
            return Lazy(slice, tuple(map(self.to_value, (value.start, value.stop, value.step))))
        if type(value) is list:
            return context.new_list(list(map(self.to_value, value)))
        if type(value) is dict:
            return context.new_object(Entry(dict, tuple(value), tuple(map(self.to_value, value.values()))))
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            named = {name: self.to_value(each) for name, each in vars(value).items()}
            return context.new_object(Entry(type(value), tuple(named), tuple(named.values())))
        return outside_objects.object_value(context, value, None)

    def _take_over(self, value: Value, given: Any) -> None:
        """The function's changes to a list, dict or dataclass of the caller."""
        if isinstance(value, Tuple):
            for part, each in zip(value.items, given, strict=True):
                self._take_over(part, each)
        elif isinstance(value, Object):
            entry = storage.entry_of(self.context, value)
            now = dict(enumerate(given)) if entry.kind is list else given if entry.kind is dict else vars(given)
            is_same = list(now) == list(entry.keys)
            for part, each in zip(entry.items, now.values(), strict=False):
                if is_same and isinstance(part, Object | Tuple) and not isinstance(each, RecordedValue):
                    self._take_over(part, each)
                elif type(each) is RecordedValue:
                    is_same &= each.__mlirad_value__ is part
                else:
                    is_same &= isinstance(part, Static | Traced) and each == self.to_python(part)
            if not is_same:
                items = tuple(map(self.to_value, now.values()))
                storage.change(self.context, value, dataclasses.replace(entry, keys=tuple(now), items=items))

    # Steps.

    @contextmanager
    def _step(self) -> Iterator[None]:
        """Ops written here have the current line of the user's code; their checks run at once."""
        context = self.context
        while self.dropped:
            context.state.frames[0].pop(self.dropped.pop(), None)
        before, context.location = context.location, place() or context.location
        saved = swap_location(context.location)
        try:
            yield
            self.advance()
        except Bottom:
            self.advance()
            raise
        except Unresolved as error:
            raise UnsupportedSyntaxError(str(error), context.location) from None
        finally:
            swap_location(saved)
            context.location = before

    def _made(self, make: Callable[[], Value]) -> Any:
        with self._step():
            made = make()
        return self.to_python(made)

    def _called(self, function: Value, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        return self._made(
            lambda: dispatch.call(
                self.context,
                function,
                [self.to_value(arg) for arg in args],
                {name: self.to_value(value) for name, value in kwargs.items()},
            )
        )

    def call(self, function: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        return self._called(outside_objects.object_value(self.context, function, None), args, kwargs)

    def binary(self, op: ast.operator, left: Any, right: Any) -> Any:
        return self._made(lambda: expressions.binary(self.context, op, self.to_value(left), self.to_value(right)))

    def unary(self, op: ast.unaryop, value: RecordedValue) -> Any:
        return self._made(lambda: expressions.unary(self.context, op, value.__mlirad_value__))

    def in_place(self, op: ast.operator, current: RecordedValue, right: Any) -> Any:
        made = self._made(lambda: augmented.in_place(self.context, op, current.__mlirad_value__, self.to_value(right)))
        return current if isinstance(current.__mlirad_value__, Ref) else made

    def attribute(self, value: RecordedValue, name: str) -> Any:
        return self._made(lambda: attribute_access.attribute(self.context, value.__mlirad_value__, name))

    def item(self, array: RecordedValue, index: Any) -> Any:
        return self._made(
            lambda: item_access.get_item(self.context, array.__mlirad_value__, self.to_value(self._known_index(index)))
        )

    def set_item(self, array: RecordedValue, index: Any, value: Any) -> None:
        with self._step():
            place = self.to_value(self._known_index(index))
            assigning.set_item(self.context, array.__mlirad_value__, place, self.to_value(value))

    def _known_index(self, index: Any) -> Any:
        """An index with the current values of its arrays, so that the selection has a known shape."""
        if isinstance(index, tuple):
            return tuple(map(self._known_index, index))
        return self.concrete(index)


def _instance(kind: type, named: dict[Any, Any]) -> Any:
    made = object.__new__(kind)
    vars(made).update(named)
    return made


def place() -> SourceLocation | None:
    """The current line of the user's code."""
    frame = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith((_OWN, _NUMPY, "<")):
        frame = frame.f_back
    while frame is not None and "contextlib" in frame.f_code.co_filename:
        frame = frame.f_back
    return None if frame is None else SourceLocation(frame.f_code.co_filename, frame.f_lineno)
