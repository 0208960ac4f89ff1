"""A matmul with addresses, layouts and flags: every transfer of the cube core is an instruction.

Reads: a matmul and its tiles. Writes: func's body in scf, arith, memref and hivm. Leaves: the arguments.

    set MTE1->MTE2 0, 1;  set M->MTE1 0, 1;  set FIX->M 0, 1      # all buffers are free
    for each tile of C, with its id:
        wait FIX->M
        for each part of k in L1, with its id:
            wait MTE1->MTE2;  nd2nz A;  nd2nz B;  set MTE2->MTE1
            wait MTE2->MTE1
            for each part of it in L0A and L0B, with its id:
                wait M->MTE1;  load A;  load B;  set MTE1->M
                wait MTE1->M;  mad;  set M->MTE1
            set MTE1->MTE2
        set M->FIX;  wait M->FIX;  fixpipe;  set FIX->M
    wait for the flags that are left

An id alternates between 0 and 1, because each buffer exists twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import MemRefType, StridedLayoutAttr, f32, i64
from xdsl.ir import Attribute, SSAValue

from mlirad.dialect.core.expr import insert
from mlirad.dialect.core.scalars import number
from mlirad.targets.ascend.cube.matmul_loops import MatmulKernel, Place
from mlirad.targets.ascend.cube.matmul_tiles import COPIES
from mlirad.targets.ascend.cube.virtual_matmul import ELEMENTS
from mlirad.targets.ascend.hivm.cube_instructions import FixpipeOp, ND2NZOp
from mlirad.targets.ascend.hivm.cube_intrinsics import CustomOp
from mlirad.targets.ascend.hivm.fractal_layouts import FRACTAL, FRACTAL_ROW_BYTES, NZ, ZN, ZZ, FractalLayout
from mlirad.targets.ascend.hivm.hivm_attributes import AddressSpace, AddressSpaceAttr, EventId, Pipe
from mlirad.targets.ascend.hivm.synchronisation import PipeBarrierOp, SetFlagOp, WaitFlagOp
from mlirad.targets.ascend.hivm.transfers import PointerCastOp
from mlirad.targets.ascend.tiles.index_loops import (
    Size,
    add,
    length,
    loop,
    multiply,
    quotient,
    static,
    turned,
    value,
)

_IDS = (EventId.ID0, EventId.ID1)
_FREED = ((Pipe.MTE1, Pipe.MTE2), (Pipe.M, Pipe.MTE1), (Pipe.FIX, Pipe.M))
"""The reader of each buffer, and the pipe that may overwrite it afterwards: L1, L0A and L0B, L0C."""


@dataclass(frozen=True)
class _Part:
    """The part of k that is in a buffer: its number, its beginning, its length, and an alternating 0 or 1."""

    depth: Size
    depths: Size
    turn: SSAValue


@dataclass(frozen=True)
class PhysicalMatmul:
    """Emits the body of one kernel, without its return."""

    kernel: MatmulKernel

    def write(self) -> None:
        kernel = self.kernel
        for pair in _FREED:
            for each in _IDS:
                insert(SetFlagOp(*pair, each))
        with kernel.each_tile() as place:
            self._tile(place)
        for pair in _FREED:
            for each in _IDS:
                insert(WaitFlagOp(*pair, each))
        insert(PipeBarrierOp(Pipe.ALL))

    @property
    def element(self) -> Attribute:
        return ELEMENTS[self.kernel.matmul.element]

    @property
    def c0(self) -> int:
        return FRACTAL_ROW_BYTES // self.kernel.matmul.itemsize

    def _tile(self, place: Place) -> None:
        kernel, matmul, tiles = self.kernel, self.kernel.matmul, self.kernel.tiles
        _, _, tile_bytes = tiles.l0_bytes(matmul.itemsize)
        turn = _turn(place.trip)
        product = self._buffer(AddressSpace.L0C, f32, NZ, (place.rows, place.columns), FRACTAL, turn, 0, tile_bytes)
        insert(WaitFlagOp(Pipe.FIX, Pipe.M, turn))
        l1_parts, l0_parts = -(-matmul.k // tiles.l1_depth), -(-matmul.k // tiles.l0_depth)
        with loop(0, matmul.k, tiles.l1_depth) as depth:
            before = insert(arith.MuliOp(place.trip, value(l1_parts))).result
            number_of_part = insert(arith.DivUIOp(depth, value(tiles.l1_depth))).result
            turn_of_part = _turn(value(add(before, number_of_part)))
            part = _Part(depth, length(matmul.k, tiles.l1_depth, depth), turn_of_part)
            a, b = self._to_l1(place, part)
            insert(WaitFlagOp(Pipe.MTE2, Pipe.MTE1, part.turn))
            with loop(0, part.depths, tiles.l0_depth) as inner:
                start = value(add(depth, inner))
                before = insert(arith.MuliOp(place.trip, value(l0_parts))).result
                number_of_part = insert(arith.DivUIOp(start, value(tiles.l0_depth))).result
                turn_of_part = _turn(value(add(before, number_of_part)))
                depths = length(matmul.k, tiles.l0_depth, start)
                self._multiply(place, _Part(inner, depths, turn_of_part), start, a, b, product)
            insert(SetFlagOp(Pipe.MTE1, Pipe.MTE2, part.turn))
        insert(SetFlagOp(Pipe.M, Pipe.FIX, turn))
        insert(WaitFlagOp(Pipe.M, Pipe.FIX, turn))
        insert(FixpipeOp(product, kernel.c_window(place)))
        insert(SetFlagOp(Pipe.FIX, Pipe.M, turn))

    def _to_l1(self, place: Place, part: _Part) -> tuple[SSAValue, SSAValue]:
        """Transfer A's and B's parts to L1, with global memory's axes, in NZ layout."""
        kernel, matmul, tiles = self.kernel, self.kernel.matmul, self.kernel.tiles
        (_, a_start, a_bytes), (_, b_start, b_bytes), *_ = tiles.buffers(matmul.itemsize)
        a_shape, b_shape = (place.rows, part.depths), (part.depths, place.columns)
        a_shape = turned(a_shape) if matmul.a_transposed else a_shape
        b_shape = turned(b_shape) if matmul.b_transposed else b_shape
        a = self._in_l1(a_shape, part.turn, a_start, a_bytes)
        b = self._in_l1(b_shape, part.turn, b_start, b_bytes)
        insert(WaitFlagOp(Pipe.MTE1, Pipe.MTE2, part.turn))
        insert(ND2NZOp(kernel.a_window(place, part.depth, part.depths), a))
        insert(ND2NZOp(kernel.b_window(place, part.depth, part.depths), b))
        insert(SetFlagOp(Pipe.MTE2, Pipe.MTE1, part.turn))
        return a, b

    def _multiply(
        self, place: Place, part: _Part, start: SSAValue, a: SSAValue, b: SSAValue, product: SSAValue
    ) -> None:
        """Add the product of `part` of the parts in L1. start: its beginning along k."""
        matmul, tiles = self.kernel.matmul, self.kernel.tiles
        a_bytes, b_bytes, _ = tiles.l0_bytes(matmul.itemsize)
        a_shape, b_shape = (place.rows, part.depths), (part.depths, place.columns)
        left = self._in_l0(AddressSpace.L0A, ZZ, a_shape, part.turn, a_bytes)
        right = self._in_l0(AddressSpace.L0B, ZN, b_shape, part.turn, b_bytes)
        insert(WaitFlagOp(Pipe.M, Pipe.MTE1, part.turn))
        self._load("load_cbuf_to_ca", a, left, part, a_shape, 0 if matmul.a_transposed else 1)
        self._load("load_cbuf_to_cb", b, right, part, b_shape, 1 if matmul.b_transposed else 0)
        insert(SetFlagOp(Pipe.MTE1, Pipe.M, part.turn))
        is_first = insert(arith.CmpiOp(start, value(0), "eq")).result
        sizes = [value(place.rows), value(part.depths), value(place.columns)]
        insert(WaitFlagOp(Pipe.MTE1, Pipe.M, part.turn))
        insert(PipeBarrierOp(Pipe.M))
        insert(CustomOp("mad", [left, right, is_first, *sizes], product))
        insert(SetFlagOp(Pipe.M, Pipe.MTE1, part.turn))

    def _load(
        self, name: str, whole: SSAValue, to: SSAValue, part: _Part, shape: tuple[Size, Size], axis_of_depth: int
    ) -> None:
        """Load the fractals of a part from L1. axis_of_depth: the axis of the matrix in L1 that is k."""
        is_transposed = axis_of_depth != (1 if name == "load_cbuf_to_ca" else 0)
        held = turned(shape) if is_transposed else shape
        step = (FRACTAL, self.c0)[axis_of_depth]
        sizes = self._fractals(NZ, held, self.c0)
        starts: list[Size] = [0, 0, 0, 0]
        axis = (NZ.rows, NZ.columns)[axis_of_depth]
        starts[axis] = (
            part.depth if isinstance(part.depth, int) else insert(arith.DivUIOp(part.depth, value(step))).result
        )
        suffix = "_transpose" if is_transposed else ""
        insert(CustomOp(f"{name}{suffix}", [_window(whole, starts, sizes)], to))

    def _in_l1(self, shape: tuple[Size, Size], turn: SSAValue, address: int, bytes: int) -> SSAValue:
        return self._buffer(AddressSpace.L1, self.element, NZ, shape, self.c0, turn, address, bytes)

    def _in_l0(
        self, space: AddressSpace, layout: FractalLayout, shape: tuple[Size, Size], turn: SSAValue, bytes: int
    ) -> SSAValue:
        return self._buffer(space, self.element, layout, shape, self.c0, turn, 0, bytes)

    def _buffer(
        self,
        space: AddressSpace,
        element: Attribute,
        layout: FractalLayout,
        shape: tuple[Size, Size],
        c0: int,
        turn: SSAValue,
        address: int,
        bytes: int,
    ) -> SSAValue:
        """The fractals of a matrix, in the first or the second buffer from `address` on, with `bytes` bytes each."""
        sizes = self._fractals(layout, shape, c0)
        shift = insert(arith.MuliOp(turn, number(bytes, i64))).result
        place = shift if address == 0 else insert(arith.AddiOp(shift, number(address, i64))).result
        type = MemRefType(element, list(map(static, sizes)), memory_space=AddressSpaceAttr(space))
        return insert(PointerCastOp([place], type, [size for size in sizes if isinstance(size, SSAValue)])).result

    def _fractals(self, layout: FractalLayout, shape: tuple[Size, Size], c0: int) -> list[Size]:
        """The shape of the array of fractals. Both axes of a matrix are padded to 16, because it may be transposed."""
        counts: list[Size] = [0, 0, FRACTAL, c0]
        for axis, size, step in zip((layout.rows, layout.columns), shape, layout.block(c0), strict=True):
            counts[axis] = multiply(quotient(size, FRACTAL), FRACTAL // step)
        return counts


def _turn(count: SSAValue) -> SSAValue:
    """An alternating 0 or 1."""
    parity = insert(arith.RemUIOp(count, value(COPIES))).result
    return insert(arith.IndexCastOp(parity, i64)).result


def _window(buffer: SSAValue, starts: Sequence[Size], sizes: Sequence[Size]) -> SSAValue:
    """A part of a buffer of fractals."""
    type = buffer.type
    assert isinstance(type, MemRefType)
    shape = type.get_shape()
    if tuple(map(static, sizes)) == shape and not any(isinstance(size, SSAValue) for size in (*sizes, *starts)):
        return buffer
    strides: list[int] = [shape[2] * shape[3], shape[3], 1]
    outer = _outer_stride(shape)
    layout = StridedLayoutAttr([outer, *strides], None if any(starts) else 0)
    offsets, counts = ([each for each in given if isinstance(each, SSAValue)] for given in (starts, sizes))
    known = list(map(static, starts)), list(map(static, sizes))
    shown = MemRefType(type.element_type, known[1], layout, type.memory_space)
    return insert(memref.SubviewOp(buffer, offsets, counts, [], *known, [1] * 4, shown)).result


def _outer_stride(shape: Sequence[int]) -> int | None:
    """The stride of the first axis; None if it is known only at run time."""
    return None if shape[1] < 0 else shape[1] * shape[2] * shape[3]
