"""A function of all lanes of its arguments at once: each op becomes the same op with one more leading axis.

Reads: a function, and which of its arguments have lanes. Writes: a private function of the same ops on stacked values,
if all its ops have a batched form. Leaves: the function. Values that are the same in all lanes are computed once.

Lanes are independent and have no order, so a function that prints, or whose checks may fail in one lane only, has no
batched form. If lanes take a branch differently, both sides are computed, provided they contain no loop. Loops over
single elements run for all lanes at once if the arrays of all lanes fit in the cache. Large lanes are batched if they
share large values, as the directions of a Jacobian share the primal function. Otherwise they lose more in memory
traffic than they gain from vector instructions.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.dialects import func, scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from mlirad.analysis.call_graph import has_ordered_effect
from mlirad.analysis.loops import is_structured, terminator, yields
from mlirad.analysis.varying import varying
from mlirad.autodiff.private_functions import add_function
from mlirad.dialect.arrays.stacked import number_of_lanes
from mlirad.dialect.core import types
from mlirad.dialect.core.expr import Expr, building, emit, emit_all, insert, located, where
from mlirad.dialect.core.op import NdOp, accessed_subset, is_pointwise
from mlirad.dialect.ops.movement import of_lanes, repeated
from mlirad.dialect.ops.reduction import MaxOp
from mlirad.errors import CompileError
from mlirad.xdsl_support.effects import has_no_effect, is_terminator
from mlirad.xdsl_support.traversal import ops_inside, ops_of

LARGE = 4096
"""Lanes with at least this many elements run one by one: their temporary arrays would be multiplied by the number of
lanes."""
CACHED = 1 << 15
"""All lanes of an array, up to this many elements, stay in the cache while a loop accesses them one by one."""
MOST = 1 << 20
"""All lanes of an array may have this many elements, if the lanes share large values."""


def all_at_once(
    module: ModuleOp,
    callee: func.FuncOp,
    inputs: Sequence[Attribute],
    wrt: Sequence[int],
    has_own_trips: bool = False,
) -> func.FuncOp | None:
    """A private function of `inputs`; those numbered `wrt` have lanes. None if the lanes must run one by one.

    has_own_trips: a `while` may make a different number of trips in each lane; it runs until the last lane is done.
    """
    lanes = types.shape(inputs[wrt[0]])[0]
    if callee.is_declaration or lanes == 0 or has_ordered_effect(module, callee):
        return None
    own = callee.body.block
    if lanes < 0 and not all(op.regions or has_no_effect(op) for op in ops_inside(callee)):
        return None  # nothing in the function has lanes
    batch = _Batch(varying(own, [own.args[number] for number in wrt]), lanes, has_own_trips)
    batch.share_large = any(
        _is_large(result.type) and result not in batch.differing for op in ops_inside(callee) for result in op.results
    )
    if not all(map(batch.is_possible, own.ops)):
        return None
    body = Block(arg_types=inputs)
    with building(body), located(callee.location):
        batch.lanes = number_of_lanes(Expr(body.args[wrt[0]]))
        batch.map(own.args, body.args)
        if not batch.block(own):
            return None
        results = [batch.stacked(value) for value in yields(own)]
        insert(func.ReturnOp(*(result.value for result in results)))
    return add_function(module, f"{callee.sym_name.data}.vmap", body, [r.type for r in results], callee.location)


class _Batch:
    """The ops of one lane, and their forms for all lanes."""

    lanes: int | Expr

    def __init__(self, differing: set[SSAValue], count: int, has_own_trips: bool):
        """differing: the values that may differ between lanes. count: the number of lanes; -1 if unknown."""
        self.differing, self.count, self.has_own_trips = differing, count, has_own_trips
        self.share_large = False
        self._values: dict[SSAValue, SSAValue] = {}

    def is_possible(self, op: Operation) -> bool:
        """Whether an op, with its regions, may have a batched form."""
        if isinstance(op, func.ReturnOp | scf.YieldOp):
            return True
        if not self._differs(op):
            return True
        match op:
            case NdOp():
                values = (value for value in (*op.operands, *op.results) if value in self.differing)
                return has_no_effect(op) and not any(_is_large(value.type) for value in values if not self._pays(value))
            case scf.ForOp() | scf.IfOp() | scf.WhileOp():
                inner = [each for region in op.regions for block in region.blocks for each in block.ops]
                is_loop = not isinstance(op, scf.IfOp)
                return self._may_differ(op) and all(
                    self.is_possible(each) and not (is_loop and self._is_of_one_element(each)) for each in inner
                )
            case scf.ConditionOp():
                return True
        return False

    def _may_differ(self, op: scf.ForOp | scf.IfOp | scf.WhileOp) -> bool:
        """Whether lanes may run an op: all alike, or, if it is a branch that selects numbers, each its own side."""
        are_numbers = not any(types.is_tensor(result.type) for result in op.results)
        match op:
            case scf.ForOp():
                return self.differing.isdisjoint((op.lb, op.ub, op.step))
            case scf.IfOp():
                # The side that a lane does not take is also computed: it must terminate and have no effect.
                is_straight = all(
                    not each.regions and (is_terminator(each.__class__) or has_no_effect(each))
                    for each in ops_inside(op)
                )
                return op.cond not in self.differing or (are_numbers and is_straight)
            case scf.WhileOp():
                return self.has_own_trips and are_numbers and is_structured(op)

    def _differs(self, op: Operation) -> bool:
        """Whether a value used by an op differs between lanes."""
        inside = (each for each in (op, *ops_inside(op)))
        return any(value in self.differing for each in inside for value in (*each.operands, *each.results))

    def _is_of_one_element(self, op: Operation) -> bool:
        """Whether an op accesses part of an array that differs between lanes, and all lanes do not fit in the cache."""
        subset = accessed_subset(op)
        if subset is None or (subset.array not in self.differing and op.results[0] not in self.differing):
            return False
        return not self._is_at_most(subset.array, CACHED)

    def _pays(self, value: SSAValue) -> bool:
        """Whether batching a large lane pays, because the lanes share large values."""
        return self.share_large and self._is_at_most(value, MOST)

    def _is_at_most(self, value: SSAValue, elements: int) -> bool:
        """Whether all lanes of a value together have at most this many elements."""
        return self.count > 0 and types.is_static(value.type) and self.count * prod(types.shape(value.type)) <= elements

    def map(self, values: Sequence[SSAValue], all: Sequence[SSAValue]) -> None:
        for value, new in zip(values, all, strict=True):
            self._values[value] = new
            new.name_hint = value.name_hint

    def of(self, value: SSAValue) -> Expr:
        """The batched form of a value of one lane, or of the code around it; the value itself if it does not differ."""
        return Expr(self._values.get(value, value))

    def stacked(self, value: SSAValue) -> Expr:
        """The same, but repeated for each lane if it does not differ."""
        return self.of(value) if value in self.differing else repeated(self.of(value), self.lanes)

    def block(self, block: Block) -> bool:
        """Emit the ops of a block; False if one has no batched form."""
        for op in ops_of(block):
            if op is terminator(block):
                continue
            with located(op.location):
                if not self._op(op):
                    return False
        return True

    def _op(self, op: Operation) -> bool:
        if not self._differs(op):
            copy = insert(op.clone(dict(self._values)))
            self.map(op.results, copy.results)
            return True
        if isinstance(op, NdOp):
            results = self._nd(op)
            if results is not None:
                self.map(op.results, [result.value for result in results])
            return results is not None
        if isinstance(op, scf.WhileOp):
            return self._while(op)
        if isinstance(op, scf.IfOp) and op.cond in self.differing:
            return self._both_sides(op)
        return self._regions(op)

    def _nd(self, op: NdOp) -> Sequence[Expr] | None:
        operands, stacked = [self.of(x) for x in op.operands], [x in self.differing for x in op.operands]
        found = op.batched(operands, stacked, self.lanes)
        if found is not None or not is_pointwise(op):
            return found
        asked = of_lanes(op.results[0].type, self.lanes)
        try:
            return emit_all(type(op), *map(self.stacked, op.operands), result_type=asked, **op.properties)
        except CompileError:
            return None  # its type rule accepts numbers only

    def _regions(self, op: Operation) -> bool:
        """A loop or a branch that runs alike in all lanes."""
        regions: list[Region] = []
        for region in op.regions:
            made = (
                Block(
                    arg_types=[
                        of_lanes(a.type, self.lanes) if a in self.differing else a.type for a in region.block.args
                    ]
                )
                if region.blocks
                else None
            )
            regions.append(Region([] if made is None else [made]))
            if made is None:
                continue
            self.map(region.block.args, made.args)
            with building(made):
                if not self.block(region.block):
                    return False
                ends = zip(yields(region.block), op.results, strict=True)
                insert(scf.YieldOp(*(self._as(value, result).value for value, result in ends)))
        new = [of_lanes(r.type, self.lanes) if r in self.differing else r.type for r in op.results]
        if isinstance(op, scf.ForOp):
            inits = [self._as(init, result).value for init, result in zip(op.iter_args, op.results, strict=True)]
            control = [self.of(x).value for x in (op.lb, op.ub, op.step)]
            operands = [*control, *inits]
        else:
            operands = [self.of(x).value for x in op.operands]
        made = insert(type(op).create(operands=operands, result_types=new, properties=op.properties, regions=regions))
        made.attributes.update(op.attributes)
        self.map(op.results, made.results)
        return True

    def _both_sides(self, op: scf.IfOp) -> bool:
        """A branch that differs between lanes: both sides are computed, and each lane selects its own."""
        sides: list[list[Expr]] = []
        for region in op.regions:
            if region.blocks:
                if not self.block(region.block):
                    return False
                sides.append([self.stacked(value) for value in yields(region.block)])
        chosen = [where(self.of(op.cond), *pair).value for pair in zip(*sides, strict=True)]
        self.map(op.results, chosen)
        return True

    def _while(self, op: scf.WhileOp) -> bool:
        """A loop that runs until the last lane is done. A lane that is done keeps its carries, so it stays done."""
        before, after = op.before_region.block, op.after_region.block
        inits = [self._as(init, result) for init, result in zip(op.arguments, op.results, strict=True)]
        carried = [init.type for init in inits]
        first, second = Block(arg_types=carried), Block(arg_types=carried)
        condition = yields(before)[0]
        is_own = condition in self.differing
        with building(first):
            self.map(before.args, first.args)
            if not self.block(before):
                return False
            go = self.of(condition)
            insert(scf.ConditionOp((emit(MaxOp, go, axes=[0]) if is_own else go).value, *first.args))
        with building(second):
            self.map(before.args, second.args)
            self.block(before)
            go = self.of(condition)
            self.map(after.args, second.args)
            if not self.block(after):
                return False
            ends = [self._as(value, result) for value, result in zip(yields(after), op.results, strict=True)]
            kept = [where(go, end, Expr(arg)) for end, arg in zip(ends, second.args, strict=True)] if is_own else ends
            insert(scf.YieldOp(*(end.value for end in kept)))
        made = insert(scf.WhileOp([init.value for init in inits], carried, Region(first), Region(second)))
        made.attributes.update(op.attributes)
        self.map(op.results, made.results)
        return True

    def _as(self, value: SSAValue, like: SSAValue) -> Expr:
        return self.stacked(value) if like in self.differing else self.of(value)


def _is_large(type: Attribute) -> bool:
    return types.is_static(type) and prod(types.shape(type)) >= LARGE
