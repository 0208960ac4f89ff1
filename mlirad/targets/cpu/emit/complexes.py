"""Reads: complex ops on scalars. Writes: arithmetic on their parts. Leaves: no complex op that mlirad makes."""

from __future__ import annotations

from xdsl.dialects import complex as complexes
from xdsl.dialects.builtin import ArrayAttr, FloatAttr
from xdsl.ir import Operation, SSAValue

from mlirad.targets.cpu.emit.descriptor import Parts
from mlirad.targets.cpu.emit.function import FunctionEmitter, Rule
from mlirad.targets.cpu.emit.llvm_types import literal, llvm_type


def _parts(e: FunctionEmitter, value: SSAValue) -> Parts:
    found = e.value(value)
    assert isinstance(found, Parts)
    return found


def emit_create(e: FunctionEmitter, op: complexes.CreateOp) -> None:
    e.bind(op.results[0], Parts(*e.words(op.operands)))


def emit_re(e: FunctionEmitter, op: complexes.ReOp) -> None:
    e.bind(op.results[0], _parts(e, op.operands[0]).re)


def emit_im(e: FunctionEmitter, op: complexes.ImOp) -> None:
    e.bind(op.results[0], _parts(e, op.operands[0]).im)


def emit_constant(e: FunctionEmitter, op: complexes.ConstantOp) -> None:
    value = op.properties["value"]
    assert isinstance(value, ArrayAttr)
    numbers = [each for each in value.data if isinstance(each, FloatAttr)]
    e.bind(op.results[0], Parts(*map(literal, numbers)))


def emit_add(e: FunctionEmitter, op: complexes.AddOp) -> None:
    x, y = (_parts(e, operand) for operand in op.operands)
    type = llvm_type(op.operands[0].type.element_type)
    pairs = (x.re, y.re), (x.im, y.im)
    e.bind(op.results[0], Parts(*(e.pure(f"fadd {type} {a}, {b}", a, b) for a, b in pairs)))


RULES: dict[type[Operation], Rule] = {
    complexes.AddOp: emit_add,
    complexes.ConstantOp: emit_constant,
    complexes.CreateOp: emit_create,
    complexes.ImOp: emit_im,
    complexes.ReOp: emit_re,
}
