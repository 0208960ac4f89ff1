"""Every op of the nd dialect, five ways, from one line of samples each.

It prints and parses; native code gives NumPy's numbers; its vjp agrees with finite differences, and with its jvp
(`<v, vjp u> == <jvp v, u>`); wrong types are refused.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import comb
from typing import Any

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects import builtin, func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute
from xdsl.parser import Parser

import mlirad
from mlirad.autodiff.requests.batch import all_at_once
from mlirad.dialect import nd
from mlirad.dialect.ad.ad import Ad
from mlirad.dialect.ad.derivative_ops import JetOp, JvpOp, PathsOp, PushedOp, VjpOp
from mlirad.dialect.arrays import checked_indices as CI
from mlirad.dialect.arrays import elements as EL
from mlirad.dialect.arrays import gather as G
from mlirad.dialect.arrays import last_values as LV
from mlirad.dialect.arrays import places as P
from mlirad.dialect.arrays import running_extreme as RE
from mlirad.dialect.arrays import slices as SL
from mlirad.dialect.arrays import sort as S
from mlirad.dialect.arrays import sum_in_order as SO
from mlirad.dialect.arrays.product import ProdOp
from mlirad.dialect.core import attributes, types
from mlirad.dialect.core.expr import building, emit_all, insert
from mlirad.dialect.core.op import NdOp, op_classes
from mlirad.dialect.effects.draw import DrawnOp, DrawOp
from mlirad.dialect.effects.print_op import PrintOp
from mlirad.dialect.functions import (
    bessel,
    complex_parts,
    error_functions,
    exponentials,
    float_parts,
    gammas,
    native_elements,
    rounding,
    trigonometry,
)
from mlirad.dialect.layers.windows import OverlapOp, WindowsOp
from mlirad.dialect.linear_algebra import (
    cholesky_ops,
    determinant_ops,
    eigen_ops,
    least_squares_ops,
    qr_ops,
    singular_value_ops,
    solving_ops,
    symmetric_ops,
)
from mlirad.dialect.linear_algebra import fourier_ops as FO
from mlirad.dialect.ops import (
    arithmetic,
    basic_functions,
    check,
    choice,
    compare,
    constant,
    contraction,
    division,
    movement,
    overflow,
    reduction,
)
from mlirad.dialect.ops import bits as Bits
from mlirad.dialect.ops import wrapped_index as WI
from mlirad.errors import CompileError, DifferentiationError
from mlirad.pipeline import differentiate
from mlirad.targets.finding import find_target
from mlirad.testing.interpreter import run
from mlirad.tree import words_of

F32, F64 = np.float32, np.float64
C64, C128 = np.complex64, np.complex128
I8, I64, U8, U64, BOOL = np.int8, np.int64, np.uint8, np.uint64, np.bool_
ARITHMETIC = (F32, F64, I8, I64, U8, U64)
WORDS = words_of(np.random.default_rng(0))


@dataclass(frozen=True)
class Sample:
    """An op with operands. `given`: an array or number takes each dtype of `dtypes`; `exact` keeps its own."""

    op: type[NdOp]
    operands: tuple[Any, ...]
    dtypes: tuple[type, ...] = (F32, F64)
    exact: tuple[int, ...] = ()
    attributes: dict[str, Any] = field(default_factory=dict)
    to: Any = None  # the shape, or the dtype, of a result that the operands leave open
    differs: float = 4.0  # how many units in the last place native code may be away from NumPy
    smooth: bool = True
    unknown: tuple[int, ...] = ()  # which operands' types leave their sizes open

    def operand_types(self, dtype: type) -> list[Attribute]:
        given = [type_of(value) for value in self.arrays(dtype)]
        open_ = {
            i: types.tensor((-1,) * len(types.shape(given[i])), types.element_type(given[i])) for i in self.unknown
        }
        return [open_.get(i, type) for i, type in enumerate(given)]

    def arrays(self, dtype: type) -> list[Any]:
        return [value if i in self.exact else _cast(value, dtype) for i, value in enumerate(self.operands)]

    def result_type(self, dtype: type) -> Attribute | None:
        if isinstance(self.to, type):
            first = self.operand_types(dtype)[0]
            return types.with_element(first, types.from_dtype(np.dtype(self.to)))
        if self.to is None:
            return None
        if isinstance(self.to, tuple):
            return types.tensor(self.to, types.from_dtype(np.dtype(dtype)))
        return types.from_dtype(np.dtype(dtype))


def _cast(value: Any, dtype: type) -> Any:
    """The number or array (also 0-d) with another dtype."""
    changed = np.asarray(value).astype(dtype)
    return changed if isinstance(value, np.ndarray) else changed[()]


def _x(*shape: int) -> np.ndarray:
    """Numbers without ties, none of them 0 or 1, of both signs."""
    size = int(np.prod(shape))
    return ((np.arange(size) * 7 % max(size, 1)) * 0.37 - 0.29 * (size - 1) + 0.11).reshape(shape)


def _positive(*shape: int) -> np.ndarray:
    return np.abs(_x(*shape)) + 0.3


def _ints(*shape: int) -> np.ndarray:
    return (np.arange(int(np.prod(shape))) * 5 % 7 - 3).reshape(shape)


def unary(op: type[NdOp], x: np.ndarray, dtypes: Sequence[type] = (F32, F64), **more: Any) -> list[Sample]:
    """An array in every dtype; a scalar and arrays of other ranks and sizes in the last one."""
    others = (x[0], x[:1], x[:0], x.reshape(2, -1), np.asarray(x[1]))
    return [Sample(op, (x,), tuple(dtypes), **more), *(Sample(op, (y,), (dtypes[-1],), **more) for y in others)]


def binary(op: type[NdOp], x: np.ndarray, y: np.ndarray, dtypes: Sequence[type], **more: Any) -> list[Sample]:
    """The same for two operands."""
    others = ((x[0], y[0]), (x[:1], y[:1]), (x[:0], y[:0]), (x.reshape(2, -1), y.reshape(2, -1)))
    return [
        Sample(op, (x, y), tuple(dtypes), **more),
        *(Sample(op, pair, (F64 if F64 in dtypes else dtypes[-1],), **more) for pair in others),
    ]


SPECIAL = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 5e-324])
ROUNDINGS = (rounding.FloorOp, rounding.CeilOp, rounding.TruncOp, rounding.RintOp)
HALVES = np.concatenate([SPECIAL, np.arange(-4.5, 5), [0.49999999999999994, -0.2, 2.0**52 + 1, -1e300]])
AR, BF, D, H, C, M, R = arithmetic, basic_functions, division, choice, compare, movement, reduction
A, B = _x(6), _x(6)[::-1].copy()
X, N, FP, EF, GF, NE = exponentials, trigonometry, float_parts, error_functions, gammas, native_elements
Z, ZW = A + 1j * B, B[::2].repeat(2) - 1j * A  # (the derivatives: tests/unit/derivatives/test_complex_derivatives.py)
CP = complex_parts
BASIC = (BF.ExpOp, BF.LogOp, BF.SinOp, BF.CosOp, BF.TanhOp, BF.SqrtOp)
OF_COMPLEX = (CP.RealOp, CP.ImagOp, CP.ModulusOp, CP.ConjOp, AR.NegOp, *BASIC, N.TanOp, N.SinhOp, N.CoshOp)
OF_COMPLEX_PAIRS = (AR.AddOp, AR.SubOp, AR.MulOp, AR.DivOp, C.EqualOp, C.NotEqualOp)
SMALL = A / 8  # in (-1, 1)
LDEXP = {"function": "catalogue_ldexp", "zeros": 0}
mlirad.register_op("catalogue_ldexp", ctypes.CDLL(None).ldexp, signature="double(double, int)")
OF_ALL = (X.Exp2Op, X.Expm1Op, X.CbrtOp, N.TanOp, N.SinhOp, N.CoshOp, N.ArcsinhOp)
OF_POSITIVE = (X.Log2Op, X.Log10Op, X.Log1pOp)
OF_UNIT = (N.ArcsinOp, N.ArccosOp, N.ArctanhOp)
OF_TWO = (X.LogAddExpOp, X.LogAddExp2Op, N.Arctan2Op, N.HypotOp, AR.CopysignOp)
OF_FLOATS = (*OF_ALL, *OF_POSITIVE, *OF_UNIT, N.ArccoshOp)
PAIRS = np.repeat(SPECIAL, 8), np.tile(SPECIAL, 8)
i0, i1, i2 = np.int64(0), np.int64(1), np.int64(2)
T, U = _x(3, 4), _positive(2, 2)
AGAIN = np.array([2, 0, 2, 1, 2])  # an index array with repeated indices
GATHERED = (  # an array, the values at its indices, the index arrays, and their axes
    (_x(5), _positive(4), (np.array([4, 1, 1, 0]),), {"axes": (0,), "at": 0}),
    (_x(3, 4), _positive(5, 4), (AGAIN,), {"axes": (0,), "at": 0}),
    (_x(4, 3), _positive(4, 5), (AGAIN,), {"axes": (1,), "at": 1}),
    (_x(4, 3), _positive(2, 2, 4), (np.array([[2, 0], [0, 2]]),), {"axes": (1,), "at": 0}),
    (_x(3, 4), _positive(5), (AGAIN, AGAIN[::-1].copy()), {"axes": (0, 1), "at": 0}),
    (_x(3, 2, 3), _positive(2, 5), (AGAIN, AGAIN), {"axes": (0, 2), "at": 1}),
    (_x(3), _positive(0), (np.array([], np.int64),), {"axes": (0,), "at": 0}),
    (_x(0, 3), _positive(0, 5), (AGAIN,), {"axes": (1,), "at": 1}),
)
CH, SL_, LS, DO, EI = cholesky_ops, solving_ops, least_squares_ops, determinant_ops, eigen_ops
SY, SV, QR = symmetric_ops, singular_value_ops, qr_ops
_skewed = np.array([[0.7, 0.2, -0.4], [1.1, 1.3, 0.5], [-0.6, 0.9, 2.1]])
POSITIVE = np.stack([_skewed @ _skewed.T, np.diag([1.0, 2.5, 4.0]) + 0.3])  # definite, of eigenvalues that differ
TALL, WIDE = np.stack([_skewed[:, :2], _x(3, 2)]), _skewed[None, :2]
LEAST = (_skewed[:, :2], _x(3, 2), np.asarray(1e-12))
LINEAR = (  # ops on matrices, and operands
    (SL_.SolveOp, (POSITIVE, _x(2, 3, 2))),
    *((op, (POSITIVE,)) for op in (SL_.InvOp, SL_.SlogdetOp, CH.CholeskyLowerOp, CH.CholeskyUpperOp)),
    *((op, (POSITIVE,)) for op in (SY.EighLowerOp, SY.EighUpperOp, SY.EigvalshLowerOp, SY.EigvalshUpperOp)),
    *((DO.DetOp, (x,)) for x in (POSITIVE, _x(0, 0))),
    (DO.CofactorsOp, (POSITIVE,)),
    *((SV.SvdOp, (x,)) for x in (TALL, WIDE)),
    (SV.SvdFullOp, (POSITIVE,)),
    (SV.SingularValuesOp, (WIDE,)),
    *((QR.QrOp, (x,)) for x in (TALL, WIDE)),
    (LS.PseudoinverseOp, (WIDE, np.full(1, 1e-12))),
    (LS.LeastSquaresOp, LEAST),
)
COMPLEX = POSITIVE + 0.25j * _skewed - 0.25j * _skewed.T  # (the derivatives: tests/unit/library)
OF_COMPLEX_MATRICES = (
    (SL_.SlogdetOfComplexOp, (COMPLEX,)),
    (CH.CholeskyUpperOp, (COMPLEX,)),
    (EI.EigOp, (COMPLEX,)),
    (EI.EigvalsOp, (COMPLEX,)),
    (SY.EighLowerOp, (COMPLEX,)),
    (SV.SvdOp, (COMPLEX,)),
    (QR.QrOp, (COMPLEX,)),
    (DO.CofactorsOp, (COMPLEX,)),
    (LS.LeastSquaresOp, (COMPLEX[0, :, :2], COMPLEX[0], np.asarray(1e-12))),
)
PACKED = (  # without derivatives
    (QR.ReflectionsOp, (TALL,)),
    (QR.ReducedOfReflectionsOp, (TALL, _x(2, 2))),
    (QR.WholeOfReflectionsOp, (TALL, _x(2, 2))),
    (QR.QrCompleteOp, (TALL,)),
)
WINDOWS = (  # an array, its windows, and which axes these walk along in which steps
    ((9,), (4, 3), (0, 0), (2, 1)),
    ((9,), (5, 5), (0, 0), (1, 1)),
    ((4, 3), (2, 3), (0, 1), (2, 1)),
    ((2, 6, 7), (2, 3, 2, 3, 5), (0, 1, 2, 1, 2), (1, 1, 2, 1, 1)),
    ((5, 4, 2), (3, 3, 2, 2, 2), (0, 1, 2, 0, 1), (1, 1, 1, 2, 1)),
    ((37,), (3, 17), (0, 0), (1, 2)),
    ((37,), (17, 21), (0, 0), (1, 1)),
    ((3, 0), (2, 2, 0), (0, 0, 1), (1, 1, 1)),
)
O = overflow
FITS = (O.AddFitsOp, O.SubFitsOp, O.MulFitsOp, O.FloorDivFitsOp)
EDGES = (-(2**63), -(2**63) + 1, -(2**62), -3_037_000_500, -1, 0, 1, 3_037_000_499, 3_037_000_500, 2**62, 2**63 - 1)
SLICE = {"sizes": (2, 2), "strides": (1, -2)}
RELATIONS = (C.EqualOp, C.NotEqualOp, C.LessOp, C.LessEqualOp, C.GreaterOp, C.GreaterEqualOp)
TRUTH = (np.array([True, True, False, False, True, False]), np.array([True, False, True, False, False, False]))

n3, n4 = np.int64(3), np.int64(4)
UNKNOWN_SIZES = [
    Sample(AR.AddOp, (T, T * 2), ARITHMETIC, unknown=(0, 1)),
    Sample(AR.DivOp, (T, _positive(3, 4)), unknown=(0, 1)),
    Sample(BF.SqrtOp, (_positive(6),), unknown=(0,)),
    Sample(H.MaximumOp, (A, B), unknown=(0, 1)),
    Sample(H.SelectOp, (TRUTH[0], A, B), exact=(0,), unknown=(0, 1, 2)),
    Sample(C.LessOp, (A, B), ARITHMETIC, unknown=(0, 1), smooth=False),
    Sample(C.CastOp, (A * 3,), ARITHMETIC, to=F64, unknown=(0,)),
    Sample(constant.FullOp, (2.5, n3, n4), (*ARITHMETIC, BOOL), exact=(1, 2), to=(-1, 2, -1)),
    Sample(M.BroadcastOp, (1.5, n3), (*ARITHMETIC, BOOL), exact=(1,), attributes={"dims": ()}, to=(2, -1)),
    Sample(M.BroadcastOp, (_x(3), n3), exact=(1,), attributes={"dims": (1,)}, to=(2, -1), unknown=(0,)),
    Sample(M.BroadcastOp, (_x(3), i2, n3), exact=(1, 2), attributes={"dims": (1,)}, to=(-1, -1), unknown=(0,)),
    Sample(M.BroadcastOp, (_x(3), i2), exact=(1,), attributes={"dims": (1,)}, to=(-1, 3)),
    Sample(M.BroadcastOp, (_x(3), i0), exact=(1,), attributes={"dims": (1,)}, to=(-1, 3)),
    *(Sample(M.ReshapeOp, (_x(4),), (*ARITHMETIC, BOOL), to=to, unknown=(0,)) for to in ((1, -1), (-1, 1, 1), (-1,))),
    Sample(M.ReshapeOp, (_x(2, 6),), to=(1, -1, 1, -1), unknown=(0,)),
    Sample(M.TransposeOp, (_x(2, 3),), attributes={"permutation": (1, 0)}, unknown=(0,)),
    Sample(M.DimOp, (_x(2, 3),), attributes={"axis": 1}, smooth=False, unknown=(0,)),
    *(Sample(R.SumOp, (T,), ARITHMETIC, attributes={"axes": axes}, unknown=(0,)) for axes in ((0,), (1,), (0, 1))),
    *(
        Sample(R.SumOp, (_x(*shape),), attributes={"axes": (0,)}, unknown=(0,))
        for shape in ((0,), (1,), (0, 3), (3, 0))
    ),
    *(
        Sample(op, (T,), attributes={"axes": axes}, unknown=(0,))
        for op in (R.MaxOp, R.MinOp, ProdOp)
        for axes in ((1,), (0, 1))
    ),
    *(
        Sample(
            contraction.ContractOp, (_x(*x), _x(*y)), (F64, I64), attributes={"spec": spec}, differs=64, unknown=(0, 1)
        )
        for spec, x, y in (
            ("ij,jk->ik", (3, 4), (4, 5)),
            ("ij,jk->ik", (17, 19), (19, 23)),
            ("ij,jk->ik", (3, 0), (0, 5)),
            ("ij,j->i", (7, 37), (37,)),
            ("ij,i->j", (7, 37), (7,)),
            ("i,j->ij", (3,), (4,)),
            ("i,i->", (37,), (37,)),
            ("i,i->", (0,), (0,)),
        )
    ),
    Sample(EL.ExtractOp, (T, i1, i2), (*ARITHMETIC, BOOL), exact=(1, 2), unknown=(0,)),
    Sample(EL.InsertOp, (1.5, T, i1, i2), (*ARITHMETIC, BOOL), exact=(2, 3), unknown=(1,)),
    Sample(EL.AddAtOp, (1.5, T, i1, i2), ARITHMETIC, exact=(2, 3), unknown=(1,)),
    *(
        Sample(SL.ExtractSliceOp, (T, *places), dtypes, exact=(1, 2, 3, 4), attributes=attributes, unknown=unknown)
        for dtypes, places, attributes, unknown in (
            ((*ARITHMETIC, BOOL), (i1, i2, i2), {"sizes": (2, -1), "strides": (1, -2)}, ()),
            ((F64,), (i1, i2, i2, i1), {"sizes": (-1, -1), "strides": (1, -2)}, (0,)),
            ((F64,), (i1, i2, i0), {"sizes": (2, -1), "strides": (1, 1)}, ()),
            ((F64,), (n3, n4, i0), {"sizes": (-1, 0), "strides": (1, 1)}, ()),
            ((F64,), (i1, i2), SLICE, (0,)),
        )
    ),
    *(
        Sample(op, (value, T, i1, i2), exact=(2, 3), attributes=attributes, unknown=unknown)
        for op in (SL.InsertSliceOp, SL.AddSliceOp)
        for value, attributes, unknown in (
            (U, {"sizes": (-1, -1), "strides": (1, -2)}, (0,)),
            (U, {"sizes": (-1, -1), "strides": (1, -2)}, (0, 1)),
            (_x(0, 2), {"sizes": (-1, -1), "strides": (1, 1)}, (0,)),
            (U, SLICE, (1,)),
        )
    ),
]

SAMPLES: list[Sample] = [
    *binary(AR.AddOp, A, B, ARITHMETIC),
    *binary(AR.SubOp, A, B, ARITHMETIC),
    *binary(AR.MulOp, A, B, ARITHMETIC),
    *binary(AR.DivOp, A, B, (F32, F64)),
    *binary(AR.PowOp, _positive(6), B, (F32, F64)),
    Sample(AR.PowOp, (A, np.array([2.0, 3.0, -1.0, 0.0, 1.0, -2.0])), smooth=False),
    *unary(AR.InversePowerOp, A, attributes={"count": 3}),
    *(Sample(AR.InversePowerOp, (A,), attributes={"count": n}, differs=8) for n in (2, 8)),
    Sample(AR.InversePowerOp, (Z,), (C64, C128), attributes={"count": 3}, smooth=False, differs=16),
    Sample(AR.InversePowerOp, (SPECIAL,), attributes={"count": 3}, smooth=False),
    *binary(D.FloorDivOp, A * 3, B, ARITHMETIC, smooth=False),
    *binary(D.ModOp, A * 3, B, ARITHMETIC),
    *(
        Sample(op, (x, y), (dtype,), smooth=False)
        for op in (D.FloorDivOp, D.ModOp)
        for dtype in (I8, I64, U8)
        for x, y in [(np.array([7, -7, 7, -7, 0, -128, 5]), np.array([2, 2, -2, -2, 3, -1, 0]))]
    ),
    *(
        sample
        for op in (Bits.BitAndOp, Bits.BitOrOp, Bits.BitXorOp)
        for sample in binary(op, A * 3, B * 5, (I8, I64, U8, U64))
    ),
    *unary(Bits.BitNotOp, A * 3, (I8, U64, I64)),
    *(
        Sample(op, (x, y), (dtype,))
        for op in (Bits.ShiftLeftOp, Bits.ShiftRightOp)
        for dtype in (I8, I64, U8, U64)
        for x, y in [(np.array([7, 100, 93, 1, 0, 120, 5]), np.array([2, 0, 7, 8, 3, 64, 100]))]
    ),
    *(
        Sample(op, (np.array([-7, -128, 127, -1, 9]), np.array([1, 7, -1, 100, -128])), (dtype,))
        for op in (Bits.ShiftLeftOp, Bits.ShiftRightOp)
        for dtype in (I8, I64)
    ),
    *(Sample(op, (np.repeat(SPECIAL, 8), np.tile(SPECIAL, 8)), smooth=False) for op in (D.FloorDivOp, D.ModOp)),
    *(Sample(op, (Z,), (C64, C128), smooth=False) for op in OF_COMPLEX),
    *(Sample(op, (Z, ZW), (C64, C128), smooth=False) for op in OF_COMPLEX_PAIRS),
    Sample(CP.ComplexOp, (A, B), (F64,), smooth=False),
    *(Sample(op, (Z, np.ones(1)), (C128,), exact=(1,), smooth=False) for op in (FO.FftOp, FO.IfftOp)),
    *(Sample(op, (Z, np.ones(1)), (C128,), exact=(1,), smooth=False) for op in (FO.IrfftEvenOp, FO.IrfftOddOp)),
    Sample(FO.RfftOp, (A, np.ones(1)), (F64,), exact=(1,), smooth=False),
    *(Sample(C.CastOp, (Z,), (C64, C128), to=to, smooth=False) for to in (C64, C128, F32, F64, I64, BOOL)),
    *(Sample(C.CastOp, (A,), ARITHMETIC, to=to, smooth=False) for to in (C64, C128)),
    *unary(AR.NegOp, A, ARITHMETIC),
    *unary(BF.ExpOp, A),
    *unary(BF.LogOp, _positive(6)),
    *unary(BF.SinOp, A),
    *unary(BF.CosOp, A),
    *unary(BF.TanhOp, A),
    *unary(BF.SqrtOp, _positive(6)),
    *(Sample(op, (SPECIAL,), smooth=False) for op in BASIC),
    *(sample for op in OF_ALL for sample in unary(op, A)),
    *unary(N.ArctanOp, A),
    *(sample for op in OF_POSITIVE for sample in unary(op, _positive(6))),
    *(sample for op in OF_UNIT for sample in unary(op, SMALL)),
    *unary(N.ArccoshOp, _positive(6) + 1),
    *(Sample(op, (SPECIAL,), smooth=False) for op in (*OF_FLOATS, N.ArctanOp)),
    *(sample for op in OF_TWO for sample in binary(op, A, B, (F32, F64))),
    *(Sample(op, PAIRS, smooth=False) for op in (*OF_TWO, H.FmaxOp, H.FminOp, D.FmodOp)),
    *binary(D.FmodOp, A * 3, B, ARITHMETIC),
    *(
        Sample(D.FmodOp, (np.array([7, -7, 7, -7, 0, -128, 5]), np.array([2, 2, -2, -2, 3, -1, 0])), (dtype,))
        for dtype in (I8, I64, U8)
    ),
    *(sample for op in (H.FmaxOp, H.FminOp) for sample in binary(op, A, B, (*ARITHMETIC, BOOL))),
    *unary(AR.AbsOp, A, ARITHMETIC),
    *unary(AR.SignOp, A, ARITHMETIC),
    *(sample for op in ROUNDINGS for sample in unary(op, A)),
    *(Sample(op, (HALVES,), smooth=False) for op in ROUNDINGS),
    Sample(AR.SignOp, (SPECIAL,), smooth=False),
    *unary(rounding.ModfOp, A * 3),
    Sample(rounding.ModfOp, (np.array([*SPECIAL, -2.0, 1e300, -0.3]),), smooth=False),
    Sample(rounding.ModfOp, (T,), unknown=(0,)),
    *(sample for op in (EF.ErfOp, EF.ErfcOp, EF.ErfcxOp) for sample in unary(op, A, differs=16)),
    *unary(EF.ErfinvOp, SMALL, differs=16),
    *unary(EF.ErfcinvOp, SMALL + 1, differs=16),
    *(sample for op in (GF.GammaOp, GF.LgammaOp) for sample in unary(op, _positive(6), differs=64)),
    *(
        Sample(op, (x,), attributes={"order": n}, differs=256)
        for op, x in (
            (bessel.BesselJOp, A),
            (bessel.BesselIOp, A),
            (bessel.BesselIeOp, A),
            (bessel.BesselYOp, _positive(6)),
            (bessel.BesselKOp, _positive(6)),
            (bessel.BesselKeOp, _positive(6)),
        )
        for n in (0, 3)
    ),
    *(Sample(GF.PolygammaOp, (x,), attributes={"order": n}, differs=128) for n in (0, 1, 4) for x in (_positive(6), A)),
    *unary(FP.ExponentOp, A),
    *unary(FP.SpacingOp, A, smooth=False),
    *(Sample(op, (SPECIAL,), smooth=False) for op in (FP.ExponentOp, FP.SpacingOp)),
    *binary(FP.ScaleOp, A, np.round(B), (F32, F64), smooth=False),
    *binary(FP.NextAfterOp, A, B, (F32, F64), smooth=False),
    Sample(FP.NextAfterOp, PAIRS, smooth=False),
    Sample(FP.ScaleOp, (np.repeat(SPECIAL, 4), np.tile([-3000.0, -1074, 0, 5000], 8)), smooth=False),
    *unary(Bits.BitCountOp, _ints(6), (I8, I64, U8, U64)),
    *binary(Bits.IntegerPowerOp, _ints(6), np.abs(_ints(6)), (I8, I64, U8, U64)),
    *binary(H.MaximumOp, A, B, (*ARITHMETIC, BOOL)),
    *binary(H.MinimumOp, A, B, (*ARITHMETIC, BOOL)),
    *(Sample(op, (np.repeat(SPECIAL, 8), np.tile(SPECIAL, 8)), smooth=False) for op in (H.MaximumOp, H.MinimumOp)),
    Sample(H.SelectOp, (TRUTH[0], A, B), (*ARITHMETIC, BOOL), exact=(0,)),
    Sample(H.SelectOp, (np.True_, A[0], B[0]), exact=(0,)),
    Sample(H.AnnihilateOp, (A, B)),
    Sample(H.AnnihilateOp, (A[0], B[0], B[1])),
    *(
        Sample(H.AnnihilateOp, (np.repeat(SPECIAL, 8), np.tile(SPECIAL, 8), *more), smooth=False)
        for more in ((), (np.zeros(64),), (np.tile(SPECIAL, 8)[::-1].copy(),))
    ),
    *(sample for op in RELATIONS for sample in binary(op, np.round(A), np.round(B), (*ARITHMETIC, BOOL), smooth=False)),
    *(Sample(op, (np.repeat(SPECIAL, 8), np.tile(SPECIAL, 8)), smooth=False) for op in RELATIONS),
    *(sample for op in (C.LogicalAndOp, C.LogicalOrOp) for sample in binary(op, *TRUTH, (BOOL,), smooth=False)),
    *unary(C.LogicalNotOp, TRUTH[0], (BOOL,), smooth=False),
    *(Sample(C.CastOp, (A * 3,), (*ARITHMETIC, BOOL), to=to) for to in (F32, F64, I8, I64, BOOL)),
    *(Sample(C.CastOp, (np.abs(A),), (*ARITHMETIC, BOOL), to=to) for to in (U8, U64)),
    Sample(C.CastOp, (A[0],), (F32, F64), to=F64),
    *(
        Sample(constant.ConstantOp, (), (dtype,), attributes={"value": attributes.dense(value, type_of_)}, to=to)
        for dtype in (*ARITHMETIC, BOOL)
        for value, to in ((_ints(4), (4,)), (1, "scalar"), (2, (2, 3)), (_ints(0), (0,)))
        for type_of_ in [types.of_shape(to if isinstance(to, tuple) else (), types.from_dtype(np.dtype(dtype)))]
    ),
    Sample(constant.FullOp, (2.5,), (*ARITHMETIC, BOOL), to=(2, 3)),
    *(
        Sample(RE.RunningExtremeOp, given, attributes={"taken": taken}, smooth=smooth, unknown=unknown)
        for taken in RE.RELATIONS
        for given, smooth, unknown in (
            ((_x(37), 0.3), True, ()),
            ((_x(3, 20), 99 * _x(3)), True, ()),
            ((_x(2, 0), _x(2)), True, ()),
            ((_x(0), 1.5), True, (0,)),
            ((np.append(np.tile(SPECIAL, 3), [3.0, 0.0, -3.0]), -7.0), False, (0,)),  # a nan, and numbers after it
            ((np.append(np.tile(SPECIAL, 3), [np.nan]), np.nan), False, ()),
            ((np.tile([-0.0, 0.0, 0.0], 9), -np.inf), False, ()),  # signs of zero
            ((np.tile([[0.0], [-0.0]], 20), np.array([-0.0, 0.0])), False, ()),
        )
    ),
    *(
        Sample(SO.SumInOrderOp, (x, start), differs=0.0, unknown=unknown)
        for x, start in (
            (_x(37) / 3, 0.3),
            (T, -0.7),
            (T, _x(3)),
            (_x(2, 3, 5), _x(2, 3)),
            (_x(0), 1.5),
            (_x(2, 0), _x(2)),
        )
        for unknown in ((), (0, 1) if np.ndim(start) else (0,))
    ),
    Sample(constant.FullOp, (2.5,), to=()),
    *(Sample(constant.ArangeOp, (), (I64,), to=(size,)) for size in (0, 1, 100)),
    Sample(constant.ArangeOp, (n3,), (I64,), to=(-1,)),
    Sample(M.BroadcastOp, (1.5,), (*ARITHMETIC, BOOL), attributes={"dims": ()}, to=(2, 3)),
    Sample(M.BroadcastOp, (_x(3),), attributes={"dims": (1,)}, to=(2, 3)),
    Sample(M.BroadcastOp, (_x(2, 3),), attributes={"dims": (0, 2)}, to=(2, 4, 3)),
    Sample(M.BroadcastOp, (np.asarray(1.5),), attributes={"dims": ()}, to=(0, 3)),
    *(Sample(M.ReshapeOp, (_x(2, 6),), (*ARITHMETIC, BOOL), to=to) for to in ((12,), (3, 4), (1, 12, 1))),
    Sample(M.ReshapeOp, (1.5,), to=(1, 1)),
    Sample(M.ReshapeOp, (_x(1, 1),), to="scalar"),
    Sample(M.ReshapeOp, (_x(0, 3),), to=(3, 0)),
    *(
        Sample(
            op,
            (_x(*parts if op is OverlapOp else array),),
            dtypes,
            attributes={"axes": axes, "steps": steps},
            to=array if op is OverlapOp else parts,
            differs=16,
        )
        for op, dtypes in ((WindowsOp, (*ARITHMETIC, BOOL)), (OverlapOp, ARITHMETIC))
        for array, parts, axes, steps in WINDOWS
    ),
    Sample(M.TransposeOp, (_x(2, 3),), (*ARITHMETIC, BOOL), attributes={"permutation": (1, 0)}),
    Sample(M.TransposeOp, (_x(2, 3, 4),), attributes={"permutation": (2, 0, 1)}),
    Sample(M.DimOp, (_x(2, 3),), attributes={"axis": 1}, smooth=False),
    *(
        Sample(R.SumOp, (_x(3, 4, 5),), ARITHMETIC, attributes={"axes": axes}, differs=32)
        for axes in ((0,), (1,), (2,), (0, 2), (0, 1, 2), ())
    ),
    *(
        Sample(R.SumOp, (_x(*shape),), attributes={"axes": axes}, differs=32)
        for shape, axes in (((0,), (0,)), ((1,), (0,)), ((), ()), ((0, 3), (0,)), ((70,), (0,)), ((5, 33), (1,)))
    ),
    *(
        Sample(op, (_x(3, 4),), (*ARITHMETIC, BOOL), attributes={"axes": axes})
        for op in (R.MaxOp, R.MinOp)
        for axes in ((0,), (1,), (0, 1))
    ),
    *(Sample(op, (SPECIAL,), attributes={"axes": (0,)}, smooth=False) for op in (R.MaxOp, R.MinOp)),
    *(
        Sample(ProdOp, (_x(2, 3, 2),), ARITHMETIC, attributes={"axes": axes}, differs=32)
        for axes in ((0,), (1,), (0, 2), (0, 1, 2), ())
    ),
    *(
        Sample(ProdOp, (_x(*shape),), attributes={"axes": axes}, differs=32)
        for shape, axes in (((0,), (0,)), ((1,), (0,)), ((), ()), ((0, 3), (0,)), ((9,), (0,)))
    ),
    *(
        Sample(contraction.ContractOp, (_x(*x), _x(*y)), ARITHMETIC, attributes={"spec": spec}, differs=64)
        for spec, x, y in (
            ("ij,jk->ik", (3, 4), (4, 5)),
            ("ij,kj->ik", (3, 4), (5, 4)),
            ("ji,jk->ik", (4, 3), (4, 5)),
            ("i,i->", (6,), (6,)),
            ("ij,j->i", (3, 4), (4,)),
            ("i,ij->j", (3,), (3, 4)),
            ("i,j->ij", (3,), (4,)),
            ("bij,bjk->bik", (2, 3, 4), (2, 4, 2)),
            (",i->i", (), (3,)),
            ("ij,jk->ik", (0, 4), (4, 5)),
            ("ij,jk->ik", (3, 0), (0, 5)),
            ("ij,jk->ik", (17, 19), (19, 23)),
        )
    ),
    Sample(EL.ExtractOp, (T, i1, i2), (*ARITHMETIC, BOOL), exact=(1, 2)),
    Sample(EL.InsertOp, (1.5, T, i1, i2), (*ARITHMETIC, BOOL), exact=(2, 3)),
    Sample(EL.AddAtOp, (1.5, T, i1, i2), ARITHMETIC, exact=(2, 3)),
    Sample(SL.ExtractSliceOp, (T, i1, i2), (*ARITHMETIC, BOOL), exact=(1, 2), attributes=SLICE),
    Sample(SL.InsertSliceOp, (U, T, i1, i2), (*ARITHMETIC, BOOL), exact=(2, 3), attributes=SLICE),
    Sample(SL.AddSliceOp, (U, T, i1, i2), ARITHMETIC, exact=(2, 3), attributes=SLICE),
    *UNKNOWN_SIZES,
    *(
        Sample(G.GatherOp, (t, *indices), (*ARITHMETIC, BOOL), exact=(1, 2), attributes=attributes)
        for t, _, indices, attributes in GATHERED
    ),
    *(
        Sample(op, (values, t, *indices), dtypes, exact=(2, 3), attributes=attributes)
        for op, dtypes in (
            (G.ScatterOp, (*ARITHMETIC, BOOL)),
            (G.ScatterAddOp, ARITHMETIC),
            (LV.KeepLastOp, ARITHMETIC),
        )
        for t, values, indices, attributes in GATHERED
    ),
    *(
        Sample(S.SortOp, (x,), dtypes, attributes={"kind": kind}, smooth=smooth, differs=0, unknown=unknown)
        for kind in S.KINDS
        for x, dtypes, smooth, unknown in (
            (T, ARITHMETIC, True, ()),
            (_x(2, 3, 5), (F64,), True, (0,)),
            (SPECIAL, (F32, F64), False, ()),
            (np.tile(TRUTH[0], 9), (BOOL,), False, (0,)),
            *((x, (F64,), True, ()) for x in (_x(0), _x(1), _x(3, 0), _x(0, 3))),
        )
    ),
    *(
        Sample(S.ArgsortOp, (x,), dtypes, attributes={"kind": kind}, smooth=False, unknown=unknown)
        for kind in S.KINDS
        for x, dtypes in ((T, ARITHMETIC), (np.round(T / 2), (F64,)), (T > 0, (BOOL,)), (_x(0, 3), (F64,)))
        for unknown in ((), (0,))
    ),
    *(
        Sample(P.FlatNonzeroOp, (mask, np.int64(mask.sum())), (BOOL,), exact=(1,), smooth=False, unknown=unknown)
        for mask in (A > 0, T > 0, T < -9, _x(0) > 0)
        for unknown in ((), (0,))
    ),
    *(
        Sample(CI.CheckIndicesOp, (indices, np.int64(5)), (I64,), attributes={"axis": 0}, smooth=False)
        for indices in (np.array([0, -5, 4]), np.array([[1, -1]]), np.array([], np.int64))
    ),
    *(Sample(WI.WrapIndexOp, (np.int64(i), np.int64(5)), (I64,), smooth=False) for i in (-5, -1, 0, 4)),
    *(
        Sample(check.CheckIndexOp, (np.int64(i), np.int64(5)), (I64,), attributes={"axis": 0}, smooth=False)
        for i in (-5, 4)
    ),
    *(
        Sample(op, (np.int64(x), np.int64(y)), (I64,), smooth=False)
        for op in FITS
        for x, y in ((2, 3), *((x, y) for x in EDGES[:2] + EDGES[-3:] for y in (*EDGES[:2], -1, 1, 2, EDGES[-1])))
    ),
    *(
        Sample(NE.NativeElementsOp, operands, (F64,), exact=(1,), attributes=LDEXP, to=F64, smooth=False, unknown=open_)
        for operands, open_ in (
            ((A, np.arange(6, dtype=np.int32)), ()),
            ((T, np.full((3, 4), 2, np.int32)), (0, 1)),
            ((np.float64(1.5), np.int32(3)), ()),
            ((np.asarray(1.5), np.asarray(3, np.int32)), ()),
            ((_x(0, 3), np.zeros((0, 3), np.int32)), ()),
        )
    ),
    *(Sample(Bits.FloatBitsOp, (np.float64(x),), (F64,), smooth=False) for x in (0.0, -0.0, 0.1, -1e300, np.inf)),
    # Between equal bounds nothing is random, so results can be compared: tests/unit/library/test_generators.py draws.
    *(
        Sample(DrawOp, (WORDS, *bounds), (U64,), exact=(0,), attributes={"function": name}, to=to, smooth=False)
        for name, bounds, to in (
            ("bounded_uint64", (np.uint64(5), np.uint64(0)), "number"),
            ("bounded_uint64", (np.arange(3, dtype=U64), np.zeros(3, U64)), (3,)),
            ("bounded_uint64_fill", (np.uint64(5), np.uint64(0)), (4,)),
        )
    ),
    # It is the operand x, with the derivatives of the draw: tests/unit/derivatives compares them.
    Sample(DrawnOp, (np.float64(0.5), np.float64(2.0)), (F64,), attributes={"function": "weibull"}, smooth=False),
    Sample(
        PrintOp,
        (np.float64(2.5), A),
        (F64,),
        attributes={"template": "{0.float64:.3f} {{of}} {1.float64!r}\n", "file": "stderr"},
        smooth=False,
    ),
    *(
        Sample(op, given, (F64,), exact=(2,) if len(given) == 3 else (1,) if given[-1].ndim == 1 else (), differs=100)
        for op, given in LINEAR
    ),
    *(Sample(op, given, (F64,), smooth=False) for op, given in PACKED),
    *(
        Sample(op, given, (C128,), exact=(2,) if len(given) == 3 else (), differs=100, smooth=False)
        for op, given in OF_COMPLEX_MATRICES
    ),
    Sample(EI.EigOp, (_skewed,), (F64,), smooth=False),
    Sample(
        check.CheckOp,
        (np.True_, i1),
        (I64,),
        exact=(0,),
        attributes={"error": "ValueError", "message": "{0}"},
        smooth=False,
    ),
]

CASES = [(sample, dtype) for sample in SAMPLES for dtype in sample.dtypes]
CASES_OF: dict[type[NdOp], list[tuple[Sample, type]]] = {}
for sample, dtype in CASES:
    CASES_OF.setdefault(sample.op, []).append((sample, dtype))


def type_of(value: Any) -> Attribute:
    element = types.from_dtype(np.asarray(value).dtype)
    return types.tensor(value.shape, element) if isinstance(value, np.ndarray) else element


def program(sample: Sample, dtype: type) -> tuple[ModuleOp, func.FuncOp]:
    """A module with a function @f that is the op."""
    function = function_of(sample, dtype)
    return ModuleOp([function]), function


def programs(cases: Sequence[tuple[Sample, type]]) -> tuple[ModuleOp, list[NdOp]]:
    """A module with a function for each case, @f0 and so on; and their ops."""
    functions = [function_of(sample, dtype, f"f{number}") for number, (sample, dtype) in enumerate(cases)]
    made = [each for function in functions if isinstance(each := function.body.block.first_op, NdOp)]
    return ModuleOp(functions), made


def function_of(sample: Sample, dtype: type, name: str = "f") -> func.FuncOp:
    """A function that is the op."""
    operand_types = sample.operand_types(dtype)
    function = func.FuncOp(name, (operand_types, []))
    with building(function.body.block):
        result_type = sample.result_type(dtype)
        made = emit_all(sample.op, *function.body.block.args, result_type=result_type, **sample.attributes)
        results = [each.value for each in made]
        insert(func.ReturnOp(*results))
    function.function_type = builtin.FunctionType.from_lists(operand_types, [value.type for value in results])
    return function


def with_request(sample: Sample, dtype: type, kind: type[VjpOp] | type[PushedOp], wrt: Sequence[int]) -> ModuleOp:
    """A module whose function @main takes primals and cotangents (or tangents), and requests a derivative of @f.

    All results with floats have cotangents, or tangents.
    """
    module, function = program(sample, dtype)
    function.sym_visibility = builtin.StringAttr("private")
    add_request(module, function, "main", kind, wrt)
    return module


def add_request(
    module: ModuleOp, function: func.FuncOp, name: str, kind: type[VjpOp] | type[PushedOp], wrt: Sequence[int]
) -> None:
    """Add a function that requests a derivative of another."""
    inputs = list(function.function_type.inputs.data)
    outputs = function.function_type.outputs.data
    outs = [i for i, output in enumerate(outputs) if types.is_float(output)]
    others = [outputs[i] for i in outs] if kind is VjpOp else [inputs[i] for i in wrt]
    main = func.FuncOp(name, ([*inputs, *others], []))
    module.body.block.add_op(main)
    with building(main.body.block):
        arguments = main.body.block.args
        request = insert(kind.of(function, arguments[: len(inputs)], arguments[len(inputs) :], wrt, outs))
        end = insert(func.ReturnOp(*request.results[len(outputs) :]))
    results = [operand.type for operand in end.operands]
    main.function_type = builtin.FunctionType.from_lists([*inputs, *others], results)


def native(module: ModuleOp, name: str, arguments: Sequence[Any]) -> tuple[Any, ...]:
    (values,) = all_native(module, {name: arguments})
    return values


def all_native(module: ModuleOp, calls: Mapping[str, Sequence[Any]]) -> list[tuple[Any, ...]]:
    """The results of functions of a module, by their names."""
    from mlirad import pipeline

    module.verify()
    functions = {op.sym_name.data: op for op in module.walk() if isinstance(op, func.FuncOp)}
    given = [functions[name].function_type.outputs.data for name in calls]
    code = pipeline.compile_module(module, find_target("cpu"))
    found: list[tuple[Any, ...]] = []
    for (name, arguments), results in zip(calls.items(), given, strict=True):
        dtypes = [types.to_dtype(types.element_type(result)) for result in results]
        values = zip(code.invoke(name, list(arguments), dtypes), results, dtypes, strict=True)
        found.append(tuple(v if types.is_tensor(r) else d.type(v) for v, r, d in values))  # scalars: Python numbers
    return found


def test_every_op_has_samples() -> None:
    sampled = {sample.op for sample in SAMPLES}
    assert {op for op in op_classes() if op.name.startswith("nd.")} == sampled


@pytest.mark.parametrize("op", CASES_OF, ids=lambda op: op.name)
def test_prints_and_parses(op: type[NdOp]) -> None:
    module, _ = programs(CASES_OF[op])
    module.verify()
    context = Context()
    for dialect in (builtin.Builtin, func.Func, nd.Nd, Ad):
        context.load_dialect(dialect)
    parsed = Parser(context, str(module)).parse_module()
    parsed.verify()
    assert str(parsed) == str(module)
    assert parsed.is_structurally_equivalent(module)


CHECKS = {"nd.check", "nd.check_index", "nd.check_indices"}
OF_NUMBERS = {"nd.add_fits", "nd.sub_fits", "nd.mul_fits", "nd.floordiv_fits", "nd.float_bits", "nd.wrap_index"}
ONE_BY_ONE = CHECKS | OF_NUMBERS | {"nd.flatnonzero", "nd.draw", "nd.drawn", "nd.print", "nd.constant", "nd.arange"}
"""The ops that are computed lane by lane if all their operands have lanes, and also if only the first has. The last two
are the same in all lanes."""


def test_all_lanes_at_once() -> None:
    """On stacked operands (all of them, the first, or the first two), the op gives the same results as on each lane."""
    batched: set[str] = set()
    for sample in SAMPLES:
        dtype = sample.dtypes[-1]
        count = len(sample.operands)
        choices = {tuple(range(count)), (0,), tuple(range(min(count, 2)))}
        for wrt in choices if count and not sample.unknown else ():
            module, function = program(sample, dtype)
            op, arrays = function.body.block.first_op, sample.arrays(dtype)
            assert isinstance(op, NdOp)
            lanes = [[np.roll(x, lane) if n in wrt else x for n, x in enumerate(arrays)] for lane in range(3)]
            given = [np.stack([lane[n] for lane in lanes]) if n in wrt else x for n, x in enumerate(arrays)]
            made = all_at_once(module, function, [type_of(x) for x in given], wrt)
            if made is None:
                continue
            module.verify()
            with np.errstate(all="ignore"):
                expected = [results_of(op, lane) for lane in lanes]
                found = run(module, made.sym_name.data, *given)
            batched.add(op.name)
            for actual, want in zip(found, zip(*expected, strict=True), strict=True):
                assert actual.dtype == np.asarray(want).dtype
                np.testing.assert_allclose(actual, np.stack(want), rtol=1e-12, err_msg=f"{op.name} {wrt}")
    assert {sample.op.name for sample in SAMPLES} - batched == ONE_BY_ONE


@pytest.mark.parametrize("op", CASES_OF, ids=lambda op: op.name)
def test_native_is_numpy(op: type[NdOp]) -> None:
    """All samples of an op are functions of one module."""
    cases = CASES_OF[op]
    module, made = programs(cases)
    with np.errstate(all="ignore"):
        expected = [results_of(each, s.arrays(d)) for each, (s, d) in zip(made, cases, strict=True)]
    calls = {f"f{number}": sample.arrays(dtype) for number, (sample, dtype) in enumerate(cases)}
    for (sample, dtype), found, wanted in zip(cases, all_native(module, calls), expected, strict=True):
        for actual, each in zip(found, wanted, strict=True):
            require_numpys(sample, actual, each, f"{op.name} of {np.dtype(dtype)}: {sample.operands}")


def results_of(op: NdOp, arrays: Sequence[Any]) -> tuple[Any, ...]:
    """NumPy's value of each result."""
    found = op.reference(*arrays)
    return found if isinstance(found, tuple) else (found,) if op.results else ()


def require_numpys(sample: Sample, actual: Any, expected: Any, called: str = "") -> None:
    """called: the call, for messages."""
    assert np.asarray(actual).dtype == np.asarray(expected).dtype, called
    assert np.shape(actual) == np.shape(expected), called
    if np.asarray(expected).dtype.kind == "c":
        unit = np.finfo(np.asarray(expected).dtype).eps
        np.testing.assert_allclose(actual, expected, rtol=4 * unit, err_msg=called)
        return
    if np.asarray(expected).dtype.kind != "f":
        np.testing.assert_array_equal(actual, expected, err_msg=called)
        return
    unit = np.finfo(np.asarray(expected).dtype).eps
    scale = np.max(np.abs(expected), where=np.isfinite(expected), initial=0.0) if sample.differs > 4 else 0.0
    most = sample.differs * unit
    np.testing.assert_allclose(actual, expected, rtol=most, atol=most * scale, err_msg=called)
    if issubclass(sample.op, H.ExtremumOp):
        return  # of 0.0 and -0.0, NumPy gives whichever its vector instructions give
    zeros = np.asarray(expected) == 0
    np.testing.assert_array_equal(np.signbit(actual)[zeros], np.signbit(expected)[zeros], err_msg=called)


def _differentiable(sample: Sample, dtype: type) -> list[int]:
    return [
        i
        for i, value in enumerate(sample.arrays(dtype))
        if np.asarray(value).dtype.kind == "f" and i not in sample.exact
    ]


SMOOTH = [
    (s, d)
    for s, d in CASES
    if s.smooth and d in (F32, F64) and _differentiable(s, d) and s.to not in (I8, I64, U8, U64, BOOL)
]
SMOOTH_OF: dict[type[NdOp], list[tuple[Sample, type]]] = {}
for sample, dtype in SMOOTH:
    SMOOTH_OF.setdefault(sample.op, []).append((sample, dtype))


def _like(rng: np.random.Generator, value: Any) -> Any:
    drawn = np.asarray(rng.normal(size=np.shape(value)))
    return _cast(drawn if isinstance(value, np.ndarray) else drawn[()], np.asarray(value).dtype.type)


class Derivatives:
    """Of a sample: tangents, cotangents, and what the derivatives in these directions must be."""

    def __init__(self, sample: Sample, dtype: type):
        rng = np.random.default_rng(1)
        self.sample, self.dtype = sample, dtype
        self.out = sample.to if isinstance(sample.to, type) else dtype
        self.wrt = _differentiable(sample, dtype)
        self.arrays = sample.arrays(dtype)
        _, (self.op,) = programs([(sample, F64)])
        self.outs = [i for i, result in enumerate(self.op.results) if types.is_float(result.type)]
        self.tangents = [_like(rng, self.arrays[i]) for i in self.wrt]
        results = [
            result if types.is_tensor(self.op.results[i].type) else result[()]
            for i, result in zip(self.outs, self.results(sample.arrays(F64)), strict=True)
        ]
        self.cotangents = [_cast(_like(rng, result), self.out) for result in results]

    def results(self, operands: Sequence[Any]) -> list[np.ndarray]:
        """Those with derivatives, in float64."""
        found = results_of(self.op, operands)
        return [np.asarray(found[i], F64) for i in self.outs]

    def moved(self, step: float) -> list[np.ndarray]:
        """The results after a step along the tangents."""
        shifted = self.sample.arrays(F64)
        for i, direction in zip(self.wrt, self.tangents, strict=True):
            shifted[i] = shifted[i] + step * np.asarray(direction, F64)
        return self.results(shifted)

    def require(self, gradients: Sequence[Any], moves: Sequence[Any]) -> None:
        called = f"{self.op.name} of {np.dtype(self.dtype)}: {self.sample.operands}"
        for i, gradient in zip(self.wrt, gradients, strict=True):
            assert np.shape(gradient) == np.shape(self.arrays[i]), called
            assert np.asarray(gradient).dtype == np.asarray(self.arrays[i]).dtype, called
        # The reference computes in float64, except a cast to float32, which is linear and so can take a large step.
        step = 1e-5 if self.out is F64 or self.sample.op is not C.CastOp else 1e-2
        epsilon = max(np.finfo(self.dtype).eps, np.finfo(self.out).eps)
        pairs = zip(self.moved(step), self.moved(-step), strict=True)
        changes = [(after - before) / (2 * step) for after, before in pairs]
        difference = sum(float(np.vdot(g, change)) for g, change in zip(self.cotangents, changes, strict=True))
        reverse = sum(float(np.vdot(t, g)) for t, g in zip(self.tangents, gradients, strict=True))
        forward = sum(float(np.vdot(g, move)) for g, move in zip(self.cotangents, moves, strict=True))
        size = 1 + sum(float(np.vdot(np.abs(t), np.abs(g))) for t, g in zip(self.tangents, gradients, strict=True))
        assert abs(reverse - forward) <= 64 * epsilon * size, called
        assert abs(reverse - difference) <= max(1e-6, 1e4 * epsilon) * size, called


@pytest.mark.parametrize("op", SMOOTH_OF, ids=lambda op: op.name)
def test_derivatives(op: type[NdOp]) -> None:
    """vjp against central differences of the reference in float64, and against jvp."""
    wanted = [Derivatives(*case) for case in SMOOTH_OF[op]]
    module, _ = programs(SMOOTH_OF[op])
    calls: dict[str, list[Any]] = {}
    for number, (each, function) in enumerate(zip(wanted, list(module.ops), strict=True)):
        assert isinstance(function, func.FuncOp)
        function.sym_visibility = builtin.StringAttr("private")
        add_request(module, function, f"reverse{number}", VjpOp, each.wrt)
        add_request(module, function, f"forward{number}", JvpOp, each.wrt)
        calls[f"reverse{number}"] = [*each.arrays, *each.cotangents]
        calls[f"forward{number}"] = [*each.arrays, *each.tangents]
    found = all_native(module, calls)
    for each, gradients, moves in zip(wanted, found[::2], found[1::2], strict=True):
        each.require(gradients, moves)


def test_paths() -> None:
    """A number with a derivative has a path from each number of each operand; without a derivative there are no
    paths."""
    known: set[str] = set()
    by_size = sorted((sum(map(np.size, s.operands)), n, s) for n, (s, d) in enumerate(SMOOTH) if d is F64)
    for sample in {s.op: s for size, _, s in by_size if size < 40}.values():
        wrt, arrays = _differentiable(sample, F64), sample.arrays(F64)
        modules = [with_request(sample, F64, kind, wrt) for kind in (JvpOp, PathsOp)]
        try:
            differentiate(modules[1])
        except CompileError as error:
            assert "is not known" in str(error)
            continue
        differentiate(modules[0])
        known.add(sample.op.name)
        zeros = [np.zeros_like(arrays[i]) for i in wrt]
        for zero in zeros:
            for place in np.ndindex(np.shape(zero)):
                seeds = [np.array(each) for each in zeros]
                seeds[next(n for n, each in enumerate(zeros) if each is zero)][place] = 1.0
                given = [s if isinstance(z, np.ndarray) else s[()] for s, z in zip(seeds, zeros, strict=True)]
                moves, counts = (run(module, "main", *arrays, *given) for module in modules)
                for move, count in zip(moves, counts, strict=True):
                    assert np.all(np.asarray(count) >= 0), sample.op.name
                    assert np.all((np.asarray(move) == 0) | (np.asarray(count) > 0)), sample.op.name
        (*nothing,) = run(modules[1], "main", *arrays, *zeros)
        assert not any(np.any(count) for count in nothing), sample.op.name
    assert {sample.op.name for sample, _ in SMOOTH} - known == WITHOUT_PATHS


WITHOUT_PATHS: set[str] = set()
"""Ops that do not say which numbers depend on which."""


def series(sample: Sample, wrt: Sequence[int], path: Sequence[Sequence[Any]], at: float) -> list[np.ndarray]:
    """The Taylor coefficients of the op's results, for operands on a path, at one time."""
    module, function = program(sample, F64)
    function.sym_visibility = builtin.StringAttr("private")
    inputs, outputs = function.function_type.inputs.data, function.function_type.outputs.data
    outs = [i for i, output in enumerate(outputs) if types.is_float(output)]
    order = len(path[0])
    others = [inputs[i] for i in wrt for _ in range(order)]
    main = func.FuncOp("main", ([*inputs, *others], []))
    module.body.block.add_op(main)
    with building(main.body.block):
        given = main.body.block.args
        request = insert(JetOp.of_order(function, given[: len(inputs)], given[len(inputs) :], wrt, outs))
        end = insert(func.ReturnOp(*request.results[len(outputs) :]))
    results = [operand.type for operand in end.operands]
    main.function_type = builtin.FunctionType.from_lists([*inputs, *others], results)
    module.verify()
    arrays = sample.arrays(F64)
    coefficients = []
    for i, own in zip(wrt, path, strict=True):
        whole = [arrays[i], *own]
        moved = [
            sum(comb(n, k) * at ** (n - k) * np.asarray(whole[n]) for n in range(k, order + 1))
            for k in range(order + 1)
        ]
        arrays[i], *rest = [_like_value(each, whole[0]) for each in moved]
        coefficients += rest
    return [np.asarray(each) for each in run(differentiate(module), "main", *arrays, *coefficients)]


def _like_value(value: Any, like: Any) -> Any:
    return np.asarray(value) if isinstance(like, np.ndarray) else F64(value)


SERIES = {s.op: s for s, dtype in reversed(SMOOTH) if dtype is F64 and s.to is not F32}
WITHOUT_SERIES = (DO.DetOp, DO.CofactorsOp)
"""Ops with loops as derivatives of first or second order."""


def test_taylor_coefficients() -> None:
    """Coefficient k + 1 is the derivative of coefficient k along the path, divided by k + 1."""
    rng = np.random.default_rng(2)
    step, order = 1e-5, 3
    for sample in SERIES.values():
        wrt = _differentiable(sample, F64)
        values = sample.arrays(F64)
        path = [[0.3 * _like(rng, values[i]) for _ in range(order)] for i in wrt]
        if sample.op in WITHOUT_SERIES:
            with pytest.raises(DifferentiationError, match="has no Taylor series: its derivative is a loop"):
                series(sample, wrt, path, 0.0)
            continue
        here, before, after = (series(sample, wrt, path, at) for at in (0.0, -step, step))
        for first in range(0, len(here), order):
            for k in range(1, order):
                change = (after[first + k - 1] - before[first + k - 1]) / (2 * step * (k + 1))
                found = here[first + k]
                scale = 1 + np.max(np.abs(found), initial=0.0)
                np.testing.assert_allclose(found, change, atol=1e-6 * scale, err_msg=f"{sample.op.name} {k}")


HALVES = list({sample.op: sample for sample in reversed(SAMPLES) if F32 in sample.dtypes and sample.operands}.values())


@pytest.mark.parametrize("sample", HALVES, ids=lambda sample: sample.op.name)
def test_halves(sample: Sample) -> None:
    """On float16 the op is NumPy's function, and vjp equals the vjp on the same numbers in float32; sums are rounded
    once."""
    module, function = program(sample, np.float16)
    arrays = sample.arrays(np.float16)
    op = function.body.block.first_op
    assert isinstance(op, NdOp)
    with np.errstate(all="ignore"):
        expected = results_of(op, arrays)
    for actual, each in zip(native(module, "f", arrays), expected, strict=True):
        require_numpys(sample, actual, each)
    wrt = _differentiable(sample, np.float16)
    if not wrt or not any(np.asarray(each).dtype.kind == "f" for each in expected):
        return
    cotangents = [_like(np.random.default_rng(1), each) for each in expected if np.asarray(each).dtype.kind == "f"]
    wider = [_cast(each, F32) if np.asarray(each).dtype == np.float16 else each for each in (*arrays, *cotangents)]
    if np.asarray(cotangents[0]).dtype != np.float16:
        wider[len(arrays) :] = cotangents
    found = native(with_request(sample, np.float16, VjpOp, wrt), "main", [*arrays, *cotangents])
    wanted = native(with_request(sample, F32, VjpOp, wrt), "main", wider)
    for half, single in zip(found, wanted, strict=True):
        assert np.asarray(half).dtype == np.float16
        size = np.max(np.abs(single), where=np.isfinite(single), initial=0.0)
        np.testing.assert_allclose(half, single, rtol=0.02, atol=0.02 * size + 1e-4)


WRONG: list[tuple[type[NdOp], list[Attribute], dict[str, Any], Attribute | None]] = [
    *(
        (op, [types.I64], {}, None)
        for op in (EF.ErfOp, EF.ErfcOp, EF.ErfcxOp, EF.ErfinvOp, EF.ErfcinvOp, GF.GammaOp, GF.LgammaOp)
    ),
    *((op, [types.F64], {}, None) for op in (CP.RealOp, CP.ImagOp, CP.ModulusOp, CP.ConjOp)),
    (CP.ComplexOp, [types.F16, types.F16], {}, None),
    *((op, [types.F64, types.F64], {}, None) for op in (FO.FftOp, FO.IfftOp, FO.RfftOp, FO.IrfftEvenOp, FO.IrfftOddOp)),
    *((op, [types.C128], {}, None) for op in (N.ArctanOp, rounding.FloorOp, AR.AbsOp, AR.SignOp)),
    (C.LessOp, [types.C128, types.C128], {}, None),
    (GF.PolygammaOp, [types.I64], {"order": 1}, None),
    *((op, [types.I64], {"order": 1}, None) for op in (bessel.BesselJOp, bessel.BesselYOp, bessel.BesselIOp)),
    *((op, [types.I64], {"order": 1}, None) for op in (bessel.BesselIeOp, bessel.BesselKOp, bessel.BesselKeOp)),
    *((op, [types.I64], {}, None) for op in (FP.ExponentOp, FP.SpacingOp)),
    *((op, [types.I64, types.I64], {}, None) for op in (FP.ScaleOp, FP.NextAfterOp)),
    (Bits.BitCountOp, [types.F64], {}, None),
    (Bits.IntegerPowerOp, [types.F64, types.F64], {}, None),
    (AR.InversePowerOp, [types.I64], {"count": 2}, None),
    (SO.SumInOrderOp, [types.tensor((2, 3), types.F64), types.tensor((3,), types.F64)], {}, None),
    (SO.SumInOrderOp, [types.tensor((2,), types.I64), types.I64], {}, None),
    (RE.RunningExtremeOp, [types.tensor((2, 3), types.F64), types.tensor((3,), types.F64)], {"taken": "ogt"}, None),
    (RE.RunningExtremeOp, [types.tensor((2,), types.F64), types.F64], {"taken": "une"}, None),
    (RE.RunningExtremeOp, [types.tensor((2,), types.I64), types.I64], {"taken": "ogt"}, None),
    (S.SortOp, [types.F64], {"kind": "stable"}, None),
    (S.SortOp, [types.tensor((2,), types.F64)], {"kind": "heapsort"}, None),
    (S.ArgsortOp, [types.tensor((), types.F64)], {"kind": "stable"}, None),
    *(
        (op, [types.tensor((2,), types.F64), types.tensor((3,), types.F64)], {}, None)
        for op in (
            AR.AddOp,
            AR.SubOp,
            AR.MulOp,
            AR.DivOp,
            AR.PowOp,
            D.FloorDivOp,
            D.ModOp,
            D.FmodOp,
            H.MaximumOp,
            H.MinimumOp,
            H.FmaxOp,
            H.FminOp,
            *RELATIONS,
            C.LogicalAndOp,
            C.LogicalOrOp,
        )
    ),
    *(
        (op, [types.tensor((2,), types.F64), types.tensor((2,), types.F32)], {}, None)
        for op in (
            AR.AddOp,
            AR.SubOp,
            AR.MulOp,
            AR.DivOp,
            AR.PowOp,
            D.FloorDivOp,
            D.ModOp,
            H.MaximumOp,
            H.MinimumOp,
            *RELATIONS,
        )
    ),
    *((op, [types.F64], {}, None) for op in (Bits.BitNotOp,)),
    *(
        (op, [element, element], {}, None)
        for op in (Bits.BitAndOp, Bits.BitOrOp, Bits.BitXorOp, Bits.ShiftLeftOp, Bits.ShiftRightOp)
        for element in (types.F64, types.I1)
    ),
    *(
        (op, [types.I64], {}, None)
        for op in (BF.ExpOp, BF.LogOp, BF.SinOp, BF.CosOp, BF.TanhOp, BF.SqrtOp, C.LogicalNotOp)
    ),
    *((op, [types.I64], {}, None) for op in (*ROUNDINGS, *OF_FLOATS)),
    (N.ArctanOp, [types.I64], {}, None),
    *((op, [types.I64, types.I64], {}, None) for op in OF_TWO),
    (rounding.ModfOp, [types.I64], {}, None),
    *((op, [types.I1], {}, None) for op in (AR.NegOp, AR.AbsOp, AR.SignOp)),
    (H.SelectOp, [types.I1, types.tensor((2,), types.F64), types.tensor((2,), types.F64)], {}, None),
    (H.AnnihilateOp, [types.F64], {}, None),
    (H.AnnihilateOp, [types.F64, types.F32], {}, None),
    (H.AnnihilateOp, [types.I64, types.I64], {}, None),
    (C.CastOp, [types.F64], {}, types.tensor((2,), types.F32)),
    (constant.ConstantOp, [], {"value": attributes.dense(1, types.F64)}, types.F32),
    (constant.FullOp, [types.F64], {}, types.tensor((2,), types.F32)),
    (constant.FullOp, [types.F64], {}, types.tensor((-1,), types.F64)),
    (constant.ArangeOp, [], {}, types.tensor((3,), types.F64)),
    (constant.ArangeOp, [], {}, types.tensor((3, 1), types.I64)),
    (constant.ArangeOp, [], {}, types.tensor((-1,), types.I64)),
    (M.BroadcastOp, [types.tensor((2,), types.F64)], {"dims": (0,)}, types.tensor((3,), types.F64)),
    (M.BroadcastOp, [types.tensor((-1,), types.F64)], {"dims": (0,)}, types.tensor((-1, 2), types.F64)),
    (M.BroadcastOp, [types.tensor((-1,), types.F64)], {"dims": (0,)}, types.tensor((3,), types.F64)),
    (M.ReshapeOp, [types.tensor((2,), types.F64)], {}, types.tensor((3,), types.F64)),
    (M.ReshapeOp, [types.tensor((-1, -1), types.F64)], {}, types.tensor((-1,), types.F64)),
    (M.ReshapeOp, [types.tensor((3,), types.F64)], {}, types.tensor((-1,), types.F64)),
    (AR.AddOp, [types.tensor((-1,), types.F64), types.tensor((3,), types.F64)], {}, None),
    (M.TransposeOp, [types.tensor((2, 3), types.F64)], {"permutation": (0, 0)}, None),
    (WindowsOp, [types.tensor((5,), types.F64)], {"axes": (0, 0), "steps": (1, 1)}, types.tensor((3, 4), types.F64)),
    (WindowsOp, [types.tensor((5,), types.F64)], {"axes": (0, 0), "steps": (1, 1)}, types.tensor((3, 3), types.F32)),
    (WindowsOp, [types.tensor((5,), types.F64)], {"axes": (0, 1), "steps": (1, 1)}, types.tensor((3, 3), types.F64)),
    (WindowsOp, [types.tensor((-1,), types.F64)], {"axes": (0,), "steps": (1,)}, types.tensor((3,), types.F64)),
    (OverlapOp, [types.tensor((3, 4), types.F64)], {"axes": (0, 0), "steps": (1, 0)}, types.tensor((5,), types.F64)),
    (OverlapOp, [types.tensor((3, 3), types.I1)], {"axes": (0, 0), "steps": (1, 1)}, types.tensor((5,), types.I1)),
    (M.DimOp, [types.tensor((2,), types.F64)], {"axis": 1}, None),
    *((op, [types.tensor((2,), types.F64)], {"axes": (1,)}, None) for op in (R.SumOp, R.MaxOp, R.MinOp, ProdOp)),
    *(
        (
            contraction.ContractOp,
            [types.tensor((2, 3), types.F64), types.tensor((2, 3), types.F64)],
            {"spec": spec},
            None,
        )
        for spec in ("ij,jk->ik", "ij,ik->j", "ij,ij->k", "i,ij->j", "ii,ij->j")
    ),
    (EL.ExtractOp, [types.tensor((2,), types.F64)], {}, None),
    (EL.InsertOp, [types.F32, types.tensor((2,), types.F64), types.I64], {}, None),
    (EL.AddAtOp, [types.F64, types.tensor((2, 2), types.F64), types.I64], {}, None),
    (SL.ExtractSliceOp, [types.tensor((3,), types.F64), types.I64], {"sizes": (4,), "strides": (1,)}, None),
    (SL.ExtractSliceOp, [types.tensor((3,), types.F64), types.I64], {"sizes": (-1,), "strides": (1,)}, None),
    (SL.ExtractSliceOp, [types.tensor((3,), types.F64), types.I64, types.I64], {"sizes": (3,), "strides": (1,)}, None),
    (
        SL.InsertSliceOp,
        [types.tensor((3,), types.F64), types.tensor((3,), types.F64), types.I64],
        {"sizes": (-1,), "strides": (1,)},
        None,
    ),
    (
        SL.InsertSliceOp,
        [types.tensor((3,), types.F64), types.tensor((3,), types.F64), types.I64],
        {"sizes": (2,), "strides": (1,)},
        None,
    ),
    (
        SL.AddSliceOp,
        [types.tensor((2,), types.F64), types.tensor((3,), types.F64), types.I64],
        {"sizes": (2,), "strides": (0,)},
        None,
    ),
    *((op, [types.tensor((2,), types.I64), types.tensor((2,), types.I64)], {}, None) for op in FITS),
    (G.GatherOp, [types.tensor((2,), types.F64), types.tensor((2,), types.F64)], {"axes": (0,), "at": 0}, None),
    (G.GatherOp, [types.tensor((2,), types.F64), types.tensor((2,), types.I64)], {"axes": (1,), "at": 0}, None),
    *(
        (
            op,
            [types.tensor((3,), types.F64), types.tensor((2,), types.F64), types.tensor((2,), types.I64)],
            {"axes": (0,), "at": 0},
            None,
        )
        for op in (G.ScatterOp, G.ScatterAddOp, LV.KeepLastOp)
    ),
    (CI.CheckIndicesOp, [types.tensor((2,), types.F64), types.I64], {"axis": 0}, None),
    (P.FlatNonzeroOp, [types.tensor((2,), types.I64), types.I64], {}, None),
    (P.FlatNonzeroOp, [types.I1, types.I64], {}, None),
    (Bits.FloatBitsOp, [types.I64], {}, None),
    (PrintOp, [types.I64], {"template": "{0.float64}", "file": "stdout"}, None),
    (PrintOp, [], {"template": "", "file": "stdin"}, None),
    (DrawOp, [types.tensor((3,), types.I64)], {"function": "standard_normal"}, types.F64),
    (DrawOp, [type_of(WORDS)], {"function": "standard_normals"}, types.F64),
    (DrawOp, [type_of(WORDS)], {"function": "standard_normal"}, types.F32),
    (DrawOp, [type_of(WORDS)], {"function": "standard_normal_fill"}, types.F64),
    (DrawOp, [type_of(WORDS), types.F32], {"function": "weibull"}, types.F64),
    (DrawOp, [type_of(WORDS), types.tensor((2,), types.F64)], {"function": "weibull"}, types.tensor((3,), types.F64)),
    (DrawnOp, [types.F64], {"function": "weibull"}, None),
    (DrawnOp, [types.F64, types.F64], {"function": "wald"}, None),
    (DrawnOp, [types.F64, types.tensor((2,), types.F64)], {"function": "weibull"}, None),
    (NE.NativeElementsOp, [types.F64], LDEXP, types.tensor((), types.F64)),
    (NE.NativeElementsOp, [types.tensor((2,), types.F64), types.tensor((3,), types.F64)], LDEXP, types.F64),
    (NE.NativeElementsOp, [], LDEXP, types.F64),
    *(
        (op, [types.tensor(shape, element), *[types.tensor((2, 2), types.F64)] * (len(given) - 1)], {}, None)
        for op, given in (*LINEAR, *PACKED, *OF_COMPLEX_MATRICES)
        for shape, element in (((3,), types.F64), ((3, 3), types.F32), ((4, 3, 2), types.F64))
        if len(given) > 1 or len(shape) < 3
    ),
    (check.CheckOp, [types.I1, types.I64, types.I64, types.I64], {"error": "E", "message": ""}, None),
]
TYPED_BY_XDSL = (WI.WrapIndexOp, check.CheckIndexOp)  # their operands are i64 by declaration; see below


@pytest.mark.parametrize(
    ("op", "operands", "attributes", "result"), WRONG, ids=[f"{w[0].name}-{n}" for n, w in enumerate(WRONG)]
)
def test_wrong_types_are_refused(op: type[NdOp], operands: list[Attribute], attributes: Any, result: Any) -> None:
    function = func.FuncOp("f", (operands, []))
    with building(function.body.block), pytest.raises(CompileError):
        emit_all(op, *function.body.block.args, result_type=result, **attributes)
    assert function.body.block.first_op is None


def test_every_op_refuses_something() -> None:
    refused = {wrong[0] for wrong in WRONG} | {*TYPED_BY_XDSL}
    assert {op for op in op_classes() if op.name.startswith("nd.")} == refused


@pytest.mark.parametrize("op", TYPED_BY_XDSL, ids=[op.name for op in TYPED_BY_XDSL])
def test_indices_are_i64(op: type[NdOp]) -> None:
    function = func.FuncOp("f", ([types.F64, types.F64], []))
    with building(function.body.block):
        attributes: dict[str, Any] = {"axis": 0} if op is check.CheckIndexOp else {}
        emit_all(op, *function.body.block.args, **attributes)
        insert(func.ReturnOp())
    with pytest.raises(Exception, match="i64"):
        ModuleOp([function]).verify()
