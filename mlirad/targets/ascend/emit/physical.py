"""Gives the buffers of kernels addresses, and synchronises the pipes of a core.

Reads: kernels as loops over tiles in `memref.alloc`ed buffers. Writes: the same with `hivm.hir.pointer_cast`, scratch,
flags and barriers. Leaves: functions of the host.

The innermost loop of a kernel is a pipeline: while the vector unit computes one tile, transfers load the next and store
the last. So each buffer of a transfer in that loop (it has a mark) becomes two buffers, used alternately, and the flags
of even and odd trips have separate ids:

    set V->MTE2 0, 1;  set MTE3->V 0, 1            # all buffers are free
    for each tile, with its id:
        wait V->MTE2;  loads;   set MTE2->V
        wait MTE2->V, MTE3->V;  vector instructions;  set V->MTE2, V->MTE3
        wait V->MTE3;  stores;  set MTE3->V
    wait V->MTE2 0, 1;  wait MTE3->V 0, 1          # no flag stays set

Around it, everything waits between two transfers or instructions of different pipes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects import arith, func, memref, scf
from xdsl.dialects.builtin import MemRefType, ModuleOp, i64
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from mlirad.dialect.core.expr import emitting, insert
from mlirad.dialect.core.scalars import number
from mlirad.errors import CompileError
from mlirad.lowering.rewriting import erase
from mlirad.targets.ascend.cube.matmul_kernel import is_on_cube, write_physical_kernel
from mlirad.targets.ascend.hivm.hivm_attributes import EventId, Pipe
from mlirad.targets.ascend.hivm.instruction import Instruction
from mlirad.targets.ascend.hivm.synchronisation import MarkOp, PipeBarrierOp, SetFlagOp, WaitFlagOp
from mlirad.targets.ascend.hivm.transfers import PointerCastOp
from mlirad.targets.ascend.soc import Soc, for_soc
from mlirad.targets.ascend.tiles.sizes import bytes_of, up
from mlirad.targets.ascend.tiles.tile_plan import UB
from mlirad.xdsl_support.traversal import find, ops_inside, ops_of

_IDS = (EventId.ID0, EventId.ID1)


@dataclass(frozen=True)
class HivmPhysical(ModulePass):
    """Plan addresses, and synchronise the pipes. Marked buffers become two, loops over tiles get flags.

    soc: the chip.

    Before:

        func.func @double(%x: memref<40xf32, #hivm.address_space<gm>>, %y: memref<40xf32, #hivm.address_space<gm>>)
            attributes {hacc.entry, hacc.function_kind = #hacc.function_kind<DEVICE>,
                        hivm.func_core_type = #hivm.func_core_type<AIV>} {
          %0 = memref.alloc() : memref<40xf32, #hivm.address_space<ub>>
          "hivm.hir.load"(%x, %0) <{operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0>}>
            : (memref<40xf32, #hivm.address_space<gm>>, memref<40xf32, #hivm.address_space<ub>>) -> ()
          "hivm.hir.store"(%0, %y)
            : (memref<40xf32, #hivm.address_space<ub>>, memref<40xf32, #hivm.address_space<gm>>) -> ()
          func.return
        }

    After `mlirad-hivm-physical{soc=Ascend910B1}`:

        func.func @double(%x: memref<40xf32, #hivm.address_space<gm>>, %y: memref<40xf32, #hivm.address_space<gm>>)
            attributes {hacc.entry, hacc.function_kind = #hacc.function_kind<DEVICE>,
                        hivm.func_core_type = #hivm.func_core_type<AIV>} {
          %0 = arith.constant 0 : i64
          %1 = "hivm.hir.pointer_cast"(%0) <{operandSegmentSizes = array<i32: 1, 0>}>
            : (i64) -> memref<40xf32, #hivm.address_space<ub>>
          "hivm.hir.load"(%x, %1) <{operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0>}>
            : (memref<40xf32, #hivm.address_space<gm>>, memref<40xf32, #hivm.address_space<ub>>) -> ()
          "hivm.hir.pipe_barrier"() <{pipe = #hivm.pipe<PIPE_ALL>}> : () -> ()
          "hivm.hir.store"(%1, %y)
            : (memref<40xf32, #hivm.address_space<ub>>, memref<40xf32, #hivm.address_space<gm>>) -> ()
          "hivm.hir.pipe_barrier"() <{pipe = #hivm.pipe<PIPE_ALL>}> : () -> ()
          func.return
        }
    """

    name = "mlirad-hivm-physical"

    soc: str = "Ascend910B1"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        soc = for_soc(self.soc)
        for function in [each for each in op.ops if isinstance(each, func.FuncOp) and not each.is_declaration]:
            if is_on_cube(function):
                write_physical_kernel(function, soc)
            elif find(function, Instruction):
                _Kernel(function, soc).write()


@dataclass
class _Kernel:
    function: func.FuncOp
    soc: Soc
    next_address: int = 0
    trips: dict[scf.ForOp, tuple[SSAValue, SSAValue]] = field(default_factory=dict)
    """For each pipelined loop, 0 in even and 1 in odd trips, and whether the trip is odd."""

    def write(self) -> None:
        marks = find(self.function, MarkOp)
        twice = {mark.src for mark in marks}
        for mark in marks:
            erase(mark)
        pipelines = {loop for loop in find(self.function, scf.ForOp) if not find(loop, scf.ForOp)}
        for loop in pipelines:
            self.count(loop)
        self.place_scratch()
        for buffer in find(self.function, memref.AllocOp):
            loop = next((each for each in pipelines if _is_used_in(buffer, each)), None)
            self.place(buffer) if loop is None or buffer.memref not in twice else self.place_twice(buffer, loop)
        if self.next_address > self.soc.ub_bytes:
            room = f"{self.soc.ub_bytes} B of the unified buffer"
            raise CompileError(f"internal error: a kernel needs {self.next_address} B, more than the {room}")
        for loop in pipelines:
            self.pipeline(loop)
        self.separate(self.function.body.block, pipelines)
        end = self.function.get_return_op()
        assert end is not None
        if not isinstance(end.prev_op, PipeBarrierOp):
            with emitting(InsertPoint.before(end), end.location):
                insert(PipeBarrierOp(Pipe.ALL))

    # Addresses

    def reserve(self, type: MemRefType) -> int:
        """The address of a new buffer."""
        address = self.next_address
        self.next_address += up(bytes_of(type), self.soc.ub_alignment)
        return address

    def place_scratch(self) -> None:
        """Give instructions their scratch; all of them share the same bytes."""
        counts = {each: each.scratch_elements(_shape, _room) for each in find(self.function, Instruction)}
        types = {
            each: MemRefType(_type(each.output()).element_type, [count], memory_space=UB)
            for each, count in counts.items()
            if count
        }
        if not types:
            return
        address = self.reserve(max(types.values(), key=bytes_of))
        made: dict[MemRefType, SSAValue] = {}
        with emitting(InsertPoint.at_start(self.function.body.block), self.function.location):
            place = number(address, i64)
            for type in dict.fromkeys(types.values()):
                made[type] = insert(PointerCastOp([place], type)).result
        for each, type in types.items():
            each.give_scratch(made[type])

    def place(self, buffer: memref.AllocOp) -> None:
        assert isinstance(buffer.memref.type, MemRefType)
        with emitting(InsertPoint.before(buffer), buffer.location):
            address = number(self.reserve(buffer.memref.type), i64)
            placed = insert(PointerCastOp([address], buffer.memref.type)).result
        buffer.memref.replace_all_uses_with(placed)
        erase(buffer)

    def place_twice(self, buffer: memref.AllocOp, loop: scf.ForOp) -> None:
        """Create one buffer for the even trips of a loop, and another for the odd ones."""
        type = buffer.memref.type
        assert isinstance(type, MemRefType)
        with emitting(InsertPoint.before(buffer), buffer.location):
            even, odd = number(self.reserve(type), i64), number(self.reserve(type), i64)
        _, is_odd = self.trips[loop]
        assert isinstance(is_odd.owner, Operation)
        with emitting(InsertPoint.after(is_odd.owner), buffer.location):
            address = insert(arith.SelectOp(is_odd, odd, even)).result
            placed = insert(PointerCastOp([address], type)).result
        buffer.memref.replace_all_uses_with(placed)
        erase(buffer)

    def count(self, loop: scf.ForOp) -> None:
        first = loop.body.block.first_op
        assert first is not None
        with emitting(InsertPoint.before(first), loop.location):
            passed = insert(arith.SubiOp(loop.body.block.args[0], loop.lb)).result
            trip = insert(arith.DivUIOp(passed, loop.step)).result
            parity = insert(arith.RemUIOp(trip, number(2, trip.type))).result
            trip = insert(arith.IndexCastOp(parity, i64)).result
            self.trips[loop] = trip, insert(arith.CmpiOp(trip, number(1, i64), "eq")).result

    # Synchronisation

    def pipeline(self, loop: scf.ForOp) -> None:
        """Order the transfers and instructions of a loop, within its trips and between them."""
        body, (trip, _) = loop.body.block, self.trips[loop]
        instructions = [each for each in ops_of(body) if isinstance(each, Instruction)]
        stages = {
            pipe: [each for each in instructions if each.pipe() is pipe] for pipe in (Pipe.MTE2, Pipe.V, Pipe.MTE3)
        }
        loads, computes, stores = stages.values()
        assert instructions == [*loads, *computes, *stores] and computes, "a tile is loaded, computed, and stored"
        self.order_instructions(computes, is_repeated=True)
        if loads:
            self.hand_over(loads, computes, trip)
            self.give_back(loop, computes, loads, trip)
        if stores:
            self.hand_over(computes, stores, trip)
            self.give_back(loop, stores, computes, trip)

    def hand_over(self, producers: list[Instruction], consumers: list[Instruction], trip: SSAValue) -> None:
        """The consumers wait until the producers of the same trip have finished."""
        pair = producers[0].pipe(), consumers[0].pipe()
        with emitting(InsertPoint.before(_first_of(consumers)), consumers[0].location):
            insert(SetFlagOp(*pair, trip))
            insert(WaitFlagOp(*pair, trip))

    def give_back(self, loop: scf.ForOp, users: list[Instruction], writers: list[Instruction], trip: SSAValue) -> None:
        """The writers wait until the users have finished with the same buffers, two trips before."""
        pair = users[0].pipe(), writers[0].pipe()
        with emitting(InsertPoint.before(loop), loop.location):
            for each in _IDS:
                insert(SetFlagOp(*pair, each))
        with emitting(InsertPoint.before(_first_of(writers)), writers[0].location):
            insert(WaitFlagOp(*pair, trip))
        with emitting(InsertPoint.after(users[-1]), users[-1].location):
            insert(SetFlagOp(*pair, trip))
        with emitting(InsertPoint.after(loop), loop.location):
            for each in _IDS:
                insert(WaitFlagOp(*pair, each))

    def order_instructions(self, instructions: list[Instruction], is_repeated: bool) -> None:
        """Insert a barrier where an instruction needs a result that an earlier one of the same pipe may not have
        finished."""
        read, written = set[SSAValue](), set[SSAValue]()
        for index, each in enumerate(instructions):
            inputs = {_buffer(value) for value in each.inputs() if isinstance(value.type, MemRefType)}
            outputs = {_buffer(each.output()), *(_address(value) for value in each.scratch())}
            if inputs & written or outputs & (read | written) or (is_repeated and index == 0):
                with emitting(InsertPoint.before(each), each.location):
                    insert(PipeBarrierOp(Pipe.V))
                read, written = set(), set()
            read |= inputs
            written |= outputs

    def separate(self, block: Block, pipelines: set[scf.ForOp]) -> None:
        """Outside of pipelines, everything waits for the preceding op. At its end the kernel waits for everything."""
        ops = list(ops_of(block))
        is_alone = block is self.function.body.block and not any(isinstance(op, Instruction) for op in ops)
        for op in ops:
            if isinstance(op, scf.ForOp) and op not in pipelines:
                self.separate(op.body.block, pipelines)
            elif isinstance(op, Instruction | scf.ForOp) and not is_alone:
                with emitting(InsertPoint.after(op), op.location):
                    insert(PipeBarrierOp(Pipe.ALL))


def _first_of(instructions: list[Instruction]) -> Operation:
    """The first of them, or the barrier right before it."""
    first = instructions[0]
    return first.prev_op if isinstance(first.prev_op, PipeBarrierOp) else first


def _type(value: SSAValue) -> MemRefType:
    assert isinstance(value.type, MemRefType)
    return value.type


def _shape(value: SSAValue) -> tuple[int, ...]:
    return _type(value).get_shape()


def _room(value: SSAValue) -> int:
    return math.prod(_shape(_buffer(value)))


def _address(scratch: SSAValue) -> SSAValue:
    """The common base of all casts of the scratch."""
    assert isinstance(scratch.owner, PointerCastOp)
    return scratch.owner.addrs[0]


def _buffer(value: SSAValue) -> SSAValue:
    """The buffer that a view belongs to."""
    while isinstance(value.owner, memref.SubviewOp | memref.ExpandShapeOp):
        value = value.owner.operands[0]
    return value


def _is_used_in(buffer: memref.AllocOp, loop: scf.ForOp) -> bool:
    inside = set(ops_inside(loop))
    return any(use.operation in inside for use in buffer.memref.uses)
