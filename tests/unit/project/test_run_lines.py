"""The FileCheck runner itself: a test that should fail does fail."""

from __future__ import annotations

from pathlib import Path

import pytest
from run_lines import MissingTool, parse, run_file, run_lines


def write(tmp_path: Path, text: str, name: str = "case.py") -> Path:
    path = tmp_path / name
    path.write_text(text)
    return path


def test_passes_when_the_output_matches(tmp_path: Path) -> None:
    run_file(write(tmp_path, "# RUN: python %s | filecheck %s\n# CHECK: hello 3\nprint('hello', 1 + 2)\n"), tmp_path)


@pytest.mark.parametrize(
    "text",
    [
        "# RUN: python %s | filecheck %s\n# CHECK: hello\nprint('good bye')\n",
        "# RUN: python %s | filecheck %s\n# CHECK: hello\n# CHECK-NOT: sorry\nprint('hello', 'sorry')\n",
        "# RUN: python %s | filecheck %s\n# CHECK: hello\nprint('hello'); raise SystemExit(3)\n",
        "# RUN: python %s | filecheck %s\n# CHECK: hello\nprint('hello'); 1 / 0\n",
        "# RUN: not python %s | filecheck %s\n# CHECK: hello\nprint('hello')\n",
        "# RUN: python %s | filecheck %s\nprint('no check at all')\n",
        "# RUN: python %s\n# RUN: python %s | filecheck %s\n# CHECK: hello\nprint('good bye')\n",
        "# RUN: python %s | filecheck %s --check-prefix=OTHER\n# CHECK: hello\n# OTHER: more\nprint('hello')\n",
        "# no run line\nprint('hello')\n",
    ],
)
def test_fails_when_it_should(tmp_path: Path, text: str) -> None:
    with pytest.raises(AssertionError):
        run_file(write(tmp_path, text), tmp_path)


def test_errors_are_checked_with_the_users_frames_only(tmp_path: Path) -> None:
    text = """\
# RUN: not python %s 2>&1 | filecheck %s
# CHECK: before
# CHECK: File "{{.*}}case.py", line [[# @LINE + 5]], in <module>
# CHECK-NOT: run_lines
# CHECK: ZeroDivisionError
print("before")

1 / 0
"""
    run_file(write(tmp_path, text), tmp_path)


def test_errors_are_not_mixed_in_unless_asked_for(tmp_path: Path) -> None:
    text = """\
# RUN: python %s | filecheck %s
# CHECK: out
# CHECK-NOT: err
import sys
print("out")
print("e" "rr", file=sys.stderr)
"""
    run_file(write(tmp_path, text), tmp_path)
    with pytest.raises(AssertionError):
        run_file(write(tmp_path, text.replace("%s |", "%s 2>&1 |")), tmp_path)


def test_environment_and_scratch_files(tmp_path: Path) -> None:
    text = """\
# RUN: env MLIRAD_SAMPLE=12 python %s > %t && python %s | \\
# RUN:   filecheck %s --check-prefix UNSET
# RUN: filecheck %s < /dev/null || true
"""
    commands = run_lines(write(tmp_path, text))
    assert commands[0].endswith("--check-prefix UNSET")
    text = """\
# RUN: env MLIRAD_SAMPLE=12 python %s > %t && python -c "print(open('%t').read())" | filecheck %s --check-prefix=SET
# RUN: python %s | filecheck %s --check-prefix=UNSET
# SET: value 12
# UNSET: value none
import os
print("value", os.environ.get("MLIRAD_SAMPLE", "none"))
"""
    run_file(write(tmp_path, text), tmp_path)


def test_unknown_shell_syntax_is_refused() -> None:
    for text in ("a || b", "a & b", "a >> b"):
        with pytest.raises(ValueError, match="not understood"):
            parse(text)


def test_quotes_keep_a_pass_pipeline_together() -> None:
    ((opt, check),) = parse("mlirad-opt %s -p 'mlirad-differentiate,mlirad-bufferize{level=2}' 2>&1 | filecheck %s")
    assert opt.words == ("mlirad-opt", "%s", "-p", "mlirad-differentiate,mlirad-bufferize{level=2}")
    assert opt.merges
    assert not check.merges


def test_missing_program(tmp_path: Path) -> None:
    with pytest.raises(MissingTool):
        run_file(write(tmp_path, "# RUN: no-such-program-anywhere %s | filecheck %s\n# CHECK: a\n"), tmp_path)
