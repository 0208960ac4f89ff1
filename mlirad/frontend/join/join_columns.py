"""The SSA values that a join carries: one column for each value that may differ between its two sides.

Reads: values of two blocks. Writes: conversions and constants at the ends of those blocks. Leaves: operands and
placeholders (arguments of a scratch block) for the op that joins them, an scf.if or a loop.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field

from xdsl.dialects.scf import IfOp, YieldOp
from xdsl.ir import Attribute, Block, SSAValue

from mlirad.analysis.constants import is_constant
from mlirad.dialect.core import types
from mlirad.dialect.core.expr import Expr, building, constant, full, insert
from mlirad.dialect.ops.check import check
from mlirad.dialect.ops.compare import cast
from mlirad.frontend.values.nep50 import LARGEST_EXACT
from mlirad.xdsl_support.traversal import blocks_around, defining_block

# A value of one side: an expression of that side, a number, or None if any value will do.
Operand = Expr | int | float | bool | None
ColumnKey = Hashable

_NO_FLOAT = "the integer {0} joins a float here, and no float is equal to it"


@dataclass
class Column:
    """The two values under one key. `filler`: a number in range, for a side where any value will do."""

    type: Attribute
    left: Operand
    right: Operand
    placeholder: SSAValue
    filler: int


def is_inside(value: SSAValue, block: Block) -> bool:
    """Whether a value is defined in a block, or in a region nested in it."""
    return any(each is block for each in blocks_around(defining_block(value)))


@dataclass
class Columns:
    """left, right: the blocks at whose ends the two sides' values are available.

    is_loop: left is the code before a loop (the loop can use its values too), right is the loop's body. open: columns
    with an unused side; shared: the merged values, by the values of an if's two sides.
    """

    left: Block
    right: Block
    is_loop: bool = False
    scratch: Block = field(default_factory=Block)
    columns: dict[ColumnKey, Column] = field(default_factory=dict)
    open: dict[Attribute, list[Column]] = field(default_factory=dict)
    shared: dict[tuple[SSAValue, SSAValue] | None, Expr] = field(default_factory=dict)

    def request(
        self, key: ColumnKey, type: Attribute, left: Operand, right: Operand, filler: int = 0, share: bool = True
    ) -> Expr:
        """The value that is `left` if control comes from the left side, and `right` if it comes from the right.

        filler: the value for a side where any will do; share: whether it may be arbitrary there.
        """
        if isinstance(left, Expr) and isinstance(right, Expr) and left.value is right.value and left.type == type:
            return left
        if right is None and isinstance(left, Expr) and (self.is_loop or not is_inside(left.value, self.left)):
            return left
        if left is None and isinstance(right, Expr) and not is_inside(right.value, self.right):
            return right
        left, right = self._converted(left, type, self.left), self._converted(right, type, self.right)
        both = (left.value, right.value) if isinstance(left, Expr) and isinstance(right, Expr) else None
        if both in self.shared:
            return self.shared[both]
        if share and not self.is_loop and (shared := self._complement(type, left, right)) is not None:
            return shared
        placeholder = self.scratch.insert_arg(type, len(self.scratch.args))
        # The branches of an if are merged once for each exit, and one place may occur in several merges.
        key = key if self.is_loop else (len(self.columns), key)
        self.columns[key] = column = Column(type, left, right, placeholder, filler)
        if share and (left is None or right is None):
            self.open.setdefault(type, []).append(column)
        if both is not None and not self.is_loop:
            self.shared[both] = Expr(placeholder)
        return Expr(placeholder)

    def _converted(self, operand: Operand, type: Attribute, block: Block) -> Operand:
        if isinstance(operand, Expr) and operand.type != type:
            with building(block):
                if operand.type == types.I64 and types.is_float(type):
                    fits = (operand <= LARGEST_EXACT) & (operand >= -LARGEST_EXACT)
                    check(fits, "OverflowError", _NO_FLOAT, operand)
                return cast(operand, types.element_type(type))
        return operand

    def _complement(self, type: Attribute, left: Operand, right: Operand) -> Expr | None:
        """Reuse a column of this type with one unused side: one that the other side does not need here."""
        for column in self.open.get(type, ()):
            if left is None and column.right is None:
                column.right = right
                self.open[type].remove(column)
                return Expr(column.placeholder)
            if right is None and column.left is None:
                column.left = left
                self.open[type].remove(column)
                return Expr(column.placeholder)
        return None

    def is_column(self, x: Expr) -> bool:
        """Whether a value is a column of this join."""
        return x.value.owner is self.scratch

    def on_left(self, emit: Callable[[], Expr]) -> Expr:
        with building(self.left):
            return emit()

    def on_right(self, emit: Callable[[], Expr]) -> Expr:
        with building(self.right):
            return emit()

    def value_of(self, column: Column, operand: Operand, block: Block) -> SSAValue:
        """An operand as an SSA value at the end of its side's block."""
        if isinstance(operand, Expr):
            return operand.value
        with building(block):
            number = column.filler if operand is None else operand
            shape = types.shape(column.type)
            if -1 in shape:
                none = constant(0, types.I64)
                value = constant(number, types.element_type(column.type))
                return full(value, shape, [none] * shape.count(-1)).value
            return constant(number, column.type).value


def hint_of(column: Column) -> str | None:
    """The name of a column's values in dumps: the name on one side, unless that value is a constant."""
    values = (operand.value for operand in (column.left, column.right) if isinstance(operand, Expr))
    named = (value.name_hint for value in values if not is_constant(value))
    return next((hint for hint in named if hint is not None), None)


def emit_if(condition: Expr, columns: Columns) -> Callable[[SSAValue], SSAValue]:
    """Emit the scf.if with the two sides as branches. Returns the renaming from placeholders to its results."""
    ordered = list(columns.columns.values())
    for block, operands in (
        (columns.left, [columns.value_of(c, c.left, columns.left) for c in ordered]),
        (columns.right, [columns.value_of(c, c.right, columns.right) for c in ordered]),
    ):
        with building(block):
            insert(YieldOp(*operands))
    if not ordered and all(block.first_op is block.last_op for block in (columns.left, columns.right)):
        return lambda value: value
    op = insert(IfOp(condition.value, [column.type for column in ordered], [columns.left], [columns.right]))
    for column, result in zip(ordered, op.results, strict=True):
        result.name_hint = hint_of(column)
    results = {column.placeholder: result for column, result in zip(ordered, op.results, strict=True)}
    return lambda value: results.get(value, value)


def discard(block: Block) -> None:
    """Forget a block that is not needed: its ops no longer use anything."""
    for op in block.walk():
        op.drop_all_references()
