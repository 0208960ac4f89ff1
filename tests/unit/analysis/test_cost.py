"""One scale of costs: an op's own answer, its body in upstream ops, and the ops that a call runs."""

from math import inf

import pytest
from xdsl.dialects import arith, func, math, memref
from xdsl.dialects.builtin import DYNAMIC_INDEX, IntegerAttr, MemRefType
from xdsl.ir import Block, Operation

from mlirad.analysis import cost
from mlirad.dialect.core import types
from mlirad.dialect.core.answers import Generic
from mlirad.dialect.core.expr import building
from mlirad.dialect.core.op import NdOp
from mlirad.dialect.nd import Nd
from mlirad.errors import CompileError


def bodies() -> list[tuple[type[NdOp], Block]]:
    """The bodies of all elementwise ops, on numbers of the first type that they take."""
    found: list[tuple[type[NdOp], Block]] = []
    for kind in Nd.operations:
        assert issubclass(kind, NdOp)
        definition = kind.get_irdl_definition()
        for element in (types.F64, types.I64) if not definition.properties else ():
            operands = [element] * len(definition.operands)
            block = Block(arg_types=operands)
            try:
                results = kind.infer(operands, {})
            except CompileError:
                continue
            op = kind.create(operands=block.args, result_types=results)
            answers = answer if isinstance(answer := op.loops(), tuple) else (answer,)
            generics = [each for each in answers if isinstance(each, Generic)]
            if len(generics) == len(answers) and all(each.initial is None and not each.counters for each in generics):
                with building(block):
                    for each in generics:
                        each.body(*block.args)
                found.append((kind, block))
                break
    return found


BODIES = bodies()


@pytest.mark.parametrize(("kind", "block"), BODIES, ids=[kind.name for kind, _ in BODIES])
def test_an_op_costs_what_its_body_does(kind: type[NdOp], block: Block) -> None:
    """The costs that tape and fusion assume for an op roughly agree with those of the loops that it becomes."""
    declared, counted = kind.memory.cost, cost.of_body(block)
    assert declared <= 2 * counted and counted <= 2 * declared


def test_the_sample_is_not_empty() -> None:
    names = {kind.name for kind, _ in BODIES}
    assert len(names) > 25 and {"nd.exp", "nd.add", "nd.mod", "nd.sign", "nd.add_fits"} <= names


def named(name: str) -> type[NdOp]:
    (kind,) = (kind for kind in Nd.operations if kind.name == name)
    assert issubclass(kind, NdOp)
    return kind


def of(kind: type[Operation], count: int) -> int:
    block = Block(arg_types=[types.F64] * count)
    return cost.of_op(kind.create(operands=block.args, result_types=[types.F64]))


def test_an_upstream_op_costs_what_the_op_does_that_it_is_alone() -> None:
    assert of(math.ExpOp, 1) == of(named("nd.exp"), 1) > 20
    assert of(math.SqrtOp, 1) == of(named("nd.sqrt"), 1) > of(math.AbsFOp, 1)
    assert of(arith.AddfOp, 2) == of(named("nd.add"), 2) == 1


def test_a_point_costs_more_outside_vectors() -> None:
    assert cost.of_point(3, 2) < cost.of_point(3, 2, is_vectorizable=False)
    assert cost.of_point(3, 2) < cost.of_point(3, 3)


@pytest.mark.parametrize(("shape", "least", "most"), [([4], 1, 100), ([4000], 1000, 2000), ([-1], inf, inf)])
def test_a_move_costs_by_its_length(shape: list[int], least: float, most: float) -> None:
    kind = MemRefType(types.F64, [DYNAMIC_INDEX if size < 0 else size for size in shape])
    block = Block(arg_types=[kind, kind])
    assert least <= cost.of_move(memref.CopyOp(*block.args)) <= most


def test_a_call_says_what_it_costs() -> None:
    plain, check = func.CallOp("f", [], []), func.CallOp("mlirad_check_index", [], [])
    stated = func.CallOp("f", [], [])
    stated.attributes[cost.WORK] = IntegerAttr(1000, types.I64)
    assert cost.of_call(check) < cost.of_call(plain) < cost.of_call(stated) == 1000
    assert [cost.is_bounded(call) for call in (plain, check, stated)] == [False, True, True]
