"""Forms and bounds of traced ints, against the numbers themselves."""

from __future__ import annotations

import random
from collections.abc import Hashable, Mapping

import numpy as np
import pytest
from integer_programs import IntegerProgram
from xdsl.ir import Block, SSAValue

import mlirad
from mlirad.dialect.core import types
from mlirad.dialect.core.expr import Expr, building
from mlirad.dialect.core.intervals import LinearForm
from mlirad.frontend.values import affine
from mlirad.frontend.values.known_facts import answers, scope, trial


def _number(form: affine.Form, numbers: Mapping[SSAValue, int]) -> int:
    """The value of a form, computed in 64 bits."""
    total = form.put(lambda atom: LinearForm(_of_atom(atom, numbers))).constant
    return (total + 2**63) % 2**64 - 2**63


def _of_atom(atom: Hashable, numbers: Mapping[SSAValue, int]) -> int:
    if isinstance(atom, SSAValue):
        return numbers[atom]
    assert isinstance(atom, affine.Computed)
    operands = [np.int64(_number(form, numbers)) for form in atom.forms]
    with np.errstate(all="ignore"):
        return int(atom.op.reference(*operands))


@pytest.mark.parametrize("seed", range(12))
def test_forms_and_proofs_hold(seed: int) -> None:
    proved = 0
    for part in range(4):
        program = IntegerProgram(4 * seed + part)
        numbers = {value: number for value, number in program.numbers.items() if value.type == types.I64}
        with scope():
            sizes = [value for value, number in numbers.items() if 0 <= number <= 2**60]
            for value in sizes[:2]:
                affine.remember_size(Expr(value), program.draw.choice([None, numbers[value] + 3]))
            for value, number in numbers.items():
                form, x = affine.form_of(Expr(value)), Expr(value)
                assert _number(form, numbers) == number
                bound = affine.upper_bound(x)
                assert bound is None or number <= bound
                assert not affine.is_small(x) or -affine.SMALL <= number <= affine.SMALL
                same = affine.simplified(x)
                assert number == (same if isinstance(same, int) else numbers[same.value])
                for other in list(numbers)[:8]:
                    difference = affine.difference(x, Expr(other))
                    assert difference is None or (number - numbers[other] - difference) % 2**64 == 0
                    if affine.is_at_least(x, Expr(other)):
                        proved += value is not other
                        assert number >= numbers[other]
    assert proved


@pytest.mark.parametrize("seed", range(10))
def test_the_bounds_of_nested_loops_hold(seed: int) -> None:
    """Iterations of nested loops: the inner lengths are forms of the outer counters, clipped at 0 or divided."""
    draw = random.Random(seed)
    with scope(), building(block := Block(arg_types=[types.I64] * 3)):
        n, i, j = (Expr(arg) for arg in block.args)
        most = draw.randint(1, 12)
        affine.remember_size(n, most)
        start, divisor = draw.randint(-2, 3), draw.randint(1, 3)
        outer = affine.floor_divide(n, divisor)
        affine.remember_iteration(i, outer)
        inner = affine.maximum(affine.subtract(affine.add(n, start), affine.multiply(i, draw.choice([1, divisor]))), 0)
        affine.remember_iteration(j, inner)
        asked = [affine.add(affine.multiply(i, divisor), k) for k in (-1, 0, 1)]
        asked += [affine.add(affine.add(i, j), k) for k in (-2, 0, 2)] + [affine.subtract(n, i), affine.subtract(n, j)]
        forms = [(x, affine.form_of(x)) for x in asked]
        for size in range(most + 1):
            for trip in range(size // divisor):
                numbers = {n.value: size, i.value: trip}
                for second in range(_number(affine.form_of(inner), numbers)):
                    numbers[j.value] = second
                    for x, form in forms:
                        number, bound = _number(form, numbers), affine.upper_bound(x)
                        assert bound is None or number <= bound
                        for y in (0, 1, n):
                            known = numbers[y.value] if isinstance(y, Expr) else y
                            assert not affine.is_at_least(x, y) or number >= known
                            assert not affine.is_at_least(y, x) or known >= number


def test_answers_follow_the_facts() -> None:
    """An answer computed before a fact was known, or inside a scope, is not given afterwards."""
    block = Block(arg_types=[types.I64])
    n = Expr(block.args[0])
    with building(block), scope():
        doubled = affine.add(n, n)
        assert affine.upper_bound(doubled) is None
        with scope():
            affine.remember_size(n, 5)
            assert affine.upper_bound(doubled) == 10
        assert affine.upper_bound(doubled) is None
        with trial():
            affine.remember_size(n, 7)
        assert affine.upper_bound(doubled) == 14


def test_answers_follow_the_facts_about_equal_values() -> None:
    """The quotient is bounded before the fact; the fact is about another op that computes the same quotient."""
    block = Block(arg_types=[types.I64, types.I64])
    n, i = map(Expr, block.args)
    with building(block), scope():
        half, same = affine.floor_divide(n, 2), affine.floor_divide(n, 2)
        assert affine.upper_bound(half) == 2**62 - 1
        with scope():
            affine.remember_size(same, 7)
            assert affine.upper_bound(same) == 7
        assert affine.upper_bound(i) is None
        affine.remember_iteration(i, 5)
        assert affine.upper_bound(i) == 4


def test_no_answer_outlives_a_compilation() -> None:
    def windows(x, n):
        total = 0.0
        for i in range(n):
            total += np.sum(x[i : 2 * i + 1])
        return total

    mlirad.jit(windows)(np.ones(9), 4)
    assert not answers()
