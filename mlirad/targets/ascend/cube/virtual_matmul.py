"""A matmul in the form that `bishengir-compile` takes: matrices as tensors, without addresses, layouts and flags.

Reads: a matmul and its tiles. Writes: func's body in scf, arith, memref, bufferization, tensor and hivm. Leaves: the
arguments. The compiler inserts the transfers to L0A and L0B, the layouts, and the synchronisation.

    for each tile of C:
        for each part of k:                      # %acc: the tile so far
            %a, %b = hivm.hir.load               # into buffers, shown as tensors
            %acc = hivm.hir.mmadL1 %a, %b, %is_first
        hivm.hir.store %acc                      # for f16, after hivm.hir.vcast
"""

from __future__ import annotations

from xdsl.dialects import arith, bufferization, memref, scf, tensor
from xdsl.dialects.builtin import MemRefType, StridedLayoutAttr, TensorType, f16, f32
from xdsl.ir import Attribute, Block, SSAValue

from mlirad.dialect.core.expr import building, insert
from mlirad.targets.ascend.cube.matmul_loops import MatmulKernel, Place
from mlirad.targets.ascend.hivm.cube_instructions import MmadL1Op
from mlirad.targets.ascend.hivm.elementwise_instructions import VCastOp
from mlirad.targets.ascend.hivm.transfers import LoadOp, StoreOp
from mlirad.targets.ascend.tiles.index_loops import INDEX, Size, length, static, turned, value

ELEMENTS: dict[str, Attribute] = {"f16": f16, "f32": f32}


def write_virtual(kernel: MatmulKernel) -> None:
    """Emit the kernel's body, without its return."""
    with kernel.each_tile() as place:
        _store(kernel, place, _tile(kernel, place))


def _tile(kernel: MatmulKernel, place: Place) -> SSAValue:
    """The tile of C, whole, in f32."""
    matmul, tiles = kernel.matmul, kernel.tiles
    type = TensorType(f32, [tiles.rows, tiles.columns])
    empty = insert(tensor.EmptyOp([], type)).tensor
    bounds = value(0), value(matmul.k), value(tiles.l1_depth)
    block = Block(arg_types=[INDEX, type])
    depth, before = block.args
    with building(block):
        depths = length(matmul.k, tiles.l1_depth, depth)
        a, b = _loaded(kernel, place, depth, depths)
        is_first = insert(arith.CmpiOp(depth, value(0), "eq")).result
        sizes = value(place.rows), value(depths), value(place.columns)
        product = MmadL1Op(a, b, before, is_first, sizes, matmul.a_transposed, matmul.b_transposed)
        insert(scf.YieldOp(insert(product).results[0]))
    return insert(scf.ForOp(*bounds, [empty], block)).results[0]


def _loaded(kernel: MatmulKernel, place: Place, depth: Size, depths: Size) -> tuple[SSAValue, SSAValue]:
    matmul, tiles = kernel.matmul, kernel.tiles
    whole_a, part_a = (tiles.rows, tiles.l1_depth), (place.rows, depths)
    whole_b, part_b = (tiles.l1_depth, tiles.columns), (depths, place.columns)
    if matmul.a_transposed:
        whole_a, part_a = turned(whole_a), turned(part_a)
    if matmul.b_transposed:
        whole_b, part_b = turned(whole_b), turned(part_b)
    a = _load(kernel.a_window(place, depth, depths), whole_a, part_a)
    return a, _load(kernel.b_window(place, depth, depths), whole_b, part_b)


def _load(window: SSAValue, whole: tuple[int, int], part: tuple[Size, Size]) -> SSAValue:
    """A buffer of size `whole`, with a window of global memory in its corner, as a tensor."""
    assert isinstance(window.type, MemRefType)
    element = window.type.element_type
    buffer = insert(memref.AllocOp([], [], MemRefType(element, whole))).memref
    corner = buffer
    if tuple(map(static, part)) != whole:
        layout = StridedLayoutAttr([whole[1], 1])
        shape = list(map(static, part))
        dynamic = [size for size in part if isinstance(size, SSAValue)]
        type = MemRefType(element, shape, layout)
        corner = insert(memref.SubviewOp(buffer, [], dynamic, [], [0, 0], shape, [1, 1], type)).result
    insert(LoadOp(window, corner))
    return insert(bufferization.ToTensorOp(buffer, restrict=True, writable=True)).tensor


def _store(kernel: MatmulKernel, place: Place, tile: SSAValue) -> None:
    shape = [kernel.tiles.rows, kernel.tiles.columns]
    element = ELEMENTS[kernel.matmul.result]
    if element != f32:
        empty = insert(tensor.EmptyOp([], TensorType(element, shape))).tensor
        tile = insert(VCastOp(tile, empty)).results[0]
    part = (place.rows, place.columns)
    sizes = list(map(static, part))
    if sizes != shape:
        tile = insert(tensor.ExtractSliceOp(tile, [0, 0], part, [1, 1], TensorType(element, sizes))).result
    insert(StoreOp(tile, kernel.c_window(place)))
