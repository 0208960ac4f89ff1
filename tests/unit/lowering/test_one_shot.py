"""Bufferization against MLIR's one-shot bufferization, by allocations and copies.

Two corpora: the functions of the FileCheck tests, and the `linalg` stage of loop programs and their gradients. In loops
there are never more of either here, in loop programs nowhere but in one branch (`hand_tracking`). The differences:

* results: MLIR allocates and returns them, here they are computed in the caller's memory (`either`, `reshaped`,
  `replace`, `running_sum`...: an allocation less, of `running_sum` a copy of zeros less),
* swaps, arrays replaced in each trip, in one branch or rotating (`jacobi`, `powers`, `some_powers`, `rotate`): MLIR
  allocates, and mostly copies, in each trip; here carried arrays are pointers and a spare buffer is carried,
* a slice changed and put back (`scale_rows`, `one_element`): MLIR copies it,
* an elementwise op on an operand that dies (`chain`): MLIR takes no operand's buffer that `outs` does not name.

MLIR has fewer copies in five, each time because it passes a pointer on where the content is wanted in known memory
here: `powers` (the loop leaves either of two buffers), `given` (one value returned twice, an argument, a constant),
`reversed` (a view of the argument), `exchange` (arguments that change places, with a temporary), `hand_tracking` (one
branch gives a constant; MLIR allocates in the other).
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bufferize_programs import FUNCTIONS, only
from compare_buffers import bufferize, count, parse
from xdsl.dialects import func, memref
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, IntegerAttr, ModuleOp, TensorType, i1

import mlirad

# Where one-shot bufferization makes fewer copies; the reasons are above.
MORE_COPIES = {"powers", "given", "reversed", "exchange"}
MORE_ALLOCATIONS = {"exchange"}
CONSTANTS_OF_BRANCHES = {"hand_tracking": 1}


def counts_of(text: str) -> tuple[int, int, int, int]:
    """Allocations and copies in MLIR's generic text, then those in loops."""
    total, inside, regions = [0, 0], [0, 0], []
    for line in text.splitlines():
        for number, name in enumerate(('"memref.alloc"', '"memref.copy"')):
            total[number] += name in line
            inside[number] += name in line and any(regions)
        if line.endswith("({"):
            regions.append('"scf.for"' in line or '"scf.while"' in line)
        elif line.lstrip().startswith("})") and not line.endswith("({"):
            regions.pop()
    return total[0], total[1], inside[0], inside[1]


GROW = "func.func private @{0}(%t: {1}, %k: index) -> {1} {{ return %t : {1} }}"


def as_mlir_wants_it(module: ModuleOp) -> str:
    """Unwritten arguments must not be overwritten; a tape grows in place."""
    block = module.body.block
    for op in [op for op in block.ops if isinstance(op, func.FuncOp)]:
        if op.is_declaration and op.sym_name.data.startswith("mlirad_grow"):
            grown = parse(GROW.format(op.sym_name.data, op.function_type.outputs.data[0])).body.block
            block.insert_op_before(next(iter(grown.ops)).clone(), op)
            op.detach()
        elif not op.is_declaration:
            given = list(op.arg_attrs or [DictionaryAttr({})] * len(op.args))
            read_only = DictionaryAttr({"bufferization.writable": IntegerAttr(0, i1)})
            op.arg_attrs = ArrayAttr(
                read_only
                if isinstance(arg.type, TensorType) and "mlirad.written" not in attributes.data
                else attributes
                for arg, attributes in zip(op.args, given, strict=True)
            )
    return str(module)


def compare(module: ModuleOp, mlir_opt: Callable[..., str]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Allocations and copies, then those in loops: ours and MLIR's."""
    options = "bufferize-function-boundaries=1 allow-return-allocs-from-loops=1"
    text = mlir_opt(as_mlir_wants_it(module.clone()), f"-one-shot-bufferize={options}", "--mlir-print-op-generic")
    ours = bufferize(module)
    mine = [count(ours, kind, in_loops=where) for where in (False, True) for kind in (memref.AllocOp, memref.CopyOp)]
    return tuple(mine), counts_of(text)


def test_filecheck_programs(mlir_opt: Callable[..., str]) -> None:
    more: tuple[set[str], set[str]] = (set(), set())
    for path, name in FUNCTIONS:
        ours, theirs = compare(only(parse(path.read_text()), name), mlir_opt)
        for number, names in enumerate(more):
            if ours[number] > theirs[number]:
                names.add(name)
            assert ours[number + 2] <= theirs[number + 2], f"{name}: in loops"
    assert len(FUNCTIONS) >= 20
    assert more == (MORE_ALLOCATIONS, MORE_COPIES)


def swapped(a, n):
    a = a.copy()
    b = np.zeros_like(a)
    for _ in range(n):
        b[1:-1] = 0.5 * (a[:-2] + a[2:]) * a[1:-1]
        a, b = b, a
    return np.sum(a * a)


def rows(m):
    total = 0.0
    for i in range(m.shape[0]):
        row = m[i] * 1.0
        row[1:] = np.tanh(row[:-1])
        total += row @ m[0] + np.max(row)
    return total


def loop_programs() -> Iterator[tuple[str, Any, tuple[Any, ...], Any]]:
    for path in sorted((Path(__file__).parents[3] / "benchmarks" / "programs").glob("[!_]*.py")):
        if path.stem == "minors":  # MLIR's pass refuses recursion
            continue
        program = importlib.import_module(f"programs.{path.stem}")
        yield path.stem, program.loss, program.arguments(16), program.ARGNUMS
    yield "swapped", swapped, (np.linspace(0.0, 1.0, 8), 3), 0
    yield "rows", rows, (np.ones((4, 5)),), 0


def test_loop_programs(mlir_opt: Callable[..., str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Never more of either than MLIR, but for constants of branches; fewer if a trip swaps or replaces arrays."""
    monkeypatch.syspath_prepend(Path(__file__).parents[3] / "benchmarks")
    fewer = set()
    for name, function, arguments, argnums in loop_programs():
        for kernel in (mlirad.jit(function), mlirad.grad(function, argnums)):
            module = parse(kernel.lower(*arguments).as_text("linalg"))
            ours, theirs = compare(module, mlir_opt)
            most = theirs[0], theirs[1] + CONSTANTS_OF_BRANCHES.get(name, 0), *theirs[2:]
            assert all(x <= y for x, y in zip(ours, most, strict=True)), (name, ours, theirs)
            if ours[3] < theirs[3]:
                fewer.add(name)
    assert fewer >= {"swapped", "rows"}
