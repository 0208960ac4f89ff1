"""Writes the statements of one function, op by op; an expression with a single use is inlined into it.

Reads: nd and scf on tensors; which op may overwrite which array (`analysis/moves.py`). Writes: statements. Leaves:
variables without names.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from keyword import iskeyword
from types import ModuleType
from typing import Any

import numpy as np
from xdsl.dialects import func
from xdsl.ir import Attribute, Block, Operation, SSAValue

from mlirad.analysis.call_graph import written_by
from mlirad.analysis.constants import constant_int
from mlirad.analysis.memory import is_tensor, is_view, memory_of, takes, viewed_operand
from mlirad.dialect.core import types
from mlirad.dialect.core.effect_table import Effect, effect_of
from mlirad.dialect.core.intervals import LinearForm, Values
from mlirad.dialect.core.numpy_source import NumpySource, NumpyText, Rank, Term, called, text, typed
from mlirad.dialect.core.op import NdOp
from mlirad.dialect.ops.movement import size_of
from mlirad.errors import TargetError
from mlirad.location import SourceLocation
from mlirad.targets.python.arrays_in_place import moves_of
from mlirad.targets.python.counters import Counting
from mlirad.targets.python.python_statements import (
    Assign,
    Function,
    SourceLine,
    Statement,
    values_in,
)
from mlirad.targets.python.sums_as_text import sum_of
from mlirad.xdsl_support.effects import only_computes


@dataclass(frozen=True)
class _Pending:
    """An expression that waits for its use. is_foreign: it is a view of memory that the IR treats as another
    array's."""

    text: NumpyText
    op: Operation
    is_foreign: bool = False


Imported = Callable[..., Any] | ModuleType


class FunctionWriter(NumpySource):
    """The walk over one function.

    visits: how ops of other dialects are written. width: the length of an expression above which its parts get names.
    texts: the current expression of each value. pending: those that wait for their only use.
    """

    def __init__(
        self,
        function: func.FuncOp,
        imported: dict[Imported, str],
        is_public: bool,
        visits: Visits,
        width: int,
    ) -> None:
        self.function, self.imported, self.visits, self.width = function, imported, visits, width
        self.written = written_by(function)
        self.moves = moves_of(function, is_public)
        self.counting = Counting()
        self.texts: dict[SSAValue, NumpyText] = {}
        self.pending: dict[SSAValue, _Pending] = {}
        self.statements: list[Statement] = []
        self.objects: dict[SSAValue, SSAValue] = {}
        self._given: dict[int, NumpyText] = {}
        self.is_public = is_public

    def write(self) -> Function:
        entry = self.function.body.block
        for argument in entry.args:
            self.texts[argument] = self.in_variable(argument, self.is_public or is_exact_type(argument.type))
        self._block(entry)
        kept = [entry.args[index] for index in self.written] if self.is_public else []
        place = types.from_location(self.function.location)
        return Function(self.function.sym_name.data, entry.args, self.statements, kept, place)

    # --- variables ----------------------------------------------------------------------------------------------

    def variable(self, value: SSAValue) -> SSAValue:
        """The value that represents the variable of a value: arrays changed in place stay in their variable."""
        while (before := self.objects.get(value)) is not None:
            value = before
        return value

    def in_variable(self, value: SSAValue, is_numpy: bool = True) -> NumpyText:
        return NumpyText((self.variable(value),), is_new=False, is_numpy=is_numpy)

    def assign(self, value: SSAValue, given: NumpyText, location: SourceLocation | None, is_call: bool = False) -> None:
        self.statements.append(Assign((value,), given, location, is_call))
        self.texts[value] = self.in_variable(value, given.is_numpy)

    def _kept(self, value: SSAValue, found: _Pending) -> NumpyText:
        """The initial value of a variable: a copy if its array is a view of memory that other code changes."""
        is_copied = value in self.moves.copied_views or found.is_foreign
        return copied(found.text) if is_copied and is_tensor(value) else found.text

    def _spill(self, value: SSAValue) -> None:
        found = self.pending.pop(value)
        self.assign(value, self._kept(value, found), types.from_location(found.op.location))

    def flush(self, memory: Sequence[SSAValue] | None = None) -> None:
        """Give names to the waiting expressions; memory: only to those that read it."""
        for value, found in list(self.pending.items()):
            if memory is None or any(self.shares(each, memory) for each in _read_by(found)):
                if value in self.pending:
                    self._spill(value)

    def shares(self, value: SSAValue, memory: Sequence[SSAValue]) -> bool:
        return any(self.variable(each) is self.variable(other) for each in memory_of(value) for other in memory)

    # --- questions of ops -------------------------------------------------------------------------------------------

    def peek(self, value: SSAValue) -> NumpyText:
        found = self.pending.get(value)
        return self.texts[value] if found is None else found.text

    def operand(self, index: int) -> NumpyText:
        given = self._given.get(index)
        return self.peek(self.op.operands[index]) if given is None else given

    def line(self, *parts: str | SSAValue | NumpyText | int, depth: int = 0) -> None:
        self.statements.append(SourceLine(text(*parts), types.from_location(self.op.location), depth))

    def name_of(self, function: Imported) -> str:
        name = _SHORT.get(function.__name__, function.__name__)
        if getattr(np, function.__name__, None) is function:
            return f"np.{name}"
        self.imported[function] = name
        return name

    def may_overflow(self, value: SSAValue) -> bool:
        return self.counting.may_overflow(value)

    def form(self, value: SSAValue) -> Values:
        """A number as a form of values that have a text."""
        number = constant_int(value)
        if number is not None:
            return LinearForm(number)
        if value in self.counting.forms:
            return self.counting.forms[value]
        found = self.pending.get(value)
        op = value.owner
        if found is not None and isinstance(op, NdOp) and not self.may_overflow(value):
            sum_ = op.integer(*map(self.counting.interval, op.operands)).sum
            if sum_ is not None and all(operand in self.texts for operand in op.operands):
                return sum_.put(lambda place: self.form(op.operands[place]))
        return LinearForm.of(value)

    def total(self, *terms: Term, minus: Sequence[Term] = ()) -> NumpyText:
        form: Values = LinearForm()
        sizes: list[tuple[NumpyText, int]] = []
        for term, factor in [*((term, 1) for term in terms), *((term, -1) for term in minus)]:
            if isinstance(term, int):
                form = form.shifted(factor * term)
            elif isinstance(term, SSAValue):
                form = form.plus(self.form(term), factor)
            else:
                size = size_of(*term)
                if isinstance(size, SSAValue) and size in self.texts:
                    form = form.plus(self.form(size), factor)
                else:
                    array, axis = term if isinstance(size, SSAValue) or size[0] not in self.texts else size
                    found = text(self.peek(array).within(Rank.ATOM), f".shape[{axis}]", is_numpy=False)
                    sizes.append((found, factor))
        return self.rendered(form, sizes)

    def rendered(self, form: Values, sizes: Sequence[tuple[NumpyText, int]] = ()) -> NumpyText:
        """The text of a form plus sizes."""
        return sum_of([*sizes, *((self.peek(value), factor) for value, factor in form.terms.items())], form.constant)

    def is_size(self, end: NumpyText, array: SSAValue, axis: int) -> bool:
        size = types.shape(array.type)[axis]
        if size >= 0:
            return end.literal == size
        found = self.peek(array)
        return end.parts in (text(found, f".shape[{axis}]").parts, called("len", found).parts)

    # --- blocks -------------------------------------------------------------------------------------------------

    def _block(self, block: Block) -> None:
        for op in block.ops:
            visit = self.visits.get(type(op))
            if visit is not None:
                visit(self, op)
            elif isinstance(op, NdOp):
                self._op(op)
            else:
                place = types.from_location(op.location)
                raise TargetError(f"{op.name} cannot be written in NumPy", place)

    def inside(self, block: Block, end: Callable[[], None]) -> list[Statement]:
        """The statements of a nested block, followed by those that `end` adds."""
        outer, self.statements = self.statements, []
        self._block(block)
        end()
        assert not self.pending
        inner, self.statements = self.statements, outer
        return inner

    def take(self, op: Operation, index: int, is_exact: bool = False) -> NumpyText:
        """The expression for a variable, or for the caller, that takes over an operand's memory.

        is_exact: a number has to be a NumPy number.
        """
        value = op.operands[index]
        found = self.pending.pop(value, None)
        given = self.texts[value] if found is None else self._kept(value, found)
        if not is_tensor(value):
            return typed(given, value.type) if is_exact or is_exact_type(value.type) else given
        return copied(given) if (op, index) in self.moves.copied and not given.is_new else given

    # --- ops ----------------------------------------------------------------------------------------------------

    def _op(self, op: NdOp) -> None:
        if only_computes(type(op)) and not any(result.first_use for result in op.results):
            return
        if len(op.results) == 1 and op.results[0] in self.counting.forms:
            value = op.results[0]
            if value not in self.texts:
                self.texts[value] = self.rendered(self.counting.forms[value])
            return
        self._settle_operands(op)
        self.op, self._given = op, {}
        if op.memory.overwrites is not None:
            self._update(op, op.memory.overwrites)
        elif len(op.results) == 1 and only_computes(type(op)):
            self._expression(op)
        else:
            self._effect(op)
        self._given = {}

    def _settle_operands(self, op: NdOp) -> None:
        """Give names to operands that are needed more than once, or are too long."""
        if isinstance(op.contents() if len(op.results) == 1 else None, SSAValue) and not self._is_folded(
            op, op.results[0]
        ):
            for operand in op.operands:
                if operand in self.pending:
                    self._spill(operand)
        for index in op.numpy_repeats():
            if (value := op.operands[index]) in self.pending and not self.pending[value].text.is_simple:
                self._spill(value)
        waiting = [value for value in dict.fromkeys(op.operands) if value in self.pending]
        while sum(_length(self.pending[value].text) for value in waiting) > self.width:
            longest = max(waiting, key=lambda value: _length(self.pending[value].text))
            waiting.remove(longest)
            if _length(self.pending[longest].text) > 12:
                self._spill(longest)

    def _asked(self, op: NdOp) -> NumpyText:
        """The text of an op; its operands no longer wait."""
        try:
            made = op.numpy_source(self)
        except NotImplementedError as error:
            raise TargetError(str(error), types.from_location(op.location)) from None
        for operand in op.operands:
            self.pending.pop(operand, None)
        return made

    def _update(self, op: NdOp, place: int) -> None:
        array, result = op.operands[place], op.results[0]
        is_copied = (op, place) in self.moves.copied
        start: NumpyText | None = None
        if is_copied or array in self.pending or self.texts[array].parts != (self.variable(array),):
            found = self.pending.pop(array, None)
            start = self.texts[array] if found is None else self._kept(array, found)
            start = copied(start) if is_copied and not start.is_new else start
            self._given = {place: NumpyText((result,), is_new=False)}
        before = len(self.statements)
        self._asked(op)
        lines = self.statements[before:]
        del self.statements[before:]
        if start is None:
            self.flush(memory_of(array))
            self.objects[result] = self.variable(array)
        else:
            self.statements.append(Assign((result,), start, types.from_location(op.location)))
        self.statements += lines
        self.texts[result] = self.in_variable(result)

    def _expression(self, op: NdOp) -> None:
        (value,) = op.results
        place = viewed_operand(type(op))
        seen = None if place is None else self.pending.get(op.operands[place])
        if self._is_counted(op, value):
            return
        waits = any(operand in self.pending for operand in op.operands)
        made = self._asked(op)
        if is_tensor(value) and not types.shape(value.type) and not is_view(value) and op.contents() is None:
            made = replace(called("np.array", made), lax=made)
        if not waits and self._is_free(op, made):
            self.texts[value] = made
            return
        is_foreign = place is None or (
            seen is not None and (seen.is_foreign or op.operands[place] in self.moves.copied_views)
        )
        is_foreign = is_foreign and not made.is_new and is_tensor(value)
        self.pending[value] = _Pending(made, op, is_foreign)
        if not self._is_folded(op, value):
            self._spill(value)

    def _is_counted(self, op: NdOp, value: SSAValue) -> bool:
        """Whether a number is a variable plus a constant. Without a name, it is written like that wherever it is
        used."""
        if value.type != types.I64 or value.name_hint is not None or self.may_overflow(value):
            return False
        sum_ = op.integer(*map(self.counting.interval, op.operands)).sum
        if sum_ is None or any(operand in self.pending for operand in op.operands):
            return False
        form = sum_.put(lambda place: self.form(op.operands[place]))
        if len(form.terms) != 1 or {*form.terms.values()} != {1}:
            return False
        self.counting.forms[value] = form
        self.texts[value] = self.rendered(form)
        return True

    def _is_free(self, op: NdOp, made: NumpyText) -> bool:
        """Whether an expression is repeated wherever it is used: numbers, and new arrays filled with one number."""
        if made.literal is not None:
            return True
        if isinstance(op.contents(), SSAValue):
            return all(self._is_short_lived(use.operation, use.index, op) for use in op.results[0].uses)
        return False

    def _is_short_lived(self, user: Operation, index: int, op: NdOp) -> bool:
        """Whether a use of a filled array either creates a new one, or reads only its number."""
        if any(use.operation is user and use.index == index and takes(use) for use in op.results[0].uses):
            return True
        return isinstance(user, NdOp) and (user.is_rounded() or user.parent is op.parent)

    def _is_folded(self, op: NdOp, value: SSAValue) -> bool:
        """Whether an expression can wait for its only use."""
        uses = list(value.uses)
        if len(uses) != 1:
            return False
        user, index = uses[0].operation, uses[0].index
        if user.parent is not op.parent:
            return False
        if isinstance(user, NdOp):
            return user.memory.overwrites != index
        return not isinstance(user, func.CallOp)

    def _effect(self, op: NdOp) -> None:
        """An op that may fail, has its own memory, or several results."""
        location = types.from_location(op.location)
        made = self._asked(op)
        if len(op.results) == 1:
            self.assign(op.results[0], made, location, effect_of(op) is Effect.ORDERED)
        elif op.results:
            self.statements.append(Assign(tuple(op.results), made, location))
            for result in op.results:
                self.texts[result] = self.in_variable(result)

    def is_small(self, value: SSAValue) -> bool:
        """Whether a number may be a Python number: a float, or an integer that is known to fit."""
        return value.type != types.I64 or self.counting.is_bounded(value)


Visits = Mapping[type[Operation], Callable[[FunctionWriter, Any], None]]
_SHORT = {"absolute": "abs"}


def is_exact_type(type: Attribute) -> bool:
    """Whether Python numbers must not replace numbers of a type, because their arithmetic differs."""
    return types.element_type(type) not in (types.F64, types.I64, types.I1)


def copied(found: NumpyText) -> NumpyText:
    return text(found.within(Rank.ATOM), ".copy()")


def _length(found: NumpyText) -> int:
    return sum(len(part) if isinstance(part, str) else len(part.name_hint or "ab") for part in found.parts)


def _read_by(found: _Pending) -> list[SSAValue]:
    return [value for value in values_in(found.text) if is_tensor(value)]


def python_name(name: str) -> str:
    """A function's name as an identifier."""
    made = "".join(letter if letter.isalnum() else "_" for letter in name)
    return f"{made}_" if iskeyword(made) else made  # a lambda is called `lambda`
