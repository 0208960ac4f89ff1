"""The answers of ops about the part of an array that they access: they are true, and the tape asks nothing else."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest
from compare_buffers import bufferize, is_in_loop
from expanded import callable_of, expand
from xdsl.context import Context
from xdsl.dialects import func, memref
from xdsl.dialects.arith import MulfOp
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.tensor import ExtractOp as UpstreamExtractOp
from xdsl.dialects.tensor import InsertOp as UpstreamInsertOp
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import operand_def, result_def

from mlirad.dialect.ad.tape import TapeOp
from mlirad.dialect.arrays.elements import AddAtOp, ElementUpdateOp, ExtractOp, InsertOp
from mlirad.dialect.arrays.gather import GatherOp, ScatterAddOp, ScatterOp
from mlirad.dialect.arrays.indexed_op import constant_indices
from mlirad.dialect.arrays.slices import AddSliceOp, ExtractSliceOp, InsertSliceOp
from mlirad.dialect.core import op as ops
from mlirad.dialect.core import types
from mlirad.dialect.core.answers import Composed, Cotangent, Given
from mlirad.dialect.core.derivative import TwoOperandsOp, only
from mlirad.dialect.core.expr import Expr, constant, emit, insert, sum_of, zeros_like
from mlirad.dialect.core.op import NdOp, PureOp, op_classes, read_subset, written_subset
from mlirad.dialect.core.registry import Properties
from mlirad.dialect.core.subset import Change, Range, Subset
from mlirad.dialect.core.upstream import as_indices
from mlirad.dialect.ops.movement import reshape
from mlirad.lowering.to_linalg.nd_to_linalg import NdToLinalg
from mlirad.testing.derivatives import check_vjp
from mlirad.testing.expr_functions import ask_vjp, for_loop, function, get

F64, I64 = types.F64, types.I64
N = 8
ARRAY, MATRIX = types.tensor([N], F64), types.tensor([N, N], F64)
ONE = np.float64(1.0)


# --- two ops outside of mlirad's dialects, so that other tests do not see them ----------------------------------------


@ops.op(overwrites=1)
class MultiplyAt(ElementUpdateOp):
    """t with t[i, ...] *= value. Its family answers for the subset."""

    name = "test.multiply_at"
    CHANGE: ClassVar = Change.OTHER

    def reference(self, value: Any, t: Any, *indices: Any) -> Any:
        changed = t.copy()
        changed[tuple(indices)] *= value
        return changed

    def cotangents(self, gs: Given, outs: Sequence[Expr], operands: Sequence[Expr]) -> Sequence[Cotangent]:
        g, (value, t, *indices) = only(gs), operands
        here = emit(ExtractOp, g, *indices)
        return here * emit(ExtractOp, t, *indices), emit(InsertOp, here * value, g, *indices), None

    def _build(self, value: SSAValue, t: SSAValue, *indices: SSAValue) -> Sequence[SSAValue]:
        places = as_indices(indices)
        old = insert(UpstreamExtractOp(t, places, types.element_type(t.type))).result
        return [insert(UpstreamInsertOp(insert(MulfOp(old, value)).result, t, places)).result]


@dataclass(frozen=True)
class Diagonal(Subset):
    """The diagonal of a square matrix: another kind of subset."""

    @property
    def ranges(self) -> tuple[Range | None, ...]:
        return Range(0, N), Range(0, N)

    @property
    def shape(self) -> Hashable:
        return ()

    @property
    def axes(self) -> tuple[int | None, ...]:
        return (0,)

    def read(self, array: Expr, places: Sequence[Expr], like: Expr | None = None) -> Expr:
        return emit(GatherOp, array, *counted(), axes=[0, 1], at=0)

    def put(self, part: Expr, array: Expr, places: Sequence[Expr]) -> Expr:
        return emit(ScatterOp, part, array, *counted(), axes=[0, 1], at=0)


@ops.op(overwrites=1, partial=(1,))
class PutDiagonal(TwoOperandsOp, PureOp):
    """t with the vector `value` on its diagonal."""

    name = "test.put_diagonal"
    value = operand_def()
    t = operand_def()
    result = result_def()
    CHANGE: ClassVar = Change.REPLACED

    @classmethod
    def infer(
        cls, operands: Sequence[Attribute], properties: Properties, result_type: Attribute | None = None
    ) -> list[Attribute]:
        return [operands[1]]

    def subset(self) -> Subset:
        return Diagonal(self.t, 1, self.value, (), self.CHANGE)

    def reference(self, value: Any, t: Any) -> Any:
        changed = t.copy()
        np.fill_diagonal(changed, value)
        return changed

    def vjp(self, g: Expr, out: Expr, x: Expr, y: Expr) -> tuple[Expr, Expr]:
        return self.subset().read(g, ()), self.result_on(zeros_like(x), g)

    def jvp(self, dx: Expr | None, dy: Expr | None, out: Expr, x: Expr, y: Expr) -> Expr | None:
        raise NotImplementedError

    def loops(self) -> Composed:
        return Composed(lambda value, t: [self.subset().put(value, t, ())])


def counted() -> list[Expr]:
    return [constant(np.arange(N), types.tensor([N], I64))] * 2


# --- one sample of each op that has a subset --------------------------------------------------------------------


@dataclass(frozen=True)
class Sample:
    """A use of an op on an array of type `array`: for a write `build(part, array, i)`, for a read `build(array, i)`."""

    array: Attribute
    part: Attribute
    build: Callable[..., Expr]


def indices(i: Expr, places: Sequence[int]) -> Expr:
    return constant(np.array(places), types.tensor([len(places)], I64))


SLICE: dict[str, Any] = {"sizes": [3], "strides": [2]}
PLACES: dict[str, Any] = {"axes": [0], "at": 0}
ALONE, TWICE = [5, 0, 2], [2, 0, 2]
NUMBER, VECTOR = F64, types.tensor([3], F64)
ROW: dict[str, Any] = {"sizes": [1, N], "strides": [1, 1]}

WRITES: dict[str, tuple[type[NdOp], Sample]] = {
    "insert": (InsertOp, Sample(ARRAY, NUMBER, lambda v, t, i: emit(InsertOp, v, t, i))),
    "add_at": (AddAtOp, Sample(ARRAY, NUMBER, lambda v, t, i: emit(AddAtOp, v, t, i))),
    "insert_slice": (InsertSliceOp, Sample(ARRAY, VECTOR, lambda v, t, i: emit(InsertSliceOp, v, t, i, **SLICE))),
    "add_slice": (AddSliceOp, Sample(ARRAY, VECTOR, lambda v, t, i: emit(AddSliceOp, v, t, i, **SLICE))),
    "insert_row": (
        InsertSliceOp,
        Sample(
            MATRIX,
            types.tensor([1, N], F64),
            lambda v, t, i: emit(InsertSliceOp, v, t, i, constant(0, I64), **ROW),
        ),
    ),
    "scatter": (
        ScatterOp,
        Sample(ARRAY, VECTOR, lambda v, t, i: emit(ScatterOp, v, t, indices(i, ALONE), **PLACES)),
    ),
    "scatter_twice": (
        ScatterOp,
        Sample(ARRAY, VECTOR, lambda v, t, i: emit(ScatterOp, v, t, indices(i, TWICE), **PLACES)),
    ),
    "scatter_add": (
        ScatterAddOp,
        Sample(ARRAY, VECTOR, lambda v, t, i: emit(ScatterAddOp, v, t, indices(i, ALONE), **PLACES)),
    ),
    "scatter_add_twice": (
        ScatterAddOp,
        Sample(ARRAY, VECTOR, lambda v, t, i: emit(ScatterAddOp, v, t, indices(i, TWICE), **PLACES)),
    ),
}
READS: dict[str, tuple[type[NdOp], Sample]] = {
    "extract": (ExtractOp, Sample(ARRAY, NUMBER, lambda t, i: emit(ExtractOp, t, i))),
    "extract_slice": (ExtractSliceOp, Sample(ARRAY, VECTOR, lambda t, i: emit(ExtractSliceOp, t, i, **SLICE))),
    "extract_some": (
        ExtractSliceOp,
        Sample(
            ARRAY,
            types.tensor([-1], F64),
            lambda t, i: emit(ExtractSliceOp, t, i, i + 1, sizes=[-1], strides=[2]),
        ),
    ),
    "gather": (GatherOp, Sample(ARRAY, VECTOR, lambda t, i: emit(GatherOp, t, indices(i, TWICE), **PLACES))),
}


OWN: dict[str, Sample] = {
    "multiply_at": Sample(ARRAY, NUMBER, lambda v, t, i: emit(MultiplyAt, v, t, i)),
    "put_diagonal": Sample(MATRIX, ARRAY, lambda v, t, i: emit(PutDiagonal, v, t)),
}
TRIED = {**{name: sample for name, (_, sample) in WRITES.items()}, **OWN}

every_write = pytest.mark.parametrize("write", [pytest.param(each, id=name) for name, each in TRIED.items()])


def test_every_op_with_a_subset_is_tried() -> None:
    answering = {cls for cls in op_classes() if cls.subset is not NdOp.subset}
    assert answering == {cls for cls, _ in (*WRITES.values(), *READS.values())}


# --- the answers are true ----------------------------------------------------------------------------------------


def the_subset(made: Expr) -> Subset:
    owner = made.value.owner
    subset = read_subset(owner) or written_subset(owner)
    assert subset is not None
    return subset


def places(subset: Subset) -> list[Expr]:
    return [Expr(place) for place in subset.places]


def of_type(type: Attribute, seed: int) -> Any:
    made = np.random.default_rng(seed).uniform(0.5, 1.5, types.shape(type))
    return made if types.is_tensor(type) else np.float64(made)


@every_write
def test_a_write_can_be_undone(write: Sample) -> None:
    """Putting the old part back after the write restores the array; the rest is unchanged."""
    found: list[Subset] = []

    def body(part: Expr, array: Expr, i: Expr) -> Any:
        after = write.build(part, array, i)
        subset = the_subset(after)
        found.append(subset)
        old = subset.read(array, places(subset))
        mark = subset.put(zeros_like(old) if old.is_tensor else constant(0.0, F64), array, places(subset))
        return after, subset.put(old, after, places(subset)), subset.read(after, places(subset)), mark

    module = ModuleOp([])
    function(module, "f", [write.part, write.array, I64], body)
    module.verify()
    part, array = of_type(write.part, 0), of_type(write.array, 1)
    after, undone, there, mark = callable_of(module, "f")(part, array, 2)
    np.testing.assert_array_equal(undone, array)
    assert not np.array_equal(after, array)
    np.testing.assert_array_equal(after[mark != 0], array[mark != 0])
    (subset,) = found
    assert np.array_equal(there, part) or not subset.holds_part
    assert subset.holds_part == (subset.change is Change.REPLACED and subset.is_distinct)
    box = np.ix_(*(_along(each, size, 2) for each, size in zip(subset.ranges, array.shape, strict=True)))
    outside = np.ones(array.shape, bool)
    outside[box] = False
    assert (mark[outside] != 0).all(), "an element that the ranges leave out is in the subset"
    assert subset.axes == () or len(subset.axes) == np.ndim(part)


def _along(along: Range | None, size: int, i: int) -> Sequence[int]:
    if along is None:
        return range(size)
    start = along.start if isinstance(along.start, int) else i
    if not isinstance(along.start, int) and constant_value_of(along.start) is not None:
        start = constant_value_of(along.start)
    assert isinstance(along.length, int) and start is not None
    return range(start, start + along.length * along.stride, along.stride)


def constant_value_of(value: SSAValue) -> int | None:
    known = constant_indices(value)
    return None if known is None else int(known)


@pytest.mark.parametrize("read", READS)
def test_a_read_is_what_its_subset_reads(read: str) -> None:
    sample = READS[read][1]

    def body(array: Expr, other: Expr, i: Expr) -> Any:
        made = sample.build(array, i)
        subset = the_subset(made)
        changed = subset.put(made, other, places(subset))
        return made, subset.read(array, places(subset)), subset.read(changed, places(subset)), sample.build(changed, i)

    module = ModuleOp([])
    function(module, "f", [sample.array, sample.array, I64], body)
    module.verify()
    made, again, *moved = callable_of(module, "f")(of_type(sample.array, 0), of_type(sample.array, 1), 2)
    assert np.size(made) and np.array_equal(made, again)
    for each in moved:
        np.testing.assert_array_equal(each, made)


def test_which_subsets_are_the_same() -> None:
    """A subset is the same as another one that is built alike, and no other."""
    seen: list[tuple[str, Subset]] = []

    def body(number: Expr, vector: Expr, array: Expr, i: Expr, j: Expr) -> Any:
        places = indices(i, ALONE), indices(i, TWICE)
        for name, made in (
            ("element i", emit(ExtractOp, array, i)),
            ("element i", emit(InsertOp, number, array, i)),
            ("element i", emit(AddAtOp, number, array, i)),
            ("element j", emit(ExtractOp, array, j)),
            ("slice i", emit(ExtractSliceOp, array, i, **SLICE)),
            ("slice i", emit(InsertSliceOp, vector, array, i, **SLICE)),
            ("slice j", emit(AddSliceOp, vector, array, j, **SLICE)),
            ("dense i", emit(ExtractSliceOp, array, i, sizes=[3], strides=[1])),
            ("longer i", emit(ExtractSliceOp, array, i, sizes=[2], strides=[2])),
            ("j of i", emit(ExtractSliceOp, array, i, j, sizes=[-1], strides=[1])),
            ("i of i", emit(ExtractSliceOp, array, i, i, sizes=[-1], strides=[1])),
            ("alone", emit(GatherOp, array, places[0], **PLACES)),
            ("alone", emit(ScatterAddOp, vector, array, places[0], **PLACES)),
            ("twice", emit(ScatterOp, vector, array, places[1], **PLACES)),
        ):
            seen.append((name, the_subset(made)))
        return array

    function(ModuleOp([]), "f", [NUMBER, VECTOR, ARRAY, I64, I64], body)
    for name, one in seen:
        for another, other in seen:
            assert one.is_same(other) == (name == another), (name, another)


# --- the tape asks nothing else ---------------------------------------------------------------------------------


def gradient_of(body: Callable[..., Any], arguments: Sequence[Attribute]) -> tuple[Any, Any, func.FuncOp]:
    primal, module = ModuleOp([]), ModuleOp([])
    function(primal, "f", arguments, body)
    ask_vjp(module, "vjp", function(module, "f", arguments, body), list(range(len(arguments))))
    expand(module)
    (found,) = [op for op in module.ops if isinstance(op, func.FuncOp)]
    return callable_of(primal, "f"), callable_of(module, "vjp"), found


@every_write
def test_a_value_is_re_read_only_where_it_stays(write: Sample) -> None:
    """The value is costly, written, and a factor: it may be re-read from the array only if the array contains it."""

    def body(x: Expr, a: Expr) -> Expr:
        def trip(i: Expr, a: Expr, s: Expr) -> Any:
            u = np.cos(np.sin(np.exp(x * get(a, *([i] * len(a.shape))))))
            return write.build(u, a, i), s * sum_of(u * u if u.is_tensor else u)

        a, s = for_loop(3, [a, constant(1.0, F64)], trip)
        return sum_of(a * a) + s

    f, vjp, _ = gradient_of(body, [write.part, write.array])
    check_vjp(f, vjp, (of_type(write.part, 0), of_type(write.array, 1)))


@every_write
def test_of_reads_and_writes_only_what_is_overwritten_is_stored(write: Sample) -> None:
    """Each trip also reads the array at other indices: undoing the writes restores the values that were read."""

    def body(x: Expr, a: Expr) -> Expr:
        def trip(i: Expr, a: Expr) -> Expr:
            first, last = (get(a, *([k] * len(a.shape))) for k in (0, N - 1))
            return write.build(x * np.sin(first * last), a, i)

        return sum_of(for_loop(3, [a], trip)[0])

    f, vjp, found = gradient_of(body, [write.part, write.array])
    check_vjp(f, vjp, (of_type(write.part, 0), of_type(write.array, 1)))
    stored = sum(int(np.prod(types.shape(op.result.type))) for op in found.walk() if isinstance(op, TapeOp))
    assert stored <= 3 * max(int(np.prod(types.shape(write.part))), 2)


def ends(a: Expr) -> Expr:
    return get(a, 0) * get(a, N - 1)


def diagonal_and_row(a: Expr) -> Expr:
    zero = constant(0, I64)
    row = reshape(emit(ExtractSliceOp, a, zero, zero, **ROW), ARRAY)
    return emit(GatherOp, a, *counted(), axes=[0, 1], at=0) * row


@pytest.mark.parametrize(("name", "read"), [("multiply_at", ends), ("put_diagonal", diagonal_and_row)])
def test_an_op_that_answers_is_undone_and_done_in_place(name: str, read: Callable[[Expr], Expr]) -> None:
    """No other file names this op. If a trip has two reads, only the overwritten part is stored, and no loop copies the
    array."""
    write = OWN[name]

    def body(x: Expr, a: Expr) -> Expr:
        def trip(i: Expr, a: Expr) -> Expr:
            return write.build(x * np.sin(read(a)), a, i)

        return for_loop(5, [a], trip)[0]

    arguments = [write.part, write.array]
    module = ModuleOp([])
    ask_vjp(module, "vjp", function(module, "f", arguments, body), [0, 1])
    expand(module)
    (found,) = [op for op in module.ops if isinstance(op, func.FuncOp)]
    assert "undone = 1" in str(found)
    NdToLinalg().apply(Context(), module)
    copies = [op for op in bufferize(module).walk() if isinstance(op, memref.CopyOp) and is_in_loop(op)]
    assert not [op for op in copies if types.shape(op.source.type) == types.shape(write.array)]
