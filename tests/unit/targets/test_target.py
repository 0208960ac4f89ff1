"""Targets: found by entry point, checked all at once, stages as data."""

from __future__ import annotations

import re

import pytest

from mlirad.errors import TargetError
from mlirad.targets.cpu import CpuTarget
from mlirad.targets.target import Stage, find_target, target_names


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """A distribution that provides targets, on sys.path as an installed one is."""

    def install(**points: str) -> None:
        info = tmp_path / "elsewhere-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: elsewhere\nVersion: 1.0\n")
        lines = [f"{name} = {value}" for name, value in points.items()]
        (info / "entry_points.txt").write_text("\n".join(["[mlirad.targets]", *lines, ""]))
        monkeypatch.syspath_prepend(tmp_path)

    return install


def test_a_target_is_found_by_its_entry_point(installed) -> None:
    installed(elsewhere="mlirad.targets.cpu:CpuTarget")
    assert "elsewhere" in target_names()
    assert find_target("elsewhere", vector_bytes=32) == CpuTarget(vector_bytes=32)


def test_an_unknown_target_names_those_that_exist(installed) -> None:
    installed(elsewhere="mlirad.targets.cpu:CpuTarget")
    with pytest.raises(TargetError, match=r"(?s)no target 'gpu'.*elsewhere"):
        find_target("gpu")


def test_an_unknown_option_names_those_that_exist(installed) -> None:
    installed(elsewhere="mlirad.targets.cpu:CpuTarget")
    with pytest.raises(TargetError, match=r"(?s)no option 'vectors'.*vector_bytes"):
        find_target("elsewhere", vectors=4)


def test_an_entry_point_that_is_no_target_is_refused(installed) -> None:
    installed(odd="json:dumps")
    with pytest.raises(TargetError, match="json:dumps"):
        find_target("odd")


def test_the_package_declares_its_own_target() -> None:
    """As any other distribution does; nothing else names it."""
    import tomllib
    from pathlib import Path

    root = Path(__file__).parents[3]
    declared = tomllib.loads((root / "pyproject.toml").read_text())["project"]["entry-points"]["mlirad.targets"]
    assert declared["cpu"] == "mlirad.targets.cpu:CpuTarget"


def test_stages_are_data_in_order() -> None:
    names = [stage.name for stage in CpuTarget().stages()]
    assert names == ["linalg", "bufferized", "loops", "llvmir", "llvmopt", "asm"]
    assert CpuTarget.loads in names


def test_the_text_stages_follow_one_another(parse) -> None:
    module = parse("""
      func.func public @f(%x: f64) -> f64 {
        %y = arith.mulf %x, %x : f64
        func.return %y : f64
      }""")
    value: object = module
    texts: dict[str, str] = {}
    stages: dict[str, Stage] = {stage.name: stage for stage in CpuTarget().stages()}
    for name in ("llvmir", "llvmopt", "asm"):
        value = stages[name].run(value)
        assert isinstance(value, str)
        texts[name] = value
    assert "fmul double" in texts["llvmir"]
    assert re.search(r"define .*@mlirad\.entry\.f\(", texts["llvmopt"])
    assert "mlirad.entry.f:" in texts["asm"]


def test_check_tells_of_all_problems_at_once(parse) -> None:
    module = parse("""
      func.func public @f(%x: f16, %y: f64) -> f64 {
        %a = arith.addf %x, %x : f16 loc("user.py":2:9)
        %b = arith.addf %y, %y : f64 loc("user.py":3:9)
        %c = arith.constant 1 : i128 loc("user.py":4:9)
        func.return %b : f64
      }""")
    target = CpuTarget()
    problems = target.check(module)
    assert [str(problem.location) for problem in problems] == ["user.py:2:9", "user.py:4:9"]
    with pytest.raises(TargetError) as caught:
        target.require(module)
    message = str(caught.value)
    assert caught.value.lineno == 2
    assert "f16" in message
    assert "user.py:4:9" in message
    assert "i128" in message


def test_nothing_to_complain_about(parse) -> None:
    module = parse("func.func public @f(%y: f64) -> f64 { func.return %y : f64 }")
    assert CpuTarget().check(module) == []
    CpuTarget().require(module)


def test_fingerprint_tells_options_apart() -> None:
    assert CpuTarget(vector_bytes=16).fingerprint() != CpuTarget(vector_bytes=32).fingerprint()
    assert CpuTarget().fingerprint() == CpuTarget().fingerprint()


def test_targets_are_values() -> None:
    assert CpuTarget() == CpuTarget(None)
    assert len({CpuTarget(), CpuTarget(), CpuTarget(vector_bytes=16)}) == 2
