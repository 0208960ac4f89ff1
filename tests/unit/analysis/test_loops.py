"""Trip counts against Python's range, and carries against the semantics of loops."""

from __future__ import annotations

import random

import pytest
from xdsl.dialects import arith, scf, test
from xdsl.dialects.builtin import i1, i64
from xdsl.ir import Block, Region, SSAValue

from mlirad.analysis.loops import Carries, Loop, carry_number, carry_of, counts_from_zero, loops_around, trip_count
from mlirad.dialect.core.expr import building, insert

LOWEST, HIGHEST = -(2**63), 2**63 - 1


def _number(value: int) -> SSAValue:
    return insert(arith.ConstantOp.from_int_and_width(value, 64)).result


def _for(lower: SSAValue, upper: SSAValue, step: SSAValue, inits: tuple[SSAValue, ...] = ()) -> scf.ForOp:
    body = Block(arg_types=[i64, *(init.type for init in inits)])
    body.add_op(scf.YieldOp(*reversed(body.args[1:])))
    return insert(scf.ForOp(lower, upper, step, inits, Region(body)))


def test_trip_counts_are_those_of_range_up_to_the_limits_of_int64() -> None:
    draw = random.Random(5)
    near = [LOWEST, LOWEST + 1, -7, -1, 0, 1, 2, 9, HIGHEST - 1, HIGHEST]
    for _ in range(500):
        lower, upper = (draw.choice([draw.choice(near), draw.randint(LOWEST, HIGHEST)]) for _ in range(2))
        step = draw.choice([1, 2, 3, 7, 2**62, HIGHEST, draw.randint(1, HIGHEST)])
        with building(Block()):
            loop = _for(_number(lower), _number(upper), _number(step))
        expected = range(lower, upper, step)
        # len() of a range must fit in a Py_ssize_t; the index of its last number need not
        count = 0 if not expected else (expected[-1] - lower) // step + 1
        assert trip_count(loop) == count
        assert counts_from_zero(loop) == (lower == 0 and step == 1)


def test_a_trip_count_that_only_the_run_knows_is_none() -> None:
    block = Block(arg_types=[i64])
    with building(block):
        n, zero, one = block.args[0], _number(0), _number(1)
        assert trip_count(_for(zero, n, one)) is None
        assert trip_count(_for(zero, one, n)) is None
        assert trip_count(_for(n, n, one)) == 0
        assert trip_count(_for(zero, one, zero)) is None  # upstream leaves a step of 0 undefined


def _while(inits: tuple[SSAValue, ...]) -> scf.WhileOp:
    kinds = [init.type for init in inits]
    before, after = Block(arg_types=kinds), Block(arg_types=kinds)
    with building(before):
        insert(scf.ConditionOp(insert(test.TestOp(result_types=[i1])).results[0], *before.args))
    after.add_op(scf.YieldOp(*reversed(after.args)))
    return insert(scf.WhileOp(inits, kinds, Region(before), Region(after)))


@pytest.mark.parametrize("kind", ["for", "while"])
def test_carries_stay_in_step_when_they_come_and_go(kind: str) -> None:
    block = Block()
    with building(block):
        a, b, c, zero = (_number(k) for k in (1, 2, 3, 0))
        op = _for(zero, c, zero, (a, b)) if kind == "for" else _while((a, b))
        loop = Loop(op)
        assert [carry.init for carry in loop.carries] == [a, b]
        assert [carry.yielded for carry in loop.carries] == list(reversed(loop.args))
        (arg,), (result,) = loop.add([c])
        end = loop.body.last_op
        assert end is not None
        end.operands = [*end.operands, arg]
        assert loop.carry(2) == loop.carries[2] and loop.carry(2).result is result
    for args in loop.region_args:
        assert [carry_number(each) for each in args] == [0, 1, 2]
    assert carry_of(loop.args[1]) == (loop, loop.carries[1])
    assert carry_of(a) is None and (kind == "while" or carry_of(loop.body.args[0]) is None)
    end.operands = [loop.args[0], loop.args[1], loop.args[2]]
    Carries(op).keep(lambda number: number != 1)
    assert [carry.init for carry in loop.carries] == [a, c]
    assert [carry.yielded for carry in loop.carries] == list(loop.args)
    assert [each.index for each in op.results] == [0, 1]
    assert all(len(args) == 2 for args in loop.region_args)
    op.verify()


def test_the_loops_around_a_block_come_from_the_outermost_in() -> None:
    outer = Block()
    with building(outer):
        one = _number(1)
        first = _for(one, one, one)
    end = first.body.block.last_op
    assert end is not None
    inner = scf.ForOp(one, one, one, (), Region(Block([scf.YieldOp()], arg_types=[i64])))
    first.body.block.insert_op_before(inner, end)
    assert [loop.op for loop in loops_around(inner.body.block)] == [first, inner]
    assert [loop.op for loop in loops_around(inner.body.block, first.body.block)] == [inner]
