"""Turns functions into host functions: buffers in global memory, and results that are returned.

Reads: func, scf, arith, memref and linalg on memrefs. Writes: the same, with memrefs in global memory, where a boolean
takes a byte. Leaves: linalg, whose bodies still compute on booleans.
"""

from __future__ import annotations

from xdsl.dialects import arith, func, memref
from xdsl.dialects.builtin import (
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    FunctionType,
    IntegerAttr,
    MemRefType,
    ModuleOp,
    TensorType,
    i1,
    i8,
    i64,
)
from xdsl.dialects.linalg.ops import FillOp, GenericOp
from xdsl.ir import Attribute, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from mlirad.analysis.call_graph import calls_in, functions_of
from mlirad.dialect.core.expr import emitting, insert
from mlirad.lowering.rewriting import erase
from mlirad.targets.ascend.hivm.hivm_attributes import (
    AddressSpace,
    AddressSpaceAttr,
    FunctionKind,
    FunctionKindAttr,
)
from mlirad.targets.ascend.kernels.growing_tapes import grow_on_host
from mlirad.xdsl_support.traversal import ops_inside, ops_of

GLOBAL = AddressSpaceAttr(AddressSpace.GM)
KIND = "hacc.function_kind"
_RESULT = "mlirad.result"
WRITTEN = "mlirad.written"
"""On an argument: the result that it becomes. On a host function, all of them: argument, result, argument..."""


def in_global_memory(type: Attribute) -> Attribute:
    """The type of a buffer on the device."""
    if not isinstance(type, MemRefType):
        return type
    element = i8 if type.element_type == i1 else type.element_type
    return MemRefType(element, type.shape, type.layout, GLOBAL)


def to_host(module: ModuleOp) -> None:
    """All functions of a bufferized module."""
    functions = functions_of(module)
    called = {call.callee.string_value() for each in functions.values() for call in calls_in(each)}
    for name, function in functions.items():
        if function.is_declaration:
            continue
        if name not in called:
            _return_results(function)
        _place_buffers(function)
        function.attributes[KIND] = FunctionKindAttr(FunctionKind.HOST)
        function.attributes.pop("mlirad.arena_size", None)
    for each in module.ops:
        if isinstance(each, memref.GlobalOp):
            _place_constant(each)
    grow_on_host(module)


def _return_results(function: func.FuncOp) -> None:
    """Return the arrays that the function so far receives as arguments, and the arguments that it changes."""
    block, end = function.body.block, function.get_return_op()
    assert end is not None
    placed: dict[int, SSAValue] = {}
    attributes = list(function.arg_attrs.data) if function.arg_attrs is not None else [None] * len(block.args)
    for argument, given in reversed(list(zip(list(block.args), attributes, strict=True))):
        known = {} if given is None else given.data
        if (written := known.get(WRITTEN)) is not None:
            assert isinstance(written, IntegerAttr)
            placed[written.value.data] = argument
        if (number := known.get(_RESULT)) is not None:
            assert isinstance(number, IntegerAttr) and isinstance(argument.type, MemRefType)
            first = block.first_op
            assert first is not None
            with emitting(InsertPoint.before(first), function.location):
                made = insert(memref.AllocOp([], [], argument.type)).memref
            made.name_hint = argument.name_hint
            argument.replace_all_uses_with(made)
            block.erase_arg(argument)
            placed[number.value.data] = made
    rest = iter(list(end.operands))
    results = [placed[number] if number in placed else next(rest) for number in range(len(placed) + len(end.operands))]
    with emitting(InsertPoint.before(end), end.location):
        insert(func.ReturnOp(*results))
    erase(end)
    function.function_type = FunctionType.from_lists(
        [each.type for each in block.args], [each.type for each in results]
    )
    changed = [
        (place, number) for number, value in placed.items() for place, each in enumerate(block.args) if each is value
    ]
    if changed:
        function.attributes[WRITTEN] = DenseArrayBase.from_list(
            i64, [each for pair in sorted(changed) for each in pair]
        )
    if function.arg_attrs is not None:
        del function.properties["arg_attrs"]


def _place_buffers(function: func.FuncOp) -> None:
    """Give all buffers their memory space, and booleans a byte."""
    for op in ops_inside(function):
        if isinstance(op, memref.LoadOp) and op.res.type == i1:
            with emitting(InsertPoint.after(op), op.location):
                byte = SSAValue.get(Rewriter.replace_value_with_new_type(op.res, i8))
                zero = insert(arith.ConstantOp(IntegerAttr(0, 8)))
                is_set = insert(arith.CmpiOp(byte, zero, "ne"))
                byte.replace_uses_with_if(is_set.result, lambda use, own=is_set: use.operation is not own)
        elif isinstance(op, memref.StoreOp) and op.value.type == i1:
            with emitting(InsertPoint.before(op), op.location):
                op.operands[0] = insert(arith.ExtUIOp(op.value, i8)).result
        elif isinstance(op, GenericOp):
            _place_elements(op)
        elif isinstance(op, FillOp) and op.operands[0].type == i1:
            with emitting(InsertPoint.before(op), op.location):
                op.operands[0] = insert(arith.ExtUIOp(op.operands[0], i8)).result
    blocks = [block for region in function.regions for block in region.blocks]
    blocks += [
        block
        for op in ops_inside(function)
        if not isinstance(op, GenericOp)
        for region in op.regions
        for block in region.blocks
    ]
    for block in blocks:
        values = [*block.args, *(result for op in ops_of(block) for result in op.results)]
        for value in values:
            placed = in_global_memory(value.type)
            if placed != value.type:
                Rewriter.replace_value_with_new_type(value, placed)
    kind = function.function_type
    function.function_type = FunctionType.from_lists(
        list(map(in_global_memory, kind.inputs)), list(map(in_global_memory, kind.outputs))
    )


def _place_elements(op: GenericOp) -> None:
    """Elements of boolean arrays are bytes, which the body compares with 0."""
    block = op.body.block
    for argument in block.args:
        if argument.type == i1 and argument.first_use is not None:
            first = block.first_op
            assert first is not None
            with emitting(InsertPoint.before(first), op.location):
                byte = SSAValue.get(Rewriter.replace_value_with_new_type(argument, i8))
                zero = insert(arith.ConstantOp(IntegerAttr(0, 8)))
                is_set = insert(arith.CmpiOp(byte, zero, "ne"))
                byte.replace_uses_with_if(is_set.result, lambda use, own=is_set: use.operation is not own)
        elif argument.type == i1:
            Rewriter.replace_value_with_new_type(argument, i8)
    end = block.last_op
    assert end is not None
    if end.operands[0].type == i1:
        with emitting(InsertPoint.before(end), op.location):
            end.operands[0] = insert(arith.ExtUIOp(end.operands[0], i8)).result


def _place_constant(op: memref.GlobalOp) -> None:
    """A constant array; one of booleans as bytes."""
    type = op.properties["type"]
    op.properties["type"] = in_global_memory(type)
    value = op.properties.get("initial_value")
    if isinstance(type, MemRefType) and type.element_type == i1 and isinstance(value, DenseIntOrFPElementsAttr):
        numbers = [int(bool(each)) for each in value.get_values()]
        op.properties["initial_value"] = DenseIntOrFPElementsAttr.from_list(TensorType(i8, type.get_shape()), numbers)
