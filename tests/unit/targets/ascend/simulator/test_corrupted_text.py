"""Whatever the text and the arguments are, the simulator reports the fault, and neither crashes nor hangs."""

from __future__ import annotations

import os
from collections import Counter
from random import Random
from typing import Any

import ascend_kernels
import numpy as np
import pytest
from ascend_fuzz import PROGRAMS, corrupted, ending
from ascend_kernels import gm
from ascend_programs import CORPUS
from xdsl.utils.exceptions import ParseError, VerifyException

from mlirad.targets.ascend.simulator.faults import Fault, SimulatorFault
from mlirad.targets.ascend.simulator.simulated_program import SimulatedProgram

HOST = "attributes {hacc.function_kind = #hacc.function_kind<HOST>}"
RUNS = 1000 if os.environ.get("MLIRAD_FULL") else 50


def test_corrupted_text_is_refused_or_runs() -> None:
    endings: Counter[str] = Counter()
    programs = PROGRAMS if RUNS > 50 else [each for each in PROGRAMS if each.endswith("by hand")]
    for seed in range(RUNS):
        random = Random(seed)
        case = CORPUS[random.choice(programs)]
        endings[ending(case, corrupted(case.text(), random))] += 1
    assert endings["ParseError"] < RUNS and endings["too long"] <= RUNS / 100


def host(*lines: str, arguments: str = "", results: str = "") -> str:
    body = "\n".join(f"  {line}" for line in lines)
    return f"module {{\nfunc.func @main({arguments}) -> ({results}) {HOST} {{\n{body}\n}}\n}}"


def divided(op: str, by: int) -> str:
    lines = (f"%x = arith.constant {by} : i64", f"%y = arith.{op} %x, %x : i64", "func.return %y : i64")
    return host(*lines, results="i64")


@pytest.mark.parametrize(
    ("text", "kind", "message"),
    [
        (divided("divsi", 0), Fault.ARITHMETIC, r"arith\.divsi by 0"),
        (divided("remui", 0), Fault.ARITHMETIC, r"arith\.remui by 0"),
        (divided("shli", 64), Fault.ARITHMETIC, r"arith\.shli by 64"),
        (
            host(f"%x = memref.alloc() : {gm(1 << 50)}", f"func.return %x : {gm(1 << 50)}", results=gm(1 << 50)),
            Fault.LAUNCH,
            "there is no memory for a global buffer of 4503599627370496 bytes",
        ),
        (
            host(
                "%zero = arith.constant 0 : index",
                "scf.for %i = %zero to %zero step %zero {",
                "}",
                "func.return",
            ),
            Fault.LOOP,
            "a loop has a step of 0",
        ),
        (
            ascend_kernels.exp_of_sum(tiles=0).replace("block_dim = 1", "block_dim = 99999"),
            Fault.LAUNCH,
            "is launched on 99999 blocks; 1 to 65535 are possible",
        ),
    ],
)
def test_what_has_no_meaning_is_a_fault(text: str, kind: Fault, message: str) -> None:
    program = SimulatedProgram(text)
    values = [np.zeros(argument.type.get_shape(), np.float32) for argument in program.functions["main"].op.args]  # pyright: ignore[reportAttributeAccessIssue]: a memref
    with pytest.raises(SimulatorFault, match=message) as caught:
        program.run("main", values)
    assert caught.value.kind is kind


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("%c = ", "%other = ", "value %c|%c"),
        ("(%arg0, %arg1, %out)", "(%arg0, %out)", "expected 3 operand types but had 2"),
        ("%turn = arith.remsi %i, %two : index", "", "uses a value before it is defined|%turn"),
        ("<256x", f"<{1 << 80}x", "has been previously used or defined with type"),
        ("scf.for", "scf.fro", "not registered"),
    ],
)
def test_malformed_text_is_refused_when_it_is_loaded(old: str, new: str, message: str) -> None:
    text = ascend_kernels.exp_of_sum()
    assert old in text
    with pytest.raises((ParseError, VerifyException), match=message):
        SimulatedProgram(text.replace(old, new, 1))


def test_a_value_is_known_only_where_it_is_defined() -> None:
    text = host(
        "%zero = arith.constant 0 : index",
        "%one = arith.constant 1 : index",
        "scf.for %i = %zero to %one step %one {",
        "  %x = arith.addi %i, %one : index",
        "}",
        '%y = "arith.addi"(%x, %one) <{overflowFlags = #arith.overflow<none>}> : (index, index) -> index',
        "func.return %y : index",
        results="index",
    )
    with pytest.raises((ParseError, VerifyException), match=r"before it is defined, or outside of its block|%x"):
        SimulatedProgram(text)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([np.zeros(4, np.float32)], "'main' takes 2 arguments, and gets 1"),
        ([np.zeros(256), np.zeros(256, np.float32)], "argument 0 is an array of float64"),
        ([np.zeros(256, np.float32), np.zeros((256, 1), np.float32)], r"argument 1 is .* with shape \(256, 1\)"),
        (["x", np.zeros(256, np.float32)], "argument 0 is an array of <U1"),
    ],
)
def test_wrong_arguments_are_refused(values: list[Any], message: str) -> None:
    program = SimulatedProgram(ascend_kernels.exp_of_sum())
    with pytest.raises(SimulatorFault, match=message) as caught:
        program.run("main", values)
    assert caught.value.kind is Fault.LAUNCH
    with pytest.raises(SimulatorFault, match="there is no function 'other'; there are exp_of_sum, main"):
        program.run("other", [])
