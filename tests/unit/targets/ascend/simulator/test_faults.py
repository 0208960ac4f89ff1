"""Each broken rule of the 910B is a fault with a plain message, at the user's line."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from ascend_kernels import (
    barrier,
    buffer,
    flag,
    gm,
    kernel,
    load,
    main,
    module,
    number,
    softmax,
    store,
    tail,
    ub,
    vector,
)

from mlirad.location import remember
from mlirad.targets.ascend.simulator.faults import Fault, SimulatorFault
from mlirad.targets.ascend.simulator.simulated_program import SimulatedProgram

OWN, WHOLE = ub(64), gm(64)


def double(**replaced: str) -> str:
    """z = x + x, in one tile. `replaced` has replacements for the lines with these names."""
    lines = {
        "a": buffer("a", "zero", OWN),
        "b": buffer("b", "behind", OWN),
        "load": load("x", "a", WHOLE, OWN),
        "loaded": flag("set", "MTE2", "V", 0),
        "wait": flag("wait", "MTE2", "V", 0),
        "add": vector("vadd", "a", "a", "b", type=OWN),
        "added": flag("set", "V", "MTE3", 0),
        "last": flag("wait", "V", "MTE3", 0),
        "store": store("b", "z", OWN, WHOLE),
    }
    assert replaced.keys() <= lines.keys()
    numbers = {"zero": 0, "behind": 256, "odd": 260, "last": 196_544, "far": 1_000_000, "between": 32}
    return module(
        kernel(
            "double",
            f"%x: {WHOLE}, %z: {WHOLE}",
            *(number(name, value) for name, value in numbers.items()),
            *(line for line in (lines | replaced).values() if line),
        ),
        main("double", WHOLE, 1, WHOLE),
    )


def run(text: str, seed: int | None = None) -> np.ndarray:
    (result,) = SimulatedProgram(text).run("main", [np.arange(64, dtype=np.float32)], seed=seed)
    return result


def test_the_kernel_itself_is_right() -> None:
    np.testing.assert_array_equal(run(double()), 2 * np.arange(64))


@pytest.mark.parametrize(
    ("replaced", "kind", "message"),
    [
        ({"b": buffer("b", "far", OWN)}, Fault.BOUNDS, r"bytes \[1000000, 1000256\) of UB, which has 196608 bytes"),
        ({"b": buffer("b", "odd", OWN)}, Fault.ALIGNMENT, "UB address 260 is no multiple of 32 bytes"),
        ({"b": buffer("b", "between", OWN)}, Fault.OVERLAP, r"reads \[0, 256\) and writes \[32, 288\) of UB"),
        ({"load": ""}, Fault.UNINITIALISED, "256 of the 256 bytes read from UB at 0 were never written"),
        ({"loaded": "", "wait": ""}, Fault.READ_AFTER_WRITE, "no flag from PIPE_MTE2 to PIPE_V orders them"),
        ({"added": "", "last": ""}, Fault.READ_AFTER_WRITE, "PIPE_MTE3 reads .* while hivm.hir.vadd on PIPE_V"),
        (
            {"store": store("b", "z", OWN, WHOLE) + "\n" + flag("set", "MTE3", "V", 0)},
            Fault.LEFTOVER,
            "PIPE_MTE3 -> PIPE_V, id 0, is still set when the kernel ends",
        ),
        ({"loaded": ""}, Fault.DEADLOCK, "waits for the flag PIPE_MTE2 -> PIPE_V, id 0,"),
        ({"loaded": flag("set", "MTE2", "V", 0) + "\n" + flag("set", "MTE2", "V", 0)}, Fault.DOUBLE_SET, "again"),
        ({"loaded": flag("set", "MTE2", "M", 0)}, Fault.PIPE_PAIR, "a core of type AIV has no PIPE_M"),
        ({"loaded": flag("set", "V", "V", 0)}, Fault.PIPE_PAIR, "PIPE_V to itself"),
        ({"loaded": flag("set", "MTE2", "V", 6)}, Fault.EVENT_ID, "event id 6; a program may use 0 to 5"),
        ({"load": load("x", "a", WHOLE, OWN) + "\n" + load("x", "a", WHOLE, OWN)}, Fault.WRITE_AFTER_WRITE, "barrier"),
        (
            {"added": vector("vabs", "b", "a", type=OWN) + "\n" + flag("set", "V", "MTE3", 0)},
            Fault.READ_AFTER_WRITE,
            "no barrier of PIPE_V in between",
        ),
        (
            {"last": barrier("MTE2") + "\n" + load("x", "a", WHOLE, OWN)},
            Fault.WRITE_AFTER_READ,
            "PIPE_MTE2 writes .* while hivm.hir.vadd on PIPE_V, which reads some of them, may still be running",
        ),
    ],
)
def test_a_damaged_kernel_is_a_fault(replaced: dict[str, str], kind: Fault, message: str) -> None:
    with pytest.raises(SimulatorFault, match=rf"simulator: .*{message}[\s\S]*kernel 'double', block 0") as caught:
        run(double(**replaced))
    assert caught.value.kind is kind


@pytest.mark.parametrize(
    ("make", "kind", "message"),
    [
        (lambda: tail().replace("%rest, %tile", "%tile, %tile"), Fault.BOUNDS, "elements 192 to 255 along axis 0"),
        (
            lambda: tail().replace("%number, %tile : index", "%number, %number : index"),
            Fault.BETWEEN_BLOCKS,
            "writes bytes .* which block 0 writes in the same launch",
        ),
    ],
)
def test_a_wrong_division_into_tiles_is_a_fault(make: Callable[[], str], kind: Fault, message: str) -> None:
    with pytest.raises(SimulatorFault, match=message) as caught:
        SimulatedProgram(make()).run("main", [np.ones(200, np.float32)])
    assert caught.value.kind is kind


def accumulating(atomic: str, reads: bool = False) -> str:
    """Every block adds x to the same z; with `reads`, it reads z before that."""
    return module(
        kernel(
            "k",
            f"%x: {WHOLE}, %z: {WHOLE}",
            number("zero", 0),
            buffer("a", "zero", OWN),
            load("z" if reads else "x", "a", WHOLE, OWN),
            flag("set", "MTE2", "MTE3", 0),
            flag("wait", "MTE2", "MTE3", 0),
            store("a", "z", OWN, WHOLE, atomic),
        ),
        f"""func.func @main(%x: {WHOLE}, %z: {WHOLE}) attributes {{hacc.function_kind = #hacc.function_kind<HOST>}} {{
  func.call @k(%x, %z) {{mlirad.block_dim = 3 : i64}} : ({WHOLE}, {WHOLE}) -> ()
  func.return
}}""",
    )


def test_blocks_may_add_to_the_same_bytes_only_atomically() -> None:
    x, z = np.arange(64, dtype=np.float32), np.ones(64, np.float32)
    SimulatedProgram(accumulating("add")).run("main", [x, z])
    np.testing.assert_array_equal(z, 1 + 3 * x)
    for text in (accumulating(""), accumulating("add", reads=True)):
        with pytest.raises(SimulatorFault, match="blocks are not ordered") as caught:
            SimulatedProgram(text).run("main", [x, z])
        assert caught.value.kind is Fault.BETWEEN_BLOCKS


def test_a_flag_may_not_be_set_again_before_it_was_certainly_waited_for() -> None:
    """In program order every set has its wait; but PIPE_MTE2 may set twice before PIPE_V waits."""
    pair = [flag("set", "MTE2", "V", 0), flag("wait", "MTE2", "V", 0)]
    text = module(kernel("k", f"%z: {WHOLE}", *pair, *pair), main("k", WHOLE, 1))
    with pytest.raises(SimulatorFault, match="may be set again before PIPE_V has waited for it: PIPE_MTE2 runs ahead"):
        SimulatedProgram(text).run("main", [])
    back = [flag("set", "V", "MTE2", 0), flag("wait", "V", "MTE2", 0)]
    with pytest.raises(SimulatorFault, match="were never written"):  # flags are right; nothing writes the result
        SimulatedProgram(module(kernel("k", f"%z: {WHOLE}", *pair, *back, *pair), main("k", WHOLE, 1))).run("main", [])


def test_the_fault_shows_the_line_of_the_users_program() -> None:
    remember("model.py", "def f(x):\n    return x + x\n")
    text = double(loaded="", wait="", add=vector("vadd", "a", "a", "b", type=OWN) + ' loc("model.py":2:12)')
    with pytest.raises(SimulatorFault, match=r"^model.py:2:12: simulator: read after write[\s\S]*    return x \+ x"):
        run(text)


def test_a_view_may_not_leave_what_was_allocated() -> None:
    """The bytes after the buffer exist, but belong to other buffers."""
    longer = ub(80, layout="strided<[1]>, ")
    view = f"%a = memref.reinterpret_cast %own to offset: [0], sizes: [80], strides: [1] : {OWN} to {longer}"
    text = module(
        kernel(
            "k",
            f"%x: {gm(80)}, %z: {WHOLE}",
            number("zero", 0),
            buffer("own", "zero", OWN),
            view,
            load("x", "a", gm(80), longer),
        ),
        main("k", WHOLE, 1, gm(80)),
    )
    with pytest.raises(SimulatorFault, match=r"bytes \[0, 320\) of UB, of a buffer that is \[0, 256\)"):
        SimulatedProgram(text).run("main", [np.ones(80, np.float32)])


def test_rows_have_to_begin_at_multiples_of_32_bytes() -> None:
    rows = ub(4, 6, layout="strided<[10, 1]>, ")
    view = f"memref.subview %m[0, 0] [4, 6] [1, 1] : {ub(4, 10)} to {rows}"
    text = module(
        kernel(
            "k",
            f"%x: {gm(4, 6)}, %z: {gm(4, 6)}",
            number("zero", 0),
            buffer("m", "zero", ub(4, 10)),
            f"%rows = {view}",
            load("x", "rows", gm(4, 6), rows),
        ),
        main("k", gm(4, 6), 1, gm(4, 6)),
    )
    with pytest.raises(SimulatorFault, match="rows 40 bytes apart in UB do not begin at multiples of 32 bytes"):
        SimulatedProgram(text).run("main", [np.ones((4, 6), np.float32)])
    with pytest.raises(SimulatorFault, match=r"rows of hivm\.hir\.vreduce are 28 bytes apart"):
        SimulatedProgram(softmax(columns=7)).run("main", [np.ones((32, 7), np.float32)])


def element(**replaced: str) -> str:
    """The scalar unit writes 7 to the first element of x, in UB."""
    lines = {
        "a": buffer("a", "zero", OWN),
        "load": load("x", "a", WHOLE, OWN),
        "loaded": flag("set", "MTE2", "S", 0) + "\n" + flag("wait", "MTE2", "S", 0),
        "write": f"memref.store %seven, %a[%first] : {OWN}",
        "again": f"memref.store %seven, %a[%first] : {OWN}",
        "written": flag("set", "S", "MTE3", 0) + "\n" + flag("wait", "S", "MTE3", 0),
        "store": store("a", "z", OWN, WHOLE),
    }
    numbers = [number("zero", 0), number("seven", 7.0, "f32"), number("first", 0, "index")]
    text = [line for line in (lines | replaced).values() if line]
    return module(kernel("k", f"%x: {WHOLE}, %z: {WHOLE}", *numbers, *text), main("k", WHOLE, 1, WHOLE))


def test_the_scalar_unit_writes_single_elements_of_its_own_memory() -> None:
    """It waits for itself; other pipes need a flag."""
    expected = np.arange(64, dtype=np.float32)
    expected[0] = 7
    for seed in (None, *range(5)):
        np.testing.assert_array_equal(run(element(), seed), expected)
    for replaced, kind in (
        ({"loaded": ""}, Fault.WRITE_AFTER_WRITE),
        ({"written": ""}, Fault.READ_AFTER_WRITE),
        ({"write": f"memref.store %seven, %x[%first] : {WHOLE}"}, Fault.SPACE),
    ):
        with pytest.raises(SimulatorFault) as caught:
            run(element(**replaced))
        assert caught.value.kind is kind
