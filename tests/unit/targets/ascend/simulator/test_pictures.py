"""A call as a trace, a picture and lines of text; all say that they come from a simulator."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import ascend_kernels
import numpy as np
import pytest

from mlirad.cli import main
from mlirad.targets.ascend.hivm.hivm_attributes import Pipe
from mlirad.targets.ascend.simulator.chrome_trace import chrome_trace
from mlirad.targets.ascend.simulator.kernel_picture import lives, picture
from mlirad.targets.ascend.simulator.pictures import pictures_of
from mlirad.targets.ascend.simulator.run_report import RunReport, recording
from mlirad.targets.ascend.simulator.simulated_program import SimulatedProgram
from mlirad.targets.ascend.soc import for_soc

TILES = 4


@pytest.fixture(scope="module")
def report() -> RunReport:
    program = SimulatedProgram(ascend_kernels.exp_of_sum(TILES, 64, 2))
    x = np.ones(512, np.float32)
    with recording() as report:
        program.run("main", [x, x])
    program.run("main", [x, x])  # no longer recorded
    return report


def test_the_report_counts_launches_and_says_what_it_is(report: RunReport) -> None:
    assert [(each.kernel, each.blocks) for each in report.launches] == [("exp_of_sum", 2)]
    first, second = str(report).splitlines()
    assert first.startswith("simulator: ") and first.endswith(" cycles (model, uncalibrated)")
    assert "exp_of_sum: 1 launches of 2 blocks" in second


def test_all_that_is_shown_of_a_call() -> None:
    program = SimulatedProgram(ascend_kernels.tail())
    shown = pictures_of(lambda: program.run("main", [np.ones(200, np.float32)]), for_soc("Ascend910B1"))
    assert set(shown) == {"report.txt", "trace.json", "tail.svg"}
    assert "(model" in shown["report.txt"] and "(model" in shown["tail.svg"]


def test_the_command_draws_the_kernels_of_a_function(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The pictures name the lines of the user's file."""
    program = tmp_path / "program.py"
    program.write_text("import numpy as np\n\ndef shifted(x):\n    return np.exp(x - 1)\n")
    words = ["ascend", "view", f"{program}:shifted", "np.ones(5000, np.float32)", "--out", str(tmp_path / "shown")]
    assert main(words) == 0
    files = [Path(line) for line in capsys.readouterr().out.splitlines()]
    assert {file.suffix for file in files} == {".txt", ".json", ".svg"}
    (drawn,) = [file.read_text() for file in files if file.suffix == ".svg"]
    assert f"{program}:4" in drawn and "return np.exp(x - 1)" in drawn


def test_the_trace_has_every_instruction_of_every_block(report: RunReport) -> None:
    trace = json.loads(chrome_trace(report))
    events = [each for each in trace["traceEvents"] if each["ph"] == "X"]
    names = [each["name"] for each in events]
    assert {name: names.count(name) for name in set(names)} == {
        "load": 2 * TILES * 2,
        "vadd": TILES * 2,
        "vexp": TILES * 2,
        "store": TILES * 2,
    }
    for process in (1, 2):
        for pipe in {each["tid"] for each in events}:
            mine = [each for each in events if each["pid"] == process and each["tid"] == pipe]
            ends = [each["ts"] + each["dur"] for each in mine]
            assert all(end <= after["ts"] for end, after in zip(ends, mine[1:], strict=False))
    assert "simulator" in trace["otherData"]["times"]


def test_the_picture_shows_every_instruction_and_every_life(report: RunReport) -> None:
    assert report.spans is not None
    (spans, _) = report.spans["exp_of_sum"]
    text = picture("exp_of_sum", 0, spans, 196_608)
    root = ElementTree.fromstring(text)
    titles = [each.text or "" for each in root.iter("{http://www.w3.org/2000/svg}title")]
    assert len(titles) == len(spans) + len(lives(spans))
    assert "(model, uncalibrated; a simulator&#x27;s)" in text or "(model, uncalibrated; a simulator's)" in text
    assert f"{6 * 256:,} of 196,608 bytes used" in text


def test_what_a_load_writes_lives_until_it_was_read(report: RunReport) -> None:
    assert report.spans is not None
    (spans, _) = report.spans["exp_of_sum"]
    loaded = [life for life in lives(spans) if life[4].pipe is Pipe.MTE2]
    added = [span for span in spans if span.op.name == "hivm.hir.vadd"]
    assert len(loaded) == 2 * TILES
    for number, (_, _, start, end, _) in enumerate(loaded):
        assert start < end == added[number // 2].end
