"""Arguments that share memory: a write to one is visible in the others, as in NumPy, or is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from ascend_kernels import buffer, flag, gm, kernel, load, module, number, part, store, ub, window

import mlirad
from mlirad.targets.ascend.simulator.faults import Fault, SimulatorFault
from mlirad.targets.ascend.simulator.simulated_program import SimulatedProgram

OWN, WHOLE, PART = ub(64), gm(128), part(64)


def copies(blocks: int) -> str:
    """Each block copies the first half of x to one half of z; a block that is alone copies it to the second one.

    Then it loads the second half of x, without waiting for the copy.
    """
    return module(
        kernel(
            "k",
            f"%x: {WHOLE}, %z: {WHOLE}",
            *(number(name, value) for name, value in (("zero", 0), ("behind", 256))),
            *(number(name, value, "index") for name, value in (("first", 0), ("half", 64))),
            buffer("a", "zero", OWN),
            buffer("b", "behind", OWN),
            '%block = "hivm.hir.get_block_idx"() : () -> i64',
            "%number = arith.index_cast %block : i64 to index",
            f"%offset = arith.{'muli %number' if blocks > 1 else 'addi %first'}, %half : index",
            window("xs", "x", "first", 64, WHOLE),
            window("ys", "x", "half", 64, WHOLE),
            window("zs", "z", "offset", 64, WHOLE),
            load("xs", "a", PART, OWN),
            flag("set", "MTE2", "MTE3", 0),
            flag("wait", "MTE2", "MTE3", 0),
            store("a", "zs", OWN, PART),
            load("ys", "b", PART, OWN),
        ),
        f"""func.func @main(%x: {WHOLE}, %z: {WHOLE}) attributes {{hacc.function_kind = #hacc.function_kind<HOST>}} {{
  func.call @k(%x, %z) {{mlirad.block_dim = {blocks} : i64}} : ({WHOLE}, {WHOLE}) -> ()
  func.return
}}""",
    )


def test_races_through_arguments_that_share_memory_are_found() -> None:
    """The second half of x is read while it is written as z, if x is z."""
    program = SimulatedProgram(copies(1))
    x, z = np.arange(128, dtype=np.float32), np.zeros(128, np.float32)
    program.run("main", [x, z])
    np.testing.assert_array_equal(z[64:], x[:64])
    whole = np.arange(192, dtype=np.float32)
    program.run("main", [whole[64:], whole[:128]])  # what is written has been read, and nothing else is
    np.testing.assert_array_equal(whole[64:128], np.arange(64, 128))
    for pair in ((x, x), (x, x[:]), (whole[:128], whole[32:160])):
        with pytest.raises(SimulatorFault, match="argument 0 and argument 1") as caught:
            program.run("main", list(pair))
        assert caught.value.kind in (Fault.READ_AFTER_WRITE, Fault.WRITE_AFTER_READ)


def test_races_between_blocks_through_arguments_that_share_memory_are_found() -> None:
    program = SimulatedProgram(copies(2))
    x, z = np.arange(128, dtype=np.float32), np.zeros(128, np.float32)
    program.run("main", [x, z])
    np.testing.assert_array_equal(z, np.tile(x[:64], 2))
    with pytest.raises(SimulatorFault, match="argument 0 and argument 1") as caught:
        SimulatedProgram(copies(2)).run("main", [x, x])
    assert caught.value.kind in (Fault.BETWEEN_BLOCKS, Fault.READ_AFTER_WRITE)


def test_strided_arguments_that_share_elements_are_refused_where_one_is_written() -> None:
    program = SimulatedProgram(copies(1))
    whole = np.arange(256, dtype=np.float32)
    program.run("main", [whole[::2], whole[1::2]])  # these share no element
    np.testing.assert_array_equal(whole[129::2], np.arange(0, 128, 2))
    with pytest.raises(SimulatorFault, match="argument 0 and argument 1 share memory, are strided") as caught:
        program.run("main", [whole[::2], whole[:128]])
    assert caught.value.kind is Fault.LAUNCH


def doubled(x: np.ndarray, y: np.ndarray) -> Any:
    x[:] = x * 2
    return y + x


def shifted(x: np.ndarray, y: np.ndarray) -> Any:
    x[1:] = y[:-1] * 2 + x[1:]
    return np.sum(x[:7]), y * 3


SHARED: dict[str, tuple[Callable[..., Any], int, Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]]] = {
    "twice, on several cores": (doubled, 20_000, lambda x: (x, x)),
    "backwards, on several cores": (doubled, 20_000, lambda x: (x, x[::-1])),
    "every second": (doubled, 62, lambda x: (x[::2], x[1::2])),
    "read only": (shifted, 62, lambda x: (x, np.broadcast_to(x, x.shape))),
}


@pytest.mark.parametrize("name", SHARED)
def test_compiled_functions_see_writes_through_other_arguments(name: str) -> None:
    function, size, share = SHARED[name]
    ours, numpys = (np.arange(size, dtype=np.float32) / 8 for _ in range(2))
    found, expected = mlirad.jit(function, target="ascend")(*share(ours)), function(*share(numpys))
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)
    np.testing.assert_array_equal(ours, numpys)


def test_arguments_of_which_none_is_a_view_of_the_other_are_refused() -> None:
    x = np.arange(120, dtype=np.float32)
    with pytest.raises(ValueError, match="shares memory with argument 1"):
        mlirad.jit(doubled, target="ascend")(x[:100], x[20:])
