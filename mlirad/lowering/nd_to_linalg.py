"""From our ops to upstream ones, each by its own answer: `loops()`.

Reads: func, scf and nd. Writes: func, scf, arith, math, tensor and linalg, all integers signless; calls of declared
private `mlirad_*` functions. Leaves: no op of ours.

The functions are built anew, op by op, so that an op still sees its operands' signedness while it writes its body.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects import arith, func, tensor
from xdsl.dialects.builtin import FunctionType, IndexType, ModuleOp
from xdsl.dialects.linalg.ops import FillOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass

from mlirad.dialect import types
from mlirad.dialect.elementwise import number
from mlirad.dialect.expr import building, current_location, insert, insertion_point, located
from mlirad.dialect.op import Generic, NdOp
from mlirad.dialect.upstream import empty, filled, generic, size_of_axis
from mlirad.errors import CompileError
from mlirad.lowering.linalg_effects import declare_effects
from mlirad.lowering.rewriting import erase, in_place_of
from mlirad.lowering.size_bounds import bound_at, keep_bound, set_bound
from mlirad.lowering.tensor_memory import VIEWS, is_consumed

_OURS = ("nd", "ad")


@dataclass(frozen=True)
class NdToLinalg(ModulePass):
    """Replace every op of ours by what it says it is."""

    name = "mlirad-nd-to-linalg"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        declare_effects()
        for function in list(op.ops):
            block = function.parent
            assert block is not None
            lowering = _Lowering()
            with building(block):
                lowering.op(function)
            erase(function)
        for inner in reversed(list(op.walk())):
            if isinstance(inner, FillOp):
                fill_each_use(inner)
            elif type(inner) in VIEWS and inner.results[0].first_use is None:
                erase(inner)  # slices and reshapes merge as they are built
        declare_runtime(op)


@dataclass
class _Lowering:
    """What each value of the old function is in the new one."""

    values: dict[SSAValue, SSAValue] = field(default_factory=dict)

    def op(self, op: Operation) -> None:
        """Emit, at the insertion point, what op is upstream."""
        operands = [self.values[operand] for operand in op.operands]
        with located(op.location):
            if isinstance(op, NdOp):
                before = insertion_point().block.last_op
                results = _upstream(op, operands)
                keep_bound(op, _since(before, insertion_point().block))
            elif op.dialect_name() in _OURS:
                raise CompileError(
                    f"internal error: {op.name} is left at the lowering to linalg", types.from_location(op.location)
                )
            else:
                results = self._same(op, operands).results
        for old, new in zip(op.results, results, strict=True):
            if old.name_hint is not None:
                new.name_hint = old.name_hint
            self.values[old] = new

    def _same(self, op: Operation, operands: Sequence[SSAValue]) -> Operation:
        """The same op on lowered types, its regions lowered too."""
        properties = {name: _signless(attribute) for name, attribute in op.properties.items()}
        return insert(
            type(op).create(
                operands=operands,
                result_types=[types.signless(result.type) for result in op.results],
                properties=properties,
                attributes=op.attributes,
                regions=[self._region(region) for region in op.regions],
            )
        )

    def _region(self, region: Region) -> Region:
        blocks = []
        for block in region.blocks:
            new = Block(arg_types=[types.signless(arg.type) for arg in block.args])
            for old_arg, new_arg in zip(block.args, new.args, strict=True):
                self.values[old_arg] = new_arg
                if old_arg.name_hint is not None:
                    new_arg.name_hint = old_arg.name_hint
            with building(new):
                for op in block.ops:
                    self.op(op)
            blocks.append(new)
        return Region(blocks)


def _since(before: Operation | None, block: Block) -> Iterator[Operation]:
    """The ops of a block behind one of them."""
    op = block.first_op if before is None else before.next_op
    while op is not None:
        yield op
        op = op.next_op


def _signless(attribute: Attribute) -> Attribute:
    """A function's type on signless integers; other attributes as they are."""
    if not isinstance(attribute, FunctionType):
        return attribute
    return FunctionType.from_lists(
        [types.signless(type) for type in attribute.inputs], [types.signless(type) for type in attribute.outputs]
    )


def _upstream(op: NdOp, operands: Sequence[SSAValue]) -> Sequence[SSAValue]:
    answer = op.loops()
    if not isinstance(answer, Generic):
        return answer.build(*operands)
    if not any(types.is_tensor(value.type) for value in (*operands, *op.results)):
        return [answer.body(*operands)]
    return [_generic(answer, operands, types.signless(op.results[0].type))]


def _generic(answer: Generic, operands: Sequence[SSAValue], result: Attribute) -> SSAValue:
    """One `linalg.generic` into a new tensor; of a full reduction, the element of one of rank 0."""
    element = types.element_type(result)
    operands, given = operands[: len(answer.maps) - 1], operands[len(answer.maps) - 1 :]
    if given:
        sizes = [insert(arith.IndexCastOp(size, IndexType())).result for size in given]
    else:
        sizes = _unknown_sizes(answer, operands, types.shape(result))
    type = types.tensor(types.shape(result), element)
    if answer.initial is None:
        count = len(operands)
        out = empty(type, sizes)
    else:
        count = len(operands) + 1
        out = filled(number(answer.initial, element), type, sizes)
    (value,) = generic(operands, [out], answer.maps, answer.iterators, lambda *xs: [answer.body(*xs[:count])])
    return value if types.is_tensor(result) else insert(tensor.ExtractOp(value, [], element)).result


def _unknown_sizes(answer: Generic, operands: Sequence[SSAValue], shape: Sequence[int]) -> list[SSAValue]:
    """The result's sizes that are not static, each from an operand that has it."""
    *reads, write = answer.maps
    sizes: list[SSAValue] = []
    for axis, size in enumerate(shape):
        if size >= 0:
            continue
        sources = (
            (operand, place)
            for operand, read in zip(operands, reads, strict=False)
            for place, dim in enumerate(read.results)
            if dim == write.results[axis]
        )
        source = next(sources, None)
        if source is None:
            raise CompileError(
                f"internal error: nothing says how long axis {axis} of {list(shape)} is",
                types.from_location(current_location()),
            )
        sizes.append(size_of_axis(*source))
    return sizes


def fill_each_use(fill: FillOp) -> None:
    """Fill anew for each use that would overwrite the memory, if there are several uses: to copy it costs more."""
    (result,) = fill.results
    if not result.has_more_than_one_use():
        return
    memory = fill.outputs[0].owner
    if not isinstance(memory, tensor.EmptyOp):
        return
    for use in list(result.uses):
        if is_consumed(use):
            with in_place_of(use.operation):
                again = filled(fill.inputs[0], memory.tensor.type, list(memory.operands))
                use.operation.operands[use.index] = again
                made = again.owner.operands[1].owner  # type: ignore[union-attr]
                assert isinstance(made, tensor.EmptyOp)
                set_bound(made, bound_at(memory))
    if result.first_use is None:
        erase(fill)
        if memory.tensor.first_use is None:
            erase(memory)


def declare_runtime(module: ModuleOp) -> None:
    """Declare, as private functions, the run-time functions that are called."""
    known = {op.sym_name.data for op in module.ops if isinstance(op, func.FuncOp)}
    for call in list(module.walk()):
        if isinstance(call, func.CallOp) and call.callee.string_value() not in known:
            name = call.callee.string_value()
            known.add(name)
            declared = func.FuncOp.external(
                name, [operand.type for operand in call.operands], [result.type for result in call.results]
            )
            module.body.block.add_op(declared)
