"""The family of ops that a loop of NumPy's LAPACK computes, on stacks of matrices of f64."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, SSAValue

from mlirad.contract.gufunc_loops import core_labels, label_order
from mlirad.contract.native_functions import gufunc
from mlirad.dialect.core import types
from mlirad.dialect.core.derivative import total
from mlirad.dialect.core.expr import Expr, sum_of
from mlirad.dialect.core.native import Length, NativeCalls, NativeFunction, PartAddress
from mlirad.dialect.core.op import Given, PureOp
from mlirad.dialect.core.registry import Properties
from mlirad.dialect.core.upstream import empty, size_of_axis
from mlirad.dialect.linear_algebra.matrix_algebra import as_array
from mlirad.dialect.ops.movement import broadcast_like, repeated
from mlirad.errors import DTypeError, ShapeError
from mlirad.library.linalg.loops import LOOPS, Loop

WORK = 64
"""The cost for each element of a matrix."""
_I32 = types.from_dtype(np.dtype(np.int32))
_SMALLER = "p"
"""The label of the smaller one of m and n."""


class MatricesOp(PureOp):
    """An op on stacks of matrices, which computes each part of its results of that part of its operands."""

    @classmethod
    def needs_sizes(cls) -> bool:
        """Whether the sizes of its matrices must be known while compiling."""
        return True

    @property
    def outer_rank(self) -> int:
        return len(types.shape(self.operands[0].type)) - 2

    def batched(self, operands: Sequence[Expr], stacked: Sequence[bool], lanes: int | Expr) -> Sequence[Expr] | None:
        all_ = [x if has_lanes else repeated(x, lanes) for x, has_lanes in zip(operands, stacked, strict=True)]
        return self.rebuild(*all_)

    def paths(self, given: Given, outs: Sequence[Expr], operands: Sequence[Expr]) -> Given:
        outer = range(self.outer_rank)
        found: Expr | None = None
        for count in given:
            if count is not None:
                found = total(found, as_array(sum_of(count, range(len(outer), len(count.shape)))))
        if found is None:
            return [None for _ in outs]
        return [broadcast_like(found, outer, out) if types.is_float(out.type) else None for out in outs]


class LoopOp(MatricesOp):
    """An op that is a loop of `LOOPS`, under the name LOOP; see there.

    Its operands have the core axes that the loop's signature says, behind axes that are alike. Where the loop may fail,
    the last result is an i64 for each part: 1 where it has failed, whose other results are then nan. Nothing else
    happens then: who wants an exception checks it. A label is a size; of `p`, the smaller one of m and n.
    """

    LOOP: ClassVar[str]

    @classmethod
    def loop(cls) -> Loop:
        return LOOPS[cls.LOOP]

    @classmethod
    def needs_sizes(cls) -> bool:
        return any(_SMALLER in own for own in cls.result_labels())

    @classmethod
    def result_labels(cls) -> tuple[tuple[str, ...], ...]:
        """The core axes of all results: of the changed operand, the loop's own, and what says whether it failed."""
        loop = cls.loop()
        operands, results = core_labels(loop.signature)
        return (*operands[: loop.is_in_place], *results, *((),) * loop.fails)

    @classmethod
    def infer(
        cls, operands: Sequence[Attribute], properties: Properties, result_type: Attribute | None = None
    ) -> list[Attribute]:
        loop = cls.loop()
        is_complex = cls.takes_complex and types.element_type(operands[0]) == types.C128
        number = types.C128 if is_complex else types.F64
        sizes: dict[str, int] = {}
        outer: list[tuple[int, ...]] = []
        for own, type in zip(core_labels(loop.signature)[0], operands, strict=True):
            shape = types.shape(type)
            if not isinstance(type, TensorType) or len(shape) < len(own):
                raise ShapeError(f"{cls.name}: {type} has not the axes ({', '.join(own)}) of {loop.signature}")
            if types.element_type(type) != number:
                raise DTypeError(f"{cls.name}: {type} is not of {number}")
            rank = len(shape) - len(own)
            outer.append(shape[:rank])
            for label, size in zip(own, shape[rank:], strict=True):
                if sizes.setdefault(label, size) != size:
                    raise ShapeError(
                        f"{cls.name}: sizes of {label} in {loop.signature} differ: {sizes[label]} and {size}"
                    )
        if len(set(outer)) != 1:
            raise ShapeError(f"{cls.name}: the stacks {' and '.join(map(str, outer))} differ")
        if cls.needs_sizes():
            if min(sizes["m"], sizes["n"]) < 0:
                raise ShapeError(f"{cls.name}: the sizes of the matrix {operands[0]} must be known while compiling")
            sizes[_SMALLER] = min(sizes["m"], sizes["n"])
        letters = loop.types[: loop.is_in_place] + loop.types[len(operands) :]
        elements = [_I32 if letter == "i" else number for letter in letters] + [types.I64] * loop.fails
        shapes = [(*outer[0], *(sizes[label] for label in own)) for own in cls.result_labels()]
        return [types.tensor(shape, element) for shape, element in zip(shapes, elements, strict=True)]

    def size_source(self, axis: int, result: int = 0) -> tuple[SSAValue, int]:
        rank = self.outer_rank
        if axis < rank:
            return self.operands[0], axis
        return self._size_of(self.result_labels()[result][axis - rank])

    def _size_of(self, label: str) -> tuple[SSAValue, int]:
        labels = core_labels(self.loop().signature)[0]
        found = next(number for number, own in enumerate(labels) if label in own)
        return self.operands[found], self.outer_rank + labels[found].index(label)

    def loops(self) -> NativeCalls:
        loop, rank = self.loop(), self.outer_rank
        operands, _results = core_labels(loop.signature)
        count = len(operands)
        everything = (*operands, *self.result_labels())
        inputs = [count if loop.is_in_place else 0, *range(1, count)]
        outputs = range(count + loop.is_in_place, len(everything))
        arrays = [PartAddress(number) for number in (*inputs, *outputs)]
        lengths = [
            next(Length(number, rank + own.index(label)) for number, own in enumerate(everything) if label in own)
            for label in label_order(loop.signature)
        ]
        letters = loop.types.replace("d", "D") if types.is_complex(self.operands[0].type) else loop.types
        function = NativeFunction(gufunc("linalg", loop.gufunc, letters), gufunc=loop.signature)
        ranks = tuple(map(len, everything))
        return NativeCalls(function, (*arrays, *lengths), self._memory, work=WORK, ranks=ranks)

    def _memory(self, *operands: SSAValue) -> Sequence[SSAValue]:
        """The changed operand, and memory of the other results."""
        made: list[SSAValue] = [operands[0]] if self.loop().is_in_place else []
        places = dict(zip(self.operands, operands, strict=True))
        for number, result in enumerate(self.results[len(made) :], len(made)):
            shape = types.shape(result.type)
            sources = [self.size_source(axis, number) for axis, size in enumerate(shape) if size < 0]
            made.append(empty(result.type, [size_of_axis(places[value], axis) for value, axis in sources]))
        return made
