"""Computes in f32 where the vector unit cannot compute on integers or booleans.

Reads: nd. Writes: nd. Leaves: arrays of integers that are computed, which the target refuses.

Arrays of constant integers (from `np.arange`, or the indices of an identity matrix) become f32 if they are only moved,
compared and cast. Integers below 2**24 are exact in f32. Reductions of booleans become reductions of 0 and 1.
"""

from __future__ import annotations

import numpy as np
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, ModuleOp
from xdsl.ir import Block, Operation, SSAValue

from mlirad.dialect.core import types
from mlirad.dialect.core.answers import Generic
from mlirad.dialect.core.expr import Expr, building, constant, emit
from mlirad.dialect.core.op import NdOp
from mlirad.dialect.ops.compare import cast
from mlirad.lowering.rewriting import in_place_of, replace
from mlirad.xdsl_support.traversal import ops_inside

_EXACT = 1 << 24


def narrow(module: ModuleOp) -> None:
    """Rewrite constant integers and reductions of booleans."""
    floats: dict[SSAValue, Expr] = {}
    for op in list(ops_inside(module)):
        if isinstance(op, NdOp) and len(op.results) == 1 and types.is_tensor((op.operands or op.results)[0].type):
            if _is_integers(op.results[0]) and isinstance(contents := op.contents(), DenseIntOrFPElementsAttr):
                numbers = np.array(contents.get_values())
                if numbers.size and np.abs(numbers).max() < _EXACT:
                    with in_place_of(op):
                        floats[op.results[0]] = _constant(numbers, op.results[0])
            elif any(each in floats for each in op.operands):
                _move(op, floats)
            elif _reduces_booleans(op):
                with in_place_of(op):
                    found = op.result_on(*(cast(Expr(each), types.F32) for each in op.operands))
                    replace(op, [(found != 0.0).value])


def _move(op: NdOp, floats: dict[SSAValue, Expr]) -> None:
    """Rewrite the op on f32, if it is one of the allowed ops."""
    operands = [floats.get(each) for each in op.operands]
    known = [each for each in operands if each is not None]
    if len(known) < len(operands):
        return
    result = op.results[0]
    with in_place_of(op):
        if _is_identity(op) and types.is_float(types.element_type(result.type)):
            replace(op, [cast(known[0], types.element_type(result.type)).value])
        elif types.is_bool(types.element_type(result.type)):
            replace(op, [emit(type(op), *known, result_type=result.type, **op.properties).value])
        elif _is_integers(result) and _is_identity(op):
            asked = types.with_element(result.type, types.F32)
            floats[result] = emit(type(op), *known, result_type=asked, **op.properties)


def _is_integers(value: SSAValue) -> bool:
    return types.is_tensor(value.type) and types.element_type(value.type) == types.I64


def _constant(numbers: np.ndarray, like: SSAValue) -> Expr:
    shape = types.shape(like.type)
    full = np.broadcast_to(numbers.reshape(shape if numbers.size > 1 else ()), shape)
    return constant(full.astype(np.float32), types.with_element(like.type, types.F32))


def _is_identity(op: NdOp) -> bool:
    """Whether each element of the result is an element of the operand, at most converted."""
    answer = op.loops()
    if not isinstance(answer, Generic) or answer.initial is not None or len(op.operands) != 1:
        return False
    block = Block(arg_types=[types.signless(types.element_type(op.operands[0].type))])
    with building(block):
        value = answer.body(*block.args)
    return value is block.args[0] or (isinstance(value.owner, Operation) and value.owner.name == "arith.sitofp")


def _reduces_booleans(op: NdOp) -> bool:
    answer = op.loops()
    is_reduction = isinstance(answer, Generic) and answer.initial is not None
    return is_reduction and all(types.is_bool(types.element_type(each.type)) for each in (*op.operands, *op.results))
