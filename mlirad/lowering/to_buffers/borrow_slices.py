"""Computes a slice that is inserted into an array directly in the array's memory.

Reads: moved tensors and their webs. Writes: a slice of the array in place of the empty memory with which the
computation begins, if no element of the slice has another use in the meantime, and the result no use afterwards.
Leaves: the tensor.insert_slice ops, which no longer copy anything.

Typical case: `a[i] = f(a[i])`. The slice that is read, changed and inserted is borrowed, and nothing is copied. So is
the slice of `a[i + 1] = f(a[i])`, which reads other elements. A value that is computed in another shape, as in
`a[i] = (b @ c).reshape(n, m)`, is computed in a view of the slice, if that is contiguous. A value that is inserted and
then read, as what a tape stores, is inserted after it was read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from xdsl.dialects import arith, func, tensor
from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType
from xdsl.dialects.linalg.ops import CopyOp, FillOp
from xdsl.ir import Attribute, Block, Operation, SSAValue

from mlirad.analysis.memory import (
    VIEWS,
    input_count,
    is_empty,
    is_linalg,
    is_taken,
    memory_of,
    ties,
    viewed,
    views_of,
)
from mlirad.dialect.core.expr import insert
from mlirad.lowering.reshaping import reshaped
from mlirad.lowering.rewriting import erase, in_place_of, replace
from mlirad.lowering.tensor_memory import (
    are_apart,
    is_same_slice,
    is_small,
    is_static,
    is_thin_view,
    is_written_where_read,
)
from mlirad.lowering.to_buffers.buffer_webs import Webs
from mlirad.xdsl_support.traversal import ops_of

_NUMBERS = (arith.ConstantOp, arith.IndexCastOp, arith.AddiOp, arith.SubiOp, arith.MuliOp)
_RESHAPES = (tensor.CollapseShapeOp, tensor.ExpandShapeOp)


@dataclass(frozen=True)
class Chain:
    """The sequence of values from empty memory to the value inserted into the array: op `first` writes into `start`.

    is_reshaped: whether some have another shape than the slice, apart from axes of size 1.
    """

    start: SSAValue
    first: Operation
    index: int
    values: tuple[SSAValue, ...]
    is_reshaped: bool


def delay_insertions(block: Block) -> None:
    """Insert what a block computes behind its last reader: the readers may then find it in the array, where it can be
    computed. A value that an op takes is inserted where it was: it has to be copied."""
    for op in ops_of(block):
        for region in op.regions:
            for inner in region.blocks:
                delay_insertions(inner)
        if type(op) is tensor.InsertSliceOp and (last := _last_reader(op, block)) is not None:
            op.detach()
            block.insert_op_after(op, last)


def _last_reader(op: tensor.InsertSliceOp, block: Block) -> Operation | None:
    """The last op of the block that reads the inserted value after its insertion, if that can wait."""
    source = viewed(op.source)
    maker = source.owner
    if not isinstance(maker, Operation) or maker.parent is not block or is_taken(source):
        return None
    if not op.dest.has_one_use() or not _is_contiguous(op):
        return None
    readers = {block.find_ancestor_op_in_block(user) for user, _ in _accesses(source)}
    users = {block.find_ancestor_op_in_block(use.operation) for use in op.result.uses}
    last, is_inserted, following = None, True, op.next_op
    while following is not None:
        is_inserted = is_inserted and following not in users
        if following in readers:
            if not is_inserted:
                return None
            last = following
        following = following.next_op
    return last


def borrow_slices(webs: Webs) -> dict[Operation, tuple[SSAValue, ...]]:
    """The insert_slice ops whose source is now computed in place, with the values that have the array's memory."""
    candidates = [op for op in webs.place if type(op) is tensor.InsertSliceOp]
    return {op: values for op in candidates if (values := _borrow(op, webs))}


def _borrow(op: tensor.InsertSliceOp, webs: Webs) -> tuple[SSAValue, ...]:
    """The values of the chain; () if it cannot be computed in place."""
    if _is_used_after(op.source, op, webs):
        return ()
    _fill_late(op, webs)
    chain = _chain(op)
    if chain is None or not _is_exclusive(op, chain, webs):
        return ()
    loan = _loan(op, chain)
    for place in (*op.offsets, *op.sizes, *op.strides):
        _move_numbers(place, chain.first, webs)
    with in_place_of(chain.first):
        if loan is None:
            loan = insert(_extract_slice(op, op.source.type if chain.is_reshaped else chain.start.type)).result
            webs.join(loan, op.dest)
            if chain.is_reshaped:
                loan = reshaped(loan, chain.start.type)
                for view in memory_of(loan):
                    webs.join(view, op.dest)
    webs.forget(chain.start)
    webs.join(op.dest, chain.values[0])
    if isinstance(chain.first, CopyOp) and chain.first.inputs[0] is loan:
        replace(chain.first, [loan])
    else:
        chain.first.operands[chain.index] = loan
    assert isinstance(chain.start.owner, Operation)
    erase(chain.start.owner)
    return chain.values


def _fill_late(op: tensor.InsertSliceOp, webs: Webs) -> None:
    """Move the fill of an array that is only inserted to the insertion: until then, the slice may be read. Elements of
    small arrays become numbers instead."""
    fill, block = op.source.owner, op.parent
    assert block is not None
    if is_small(op.dest.type):
        return
    if isinstance(fill, FillOp) and fill.parent is block and op.source.has_one_use():
        fill.detach()
        block.insert_op_before(fill, op)
        webs.place[fill] = webs.place[op]


def _chain(op: tensor.InsertSliceOp) -> Chain | None:
    """From op's source back to empty memory, through ops of one block that overwrite their operand, and views in
    another shape: of a slice in pieces, only thin ones."""
    values = [op.source]
    first, index, is_reshaped, is_contiguous = None, 0, False, _is_contiguous(op)
    while not is_empty(values[-1]):
        value = values[-1]
        owner = value.owner
        if not isinstance(owner, Operation) or owner.parent is not op.parent:
            return None
        if is_thin_view(owner) or (is_contiguous and isinstance(owner, _RESHAPES)):
            is_reshaped = is_reshaped or not is_thin_view(owner)
            values.append(owner.operands[0])
            continue
        first = owner
        operand = next((operand for operand, result in ties(owner) if result is value), None)
        if operand is None or isinstance(owner, func.CallOp):
            return None
        index = operand
        values.append(owner.operands[operand])
    start = values.pop()
    if first is None or not start.has_one_use():
        return None
    if not is_reshaped and not _is_reduction(op.static_sizes.get_values(), start.type):
        return None
    return Chain(start, first, index, tuple(values), is_reshaped)


def _is_exclusive(op: tensor.InsertSliceOp, chain: Chain, webs: Webs) -> bool:
    """Whether the slice is used only by the chain between its first op and `op`, and the chain is not used
    afterwards."""
    begin, end = webs.place.get(chain.first), webs.place[op]
    if begin is None:
        return False
    if not all(_is_early(value, begin, webs) for value in (op.dest, *op.offsets, *op.sizes, *op.strides)):
        return False
    # What is computed in a slice in pieces is written in steps, and a copy is not.
    for user, index in _accesses(op.dest, op if _is_one_piece(op) else None):
        if user is op and index == 1:
            continue
        place = webs.place.get(user, end)
        if place > begin or (place == begin and not _is_same_place(op, chain, index)):
            return False
    for value in chain.values:
        if not chain.is_reshaped and _has_other_shapes(value):  # memory in pieces may have no such view
            return False
        if _is_used_after(value, op, webs) or any(isinstance(user, func.CallOp) for user, _ in _accesses(value)):
            return False
    return True


def _has_other_shapes(value: SSAValue) -> bool:
    """Whether a value has views, or these have views, of another shape than a part of it has."""
    return any(
        not (isinstance(view.op, tensor.ExtractSliceOp) or is_thin_view(view.op)) or _has_other_shapes(view)
        for view in views_of(value)
    )


def _is_early(value: SSAValue, begin: int, webs: Webs) -> bool:
    """Whether a value is available at this position, or is a number that can be moved to before it."""
    owner = value.owner
    if not isinstance(owner, Operation) or webs.place.get(owner, begin) < begin:
        return True
    return isinstance(owner, _NUMBERS) and all(_is_early(operand, begin, webs) for operand in owner.operands)


def _move_numbers(value: SSAValue, first: Operation, webs: Webs) -> None:
    """Move the ops that compute a number to before an op, if they are not there yet."""
    owner = value.owner
    if isinstance(owner, _NUMBERS) and webs.place.get(owner, 0) >= webs.place[first]:
        for operand in owner.operands:
            _move_numbers(operand, first, webs)
        assert first.parent is not None
        owner.detach()
        first.parent.insert_op_before(owner, first)
        webs.place[owner] = webs.place[first] - 1  # it is before `first`, and all values moved there stay there


def _is_used_after(value: SSAValue, op: Operation, webs: Webs) -> bool:
    end = webs.place[op]
    return any(webs.place.get(user, end + 1) > end for user, _ in _accesses(value))


def _accesses(value: SSAValue, slice: tensor.InsertSliceOp | None = None) -> Iterator[tuple[Operation, int]]:
    """The uses of a tensor's contents, including those of its views; -1 is a read in a linalg op's body. With a slice
    of the tensor, without those of other slices that have no element of it."""
    for use in value.uses:
        user = use.operation
        if isinstance(user, tensor.DimOp):
            continue
        if slice is not None and isinstance(user, tensor.ExtractSliceOp) and are_apart(user, slice):
            continue
        around = user.parent_op()
        if type(user) in VIEWS and use.index == 0:
            yield from _accesses(user.results[0])
        elif around is not None and is_linalg(around):
            yield around, -1
        else:
            yield user, use.index


def _is_same_place(op: tensor.InsertSliceOp, chain: Chain, index: int) -> bool:
    """Whether the chain's first op reads each element of operand `index` where it writes that element."""
    first = chain.first
    if not is_linalg(first) or not 0 <= index < input_count(first):
        return False
    return _is_loan(first.operands[index], op, chain) and is_written_where_read(first, index, chain.index)


def _loan(op: tensor.InsertSliceOp, chain: Chain) -> SSAValue | None:
    """The slice itself, if the chain's first op reads it."""
    return next((operand for operand in chain.first.operands if _is_loan(operand, op, chain)), None)


def _is_loan(value: SSAValue, op: tensor.InsertSliceOp, chain: Chain) -> bool:
    """Whether value is the slice of the array that op will write, in the shape with which the chain starts."""
    if value.type != chain.start.type:
        return False
    owner = value.owner
    while isinstance(owner, Operation) and is_thin_view(owner):
        owner = owner.operands[0].owner
    return isinstance(owner, tensor.ExtractSliceOp) and owner.source is op.dest and is_same_slice(owner, op)


def _is_contiguous(op: tensor.InsertSliceOp) -> bool:
    """Whether the slice is one piece of the array's memory, of known size."""
    return is_static(op.source.type) and _is_one_piece(op)


def _is_one_piece(op: tensor.InsertSliceOp) -> bool:
    """Whether the slice is one piece of the array's memory: behind the first axis with more than one index, all axes
    are whole. (Arrays of this stage are contiguous, or become so.)"""
    type, sizes = op.dest.type, list(op.static_sizes.get_values())
    if set(op.static_strides.get_values()) != {1}:
        return False
    assert isinstance(type, TensorType)
    pairs = list(zip(sizes, type.get_shape(), strict=True))
    while pairs and pairs[0][0] == 1:
        del pairs[0]
    return all(size == whole != DYNAMIC_INDEX for size, whole in pairs[1:])


def _is_reduction(sizes: Sequence[int], type: Attribute) -> bool:
    """Whether the shape equals the sizes, with some sizes of 1 dropped."""
    assert isinstance(type, TensorType)
    shape = list(type.get_shape())
    for size in sizes:
        if shape and size == shape[0]:
            del shape[0]
        elif size != 1:
            return False
    return not shape


def _extract_slice(op: tensor.InsertSliceOp, type: Attribute) -> tensor.ExtractSliceOp:
    return tensor.ExtractSliceOp.build(
        operands=[op.dest, op.offsets, op.sizes, op.strides],
        result_types=[type],
        properties={
            "static_offsets": op.static_offsets,
            "static_sizes": op.static_sizes,
            "static_strides": op.static_strides,
        },
    )
