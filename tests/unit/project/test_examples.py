"""The examples and the benchmarks run; each example checks its own result, and says so by its exit code."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]


def run_script(path: Path, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, str(path), *arguments], capture_output=True, text=True, cwd=ROOT, timeout=600, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.py")), ids=lambda path: path.stem)
def test_example(path: Path) -> None:
    if "from sklearn" in path.read_text():
        pytest.importorskip("sklearn", reason="scikit-learn, of the extra `examples`, is not installed")
    assert run_script(path).strip()


@pytest.mark.full
@pytest.mark.parametrize(
    "path", sorted((ROOT / "examples" / "lenet").glob("lenet_[!d]*.py")), ids=lambda path: path.stem
)
def test_spelling_of_lenet(path: Path) -> None:
    pytest.importorskip("sklearn", reason="scikit-learn, of the extra `examples`, is not installed")
    assert run_script(path).strip()


def test_benchmark_beside_peers() -> None:
    told = run_script(ROOT / "benchmarks" / "peers.py", "log_sum_exp", "--small", "--memory", "--budget", "0.01")
    header, _, row, _, _, mean = [line.strip("| ").split(" | ") for line in told.splitlines()]
    column = dict(zip(header, row, strict=True))
    assert [column["program"], column["size"]] == ["log_sum_exp", "10,000"]
    assert float(column["by hand / mlirad"]) > 0
    assert float(column["memory, MiB"]) >= 0
    assert "geometric mean" in mean[0]


def test_growth_benchmark() -> None:
    told = run_script(ROOT / "benchmarks" / "growth.py", "recurrence", "newton_each", "--operations", "5e3")
    header, _, *rows = [line.strip("| ").split(" | ") for line in told.splitlines()]
    assert [row[:2] for row in rows] == [["recurrence", "1,000"], ["newton_each", "5,000"]]
    for row in rows:
        column = dict(zip(header, row, strict=True))
        assert float(column["mlirad / by hand"]) > 0
        assert float(column["largest difference"]) < 1e-12


def test_the_page_on_modes_says_what_they_cost() -> None:
    page = (ROOT / "docs" / "forward-and-reverse.md").read_text()
    *_, first, second = run_script(ROOT / "benchmarks" / "cost_of_modes.py", "--sizes", "1x1", "8x8").splitlines()
    assert f"{first}\n" in page
    assert f"{second}\n" in page
