"""Lowers nd ops to upstream ones, each by its own `loops()`; each group of fused ops becomes one `linalg.generic`.

Reads: func, scf and nd. Writes: func, scf, arith, math, tensor and linalg, all integers signless; calls of declared
private `mlirad_*` functions. Leaves: no nd op, and no array that would be read only by loops fused with its own.

Each function is rebuilt op by op, so that an op still sees its operands' signedness while it writes its body. Fusion is
planned before anything is built (`fusion.py`), so no loop is created only to be fused later.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects import arith, func, tensor
from xdsl.dialects.builtin import FunctionType, ModuleOp
from xdsl.dialects.linalg.ops import FillOp, GenericOp, YieldOp
from xdsl.ir import Attribute, Block, Operation, OpResult, Region, SSAValue, Use
from xdsl.passes import ModulePass

from mlirad.analysis.bounds import element_bound, note_bound, noted_bound
from mlirad.analysis.memory import NATIVE, takes
from mlirad.dialect.ad.tape import SLOT
from mlirad.dialect.core import types
from mlirad.dialect.core.answers import SizeOf
from mlirad.dialect.core.effect_table import is_removable
from mlirad.dialect.core.expr import building, current_location, insert, insertion_point, located
from mlirad.dialect.core.native import NativeCalls
from mlirad.dialect.core.op import DIALECTS, NdOp, written_subset
from mlirad.dialect.core.scalars import number
from mlirad.dialect.core.upstream import as_index, empty, filled, generic, size_of_axis, written
from mlirad.errors import CompileError
from mlirad.lowering.rewriting import erase, in_place_of
from mlirad.lowering.to_linalg.fast_arithmetic import allow_fast, since
from mlirad.lowering.to_linalg.fused_body import FusedBody
from mlirad.lowering.to_linalg.fusion import Fusion, FusionPlan, Member
from mlirad.lowering.to_linalg.native_calls import native_calls


@dataclass(frozen=True)
class NdToLinalg(ModulePass):
    """Replace every nd op by its `loops()`, and each group of fused ops by one `linalg.generic`.

    fuse: whether elementwise intermediates are computed where they are used; else each op is a generic of its own.
    fastmath: whether the program's arithmetic may be reassociated, contracted, and multiplied by reciprocals.
    lanes: the elements of a vector, which functions of shorter rows need not leave unused; 0 if rows are vectors.

    Before:

        func.func @f(%x: tensor<4xf64>) -> tensor<4xf64> {
          %a = nd.sin %x : tensor<4xf64>
          %y = nd.mul %a, %x : tensor<4xf64>
          func.return %y : tensor<4xf64>
        }

    After `mlirad-nd-to-linalg{fuse=true fastmath=false lanes=0}`:

        func.func @f(%x: tensor<4xf64>) -> tensor<4xf64> {
          %0 = tensor.empty() : tensor<4xf64>
          %y = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>],
                              iterator_types = ["parallel"]} ins(%x : tensor<4xf64>) outs(%0 : tensor<4xf64>) {
          ^bb0(%1: f64, %2: f64):
            %3 = math.sin %1 : f64
            %4 = arith.mulf %3, %1 : f64
            linalg.yield %4 : f64
          } -> tensor<4xf64>
          func.return %y : tensor<4xf64>
        }
    """

    name = "mlirad-nd-to-linalg"

    fuse: bool = True
    fastmath: bool = False
    lanes: int = 0

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        lowering = _Lowering(Fusion(self.fuse, self.lanes), self.fastmath)
        functions = list(op.ops)
        for function in functions:
            assert function.parent is not None
            with building(function.parent):
                lowering.op(function, FusionPlan())
        for old, fill in reversed(lowering.fills):
            is_shared = old.has_more_than_one_use() or fill.results[0].has_more_than_one_use()
            if fill.parent is not None and (is_shared or _is_inserted_elsewhere(fill)):
                fill_each_use(fill)
        for function in functions:
            erase(function)
        declare_runtime(op)


@dataclass
class _Lowering:
    """values: maps values of the old function to values of the new one. fills: the fills emitted for old values."""

    fusion: Fusion
    fastmath: bool
    values: dict[SSAValue, SSAValue] = field(default_factory=dict)
    fills: list[tuple[SSAValue, FillOp]] = field(default_factory=list)

    def op(self, op: Operation, plan: FusionPlan) -> None:
        """Emit the upstream form of op at the insertion point; nothing, if other ops compute it."""
        with located(op.location):
            if isinstance(op, NdOp):
                results = self._upstream(op, plan)
            elif op.dialect_name() in DIALECTS:
                raise CompileError(
                    f"internal error: {op.name} is left at the lowering to linalg", types.from_location(op.location)
                )
            else:
                results = self._same(op).results
        for old, new in zip(op.results, results, strict=False):
            if new is not None:
                if old.name_hint is not None:
                    new.name_hint = old.name_hint
                self.values[old] = new

    def _upstream(self, op: NdOp, plan: FusionPlan) -> Sequence[SSAValue | None]:
        """The results of an op; None for those that other ops compute."""
        answer = plan.others.get(op)
        if answer is None:
            members = [plan.members[result] for result in op.results]
            return [self._generic(member, plan) if member.is_root else None for member in members]
        if isinstance(answer, SizeOf):
            return [self._asked_size(op.operands[answer.operand], answer.axis)]
        operands = [self.values[operand] for operand in op.operands]
        before = insertion_point().block.last_op
        if isinstance(answer, tuple):
            numbers = [each.body(*operands) for each in answer]
            if self.fastmath:
                allow_fast(op, since(before, insertion_point().block))
            return numbers
        results = native_calls(answer, operands) if isinstance(answer, NativeCalls) else answer.build(*operands)
        if self.fastmath:
            allow_fast(op, since(before, insertion_point().block))
        _keep_bound(op, op.results, since(before, insertion_point().block))
        for old, new in zip(op.results, results, strict=False):
            if isinstance(new.owner, FillOp):
                self.fills.append((old, new.owner))
        return results

    def _generic(self, root: Member, plan: FusionPlan) -> SSAValue:
        """One `linalg.generic` into a new tensor; for a full reduction, the element of a tensor of rank 0."""
        result = types.signless(root.result.type)
        element, shape = types.element_type(result), types.shape(result)
        type = types.tensor(shape, element)
        sizes = [self._size(root.result, axis) for axis, size in enumerate(shape) if size < 0]
        before = insertion_point().block.last_op
        memory = empty(type, sizes)
        _keep_bound(root.op, [root.result], since(before, insertion_point().block))
        out = self._accumulator(root, memory)
        body = FusedBody(root, plan, self.values, self.fastmath)
        yielded = body.build(element)
        body.block.add_op(YieldOp.create(operands=[yielded], location=current_location()))
        inputs = [self.values[array] for array, _ in body.inputs]
        maps = (*[read for _, read in body.inputs], root.answer.maps[-1])
        value = generic(inputs, out, maps, body.block)
        return value if types.is_tensor(result) else insert(tensor.ExtractOp(value, [], element)).result

    def _accumulator(self, root: Member, memory: SSAValue) -> SSAValue:
        """The initial result of a group's loops: memory, which a reduction fills with its initial value."""
        initial, start = root.answer.initial, root.answer.start
        if initial is None:
            return memory
        if start is None:
            return written(FillOp, number(initial, types.element_type(memory.type)), memory)
        given = self.values[root.op.operands[start]]
        return given if types.is_tensor(given.type) else written(FillOp, given, memory)

    def _size(self, array: SSAValue, axis: int) -> SSAValue:
        """An unknown size of an array of the old function, as an `index`."""
        source = self._size_source(array, axis)
        if isinstance(source, SSAValue):
            return as_index(self.values[source])
        array, axis = source
        return size_of_axis(self.values[array], axis)

    def _size_source(self, array: SSAValue, axis: int) -> SSAValue | tuple[SSAValue, int]:
        """The source of an unknown size: an i64, or the size of a stored array."""
        while array not in self.values:
            source = None
            if isinstance(array, OpResult) and isinstance(array.op, NdOp):
                source = array.op.size_source(axis, array.index)
            if source is None:
                raise CompileError(
                    f"internal error: nothing says how long axis {axis} of {array.type} is",
                    types.from_location(current_location()),
                )
            if isinstance(source, SSAValue):
                return source
            array, axis = source
        return array, axis

    def _asked_size(self, array: SSAValue, axis: int) -> SSAValue:
        """A size, as an i64, even of an array that is computed in other loops."""
        source = self._size_source(array, axis)
        if isinstance(source, SSAValue):
            return self.values[source]
        array, axis = source
        return insert(arith.IndexCastOp(size_of_axis(self.values[array], axis), types.I64)).result

    def _same(self, op: Operation) -> Operation:
        """The same op on lowered types; its regions are lowered too."""
        return insert(
            type(op).create(
                operands=[self.values[operand] for operand in op.operands],
                result_types=[types.signless(result.type) for result in op.results],
                properties={name: _signless(attribute) for name, attribute in op.properties.items()},
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
            plan = self.fusion.plan(block)
            with building(new):
                for op in block.ops:
                    self.op(op, plan)
            _sweep(new)
            blocks.append(new)
        return Region(blocks)


def _sweep(block: Block) -> None:
    """Erase unused ops: views that were merged as they were built, and filled arrays that were read as numbers."""
    op = block.last_op
    while op is not None:
        before = op.prev_op
        is_known = not op.regions or isinstance(op, FillOp | GenericOp)
        if is_known and op.results and all(result.first_use is None for result in op.results) and is_removable(op):
            erase(op)
        op = before


def _signless(attribute: Attribute) -> Attribute:
    """A function's type with signless integers; other attributes unchanged."""
    if not isinstance(attribute, FunctionType):
        return attribute
    return FunctionType.from_lists(
        [types.signless(type) for type in attribute.inputs], [types.signless(type) for type in attribute.outputs]
    )


def _keep_bound(op: NdOp, results: Sequence[SSAValue], lowered: Iterable[Operation]) -> None:
    """Note the bounds of `op`'s results on the memory that was allocated for them."""
    if (slot := op.attributes.get(SLOT)) is not None:
        for each in lowered:
            if isinstance(each, tensor.EmptyOp):
                each.attributes[SLOT] = slot
        return
    empties = [each for each in lowered if isinstance(each, tensor.EmptyOp) and each.dynamic_sizes]
    if not empties:
        return
    write = written_subset(op)  # it allocates memory for what it writes, if for anything
    found = [element_bound(value) for value in (results if write is None else [write.part])]
    known = [bound for bound in found if bound is not None]
    bound = max(known) if len(known) == len(found) else None
    for each in empties:
        note_bound(each, bound)


def _is_inserted_elsewhere(fill: FillOp) -> bool:
    """Whether an op in another block, such as a loop's body, inserts it into a slice."""
    uses = fill.results[0].uses
    return any(_is_inserted(use) and use.operation.parent is not fill.parent for use in uses)


def _is_inserted(use: Use) -> bool:
    return isinstance(use.operation, tensor.InsertSliceOp) and use.index == 0


def fill_each_use(fill: FillOp) -> None:
    """Repeat the fill for each use that would overwrite the memory, or insert it into a slice: a copy costs more."""
    memory = fill.operands[1].owner
    if not isinstance(memory, tensor.EmptyOp):
        return
    for use in list(fill.results[0].uses):
        if takes(use) or _is_inserted(use):
            with in_place_of(use.operation):
                again = filled(fill.operands[0], memory.tensor.type, list(memory.operands))
                use.operation.operands[use.index] = again
                assert isinstance(again.owner, Operation)
                made = again.owner.operands[1].owner
                assert isinstance(made, tensor.EmptyOp)
                note_bound(made, noted_bound(memory))
    if fill.results[0].first_use is None:
        erase(fill)
        if memory.tensor.first_use is None:
            erase(memory)


def declare_runtime(module: ModuleOp) -> None:
    """Declare the run-time functions that are called, as private functions."""
    known = {op.sym_name.data for op in module.ops if isinstance(op, func.FuncOp)}
    for call in list(_calls(module)):
        name = call.callee.string_value()
        if name not in known:
            known.add(name)
            declared = func.FuncOp.external(
                name, [operand.type for operand in call.operands], [result.type for result in call.results]
            )
            declared.attributes.update({key: call.attributes[key] for key in call.attributes if key == NATIVE})
            module.body.block.add_op(declared)


def _calls(op: Operation) -> Iterator[func.CallOp]:
    """The calls in an op; scalar bodies have none."""
    for region in op.regions:
        for block in region.blocks:
            for inner in block.ops:
                if isinstance(inner, func.CallOp):
                    yield inner
                elif inner.regions and not isinstance(inner, GenericOp):
                    yield from _calls(inner)
