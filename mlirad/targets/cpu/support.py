"""Finds what the cpu target does not support. Reads: the module of stage `optimized`. Writes: nothing. Leaves:
TargetErrors."""

from __future__ import annotations

from xdsl.dialects.builtin import (
    ComplexType,
    Float16Type,
    Float32Type,
    Float64Type,
    FunctionType,
    IndexType,
    IntegerType,
    ModuleOp,
    NoneType,
    ShapedType,
    TensorType,
)
from xdsl.ir import Attribute

from mlirad.contract.native_functions import NativeFunctionError, address_of
from mlirad.dialect.core.native import NativeCalls
from mlirad.dialect.core.op import NdOp
from mlirad.dialect.core.types import from_location
from mlirad.errors import TargetError
from mlirad.targets.cpu import engine
from mlirad.xdsl_support.once_per_object import once
from mlirad.xdsl_support.traversal import ops_inside

_WIDTHS = (1, 8, 16, 32, 64)


def problems_in(module: ModuleOp) -> list[TargetError]:
    """One error for each problem, with its location."""
    problems: list[TargetError] = []
    for op in ops_inside(module):
        if op.name.startswith("ad.") and not isinstance(op, NdOp):
            what = f"{op.name} reached the cpu target, which does not differentiate"
            problems.append(TargetError(what, from_location(op.location)))
        answer = op.loops() if isinstance(op, NdOp) else None
        if isinstance(answer, NativeCalls):
            try:
                address_of(answer.function.name)
            except NativeFunctionError as error:
                problems.append(TargetError(str(error), from_location(op.location)))
        odd = [value.type for value in (*op.operands, *op.results) if not _is_supported(value.type)]
        problems += [
            TargetError(f"the cpu target has no {type} ({op.name})", from_location(op.location))
            for type in dict.fromkeys(odd)
        ]
    return problems


@once
def _is_supported(type: Attribute) -> bool:
    if isinstance(type, (ShapedType, TensorType)):
        return _is_supported(type.get_element_type())  # pyright: ignore[reportAttributeAccessIssue]  # all of them have it
    if isinstance(type, IntegerType):
        return type.width.data in _WIDTHS
    if isinstance(type, ComplexType):
        return _is_supported(type.element_type)
    if isinstance(type, Float16Type):
        return engine.has_halves()
    return isinstance(type, (Float32Type, Float64Type, IndexType, NoneType, FunctionType))
