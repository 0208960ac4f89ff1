"""The replaced methods of xDSL's ops do what xDSL's own methods do, including their errors."""

from __future__ import annotations

import struct

import numpy as np
import pytest
from xdsl.builder import Builder
from xdsl.dialects import arith, memref, scf, test
from xdsl.dialects.builtin import (
    UNKNOWN_LOC,
    DenseArrayBase,
    FileLineColLoc,
    IndexType,
    IntAttr,
    IntegerType,
    MemRefType,
    ModuleOp,
    StringAttr,
    f64,
    i32,
    i64,
)
from xdsl.ir import Block, BlockArgument, Region
from xdsl.ir.core import SSAValues
from xdsl.utils.exceptions import VerifyException

from mlirad.dialect.core.attributes import ints


def test_an_op_knows_its_parts_and_its_operands_know_it() -> None:
    source = test.TestOp.create(result_types=[f64, i64])
    place = FileLineColLoc(StringAttr("f.py"), IntAttr(3), IntAttr(1))
    op = test.TestOp.create(
        operands=[source.results[0], source.results[0], source.results[1]],
        result_types=[i64],
        attributes={"note": StringAttr("here")},
        regions=[Region(Block())],
        location=place,
    )
    assert [(use.operation, use.index) for use in source.results[0].uses] == [(op, 1), (op, 0)]
    assert tuple(op.operands) == (*source.results[:1], *source.results) and op.results[0].owner is op
    assert op.attributes == {"note": StringAttr("here")} and op.location == place and source.location == UNKNOWN_LOC
    assert op.regions[0].parent is op and op.parent is None
    op.operands = []
    assert source.results[0].first_use is None


def test_parts_are_found_by_name() -> None:
    array, value = (test.TestOp.create(result_types=[type]).results[0] for type in (MemRefType(f64, [2, 3]), f64))
    first, second = test.TestOp.create(result_types=[IndexType(), IndexType()]).results
    store = memref.StoreOp.get(value, array, [first, second])
    assert store.value is value and store.memref is array and tuple(store.indices) == (first, second)
    assert isinstance(store.indices, SSAValues) and store.indices.types == (IndexType(), IndexType())
    assert memref.LoadOp.get(array, [first, second]).res.type == f64
    body = Region(Block(arg_types=[IndexType(), f64]))
    loop = scf.ForOp(first, second, first, [value], body)
    assert (loop.lb, loop.ub, loop.step, *loop.iter_args) == (first, second, first, value) and loop.body is body
    view = memref.SubviewOp.get(array, [first, 0], [1, 2], [1, 1], MemRefType(f64, [1, 2]))
    assert tuple(view.offsets) == (first,) and not view.sizes and not view.strides and view.source is array


def test_an_operand_can_be_replaced() -> None:
    x, y, z = test.TestOp.create(result_types=[f64, f64, f64]).results
    op = test.TestOp.create(operands=[x, x, y])
    before = op.operands
    op.operands[1] = z
    before[2] = z  # earlier operands still belong to the op, and name its present ones
    assert tuple(op.operands) == (x, z, z) and tuple(before) == (x, x, y)
    assert [(use.operation, use.index) for use in z.uses] == [(op, 2), (op, 1)]
    assert [use.index for use in x.uses] == [0] and y.first_use is None
    x.replace_all_uses_with(y)
    assert tuple(op.operands) == (y, z, z) and x.first_use is None and op.operands.types == (f64, f64, f64)
    op.drop_all_references()
    op.operands = [x]
    assert [use.index for use in x.uses] == [0] and z.first_use is None


def test_what_is_around_an_op() -> None:
    inner, alone = test.TestOp.create(), test.TestOp.create()
    block = Block([inner], arg_types=[f64])
    outer = test.TestOp.create(regions=[Region([block, Block()])])
    assert inner.parent_op() is outer and alone.parent_op() is None
    assert Block([alone]).parent_op() is None and alone.parent_op() is None
    region = outer.regions[0]
    assert [len(each.args) for each in region.blocks] == [1, 0] and region.first_block is block
    assert block.next_block is region.last_block and region.last_block.prev_block is block
    seen = []
    for each in region.blocks:  # a block may be taken out while its region is walked
        seen.append(region.detach_block(each))
    assert seen[0] is block and len(seen) == 2 and not region.blocks
    block.args[0].name_hint = "x_1"
    assert block.args[0].name_hint == "x"


def test_an_argument_is_one_part_or_several() -> None:
    x, y = test.TestOp.create(result_types=[f64, f64]).results
    assert tuple(arith.AddfOp(x, y).operands) == (x, y)
    assert tuple(scf.YieldOp(x, y).operands) == (x, y) and not scf.YieldOp().operands
    with pytest.raises(ValueError, match="Expected 2 operand"):
        arith.AddfOp.build(operands=[x], result_types=[f64])
    with pytest.raises(ValueError, match="Sequence to non-variadic"):
        arith.AddfOp.build(operands=[[x, y], y], result_types=[f64])
    with pytest.raises(ValueError, match="Sequence to non-variadic"):  # no operand is a list without elements
        arith.AddfOp.build(operands=[None, y], result_types=[f64])


def test_successors_are_kept() -> None:
    target = Block()
    op = test.TestTermOp.create(successors=[target])
    assert list(op.successors) == [target] and target.first_use is not None


def test_default_properties_are_those_of_the_class() -> None:
    one = arith.ConstantOp.from_int_and_width(1, 64)
    added = arith.AddfOp.create(operands=[one.result, one.result], result_types=[i64])
    assert set(added.properties) == {"fastmath"}
    assert set(arith.AddiOp.create(operands=[one.result, one.result], result_types=[i64]).properties) == {
        "overflowFlags"
    }
    assert scf.YieldOp.create().properties == {}


def test_an_op_is_attached_once_and_never_to_itself() -> None:
    op, block = test.TestOp.create(), Block()
    block.add_op(op)
    with pytest.raises(ValueError, match="already attached"):
        Block().add_op(op)
    inner = Block()
    outer = ModuleOp([test.TestOp.create(regions=[Region(inner)])])
    with pytest.raises(ValueError, match="contained in the operation"):
        inner.add_op(outer)


def test_ops_and_values_equal_only_themselves() -> None:
    first, second = test.TestOp.create(result_types=[i64]), test.TestOp.create(result_types=[i64])
    assert first == first and first != second and len({first, second, first}) == 2
    assert first.results[0] != second.results[0] and {first.results[0]: 1}[first.results[0]] == 1


def test_arrays_of_integers_are_unpacked_once() -> None:
    sizes = DenseArrayBase.from_list(i64, [3, -1, 2])
    assert sizes.get_values() == (3, -1, 2) and sizes.get_values() is sizes.get_values()
    assert ints(sizes) == (3, -1, 2) and DenseArrayBase.from_list(f64, [0.5]).get_values() == (0.5,)


def test_equal_arrays_of_integers_are_one_object() -> None:
    assert DenseArrayBase.from_list(i64, [3, -1]) is DenseArrayBase.from_list(i64, (np.int64(3), -1))
    assert DenseArrayBase.from_list(i64, [3, 1]) != DenseArrayBase.from_list(i32, [3, 1])
    assert DenseArrayBase.from_list(IntegerType(64), [3]) == DenseArrayBase.from_list(i64, [3])
    negative, zero = DenseArrayBase.from_list(f64, [-0.0]), DenseArrayBase.from_list(f64, [0.0])
    assert negative.data != zero.data
    for wrong in ([1.0], [1 << 70]):
        for _ in range(2):
            with pytest.raises((struct.error, VerifyException, ValueError)):
                DenseArrayBase.from_list(i64, wrong)
        DenseArrayBase.from_list(i64, [1])


def test_a_block_is_walked_while_it_changes() -> None:
    first, second, third = (test.TestOp.create() for _ in range(3))
    block = Block([first, second, third])
    met = []
    for op in block.ops:
        met.append(op)
        if op is first:
            block.insert_op_after(test.TestOp.create(), first)  # the op after it is known by now
        if op is second:
            op.detach()
    assert met == [first, second, third]
    assert block.first_op is first and block.last_op is third and third.prev_op is first.next_op
    assert len(block.ops) == 3 and list(Block().ops) == []


def test_parts_of_operands_are_operands() -> None:
    source = test.TestOp.create(result_types=[f64, i64, f64])
    op = test.TestOp.create(operands=source.results)
    assert op.operands[1] is source.results[1] and op.operands[-1].owner is source
    assert [value.type for value in op.operands[1:]] == [i64, f64]
    assert source.results[1:].types == (i64, f64)
    argument = Block(arg_types=[f64]).args[0]
    assert argument.owner is argument.block and argument.type == f64


def test_implicit_builders_collect_what_is_created() -> None:
    @Builder.implicit_region([f64, f64])
    def region(args: tuple[BlockArgument, ...]) -> None:
        arith.AddfOp(args[0], args[1])

    assert [op.name for op in region.block.ops] == ["arith.addf"]
