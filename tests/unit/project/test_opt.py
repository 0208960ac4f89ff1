"""`mlirad-opt` on text that people write: each mistake ends in one message with its place, and in good time."""

from __future__ import annotations

import importlib
import os
import pkgutil
import random
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from xdsl.passes import ModulePass

from mlirad import autodiff, lowering, opt

FILES = sorted((Path(__file__).resolve().parents[2] / "filecheck").glob("**/*.mlir"))
TOKEN = re.compile(r'"[^"\n]*"|[%@#!^]?[\w.$-]+|->|\s+|.', re.DOTALL)
RUN = re.compile(r"RUN: mlirad-opt %s -p '?([^'|\s]+)'? \|")
PLACE = re.compile(r"[\w-]+\.(mlir|py):\d+:\d+")  # a file may give its ops places of another


def run(
    words: Sequence[str], text: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> tuple[int | str | None, str, str]:
    """The exit code, and what is written."""
    path = folder / "input.mlir"
    path.write_text(text)
    code: int | str | None = 0
    try:
        opt.main([str(path), *words])
    except SystemExit as done:
        code = done.code
    out, err = capsys.readouterr()
    return code, out, err


def mutated(text: str, rng: random.Random) -> str:
    """The text with one to three tokens or lines missing, repeated, moved, replaced or damaged."""
    tokens = TOKEN.findall(text)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        solid = [index for index, token in enumerate(tokens) if not token.isspace()]
        if not solid:
            break
        at, other = rng.choice(solid), rng.choice(solid)
        match rng.randrange(8):
            case 0:
                del tokens[at]
            case 1:
                tokens.insert(at, tokens[at])
            case 2:
                tokens[at], tokens[other] = tokens[other], tokens[at]
            case 3:
                del tokens[at:]
            case 4:
                tokens[at] = tokens[other]
            case 5:
                tokens[at] = tokens[at][:-1] if rng.random() < 0.5 else tokens[at] + rng.choice('"({<%x-0')
            case line:
                lines = "".join(tokens).split("\n")
                taken = lines.pop(rng.randrange(len(lines)))
                if line == 6:
                    lines.insert(rng.randrange(len(lines) + 1), taken)
                tokens = TOKEN.findall("\n".join(lines))
    return "".join(tokens)


@pytest.mark.parametrize("first", range(0, 2000 if os.environ.get("MLIRAD_FULL") else 200, 100))
def test_mutated_files_give_a_placed_error(first: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    refused = 0
    for seed in range(first, first + 100):
        rng = random.Random(seed)
        text = rng.choice(FILES).read_text()
        passes = RUN.search(text)
        words = ["-p", passes[1]] if passes else []
        code, _, err = run(words, mutated(text, rng), tmp_path, capsys)
        assert code in (0, 1)
        if code:
            refused += 1
            assert PLACE.search(err) and "Traceback" not in err, f"seed {seed}: {err}"
    assert refused > 20


@pytest.mark.parametrize("length", [28, 100_000])
def test_a_string_without_its_end(length: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run([], '"' + "a" * length, tmp_path, capsys)
    assert code == 1 and "before closing string literal" in err and "input.mlir:1:1" in err


WHILE = """
func.func @f(%x: f64, %c: i1) -> f64 {{
  %r = scf.while (%y = %x) : (f64) -> f64 {{
    scf.condition(%c) {passed} : f64
  }} do {{
  ^bb0(%z: f64):
    {end}
  }}
  func.return %r : f64
}}
"""


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        (WHILE.format(passed="%y", end="scf.yield"), "3:3", "scf.while yields (), but (f64) is expected"),
        (
            WHILE.format(passed="%y", end="%u = arith.addf %z, %z : f64"),
            "3:3",
            "the regions end in scf.condition and in scf.yield",
        ),
        (
            "func.func @f(%x: f64) -> f64 {\n  %y = nd.sin %z : f64\n  %z = nd.sin %x : f64\n  func.return %y : f64\n}",
            "2:3",
            "operand 0 of nd.sin is not visible there",
        ),
        (
            "func.func @f(%c: i1, %x: f64) -> f64 {\n"
            "  %y = scf.if %c -> (f64) {\n    scf.yield %x : f64\n  } else {\n    scf.yield\n  }\n"
            "  func.return %y : f64\n}",
            "2:3",
            "scf.if returns (f64), but a region yields ()",
        ),
        ("func.func @f() {\n  nd.no_such_op\n  func.return\n}", "2:3", "nd.no_such_op"),
        ("func.func @f() {\n  )\n}", "2:3", "expected an operation, a block `^name:`, or `}`"),
        ("", "1:1", "expected an operation"),
    ],
    ids=[
        *("while yields nothing", "while does not end", "used before defined", "if yields nothing", "unknown op"),
        *("no op", "empty"),
    ],
)
def test_what_does_not_verify(
    text: str, place: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = run(["-p", "mlirad-canonicalize"], text, tmp_path, capsys)
    assert code == 1 and not out
    assert f"input.mlir:{place}" in err and message in err


def test_well_formed_while(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run([], WHILE.format(passed="%y", end="scf.yield %z : f64"), tmp_path, capsys)
    assert code == 0 and "scf.while" in out and not err


def test_bytes_that_are_no_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "bytes.mlir").write_bytes(b"\xff\xfe")
    with pytest.raises(SystemExit) as done:
        opt.main([str(tmp_path / "bytes.mlir")])
    assert done.value.code == 1 and "bytes.mlir is not text" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("passes", "message"),
    [
        ("nothing", "there is no pass 'nothing'; mlirad-opt --help lists them"),
        ("mlirad-canonicalise", "there is no pass 'mlirad-canonicalise'; did you mean mlirad-canonicalize?"),
        ("mlirad-dce{x=1}", "mlirad-dce{x=1}: this pass has no options"),
        ("mlirad-raise-loops{is_derived=4}", "the options of this pass are is_derived: bool"),
    ],
)
def test_passes_that_there_are_not(
    passes: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, _, err = run(["-p", passes], "builtin.module {}", tmp_path, capsys)
    assert code == 1 and message in err and "bug" not in err


def test_help_lists_our_passes_first_each_with_a_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(["--help"], "", tmp_path, capsys)
    own, others = out.split("passes of xDSL")
    assert code == 0 and "mlirad{target=cpu stage=llvmir}" in re.sub(r"\s+", " ", out)
    for each in opt.passes():
        assert re.search(rf"^  {each.name} +\w.*\w", own, re.MULTILINE)
        assert each.name not in others


def test_passes_are_found_by_their_text_and_imported_when_they_are_asked_for() -> None:
    for room in (autodiff, lowering):
        for module in pkgutil.walk_packages(room.__path__, f"{room.__name__}."):
            importlib.import_module(module.name)
    rooms = ("mlirad.autodiff.", "mlirad.lowering.")
    known = {each for each in classes_below(ModulePass) if each.__module__.startswith(rooms)}
    assert {each for each in known if getattr(each, "name", "").startswith(opt.PREFIX)} == set(opt.passes())
    code = (
        "import sys; from mlirad import opt; opt.main(['-p', 'mlirad-cse'])\n"
        "assert 'mlirad.lowering.clean_up.hoist' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], input="builtin.module {}", text=True, check=True)


def classes_below(base: type) -> set[type]:
    return {each for kind in base.__subclasses__() for each in (kind, *classes_below(kind))}


def test_the_output_that_help_shows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = "func.func public @f(%x: f64) -> f64 {\n  %y = nd.sin %x : f64\n  func.return %y : f64\n}"
    code, out, _ = run(["-t", "mlirad{target=cpu stage=llvmir}"], text, tmp_path, capsys)
    assert code == 0 and "define" in out
