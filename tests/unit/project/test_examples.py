"""The examples and the benchmarks run; each example checks its own result, and says so by its exit code."""

from __future__ import annotations

import os
import subprocess
import sys
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from forked_scripts import Scripts

ROOT = Path(__file__).resolve().parents[3]


RunScript = Callable[..., str]


@pytest.fixture
def run_script(scripts: Scripts) -> RunScript:
    """Gives what a script prints, if it ends with 0."""

    def run(path: Path, *arguments: str) -> str:
        done = scripts.run(path, *arguments, folder=ROOT, seconds=600)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return run


@pytest.mark.parametrize(
    ("code", "wanted"),
    [
        ("import sys; sys.exit(3)", (3, "")),
        ("import sys; sys.exit('wrong')", (1, "wrong")),
        ("assert 1 == 2, 'unequal'", (1, "AssertionError: unequal")),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", (-1, "")),
        ("while True: pass", (-1, "")),
    ],
)
def test_scripts_that_fail_are_seen(code: str, wanted: tuple[int, str], tmp_path: Path, scripts: Scripts) -> None:
    path = tmp_path / "fails.py"
    path.write_text(f"print('before', flush=True)\n{code}\n")
    done = scripts.run(path, folder=tmp_path, seconds=1 if "while" in code else 60)
    assert (done.returncode, done.stderr.strip().rpartition("\n")[2], done.stdout) == (*wanted, "before\n")


IS_FULL = bool(os.environ.get("MLIRAD_FULL"))
BRIEFLY = {} if IS_FULL else {"lstm_memory": "20", "neural_ode": "2"}
"""How many steps of those that take a number; `make full` lets them take all."""
GALLERY = ROOT / "docs" / "gallery"


def marks(path: Path) -> list[pytest.MarkDecorator]:
    return [pytest.mark.full] if path.stem in ("lenet_spellings", "transformer_zen") else []


EXAMPLES = [pytest.param(path, id=path.stem, marks=marks(path)) for path in sorted((ROOT / "examples").glob("*.py"))]


@pytest.mark.parametrize("path", EXAMPLES)
def test_example(path: Path, run_script: RunScript) -> None:
    text = path.read_text()
    if "from sklearn" in text or "from lenet_digits" in text:
        pytest.importorskip("sklearn", reason="scikit-learn, of the extra `examples`, is not installed")
    brief = BRIEFLY.get(path.stem)
    assert run_script(path, *([] if brief is None else [brief])).strip()
    if "pictures.png" in text and brief is None:
        drawn, shown = (pixels(folder / f"{path.stem}.png") for folder in (ROOT / "build" / "examples", GALLERY))
        assert drawn.shape == shown.shape
        assert np.mean(np.abs(drawn - shown)) < 0.05, f"the gallery shows another picture than {path} draws"


def pixels(path: Path) -> np.ndarray:
    """The image, from 0 to 1, of a file that examples/pictures/png.py has written."""
    data = path.read_bytes()
    width, height = np.frombuffer(data[16:24], ">u4")
    packed = data[data.index(b"IDAT") + 4 : -16]
    rows = np.frombuffer(zlib.decompress(packed), np.uint8).reshape(height, 3 * width + 1)
    assert not rows[:, 0].any()
    return rows[:, 1:] / 255


def test_the_gallery_is_what_its_generator_writes(run_script: RunScript) -> None:
    before = (ROOT / "docs" / "gallery.md").read_text()
    run_script(ROOT / "examples" / "pictures" / "gallery.py", "--page")
    assert (ROOT / "docs" / "gallery.md").read_text() == before, "run python examples/pictures/gallery.py"
    shown = {path.stem for path in GALLERY.iterdir()}
    drawing = ("from pictures.png import", "from pictures.chart import")
    texts = {path.stem: path.read_text() for path in (ROOT / "examples").glob("*.py")}
    assert shown == {stem for stem, text in texts.items() if any(each in text for each in drawing)}


@pytest.mark.full
def test_lenet_in_both_modes_of_mindspore(run_script: RunScript) -> None:
    pytest.importorskip("sklearn", reason="scikit-learn, of the extra `examples`, is not installed")
    assert run_script(ROOT / "examples" / "lenet" / "lenet_mindspore.py").strip()


def test_benchmark_beside_peers() -> None:
    """In a process of its own: it replaces its process by one with other settings."""
    command = [sys.executable, "benchmarks/peers.py", "log_sum_exp", "--small", "--memory", "--budget", "0.01"]
    told = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=600).stdout
    header, _, row, _, _, mean = [line.strip("| ").split(" | ") for line in told.splitlines()]
    column = dict(zip(header, row, strict=True))
    assert [column["program"], column["size"]] == ["log_sum_exp", "10,000"]
    assert float(column["by hand / mlirad"]) > 0
    assert float(column["memory, MiB"]) >= 0
    assert "geometric mean" in mean[0]


def test_jacobians_benchmark(run_script: RunScript) -> None:
    told = run_script(ROOT / "benchmarks" / "jacobians.py", "--vertices", "10", "--cases", "by for", "--budget", "0.01")
    _, _, row, *_, other = [line.strip("| ").split(" | ") for line in told.splitlines()]
    assert row[0] == "10"
    assert float(row[3]) > 0
    assert float(row[-1]) < 1e-8
    assert other[:2] == ["jacfwd of an equation, by for", "3"]
    assert float(other[4]) > 0


def test_ratios_benchmark() -> None:
    """In a process of its own, for the same reason."""
    command = [sys.executable, "benchmarks/ratios.py", "biquad", "slices", "--small", "--budget", "0.01"]
    told = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=600).stdout
    header, _, *rows = [line.strip("| ").split(" | ") for line in told.splitlines()]
    ratios = [float(dict(zip(header, row, strict=True))["worst"]) for row in rows]
    assert {row[0] for row in rows} == {"biquad", "slices"}
    assert ratios == sorted(ratios, reverse=True)


def test_growth_benchmark(run_script: RunScript, monkeypatch: pytest.MonkeyPatch) -> None:
    if not IS_FULL:  # Numba takes nine seconds to compile adjoints that run for milliseconds
        monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    told = run_script(ROOT / "benchmarks" / "growth.py", "recurrence", "newton_each", "--operations", "5e3")
    header, _, *rows = [line.strip("| ").split(" | ") for line in told.splitlines()]
    assert [row[:2] for row in rows] == [["recurrence", "1,000"], ["newton_each", "5,000"]]
    for row in rows:
        column = dict(zip(header, row, strict=True))
        assert float(column["by hand, ns each"]) > 0
        assert float(column["mlirad / by hand"]) >= 0  # in Python, by hand takes a thousand times as long
        assert float(column["largest difference"]) < 1e-12


def test_the_page_on_modes_says_what_they_cost(run_script: RunScript) -> None:
    page = (ROOT / "docs" / "forward-and-reverse.md").read_text()
    *_, first, second = run_script(ROOT / "benchmarks" / "cost_of_modes.py", "--sizes", "1x1", "8x8").splitlines()
    assert f"{first}\n" in page
    assert f"{second}\n" in page
