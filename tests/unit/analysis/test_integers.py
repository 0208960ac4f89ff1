"""Facts about integers hold for every value, computed exactly as with 64 bits, including wrap-around."""

from __future__ import annotations

import random
from itertools import product

import numpy as np
import pytest
from integer_programs import IntegerProgram
from xdsl.dialects import scf
from xdsl.ir import Block, Operation, Region

from mlirad.analysis.bounds import interval_of
from mlirad.analysis.integers import increment, integer_of, interval_of_type, linear_form
from mlirad.analysis.ranges import Ranges
from mlirad.analysis.trip_forms import Form, Opaque, Term, Trip, is_above, linear
from mlirad.dialect.core import types
from mlirad.dialect.core.expr import Expr, building, constant, insert, where
from mlirad.dialect.core.intervals import Interval, LinearForm, Sum, masked


def _contains(interval: Interval, number: int) -> bool:
    return interval.low <= number <= interval.high


@pytest.mark.parametrize("seed", range(25))
def test_what_ops_answer_holds(seed: int) -> None:
    asked = 0
    for part in range(5):
        program = IntegerProgram(5 * seed + part)
        for value, number in program.numbers.items():
            op = value.owner
            if not isinstance(op, Operation) or value.type != types.I64:
                continue
            operands = [program.numbers[operand] for operand in op.operands]
            exactly = lambda sum_, operands=operands: sum_.put(lambda place: Sum(operands[place])).constant
            answer = integer_of(op, program.around)
            if answer.sum is not None:
                assert (exactly(answer.sum) - number) % 2**64 == 0, (op, operands)
            assert _contains(answer.interval.wrapped, number), (op, operands)
            assert all(number <= exactly(bound) for bound in answer.above), (op, operands)
            assert all(number >= exactly(bound) for bound in answer.below), (op, operands)
            assert not answer.choices or number in [operands[place] for place in answer.choices]
            asked += answer.sum is not None or answer.interval != Interval()
    assert asked > 10


@pytest.mark.parametrize("seed", range(25))
def test_forms_and_intervals_hold(seed: int) -> None:
    for part in range(5):
        program = IntegerProgram(1000 + 5 * seed + part)
        numbers = program.numbers
        ranges = Ranges()
        for value, number in numbers.items():
            if value.type != types.I64:
                continue
            assert _contains(interval_of(value), number)
            form = linear_form(value).put(lambda atom: LinearForm(numbers[atom]))
            assert (form.constant - number) % 2**64 == 0
            of_trips = linear(value).put(
                lambda term: LinearForm(numbers[term.value] if isinstance(term, Opaque) else 0)
            )
            assert (of_trips.constant - number) % 2**64 == 0
            if isinstance(op := value.owner, Operation):
                ranges.learn(value, integer_of(op, ranges.interval), op.operands)
            exact = ranges.sum_of(value).put(lambda atom: LinearForm(numbers[atom]))
            assert exact.constant == number, "a sum that is noted is the value, not only modulo 2**64"
            assert _contains(ranges.interval(value), number)
            for other in list(numbers)[:5]:
                if ranges.is_below(value, other):
                    assert number < numbers[other]
                step = increment(value, other)
                assert step is None or (numbers[other] + step - number) % 2**64 == 0


def test_bounds_of_masks_hold() -> None:
    """All pairs of short intervals around zero, as loops round lengths down with them."""
    spans = [Interval(low, high) for low in range(-9, 10, 3) for high in range(low, 10, 4)]
    for x, y in product(spans, spans):
        answer = masked(x, y)
        for pair in product(range(x.low, x.high + 1), range(y.low, y.high + 1)):
            number = pair[0] & pair[1]
            assert _contains(answer.interval, number)
            exactly = lambda sum_, pair=pair: sum_.put(lambda place: Sum(pair[place])).constant
            assert all(number <= exactly(bound) for bound in answer.above)
            assert all(number >= exactly(bound) for bound in answer.below)
    assert masked(Interval(-2047, 2048), Interval(-8, -8)).interval == Interval(-2054, 2048)


@pytest.mark.parametrize("steps", [60, 3000])
def test_forms_of_long_chains_are_found_quickly(steps: int) -> None:
    """Each value has several readers: a walk that follows each of them takes a time that doubles with each step."""
    block = Block(arg_types=[types.I64])
    with building(block):
        value: Expr = Expr(block.args[0])
        for step in range(steps):
            value = where(value < step, value + 2, value)
    form = linear(value.value)
    assert form.atom is not None


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"])
def test_the_interval_of_a_type_has_its_ends(dtype: str) -> None:
    kind = np.dtype(dtype)
    ends = (0, 1) if dtype == "bool" else (int(np.iinfo(kind).min), int(np.iinfo(kind).max))
    assert interval_of_type(types.from_dtype(kind)) == Interval(*ends)


def test_equal_forms_are_equal_in_whatever_order_they_were_made() -> None:
    x, y = LinearForm.of("x"), LinearForm.of("y")
    one, other = x.scaled(2) + y.shifted(3), y + x + x.shifted(3)
    assert one == other and hash(one) == hash(other) and (one - other).number == 0
    assert (x - y).without("y").atom == "x" and (x + y).atom is None and x.scaled(0).number == 0
    assert one.interval({"x": Interval(-1, 2), "y": Interval(0, 1)}.__getitem__) == Interval(1, 8)


@pytest.mark.parametrize("seed", range(10))
def test_indices_that_are_proved_apart_are_apart_modulo_2_to_the_64(seed: int) -> None:
    """Forms in two counters with factors up to the limits: if one is proved above the other, all values differ."""
    draw, proved = random.Random(seed), 0
    for _ in range(100):
        counts = draw.choices([1, 2, 3, 9, 2**16, 2**40], k=2)
        with building(Block()):
            loops = [_loop(count) for count in counts]
        factors = [draw.choice([0, 1, 1, -1, 2, 3, 2**24, 2**62, 2**63]) for _ in loops]
        terms: dict[Term, int] = {Trip(loop): factor for loop, factor in zip(loops, factors, strict=True) if factor}
        form: Form = LinearForm(draw.choice([-1, 0, 1, 5, 2**40, 2**62, 2**64 - 3, 2**64]), terms)
        if not is_above(form, LinearForm(), {}):
            continue
        proved += 1
        for trips in product(*({0, 1, count // 2, count - 1} for count in counts)):
            total = form.constant + sum(factor * trip for factor, trip in zip(factors, trips, strict=True))
            if all(trip < count for trip, count in zip(trips, counts, strict=True)):
                assert total % 2**64 != 0, (form.constant, factors, trips)
    assert proved > 5


def _loop(count: int) -> scf.ForOp:
    zero, end, one = (constant(number, types.I64).value for number in (0, count, 1))
    return insert(scf.ForOp(zero, end, one, (), Region(Block([scf.YieldOp()], arg_types=[types.I64]))))
