"""Matmul kernels: the simulator computes NumPy's numbers, and Huawei's tools accept both forms."""

from __future__ import annotations

from itertools import product

import ascend_matmuls
import numpy as np
import pytest
from ascend_judges import Bishengir

from mlirad.errors import CompileError
from mlirad.targets.ascend.cube.matmul_tiles import Matmul, MatmulTiles
from mlirad.targets.ascend.hivm.hivm_attributes import Pipe
from mlirad.targets.ascend.simulator.simulated_program import RunReport, SimulatedProgram

BOUNDS = {"f16": 2**-10, "f32": 2**-20}
"""Relative to the sum of the products' absolute values: f16 rounds the result once, f32 each sum (k <= 1024 in
blocks)."""

CASES = [
    Matmul(1, 1, 1, 1, "f32"),
    Matmul(1, 17, 33, 50, "f16", "f32"),
    Matmul(1, 200, 150, 300, "f16", "f16", a_transposed=True),
    Matmul(1, 31, 7, 65, "f32", b_transposed=True),
    Matmul(3, 40, 50, 60, "f32", a_transposed=True, b_transposed=True),
]


@pytest.mark.parametrize("matmul", CASES)
def test_ragged_sizes(matmul: Matmul) -> None:
    bound = BOUNDS["f16"] if matmul.result == "f16" else BOUNDS["f32"]
    assert ascend_matmuls.error(matmul) <= bound


@pytest.mark.parametrize("element", ["f16", "f32"])
def test_tiles_that_are_smaller_than_needed(element: str) -> None:
    """Several tiles on each core, several parts of k in L1, several of each in L0: every last one is ragged."""
    matmul = Matmul(1, 250, 230, 100, element, a_transposed=element == "f32")  # pyright: ignore[reportArgumentType]: an element
    assert ascend_matmuls.error(matmul, MatmulTiles(32, 32, 48, 16)) <= BOUNDS["f32"]


def test_tiles_that_do_not_fit_are_refused() -> None:
    with pytest.raises(CompileError, match="L0C: 2 buffers x 256 x 256 x 4 B = 524288 B > 131072 B"):
        ascend_matmuls.kernel(Matmul(1, 512, 512, 64, "f16"), MatmulTiles(256, 256, 64, 16))


def test_every_legal_order_gives_the_same_bits() -> None:
    matmul = Matmul(1, 33, 40, 100, "f16")
    program = SimulatedProgram(ascend_matmuls.program(matmul, MatmulTiles(16, 16, 32, 16)))
    values = ascend_matmuls.values(matmul)
    (expected,) = program.run("main", values)
    assert all(program.run("main", values, seed=seed)[0].tobytes() == expected.tobytes() for seed in range(10))


def test_double_buffers_overlap_transfers_and_products() -> None:
    """Most products are computed while a transfer loads the next part of A or B, in modelled time."""
    matmul = Matmul(1, 64, 64, 1024, "f16")
    report = RunReport(spans={})
    text = ascend_matmuls.program(matmul, MatmulTiles(64, 64, 128, 64))
    SimulatedProgram(text).run("main", ascend_matmuls.values(matmul), report=report)
    assert report.spans is not None
    (block,) = report.spans["matmul"]
    transfers = [span for span in block if span.pipe is Pipe.MTE2]
    products = [span for span in block if span.pipe is Pipe.M]
    beside = [one for one in products if any(one.start < each.end and each.start < one.end for each in transfers)]
    assert len(products) == 16 and len(beside) >= 12


@pytest.mark.parametrize("matmul", CASES[1:])
def test_huaweis_tools_accept_both_forms(matmul: Matmul, bishengir: Bishengir) -> None:
    bishengir.verify(ascend_matmuls.program(matmul))
    text, _ = ascend_matmuls.kernel(matmul, is_virtual=True)
    bishengir.verify(text)
    names = {"f16": "half", "f32": "float"}
    transposed = ("_ta" if matmul.a_transposed else "") + ("_tb" if matmul.b_transposed else "")
    assert bishengir.called(text) == {
        f"nd2nz_{names[matmul.element]}",
        f"mma_tile_{names[matmul.element]}_to_float{transposed}",
        f"fixpipe_nz2nd_float_to_{names[matmul.result]}_4d_to_2d",
    }


@pytest.mark.full
@pytest.mark.parametrize("element", ["f16", "f32"])
def test_many_sizes(element: str) -> None:
    rng = np.random.default_rng(5)
    for a_transposed, b_transposed in product((False, True), repeat=2):
        for m, n, k in [(1, 1024, 1000), (1024, 1, 513), (1023, 1024, 1), *rng.integers(1, 1025, (12, 3)).tolist()]:
            matmul = Matmul(1, m, n, k, element, "f32", a_transposed, b_transposed)  # pyright: ignore[reportArgumentType]: an element
            assert ascend_matmuls.error(matmul) <= BOUNDS["f32"], matmul
