"""Moved tensors as memrefs: one walk forwards, in which every op finds memrefs for operands already.

Reads: a function whose every overwriting op may work in place. Writes: memref ops, and linalg and scf ops on memrefs,
with the locations of what they replace. Leaves: no tensor, and no carried memref that is the same in every trip.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from xdsl.dialects import arith, func, memref, scf, tensor
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    DenseIntOrFPElementsAttr,
    IndexType,
    IntegerAttr,
    MemRefType,
    ModuleOp,
    StringAttr,
    UnitAttr,
)
from xdsl.dialects.linalg.abstract_ops import LinalgStructuredOperation
from xdsl.dialects.linalg.ops import CopyOp, GenericOp
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue, SSAValues
from xdsl.rewriter import Rewriter

from mlirad.dialect.expr import insert
from mlirad.lowering.carries import Carries
from mlirad.lowering.place_results import Destination
from mlirad.lowering.rewriting import constant_int, erase, in_place_of, replace, terminator
from mlirad.lowering.strided import identity, subview_type, view_type
from mlirad.lowering.tensor_memory import Slice, is_tensor


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


class Constants:
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
    """The walk over one function. borrowed: insert_slice ops whose source is in its place already."""

    def __init__(self, constants: Constants, borrowed: set[Operation], destinations: Sequence[Destination]) -> None:
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
                with in_place_of(op):
                    rewrite(self, op)
            elif isinstance(op, LinalgStructuredOperation):
                self._linalg(op)
            op = following

    # Memory.

    def _empty(self, op: tensor.EmptyOp) -> None:
        if op.tensor.first_use is None:
            erase(op)
        else:
            replace(op, [insert(memref.AllocOp(op.dynamic_sizes, [], identity(op.tensor.type))).memref])

    def _constant(self, op: arith.ConstantOp) -> None:
        if not is_tensor(op.result):
            return
        if op.result.first_use is None:
            erase(op)
            return
        if all(isinstance(use.operation, tensor.ReshapeOp) and use.index == 1 for use in op.result.uses):
            # The reshape erases it.
            return
        assert isinstance(op.value, DenseIntOrFPElementsAttr)
        name = self._constants.name_of(op.value)
        replace(op, [insert(memref.GetGlobalOp(name, identity(op.result.type))).memref])

    def _dim(self, op: tensor.DimOp) -> None:
        replace(op, [insert(memref.DimOp(op.source, op.index)).result])

    # Elements, slices and views.

    def _extract(self, op: tensor.ExtractOp) -> None:
        replace(op, [insert(memref.LoadOp.get(op.tensor, op.indices)).res])

    def _insert(self, op: tensor.InsertOp) -> None:
        insert(memref.StoreOp.get(op.scalar, op.dest, op.indices))
        replace(op, [op.dest])

    def _extract_slice(self, op: tensor.ExtractSliceOp) -> None:
        type = view_type(memref_type(op.source), op)
        assert type is not None
        replace(op, [_subview(op.source, op, type)])

    def _insert_slice(self, op: tensor.InsertSliceOp) -> None:
        if op not in self._borrowed:
            source = memref_type(op.source)
            type = subview_type(memref_type(op.dest), op, source.get_shape())
            insert(memref.CopyOp(op.source, _subview(op.dest, op, type)))
        replace(op, [op.dest])

    def _collapse(self, op: tensor.CollapseShapeOp) -> None:
        properties = {"reassociation": op.reassociation}
        self._view(op, memref.CollapseShapeOp, [op.src], properties)

    def _expand(self, op: tensor.ExpandShapeOp) -> None:
        properties = {"reassociation": op.reassociation, "static_output_shape": op.static_output_shape}
        self._view(op, memref.ExpandShapeOp, op.operands, properties)

    def _cast(self, op: tensor.CastOp) -> None:
        self._view(op, memref.CastOp, [op.source], {})

    def _view(
        self,
        op: Operation,
        view: type[Operation],
        operands: Sequence[SSAValue],
        properties: dict[str, Attribute],
    ) -> None:
        type = view_type(memref_type(operands[0]), op)
        assert type is not None, "last uses make a copy of what cannot be viewed"
        made = insert(view.create(operands=operands, result_types=[type], properties=properties))
        replace(op, made.results)

    def _reshape(self, op: tensor.ReshapeOp) -> None:
        type = identity(op.result.type)
        sizes = _sizes(op.shape, type.get_shape())
        strides: list[SSAValue | int] = [1]
        for size in reversed(sizes[1:]):
            strides.insert(0, _times(size, strides[0]))
        made = memref.ReinterpretCastOp.from_dynamic(op.source, [0], sizes, strides[: len(sizes)], type)
        shape = op.shape
        replace(op, [insert(made).result])
        if shape.first_use is None and isinstance(shape.owner, arith.ConstantOp | tensor.FromElementsOp):
            erase(shape.owner)

    # Computation and control.

    def _linalg(self, op: LinalgStructuredOperation) -> None:
        if isinstance(op, CopyOp):
            with in_place_of(op):
                insert(memref.CopyOp(op.inputs[0], op.outputs[0]))
            replace(op, op.outputs)
            return
        if isinstance(op, GenericOp):
            for inner in list(op.body.block.ops):
                if isinstance(inner, tensor.ExtractOp):
                    with in_place_of(inner):
                        self._extract(inner)
        for result, output in zip(op.results, op.outputs, strict=True):
            result.replace_all_uses_with(output)
        op.results = SSAValues()

    def _call(self, op: func.CallOp) -> None:
        for result in op.results:
            as_memref(result)

    def _structured(self, op: scf.ForOp | scf.WhileOp | scf.IfOp) -> None:
        for region in op.regions:
            if region.blocks:
                self.walk(region.block)
        for result in op.results:
            as_memref(result)
        carries = Carries(op)
        kept = [not self._fold(carries, number) for number in range(carries.count)]
        carries.keep(kept.__getitem__)

    def _fold(self, carries: Carries, number: int) -> bool:
        """Let one memref stand for carry `number`, where it is the same in every trip, or from every branch."""
        op = carries.op
        result = op.results[number]
        if not isinstance(result.type, MemRefType):
            return False
        if isinstance(op, scf.IfOp):
            same, *others = (yielded[number] for yielded in carries.yielded)
            if any(other is not same for other in others):
                return False
            result.replace_all_uses_with(same)
            return True
        init, args = carries.inits[number], [args[number] for args in carries.args]
        assert init.type == result.type, f"a carried {init.type} should be {result.type}"
        passed = [carries.yielded[0][number]]
        if isinstance(op, scf.WhileOp):
            passed = [terminator(op.before_region.block).operands[number + 1], *passed]
        if any(value is not arg for value, arg in zip(passed, args, strict=True)):
            return False
        for value in (*args, result):
            value.replace_all_uses_with(init)
        return True

    def _return(self, op: func.ReturnOp) -> None:
        values = list(op.operands)
        for target in self._destinations:
            if target.is_detoured:
                value = values[target.number]
                memory = insert(memref.AllocOp([], [], identity_of(value))).memref
                insert(memref.CopyOp(value, memory))
                values[target.number] = memory
        assert op.parent is not None
        for target in self._destinations:
            # The argument has become another value, in the same place.
            insert(memref.CopyOp(values[target.number], op.parent.args[target.argument.index]))


def identity_of(value: SSAValue) -> MemRefType:
    type = memref_type(value)
    return MemRefType(type.element_type, type.shape)


def _subview(source: SSAValue, op: Slice, type: MemRefType) -> SSAValue:
    return insert(
        memref.SubviewOp(
            source, op.offsets, op.sizes, op.strides, op.static_offsets, op.static_sizes, op.static_strides, type
        )
    ).result


def _sizes(shape: SSAValue, known: Sequence[int]) -> list[SSAValue | int]:
    """The sizes that a reshape gives: known ones, and those that the elements of its shape operand say."""
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
    return insert(arith.MuliOp(*factors)).result


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
