"""Random integer arithmetic in IR, with the number that each value is, as 64 bits compute it."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
from xdsl.ir import Block, Operation, SSAValue

from mlirad.analysis.integers import interval_of_type
from mlirad.dialect.core import types
from mlirad.dialect.core.expr import Expr, building, constant, emit
from mlirad.dialect.core.intervals import HIGHEST, LOWEST, Interval
from mlirad.dialect.core.op import NdOp
from mlirad.dialect.ops.arithmetic import AddOp, MulOp, NegOp, SubOp
from mlirad.dialect.ops.check import CheckFailed, CheckIndexOp
from mlirad.dialect.ops.choice import MaximumOp, MinimumOp, SelectOp
from mlirad.dialect.ops.compare import CastOp, LessOp
from mlirad.dialect.ops.division import FloorDivOp, ModOp
from mlirad.dialect.ops.wrapped_index import WrapIndexOp

NEAR = [LOWEST, LOWEST + 1, -(2**32), -9, -3, -1, 0, 1, 2, 3, 10, 2**31, 2**62, HIGHEST - 1, HIGHEST]
TWO = (AddOp, SubOp, MulOp, MinimumOp, MaximumOp, FloorDivOp, ModOp, WrapIndexOp)


def _cast(x: Expr, _: Expr) -> Expr:
    return emit(CastOp, emit(CastOp, x, result_type=types.from_dtype(np.dtype("int16"))), result_type=types.I64)


STEPS: list[Callable[[Expr, Expr], Expr]] = [
    *(lambda x, y, kind=kind: emit(kind, x, y) for kind in TWO),
    lambda x, _: emit(NegOp, x),
    lambda x, y: emit(SelectOp, emit(LessOp, x, y), x, y),
    lambda x, y: emit(CheckIndexOp, x, y, axis=0),
    _cast,
]


class IntegerProgram:
    """Random arithmetic on numbers that are known here: `numbers` has what each value is."""

    def __init__(self, seed: int, length: int = 12):
        self.draw = random.Random(seed)
        self.block = Block(arg_types=[types.I64] * 3)
        self.numbers: dict[SSAValue, int] = {arg: self.number() for arg in self.block.args}
        with building(self.block):
            for _ in range(4):
                self.evaluate(constant(self.number(), types.I64))
            for _ in range(length):
                x, y = self.draw.choices([value for value in self.numbers if value.type == types.I64], k=2)
                self.evaluate(self.draw.choice(STEPS)(Expr(x), Expr(y)))

    def number(self) -> int:
        return self.draw.choice([self.draw.choice(NEAR), self.draw.randint(-20, 20)])

    def evaluate(self, made: Expr) -> None:
        last = made.value.owner
        assert isinstance(last, Operation)
        operands = [operand.owner for operand in last.operands if operand not in self.numbers]
        for owner in operands:
            assert isinstance(owner, NdOp)
            self.evaluate(Expr(owner.results[0]))
        assert isinstance(last, NdOp)
        kinds = [types.to_dtype(operand.type) for operand in last.operands]
        arrays = [kind.type(self.numbers[each]) for kind, each in zip(kinds, last.operands, strict=True)]
        try:
            with np.errstate(all="ignore"):
                self.numbers[last.results[0]] = int(last.reference(*arrays))
        except CheckFailed:
            last.detach()

    def around(self, value: SSAValue) -> Interval:
        """An interval that has the number."""
        number, whole = self.numbers[value], interval_of_type(value.type)
        ends = self.draw.choice([(0, 0), (0, 5), (3, 0), (2**33, 2**34), (2**64, 2**64)])
        return Interval(max(number - ends[0], whole.low), min(number + ends[1], whole.high))
