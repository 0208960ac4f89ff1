"""Rewrites moved tensors as memrefs, in one forward walk: the operands of each op are memrefs already.

Reads: a function in which every overwriting op may work in place. Writes: memref ops, and linalg and scf ops on
memrefs, with the locations of the ops that they replace. Leaves: no tensor, and no carried memref that is the same in
every trip.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

from xdsl.dialects import arith, func, memref, scf, tensor
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    IndexType,
    IntegerAttr,
    MemRefType,
    ModuleOp,
    StringAttr,
    SymbolRefAttr,
    UnitAttr,
    i64,
)
from xdsl.dialects.linalg.abstract_ops import LinalgStructuredOperation
from xdsl.dialects.linalg.ops import CopyOp
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue, SSAValues
from xdsl.rewriter import Rewriter

from mlirad.analysis.bounds import BOUND
from mlirad.analysis.constants import constant_int
from mlirad.analysis.loops import Carries, terminator
from mlirad.analysis.memory import TIES, extracts_in, is_linalg, is_tensor, ties
from mlirad.dialect.ad.tape import SLOT
from mlirad.dialect.core.expr import insert
from mlirad.dialect.core.upstream import segments
from mlirad.lowering.rewriting import erase, in_place_of, replace
from mlirad.lowering.tensor_memory import Slice, is_in_place, is_memref
from mlirad.lowering.to_buffers.place_results import Destination
from mlirad.lowering.to_buffers.strided import (
    collapsed_type,
    identity,
    is_identity,
    is_rank_reduction,
    subview_type,
    view_type,
)


def as_memref(value: SSAValue) -> SSAValue:
    """The same argument or result, as a memref if it is a tensor."""
    if not is_tensor(value):
        return value
    retyped = Rewriter.replace_value_with_new_type(value, identity(value.type))
    if isinstance(retyped, BlockArgument) and isinstance(value, BlockArgument):
        retyped.location = value.location
    return retyped


def memref_type(value: SSAValue) -> MemRefType:
    assert isinstance(value.type, MemRefType)
    return value.type


class GlobalConstants:
    """The constant arrays of a module: one global each."""

    def __init__(self, module: ModuleOp) -> None:
        self._block = module.body.block
        self._names: dict[Attribute, str] = {}

    def name_of(self, value: DenseIntOrFPElementsAttr) -> str:
        if value not in self._names:
            name = self._names[value] = f"mlirad_constant_{len(self._names)}"
            made = memref.GlobalOp.get(StringAttr(name), identity(value.get_type()), value, constant=UnitAttr())
            first = self._block.first_op
            assert first is not None
            self._block.insert_op_before(made, first)
        return self._names[value]


class ToMemRefs:
    """The walk over one function. borrowed: insert_slice ops whose source is already in place."""

    def __init__(
        self, constants: GlobalConstants, borrowed: set[Operation], destinations: Sequence[Destination]
    ) -> None:
        self._constants = constants
        self._borrowed = borrowed
        self._destinations = destinations

    def walk(self, block: Block) -> None:
        for arg in block.args:
            as_memref(arg)
        op = block.first_op
        while op is not None:
            following = op.next_op
            rewrite = _REWRITES.get(type(op))
            if rewrite is not None:
                rewrite(self, op)
            elif is_linalg(op):
                self._linalg(op)
            op = following

    # Memory.

    def _empty(self, op: tensor.EmptyOp) -> None:
        if op.tensor.first_use is None:
            erase(op)
        else:
            memory = _alloc(op, op.dynamic_sizes, identity(op.tensor.type))
            assert isinstance(memory.owner, Operation)
            _keep_notes(op, memory.owner)
            replace(op, [memory])

    def _constant(self, op: arith.ConstantOp) -> None:
        result = op.result
        if not is_tensor(result):
            return
        if result.first_use is None:
            erase(op)
        elif not all(isinstance(use.operation, tensor.ReshapeOp) and use.index == 1 for use in result.uses):
            assert isinstance(op.value, DenseIntOrFPElementsAttr)
            name = SymbolRefAttr(self._constants.name_of(op.value))
            _respell(op, memref.GetGlobalOp, [], identity(result.type), {"name": name})
        # Otherwise it belongs to a reshape, which erases it.

    def _dim(self, op: tensor.DimOp) -> None:
        _respell(op, memref.DimOp, op.operands, op.result.type)

    # Elements, slices and views.

    def _extract(self, op: tensor.ExtractOp) -> None:
        _respell(op, memref.LoadOp, op.operands, op.result.type)

    def _insert(self, op: tensor.InsertOp) -> None:
        _put(op, memref.StoreOp, op.operands)
        replace(op, [op.dest])

    def _extract_slice(self, op: tensor.ExtractSliceOp) -> None:
        type = view_type(memref_type(op.source), op)
        assert type is not None
        replace(op, [_subview(op.source, op, type)])

    def _insert_slice(self, op: tensor.InsertSliceOp) -> None:
        dest = op.dest
        if op not in self._borrowed:
            type = subview_type(memref_type(dest), op, memref_type(op.source).get_shape())
            _put(op, memref.CopyOp, [op.source, _subview(dest, op, type)])
        replace(op, [dest])

    def _collapse(self, op: tensor.CollapseShapeOp) -> None:
        source = memref_type(op.src)
        type = collapsed_type(source, op)
        if type is None or is_identity(source) or not is_rank_reduction(source, op):
            self._view(op, memref.CollapseShapeOp)
            return
        sizes, zeros, ones = (source.get_shape(), [0] * source.get_num_dims(), [1] * source.get_num_dims())
        with in_place_of(op):
            lengths = [_size(op.src, axis) for axis, size in enumerate(sizes) if size == DYNAMIC_INDEX]
        static = {"static_offsets": zeros, "static_sizes": sizes, "static_strides": ones}
        properties: dict[str, Attribute] = {
            "operandSegmentSizes": segments(1, 0, len(lengths), 0),
            **{name: DenseArrayBase.from_list(i64, numbers) for name, numbers in static.items()},
        }
        _respell(op, memref.SubviewOp, [op.src, *lengths], type, properties)

    def _expand(self, op: tensor.ExpandShapeOp) -> None:
        self._view(op, memref.ExpandShapeOp)

    def _cast(self, op: tensor.CastOp) -> None:
        self._view(op, memref.CastOp)

    def _view(self, op: Operation, view: type[Operation]) -> None:
        type = view_type(memref_type(op.operands[0]), op)
        assert type is not None, "`last_use` copies tensors that have no such view"
        _respell(op, view, op.operands, type, op.properties)

    def _reshape(self, op: tensor.ReshapeOp) -> None:
        type, shape = identity(op.result.type), op.shape
        with in_place_of(op):
            sizes = _sizes(shape, type.get_shape())
            strides: list[SSAValue | int] = [1]
            for size in reversed(sizes[1:]):
                strides.insert(0, _times(size, strides[0]))
            made = memref.ReinterpretCastOp.from_dynamic(op.source, [0], sizes, strides[: len(sizes)], type)
            replace(op, [insert(made).result])
        if shape.first_use is None and isinstance(shape.owner, arith.ConstantOp | tensor.FromElementsOp):
            erase(shape.owner)

    # Computation and control.

    def _linalg(self, op: LinalgStructuredOperation) -> None:
        if type(op) is CopyOp:
            _put(op, memref.CopyOp, op.operands)
            replace(op, op.outputs)
            return
        for read in extracts_in(op):
            self._extract(read)
        for operand, result in ties(op):
            result.replace_all_uses_with(op.operands[operand])
        op.results = SSAValues()

    def _call(self, op: func.CallOp) -> None:
        # A value computed in place is there already, and is not returned.
        there = {result: op.operands[index] for index, result in ties(op) if is_in_place(op, result)}
        if TIES in op.attributes:
            kept = [result for result in op.results if result not in there]
            call = _put(op, func.CallOp, op.operands, [result.type for result in kept], op.properties)
            call.attributes = {name: value for name, value in op.attributes.items() if name != TIES}
            found = iter(call.results)
            replace(op, [there[result] if result in there else next(found) for result in op.results])
            op = cast(func.CallOp, call)
        for result in op.results:
            as_memref(result)

    def _structured(self, op: scf.ForOp | scf.WhileOp | scf.IfOp) -> None:
        for region in op.regions:
            if region.blocks:
                self.walk(region.block)
        for result in op.results:
            as_memref(result)
        carries = Carries(op)
        kept = [not _fold(carries, number) for number in range(carries.count)]
        carries.keep(kept.__getitem__)

    def _return(self, op: func.ReturnOp) -> None:
        values = list(op.operands)
        for target in self._destinations:
            if target.is_detoured:
                value = values[target.number]
                memory = _alloc(op, [], identity_of(value))
                _put(op, memref.CopyOp, [value, memory])
                values[target.number] = memory
        assert op.parent is not None
        for target in self._destinations:
            # The argument has become another value, in the same place.
            _put(op, memref.CopyOp, [values[target.number], op.parent.args[target.argument.index]])


def _fold(carries: Carries, number: int) -> bool:
    """Replace carry `number` by one memref, if it is the same in every trip, or from every branch."""
    op = carries.op
    result = op.results[number]
    if not is_memref(result):
        return False
    if isinstance(op, scf.IfOp):
        same, *others = (yielded[number] for yielded in carries.yielded)
        if any(other is not same for other in others):
            return False
        result.replace_all_uses_with(same)
        return True
    init, args = carries.inits[number], [args[number] for args in carries.region_args]
    assert init.type == result.type, f"a carried {init.type} should be {result.type}"
    passed = [carries.yielded[0][number]]
    if isinstance(op, scf.WhileOp):
        passed = [terminator(op.before_region.block).operands[number + 1], *passed]
    if any(value is not arg for value, arg in zip(passed, args, strict=True)):
        return False
    for value in (*args, result):
        value.replace_all_uses_with(init)
    return True


def _put(
    op: Operation,
    op_class: type[Operation],
    operands: Sequence[SSAValue],
    result_types: Sequence[Attribute] = (),
    properties: dict[str, Attribute] | None = None,
) -> Operation:
    """A new op before `op`, with its location."""
    made = op_class.create(
        operands=operands, result_types=result_types, properties=properties or {}, location=op.location
    )
    assert op.parent is not None
    op.parent.insert_op_before(made, op)
    return made


def _respell(
    op: Operation,
    op_class: type[Operation],
    operands: Sequence[SSAValue],
    type: Attribute,
    properties: dict[str, Attribute] | None = None,
) -> None:
    """Replace an op with one result by an op of another class."""
    replace(op, _put(op, op_class, tuple(operands), [type], properties).results)


def _alloc(op: Operation, sizes: Sequence[SSAValue], type: MemRefType) -> SSAValue:
    return _put(op, memref.AllocOp, sizes, [type], {"operandSegmentSizes": segments(len(sizes), 0)}).results[0]


def identity_of(value: SSAValue) -> MemRefType:
    type = memref_type(value)
    return MemRefType(type.element_type, type.shape)


def _subview(source: SSAValue, op: Slice, type: MemRefType) -> SSAValue:
    properties: dict[str, Attribute] = {
        "operandSegmentSizes": segments(1, len(op.offsets), len(op.sizes), len(op.strides)),
        "static_offsets": op.static_offsets,
        "static_sizes": op.static_sizes,
        "static_strides": op.static_strides,
    }
    return _put(op, memref.SubviewOp, [source, *op.offsets, *op.sizes, *op.strides], [type], properties).results[0]


def _size(array: SSAValue, axis: int) -> SSAValue:
    number = insert(arith.ConstantOp(IntegerAttr.from_index_int_value(axis))).result
    return insert(memref.DimOp(array, number)).result


def _sizes(shape: SSAValue, known: Sequence[int]) -> list[SSAValue | int]:
    """The sizes of a reshape's result: known ones, and elements of its shape operand."""
    elements = shape.owner.elements if isinstance(shape.owner, tensor.FromElementsOp) else None
    sizes: list[SSAValue | int] = []
    for axis, size in enumerate(known):
        if size != DYNAMIC_INDEX:
            sizes.append(size)
            continue
        if elements is not None:
            element: SSAValue = elements[axis]
        else:
            index = insert(arith.ConstantOp(IntegerAttr.from_index_int_value(axis))).result
            element = insert(memref.LoadOp.get(shape, [index])).res
        if not isinstance(element.type, IndexType):
            element = insert(arith.IndexCastOp(element, IndexType())).result
        number = constant_int(element)
        sizes.append(element if number is None else number)
    return sizes


def _times(size: SSAValue | int, other: SSAValue | int) -> SSAValue | int:
    if isinstance(size, int) and isinstance(other, int):
        return size * other
    factors = [
        insert(arith.ConstantOp(IntegerAttr.from_index_int_value(factor))).result if isinstance(factor, int) else factor
        for factor in (size, other)
    ]
    return insert(arith.MuliOp(factors[0], factors[1])).result


_REWRITES: dict[type[Operation], Callable[[ToMemRefs, Any], None]] = {
    tensor.EmptyOp: ToMemRefs._empty,
    arith.ConstantOp: ToMemRefs._constant,
    tensor.DimOp: ToMemRefs._dim,
    tensor.ExtractOp: ToMemRefs._extract,
    tensor.InsertOp: ToMemRefs._insert,
    tensor.ExtractSliceOp: ToMemRefs._extract_slice,
    tensor.InsertSliceOp: ToMemRefs._insert_slice,
    tensor.CollapseShapeOp: ToMemRefs._collapse,
    tensor.ExpandShapeOp: ToMemRefs._expand,
    tensor.CastOp: ToMemRefs._cast,
    tensor.ReshapeOp: ToMemRefs._reshape,
    func.CallOp: ToMemRefs._call,
    scf.ForOp: ToMemRefs._structured,
    scf.WhileOp: ToMemRefs._structured,
    scf.IfOp: ToMemRefs._structured,
    func.ReturnOp: ToMemRefs._return,
}


def _keep_notes(empty: Operation, alloc: Operation) -> None:
    """Copy the attributes of the memory to the op that allocates it after bufferization."""
    for name in (BOUND, SLOT):
        if (note := empty.attributes.get(name)) is not None:
            alloc.attributes[name] = note
