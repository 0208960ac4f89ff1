"""The family of ops computed by NumPy's LAPACK loops, on stacks of matrices of f64 or complex<f64>."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, SSAValue

from mlirad.contract.gufunc_loops import core_labels, label_order
from mlirad.contract.native_functions import gufunc
from mlirad.dialect.core import types
from mlirad.dialect.core.answers import Cotangent, Given
from mlirad.dialect.core.derivative import total
from mlirad.dialect.core.expr import Expr, current_location, sum_of
from mlirad.dialect.core.native import Length, NativeCalls, NativeFunction, PartAddress
from mlirad.dialect.core.op import PureOp
from mlirad.dialect.core.registry import Properties
from mlirad.dialect.core.upstream import empty, size_of_axis
from mlirad.dialect.linear_algebra.matrix_algebra import as_array, conjugate, real
from mlirad.dialect.ops.compare import cast
from mlirad.dialect.ops.movement import broadcast_like, repeated
from mlirad.errors import DifferentiationError, DTypeError, ShapeError
from mlirad.library.linalg.loops import LOOPS, Loop

WORK = 64
"""The cost for each element of a matrix."""
_ELEMENTS = {"d": types.F64, "D": types.C128, "i": types.from_dtype(np.dtype(np.int32))}
_SMALLER = "p"
"""The label of min(m, n)."""


def no_derivative(what: str, hint: str) -> DifferentiationError:
    return DifferentiationError(what, types.from_location(current_location()), hint)


class MatricesOp(PureOp):
    """An op on stacks of matrices. It computes each part of its results from the same part of its operands."""

    @classmethod
    def needs_sizes(cls) -> bool:
        """Whether the sizes of its matrices must be known at compile time."""
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
                found = total(found, as_array(real(sum_of(count, range(len(outer), len(count.shape))))))
        if found is None:
            return [None for _ in outs]
        return [
            cast(broadcast_like(found, outer, out), out.element) if types.is_inexact(out.type) else None for out in outs
        ]


class AdjointOp(MatricesOp):
    """An op with the reverse rule from the literature, for the inner product Re(sum(conj(g) * d)).

    The cotangents of mlirad are those of Re(sum(g * d)), JAX's convention, so cotangents are conjugated before and
    after.
    """

    @abstractmethod
    def adjoints(self, gs: Given, outs: Sequence[Expr], operands: Sequence[Expr]) -> Given:
        """The result of `cotangents`, for that inner product."""

    def cotangents(self, gs: Given, outs: Sequence[Expr], operands: Sequence[Expr]) -> Sequence[Cotangent]:
        found = self.adjoints([None if g is None else conjugate(g) for g in gs], outs, operands)
        return [None if each is None else conjugate(each) for each in found]


class LoopOp(MatricesOp):
    """An op computed by the loop named LOOP in `LOOPS`; see there.

    Its operands end with the core axes of the loop's signature; all preceding axes are equal. If the loop may fail, the
    last result is an i64 for each part: 1 if it failed; the other results of this part are then nan. Nothing else
    happens: whoever wants an exception checks this result. A label is a size; `p` is min(m, n).
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
        """The core axes of all results: the changed operand, the loop's own results, and the failure flag."""
        loop = cls.loop()
        operands, results = core_labels(loop.signature)
        return (*operands[: loop.is_in_place], *results, *((),) * loop.fails)

    @classmethod
    def infer(
        cls, operands: Sequence[Attribute], properties: Properties, result_type: Attribute | None = None
    ) -> list[Attribute]:
        loop = cls.loop()
        letters = loop.letters(types.element_type(operands[0]) == types.C128)
        sizes: dict[str, int] = {}
        outer: list[tuple[int, ...]] = []
        for own, letter, type in zip(core_labels(loop.signature)[0], letters, operands, strict=False):
            shape = types.shape(type)
            if not isinstance(type, TensorType) or len(shape) < len(own):
                raise ShapeError(f"{cls.name}: {type} does not have the axes ({', '.join(own)}) of {loop.signature}")
            if types.element_type(type) != _ELEMENTS[letter]:
                raise DTypeError(f"{cls.name}: {type} is not of {_ELEMENTS[letter]}")
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
                raise ShapeError(f"{cls.name}: the sizes of the matrix {operands[0]} must be known at compile time")
            sizes[_SMALLER] = min(sizes["m"], sizes["n"])
        of_results = letters[: loop.is_in_place] + letters[len(operands) :]
        elements = [_ELEMENTS[letter] for letter in of_results] + [types.I64] * loop.fails
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
        letters = loop.letters(types.is_complex(self.operands[0].type))
        function = NativeFunction(gufunc("linalg", loop.gufunc, letters), gufunc=loop.signature, memory=loop.memory)
        ranks = tuple(map(len, everything))
        return NativeCalls(function, (*arrays, *lengths), self._memory, work=WORK, ranks=ranks)

    def _memory(self, *operands: SSAValue) -> Sequence[SSAValue]:
        """The changed operand, and memory for the other results."""
        made: list[SSAValue] = [operands[0]] if self.loop().is_in_place else []
        places = dict(zip(self.operands, operands, strict=True))
        for number, result in enumerate(self.results[len(made) :], len(made)):
            shape = types.shape(result.type)
            sources = [self.size_source(axis, number) for axis, size in enumerate(shape) if size < 0]
            made.append(empty(result.type, [size_of_axis(places[value], axis) for value, axis in sources]))
        return made
