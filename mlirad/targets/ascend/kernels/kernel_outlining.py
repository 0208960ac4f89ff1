"""Moves computations on arrays into kernels, which the host launches.

Reads: nd. Writes: functions of the host (func, scf, arith, memref in global memory), and kernels: functions whose body
is one `linalg.generic` on memrefs in global memory. Leaves: no nd op; no linalg on the host.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects import arith, func, memref
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AffineMapAttr,
    ArrayAttr,
    IndexType,
    MemRefType,
    ModuleOp,
    NoneAttr,
    StridedLayoutAttr,
    UnitAttr,
    i64,
)
from xdsl.dialects.linalg.attrs import IteratorType, IteratorTypeAttr
from xdsl.dialects.linalg.ops import FillOp, GenericOp, YieldOp
from xdsl.ir import Attribute, Block, Region, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineMap
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from mlirad.analysis.loops import is_outside
from mlirad.dialect.core.expr import building, emitting, insert
from mlirad.dialect.core.scalars import number
from mlirad.lowering.rewriting import erase
from mlirad.lowering.to_buffers.bufferize import Bufferize
from mlirad.lowering.to_linalg.nd_to_linalg import NdToLinalg
from mlirad.targets.ascend.cube.matmul_kernel import contraction_of
from mlirad.targets.ascend.hivm.hivm_attributes import CoreType, CoreTypeAttr, FunctionKind, FunctionKindAttr
from mlirad.targets.ascend.kernels.divided_reductions import divided
from mlirad.targets.ascend.kernels.host import GLOBAL, KIND, to_host
from mlirad.targets.ascend.tiles.nest import BufferKind, Nest, nest_of, shape_of, strides_of
from mlirad.xdsl_support.traversal import find, ops_inside, ops_of

ENTRY, CORE = "hacc.entry", "hivm.func_core_type"


@dataclass(frozen=True)
class AscendKernels(ModulePass):
    """Turn each fused group of loops into a kernel, launched in its place.

    Before:

        func.func public @f(%x: tensor<3xf32>) -> tensor<3xf32> {
          %y = nd.exp %x : tensor<3xf32>
          func.return %y : tensor<3xf32>
        }

    After `mlirad-ascend-kernels`:

        func.func public @f(%x: memref<3xf32, #hivm.address_space<gm>>)
            -> memref<3xf32, #hivm.address_space<gm>> attributes {hacc.function_kind = #hacc.function_kind<HOST>} {
          %y = memref.alloc() : memref<3xf32, #hivm.address_space<gm>>
          func.call @f_kernel_0(%x, %y)
            : (memref<3xf32, #hivm.address_space<gm>>, memref<3xf32, #hivm.address_space<gm>>) -> ()
          func.return %y : memref<3xf32, #hivm.address_space<gm>>
        }
        func.func @f_kernel_0(%0: memref<3xf32, #hivm.address_space<gm>>, %1: memref<3xf32, #hivm.address_space<gm>>)
            attributes {hacc.entry, hacc.function_kind = #hacc.function_kind<DEVICE>,
                        hivm.func_core_type = #hivm.func_core_type<AIV>} {
          linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>],
                          iterator_types = ["parallel"]}
              ins(%0 : memref<3xf32, #hivm.address_space<gm>>) outs(%1 : memref<3xf32, #hivm.address_space<gm>>) {
          ^bb0(%2: f32, %3: f32):
            %4 = math.exp %2 : f32
            linalg.yield %4 : f32
          }
          func.return
        }
    """

    name = "mlirad-ascend-kernels"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        NdToLinalg().apply(ctx, op)
        Bufferize().apply(ctx, op)
        to_host(op)
        for function in [each for each in op.ops if isinstance(each, func.FuncOp) and not each.is_declaration]:
            outlining = _Outlining(op, function.sym_name.data)
            initial = {each: initial_of(each) for each in find(function, GenericOp)}
            fills = set(initial.values())
            for each in ops_inside(function):
                if isinstance(each, FillOp) and each not in fills:
                    outlining.fill(each)
                elif isinstance(each, GenericOp):
                    outlining.generic(each, initial[each])
            outlining.finish()


@dataclass
class _Outlining:
    """Kernels of one function of the host."""

    module: ModuleOp
    name: str
    kernels: list[func.FuncOp] = field(default_factory=list)

    def fill(self, op: FillOp) -> None:
        """A filled array is also computed by a kernel; an array of rank 0 is stored by the host."""
        value, array = op.operands
        with emitting(InsertPoint.before(op), op.location):
            if not shape_of(array.type):
                insert(memref.StoreOp.get(value, array, []))
            else:
                block = Block(arg_types=[element_of(array)])
                block.add_op(YieldOp(value))
                self.generic(insert(_generic([], array, [AffineMap.identity(len(shape_of(array.type)))], block)), None)
        erase(op)

    def generic(self, op: GenericOp, initial: FillOp | None) -> None:
        """initial: the fill of the output, which the kernel then does."""
        if any(0 in shape_of(operand.type) for operand in op.operands):
            erase(op)
            if initial is not None:
                self.fill(initial)
            return
        with emitting(InsertPoint.before(op), op.location):
            hoist(op)
            op = with_numbers(op)
            if initial is not None:
                initial.detach()
                insert(initial)
            self.with_regular_buffers(op, initial)
            if contraction_of(op, initial) is not None:
                self.launch(op, initial, CoreType.CUBE)
                return
            for part, fill in divided(op, initial):
                with emitting(InsertPoint.before(part), op.location):
                    self.with_regular_buffers(part, fill)
                    self.with_tiled_buffers(part, fill)
                    self.launch(part, fill)

    def with_regular_buffers(self, op: GenericOp, initial: FillOp | None) -> None:
        """Copy the buffers that cannot be passed to a kernel directly."""
        for index, operand in enumerate(op.operands):
            if not _is_regular(operand):
                copied = insert(memref.AllocOp([], [], _plain(operand))).memref
                self.exchange(op, initial, index, copied)
                if _reads(op, initial, index):
                    insert(memref.CopyOp(operand, copied))
                if index == len(op.operands) - 1:
                    with emitting(InsertPoint.after(op), op.location):
                        insert(memref.CopyOp(copied, operand))

    def with_tiled_buffers(self, op: GenericOp, initial: FillOp | None) -> None:
        """Copy the buffers that transfers of tiles cannot access directly."""
        for _ in range(len(op.operands)):
            nest = nest_of(op)
            if BufferKind.OTHER in nest.kinds:
                self.turn(op, initial, nest, nest.kinds.index(BufferKind.OTHER))

    def exchange(self, op: GenericOp, initial: FillOp | None, index: int, buffer: SSAValue) -> None:
        op.operands[index] = buffer
        if initial is not None and index == len(op.operands) - 1:
            initial.operands[1] = buffer

    def turn(self, op: GenericOp, initial: FillOp | None, nest: Nest, index: int) -> None:
        """Exchange the axes of a buffer, so that the elements of a tile's rows and columns are adjacent."""
        operand, map = op.operands[index], op.indexing_maps.data[index].data
        dims = [each.position for each in map.results if isinstance(each, AffineDimExpr)]
        tiling, groups = nest.tiling, nest.loops.dims
        last = [] if tiling.rows is None else [*groups[tiling.rows]]
        last += groups[tiling.columns]
        order = sorted(range(len(dims)), key=lambda axis: last.index(dims[axis]) if dims[axis] in last else -1)
        shape = shape_of(operand.type)
        type = MemRefType(element_of(operand), [shape[axis] for axis in order], memory_space=GLOBAL)
        turned = insert(memref.AllocOp([], [], type)).memref
        permuted = AffineMap(len(order), 0, tuple(AffineDimExpr(axis) for axis in order))
        identity = AffineMap.identity(len(order))
        if _reads(op, initial, index):
            self.launch(_copying(operand, turned, identity, permuted), None)
        if index == len(op.operands) - 1:
            with emitting(InsertPoint.after(op), op.location):
                self.launch(_copying(turned, operand, permuted, identity), None)
        self.exchange(op, initial, index, turned)
        maps = list(op.indexing_maps.data)
        maps[index] = AffineMapAttr(AffineMap(map.num_dims, 0, tuple(AffineDimExpr(dims[axis]) for axis in order)))
        op.properties["indexing_maps"] = ArrayAttr(maps)

    def launch(self, op: GenericOp, initial: FillOp | None, core: CoreType = CoreType.VECTOR) -> None:
        """Move the op into its own kernel, and call the kernel."""
        assert core is CoreType.CUBE or BufferKind.OTHER not in nest_of(op).kinds, (
            "the buffers of a kernel lie as transfers read them"
        )
        parts = [op] if initial is None else [initial, op]
        block, arguments = Block(), list[SSAValue]()
        known: dict[tuple[SSAValue, bool], SSAValue] = {}

        def argument(value: SSAValue, is_output: bool = False) -> SSAValue:
            """The value inside the kernel. An array that is both read and written becomes two arguments."""
            is_output = is_output and isinstance(value.type, MemRefType)
            if (value, is_output) not in known:
                arguments.append(value)
                made = known[value, is_output] = block.insert_arg(value.type, len(block.args))
                made.name_hint = value.name_hint
            return known[value, is_output]

        bases = [_base_of(buffer) for buffer in op.operands]
        with building(block):
            shown: list[SSAValue] = []
            for index, (buffer, (base, offset)) in enumerate(zip(op.operands, bases, strict=True)):
                whole = argument(base, is_output=index == len(bases) - 1)
                shown.append(whole if offset is None else _view(whole, argument(offset), buffer.type))
            inside = dict(zip(op.inputs, shown, strict=False))
            for part in parts:
                for value in [value for each in (part, *ops_inside(part)) for value in each.operands]:
                    if not isinstance(value.type, MemRefType) and value not in inside and is_outside(value, part):
                        constant = value.owner if isinstance(value.owner, arith.ConstantOp) else None
                        inside[value] = argument(value) if constant is None else insert(constant.clone()).result
        kernel = func.FuncOp(
            f"{self.name}_kernel_{len(self.kernels)}", ([each.type for each in block.args], []), Region(block)
        )
        kernel.location = op.location
        kernel.attributes |= {
            ENTRY: UnitAttr(),
            KIND: FunctionKindAttr(FunctionKind.DEVICE),
            CORE: CoreTypeAttr(core),
        }
        self.kernels.append(kernel)
        with emitting(InsertPoint.before(op), op.location):
            insert(func.CallOp(kernel.sym_name.data, arguments, []))
        for part in parts:
            part.detach()
            part.operands[len(part.operands) - 1] = shown[-1]
            for each in (part, *ops_inside(part)):
                for index, value in enumerate(each.operands):
                    if value in inside:
                        each.operands[index] = inside[value]
            block.add_op(part)
        block.add_op(func.ReturnOp())

    def finish(self) -> None:
        self.module.body.block.add_ops(self.kernels)


def element_of(buffer: SSAValue) -> Attribute:
    assert isinstance(buffer.type, MemRefType)
    return buffer.type.element_type


def initial_of(op: GenericOp) -> FillOp | None:
    """The op directly before a reduction that fills its output with a constant."""
    output = op.operands[-1]
    before = op.prev_op
    while isinstance(before, arith.ConstantOp | memref.LoadOp | memref.AllocOp | arith.IndexCastOp):
        before = before.prev_op
    reduces = any(each.data is IteratorType.REDUCTION for each in op.iterator_types)
    if not reduces or not isinstance(before, FillOp) or before.operands[1] is not output:
        return None
    return before if isinstance(before.operands[0].owner, arith.ConstantOp) else None


def hoist(op: GenericOp) -> None:
    """Move computations that are the same for all elements out of the body: the host does them."""
    for each in ops_of(op.body.block):
        if each.results and each.operands and all(is_outside(value, op) for value in each.operands):
            each.detach()
            insert(each)


def with_numbers(op: GenericOp) -> GenericOp:
    """The op with elements of rank-0 arrays replaced by numbers, which the host reads."""
    *inputs, output = op.operands
    kept: list[int] = []
    for index, buffer in enumerate(inputs):
        if shape_of(buffer.type):
            kept.append(index)
        else:
            op.body.block.args[index].replace_all_uses_with(insert(memref.LoadOp.get(buffer, [])).res)
    if len(kept) == len(inputs):
        return op
    for index in reversed(range(len(inputs))):
        if index not in kept:
            op.body.block.erase_arg(op.body.block.args[index])
    maps = [op.indexing_maps.data[index] for index in (*kept, len(inputs))]
    body = op.detach_region(op.body)
    made = insert(GenericOp([inputs[index] for index in kept], [output], body, maps, op.iterator_types))
    erase(op)
    return made


def _generic(inputs: Sequence[SSAValue], output: SSAValue, maps: Sequence[AffineMap], block: Block) -> GenericOp:
    """An op without reductions."""
    kinds = [IteratorTypeAttr(IteratorType.PARALLEL)] * maps[-1].num_dims
    return GenericOp(inputs, [output], Region(block), list(map(AffineMapAttr, maps)), kinds)


def _copying(source: SSAValue, target: SSAValue, read: AffineMap, written: AffineMap) -> GenericOp:
    """Copies an array into one with the same axes in another order."""
    block = Block(arg_types=[element_of(source), element_of(target)])
    block.add_op(YieldOp(block.args[0]))
    return insert(_generic([source], target, [read, written], block))


def _reads(op: GenericOp, initial: FillOp | None, index: int) -> bool:
    """Whether a kernel reads a buffer's old contents: not for an output that it fills or overwrites."""
    is_output = index == len(op.operands) - 1
    return not is_output or (initial is None and op.body.block.args[-1].first_use is not None)


def _is_regular(buffer: SSAValue) -> bool:
    """Whether a buffer can be passed to a kernel: as a whole array, or as an array and an offset into it."""
    strides, shape = strides_of(buffer.type), shape_of(buffer.type)
    moving = [stride for stride, size in zip(strides, shape, strict=True) if size > 1]
    if any(stride < 0 for stride in strides) or (moving and 1 not in moving):
        return False
    return _is_plain(_base_of(buffer)[0])


def _is_plain(buffer: SSAValue) -> bool:
    return isinstance(buffer.type, MemRefType) and isinstance(buffer.type.layout, NoneAttr)


def _plain(buffer: SSAValue) -> MemRefType:
    assert isinstance(buffer.type, MemRefType)
    return MemRefType(buffer.type.element_type, buffer.type.shape, memory_space=buffer.type.memory_space)


def _base_of(buffer: SSAValue) -> tuple[SSAValue, SSAValue | None]:
    """The whole array of a view, and the offset of the view's first element in it, an i64."""
    if _is_plain(buffer):
        return buffer, None
    view = buffer.owner
    if isinstance(view, memref.ExpandShapeOp | memref.CollapseShapeOp | memref.CastOp):
        return _base_of(view.operands[0])
    if not isinstance(view, memref.SubviewOp):
        return buffer, None
    base, offset = _base_of(view.source)
    dynamic = iter(view.offsets)
    for given, stride in zip(view.static_offsets.get_values(), strides_of(view.source.type), strict=True):
        start = insert(arith.IndexCastOp(next(dynamic), i64)).result if given == DYNAMIC_INDEX else number(given, i64)
        step = insert(arith.MuliOp(start, number(stride, i64))).result
        offset = step if offset is None else insert(arith.AddiOp(offset, step)).result
    return base, offset


def _view(base: SSAValue, offset: SSAValue, type: Attribute) -> SSAValue:
    """In a kernel: the part of an array that begins at `offset`."""
    assert isinstance(type, MemRefType)
    strides = strides_of(type)
    layout = StridedLayoutAttr(strides, None)
    shown = MemRefType(type.element_type, type.shape, layout, type.memory_space)
    start = insert(arith.IndexCastOp(offset, IndexType())).result
    return insert(memref.ReinterpretCastOp.from_dynamic(base, [start], type.get_shape(), strides, shown)).result
