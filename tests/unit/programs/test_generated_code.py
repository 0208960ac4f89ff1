"""The net under changes that only move code notices what changes the code that is generated, and only that."""

from __future__ import annotations

import shutil
from pathlib import Path

import generated_code
import pytest

from mlirad.dialect.ops.arithmetic import MulOp


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    before = tmp_path_factory.mktemp("recorded") / "before"
    record(before)
    return before


def record(directory: Path) -> None:
    directory.mkdir()
    generated_code.SOURCES.mkdir(exist_ok=True)
    assert generated_code.record_one(directory, "benchmark", "recurrence") == 2
    assert generated_code.record_one(directory, "random", "mixed", 900_000) == 2


def test_the_same_code_is_the_same(recorded: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record(tmp_path / "after")
    assert generated_code.compare(recorded, tmp_path / "after") == 0
    assert capsys.readouterr().out == "8 texts: the same to the byte\n"


def test_another_derivative_rule_is_noticed(
    recorded: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(MulOp, "vjp", lambda self, g, out, x, y: (g * y, g * x * 1.5))
    record(tmp_path / "after")
    assert generated_code.compare(recorded, tmp_path / "after") == 1
    told = capsys.readouterr().out
    assert "benchmark_recurrence_gradient.asm.s:\n  - " in told
    assert "benchmark_recurrence.asm.s" not in told


def test_a_missing_text_is_noticed(recorded: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copytree(recorded, tmp_path / "after")
    (tmp_path / "after" / "mixed_900000.asm.s").unlink()
    assert generated_code.compare(recorded, tmp_path / "after") == 1
    assert "mixed_900000.asm.s: only before" in capsys.readouterr().out


def test_names_are_numbered_as_they_come():
    assert generated_code.numbered("%b = f %a, %b : %a0") == "%0 = f %1, %0 : %2"
