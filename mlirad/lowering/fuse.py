"""Computes elementwise intermediates where they are used, so that they never exist.

Reads: linalg.generic, linalg.fill and constants on tensors. Writes: fewer, larger linalg.generic. Leaves: few
elementwise ops that one other op alone reads, few movements that a generic could do itself, few fills that are read.

A group is one consumer with all that is fused into it. An op joins a group if everything that reads it is in there, and
if no element of it is computed twice; cheap ops join every group that reads them. What a group reads, it reads at the
consumer's place: an op whose operand is destroyed before that stays where it is. One walk backwards finds the groups,
one walk forwards builds each of them once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import AffineMapAttr, ArrayAttr, DenseIntOrFPElementsAttr, IntegerAttr, ModuleOp, i64
from xdsl.dialects.linalg.attrs import IteratorType
from xdsl.dialects.linalg.ops import FillOp, GenericOp, IndexOp, YieldOp
from xdsl.ir import Block, BlockArgument, Operation, Region, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineMap
from xdsl.passes import ModulePass

from mlirad.dialect import types
from mlirad.dialect.constant import dense
from mlirad.dialect.expr import building, insert, located
from mlirad.lowering.dce import eliminate
from mlirad.lowering.known import number_of
from mlirad.lowering.lifetimes import Lifetimes
from mlirad.lowering.linalg_effects import declare_effects
from mlirad.lowering.loop_body import cost_of
from mlirad.lowering.rewriting import in_place_of, replace

# The dimensions of an iteration space, or of a group's, that an operand's axes run along.
Dims = tuple[int, ...]

# A body of this cost may be computed again, rather than stored and loaded.
_CHEAP = 2
# In how many places of one group an op may be computed.
_PLACES = 4
# How many ops, one a place, a group may have: a larger one gains nothing, and its loop holds more than registers do.
_LARGEST = 256


@dataclass(frozen=True)
class FuseElementwise(ModulePass):
    """Fuse producers into consumers, block by block."""

    name = "mlirad-fuse"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        declare_effects()
        for block in list(op.walk_blocks()):
            if not isinstance(block.parent_op(), GenericOp | ModuleOp):
                _fuse_block(block)
        eliminate(op)


def _fuse_block(block: Block) -> None:
    generics = [op for op in block.ops if isinstance(op, GenericOp)]
    if not generics:
        return
    groups = _Groups(Lifetimes(block))
    for op in reversed(generics):
        groups.place(op)
    for op in generics:
        if op in groups.roots:
            _Builder(groups, op).build()


# --- what an op is ----------------------------------------------------------------------------------------------


def _dims(op: GenericOp, index: int) -> Dims | None:
    """The dimensions that operand `index` runs along, if each of its axes runs along one."""
    results = op.indexing_maps.data[index].data.results
    dims = tuple(expr.position for expr in results if isinstance(expr, AffineDimExpr))
    return dims if len(dims) == len(results) else None


def _cost(op: GenericOp) -> int:
    """What one element costs to compute; 0 for a movement."""
    return sum(cost_of(each) for each in op.body.block.ops if not isinstance(each, YieldOp | arith.ConstantOp))


def _is_mappable(op: GenericOp) -> bool:
    """Whether every operand runs along dimensions, and the body is straight."""
    if any(inner.regions for inner in op.body.block.ops):
        return False
    return all(_dims(op, index) is not None for index in range(len(op.operands)))


def _is_producer(op: GenericOp) -> bool:
    """Whether op computes each element of its one result from operands' elements alone."""
    if len(op.results) != 1 or any(i.data is not IteratorType.PARALLEL for i in op.iterator_types):
        return False
    write = _dims(op, len(op.inputs))
    if write is None or sorted(write) != list(range(op.get_num_loops())) or not _is_mappable(op):
        return False
    return op.body.block.args[-1].first_use is None


def _placed(dims: Dims, write: Dims) -> Dims:
    """Where a producer's dimensions lie in a group that reads its result along `dims`."""
    placed = [0] * len(write)
    for axis, dim in enumerate(write):
        placed[dim] = dims[axis]
    return tuple(placed)


def _arrays(op: GenericOp) -> list[int]:
    """The inputs that are read element by element."""
    return [
        index
        for index, value in enumerate(op.inputs)
        if types.is_tensor(value.type) and _scalar_everywhere(value) is None
    ]


def _scalar_everywhere(value: SSAValue) -> SSAValue | DenseIntOrFPElementsAttr | None:
    """The scalar that a filled tensor holds, or the attribute of a constant of one number."""
    owner = value.owner
    if isinstance(owner, FillOp):
        return owner.inputs[0]
    if isinstance(owner, arith.ConstantOp) and isinstance(owner.value, DenseIntOrFPElementsAttr):
        return owner.value if number_of(owner.value, value.type) is not None else None
    return None


# --- which ops are computed where -------------------------------------------------------------------------------


@dataclass
class _Groups:
    """Per op, the groups that it is computed in, and at which places of each; a root is in its own group only."""

    lifetimes: Lifetimes
    places: dict[Operation | Block, dict[GenericOp, list[Dims]]] = field(default_factory=dict)
    roots: set[GenericOp] = field(default_factory=set)
    joined: dict[GenericOp, list[tuple[GenericOp, Dims]]] = field(default_factory=dict)

    def members(self, root: GenericOp) -> list[tuple[GenericOp, Dims]]:
        """What is fused into root, in the order of the program, once per place."""
        return [member for member in reversed(self.joined.get(root, [])) if member[0] is not root]

    def place(self, op: GenericOp) -> None:
        """Decide on op; all that reads it in its block is decided on."""
        found, is_all = self._readers(op) if _is_producer(op) else ({}, False)
        cost = _cost(op)
        kept = {root: places for root, places in found.items() if self._may_join(op, root, places, cost)}
        is_all = is_all and len(kept) == len(found)
        is_cheap = cost <= _CHEAP and len(_arrays(op)) <= 1
        # What stays as an op of its own is read from memory; but a movement is never worth the reading.
        if cost > 0 and not (is_all and (len(found) == 1 or is_cheap)):
            kept, is_all = {}, False
        if not is_all and _is_mappable(op) and len(op.results) == 1:
            self.roots.add(op)
            kept = {**kept, op: [tuple(range(op.get_num_loops()))]}
        self.places[op] = kept
        for root, places in kept.items():
            self.joined.setdefault(root, []).extend([(op, place) for place in places])

    def _readers(self, op: GenericOp) -> tuple[dict[GenericOp, list[Dims]], bool]:
        """The groups that read op's result, with the places; and whether that is all that uses it."""
        found: dict[GenericOp, list[Dims]] = {}
        write = _dims(op, len(op.inputs))
        is_all = op.results[0].first_use is not None
        for use in op.results[0].uses:
            reader = use.operation
            if not isinstance(reader, GenericOp) or use.index >= len(reader.inputs) or reader not in self.places:
                is_all = False
                continue
            dims = _dims(reader, use.index)
            assert write is not None and dims is not None
            if not self.places[reader]:
                is_all = False
            for root, places in self.places[reader].items():
                mine = found.setdefault(root, [])
                here = (_placed(tuple(inner[dim] for dim in dims), write) for inner in places)
                mine += [place for place in here if place not in mine]
        return found, is_all

    def _may_join(self, op: GenericOp, root: GenericOp, places: Sequence[Dims], cost: int) -> bool:
        arrays = _arrays(op)
        if len(places) > _PLACES or len(self.joined[root]) + len(places) > _LARGEST:
            return False
        if any(self._is_destroyed(op.inputs[index], op, root) for index in arrays):
            return False
        if len(places) == 1 and len(set(places[0])) == root.get_num_loops():
            return True  # each element once
        if not _is_product(root):
            return cost <= _CHEAP
        # A product reads its operands many times, and packs them: only the order of their axes may change.
        is_permutation = [len(_dims(op, index) or ()) for index in arrays] == [op.get_num_loops()]
        return cost == 0 and is_permutation and all(len(set(place)) == len(place) for place in places)

    def _is_destroyed(self, value: SSAValue, op: GenericOp, root: GenericOp) -> bool:
        """Whether value may be overwritten when `root` reads it instead of op."""
        if self.lifetimes.is_destroyed_between(value, op, root):
            return True
        # A reduction overwrites while it still reads.
        return value in root.outputs and any(i.data is not IteratorType.PARALLEL for i in root.iterator_types)


def _is_product(op: GenericOp) -> bool:
    """Whether op reduces and reads an operand along some of its dimensions only: a matrix product, say."""
    if all(i.data is IteratorType.PARALLEL for i in op.iterator_types):
        return False
    loops = op.get_num_loops()
    return any(len(op.indexing_maps.data[index].data.results) < loops for index in range(len(op.inputs)))


# --- building ---------------------------------------------------------------------------------------------------


@dataclass
class _Builder:
    """Builds one group as one generic. `inputs` are what it reads, each once per way of reading it."""

    groups: _Groups
    root: GenericOp
    block: Block = field(default_factory=Block)
    inputs: dict[tuple[SSAValue, Dims], BlockArgument] = field(default_factory=dict)
    computed: dict[tuple[SSAValue, Dims], SSAValue] = field(default_factory=dict)

    def build(self) -> None:
        root, loops = self.root, self.root.get_num_loops()
        if not any(self._is_replaced(value) for value in root.inputs):
            return
        for out in root.outputs:
            self.block.insert_arg(types.element_type(out.type), len(self.block.args))
        with building(self.block):
            # In the order of the program, so that nothing is deep: what an element is made of is there already.
            for op, place in self.groups.members(root):
                if _cost(op) > 0:
                    self._element(op.results[0], tuple(place[dim] for dim in _dims(op, len(op.inputs)) or ()))
            yielded = self._body(root, tuple(range(loops)))
            with located(root.location):
                insert(YieldOp(*yielded))
        outs = [_dims(root, len(root.inputs) + index) or () for index in range(len(root.outputs))]
        reads = [dims for _, dims in self.inputs]
        if {dim for dims in (*reads, *outs) for dim in dims} != set(range(loops)):
            # Nothing but what would be fused says how far a dimension runs.
            self.block.drop_all_references()
            return
        maps = [AffineMap(loops, 0, tuple(map(AffineDimExpr, dims))) for dims in reads]
        with in_place_of(root):
            fused = insert(
                GenericOp(
                    [value for value, _ in self.inputs],
                    list(root.outputs),
                    Region(self.block),
                    ArrayAttr([*map(AffineMapAttr, maps), *root.indexing_maps.data[len(root.inputs) :]]),
                    root.iterator_types,
                    [result.type for result in root.results],
                )
            )
        fused.attributes.update(root.attributes)
        replace(root, fused.results)

    def _is_replaced(self, value: SSAValue) -> bool:
        """Whether the group does not read value as it stands."""
        return _scalar_everywhere(value) is not None or self.root in self.groups.places.get(value.owner, {})

    def _element(self, value: SSAValue, dims: Dims) -> SSAValue:
        """The element of value at the group's place, along the dimensions given."""
        if not types.is_tensor(value.type):
            return value
        key = (value, dims)
        if key not in self.computed:
            self.computed[key] = self._scalar(value) or self._fused(value, dims) or self._input(value, dims)
        return self.computed[key]

    def _scalar(self, value: SSAValue) -> SSAValue | None:
        scalar = _scalar_everywhere(value)
        if scalar is None or isinstance(scalar, SSAValue):
            return scalar
        element = types.element_type(value.type)
        return insert(arith.ConstantOp(dense(number_of(scalar, value.type), element), element)).result  # type: ignore[arg-type]

    def _fused(self, value: SSAValue, dims: Dims) -> SSAValue | None:
        op = value.owner
        if not isinstance(op, GenericOp) or self.root not in self.groups.places.get(op, {}):
            return None
        write = _dims(op, len(op.inputs))
        assert write is not None
        (element,) = self._body(op, _placed(dims, write))
        return element

    def _input(self, value: SSAValue, dims: Dims) -> SSAValue:
        place = len(self.block.args) - len(self.root.outputs)
        arg = self.block.insert_arg(types.element_type(value.type), place)
        self.inputs[value, dims] = arg
        return arg

    def _body(self, op: GenericOp, placed: Dims) -> list[SSAValue]:
        """The elements that op yields, its dimensions lying at `placed` in the group."""
        values: dict[SSAValue, SSAValue] = {}
        body = op.body.block
        for index, (operand, arg) in enumerate(zip(op.inputs, body.args, strict=False)):
            if arg.first_use is None:
                continue
            dims = _dims(op, index)
            assert dims is not None
            values[arg] = self._element(operand, tuple(placed[dim] for dim in dims))
        if op is self.root:
            outs = len(op.outputs)
            values.update(zip(body.args[-outs:], self.block.args[-outs:], strict=True))
        for inner in body.ops:
            if isinstance(inner, YieldOp):
                return [values.get(operand, operand) for operand in inner.operands]
            copy = inner.clone(values)
            if isinstance(inner, IndexOp):
                assert isinstance(inner.dim, IntegerAttr)
                copy.properties["dim"] = IntegerAttr(placed[inner.dim.value.data], i64)
            with located(inner.location):
                insert(copy)
        raise AssertionError("a generic's body ends in a yield")
