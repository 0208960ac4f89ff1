"""Reads: memref ops. Writes: typed GEPs, loads, stores, and runtime calls for dynamic memory. Leaves: no memref op.

A view costs nothing: it is another descriptor over the same pointer.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ComplexType,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    IntegerAttr,
    IntegerType,
    MemRefType,
)
from xdsl.ir import Attribute, Operation, SSAValue

from mlirad.errors import TargetError
from mlirad.lowering.to_buffers.plan_arena import block_bytes_of, needed_bytes
from mlirad.targets.cpu.call_context import MEMORY_ERROR
from mlirad.targets.cpu.emit.descriptor import (
    MemRef,
    Parts,
    address,
    facts_of,
    is_literal,
    linear,
    multiply,
    row_major,
    to_parts,
)
from mlirad.targets.cpu.emit.function import FunctionEmitter, ModuleEmitter, Rule, quoted, symbol
from mlirad.targets.cpu.emit.llvm_types import alignment, bits_of, byte_size, constant_bytes, llvm_type, memory_type
from mlirad.xdsl_support.prefetch import PrefetchOp

ALIGNMENT = 64
LARGEST_STACK = 1 << 14  # bytes of the stack that a function may use for arrays
LARGEST_TASK_STACK = 1 << 15  # the same for functions that threads run: less than `native_stack.RESERVE`
_ESCAPED = [f"\\{byte:02X}" for byte in range(256)]


# elements


def from_memory(e: FunctionEmitter, word: str, type: Attribute) -> str:
    """A loaded word as a value: any byte but 0 is a true bool."""
    if isinstance(type, ComplexType) or bits_of(type) != 1:
        return word
    zero = "0" if memory_type(type) == "i8" else "zeroinitializer"
    return e.assign(f"icmp ne {memory_type(type)} {word}, {zero}")


def to_memory(e: FunctionEmitter, word: str, type: Attribute) -> str:
    """A value as the word that is stored: a bool is the byte 0 or 1."""
    if bits_of(type) != 1:
        return word
    if word in ("true", "false"):
        return str(int(word == "true"))
    return e.assign(f"zext {llvm_type(type)} {word} to {memory_type(type)}")


def access(e: FunctionEmitter, base: SSAValue) -> str:
    """Alias metadata for an access through `base`: the arena buffer that it is in."""
    return e.arena_scopes.get(base, "")


def load(e: FunctionEmitter, source: MemRef, indices: Sequence[str], metadata: str = "") -> str:
    pointer = address(e, source, indices)
    type = source.element
    return e.assign(f"load {memory_type(type)}, ptr {pointer}, align {alignment(type)}{metadata}")


def _part_pointers(e: FunctionEmitter, array: SSAValue, indices: Sequence[SSAValue], part: str) -> tuple[str, str]:
    """The addresses of the parts of a complex element; the parts have the LLVM type `part`."""
    pointer = address(e, e.memref(array), e.words(indices))
    return pointer, e.pure(f"getelementptr inbounds {part}, ptr {pointer}, i64 1", pointer)


def emit_load(e: FunctionEmitter, op: memref.LoadOp) -> None:
    (source, *indices), (result,) = op.operands, op.results
    if isinstance(result.type, ComplexType):
        part, align = llvm_type(result.type.element_type), alignment(result.type)
        pointers = _part_pointers(e, source, indices, part)
        words = (e.assign(f"load {part}, ptr {each}, align {align}{access(e, source)}") for each in pointers)
        e.bind(result, Parts(*words))
        return
    loaded = load(e, e.memref(source), e.words(indices), access(e, source))
    e.bind(result, from_memory(e, loaded, result.type))


def emit_store(e: FunctionEmitter, op: memref.StoreOp) -> None:
    value, target, *indices = op.operands
    type = value.type
    if isinstance(type, ComplexType):
        part, align = llvm_type(type.element_type), alignment(type)
        pointers = _part_pointers(e, target, indices, part)
        for (_, word), each in zip(to_parts(e.value(value), type), pointers, strict=True):
            e.line(f"store {part} {word}, ptr {each}, align {align}{access(e, target)}")
        return
    pointer = address(e, e.memref(target), e.words(indices))
    word = to_memory(e, e.word(value), type)
    e.line(f"store {memory_type(type)} {word}, ptr {pointer}, align {byte_size(type)}{access(e, target)}")


def emit_prefetch(e: FunctionEmitter, op: PrefetchOp) -> None:
    pointer = address(e, e.memref(op.memref), e.words(op.indices), is_masked=True)
    name = "llvm.prefetch.p0"
    callee = e.module.declare(name, f"declare void @{name}(ptr, i32, i32, i32)")
    is_write, locality = int(bool(op.isWrite)), op.localityHint.value.data
    e.line(f"call void {callee}(ptr {pointer}, i32 {is_write}, i32 {locality}, i32 {int(bool(op.isDataCache))})")


# memory


def _sizes(e: FunctionEmitter, type: MemRefType, dynamic: Sequence[SSAValue]) -> tuple[str, ...]:
    words = iter(e.words(dynamic))
    return tuple(next(words) if size is None else str(size) for size in facts_of(type).sizes)


def _contiguous(e: FunctionEmitter, type: MemRefType, pointer: str, sizes: tuple[str, ...]) -> MemRef:
    if facts_of(type).strides is not None:
        raise TargetError(f"the cpu target allocates memrefs of identity layout only, not {type}")
    return MemRef(type.element_type, pointer, "0", sizes, row_major(e, sizes))


def _byte_count(e: FunctionEmitter, sizes: Sequence[str], element: Attribute) -> str:
    """The bytes of an array. A negative size, or a product that overflows, raises MemoryError."""
    total = str(byte_size(element) * prod(int(size) for size in sizes if is_literal(size)))
    for size in sizes:
        if is_literal(size):
            continue
        name = "llvm.umul.with.overflow.i64"
        e.module.declare(name, f"declare {{i64, i1}} @{name}(i64, i64)")
        pair = e.assign(f"call {{i64, i1}} @{name}(i64 {total}, i64 {size})")
        overflows = e.assign(f"extractvalue {{i64, i1}} {pair}, 1")
        total = e.assign(f"extractvalue {{i64, i1}} {pair}, 0")
        e.require(e.assign(f"xor i1 {overflows}, true"), MEMORY_ERROR)
    return total


def allocate(e: FunctionEmitter, bytes: str) -> str:
    """Memory of the current call, 64-byte aligned, freed or reused when the call ends."""
    callee = e.module.use_runtime("mlirad.alloc")
    pointer = e.assign(f"call ptr {callee}(ptr %ctx, i64 {bytes})")
    e.require_memory(pointer)
    return pointer


def emit_alloc(e: FunctionEmitter, op: memref.AllocOp) -> None:
    type = op.memref.type
    sizes = _sizes(e, type, op.dynamic_sizes)
    pointer = _in_arena(e, op) or allocate(e, _byte_count(e, sizes, type.element_type))
    e.bind(op.memref, _contiguous(e, type, pointer, sizes))


def _in_arena(e: FunctionEmitter, op: Operation) -> str | None:
    """The planned place of an array; None if there is none."""
    offset = op.attributes.get("mlirad.offset")
    if not isinstance(offset, IntegerAttr):
        return None
    bytes = str(offset.value.data)
    if (blocks := block_bytes_of(op)) is not None:
        apart, parallel = blocks
        before = e.assign(f"mul nuw nsw i64 {e.word(parallel.body.block.args[0])}, {apart}")
        bytes = e.assign(f"add nuw nsw i64 {before}, {bytes}")
    pointer = "%arena" if bytes == "0" else e.assign(f"getelementptr inbounds i8, ptr %arena, i64 {bytes}")
    if blocks is None and isinstance(op, memref.AllocOp):
        start = offset.value.data
        e.ranges[pointer] = start, max(start + needed_bytes(op), e.ranges.get(pointer, (0, 0))[1])
    return pointer


def emit_alloca(e: FunctionEmitter, op: memref.AllocaOp) -> None:
    """Use the stack while the arrays there are small: memory is reserved once, at the function's entry, even in a loop.

    Otherwise use the arena, if there is room, or the memory of arrays of unknown size.
    """
    type = op.memref.type
    sizes = _sizes(e, type, op.dynamic_sizes)
    if not all(map(is_literal, sizes)):
        pointer = allocate(e, _byte_count(e, sizes, type.element_type))
    else:
        count = prod(map(int, sizes))
        bytes = count * byte_size(type.element_type)
        e.stack_bytes += bytes
        if e.stack_bytes > (LARGEST_TASK_STACK if e.is_task else LARGEST_STACK):
            pointer = _in_arena(e, op) or allocate(e, str(bytes))
        else:
            pointer = f"%{e.fresh('stack')}"
            element = memory_type(type.element_type)
            e.allocas.append(f"  {pointer} = alloca [{count} x {element}], align {ALIGNMENT}")
    e.bind(op.memref, _contiguous(e, type, pointer, sizes))


def emit_dealloc(e: FunctionEmitter, op: memref.DeallocOp) -> None:
    """Nothing: the call's memory is freed as a whole."""


def emit_global(module: ModuleEmitter, op: memref.GlobalOp) -> None:
    value = op.initial_value
    kind = "constant" if op.constant is not None else "global"
    text = "zeroinitializer"
    size = prod(op.type.get_shape()) * byte_size(op.type.element_type)
    if isinstance(value, DenseIntOrFPElementsAttr) and any(data := constant_bytes(value)):
        text = 'c"' + "".join([_ESCAPED[byte] for byte in data]) + '"'
    name = quoted(symbol("global", op.sym_name.data))
    line = f"{name} = private {kind} [{size} x i8] {text}, align {ALIGNMENT}"
    if op.constant is not None:
        module.constants[name] = line
    else:
        module.chunks.append(line)


def emit_get_global(e: FunctionEmitter, op: memref.GetGlobalOp) -> None:
    type = op.memref.type
    sizes = tuple(str(size) for size in type.get_shape())
    e.bind(op.memref, _contiguous(e, type, quoted(symbol("global", op.name_.string_value())), sizes))


# views


def _mixed(e: FunctionEmitter, static: DenseArrayBase[IntegerType], dynamic: Sequence[SSAValue]) -> list[str]:
    words = iter(e.words(dynamic))
    return [next(words) if value == DYNAMIC_INDEX else str(value) for value in static.get_values()]


def _view(e: FunctionEmitter, op: Operation, source: SSAValue, value: MemRef) -> None:
    result = op.results[0]
    e.bind(result, value)
    if source in e.arena_scopes:
        e.arena_scopes[result] = e.arena_scopes[source]


def emit_subview(e: FunctionEmitter, op: memref.SubviewOp) -> None:
    source = e.memref(op.source)
    offsets = _mixed(e, op.static_offsets, op.offsets)
    sizes = _mixed(e, op.static_sizes, op.sizes)
    steps = _mixed(e, op.static_strides, op.strides)
    strides = [multiply(e, step, stride) for step, stride in zip(steps, source.strides, strict=True)]
    offset = linear(e, source, offsets)
    kept = _kept(op)
    value = MemRef(
        source.element,
        source.pointer,
        offset,
        tuple(sizes[axis] for axis in kept),
        tuple(strides[axis] for axis in kept),
    )
    _view(e, op, op.source, value)


def _kept(op: memref.SubviewOp) -> list[int]:
    """The axes that a rank-reducing subview keeps: it drops axes of size 1, whose stride is never used."""
    wanted = list(op.result.type.get_shape())
    sizes = list(op.static_sizes.get_values())
    kept: list[int] = []
    for axis, size in enumerate(sizes):
        must_keep = len(wanted) - len(kept) >= len(sizes) - axis
        if must_keep or (len(kept) < len(wanted) and size == wanted[len(kept)]):
            kept.append(axis)
    return kept


def emit_reinterpret_cast(e: FunctionEmitter, op: memref.ReinterpretCastOp) -> None:
    source = e.memref(op.source)
    (offset,) = _mixed(e, op.static_offsets, op.offsets)
    sizes = tuple(_mixed(e, op.static_sizes, op.sizes))
    strides = tuple(_mixed(e, op.static_strides, op.strides))
    _view(e, op, op.source, MemRef(source.element, source.pointer, offset, sizes, strides))


def emit_cast(e: FunctionEmitter, op: memref.CastOp) -> None:
    """The same memory; static parts of the new type replace dynamic ones."""
    source, type = e.memref(op.source), op.dest.type
    if not isinstance(type, MemRefType):
        raise TargetError("the cpu target has no unranked memrefs")
    facts = facts_of(type)
    sizes = tuple(known if size is None else str(size) for known, size in zip(source.sizes, facts.sizes, strict=True))
    _view(e, op, op.source, MemRef(source.element, source.pointer, source.offset, sizes, source.strides))


def emit_dim(e: FunctionEmitter, op: memref.DimOp) -> None:
    axis = op.index.owner
    if not isinstance(axis, arith.ConstantOp):
        raise TargetError("the cpu target supports memref.dim only for a constant axis")
    e.bind(op.result, e.memref(op.source).sizes[int(e.word(op.index))])


def _groups(op: memref.CollapseShapeOp | memref.ExpandShapeOp) -> list[list[int]]:
    return [[axis.value.data for axis in group] for group in op.reassociation]


def emit_collapse_shape(e: FunctionEmitter, op: memref.CollapseShapeOp) -> None:
    source = e.memref(op.src)
    sizes: list[str] = []
    strides: list[str] = []
    for group in _groups(op):
        size = "1"
        for axis in group:
            size = multiply(e, size, source.sizes[axis])
        sizes.append(size)
        # The innermost axis that moves; if none does, any stride will do.
        moving = [axis for axis in group if source.sizes[axis] != "1"] or group
        strides.append(source.strides[moving[-1]])
    _view(e, op, op.src, MemRef(source.element, source.pointer, source.offset, tuple(sizes), tuple(strides)))


def emit_expand_shape(e: FunctionEmitter, op: memref.ExpandShapeOp) -> None:
    source = e.memref(op.src)
    sizes = _mixed(e, op.static_output_shape, op.output_shape)
    strides = ["1"] * len(sizes)
    for stride, group in zip(source.strides, _groups(op), strict=False):
        for axis in reversed(group):
            strides[axis] = stride
            stride = multiply(e, stride, sizes[axis])
    _view(e, op, op.src, MemRef(source.element, source.pointer, source.offset, tuple(sizes), tuple(strides)))


def emit_view(e: FunctionEmitter, op: memref.ViewOp) -> None:
    source = e.memref(op.source)
    shift = linear(e, source, [e.word(op.byte_shift)])
    pointer = e.assign(f"getelementptr inbounds i8, ptr {source.pointer}, i64 {shift}")
    type = op.result.type
    _view(e, op, op.source, _contiguous(e, type, pointer, _sizes(e, type, op.sizes)))


def emit_metadata(e: FunctionEmitter, op: memref.ExtractStridedMetaDataOp) -> None:
    source = e.memref(op.source)
    _view(e, op, op.source, MemRef(source.element, source.pointer, "0", (), ()))
    words = (source.offset, *source.sizes, *source.strides)
    for result, word in zip(op.results[1:], words, strict=True):
        e.bind(result, word)


def emit_assume_alignment(e: FunctionEmitter, op: memref.AssumeAlignmentOp) -> None:
    _view(e, op, op.memref, e.memref(op.memref))


RULES: dict[type[Operation], Rule] = {
    memref.LoadOp: emit_load,
    memref.StoreOp: emit_store,
    PrefetchOp: emit_prefetch,
    memref.AllocOp: emit_alloc,
    memref.AllocaOp: emit_alloca,
    memref.DeallocOp: emit_dealloc,
    memref.GetGlobalOp: emit_get_global,
    memref.SubviewOp: emit_subview,
    memref.ReinterpretCastOp: emit_reinterpret_cast,
    memref.CastOp: emit_cast,
    memref.DimOp: emit_dim,
    memref.CollapseShapeOp: emit_collapse_shape,
    memref.ExpandShapeOp: emit_expand_shape,
    memref.ViewOp: emit_view,
    memref.ExtractStridedMetaDataOp: emit_metadata,
    memref.AssumeAlignmentOp: emit_assume_alignment,
}
