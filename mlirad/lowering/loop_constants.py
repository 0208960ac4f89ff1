"""Constants of loops: one op for each number, at the top of a function.

Reads: numbers. Writes: arith constants. Leaves: constants that are there already.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from xdsl.dialects import arith, func
from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    LocationAttr,
    ModuleOp,
    VectorType,
)
from xdsl.ir import Attribute, Block, Operation, SSAValue

INDEX = IndexType()


@lru_cache(maxsize=1024)
def _index_attr(value: int) -> IntegerAttr:
    return IntegerAttr(value, INDEX)


@lru_cache(maxsize=256)
def lanes_attr(values: tuple[int, ...], type: VectorType) -> DenseIntOrFPElementsAttr:
    return _dense(type, values)


def _dense(type: VectorType, values: Sequence[float]) -> DenseIntOrFPElementsAttr:
    """The lanes' values; a single value fills all lanes."""
    # xDSL's overloads require the class of the elements.
    return DenseIntOrFPElementsAttr.from_list(type, values)  # pyright: ignore[reportArgumentType, reportCallIssue]


def _digits(value: float) -> str | int:
    """A key that distinguishes 0.0 from -0.0, which are equal as numbers."""
    return value.hex() if isinstance(value, float) else int(value)


@lru_cache(maxsize=4096)
def _number_attr(key: str | int, type: Attribute) -> Attribute:
    """The value of a scalar constant, or of a vector filled with it; a dense attribute costs as much as several ops."""
    value = float.fromhex(key) if isinstance(key, str) else key
    if isinstance(type, VectorType):
        return _dense(type, [value])
    if isinstance(type, IntegerType):
        return IntegerAttr(int(value), type)
    if isinstance(type, IndexType):
        return _index_attr(int(value))
    # Only float types remain; xDSL's overloads require one of them.
    return FloatAttr(value, type)  # pyright: ignore[reportArgumentType, reportCallIssue]


class Constants:
    """The constants of a function: each is created once, at its beginning."""

    def __init__(self, top: Block):
        self._top = top
        self._last: Operation | None = None
        self._made: dict[Attribute, SSAValue] = {}
        self._indices: dict[int, SSAValue] = {}
        self._numbers: dict[tuple[str | int, Attribute], SSAValue] = {}

    def of(self, value: Attribute, type: Attribute, location: LocationAttr) -> SSAValue:
        known = self._made.get(value)
        if known is None:
            known = self._made[value] = self._make(value, type, location)
        return known

    def index(self, value: int, location: LocationAttr) -> SSAValue:
        known = self._indices.get(value)
        if known is None:
            known = self._indices[value] = self._make(_index_attr(value), INDEX, location)
        return known

    def number(self, value: float, type: Attribute, location: LocationAttr) -> SSAValue:
        key = (_digits(value), type)
        known = self._numbers.get(key)
        if known is None:
            known = self._numbers[key] = self._make(_number_attr(*key), type, location)
        return known

    def _make(self, value: Attribute, type: Attribute, location: LocationAttr) -> SSAValue:
        op = arith.ConstantOp.create(result_types=[type], properties={"value": value}, location=location)
        first = self._top.first_op
        if self._last is not None:
            self._top.insert_op_after(op, self._last)
        elif first is not None:
            self._top.insert_op_before(op, first)
        else:
            self._top.add_op(op)
        self._last = op
        return op.results[0]


def top_of(op: Operation) -> Block:
    """The first block of the function around an op."""
    block = op.parent
    assert block is not None
    while (around := block.parent_op()) is not None and not isinstance(around, func.FuncOp | ModuleOp):
        block = around.parent
        assert block is not None
    return block if block.parent is None else block.parent.blocks[0]
