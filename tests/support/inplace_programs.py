"""Random programs that overwrite arrays in nests of loops, built from Expr code.

Reads: a random number generator. Writes: a function into a module. Leaves: programs whose indices are in range.

Two arrays of floats and one of ints are changed by elements, slices, index arrays and whole, swapped, and read, also
where an older version is kept; in for, while and if, in any nesting.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

import numpy as np
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp

from mlirad.dialect.arrays.elements import AddAtOp
from mlirad.dialect.arrays.gather import GatherOp, ScatterAddOp, ScatterOp
from mlirad.dialect.arrays.slices import ExtractSliceOp, InsertSliceOp
from mlirad.dialect.core import types
from mlirad.dialect.core.expr import Expr, constant, emit, sum_of
from mlirad.testing.expr_functions import branch, for_loop, function, get, put, while_loop

SIZE, WIDTH = 8, 3
ARRAY, INDICES = types.tensor([SIZE], types.F64), types.tensor([SIZE], types.I64)


@dataclass
class Scope:
    """The values so far: arrays a and b, the indices p, a number, and the visible counters.

    older: versions of the arrays that were kept.
    """

    a: Expr
    b: Expr
    p: Expr
    s: Expr
    counters: tuple[Expr, ...] = ()
    older: list[Expr] = field(default_factory=list)

    @property
    def carried(self) -> list[Expr]:
        return [self.a, self.b, self.p, self.s]

    def inside(self, carried: Sequence[Expr], *counters: Expr) -> Scope:
        a, b, p, s = carried
        return Scope(a, b, p, s, (*self.counters, *counters), [*self.older])

    def become(self, carried: Sequence[Expr]) -> None:
        self.a, self.b, self.p, self.s = carried


@dataclass
class Writer:
    """Emits random statements."""

    random: Random
    depth: int = 3

    def block(self, scope: Scope, depth: int) -> None:
        for _ in range(self.random.randint(1, 3)):
            simple: list[Callable[[Scope], None]] = [self.element] * 5 + [
                self.slice,
                self.places,
                self.exchange,
                self.number,
            ]
            simple += [self.shuffle, self.keep, self.whole, self.add]
            nested: list[Callable[[Scope, int], None]] = [self.repeat] * 3 + [self.choose, self.counted]
            if depth and self.random.random() < 0.6:
                self.random.choice(nested)(scope, depth - 1)
            else:
                self.random.choice(simple)(scope)

    # --- statements ---

    def element(self, scope: Scope) -> None:
        value, index = self.value(scope), self.index(scope)
        if self.random.random() < 0.7:
            scope.a = put(value, scope.a, index)
        else:
            scope.b = put(value, scope.b, index)

    def add(self, scope: Scope) -> None:
        scope.a = emit(AddAtOp, self.value(scope), scope.a, self.index(scope))

    def slice(self, scope: Scope) -> None:
        starts = [constant(self.random.randint(0, SIZE - WIDTH), types.I64) for _ in range(3)]
        read: dict[str, Any] = {"sizes": [WIDTH], "strides": [1]}
        x = emit(ExtractSliceOp, self.array(scope), starts[0], **read)
        y = emit(ExtractSliceOp, self.array(scope), starts[1], **read)
        scope.a = emit(InsertSliceOp, np.sin(x * y + 0.3), scope.a, starts[2], **read)

    def places(self, scope: Scope) -> None:
        """Three places of an index array, which may be one place several times: read, and written or added to."""
        there, here = self.indices(scope), self.indices(scope)
        read = {"axes": [0], "at": 0}
        x, y = emit(GatherOp, self.array(scope), there, **read), emit(GatherOp, self.array(scope), here, **read)
        kind = self.random.choice([ScatterOp, ScatterOp, ScatterAddOp])
        scope.a = emit(kind, np.sin(x * y + 0.3), scope.a, self.random.choice([there, here]), **read)

    def indices(self, scope: Scope) -> Expr:
        if self.random.random() < 0.5:
            numbers = np.array([self.random.randrange(SIZE) for _ in range(WIDTH)])
            return constant(numbers, types.tensor([WIDTH], types.I64))
        start = constant(self.random.randint(0, SIZE - WIDTH), types.I64)
        return emit(ExtractSliceOp, scope.p, start, sizes=[WIDTH], strides=[1])

    def exchange(self, scope: Scope) -> None:
        scope.a, scope.b = scope.b, scope.a

    def number(self, scope: Scope) -> None:
        scope.s = self.value(scope)

    def shuffle(self, scope: Scope) -> None:
        i, j = self.index(scope), self.index(scope)
        x, y = get(scope.p, i), get(scope.p, j)
        scope.p = put(x, put(y, scope.p, i), j)

    def keep(self, scope: Scope) -> None:
        scope.older.append(self.random.choice([scope.a, scope.b]))

    def whole(self, scope: Scope) -> None:
        if self.random.random() < 0.5:
            scope.s = sum_of(scope.a * self.array(scope)) * 0.1
        else:
            scope.b = np.sin(scope.a + scope.b)

    def repeat(self, scope: Scope, depth: int) -> None:
        counts: list[Expr | int] = [0, 1, 2, 3, 3, *(scope.counters[-1:])]

        def body(i: Expr, *carried: Expr) -> list[Expr]:
            inner = scope.inside(carried, i)
            self.block(inner, depth)
            return inner.carried

        scope.become(for_loop(self.random.choice(counts), scope.carried, body))

    def counted(self, scope: Scope, depth: int) -> None:
        limit = self.random.randint(1, 3)

        def body(i: Expr, *carried: Expr) -> list[Expr]:
            inner = scope.inside(carried, i)
            self.block(inner, depth)
            return [i + 1, *inner.carried]

        def condition(i: Expr, *carried: Expr) -> Expr:
            return (i < limit) & (get(carried[0], 1) < 0.9)

        scope.become(while_loop([constant(0, types.I64), *scope.carried], condition, body)[1:])

    def choose(self, scope: Scope, depth: int) -> None:
        condition = self.read(scope) > self.random.choice([-0.2, 0.1, 0.35])

        def side(is_empty: bool) -> list[Expr]:
            inner = scope.inside(scope.carried)
            if not is_empty:
                self.block(inner, depth)
            return inner.carried

        scope.become(branch(condition, lambda: side(False), lambda: side(self.random.random() < 0.5)))

    # --- values ---

    def array(self, scope: Scope) -> Expr:
        return self.random.choice([scope.a, scope.a, scope.b, *scope.older[-2:]])

    def read(self, scope: Scope) -> Expr:
        return get(self.array(scope), self.index(scope))

    def index(self, scope: Scope) -> Expr:
        place = constant(self.random.randint(2, 3), types.I64)
        for counter in self.random.sample(scope.counters, min(len(scope.counters), 2)):
            place = (
                place + counter
                if self.random.random() < 0.6
                else place - counter
                if self.random.random() < 0.5
                else place
            )
        place = apply_bounds(place)
        return get(scope.p, place) if self.random.random() < 0.2 else place

    def value(self, scope: Scope) -> Expr:
        x, y = self.read(scope), self.read(scope)
        z = self.random.choice([scope.s, x, y])
        made = self.random.choice(
            [
                lambda: x * y * 0.7,
                lambda: np.sin(x * z + y),
                lambda: x - y * z * 0.5,
                lambda: x * 0.5 + 0.2,
                lambda: np.sqrt(x * x + y * y + 0.1) * 0.6,
            ]
        )()
        return np.sin(made)


def apply_bounds(place: Expr) -> Expr:
    """A place of the arrays, whatever the counters are."""
    # NumPy's stubs know one operand of another class, not two calls in one another.
    return np.minimum(np.maximum(place, 0), SIZE - 1)  # pyright: ignore[reportArgumentType, reportCallIssue]


def random_program(seed: int) -> tuple[Callable[[ModuleOp], func.FuncOp], tuple[np.ndarray, ...]]:
    """Defines @f(a, b, p) -> a number, and gives arguments for it."""

    def define(module: ModuleOp) -> func.FuncOp:
        def body(a: Expr, b: Expr, p: Expr) -> Expr:
            writer = Writer(Random(seed))
            scope = Scope(a, b, p, constant(0.3, types.F64))
            writer.repeat(scope, 2)
            writer.block(scope, 2)
            weights = constant(np.linspace(0.5, 1.5, SIZE), ARRAY)
            return sum_of(scope.a * weights) + sum_of(scope.b * scope.b * weights) + scope.s

        return function(module, "f", [ARRAY, ARRAY, INDICES], body)

    numbers = np.random.default_rng(seed)
    return define, (numbers.uniform(-1, 1, SIZE), numbers.uniform(-1, 1, SIZE), numbers.permutation(SIZE))
