"""Matmuls as text for the 910B: their kernel, and a host function `main(a, b)` that launches it.

Reads: the sizes of a matmul. Writes: text in generic form, and what NumPy computes. Leaves: nothing.
"""

from __future__ import annotations

from io import StringIO

import ascend_kernels
import numpy as np
from xdsl.dialects import func
from xdsl.dialects.builtin import MemRefType, ModuleOp, UnitAttr
from xdsl.ir import Block, Region
from xdsl.printer import Printer

from mlirad.dialect.core.expr import building, insert, located
from mlirad.targets.ascend.cube.matmul_loops import GlobalMatrix, MatmulKernel
from mlirad.targets.ascend.cube.matmul_tiles import Matmul, MatmulTiles, solve
from mlirad.targets.ascend.cube.physical_matmul import PhysicalMatmul
from mlirad.targets.ascend.cube.virtual_matmul import ELEMENTS, write_virtual
from mlirad.targets.ascend.hivm.hivm_attributes import (
    AddressSpace,
    AddressSpaceAttr,
    CoreType,
    CoreTypeAttr,
    FunctionKind,
    FunctionKindAttr,
)
from mlirad.targets.ascend.simulator.simulated_program import SimulatedProgram
from mlirad.targets.ascend.soc import Soc, for_soc

SOC = for_soc("Ascend910B1")
DTYPES = {"f16": np.float16, "f32": np.float32}


def shapes(matmul: Matmul) -> tuple[tuple[int, ...], ...]:
    """The sizes of the buffers of A, B and C."""
    batch = (matmul.batches,) if matmul.batches > 1 else ()
    a, b = (matmul.m, matmul.k), (matmul.k, matmul.n)
    a, b = a[::-1] if matmul.a_transposed else a, b[::-1] if matmul.b_transposed else b
    return tuple((*batch, *shape) for shape in (a, b, (matmul.m, matmul.n)))


def kernel(
    matmul: Matmul, tiles: MatmulTiles | None = None, is_virtual: bool = False, soc: Soc = SOC
) -> tuple[str, int]:
    """A module with the kernel `matmul`, and on how many blocks it runs."""
    elements = (matmul.element, matmul.element, matmul.result)
    space = AddressSpaceAttr(AddressSpace.GM)
    pairs = list(zip(shapes(matmul), elements, strict=True))
    block = Block(arg_types=[MemRefType(ELEMENTS[element], shape, memory_space=space) for shape, element in pairs])
    has_batches = matmul.batches > 1
    a, b, c = (
        GlobalMatrix(buffer, shape[-1], (shape[-1] * shape[-2],) if has_batches else ())
        for buffer, (shape, _) in zip(block.args, pairs, strict=True)
    )
    batch_shape = (matmul.batches,) if has_batches else ()
    written = MatmulKernel(matmul, tiles or solve(matmul, soc), soc, a, b, c, batch_shape)
    with located(None), building(block):
        write_virtual(written) if is_virtual else PhysicalMatmul(written).write()
        insert(func.ReturnOp())
    function = func.FuncOp("matmul", ([each.type for each in block.args], []), Region(block))
    function.attributes |= {
        "hacc.entry": UnitAttr(),
        "hacc.function_kind": FunctionKindAttr(FunctionKind.DEVICE),
        "hivm.func_core_type": CoreTypeAttr(CoreType.CUBE),
    }
    module = ModuleOp([function])
    module.verify()
    text = StringIO()
    Printer(text, print_generic_format=True).print_op(module)
    return text.getvalue(), written.blocks


def program(matmul: Matmul, tiles: MatmulTiles | None = None, soc: Soc = SOC) -> str:
    """A module with the kernel and `main`, which gives C."""
    text, blocks = kernel(matmul, tiles, soc=soc)
    elements = (matmul.element, matmul.element, matmul.result)
    *given, result = (
        ascend_kernels.gm(*shape, element=each) for shape, each in zip(shapes(matmul), elements, strict=True)
    )
    host = ascend_kernels.main("matmul", result, blocks, *given)
    opening = '"builtin.module"() ({'
    assert text.startswith(opening)
    return f"{opening}\n{host}{text[len(opening) :]}"


def values(matmul: Matmul, seed: int = 0) -> list[np.ndarray]:
    """A and B as their buffers hold them."""
    rng = np.random.default_rng(seed)
    return [rng.standard_normal(shape).astype(DTYPES[matmul.element]) for shape in shapes(matmul)[:2]]


def exact(matmul: Matmul, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """C in f64."""
    a, b = a.astype(np.float64), b.astype(np.float64)
    a, b = a.swapaxes(-1, -2) if matmul.a_transposed else a, b.swapaxes(-1, -2) if matmul.b_transposed else b
    return a @ b


def error(matmul: Matmul, tiles: MatmulTiles | None = None) -> float:
    """Of the simulated C, relative to the sum of the sizes of the products that make an element."""
    a, b = values(matmul)
    (c,) = SimulatedProgram(program(matmul, tiles)).run("main", [a, b])
    scale = np.maximum(exact(matmul, abs(a), abs(b)), 1e-30)
    return float(np.max(abs(c - exact(matmul, a, b)) / scale))
