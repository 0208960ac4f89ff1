"""`lower().memory()` for the Ascend target agrees with the text: the places of buffers, and their sizes."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from typing import Any

import numpy as np
import pytest

import mlirad
from mlirad.targets.ascend.memory_plan import DeviceReport
from mlirad.targets.ascend.simulator.device_core import DeviceCore
from mlirad.targets.ascend.simulator.simulated_program import SimulatedProgram

RNG = np.random.default_rng(5)


def normal(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float32)


def attention(q: np.ndarray, k: np.ndarray, v: np.ndarray) -> Any:
    e = np.exp(q @ k.T)
    return np.sum((e / np.sum(e, axis=1, keepdims=True)) @ v)


def selected(x: np.ndarray, y: np.ndarray) -> Any:
    return np.where(x > y, np.exp(x - y), 3 / x), (x * 2).T, x - y[:, :1]


def elements(shape: str) -> int:
    return math.prod(map(int, shape.split("x")))


def end_of_buffers(text: str, kernel: str) -> int:
    """The first byte of the unified buffer after all buffers in the text of a kernel."""
    body = text.partition(f"func.func @{kernel}(")[2].partition("func.func")[0]
    numbers = {name: int(value) for name, value in re.findall(r"(%\S+) = arith.constant (\d+) : i64", body)}
    for name, odd, even in re.findall(r"(%\S+) = arith.select %\S+, (%\S+), (%\S+) : i64", body):
        numbers[name] = max(numbers[odd], numbers[even])
    placed = re.findall(r'pointer_cast"\((%\S+)\).*-> memref<([\dx]+)x[a-z](\d+)', body)
    return max(numbers[name] + -(-elements(shape) * int(bits) // 8) for name, shape, bits in placed)


@pytest.mark.parametrize(
    ("kernel", "args"),
    [
        (mlirad.grad(attention, target="ascend"), (normal(33, 40), normal(50, 40), normal(50, 7))),
        (mlirad.jit(selected, target="ascend", tile=(8, 64)), (normal(100, 300), normal(100, 300))),
    ],
    ids=["attention", "selected"],
)
def test_the_report_is_what_the_text_does(kernel: Any, args: tuple[Any, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    lowered = kernel.lower(*args)
    report, text = lowered.memory(), lowered.as_text("hivm-physical")
    assert isinstance(report, DeviceReport) and report.is_exact
    used: dict[tuple[str, str], set[tuple[int, int]]] = defaultdict(set)
    at_address = DeviceCore.at_address

    def recorded(core: DeviceCore, op: Any, addresses: Any, *rest: Any) -> Any:
        view = at_address(core, op, addresses, *rest)
        used[core.kernel.name, str(rest[-1])].add((view.low, view.high))
        return view

    monkeypatch.setattr(DeviceCore, "at_address", recorded)
    program = SimulatedProgram(text)
    (entry,) = [each for each in program.functions if each not in program.kernels]
    program.run(entry, list(args))
    assert {(each.name, space) for each in report.kernels for space in each.peaks} == set(used)
    for each in report.kernels:
        for space, peak in each.peaks.items():
            planned = {
                (low, low + buffer.bytes)
                for buffer in each.buffers
                for low in buffer.addresses
                if buffer.space == space
            }
            for low, high in used[each.name, space]:
                assert any(low == first and high <= last for first, last in planned)
            assert max(high for _, high in used[each.name, space]) <= peak <= report.room[space]
            assert space != "ub" or peak == end_of_buffers(text, each.name)
            assert report.peaks[space] >= peak
    allocated = [
        math.prod(map(int, shape.split("x"))) * 4 for shape in re.findall(r"alloc\(\) : memref<([\dx]+)xf32", text)
    ]
    assert report.total.static == sum(allocated) - report.results
    assert f"of {196_608:,} bytes" in str(report) and f"kernel {report.kernels[0].name}" in str(report)


def test_tapes_are_formulas() -> None:
    def power(n, x):
        for _ in range(n):
            x = np.sin(x) * x
        return np.sum(x)

    report = mlirad.grad(power, argnums=1, target="ascend").lower(5, normal(100)).memory()
    assert [each.kind for each in report.buffers].count("tape") >= 1 and not report.is_exact
    assert report.total.at(100 * 7) > report.total.at(100 * 5) > 0
