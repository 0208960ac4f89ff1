"""Reads: memref.copy, linalg.fill of zeros. Writes: loops over the strided axes, and calls that move or clear a block
of memory. Leaves: neither op."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects import memref
from xdsl.dialects.builtin import MemRefType
from xdsl.dialects.linalg.ops import FillOp, YieldOp
from xdsl.ir import Operation, SSAValue

from mlirad.targets.cpu.emit.descriptor import MemRef, address, facts_of, is_literal, multiply
from mlirad.targets.cpu.emit.function import FunctionEmitter, Phi, Rule
from mlirad.targets.cpu.emit.llvm_types import alignment, byte_size, memory_type
from mlirad.targets.cpu.emit.memref import load
from mlirad.targets.cpu.emit.polling import charge
from mlirad.targets.cpu.emit.scf import emit_terminator


@dataclass(frozen=True, slots=True)
class _Loop:
    counter: Phi
    header: str
    after: str


def emit_copy(e: FunctionEmitter, op: memref.CopyOp) -> None:
    source, target = e.memref(op.source), e.memref(op.destination)
    if _is_identity(op.source) and _is_identity(op.destination):
        axis = 0
    else:
        axis = max(_block_axis(source), _block_axis(target))
    with e.scope():
        _copy_blocks(e, source, target, axis, _count(e, source.sizes[axis:]))
    if op in e.polling.moves:
        charge(e, e.assign(f"lshr i64 {_count(e, source.sizes)}, 2"))


def emit_clear(e: FunctionEmitter, op: FillOp) -> None:
    """A fill of one block of memory with zero bits: the stage `loops` has no other fill."""
    target = e.memref(op.outputs[0])
    # LLVM would turn its own memset into up to sixteen stores, whose compile time exceeds many clears.
    e.module.declare("memset", "declare ptr @memset(ptr, i32, i64) nounwind willreturn memory(argmem: write)")
    size = byte_size(target.element)
    pointer, bytes = address(e, target, ["0"] * len(target.sizes)), multiply(e, _count(e, target.sizes), str(size))
    e.line(f"call ptr @memset(ptr align {alignment(target.element)} {pointer}, i32 0, i64 {bytes}) nobuiltin")


def _count(e: FunctionEmitter, sizes: Sequence[str]) -> str:
    """The number of elements."""
    count = "1"
    for word in sizes:
        count = multiply(e, count, word)
    return count


def _copy_blocks(e: FunctionEmitter, source: MemRef, target: MemRef, axis: int, size: str) -> None:
    """Copy blocks of `size` elements, for all indices along the axes before `axis`."""
    loops = [_open(e, bound) for bound in source.sizes[:axis]]
    indices = [loop.counter.name for loop in loops] + ["0"] * (len(source.sizes) - axis)
    bytes_aligned = alignment(source.element)
    if size == "1":
        word = load(e, source, indices)
        pointer = address(e, target, indices)
        e.line(f"store {memory_type(source.element)} {word}, ptr {pointer}, align {bytes_aligned}")
    else:
        bytes = multiply(e, size, str(byte_size(source.element)))
        _move(e, address(e, target, indices), address(e, source, indices), bytes, bytes_aligned)
    for loop in reversed(loops):
        _close(e, loop)


def _is_identity(value: SSAValue) -> bool:
    assert isinstance(value.type, MemRefType)
    return facts_of(value.type).strides is None


def _block_axis(value: MemRef) -> int:
    """The first axis from which on `value` is one block of memory, according to its literal sizes and strides."""
    expected, axis = 1, len(value.sizes)
    while axis > 0 and value.strides[axis - 1] == str(expected):
        axis -= 1
        if not is_literal(value.sizes[axis]):
            break
        expected *= int(value.sizes[axis])
    return axis


def _move(e: FunctionEmitter, target: str, source: str, bytes: str, alignment: int) -> None:
    """A memmove; LLVM turns it into a memcpy if it sees that the two do not overlap."""
    name = "llvm.memmove.p0.p0.i64"
    e.module.declare(name, f"declare void @{name}(ptr, ptr, i64, i1)")
    aligned = f"align {alignment}"
    e.line(f"call void @{name}(ptr {aligned} {target}, ptr {aligned} {source}, i64 {bytes}, i1 false)")


def _open(e: FunctionEmitter, bound: str) -> _Loop:
    header, inside, after = e.fresh("copy"), e.fresh("body"), e.fresh("done")
    before = e.current
    e.branch(header)
    e.label(header)
    counter = e.phi("i64")
    e.incoming(counter, "0", before)
    e.line(f"br i1 {e.assign(f'icmp slt i64 {counter.name}, {bound}')}, label %{inside}, label %{after}")
    e.label(inside)
    return _Loop(counter, header, after)


def _close(e: FunctionEmitter, loop: _Loop) -> None:
    following = e.assign(f"add nuw nsw i64 {loop.counter.name}, 1")
    e.incoming(loop.counter, following, e.current)
    e.branch(loop.header)
    e.label(loop.after)


RULES: dict[type[Operation], Rule] = {memref.CopyOp: emit_copy, FillOp: emit_clear, YieldOp: emit_terminator}
