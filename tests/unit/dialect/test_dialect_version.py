"""IR on disk names the version of the dialects; another version is refused; the version changes with the dialects."""

from __future__ import annotations

import copy
import json
import re
from pathlib import Path
from typing import Any

import dialect_form
import numpy as np
import pytest

import mlirad
from mlirad import dialect_version, opt
from mlirad.jit import disk_cache
from mlirad.pipeline import write_stages

RECORDED: dict[str, Any] = json.loads(dialect_form.RECORDED.read_text())


def test_the_ops_are_those_of_this_version() -> None:
    """If this fails, raise DIALECT_VERSION and run tests/support/dialect_form.py: earlier IR can be misread."""
    assert dialect_form.changes(RECORDED, dialect_form.form()) == []


def test_the_test_sees_what_it_should() -> None:
    now = copy.deepcopy(RECORDED)
    now["nd.new"] = now["nd.sin"]
    assert dialect_form.changes(RECORDED, now) == []
    now["nd.sin"]["operands"] = ["y"]
    now["nd.cos"]["format"] = "$x"
    del now["nd.exp"], now["!ad.trip"]
    expected = ["!ad.trip is gone", "nd.cos has another form", "nd.exp is gone", "nd.sin has another form"]
    assert dialect_form.changes(RECORDED, now) == expected
    now = copy.deepcopy(RECORDED)
    now["nd.sin"]["properties"] = now["nd.sin"]["optional"] = ["new"]
    assert dialect_form.changes(RECORDED, now) == []
    now["nd.sin"]["optional"] = []
    assert dialect_form.changes(RECORDED, now) == ["nd.sin has another form"]


def read(path: Path, capsys: pytest.CaptureFixture[str]) -> tuple[int | str | None, str, str]:
    code: int | str | None = 0
    try:
        opt.main([str(path)])
    except SystemExit as done:
        code = done.code
    return code, *capsys.readouterr()


def test_dumps_name_their_version_and_are_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    lowered = mlirad.grad(lambda x: np.sum(np.sin(x))).lower(np.ones(3))
    paths = write_stages(lowered.module.clone(), lowered.target, tmp_path)
    first = f"// mlirad dialects, version {dialect_version.DIALECT_VERSION}"
    for path in paths:
        lines = path.read_text().splitlines()
        assert (lines[0] == first) == (path.suffix == ".mlir")
        if path.suffix == ".mlir":
            code, out, _ = read(path, capsys)
            assert code == 0 and out.splitlines()[0] == first and out.count("// mlirad") == 1
    monkeypatch.setattr(dialect_version, "DIALECT_VERSION", 2)
    for path in paths:
        if path.suffix == ".mlir":
            code, out, err = read(path, capsys)
            assert (code, out) == (1, "")
            assert f"{path}:1" in err and "of version 1 of mlirad's dialects; this mlirad reads version 2" in err


@pytest.mark.parametrize("version", ["0", "2", "10", "1.5", "one"])
def test_another_version_is_refused_with_its_line_and_what_to_do(
    version: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "old.mlir"
    path.write_text(f"// a note\n// mlirad dialects, version {version}\nfunc.func @f() {{ nonsense }}\n")
    code, out, err = read(path, capsys)
    assert (code, out) == (1, "")
    assert re.search(r"old\.mlir:2\b", err), err
    assert f"version {version} of mlirad's dialects" in err and "MLIRAD_DUMP" in err


def test_text_without_a_version_is_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "written.mlir"
    path.write_text("func.func @f() {\n  return\n}\n")
    code, out, _ = read(path, capsys)
    assert code == 0
    assert out.removeprefix(dialect_version.stamped("")) == "\n".join(out.splitlines()[1:]) + "\n"


def test_the_version_is_in_the_keys_of_the_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    before = disk_cache._versions()
    assert before is not None
    monkeypatch.setattr(disk_cache, "DIALECT_VERSION", 0)
    disk_cache._versions.cache_clear()
    try:
        after = disk_cache._versions()
    finally:
        disk_cache._versions.cache_clear()
    assert after is not None and after != before
