"""Runs stage `hivm-virtual` on the CPU with third-party programs, independently of the simulator.

Reads: a module of stage `hivm-virtual`. Writes: upstream MLIR, LLVM IR. Leaves: what its function computes of arrays.

`bishengir-opt --execution-engine-convert-hivm-to-upstream` is Huawei's CPU semantics of `hivm`. It has none for
comparisons, conversions, `vnot`, `copy`, `mmadL1` and the number of a block: MEANINGS writes these. Of the rest,
`mlir-opt-19` and `mlir-translate-19` make LLVM IR, which LLVM runs. Blocks run one after the other.
"""

from __future__ import annotations

import ctypes
import math as real
from collections.abc import Callable, Sequence
from typing import Any

import llvmlite.binding as llvm
import numpy as np
from xdsl.dialects import arith, bufferization, func, math, memref, scf, tensor
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AffineMapAttr,
    AnyFloat,
    IndexType,
    IntegerAttr,
    MemRefType,
    ModuleOp,
    TensorType,
    UnitAttr,
    f32,
    i1,
    i64,
)
from xdsl.dialects.linalg.attrs import IteratorType, IteratorTypeAttr
from xdsl.dialects.linalg.ops import FillOp, GenericOp, YieldOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.rewriter import InsertPoint

from mlirad.dialect.core.expr import building, emitting, insert, located
from mlirad.dialect.core.scalars import number
from mlirad.lowering.rewriting import erase
from mlirad.targets.ascend.emit.virtual import BLOCKS
from mlirad.targets.ascend.hivm.choosing_instructions import VCmpOp
from mlirad.targets.ascend.hivm.cube_instructions import MmadL1Op
from mlirad.targets.ascend.hivm.elementwise_instructions import VCastOp, VNotOp
from mlirad.targets.ascend.hivm.hivm_attributes import CompareMode, ReduceKind, RoundMode
from mlirad.targets.ascend.hivm.instruction import element_dtype, integers
from mlirad.targets.ascend.hivm.rearranging_instructions import VBrcOp, VReduceOp
from mlirad.targets.ascend.hivm.synchronisation import GetBlockIdxOp, MarkOp
from mlirad.targets.ascend.hivm.transfers import CopyOp, StoreOp

ENTRY = "run_on_cpu"
LOWERING = (
    "--one-shot-bufferize",
    "--convert-linalg-to-loops",
    "--expand-strided-metadata",
    "--lower-affine",
    "--convert-scf-to-cf",
    "--convert-math-to-llvm",
    "--finalize-memref-to-llvm",
    "--convert-arith-to-llvm",
    "--convert-func-to-llvm",
    "--convert-cf-to-llvm",
    "--reconcile-unrealized-casts",
)
INDEX = IndexType()
Compute = Callable[..., SSAValue]
"""Emits what becomes of elements."""

_COMPARED = {"eq": "oeq", "ne": "une", "lt": "olt", "gt": "ogt", "ge": "oge", "le": "ole"}
_ROUNDED: dict[RoundMode, type[Operation]] = {
    RoundMode.RINT: math.RoundEvenOp,
    RoundMode.ROUND: math.RoundOp,
    RoundMode.FLOOR: math.FloorOp,
    RoundMode.CEIL: math.CeilOp,
    RoundMode.TRUNC: math.TruncOp,
}
_NEUTRAL = {ReduceKind.SUM: 0.0, ReduceKind.PROD: 1.0, ReduceKind.MAX: -real.inf, ReduceKind.MIN: real.inf}


# Ops that Huawei's semantics lacks


def _compared(mode: CompareMode) -> Compute:
    def compute(x: SSAValue, y: SSAValue) -> SSAValue:
        if isinstance(x.type, AnyFloat):
            return insert(arith.CmpfOp(x, y, _COMPARED[mode])).result
        return insert(arith.CmpiOp(x, y, mode.value)).result

    return compute


def _converted(to: Attribute, mode: RoundMode) -> Compute:
    def rounded(x: SSAValue) -> SSAValue:
        return insert(_ROUNDED[mode].create(operands=[x], result_types=[x.type])).results[0]

    def compute(x: SSAValue) -> SSAValue:
        if not isinstance(x.type, AnyFloat):
            return insert((arith.UIToFPOp if x.type == i1 else arith.SIToFPOp)(x, to)).result  # pyright: ignore[reportArgumentType]: a float
        if not isinstance(to, AnyFloat):
            return insert(arith.FPToSIOp(rounded(x), to)).result  # pyright: ignore[reportArgumentType]: an integer
        if x.type == to:
            return rounded(x)
        if x.type.bitwidth < to.bitwidth:
            return insert(arith.ExtFOp(x, to)).result
        assert mode is RoundMode.RINT
        return insert(arith.TruncFOp(x, to)).result

    return compute


def _not(x: SSAValue) -> SSAValue:
    return insert(arith.XOrIOp(x, number(-1, x.type))).result


def _generic(maps: Sequence[AffineMap], inputs: Sequence[SSAValue], output: SSAValue, compute: Compute) -> SSAValue:
    """A `linalg.generic`; loops that the output has not are reduced. Gives the result, or the buffer that it is in."""
    block = Block(arg_types=[getattr(each.type, "element_type", each.type) for each in (*inputs, output)])
    kept = maps[-1].used_dims_bit_vector()
    with building(block):
        insert(YieldOp(compute(*(block.args[:-1] if all(kept) else block.args))))
    kinds = [IteratorType.PARALLEL if each else IteratorType.REDUCTION for each in kept]
    results = [output.type] if isinstance(output.type, TensorType) else []
    attributes = list(map(AffineMapAttr, maps)), list(map(IteratorTypeAttr, kinds))
    made = insert(GenericOp(inputs, [output], Region(block), *attributes, results))
    return made.results[0] if results else output


def _pointwise(inputs: Sequence[SSAValue], output: SSAValue, compute: Compute) -> SSAValue:
    """Scalars take part in every element."""
    assert isinstance(output.type, MemRefType | TensorType)
    rank = output.type.get_num_dims()
    of_scalar = AffineMap(rank, 0, ())
    maps = [AffineMap.identity(rank) if hasattr(each.type, "element_type") else of_scalar for each in (*inputs, output)]
    return _generic(maps, inputs, output, compute)


def _cast(op: VCastOp) -> SSAValue:
    type = op.dst[0].type
    assert isinstance(type, MemRefType | TensorType)
    return _pointwise(op.src, op.dst[0], _converted(type.element_type, op.round_mode.data))


def _product(op: MmadL1Op) -> SSAValue:
    """Of tensors: m, k and n say how much of them is there. The rest of the result is left as it was."""
    m, k, n = op.real_m, op.real_k, op.real_n
    a = _corner(op.a, (k, m) if op.a_transpose else (m, k))
    b = _corner(op.b, (n, k) if op.b_transpose else (k, n))
    before = _corner(op.c, (m, n))
    zero = number(0.0, f32)
    empty = insert(tensor.EmptyOp([m, n], before.type)).tensor
    zeros = insert(FillOp([zero], [empty], [before.type])).results[0]
    start = insert(arith.SelectOp(op.init_condition, zeros, before)).result
    maps = [
        AffineMap.from_callable(lambda m, n, k: (k, m) if op.a_transpose else (m, k)),
        AffineMap.from_callable(lambda m, n, k: (n, k) if op.b_transpose else (k, n)),
        AffineMap.from_callable(lambda m, n, k: (m, n)),
    ]

    def compute(x: SSAValue, y: SSAValue, total: SSAValue) -> SSAValue:
        x, y = (each if each.type == f32 else insert(arith.ExtFOp(each, f32)).result for each in (x, y))
        return insert(arith.AddfOp(total, insert(arith.MulfOp(x, y)).result)).result

    product = _generic(maps, (a, b), start, compute)
    return insert(tensor.InsertSliceOp.get(product, op.c, [DYNAMIC_INDEX] * 2, sizes=[m, n])).result


def _corner(value: SSAValue, sizes: tuple[SSAValue, SSAValue]) -> SSAValue:
    assert isinstance(value.type, TensorType)
    type = TensorType(value.type.element_type, [DYNAMIC_INDEX] * 2)
    return insert(tensor.ExtractSliceOp(value, [0, 0], sizes, [1, 1], type)).result


_COMBINED: dict[ReduceKind, type[arith.FloatingPointLikeBinaryOperation]] = {
    ReduceKind.SUM: arith.AddfOp,
    ReduceKind.PROD: arith.MulfOp,
    ReduceKind.MAX: arith.MaximumfOp,
    ReduceKind.MIN: arith.MinimumfOp,
}


def _reduced_whole(op: VReduceOp) -> SSAValue:
    """Along all axes, for which Huawei's semantics of 1.2.0 makes IR that does not verify."""
    rank = len(integers(op.reduce_dims))
    maps = [AffineMap.identity(rank), AffineMap(rank, 0, (AffineExpr.constant(0),) * rank)]
    return _generic(maps, [op.src], op.dst[0], lambda x, y: insert(_COMBINED[op.arith.data](x, y)).result)


def _stored(op: StoreOp) -> SSAValue:
    """For a tensor; Huawei's semantics is for buffers."""
    made = bufferization.MaterializeInDestinationOp
    insert(made(operands=[op.src, op.dst], result_types=[[]], properties={"writable": UnitAttr()}))
    return op.dst


MEANINGS: dict[type[Operation], Callable[[Any], SSAValue]] = {
    VCmpOp: lambda op: _pointwise(op.src, op.dst[0], _compared(op.compare_mode.data)),
    VCastOp: _cast,
    VNotOp: lambda op: _pointwise(op.src, op.dst[0], _not),
    CopyOp: lambda op: insert(memref.CopyOp(op.src, op.dst)).destination,
    MmadL1Op: _product,
}
"""The meaning of an op: emits it, and returns the op's result, if any."""


# The module


def upstream(module: ModuleOp, name: str) -> ModuleOp:
    """A copy in what Huawei's semantics has, and ENTRY, which calls a function of it.

    A kernel's last argument is the number of its block; a launch is a loop over blocks. Huawei's `vreduce` goes on from
    what its output holds. The function of the device that it becomes gets the neutral element, here written first.
    """
    module = module.clone()
    called = next(op for op in module.ops if isinstance(op, func.FuncOp) and op.sym_name.data == name)
    for op in list(module.walk()):
        if op.parent is not None:
            with emitting(InsertPoint.before(op), op.location):
                _rewrite(op)
    for op in module.ops:
        if isinstance(op, func.FuncOp):
            op.attributes = {}
            op.update_function_type()
    module.body.block.add_op(_entry(called))
    return module


def _rewrite(op: Operation) -> None:
    if type(op) in MEANINGS or (isinstance(op, StoreOp) and isinstance(op.src.type, TensorType)):
        result = MEANINGS.get(type(op), _stored)(op)
        for each in op.results:
            each.replace_all_uses_with(result)
        erase(op)
    elif isinstance(op, VReduceOp):
        assert isinstance(op.src.type, MemRefType)
        insert(VBrcOp(number(_NEUTRAL[op.arith.data], op.src.type.element_type), op.dst[0]))
        if len(integers(op.reduce_dims)) == op.src.type.get_num_dims():
            _reduced_whole(op)
            erase(op)
    elif isinstance(op, MarkOp):  # which buffers there are to be two of
        erase(op)
    elif isinstance(op, GetBlockIdxOp):
        kernel = op.parent
        assert kernel is not None and isinstance(kernel.parent_op(), func.FuncOp)
        op.result.replace_all_uses_with(kernel.insert_arg(i64, len(kernel.args)))
        erase(op)
    elif isinstance(op, func.CallOp) and BLOCKS in op.attributes:
        count = op.attributes[BLOCKS]
        assert isinstance(count, IntegerAttr)
        start, end, step = (number(each, INDEX) for each in (0, count.value.data, 1))
        block = Block(arg_types=[INDEX])
        with building(block):
            index = insert(arith.IndexCastOp(block.args[0], i64)).result
            insert(func.CallOp(op.callee, [*op.operands, index], []))
            insert(scf.YieldOp())
        insert(scf.ForOp(start, end, step, [], block))
        erase(op)


def _entry(called: func.FuncOp) -> func.FuncOp:
    """Takes arrays only: the arguments, numbers among them, and then the results, which it writes."""
    inputs, outputs = called.function_type.inputs.data, called.function_type.outputs.data
    types = [each if isinstance(each, MemRefType) else MemRefType(each, []) for each in (*inputs, *outputs)]
    block = Block(arg_types=types)
    with located(None), building(block):
        given = [
            value if value.type == type else insert(memref.LoadOp.get(value, [])).res
            for value, type in zip(block.args, inputs, strict=False)
        ]
        results = insert(func.CallOp(called.sym_name.data, given, outputs)).results
        for result, place in zip(results, block.args[len(inputs) :], strict=True):
            if isinstance(result.type, MemRefType):
                insert(memref.CopyOp(result, place))
            else:
                insert(memref.StoreOp.get(result, place, []))
        insert(func.ReturnOp())
    made = func.FuncOp(ENTRY, (types, []), Region(block))
    made.attributes["llvm.emit_c_interface"] = UnitAttr()
    return made


# Running it


class Descriptor:
    """An array as MLIR passes it: two pointers, an offset, sizes and strides."""

    def __init__(self, array: np.ndarray):
        steps = (stride // array.itemsize for stride in array.strides)
        self.array = array
        self.words = np.array([array.ctypes.data, array.ctypes.data, 0, *array.shape, *steps], np.int64)


def _array_at(address: int, item: int) -> np.ndarray:
    """The array of an unranked memref: its rank, and the address of its descriptor. Elements are bytes."""
    rank, at = np.ctypeslib.as_array((ctypes.c_int64 * 2).from_address(address))
    words = np.ctypeslib.as_array((ctypes.c_int64 * (3 + 2 * int(rank))).from_address(int(at)))
    shape, steps = (list(map(int, each)) for each in (words[3 : 3 + rank], words[3 + rank :]))
    first = np.ctypeslib.as_array((ctypes.c_uint8 * item).from_address(int(words[1]) + int(words[2]) * item))
    strides = [step * item for step in steps]
    return np.lib.stride_tricks.as_strided(first.view(np.dtype((np.void, item))), shape, strides)


@ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p)
def _memref_copy(item: int, source: int, target: int) -> None:
    """The function that MLIR calls to copy parts; it is in a library that Debian's package lacks."""
    np.copyto(_array_at(target, item), _array_at(source, item))


def execute(ir: str, arrays: Sequence[np.ndarray]) -> None:
    """Call ENTRY of LLVM IR."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    address = ctypes.cast(_memref_copy, ctypes.c_void_p).value
    assert address is not None
    llvm.add_symbol("memrefCopy", address)
    target = llvm.Target.from_default_triple()
    machine = target.create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=llvm.get_host_cpu_features().flatten()
    )
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(ir), machine)
    engine.finalize_object()
    descriptors = [Descriptor(each) for each in arrays]
    call = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * len(arrays))
    call(engine.get_function_address(f"_mlir_ciface_{ENTRY}"))(*(each.words.ctypes.data for each in descriptors))


def places(called: func.FuncOp, values: Sequence[Any]) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Copies of the arguments, and arrays for the results."""
    inputs, outputs = called.function_type.inputs.data, called.function_type.outputs.data
    given = [np.array(value, element_dtype(type), order="C") for value, type in zip(values, inputs, strict=True)]
    shapes = [type.get_shape() if isinstance(type, MemRefType) else () for type in outputs]
    return given, [np.zeros(shape, element_dtype(type)) for shape, type in zip(shapes, outputs, strict=True)]
