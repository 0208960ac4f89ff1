"""The simulator executes text: host functions, launches, and kernels with and without addresses."""

from __future__ import annotations

import time

import ascend_kernels
import numpy as np
import pytest
from ascend_kernels import buffer, gm, kernel, load, main, module, number, store, ub, vector

from mlirad.targets.ascend.simulator.faults import NotSimulated, SimulatorFault
from mlirad.targets.ascend.simulator.run_report import RunReport
from mlirad.targets.ascend.simulator.simulated_program import SimulatedProgram

HOST = "attributes {hacc.function_kind = #hacc.function_kind<HOST>}"


def test_kernels_compute_what_numpy_computes() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((2, 4096)).astype(np.float32)
    (z,) = SimulatedProgram(ascend_kernels.exp_of_sum(tiles=4, tile=256, blocks=4)).run("main", [x, y])
    np.testing.assert_allclose(z, np.exp(x + y), rtol=1e-6)
    for n in (1, 63, 64, 65, 200):
        (z,) = SimulatedProgram(ascend_kernels.tail(n)).run("main", [x[:n]])
        np.testing.assert_array_equal(z, 3 * np.maximum(x[:n], 0))
    rows = x[:2048].reshape(32, 64)
    (z,) = SimulatedProgram(ascend_kernels.softmax()).run("main", [rows])
    expected = np.exp(rows) / np.exp(rows).sum(1, keepdims=True)
    np.testing.assert_allclose(z, expected, rtol=1e-5)


def test_f16_is_rounded_after_each_instruction() -> None:
    """2048 + 1 is 2048 in f16, so adding 1 twice changes nothing; f32 would give 2050."""
    own, whole = ub(16, element="f16"), gm(16, element="f16")
    add = vector("vadd", "a", "one", "a", type=own, scalar="f16")
    text = module(
        kernel(
            "k",
            f"%x: {whole}, %z: {whole}",
            number("one", 1.0, "f16"),
            f"%a = memref.alloc() : {own}",
            load("x", "a", whole, own),
            add,
            add,
            store("a", "z", own, whole),
        ),
        main("k", whole, 1, whole),
    )
    (z,) = SimulatedProgram(text).run("main", [np.full(16, 2048, np.float16)])
    np.testing.assert_array_equal(z, np.full(16, 2048, np.float16))


def test_masks_are_bits() -> None:
    """A comparison gives packed bits, which select, and which logic combines."""
    own, whole, mask = ub(64), gm(64), ub(64, element="i1")

    def compare(operand: str, to: str) -> str:
        properties = "broadcast = array<i64>, operandSegmentSizes = array<i32: 2, 1>, transpose = array<i64>"
        mode = "compare_mode = #hivm.compare_mode<gt>"
        return f'"hivm.hir.vcmp"(%a, %{operand}, %{to}) <{{{properties}, {mode}}}> : ({own}, f32, {mask}) -> ()'

    properties = "broadcast = array<i64>, operandSegmentSizes = array<i32: 3, 1, 0>, transpose = array<i64>"
    text = module(
        kernel(
            "k",
            f"%x: {whole}, %z: {whole}",
            number("low", 10.0, "f32"),
            number("high", 50.0, "f32"),
            f"%a = memref.alloc() : {own}",
            f"%m = memref.alloc() : {mask}",
            f"%n = memref.alloc() : {mask}",
            load("x", "a", whole, own),
            compare("low", "m"),
            compare("high", "n"),
            vector("vxor", "m", "n", "m", type=mask),
            f'"hivm.hir.vsel"(%m, %a, %low, %a) <{{{properties}}}> : ({mask}, {own}, f32, {own}) -> ()',
            store("a", "z", own, whole),
        ),
        main("k", whole, 1, whole),
    )
    x = np.arange(64, dtype=np.float32)
    (z,) = SimulatedProgram(text).run("main", [x])
    np.testing.assert_array_equal(z, np.where((x > 10) ^ (x > 50), x, 10))


def test_hosts_have_loops_branches_elements_and_several_launches() -> None:
    """Collatz: a host function with `scf.while` and `scf.if` counts the steps, and writes the numbers that it
    visits."""
    text = f"""module {{
func.func @main(%start: i64, %seen: {gm(200, element="i64")}) -> (i64, f32) {HOST} {{
  %one = arith.constant 1 : i64
  %two = arith.constant 2 : i64
  %three = arith.constant 3 : i64
  %zero = arith.constant 0 : i64
  %steps, %end = scf.while (%count = %zero, %n = %start) : (i64, i64) -> (i64, i64) {{
    %more = arith.cmpi ne, %n, %one : i64
    scf.condition(%more) %count, %n : i64, i64
  }} do {{
  ^bb0(%count: i64, %n: i64):
    %place = arith.index_cast %count : i64 to index
    memref.store %n, %seen[%place] : {gm(200, element="i64")}
    %odd = arith.remsi %n, %two : i64
    %is_odd = arith.cmpi eq, %odd, %one : i64
    %next = scf.if %is_odd -> (i64) {{
      %m = arith.muli %n, %three : i64
      %p = arith.addi %m, %one : i64
      scf.yield %p : i64
    }} else {{
      %h = arith.divsi %n, %two : i64
      scf.yield %h : i64
    }}
    %counted = arith.addi %count, %one : i64
    scf.yield %counted, %next : i64, i64
  }}
  %float = arith.sitofp %steps : i64 to f32
  %root = math.sqrt %float : f32
  func.return %steps, %root : i64, f32
}}
}}"""
    seen = np.zeros(200, np.int64)
    steps, root = SimulatedProgram(text).run("main", [27, seen])
    assert steps == 111 and root == np.sqrt(np.float32(111)) and root.dtype == np.float32
    assert seen[:5].tolist() == [27, 82, 41, 124, 62] and seen.max() == 9232


def test_arrays_are_checked_and_written_back() -> None:
    text = f"""module {{
func.func @main(%x: {gm(4)}) {HOST} {{
  %zero = arith.constant 0 : index
  %value = arith.constant 7.0 : f32
  memref.store %value, %x[%zero] : {gm(4)}
  func.return
}}
}}"""
    program = SimulatedProgram(text)
    whole = np.zeros((4, 2), np.float32)
    program.run("main", [whole[:, 1]])
    assert whole[0, 1] == 7 and whole.sum() == 7
    with pytest.raises(SimulatorFault, match=r"argument 0 is an array of float64 with shape \(4,\)"):
        program.run("main", [np.zeros(4)])
    fixed = np.zeros(4, np.float32)
    fixed.flags.writeable = False
    with pytest.raises(SimulatorFault, match="argument 0 may not be written"):
        program.run("main", [fixed])
    assert "simulator of Ascend910B1" in repr(program)


def test_what_is_not_simulated_is_refused_when_it_is_loaded() -> None:
    text = f"""module {{
func.func @main(%x: {gm(4)}) -> index {HOST} {{
  %p = "memref.extract_aligned_pointer_as_index"(%x) : ({gm(4)}) -> index
  func.return %p : index
}}
}}"""
    with pytest.raises(NotSimulated, match=r"does not execute memref\.extract_aligned_pointer_as_index"):
        SimulatedProgram(text)


def test_two_buffers_overlap_transfers_with_computation() -> None:
    """Modelled cycles: fewer with two alternating buffers than with one."""
    report = RunReport(spans={})
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((2, 16384)).astype(np.float32)
    SimulatedProgram(ascend_kernels.exp_of_sum(tiles=8, tile=2048)).run("main", [x, y], report=report)
    (launch,) = report.launches
    assert report.spans is not None
    ((spans,),) = report.spans.values()
    alone = sum(span.end - span.start for span in spans)
    assert max(span.end for span in spans) <= launch.cycles < 0.95 * alone


def test_large_arrays_are_fast() -> None:
    """No particular time is promised; but a per-element interpreter would need minutes."""
    x = np.ones(65536, np.float32)
    program = SimulatedProgram(ascend_kernels.exp_of_sum(tiles=4, tile=2048, blocks=8))
    before = time.process_time()
    program.run("main", [x, x])
    assert time.process_time() - before < 5


def test_kernels_may_be_called_directly() -> None:
    own, whole = ub(8), gm(8)
    text = module(
        kernel(
            "k",
            f"%x: {whole}, %z: {whole}",
            number("zero", 0),
            buffer("a", "zero", own),
            load("x", "a", whole, own),
            '"hivm.hir.pipe_barrier"() <{pipe = #hivm.pipe<PIPE_ALL>}> : () -> ()',
            store("a", "z", own, whole),
        )
    )
    x, z = np.arange(8, dtype=np.float32), np.zeros(8, np.float32)
    assert SimulatedProgram(text).run("k", [x, z]) == ()
    np.testing.assert_array_equal(z, x)
