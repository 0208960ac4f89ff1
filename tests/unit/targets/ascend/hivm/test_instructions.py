"""`hivm` is Huawei's dialect: `bishengir-opt` accepts each op; forms without an instruction on the 910B are refused."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from io import StringIO

import numpy as np
import pytest
from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects import arith, func
from xdsl.dialects.builtin import (
    Builtin,
    Float32Type,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    MemRefType,
    ModuleOp,
    UnitAttr,
    bf16,
    f16,
    f32,
    i1,
    i16,
    i32,
    i64,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.rewriter import InsertPoint
from xdsl.utils.exceptions import ParseError, VerifyException

from mlirad.targets.ascend.hivm import choosing_instructions as choosing
from mlirad.targets.ascend.hivm import cube_instructions as cube
from mlirad.targets.ascend.hivm import cube_intrinsics as intrinsics
from mlirad.targets.ascend.hivm import elementwise_instructions as elementwise
from mlirad.targets.ascend.hivm import hivm_attributes as a
from mlirad.targets.ascend.hivm import rearranging_instructions as rearranging
from mlirad.targets.ascend.hivm import synchronisation as sync
from mlirad.targets.ascend.hivm import transfers
from mlirad.targets.ascend.hivm.conversions import CASTS, bf16_to_f32, convert, f32_to_bf16
from mlirad.targets.ascend.hivm.hivm import HACC, HIVM

NAMED: dict[str, Attribute] = {
    "f16": f16,
    "f32": f32,
    "bf16": bf16,
    "i1": i1,
    "i8": IntegerType(8),
    "i16": i16,
    "i32": i32,
    "i64": i64,
}


class Kernel:
    """A device function under construction: `add` inserts an op, `buffer` a value of a memory space."""

    def __init__(self, core: a.CoreType, *arguments: Attribute):
        self.function = func.FuncOp("k", (arguments, ()))
        self.function.attributes |= {
            "hacc.entry": UnitAttr(),
            "hacc.function_kind": a.FunctionKindAttr(a.FunctionKind.DEVICE),
            "hivm.func_core_type": a.CoreTypeAttr(core),
        }
        self.builder = Builder(InsertPoint.at_end(self.function.body.block))
        self.arguments = self.function.body.block.args

    def add(self, op: Operation) -> SSAValue:
        self.builder.insert(op)
        return op.results[0] if op.results else None  # pyright: ignore[reportReturnType]: an op without a result

    def number(self, value: float, type: Attribute) -> SSAValue:
        made = FloatAttr(value, type) if isinstance(type, Float32Type) else IntegerAttr(int(value), type)  # pyright: ignore[reportArgumentType, reportCallIssue]: an integer type
        return self.add(arith.ConstantOp(made))

    def buffer(self, shape: Sequence[int], element: Attribute, space: a.AddressSpace = a.AddressSpace.UB) -> SSAValue:
        address = self.number(0, i64)
        return self.add(transfers.PointerCastOp([address], in_space(shape, element, space)))

    def text(self, generic: bool = True) -> str:
        if not isinstance(self.function.body.block.last_op, func.ReturnOp):
            self.builder.insert(func.ReturnOp())
        module = self.function.parent_op() or ModuleOp([self.function])
        module.verify()
        out = StringIO()
        Printer(out, print_generic_format=generic).print_op(module)
        return out.getvalue()


def in_space(shape: Sequence[int], element: Attribute, space: a.AddressSpace) -> MemRefType:
    return MemRefType(element, shape, memory_space=a.AddressSpaceAttr(space))


def parse(text: str) -> ModuleOp:
    context = Context()
    for dialect in (Builtin, func.Func, arith.Arith, HIVM, HACC):
        context.load_dialect(dialect)
    return Parser(context, text).parse_module()


UNARY = [elementwise.VExpOp, elementwise.VLnOp, elementwise.VSqrtOp, elementwise.VRsqrtOp, elementwise.VRecOp]
UNARY += [elementwise.VAbsOp, elementwise.VReluOp]
BINARY = [elementwise.VAddOp, elementwise.VSubOp, elementwise.VMulOp, elementwise.VDivOp]
BINARY += [elementwise.VMaxOp, elementwise.VMinOp]
BITWISE = [elementwise.VAndOp, elementwise.VOrOp, elementwise.VXorOp]
EVENTS = list(a.EventId)


def vector_kernel() -> Kernel:
    """Every op and form of the vector core, once for each element type that it accepts."""
    gm = in_space([64], f32, a.AddressSpace.GM)
    kernel = Kernel(a.CoreType.VECTOR, gm, in_space([60], f32, a.AddressSpace.GM))
    x, tail = kernel.arguments
    add, buffer = kernel.add, kernel.buffer
    add(sync.SetMaskNormOp())
    add(sync.GetBlockIdxOp())
    add(sync.GetBlockNumOp())
    u, mask = buffer([64], f32), buffer([64], i1)
    one, zero, four = kernel.number(1, f32), kernel.number(0, IndexType()), kernel.number(4, IndexType())
    add(transfers.LoadOp(x, u))
    add(transfers.LoadOp(tail, u, a.PadMode.VALUE, one, zero, four))
    add(transfers.StoreOp(u, x))
    for kind in (a.AtomicKind.ADD, a.AtomicKind.MAX, a.AtomicKind.MIN):
        add(transfers.StoreOp(u, x, kind))
    add(transfers.CopyOp(u, buffer([64], f32)))
    for op in UNARY:
        for element in sorted(op.ACCEPTED):
            v = buffer([64], NAMED[element])
            add(op([v], v))
    for op in (*BINARY, *BITWISE):
        for element in sorted(op.ACCEPTED):
            v = buffer([64], NAMED[element])
            add(op([v, v], v))
    for op in BINARY:
        add(op([u, one], u))
    for op in (elementwise.VSubOp, elementwise.VDivOp):
        add(op([one, u], u))
    add(elementwise.VNotOp([mask], mask))
    for mode in a.CompareMode:
        add(choosing.VCmpOp(u, u, mask, mode))
    add(choosing.VCmpOp(u, one, mask, a.CompareMode.LT))
    for operands in ([mask, u, u], [mask, u, one], [mask, one, u], [mask, one, one]):
        add(choosing.VSelOp(operands, u))
    for (from_, to), modes in CASTS.items():
        source, target = buffer([64], NAMED[from_]), buffer([64], NAMED[to])
        for mode in modes:
            add(elementwise.VCastOp(source, target, mode))
    matrix, column, turned = buffer([16, 64], f32), buffer([16, 1], f32), buffer([64, 16], f32)
    for kind in a.ReduceKind:
        for element in sorted(rearranging.VReduceOp.ACCEPTED):
            whole, row = buffer([16, 64], NAMED[element]), buffer([1, 64], NAMED[element])
            add(rearranging.VReduceOp(whole, row, kind, [0]))
        add(rearranging.VReduceOp(matrix, column, kind, [1], temp_buffer=u))
    add(rearranging.VBrcOp(column, matrix, [1]))
    add(rearranging.VBrcOp(one, matrix))
    add(rearranging.VTransposeOp(matrix, turned, [1, 0]))
    add(rearranging.VArangeOp(matrix, [four, four], zero))
    add(rearranging.VArangeOp(buffer([64], i32), [four]))
    add(sync.SetFlagOp(a.Pipe.MTE2, a.Pipe.V, a.EventId.ID0))
    add(sync.WaitFlagOp(a.Pipe.MTE2, a.Pipe.V, kernel.number(0, i64)))
    add(sync.PipeBarrierOp(a.Pipe.V))
    return kernel


def cube_kernel() -> Kernel:
    space = a.AddressSpace
    kernel = Kernel(
        a.CoreType.CUBE,
        in_space([100, 60], f16, space.GM),
        in_space([60, 40], f16, space.GM),
        in_space([100, 40], f32, space.GM),
    )
    x, y, z = kernel.arguments
    left, right = kernel.buffer([4, 7, 16, 16], f16, space.L1), kernel.buffer([3, 4, 16, 16], f16, space.L1)
    product = kernel.buffer([3, 7, 16, 16], f32, space.L0C)
    kernel.add(cube.ND2NZOp(x, left))
    kernel.add(cube.ND2NZOp(y, right))
    m, k, n = (kernel.number(size, IndexType()) for size in (100, 60, 40))
    kernel.add(cube.MmadL1Op(left, right, product, kernel.number(1, i1), (m, k, n)))
    l0a, l0b = kernel.buffer([7, 4, 16, 16], f16, space.L0A), kernel.buffer([4, 3, 16, 16], f16, space.L0B)
    kernel.add(intrinsics.CustomOp("load_cbuf_to_ca", [left], l0a))
    kernel.add(intrinsics.CustomOp("load_cbuf_to_cb", [right], l0b))
    kernel.add(intrinsics.CustomOp("mad", [l0a, l0b, kernel.number(0, i1), m, k, n], product))
    kernel.add(cube.FixpipeOp(product, z))
    return kernel


@pytest.mark.parametrize("make", [vector_kernel, cube_kernel])
def test_bishengir_opt_accepts_every_op_and_we_read_it_back(
    make: Callable[[], Kernel], bishengir_opt: Callable[..., str]
) -> None:
    kernel = make()
    for generic in (True, False):
        text = kernel.text(generic)
        assert parse(text).is_structurally_equivalent(kernel.function.parent_op())  # pyright: ignore[reportArgumentType]: has a module
        official = bishengir_opt(text, "--mlir-print-op-generic")
    again = parse(official)
    again.verify()
    ours = [op.name for op in kernel.function.walk()]
    assert [op.name for op in next(iter(again.ops)).walk()] == ours


def test_every_op_of_the_dialect_is_in_the_kernels() -> None:
    used = {op.name for make in (vector_kernel, cube_kernel) for op in make().function.walk()}
    assert {op.name for op in HIVM.operations} <= used


@pytest.mark.parametrize(
    ("written", "corrupted"),
    [
        ("hivm.hir.vexp", "hivm.hir.vexpp"),
        ("#hivm.pipe<PIPE_MTE2>", "#hivm.pipe<PIPE_MTE9>"),
        ("operandSegmentSizes = array<i32: 2, 1, 0>", "operandSegmentSizes = array<i32: 1, 1, 1>"),
        ("#hacc.function_kind<DEVICE>", "#hacc.function_kind<DEVISE>"),
        ("reduce_dims = array<i64: 1>", "reduce_dims = array<i64: 2>"),
    ],
)
def test_corrupted_text_is_refused(written: str, corrupted: str, bishengir_opt: Callable[..., str]) -> None:
    text = vector_kernel().text()
    assert written in text
    with pytest.raises(AssertionError, match="bishengir-opt refuses it"):
        bishengir_opt(text.replace(written, corrupted))
    with pytest.raises((ParseError, VerifyException, ValueError)):
        parse(text.replace(written, corrupted)).verify()


def ub(shape: Sequence[int], element: Attribute) -> SSAValue:
    return Kernel(a.CoreType.VECTOR).buffer(shape, element)


def gm(shape: Sequence[int], element: Attribute) -> SSAValue:
    return Kernel(a.CoreType.VECTOR, in_space(shape, element, a.AddressSpace.GM)).arguments[0]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: elementwise.VAddOp([ub([8], i64)] * 2, ub([8], i64)), "vadd does not take elements of type i64"),
        (lambda: elementwise.VExpOp([ub([8], bf16)], ub([8], bf16)), "vexp does not take elements of type bf16"),
        (lambda: elementwise.VExpOp([ub([8], f32)], ub([9], f32)), "shapes differ"),
        (lambda: elementwise.VAddOp([gm([8], f32)] * 2, gm([8], f32)), "operand in gm, where ub is required"),
        (lambda: choosing.VCmpOp(ub([8], i32), ub([8], i32), ub([8], i1), a.CompareMode.LT), "eq and ne only"),
        (lambda: elementwise.VCastOp(ub([8], i64), ub([8], f16)), "does not convert i64 to f16"),
        (lambda: elementwise.VCastOp(ub([8], f16), ub([8], f32), a.RoundMode.FLOOR), "has no round mode floor"),
        (lambda: transfers.LoadOp(gm([8], f32), gm([8], f32)), "no data path from gm to gm"),
        (lambda: transfers.StoreOp(gm([8], f32), ub([8], f32)), "no data path from gm to ub"),
        (lambda: transfers.LoadOp(gm([8], f32), ub([9], f32)), "shapes differ"),
        (lambda: rearranging.VReduceOp(ub([4, 8], f32), ub([4, 2], f32), a.ReduceKind.SUM, [1]), "along axes"),
        (lambda: rearranging.VBrcOp(ub([4, 2], f32), ub([4, 8], f32), [1]), "along axes"),
        (lambda: rearranging.VTransposeOp(ub([4, 8], f32), ub([4, 8], f32), [1, 0]), "permuted by"),
    ],
)
def test_what_the_910b_does_not_have_is_refused(make: Callable[[], Operation], message: str) -> None:
    with pytest.raises(VerifyException, match=message):
        make().verify()


def test_bf16_is_rounded_to_nearest_even() -> None:
    x = np.array([1.0, 1 + 2**-8, 1 + 3 * 2**-8, -1 - 2**-9 * 1.5, 3.4e38, np.inf, -np.inf, np.nan], np.float32)
    expected = np.array([1.0, 1.0, 1 + 2**-6, -1 - 2**-8 * 0, np.inf, np.inf, -np.inf, np.nan], np.float32)
    np.testing.assert_array_equal(bf16_to_f32(f32_to_bf16(x)), expected)


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        (a.RoundMode.RINT, [2, -2, 0, 2**31 - 1, -(2**31), 0]),
        (a.RoundMode.ROUND, [3, -3, 1, 2**31 - 1, -(2**31), 0]),
        (a.RoundMode.FLOOR, [2, -3, 0, 2**31 - 1, -(2**31), 0]),
        (a.RoundMode.CEIL, [3, -2, 1, 2**31 - 1, -(2**31), 0]),
        (a.RoundMode.TRUNC, [2, -2, 0, 2**31 - 1, -(2**31), 0]),
    ],
)
def test_floats_become_integers_by_round_mode(mode: a.RoundMode, expected: list[int]) -> None:
    x = np.array([2.5, -2.5, 0.5, 3e9, -3e9, np.nan], np.float32)
    np.testing.assert_array_equal(convert(x, "f32", "i32", mode), np.array(expected, np.int32))


def test_f32_becomes_f16_in_each_direction() -> None:
    x = np.array([0.1, -0.1, 70000.0], np.float32)
    down, up, cut = (
        convert(x, "f32", "f16", mode) for mode in (a.RoundMode.FLOOR, a.RoundMode.CEIL, a.RoundMode.TRUNC)
    )
    assert (down.astype(np.float32) <= x).all() and (up.astype(np.float32) >= x).all()
    assert down[2] == np.finfo(np.float16).max and up[2] == np.inf
    assert cut[0] == down[0] and cut[1] == up[1] and down[0] < up[0]


def test_nz_layout_holds_ragged_matrices() -> None:
    """Element (r, c) is at (c // 16, r // 16, r % 16, c % 16), as in Huawei's guide for f16."""
    matrix = np.arange(35 * 50).reshape(35, 50).astype(np.float16)
    fractals = cube.NZ.pack(matrix, (4, 3, 16, 16))
    for row, column in ((0, 0), (17, 3), (34, 49), (5, 33)):
        assert fractals[column // 16, row // 16, row % 16, column % 16] == matrix[row, column]
    np.testing.assert_array_equal(cube.NZ.unpack(fractals)[:35, :50], matrix)
    assert cube.NZ.unpack(fractals)[35:].sum() == 0
