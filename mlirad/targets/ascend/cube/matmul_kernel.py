"""Finds the matmuls among loops, and writes their kernels.

Reads: `linalg.generic` on memrefs in global memory. Writes: kernels of the cube core, first without addresses, then
with them. Leaves: loops that are not matmuls, or that the vector cores run as fast (products with a vector).

A kernel without addresses stores the description of its product in the attribute ATTRIBUTE; the other form is written
from it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects import arith, func, memref
from xdsl.dialects.builtin import DenseArrayBase, DictionaryAttr, Float16Type, Float32Type, MemRefType, i64
from xdsl.dialects.linalg.ops import FillOp, GenericOp
from xdsl.ir import Attribute, Block, BlockArgument, SSAValue

from mlirad.dialect.core.expr import building, insert, located
from mlirad.lowering.rewriting import erase
from mlirad.targets.ascend.cube.matmul_loops import GlobalMatrix, MatmulKernel
from mlirad.targets.ascend.cube.matmul_tiles import COPIES, Element, Matmul, solve
from mlirad.targets.ascend.cube.physical_matmul import PhysicalMatmul
from mlirad.targets.ascend.cube.virtual_matmul import write_virtual
from mlirad.targets.ascend.hivm.hivm_attributes import AddressSpace, CoreType, CoreTypeAttr
from mlirad.targets.ascend.soc import Soc
from mlirad.targets.ascend.tiles.index_loops import INDEX
from mlirad.targets.ascend.tiles.nest import Loops, nest_of
from mlirad.xdsl_support.traversal import ops_of

ATTRIBUTE = "mlirad.matmul"
_A, _B, _C = range(3)


@dataclass(frozen=True)
class MatmulLoops:
    """Loops that are a matmul. buffers: the indices of A, B and C among the op's operands.

    batch: the extents of the other loops; strides: for each buffer, between its matrices along these, then its rows.
    """

    m: int
    n: int
    k: int
    a_transposed: bool
    b_transposed: bool
    buffers: tuple[int, int, int]
    batch: tuple[int, ...]
    strides: tuple[tuple[int, ...], ...]


def contraction_of(op: GenericOp, initial: FillOp | None) -> MatmulLoops | None:
    """The matmul that an op computes; None if it is not one. initial: the op that fills its output before."""
    if initial is None or len(op.operands) != 3 or not _starts_with_zero(initial) or not _multiplies_and_adds(op):
        return None
    elements = [_element(operand) for operand in op.operands]
    if elements[0] != elements[1] or not set(elements) <= {"f16", "f32"}:
        return None
    loops = nest_of(op).loops
    found = None
    if all(stride >= 0 for each in loops.strides for stride in each):
        found = _arranged(loops, (0, 1)) or _arranged(loops, (1, 0))
    assert found is not None or elements[2] == "f32", "only the cube core adds products of f16"
    return found


def _arranged(loops: Loops, order: tuple[int, int]) -> MatmulLoops | None:
    """The matmul with the inputs as A and B in this order, if the rows of C have the layout that a transfer writes."""
    a, b, c = (loops.strides[each] for each in (*order, 2))
    dims = range(len(loops.extents))
    depths = [dim for dim in dims if loops.reduced[dim]]
    if len(depths) != 1 or not (a[depths[0]] and b[depths[0]]):
        return None
    k = depths[0]
    rows = [dim for dim in dims if a[dim] and c[dim] and not b[dim]]
    columns = [dim for dim in dims if b[dim] and c[dim] == 1 and not a[dim]]
    if not columns or any(not c[dim] for dim in dims if dim != k):
        return None
    n = columns[0]
    rows = [dim for dim in rows if 1 in (a[dim], a[k])]
    if not rows or 1 not in (b[n], b[k]):
        return None
    m = max(rows, key=lambda dim: (loops.extents[dim], dim))
    a_transposed, b_transposed = a[k] != 1, b[n] != 1
    batch = [dim for dim in dims if dim not in (m, n, k)]
    lines = (a[k] if a_transposed else a[m], b[n] if b_transposed else b[k], c[m])
    strides = tuple((*(each[dim] for dim in batch), line) for each, line in zip((a, b, c), lines, strict=True))
    extents = loops.extents
    sizes = tuple(extents[dim] for dim in batch)
    return MatmulLoops(extents[m], extents[n], extents[k], a_transposed, b_transposed, (*order, 2), sizes, strides)


def _starts_with_zero(fill: FillOp) -> bool:
    constant = fill.operands[0].owner
    value = constant.value if isinstance(constant, arith.ConstantOp) else None
    return value is not None and getattr(getattr(value, "value", None), "data", None) == 0


def _multiplies_and_adds(op: GenericOp) -> bool:
    """Whether the body is `c + a * b`, with a and b unchanged or widened to f32."""
    block = op.body.block
    end = block.last_op
    assert end is not None
    added = end.operands[0].owner
    first, second, accumulated = block.args
    if not isinstance(added, arith.AddfOp) or accumulated not in added.operands:
        return False
    products = [each.owner for each in added.operands if each is not accumulated]
    if len(products) != 1 or not isinstance(products[0], arith.MulfOp):
        return False
    factors = [_unwidened(each) for each in products[0].operands]
    steps = {added, products[0], end, *(each.owner for each in products[0].operands)}
    return factors in ([first, second], [second, first]) and all(each in steps for each in ops_of(block))


def _unwidened(value: SSAValue) -> SSAValue:
    return value.owner.operands[0] if isinstance(value.owner, arith.ExtFOp) else value


def _element(buffer: SSAValue) -> str:
    assert isinstance(buffer.type, MemRefType)
    return {Float16Type: "f16", Float32Type: "f32"}.get(type(buffer.type.element_type), "")


def write_virtual_kernel(function: func.FuncOp, op: GenericOp, soc: Soc) -> int:
    """Replace the loops in a kernel by transfers and products. Returns the number of blocks for its launch."""
    found = contraction_of(op, next(each for each in ops_of(function.body.block) if isinstance(each, FillOp)))
    assert found is not None
    matrices = [_described(op.operands[number], found.strides[place]) for place, number in enumerate(found.buffers)]
    function.attributes[ATTRIBUTE] = DictionaryAttr(
        {
            "sizes": _array((found.m, found.n, found.k)),
            "transposed": _array((found.a_transposed, found.b_transposed)),
            "batch": _array(found.batch),
            **dict(zip("abc", map(_array, matrices), strict=True)),
        }
    )
    kernel = _emptied(function, soc)
    with building(function.body.block), located(op.location):
        write_virtual(kernel)
        insert(func.ReturnOp())
    return kernel.blocks


def write_physical_kernel(function: func.FuncOp, soc: Soc) -> None:
    """Write the kernel again, with addresses and flags."""
    location = function.location
    kernel = _emptied(function, soc)
    with building(function.body.block), located(location):
        PhysicalMatmul(kernel).write()
        insert(func.ReturnOp())
    del function.attributes[ATTRIBUTE]


def _described(buffer: SSAValue, strides: Sequence[int]) -> tuple[int, ...]:
    """The numbers of two arguments, a buffer and its offset (-1 if it has none), and the strides."""
    offset = -1
    if isinstance(buffer.owner, memref.ReinterpretCastOp):
        start = buffer.owner.offsets[0]
        start = start.owner.operands[0] if isinstance(start.owner, arith.IndexCastOp) else start
        assert isinstance(start, BlockArgument)
        offset, buffer = start.index, buffer.owner.source
    assert isinstance(buffer, BlockArgument)
    return buffer.index, offset, *strides


def _emptied(function: func.FuncOp, soc: Soc) -> MatmulKernel:
    """The description of a kernel's product; its body is removed."""
    block = function.body.block
    for op in reversed(list(block.ops)):
        erase(op)
    known = _known(function)
    with building(block), located(function.location):
        a, b, c = (_matrix(block, known[name]) for name in "abc")
    matmul = _matmul_of(function)
    return MatmulKernel(matmul, solve(matmul, soc), soc, a, b, c, known["batch"])


def _known(function: func.FuncOp) -> dict[str, tuple[int, ...]]:
    described = function.attributes[ATTRIBUTE]
    assert isinstance(described, DictionaryAttr)
    return {name: _numbers(value) for name, value in described.data.items()}


def _matmul_of(function: func.FuncOp) -> Matmul:
    known, arguments = _known(function), function.body.block.args
    m, n, k = known["sizes"]
    element: Element = "f16" if _element(arguments[known["a"][0]]) == "f16" else "f32"
    result: Element = "f16" if _element(arguments[known["c"][0]]) == "f16" else "f32"
    a_transposed, b_transposed = map(bool, known["transposed"])
    return Matmul(math.prod(known["batch"]), m, n, k, element, result, a_transposed, b_transposed)


def buffers_on_cube(function: func.FuncOp, soc: Soc) -> list[tuple[AddressSpace, tuple[int, ...], int]]:
    """The buffers that a kernel of the cube core (still without addresses) will have: addresses of the copies, bytes of
    one."""
    if not is_on_cube(function):
        return []
    matmul = _matmul_of(function)
    return [
        (space, tuple(start + turn * bytes for turn in range(COPIES)), bytes)
        for space, start, bytes in solve(matmul, soc).buffers(matmul.itemsize)
    ]


def _matrix(block: Block, described: tuple[int, ...]) -> GlobalMatrix:
    buffer, offset, *batch_strides, row_stride = described
    start = None if offset < 0 else insert(arith.IndexCastOp(block.args[offset], INDEX)).result
    return GlobalMatrix(block.args[buffer], row_stride, tuple(batch_strides), start)


def _array(numbers: Sequence[int]) -> DenseArrayBase:
    return DenseArrayBase.from_list(i64, [int(each) for each in numbers])


def _numbers(attribute: Attribute) -> tuple[int, ...]:
    assert isinstance(attribute, DenseArrayBase)
    return tuple(int(each) for each in attribute.get_values())


def is_on_cube(function: func.FuncOp) -> bool:
    """Whether a function is a kernel of the cube core."""
    core = function.attributes.get("hivm.func_core_type")
    return isinstance(core, CoreTypeAttr) and core.data is CoreType.CUBE
