"""Everything that the target does not support, each with its line.

Reads: a module of stage `optimized`. Writes: nothing. Leaves: errors, each with an alternative.

What a kernel computes is known only after fusion, so a copy of the module is lowered to kernels. The copy is kept for
the stage `ascend-kernels`, which would do the same again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from weakref import WeakKeyDictionary

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    Float16Type,
    Float32Type,
    Float64Type,
    IntegerType,
    ModuleOp,
)
from xdsl.dialects.linalg.ops import GenericOp
from xdsl.ir import Attribute, Operation, SSAValue

from mlirad.dialect.core import types
from mlirad.dialect.core.native import NativeCalls
from mlirad.dialect.core.op import NdOp
from mlirad.dialect.ops.check import CHECK
from mlirad.errors import CompileError, TargetError
from mlirad.location import SourceLocation
from mlirad.targets.ascend.cube.matmul_kernel import is_on_cube
from mlirad.targets.ascend.kernels.host import KIND
from mlirad.targets.ascend.kernels.kernel_outlining import ENTRY, AscendKernels
from mlirad.targets.ascend.legal.legalize import AscendLegal
from mlirad.targets.ascend.soc import Soc
from mlirad.targets.ascend.tiles.body import ELEMENTS, INSTRUCTIONS, REDUCTIONS
from mlirad.targets.ascend.tiles.nest import shape_of
from mlirad.targets.ascend.tiles.tile_plan import plan_of
from mlirad.xdsl_support.traversal import find, ops_inside, ops_of

_CPU = "or compile with target='cpu'"
_HOST_DIALECTS = ("func", "arith", "scf", "memref", "math")
_LOWERED = WeakKeyDictionary[ModuleOp, ModuleOp]()
"""Modules without problems, each with its copy of stage `ascend-kernels`."""


def problems_in(module: ModuleOp, soc: Soc, tile: Sequence[int]) -> list[TargetError]:
    """One error for each problem, with its location. tile: the option of that name."""
    lowered = module.clone()
    AscendLegal().apply(Context(), lowered)
    found = [problem for op in ops_inside(lowered) for problem in _problems_of(op)]
    places = {each.location for each in found}
    try:
        AscendKernels().apply(Context(), lowered)
    except CompileError as error:
        return found or [TargetError(error.message, error.location, error.hint)]
    of_functions = [problem for each in lowered.ops for problem in _problems_of_function(each, soc, tile)]
    found += [each for each in of_functions if each.location not in places]
    if not found:
        _LOWERED[module] = lowered
    return found


def finish_checked(module: ModuleOp) -> bool:
    """Lower a module to kernels, if it has been checked, by taking the kernels of the check. The module is the checked
    one, or the result of stage `ascend-legal` for it."""
    lowered = _LOWERED.pop(module, None)
    if lowered is None:
        return False
    for op in list(module.ops):
        op.detach()
    for op in list(lowered.ops):
        op.detach()
        module.body.block.add_op(op)
    return True


def _problems_of(op: Operation) -> Iterator[TargetError]:
    """The problems of an op on arrays: elements, sizes, and functions of other libraries."""
    place = types.from_location(op.location)
    arguments = op.body.block.args if isinstance(op, func.FuncOp) and op.body.blocks else ()
    for value in dict.fromkeys(each.type for each in (*arguments, *op.results)):
        if types.is_tensor(value):
            yield from _problems_of_type(value, place)
    if isinstance(op, NdOp) and any(types.is_tensor(each.type) for each in (*op.operands, *op.results)):
        answer = op.loops()
        if isinstance(answer, NativeCalls):
            what = f"{op.name} is another library's code, which the vector cores do not have"
            yield TargetError(what, place, "compile this function with target='cpu'")


def _problems_of_type(type: Attribute, place: SourceLocation | None) -> Iterator[TargetError]:
    element = types.element_type(type)
    if isinstance(element, Float64Type):
        what = "the vector unit of the 910B has no f64"
        yield TargetError(what, place, f"pass dtype=float32, {_CPU}")
    elif isinstance(element, IntegerType) and element.width.data > 1:
        what = f"arrays of {element} are not computed by the vector unit of the 910B"
        yield TargetError(what, place, f"use float32, {_CPU}")
    elif not isinstance(element, Float16Type | Float32Type | IntegerType):
        what = f"the vector unit of the 910B has no {element}"
        yield TargetError(what, place, f"pass dtype=float32, {_CPU}")


def _problems_of_function(function: Operation, soc: Soc, tile: Sequence[int]) -> Iterator[TargetError]:
    """The problems of a function of stage `ascend-kernels`."""
    if not isinstance(function, func.FuncOp):
        return
    if is_on_cube(function):
        return
    if ENTRY in function.attributes:
        for op in find(function, GenericOp):
            problems = list(_problems_of_kernel(op))
            yield from problems
            if not problems and tile and (found := plan_of(op, soc, tile).problem()) is not None:
                yield TargetError(found[0], types.from_location(op.location), found[1])
    elif KIND in function.attributes:
        for op in ops_inside(function):
            place = types.from_location(op.location)
            name = op.callee.string_value() if isinstance(op, func.CallOp) else ""
            if name.startswith("mlirad_") and name != CHECK:
                what = "what this prints at run time is not there on the host of this target"
                yield TargetError(what, place, "compile this function with target='cpu'")
            if op.dialect_name() not in _HOST_DIALECTS:
                yield TargetError(f"{op.name} is not computed on the host", place, "compile with target='cpu'")


def _problems_of_kernel(op: GenericOp) -> Iterator[TargetError]:
    block = op.body.block
    end = block.last_op
    assert end is not None
    if any(DYNAMIC_INDEX in shape_of(each.type) for each in op.operands):
        what = "an array that is computed has a size that is known only at run time"
        hint = f"give it a size that is known at compile time, {_CPU}"
        yield TargetError(what, types.from_location(op.location), hint)
    for each in ops_of(block):
        place = types.from_location(each.location)
        if each is end:
            continue
        if type(each) not in INSTRUCTIONS:
            what = f"{each.name} is not computed by the vector unit of the 910B"
            yield TargetError(what, place, "compile this function with target='cpu'")
        elif odd := next((value.type for value in each.results if value.type not in ELEMENTS), None):
            what = f"the vector unit of the 910B has no {odd}, in which this is computed"
            yield TargetError(what, place, "compile this function with target='cpu'")
    accumulated = block.args[-1]
    combining = end.operands[0].owner
    if accumulated.first_use is not None and isinstance(combining, Operation):
        is_known = type(combining) in REDUCTIONS and _is_only_use(accumulated, combining)
        if not is_known and any(each.data.value == "reduction" for each in op.iterator_types):
            what = "this reduction is not computed by the vector unit of the 910B"
            yield TargetError(what, types.from_location(combining.location), "compile with target='cpu'")


def _is_only_use(value: SSAValue, op: Operation) -> bool:
    return all(use.operation is op for use in value.uses) and not value.has_more_than_one_use()
