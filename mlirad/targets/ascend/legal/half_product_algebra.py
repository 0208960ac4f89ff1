"""Leaves products of f16 matrices to the cube core, which accumulates in f32 and rounds once.

Reads: nd with f16 widened to f32. Writes: `nd.contract` on f16 for products of two matrices. Leaves: other contractions
in f32.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from mlirad.dialect.core import types
from mlirad.dialect.core.expr import Expr
from mlirad.dialect.ops.compare import CastOp
from mlirad.dialect.ops.contraction import ContractOp, contract
from mlirad.lowering.rewriting import in_place_of, replace
from mlirad.xdsl_support.traversal import find


def keep_halves(module: ModuleOp) -> None:
    """`cast(contract(cast(x), cast(y)))`, with x, y and the result in f16, becomes `contract(x, y)`."""
    for op in find(module, ContractOp):
        x, y = _narrow(op.x), _narrow(op.y)
        uses = [use.operation for use in op.result.uses]
        if x is None or y is None or not _is_matmul(op):
            continue
        if not all(isinstance(each, CastOp) and types.element_type(each.results[0].type) == types.F16 for each in uses):
            continue
        with in_place_of(op):
            product = contract(op.spec.data, Expr(x), Expr(y)).value
        for each in uses:
            name = each.results[0].name_hint
            replace(each, [product])
            product.name_hint = name


def _narrow(value: SSAValue) -> SSAValue | None:
    """The f16 value that was widened to this value."""
    owner = value.owner
    if isinstance(owner, CastOp) and types.element_type(owner.operands[0].type) == types.F16:
        return owner.operands[0]
    return None


def _is_matmul(op: ContractOp) -> bool:
    """Whether it multiplies two matrices, neither of them a single row or column."""
    lhs, rhs, result = map(set, op.labels)
    sizes = (*types.shape(op.x.type), *types.shape(op.y.type))
    groups = (lhs & result - rhs, rhs & result - lhs, lhs & rhs - result)
    return all(len(each) == 1 for each in groups) and len(lhs | rhs | result) == 3 and 1 not in sizes
