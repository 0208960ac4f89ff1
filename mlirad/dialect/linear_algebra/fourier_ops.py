"""Discrete Fourier transforms of the last axis, by NumPy's pocketfft. The matrix of a transform is symmetric, so its
adjoint is also a transform."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import operand_def, result_def

from mlirad.contract.native_functions import gufunc
from mlirad.dialect.arrays.slices import insert_slice
from mlirad.dialect.core import types
from mlirad.dialect.core.derivative import LinearOp
from mlirad.dialect.core.expr import Expr, constant, emit, full, unknown_dims
from mlirad.dialect.core.native import Length, NativeCalls, NativeFunction, PartAddress, WholeAddress
from mlirad.dialect.core.op import op
from mlirad.dialect.core.registry import Properties
from mlirad.dialect.core.upstream import empty, size_of_axis
from mlirad.dialect.functions.complex_parts import ConjOp, RealOp
from mlirad.dialect.ops.compare import cast
from mlirad.dialect.ops.movement import broadcast_like
from mlirad.errors import DTypeError, ShapeError
from mlirad.library.linalg import fourier_loops

_WORK = 40
_LETTERS = {types.F32: "f", types.F64: "d", types.C64: "F", types.C128: "D"}


def _memory_factor(count: int) -> int:
    """The memory that pocketfft allocates, as a multiple of the bytes of a line of `count` numbers: a line and its
    roots of unity. For a count with a large prime factor, there is a convolution of twice the length."""
    for factor in (2, 3, 5, 7, 11):
        while count % factor == 0:
            count //= factor
    return 2 if count < 50 else 8


class FourierOp(LinearOp):
    """The transform of x, times the number in the array `scale`."""

    x = operand_def()
    scale = operand_def()
    result = result_def()
    assembly_format = "$x `by` $scale attr-dict `:` functional-type(operands, results)"

    @staticmethod
    def takes(element: Attribute) -> bool:
        return element in (types.C64, types.C128)

    @classmethod
    def result_of(cls, size: int, element: Attribute) -> tuple[int, Attribute]:
        """The size of the result's last axis, and its element type."""
        return size, element

    @classmethod
    def needs_sizes(cls) -> bool:
        """Whether all sizes must be known at compile time; the size of the last axis always must."""
        return False

    @classmethod
    @abstractmethod
    def loop(cls, size: int) -> tuple[str, str]:
        """The gufunc for an operand with `size` numbers in the last axis, and its core signature."""

    @classmethod
    def infer(
        cls, operands: Sequence[Attribute], properties: Properties, result_type: Attribute | None = None
    ) -> list[Attribute]:
        x, scale = operands
        shape, element = types.shape(x), types.element_type(x)
        if not isinstance(x, TensorType) or not shape or shape[-1] < 1:
            message = "a Fourier transform along an axis whose size is not known at compile time"
            raise ShapeError(message, hint="give the number of points, as in np.fft.fft(x, 64)")
        if not cls.takes(element):
            raise DTypeError(f"{cls.name} is not defined on {element}")
        if scale != types.tensor((1,), types.part_type(element)):
            raise DTypeError(f"{cls.name}: the scale is {scale}")
        size, made = cls.result_of(shape[-1], element)
        if size < 1:
            raise ShapeError(f"{cls.name}: a transform of {size} numbers")
        return [types.tensor((*shape[:-1], size), made)]

    def size_source(self, axis: int, result: int = 0) -> tuple[SSAValue, int]:
        return self.x, axis

    def batched(self, operands: Sequence[Expr], stacked: Sequence[bool], lanes: int | Expr) -> Sequence[Expr] | None:
        return None if stacked[1] else [self.result_on(*operands)]

    def loops(self) -> NativeCalls:
        size = types.shape(self.x.type)[-1]
        name, signature = self.loop(size)
        own, made = (types.element_type(value.type) for value in (self.x, self.result))
        letters = _LETTERS[own] + _LETTERS[types.part_type(own)] + _LETTERS[made]
        memory = _memory_factor(max(size, types.shape(self.result.type)[-1]))
        function = NativeFunction(gufunc("fft", name, letters), gufunc=signature, memory=memory)
        last = len(types.shape(self.x.type)) - 1
        arguments = (PartAddress(0), WholeAddress(1), PartAddress(2), Length(0, last), Length(2, last))
        return NativeCalls(function, arguments, self._memory, work=_WORK)

    def _memory(self, x: SSAValue, scale: SSAValue) -> Sequence[SSAValue]:
        shape = types.shape(self.result.type)
        return [empty(self.result.type, [size_of_axis(x, axis) for axis, size in enumerate(shape) if size < 0])]


@op(fourier_loops.fft, cost=_WORK, linear=True, complex=True)
class FftOp(FourierOp):
    """The sums of x_j e**(-2 pi i j k / n)."""

    name = "nd.fft"

    @classmethod
    def loop(cls, size: int) -> tuple[str, str]:
        return "fft", "(n),()->(m)"

    def vjp(self, g: Expr, out: Expr, x: Expr, *places: Expr) -> Expr:
        return self.result_on(g, *places)


@op(fourier_loops.ifft, cost=_WORK, linear=True, complex=True)
class IfftOp(FourierOp):
    """The sums of x_j e**(2 pi i j k / n)."""

    name = "nd.ifft"

    @classmethod
    def loop(cls, size: int) -> tuple[str, str]:
        return "ifft", "(m),()->(n)"

    def vjp(self, g: Expr, out: Expr, x: Expr, *places: Expr) -> Expr:
        return self.result_on(g, *places)


@op(fourier_loops.rfft, cost=_WORK, linear=True, complex=True)
class RfftOp(FourierOp):
    """The first n // 2 + 1 numbers of `fft`, of real x."""

    name = "nd.rfft"

    @staticmethod
    def takes(element: Attribute) -> bool:
        return element in (types.F32, types.F64)

    @classmethod
    def result_of(cls, size: int, element: Attribute) -> tuple[int, Attribute]:
        return size // 2 + 1, types.C64 if element == types.F32 else types.C128

    @classmethod
    def loop(cls, size: int) -> tuple[str, str]:
        return "rfft_n_odd" if size % 2 else "rfft_n_even", "(n),()->(m)"

    def vjp(self, g: Expr, out: Expr, x: Expr, *places: Expr) -> Expr:
        """The real part of the transform of g, padded with zeros."""
        zeros = full(constant(0, g.element), x.shape, unknown_dims(x))
        padded = insert_slice(g, zeros, [constant(0, types.I64) for _ in g.shape])
        return emit(RealOp, emit(FftOp, padded, *places))


class IrfftOp(FourierOp):
    """`ifft` of a sequence of which x is the first half; the other half consists of the conjugates."""

    @classmethod
    def result_of(cls, size: int, element: Attribute) -> tuple[int, Attribute]:
        return cls.count(size), types.part_type(element)

    @classmethod
    @abstractmethod
    def count(cls, size: int) -> int:
        """The length of the full sequence, if x has `size` numbers."""

    @classmethod
    def loop(cls, size: int) -> tuple[str, str]:
        return "irfft", "(m),()->(n)"

    def vjp(self, g: Expr, out: Expr, x: Expr, *places: Expr) -> Expr:
        """The conjugate of `rfft`, doubled for each number that also represents its conjugate."""
        size, count = x.shape[-1], out.shape[-1]
        times = np.full(size, 2.0)
        times[0] = 1.0
        if count % 2 == 0:
            times[-1] = 1.0
        found = emit(ConjOp, emit(RfftOp, g, *places))
        weights = cast(constant(times, types.tensor((size,), types.part_type(x.element))), x.element)
        return found * broadcast_like(weights, [len(x.shape) - 1], x)


@op(fourier_loops.irfft_even, cost=_WORK, linear=True, complex=True)
class IrfftEvenOp(IrfftOp):
    """The inverse of `nd.rfft`, for an even size."""

    name = "nd.irfft_even"

    @classmethod
    def count(cls, size: int) -> int:
        return 2 * (size - 1)


@op(fourier_loops.irfft_odd, cost=_WORK, linear=True, complex=True)
class IrfftOddOp(IrfftOp):
    """The inverse of `nd.rfft`, for an odd size."""

    name = "nd.irfft_odd"

    @classmethod
    def count(cls, size: int) -> int:
        return 2 * size - 1
