"""The memory that a call needs, computed from the module alone: the report of `Lowered.memory()`.

Reads: a module of stage `bufferized`, and the final sizes of the arenas. Writes: nothing. Gives: a report. Where the
analysis is not exact, it gives a bound, and the report says so.

It follows how emitted code allocates and frees blocks (`emit/scf.py`, `emit/func.py`): a loop that carries no array
frees at the end of each trip what the trip allocated; a call frees what it allocated and does not return.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects import func, memref, scf
from xdsl.dialects.builtin import DictionaryAttr, IndexType, IntegerAttr, MemRefType, ModuleOp
from xdsl.ir import Block, Operation

from mlirad.analysis.memory import GROW
from mlirad.dialect.ad.tape import SLOT
from mlirad.dialect.core.types import from_location, itemsize
from mlirad.lowering.to_buffers.plan_arena import OFFSET, Lives, needed_bytes
from mlirad.targets.byte_counts import ByteCount, applied, bound_of, largest
from mlirad.targets.cpu.arena_report import ARENA, SEGMENTS, ArenaReport
from mlirad.targets.cpu.emit.func import arena_size
from mlirad.targets.cpu.emit.scf import may_release
from mlirad.targets.cpu.sizes import Sizes, per_trip
from mlirad.targets.memory_report import BufferReport

_NOTHING = ByteCount()
_LONGEST = 100
"""With more parts, the maximum of several formulas is bounded by a simpler one."""


@dataclass(frozen=True)
class _Held:
    """The memory in segments that a piece of code holds at its end, and its maximum while it runs."""

    kept: ByteCount = _NOTHING
    peak: ByteCount = _NOTHING


def report_on(module: ModuleOp, name: str, arenas: Mapping[str, int]) -> ArenaReport:
    """The memory of calls of the public function `name`. arenas: the final sizes, for all functions."""
    functions = {op.sym_name.data: op for op in module.body.block.ops if isinstance(op, func.FuncOp)}
    walk = _Walk(functions, arenas)
    entry = functions[name]
    held = walk.function(entry)
    buffers = sorted(walk.buffers.values(), key=lambda each: each.region == ARENA)
    return ArenaReport(name, _result_bytes(entry), tuple(buffers), walk.is_exact, arenas[name], held.peak)


def arenas_of(module: ModuleOp) -> dict[str, int]:
    """The bytes of the arenas of the functions of stage `loops`, in which they are final."""
    functions = [op for op in module.body.block.ops if isinstance(op, func.FuncOp) and not op.is_declaration]
    return {op.sym_name.data: arena_size(op) for op in functions}


def _result_bytes(entry: func.FuncOp) -> int:
    """The bytes of the results that the caller allocates."""
    attributes = entry.arg_attrs.data if entry.arg_attrs is not None else ()
    types = [
        type
        for type, attribute in zip(entry.function_type.inputs, attributes, strict=False)
        if isinstance(attribute, DictionaryAttr) and "mlirad.result" in attribute.data
    ]
    return sum(type.element_count() * _element_bytes(type) for type in types if isinstance(type, MemRefType))


def _element_bytes(type: MemRefType) -> int:
    return 8 if isinstance(type.element_type, IndexType) else itemsize(type.element_type)


class _Walk:
    """The walk through all functions that a call of the first one may reach."""

    def __init__(self, functions: dict[str, func.FuncOp], arenas: Mapping[str, int]) -> None:
        self._functions, self._arenas = functions, arenas
        self._active: list[func.FuncOp] = []
        self._calling_themselves: set[func.FuncOp] = set()
        self._memories: dict[func.FuncOp, _Memory] = {}
        self.buffers: dict[object, BufferReport] = {}
        self.is_exact = True

    def function(self, op: func.FuncOp) -> _Held:
        self._active.append(op)
        held = self._block(op.body.block, self._memory(op))
        self._active.pop()
        return held

    def _memory(self, function: func.FuncOp) -> _Memory:
        found = self._memories.get(function)
        if found is None:
            found = self._memories[function] = _Memory(function, [*self._growths(function)])
        return found

    def _growths(self, function: func.FuncOp) -> Iterator[func.CallOp]:
        """The calls that extend an array: of the runtime's function, or of a function that takes over the array."""
        for op in function.walk():
            if isinstance(op, func.CallOp) and any(isinstance(each.type, MemRefType) for each in op.results):
                name = op.callee.string_value()
                if name.startswith(GROW) or self._grows(self._functions[name], {function}):
                    yield op

    def _grows(self, function: func.FuncOp, seen: set[func.FuncOp]) -> bool:
        seen.add(function)
        called = [op.callee.string_value() for op in function.walk() if isinstance(op, func.CallOp)]
        if any(name.startswith(GROW) for name in called):
            return True
        others = {self._functions[name] for name in called if name in self._functions} - seen
        return any(self._grows(each, seen) for each in others)

    def _returns_memory(self, function: func.FuncOp, seen: tuple[func.FuncOp, ...] = ()) -> bool:
        """Whether a caller may receive memory that a call has allocated."""
        lives = self._memory(function).lives
        for op in function.walk():
            if isinstance(op, memref.AllocOp) and lives.is_returned(op.memref):
                return True
            if isinstance(op, func.CallOp):
                callee = self._functions[op.callee.string_value()]
                gives = any(isinstance(each.type, MemRefType) and lives.is_returned(each) for each in op.results)
                if gives and not callee.is_declaration and callee not in (*seen, function):
                    if self._returns_memory(callee, (*seen, function)):
                        return True
        return False

    def _block(self, block: Block, memory: _Memory) -> _Held:
        kept, peak = _NOTHING, _NOTHING
        for op in block.ops:
            held = self._op(op, memory)
            peak = self._largest(peak, kept + held.peak)
            kept = kept + held.kept
        return _Held(kept, peak)

    def _largest(self, *counts: ByteCount) -> ByteCount:
        found = largest(*counts)
        if found.weight > _LONGEST and not any(found is each for each in counts):
            simple = bound_of(*counts)
            self.is_exact = self.is_exact and simple in counts
            return simple
        return found

    def _op(self, op: Operation, memory: _Memory) -> _Held:
        match op:
            case memref.AllocOp():
                return self._alloc(op, memory)
            case func.CallOp():
                return self._call(op, memory)
            case scf.IfOp():
                return self._branches(op, memory)
            case scf.ForOp() | scf.WhileOp():
                return self._loop(op, memory)
        return _Held()

    def _alloc(self, op: memref.AllocOp, memory: _Memory) -> _Held:
        found = memory.buffer(op)
        self.buffers[op] = found.buffer
        self.is_exact = self.is_exact and found.is_exact
        return _Held() if found.buffer.region == ARENA else _Held(found.buffer.bytes, found.buffer.bytes)

    def _branches(self, op: scf.IfOp, memory: _Memory) -> _Held:
        held = [self._block(region.block, memory) for region in op.regions if region.blocks]
        held += [_Held()] * (2 - len(held))
        if held[0] != held[1]:
            self.is_exact = False
        return _Held(self._largest(*(each.kept for each in held)), self._largest(*(each.peak for each in held)))

    def _loop(self, op: scf.ForOp | scf.WhileOp, memory: _Memory) -> _Held:
        parts = [self._block(region.block, memory) for region in op.regions]
        kept = sum((each.kept for each in parts), _NOTHING)
        if not any(each.peak != _NOTHING for each in parts):
            return _Held()
        # Memory allocated by the condition of a while still exists in its body.
        peak = self._largest(parts[0].peak, parts[0].kept + parts[-1].peak) if len(parts) == 2 else parts[0].peak
        trips = memory.sizes.trips(op)
        if may_release(op):
            if not (trips.low.static or 0) > 0:
                self.is_exact = False  # it may not run at all
            return _Held(_NOTHING, peak)
        if kept != _NOTHING:
            self.is_exact = False
        all_trips = trips.high * kept
        return _Held(all_trips, all_trips + peak)

    def _call(self, op: func.CallOp, memory: _Memory) -> _Held:
        callee = self._functions.get(op.callee.string_value())
        if callee is None or callee.is_declaration:
            return _Held()
        if callee in self._active:
            self._calling_themselves.add(callee)
            return _Held()
        held = self.function(callee)
        arena = ByteCount.of(self._arenas[callee.sym_name.data])
        frame = arena + held.peak
        kept = arena + held.kept if self._returns_memory(callee) else _NOTHING
        if callee in self._calling_themselves:
            if frame != _NOTHING:
                self.is_exact = False
                under_way = memory.sizes.unknown("calls", callee, callee)
                place = from_location(callee.location)
                self.buffers[callee] = BufferReport("frame", under_way * frame, place, SEGMENTS)
                frame = under_way * frame
                kept = under_way * kept
        elif kept != _NOTHING:
            self.is_exact = False
        return _Held(kept, frame)


@dataclass(frozen=True)
class _Found:
    buffer: BufferReport
    is_exact: bool


class _Memory:
    """The arrays of one function."""

    def __init__(self, function: func.FuncOp, growths: Sequence[func.CallOp]) -> None:
        self.sizes = Sizes(function)
        self.lives = Lives(function.body.block)
        self._growths = growths

    def buffer(self, alloc: memref.AllocOp) -> _Found:
        slot = alloc.attributes.get(SLOT)
        width = slot.value.data if isinstance(slot, IntegerAttr) else None
        place, in_arena = from_location(alloc.location), OFFSET in alloc.attributes
        element = _element_bytes(_type_of(alloc))
        kind = "result" if self.lives.is_returned(alloc.memref) else "array" if width is None else "tape"
        growths = [each for each in self._growths if self._is_of(each, alloc)]
        if growths:
            elements, count, is_exact = self._grown(alloc, growths, width or 0)
            bytes = elements * element
            per_trip = (width or 0) * element or None
            return _Found(BufferReport(kind, bytes, place, SEGMENTS, per_trip, count, True), is_exact)
        counts = [self.sizes.of(each) for each in alloc.dynamic_sizes]
        elements = ByteCount.of(1)
        for size in _type_of(alloc).get_shape():
            if size >= 0:
                elements = elements * size
        for each in counts:
            elements = elements * each.high
        trips = None if not width else _divided(elements, width)
        is_exact = all(each.is_exact for each in counts)
        bytes = ByteCount.of(needed_bytes(alloc)) if in_arena else elements * element
        per_trip = width * element if width and trips is not None else None
        region = ARENA if in_arena else SEGMENTS
        return _Found(BufferReport(kind, bytes, place, region, per_trip, trips), is_exact or in_arena)

    def _is_of(self, growth: func.CallOp, alloc: memref.AllocOp) -> bool:
        grown = [each for each in growth.results if isinstance(each.type, MemRefType)]
        return any(self.lives.are_one(each, alloc.memref) for each in grown)

    def _grown(
        self, alloc: memref.AllocOp, growths: list[func.CallOp], width: int
    ) -> tuple[ByteCount, ByteCount | None, bool]:
        """An upper bound for the elements of a growing array; the trips that fill it; whether the bound is exact."""
        first = self.sizes.of(alloc.dynamic_sizes[0]).high if alloc.dynamic_sizes else ByteCount.of(needed_bytes(alloc))
        is_plain = len(growths) == 1 and growths[0].callee.string_value().startswith(GROW)
        found = per_trip(growths[0].operands[1]) if is_plain and width else None
        if found is not None:
            loop, step, most = found
            count = self.sizes.trips(loop)
            # One element more than the last requested index. With small steps the size doubles each time.
            needed = count.high * step + (most + 1 - step)
            if count.is_exact and step == most + 1 and step + 15 <= (first.static or 0):
                return applied("doubled", first, needed), count.high, True
        elif width:
            count = self.sizes.unknown("trips", alloc, growths[0])
            return largest(first, count * (2 * width) + 16), count, False
        entries = self.sizes.unknown("entries", alloc, alloc)
        return largest(first, entries * 2 + 16), None, False


def _type_of(alloc: memref.AllocOp) -> MemRefType:
    assert isinstance(alloc.memref.type, MemRefType)
    return alloc.memref.type


def _divided(elements: ByteCount, width: int) -> ByteCount | None:
    if any(factor % width for _, factor in elements.terms):
        return None
    return ByteCount(tuple((atoms, factor // width) for atoms, factor in elements.terms))
