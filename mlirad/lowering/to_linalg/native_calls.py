"""Emits calls of native functions, for ops that answer with `NativeCalls`.

Reads: the answer of an op, and its lowered operands. Writes: nests of `func.call`, whose attributes describe the
callee. Leaves: nothing.

The first operand of a call is its work. Each array follows, with the index of its part; then the numbers. The call
returns the arrays that it overwrites.

    %1 = func.call @"mlirad.native.sorting.sort.stable.float64(4)"(%work, %0, %c0, %n, %null)
        {mlirad.native = "mlirad.native.sorting.sort.stable.float64", mlirad.ties = array<i64: 1, 0>, ...}

A function of numbers receives elements, and returns an element:

    %2 = func.call @"mlirad.native.registered.j1()"(%work, %1) {mlirad.native = "mlirad.native.registered.j1", ...}

A loop of a gufunc has its core signature in `mlirad.gufunc`, and the limit of its allocations in
`mlirad.gufunc_memory`; see `NativeFunction`.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.dialects import arith, func, tensor
from xdsl.dialects.builtin import DenseArrayBase, IndexType, IntegerAttr, StringAttr, UnitAttr, i64
from xdsl.ir import Attribute, SSAValue

from mlirad.analysis.cost import CALL, WORK
from mlirad.analysis.memory import GIL, GUFUNC, GUFUNC_MEMORY, NATIVE, TIES
from mlirad.dialect.core import types
from mlirad.dialect.core.expr import insert
from mlirad.dialect.core.native import ElementAt, Length, NativeCalls, NativeFunction, PartAddress, WholeAddress
from mlirad.dialect.core.scalars import number
from mlirad.dialect.core.upstream import as_indices, counted, size_of_axis


def native_calls(answer: NativeCalls, operands: Sequence[SSAValue]) -> Sequence[SSAValue]:
    """The op's results, on lowered operands."""
    results = list(answer.start(*operands))
    arrays = [*operands, *results]
    parts = [each.array for each in answer.arguments if isinstance(each, PartAddress)]
    # The calls run along the parts of the first array, or along the numbers that they return.
    first = arrays[parts[0]] if parts else results[0] if results else None
    rank = answer.rank_of(parts[0]) if parts else 0
    outer = 0 if first is None else len(types.shape(first.type)) - rank
    sizes = [] if first is None else [_length(first, axis) for axis in range(outer + rank)]
    work = _product(sizes[outer:], answer.work)

    charge = _size(work)

    def call(counters: list[SSAValue], carried: list[SSAValue]) -> Sequence[SSAValue]:
        now = [*operands, *carried]
        passed, ties = [charge], list[int]()
        for argument in answer.arguments:
            match argument:
                case PartAddress(array):
                    if array >= len(operands):
                        ties += [len(passed), array - len(operands)]
                    passed += [now[array], *_place(counters, answer.rank_of(array))]
                case WholeAddress(array, start):
                    passed += [now[array], *as_indices([number(start, i64)])]
                case ElementAt(array):
                    passed.append(_element(now[array], _place(counters, 0)))
                case Length(array, axis):
                    passed.append(_size(_length(arrays[array], axis)))
                case int():
                    passed.append(number(argument, i64))
        given = [answer.result] if answer.result is not None else [value.type for value in carried]
        made = _call(answer.function, passed, ties, given)
        if isinstance(work, int):
            made.attributes[WORK] = IntegerAttr(CALL + work, i64)
        if answer.result is not None and carried:
            return [insert(tensor.InsertOp(made.results[0], carried[0], _place(counters, 0))).result]
        return made.results

    return counted([_size(each) for each in sizes[:outer]], results, call)


def _place(counters: Sequence[SSAValue], rank: int) -> Sequence[SSAValue]:
    """The index of the beginning of a part of this rank."""
    return as_indices([*counters, *[number(0, i64)] * rank])


def _element(value: SSAValue, place: Sequence[SSAValue]) -> SSAValue:
    if not types.is_tensor(value.type):
        return value
    return insert(tensor.ExtractOp(value, place, types.element_type(value.type))).result


def _call(
    function: NativeFunction, operands: Sequence[SSAValue], ties: Sequence[int], results: Sequence[Attribute]
) -> func.CallOp:
    # An MLIR function has one type, so the arrays' shapes are part of the name.
    shapes = [types.shape(value.type) for value in operands if types.is_tensor(value.type)]
    written = ", ".join("x".join("?" if size < 0 else str(size) for size in shape) for shape in shapes)
    call = insert(func.CallOp(f"{function.name}({written})", operands, results))
    call.attributes[NATIVE] = StringAttr(function.name)
    if ties:
        call.attributes[TIES] = DenseArrayBase.from_list(i64, ties)
    if function.needs_gil:
        call.attributes[GIL] = UnitAttr()
    if function.gufunc is not None:
        call.attributes[GUFUNC] = StringAttr(function.gufunc)
        call.attributes[GUFUNC_MEMORY] = IntegerAttr(function.memory, i64)
    if function.failure is not None:
        error, message = function.failure
        call.attributes |= {"mlirad.error": StringAttr(error), "mlirad.message": StringAttr(message)}
    return call


def _length(array: SSAValue, axis: int) -> int | SSAValue:
    """The size of an axis; an `index` if it is known only at run time."""
    size = types.shape(array.type)[axis]
    return size if size >= 0 else size_of_axis(array, axis)


def _size(length: int | SSAValue) -> SSAValue:
    return number(length, i64) if isinstance(length, int) else insert(arith.IndexCastOp(length, i64)).result


def _product(sizes: Sequence[int | SSAValue], factor: int) -> int | SSAValue:
    known = prod([size for size in sizes if isinstance(size, int)], start=factor)
    unknown = [size for size in sizes if isinstance(size, SSAValue)]
    if not unknown:
        return known
    total = insert(arith.ConstantOp(IntegerAttr(known, IndexType()))).result
    for size in unknown:
        total = insert(arith.MuliOp(total, size)).result
    return total
