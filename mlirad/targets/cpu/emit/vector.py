"""Reads: vector ops of rank 1. Writes: LLVM vector instructions. Leaves: no vector op (transfers are refused)."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import vector
from xdsl.dialects.builtin import VectorType
from xdsl.ir import Attribute, Operation, SSAValue

from mlirad.errors import TargetError
from mlirad.targets.cpu.emit.arith import fast_flags
from mlirad.targets.cpu.emit.descriptor import MemRef, address
from mlirad.targets.cpu.emit.function import FunctionEmitter, Rule
from mlirad.targets.cpu.emit.llvm_types import (
    bits_of,
    byte_size,
    filled,
    is_float,
    lanes_of,
    llvm_type,
    memory_type,
    suffix,
)
from mlirad.targets.cpu.emit.memref import access, from_memory, to_memory


def _place(e: FunctionEmitter, base: SSAValue, indices: Sequence[SSAValue], type: Attribute, *, is_masked: bool) -> str:
    """A pointer to the first lane, for `ptr align N %p`; the lanes are one element apart."""
    memref: MemRef = e.memref(base)
    lanes_of(type)
    if memref.strides and memref.strides[-1] != "1":
        raise TargetError("a vector is loaded or stored along a dimension with a stride other than 1")
    return address(e, memref, e.words(indices), is_masked=is_masked)


def emit_load(e: FunctionEmitter, op: vector.LoadOp) -> None:
    (base, *indices), (result,) = op.operands, op.results
    type = result.type
    pointer = _place(e, base, indices, type, is_masked=False)
    loaded = e.assign(f"load {memory_type(type)}, ptr {pointer}, align {byte_size(type)}{access(e, base)}")
    e.bind(result, from_memory(e, loaded, type))


def emit_store(e: FunctionEmitter, op: vector.StoreOp) -> None:
    value, base, *indices = op.operands
    type = value.type
    pointer = _place(e, base, indices, type, is_masked=False)
    word = to_memory(e, e.word(value), type)
    e.line(f"store {memory_type(type)} {word}, ptr {pointer}, align {byte_size(type)}{access(e, base)}")


def _memory_suffix(type: Attribute) -> str:
    return f"v{lanes_of(type)}i8.p0" if bits_of(type) == 1 else f"{suffix(type)}.p0"


def emit_maskedload(e: FunctionEmitter, op: vector.MaskedLoadOp) -> None:
    (base, *indices, mask_value, otherwise), (result,) = op.operands, op.results
    type = result.type
    memory, mask = memory_type(type), llvm_type(mask_value.type)
    pointer = _place(e, base, indices, type, is_masked=True)
    default = to_memory(e, e.word(otherwise), type)
    name = f"llvm.masked.load.{_memory_suffix(type)}"
    callee = e.module.declare(name, f"declare {memory} @{name}(ptr, {mask}, {memory})")
    arguments = f"ptr align {byte_size(type)} {pointer}, {mask} {e.word(mask_value)}, {memory} {default}"
    loaded = e.assign(f"call {memory} {callee}({arguments}){access(e, base)}")
    e.bind(result, from_memory(e, loaded, type))


def emit_maskedstore(e: FunctionEmitter, op: vector.MaskedStoreOp) -> None:
    base, *indices, mask_value, value = op.operands
    type = value.type
    memory, mask = memory_type(type), llvm_type(mask_value.type)
    pointer = _place(e, base, indices, type, is_masked=True)
    word = to_memory(e, e.word(value), type)
    name = f"llvm.masked.store.{_memory_suffix(type)}"
    callee = e.module.declare(name, f"declare void @{name}({memory}, ptr, {mask})")
    arguments = f"{memory} {word}, ptr align {byte_size(type)} {pointer}, {mask} {e.word(mask_value)}"
    e.line(f"call void {callee}({arguments}){access(e, base)}")


def splat(e: FunctionEmitter, word: str, type: VectorType) -> str:
    """A vector with a scalar in all lanes."""
    full, element = llvm_type(type), llvm_type(type.element_type)
    if word[0] != "%":
        return f"splat ({element} {word})"
    one = e.pure(f"insertelement {full} poison, {element} {word}, i64 0", word)
    return e.pure(f"shufflevector {full} {one}, {full} poison, <{lanes_of(type)} x i32> zeroinitializer", one)


def emit_broadcast(e: FunctionEmitter, op: vector.BroadcastOp) -> None:
    (operand,), (result,) = op.operands, op.results
    source, type = operand.type, result.type
    assert isinstance(type, VectorType)
    lanes, word = lanes_of(source), e.word(operand)
    if lanes is None:
        e.bind(result, splat(e, word, type))
    elif lanes == lanes_of(type):
        e.bind(result, word)
    else:
        full = llvm_type(source)
        zeros = f"<{lanes_of(type)} x i32> zeroinitializer"
        e.bind(result, e.pure(f"shufflevector {full} {word}, {full} poison, {zeros}", word))


def emit_fma(e: FunctionEmitter, op: vector.FMAOp) -> None:
    (result,) = op.results
    word = llvm_type(result.type)
    arguments = [(word, operand) for operand in e.words(op.operands)]
    e.bind(result, e.intrinsic(f"llvm.fma.{suffix(result.type)}", word, arguments))


def emit_create_mask(e: FunctionEmitter, op: vector.CreateMaskOp) -> None:
    """Lane i is on if i < n; n may be negative, or exceed the lanes. Compared in 32 bits, which needs half the
    registers."""
    lanes = lanes_of(op.mask_vector.type)
    (count,) = e.words(op.mask_dim_sizes)
    low = e.intrinsic("llvm.smax.i64", "i64", [("i64", count), ("i64", "0")])
    clamped = e.intrinsic("llvm.smin.i64", "i64", [("i64", low), ("i64", str(lanes))])
    narrow = e.pure(f"trunc i64 {clamped} to i32", clamped)
    full = f"<{lanes} x i32>"
    one = e.pure(f"insertelement {full} poison, i32 {narrow}, i64 0", narrow)
    all = e.pure(f"shufflevector {full} {one}, {full} poison, {full} zeroinitializer", one)
    numbers = "<" + ", ".join(f"i32 {lane}" for lane in range(lanes or 1)) + ">"
    e.bind(op.mask_vector, e.pure(f"icmp slt {full} {numbers}, {all}", all))


_REDUCTIONS: dict[vector.CombiningKindFlag, tuple[str, str, str]] = {
    # kind: (suffix of the intrinsic's name, op that combines with the accumulator, start value of a float sum or
    # product)
    vector.CombiningKindFlag.ADD: ("add", "add", "-0.0"),
    vector.CombiningKindFlag.MUL: ("mul", "mul", "1.0"),
    vector.CombiningKindFlag.MINUI: ("umin", "llvm.umin", ""),
    vector.CombiningKindFlag.MINSI: ("smin", "llvm.smin", ""),
    vector.CombiningKindFlag.MAXUI: ("umax", "llvm.umax", ""),
    vector.CombiningKindFlag.MAXSI: ("smax", "llvm.smax", ""),
    vector.CombiningKindFlag.MINNUMF: ("fmin", "llvm.minnum", ""),
    vector.CombiningKindFlag.MAXNUMF: ("fmax", "llvm.maxnum", ""),
    vector.CombiningKindFlag.MINIMUMF: ("fminimum", "llvm.minimum", ""),
    vector.CombiningKindFlag.MAXIMUMF: ("fmaximum", "llvm.maximum", ""),
    vector.CombiningKindFlag.AND: ("and", "and", ""),
    vector.CombiningKindFlag.OR: ("or", "or", ""),
    vector.CombiningKindFlag.XOR: ("xor", "xor", ""),
}


def emit_reduction(e: FunctionEmitter, op: vector.ReductionOp) -> None:
    """Float sums and products are computed lane by lane from the accumulator, unless the op allows reassociation."""
    source, result = op.vector.type, op.dest.type
    scalar, full, flags = llvm_type(result), llvm_type(source), fast_flags(op)
    name, combine, start = _REDUCTIONS[op.kind.data]
    accumulator = None if op.acc is None else e.word(op.acc)
    if start and is_float(source):
        first = filled(float(start), result) if accumulator is None else accumulator
        arguments = [(scalar, first), (full, e.word(op.vector))]
        e.bind(op.dest, e.intrinsic(f"llvm.vector.reduce.f{name}.{suffix(source)}", scalar, arguments, flags))
        return
    arguments = [(full, e.word(op.vector))]
    reduced = e.intrinsic(f"llvm.vector.reduce.{name}.{suffix(source)}", scalar, arguments, flags)
    if accumulator is not None:
        if combine.startswith("llvm."):
            pair = [(scalar, accumulator), (scalar, reduced)]
            reduced = e.intrinsic(f"{combine}.{suffix(result)}", scalar, pair, flags)
        else:
            reduced = e.assign(f"{combine} {scalar} {accumulator}, {reduced}")
    e.bind(op.dest, reduced)


def _position(e: FunctionEmitter, op: vector.ExtractOp | vector.InsertOp) -> str:
    positions = op.get_mixed_position()
    if len(positions) != 1:
        raise TargetError(f"the cpu target supports {op.name} only for one lane of a vector of rank 1")
    return str(positions[0]) if isinstance(positions[0], int) else e.word(positions[0])


def emit_extract(e: FunctionEmitter, op: vector.ExtractOp) -> None:
    word, position = e.word(op.vector), _position(e, op)
    text = f"extractelement {llvm_type(op.vector.type)} {word}, i64 {position}"
    e.bind(op.result, e.pure(text, word, position))


def emit_insert(e: FunctionEmitter, op: vector.InsertOp) -> None:
    scalar, into, position = e.word(op.source), e.word(op.dest), _position(e, op)
    text = f"insertelement {llvm_type(op.dest.type)} {into}, {llvm_type(op.source.type)} {scalar}, i64 {position}"
    e.bind(op.result, e.pure(text, scalar, into, position))


def emit_shuffle(e: FunctionEmitter, op: vector.ShuffleOp) -> None:
    mask = op.mask.get_values()
    first, second = lanes_of(op.v1.type) or 0, lanes_of(op.v2.type) or 0
    a, b = e.words((op.v1, op.v2))
    if first != second:
        raise TargetError("the cpu target shuffles only vectors of equal lengths")
    lanes = ", ".join("i32 poison" if lane < 0 else f"i32 {lane}" for lane in mask)
    type = llvm_type(op.v1.type)
    e.bind(op.result, e.pure(f"shufflevector {type} {a}, {type} {b}, <{len(mask)} x i32> <{lanes}>", a, b))


def emit_bitcast(e: FunctionEmitter, op: vector.BitcastOp) -> None:
    source, target = llvm_type(op.source.type), llvm_type(op.result.type)
    word = e.word(op.source)
    e.bind(op.result, word if source == target else e.assign(f"bitcast {source} {word} to {target}"))


RULES: dict[type[Operation], Rule] = {
    vector.LoadOp: emit_load,
    vector.StoreOp: emit_store,
    vector.MaskedLoadOp: emit_maskedload,
    vector.MaskedStoreOp: emit_maskedstore,
    vector.BroadcastOp: emit_broadcast,
    vector.FMAOp: emit_fma,
    vector.CreateMaskOp: emit_create_mask,
    vector.ReductionOp: emit_reduction,
    vector.ExtractOp: emit_extract,
    vector.InsertOp: emit_insert,
    vector.ShuffleOp: emit_shuffle,
    vector.BitcastOp: emit_bitcast,
}
