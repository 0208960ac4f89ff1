"""Makes room on tapes of a length that is known only after a loop has run.

Reads: functions of the host. Writes: the same, with a branch that copies a tape into a longer one for each call of
`@mlirad_grow_T`. Leaves: nothing.
"""

from __future__ import annotations

from xdsl.dialects import arith, func, memref, scf
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    IndexType,
    IntegerAttr,
    IntegerType,
    MemRefType,
    ModuleOp,
    StridedLayoutAttr,
)
from xdsl.ir import Attribute, Block, Region, SSAValue
from xdsl.rewriter import InsertPoint

from mlirad.dialect.ad.tape import SLOT
from mlirad.dialect.core.expr import building, emitting, insert
from mlirad.dialect.core.scalars import number
from mlirad.lowering.rewriting import erase, replace
from mlirad.xdsl_support.traversal import find

GROW = "mlirad_grow_"


def grow_on_host(module: ModuleOp) -> None:
    """Replace all calls of `@mlirad_grow_T(tape, k)`, which return the tape with room for element k."""
    calls = [each for each in find(module, func.CallOp) if each.callee.string_value().startswith(GROW)]
    for tape in find(module, memref.AllocOp) if calls else ():
        if SLOT in tape.attributes and tape.dynamic_sizes:
            with emitting(InsertPoint.after(tape), tape.location):
                _clear(tape.memref, _index(0), tape.dynamic_sizes[0])
    for call in calls:
        tape, k = call.operands
        with emitting(InsertPoint.before(call), call.location):
            length = insert(memref.DimOp(tape, _index(0))).result
            fits = insert(arith.CmpiOp(k, length, "slt")).result
            kept, grown = Block(), Block()
            with building(kept):
                insert(scf.YieldOp(tape))
            with building(grown):
                insert(scf.YieldOp(_longer(tape, length, k)))
            branch = insert(scf.IfOp(fits, [tape.type], Region(kept), Region(grown)))
        replace(call, [branch.results[0]])
    for function in [each for each in module.ops if isinstance(each, func.FuncOp)]:
        if function.sym_name.data.startswith(GROW):
            erase(function)


def _longer(tape: SSAValue, length: SSAValue, k: SSAValue) -> SSAValue:
    """A copy with twice the room that element k needs, padded with zeros."""
    assert isinstance(tape.type, MemRefType)
    size = insert(arith.MuliOp(insert(arith.AddiOp(k, _index(1))).result, _index(2))).result
    made = insert(memref.AllocOp([size], [], tape.type)).memref
    begin = MemRefType(tape.type.element_type, tape.type.shape, StridedLayoutAttr([1]), tape.type.memory_space)
    part = insert(memref.SubviewOp(made, [], [length], [], [0], [DYNAMIC_INDEX], [1], begin))
    insert(memref.CopyOp(tape, part.result))
    _clear(made, length, size)
    return made


def _clear(tape: SSAValue, begin: SSAValue, end: SSAValue) -> None:
    """Store zeros: everything that is copied later must be initialised."""
    body = Block(arg_types=[IndexType()])
    with building(body):
        insert(memref.StoreOp.get(_zero(tape.type), tape, [body.args[0]]))
        insert(scf.YieldOp())
    insert(scf.ForOp(begin, end, _index(1), [], body))


def _index(value: int) -> SSAValue:
    return insert(arith.ConstantOp.from_int_and_width(value, IndexType())).result


def _zero(type: Attribute) -> SSAValue:
    assert isinstance(type, MemRefType)
    element = type.element_type
    if isinstance(element, IntegerType):
        return insert(arith.ConstantOp(IntegerAttr(0, element))).result
    return number(0.0, element)
