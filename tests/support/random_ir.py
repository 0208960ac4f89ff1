"""Random programs of the tensor stage, to compare what they compute before and after a pass.

Reads: a seed. Writes: a module with a function @f of (f64, i64, tensor<4xf64>, tensor<3x4xf64>). Has: all that
a clean-up pass cares about: numbers that identities are about, dead and equal code, loops that run never, once or
often, branches, whiles, checks that fail now and then.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.dialects import func
from xdsl.dialects.builtin import FunctionType, ModuleOp
from xdsl.ir import Attribute, Block, Region

from mlirad.dialect import nd  # noqa: F401  (so that every family is defined)
from mlirad.dialect.arrays.elements import AddAtOp, ExtractOp, InsertOp
from mlirad.dialect.arrays.slices import AddSliceOp, ExtractSliceOp, InsertSliceOp
from mlirad.dialect.core import types
from mlirad.dialect.core.expr import Expr, apply, building, constant, emit, full, insert, located, sum_of, where
from mlirad.dialect.ops.check import CheckFailed, check, check_index
from mlirad.dialect.ops.compare import cast
from mlirad.dialect.ops.contraction import contract
from mlirad.dialect.ops.movement import TransposeOp, broadcast, reshape
from mlirad.dialect.ops.reduction import MaxOp
from mlirad.location import SourceLocation
from mlirad.testing.expr_functions import branch, for_loop, while_loop
from mlirad.testing.interpreter import run

V = types.tensor((4,), types.F64)
M = types.tensor((3, 4), types.F64)
TYPES: tuple[Attribute, ...] = (types.F64, types.I64, types.I1, V, M)
RESULTS = 3  # of each type
FLOATS = (0.0, -0.0, 1.0, -1.0, 2.0, 0.5, float("inf"), 3.25)
INTS = (0, 1, -1, 2, 3, 5)
BINARY: tuple[Any, ...] = (np.add, np.subtract, np.multiply, np.divide, np.maximum, np.minimum)
UNARY: tuple[Any, ...] = (np.negative, np.absolute, np.sin, np.exp, np.sign)
COMPARISONS: tuple[Any, ...] = (np.less, np.less_equal, np.equal, np.not_equal, np.greater)


def mod(x: Expr, y: int) -> Expr:
    return apply(np.mod, x, y)


class Generator:
    """Emits random ops on the values that are visible."""

    def __init__(self, seed: int):
        self.random = random.Random(seed)
        self.line = 0

    def module(self, size: int) -> ModuleOp:
        arguments = [types.F64, types.I64, V, M]
        block = Block(arg_types=arguments)
        with building(block):
            scope = [Expr(arg) for arg in block.args]
            self.ops(scope, size, 0)
            kinds = [type for type in TYPES for _ in range(RESULTS)]
            insert(func.ReturnOp(*(self.pick(scope, type).value for type in kinds)))
        function = func.FuncOp("f", FunctionType.from_lists(arguments, kinds), Region(block))
        return ModuleOp([function])

    def ops(self, scope: list[Expr], count: int, depth: int) -> None:
        for _ in range(count):
            self.line += 1
            with located(types.to_location(SourceLocation("f.py", self.line, 4, self.line, 9))):
                self.op(scope, depth)

    def op(self, scope: list[Expr], depth: int) -> None:
        kinds: list[Any] = [self.arithmetic] * 8 + [self.movement] * 3 + [self.elements] * 4 + [self.booleans] * 3
        kinds += [self.constants] * 2 + [self.checks]
        if depth < 3:
            kinds += [self.branch, self.branch, self.counted, self.counted, self.conditional]
        self.random.choice(kinds)(scope, depth)

    def pick(self, scope: Sequence[Expr], type: Attribute) -> Expr:
        """A visible value of a type, a late one more often; or a constant."""
        found = [value for value in scope if value.type == type]
        if not found or self.random.random() < 0.1:
            return self.number(type)
        return self.random.choice(found[-3:] if self.random.random() < 0.8 else found)

    def number(self, type: Attribute) -> Expr:
        if types.is_float(type):
            value: Any = self.random.choice(FLOATS)
        else:
            value = self.random.random() < 0.5 if types.is_bool(type) else self.random.choice(INTS)
        if types.is_tensor(type) and self.random.random() < 0.3:
            return full(constant(value, types.element_type(type)), types.shape(type))
        return constant(value, type)

    def constants(self, scope: list[Expr], depth: int) -> None:
        scope.append(self.number(self.random.choice(TYPES)))

    def arithmetic(self, scope: list[Expr], depth: int) -> None:
        type = self.random.choice((types.F64, types.F64, types.I64, V, M))
        x, y = self.pick(scope, type), self.pick(scope, type)
        if type == types.I64:
            function: Any = self.random.choice((np.add, np.subtract, np.multiply, np.floor_divide, np.mod, np.minimum))
        elif self.random.random() < 0.3:
            scope.append(self.random.choice(UNARY)(x))
            return
        else:
            function = self.random.choice(BINARY)
        scope.append(function(x, y))

    def booleans(self, scope: list[Expr], depth: int) -> None:
        match self.random.randrange(5):
            case 0:
                type = self.random.choice((types.F64, types.I64))
                comparison: Any = self.random.choice(COMPARISONS)
                scope.append(comparison(self.pick(scope, type), self.pick(scope, type)))
            case 1:
                x, y = self.pick(scope, types.I1), self.pick(scope, types.I1)
                scope.append(self.random.choice((x & y, x | y, ~x)))
            case 2:
                type = self.random.choice(TYPES)
                scope.append(where(self.pick(scope, types.I1), self.pick(scope, type), self.pick(scope, type)))
            case 3:
                mask = self.pick(scope, V) > self.pick(scope, V)
                scope.append(where(mask, self.pick(scope, V), self.pick(scope, V)))
            case _:
                x = self.pick(scope, self.random.choice((types.I1, types.I64, types.F64)))
                wide = cast(x, types.F64)
                scope.append(wide)
                if x.element != types.F64 and x.element != types.I64:
                    scope.append(cast(wide, x.element))

    def movement(self, scope: list[Expr], depth: int) -> None:
        v, m = self.pick(scope, V), self.pick(scope, M)
        match self.random.randrange(8):
            case 0:
                scope.append(broadcast(v, (1,), (3, 4)))
            case 1:
                scope.append(emit(TransposeOp, emit(TransposeOp, m, permutation=(1, 0)) * 1.0, permutation=(1, 0)))
            case 2:
                scope.append(reshape(reshape(m, types.tensor((12,), types.F64)), M))
            case 3:
                scope.append(sum_of(m, (0,)))
            case 4:
                scope.append(emit(MaxOp, v, axes=(0,)))
            case 5:
                transposed = emit(TransposeOp, m, permutation=(1, 0))
                scope.append(sum_of(contract("ji,j->i", transposed, v)))
            case 6:
                scope.append(broadcast(self.pick(scope, types.F64), (), (4,)))
            case _:
                scope.append(emit(TransposeOp, emit(TransposeOp, m, permutation=(1, 0)), permutation=(1, 0)))

    def index(self, scope: Sequence[Expr], size: int) -> Expr:
        """A checked index. Mostly one that is in range."""
        index = self.pick(scope, types.I64)
        if self.random.random() < 0.9:
            index = mod(index, size)
        return check_index(index, constant(size, types.I64), 0)

    def elements(self, scope: list[Expr], depth: int) -> None:
        v, x = self.pick(scope, V), self.pick(scope, types.F64)
        i = self.index(scope, 4)
        zero = constant(0, types.I64)
        whole: dict[str, Any] = {"sizes": (4,), "strides": (1,)}
        match self.random.randrange(9):
            case 0:
                scope.append(emit(ExtractOp, v, i))
            case 1:
                scope.append(emit(InsertOp, x, v, i))
            case 2:
                changed = emit(InsertOp, x, v, i)
                scope.append(emit(ExtractOp, changed, i))
                scope.append(emit(InsertOp, x + 1.0, changed, i))
            case 3:
                scope.append(emit(AddAtOp, x, v, i))
            case 4:
                scope.append(emit(InsertOp, emit(ExtractOp, v, i), v, i))
            case 5:
                scope.append(emit(InsertSliceOp, self.pick(scope, V), v, zero, **whole))
            case 6:
                scope.append(emit(AddSliceOp, self.pick(scope, V), v, zero, **whole))
            case 7:
                row, m = self.index(scope, 3), self.pick(scope, M)
                place: dict[str, Any] = {"sizes": (1, 4), "strides": (1, 1)}
                update = self.random.choice((InsertSliceOp, AddSliceOp))
                changed = emit(update, reshape(v, types.tensor((1, 4), types.F64)), m, row, zero, **place)
                scope.append(changed)
                scope.append(reshape(emit(ExtractSliceOp, changed, row, zero, **place), V))
            case _:
                scope.append(emit(ExtractOp, self.pick(scope, M), self.index(scope, 3), i))

    def checks(self, scope: list[Expr], depth: int) -> None:
        i = self.pick(scope, types.I64)
        check((i < 1000) | self.pick(scope, types.I1), "ValueError", "{0} is too large", i)

    def carried(self, scope: Sequence[Expr]) -> list[Expr]:
        return [self.pick(scope, self.random.choice(TYPES)) for _ in range(self.random.randrange(4))]

    def branch(self, scope: list[Expr], depth: int) -> None:
        kinds = [self.random.choice(TYPES) for _ in range(self.random.randrange(4))]

        def side() -> list[Expr]:
            inner = list(scope)
            self.ops(inner, self.random.randrange(4), depth + 1)
            return [self.pick(inner, type) for type in kinds]

        condition = self.pick(scope, types.I1)
        if self.random.random() < 0.5:
            condition = self.pick(scope, types.F64) < self.pick(scope, types.F64)
        scope.extend(branch(condition, side, side))

    def counted(self, scope: list[Expr], depth: int) -> None:
        counters = [constant(0, types.I64)] if self.random.random() < 0.4 else []
        trips: Expr | int = self.random.choice((0, 1, 2, 3))
        if self.random.random() < 0.4:
            trips = mod(self.pick(scope, types.I64), 4)

        def body(*args: Expr) -> list[Expr]:
            inner = [*scope, *args]
            self.ops(inner, self.random.randrange(5), depth + 1)
            carried = [self.next(inner, arg) for arg in args[1 : len(args) - len(counters)]]
            return [*carried, *(args[-1] + 2 for _ in counters)]

        scope.extend(for_loop(trips, [*self.carried(scope), *counters], body))

    def next(self, scope: Sequence[Expr], arg: Expr) -> Expr:
        return arg if self.random.random() < 0.25 else self.pick(scope, arg.type)

    def conditional(self, scope: list[Expr], depth: int) -> None:
        """A while that ends after at most three trips."""

        def condition(*args: Expr) -> Expr:
            go = args[0] < 3
            if self.random.random() < 0.6:
                go = go & self.pick([*scope, *args], types.I1)
            return constant(False, types.I1) if self.random.random() < 0.1 else go

        def body(*args: Expr) -> list[Expr]:
            inner = [*scope, *args]
            self.ops(inner, self.random.randrange(4), depth + 1)
            return [args[0] + 1, *(self.next(inner, arg) for arg in args[1:])]

        scope.extend(while_loop([constant(0, types.I64), *self.carried(scope)], condition, body))


def module(seed: int, size: int = 14) -> ModuleOp:
    """The random program number `seed`."""
    return Generator(seed).module(size)


def arguments(seed: int) -> list[Any]:
    numbers = np.random.default_rng(seed)
    special = numbers.choice([0.0, -0.0, 1.0, -2.5, np.inf, 0.75], size=(3, 4))
    return [np.float64(special[0, 0]), np.int64(numbers.integers(-3, 6)), special[1].copy(), special]


def outcome(module: ModuleOp, inputs: Sequence[Any], name: str = "f") -> tuple[Any, ...]:
    """The program's result, to the bit (nan is nan); or the check that failed."""
    with np.errstate(all="ignore"):
        try:
            results = run(module, name, *inputs)
        except CheckFailed as failed:
            return (failed.error, failed.message)
    return tuple(bits(np.asarray(result)) for result in results)


def bits(value: np.ndarray) -> tuple[Any, ...]:
    if value.dtype.kind == "f":
        value = np.where(np.isnan(value), np.nan, value)
    return (value.dtype.str, value.shape, value.tobytes())
