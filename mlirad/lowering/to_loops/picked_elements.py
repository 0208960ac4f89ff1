"""Builds the loops of a reduction along rows that takes one element of each row: it reads only this element.

Reads: nests whose other elements are the neutral one (`lowering/picks.py`), whose columns are counted.
Writes: loops over the rows. Leaves: the linalg op, which the caller erases.

    before                                                    after
    for i, j:                                                 for i:
        s[i] = max(s[i], x[i, j] if j == label[i] else -inf)      j = min(label[i], n - 1)
                                                                  s[i] = max(s[i], x[i, j] if j == label[i] else -inf)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

import numpy as np
from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, IntegerAttr, i1, i64
from xdsl.ir import SSAValue
from xdsl.traits import SymbolTable

from mlirad.lowering.loop_body import Body, body_of
from mlirad.lowering.loop_builder import Index, LoopBuilder, vector_of
from mlirad.lowering.loop_constants import INDEX
from mlirad.lowering.picks import Pick, pick_of
from mlirad.lowering.to_loops.loop_nest import Nest, Operand, loops_around
from mlirad.lowering.to_loops.loop_schedule import Schedule, order_of
from mlirad.lowering.to_loops.nest_points import PointEmitter, Values

_BELOW = IntegerAttr(6, i64)  # unsigned: no negative number is below

_ONE = Schedule(())
_Result = TypeVar("_Result")


def picked_of(nest: Nest, body: Body) -> Pick | None:
    """What a nest picks, if the columns are known to be counted."""
    inputs, outputs = ([each.dimensions for each in side] for side in (nest.inputs, nest.outputs))
    pick = pick_of(body, nest.live, inputs, outputs)
    if pick is None or not isinstance(nest.sizes[pick.column], int) or not nest.inputs[pick.index.index].is_memref:
        return None
    is_counted = pick.column not in nest.starts if pick.counted is None else _counts(nest.inputs[pick.counted.index])
    return pick if is_counted else None


def _counts(operand: Operand) -> bool:
    """Whether an operand is a constant 0, 1, 2, ..."""
    (subscript,), owner = operand.subscripts, operand.value.owner
    if subscript.atom is None or not isinstance(owner, memref.GetGlobalOp):
        return False
    found = SymbolTable.lookup_symbol(owner, owner.name_)
    if not isinstance(found, memref.GlobalOp) or not isinstance(found.initial_value, DenseIntOrFPElementsAttr):
        return False
    numbers = np.array(found.initial_value.get_values())
    return bool((numbers == np.arange(len(numbers))).all())


class PickedElements(PointEmitter):
    """Builds one nest, for as many rows at a time as a vector has lanes. columns: those that are read of the open rows;
    some column, where a row has not the chosen one."""

    def __init__(self, nest: Nest, pick: Pick, vector_bytes: int, builder: LoopBuilder):
        body = body_of(pick.body(len(nest.inputs)))
        super().__init__(replace(nest, body=body.block), _ONE, body, builder)
        self.given = nest
        self.pick = pick
        self.lanes = vector_bytes // body.bytes
        self.columns: list[Index] = []

    def emit(self) -> None:
        rows = [d for d in order_of(self.given) if d != self.pick.column]
        if not rows or not self._is_along(rows[-1]):
            return loops_around(self.builder, self.given.sizes, rows, self.subscripts, lambda: self._rows(_ONE))
        loops_around(self.builder, self.given.sizes, rows[:-1], self.subscripts, lambda: self._along(rows[-1]))

    def _is_along(self, row: int) -> bool:
        """Whether neighbouring rows are neighbours in memory; the elements that are picked need not be."""
        others = (each for each in self.given.operands if self.pick.column not in each.dimensions)
        return all(row not in each.dimensions or each.is_unit(row) for each in others)

    def _along(self, row: int) -> None:
        size = self.given.sizes[row]
        main = self.builder.round_down(size, self.lanes)
        several = Schedule((), vector=row, lanes=self.lanes)
        for start, end, schedule in ((0, main, several), (main, size, _ONE)):

            def body(first: Index, _: Values, schedule: Schedule = schedule) -> Values:
                self.subscripts[row] = first
                self._rows(schedule)
                return ()

            self.builder.loop(start, end, schedule.lanes, (), body)

    def _rows(self, schedule: Schedule) -> None:
        self.schedule, builder = schedule, self.builder
        size, index = self.given.sizes[self.pick.column], self.given.inputs[self.pick.index.index]
        assert isinstance(size, int)
        chosen = self._read(index, None)
        mask = i1 if schedule.vector is None else vector_of(i1, schedule.lanes)
        limit = builder.number(size, chosen.type)
        has_column = builder.op(arith.CmpiOp, [chosen, limit], mask, predicate=_BELOW)
        self.columns = self._of_rows(lambda: self._nearest(index, size - 1))
        self.nest = replace(self.nest, inputs=(*self.given.inputs, Operand(has_column)))
        self._point((), None)

    def _nearest(self, index: Operand, last: int) -> SSAValue:
        column = self.builder.op(arith.IndexCastOp, [self.builder.load(index.value, self._place(index))], INDEX)
        return self.builder.op(arith.MinUIOp, [column, self.builder.value(last)], INDEX)

    def _of_rows(self, read: Callable[[], _Result]) -> list[_Result]:
        """Something of each of the open rows."""
        row, found = self.schedule.vector, list[_Result]()
        if row is None:
            return [read()]
        first = self.subscripts[row]
        for lane in range(self.schedule.lanes):
            self.subscripts[row] = self.builder.add(first, lane)
            found.append(read())
        self.subscripts[row] = first
        return found

    def _input(self, i: int, mask: SSAValue | None) -> SSAValue:
        operand = self.nest.inputs[i]
        if self.pick.column not in operand.dimensions or not self.body.block.args[i].uses.get_length():
            return super()._input(i, mask)
        columns = iter(self.columns)
        elements = self._of_rows(lambda: self._element(operand, next(columns)))
        if self.schedule.vector is None:
            return elements[0]
        value = self.builder.number(0, vector_of(operand.element, self.schedule.lanes))
        for lane, element in enumerate(elements):
            value = self.builder.put(element, value, lane)
        return value

    def _element(self, operand: Operand, column: Index) -> SSAValue:
        self.subscripts[self.pick.column] = column
        return self.builder.load(operand.value, self._place(operand))
