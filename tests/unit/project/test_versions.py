"""The versions that the package claims have been run, and the campaign finds interpreters."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
import versions

ROOT = Path(__file__).parents[3]


def rows() -> list[tuple[str, str, bool]]:
    """For each run on the page: the versions of Python and NumPy (two numbers), and whether all tests passed."""
    text = (ROOT / "docs/verification/versions.md").read_text()
    found = re.findall(r"^\| (3\.\d+)\.\d+ \| (\d+\.\d+)\.\d+ \| .*? \| ([\d,]+) \| ([\d,]+) \|", text, re.MULTILINE)
    return [(python, numpy, passed != "0" and failed == "0") for python, numpy, passed, failed in found]


def test_what_is_claimed_has_been_run() -> None:
    (bounds,) = re.findall(r"numpy>=2\.(\d+),<2\.(\d+)", " ".join(versions.project()["dependencies"]))
    oldest, newest = f"2.{bounds[0]}", f"2.{int(bounds[1]) - 1}"
    pythons = versions.claimed()
    assert versions.oldest_numpy() == f"{oldest}.*" and versions.project()["requires-python"] == f">={pythons[0]}"
    assert (
        f"Linux, Python {pythons[0]} to {pythons[-1]} and NumPy {oldest} to {newest}"
        in (ROOT / "README.md").read_text()
    )
    assert {(python, oldest) for python in pythons} <= {(python, numpy) for python, numpy, is_good in rows() if is_good}
    assert (pythons[-1], newest, True) in rows()


def test_the_running_python_is_found_and_the_newest_comes_last() -> None:
    found = versions.pythons()
    assert [each.minor for each in found] == [
        minor for minor in versions.claimed() if minor in {x.minor for x in found}
    ]
    running = f"{sys.version_info[0]}.{sys.version_info[1]}"
    assert running not in versions.claimed() or versions.Python(sys.executable, sys.version.split()[0]) in found
    chosen = versions.corners(found)
    assert {(python.minor, "2.1.*") for python in found} <= {(python.minor, numpy) for python, numpy, _ in chosen}
    assert {tests for python, _, tests in chosen if python == found[-1]} == {versions.ALL}


def test_a_process_that_ends_without_a_report_has_failed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(versions, "BUILD", tmp_path)
    (tmp_path / "report.xml").write_text("<testsuites><testcase classname='of' name='before'/></testsuites>")
    (tmp_path / "pytest").write_text("#!/bin/sh\nexit 3\n")
    (tmp_path / "pytest").chmod(0o755)
    (tmp_path / "python").symlink_to(sys.executable)
    run = versions.run_tests(tmp_path, ["tests"], 1)
    assert run.passed == 0 and run.failed == ("pytest itself, which ended with code 3",)


def test_the_page_has_the_last_runs_and_every_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def run(numpy: str, *failed: str) -> versions.Run:
        return versions.Run("3.13.0", numpy, versions.SOME, 1200, failed, 3, 60, "2026-11-23")

    log = tmp_path / "runs.jsonl"
    monkeypatch.setattr(versions, "LOG", log)
    for each in (run("2.10.0"), run("2.1.3", "tests.a::x"), run("2.10.0", "tests.b::y")):
        versions.keep(each)
    kept = versions.logged()
    assert [each.numpy for each in kept] == ["2.1.3", "2.10.0"] and kept[1].failed == ("tests.b::y",)
    assert "| 3.13.0 | 2.10.0 | some | 1,200 | 1 | 3 | 60 | 2026-11-23 |" in versions.page(kept)
    assert "NumPy 2.10.0: `tests.b::y`" in versions.page(kept)
