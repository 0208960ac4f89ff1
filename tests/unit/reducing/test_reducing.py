"""The reducer of modules: what is left fails in the same way, is valid, parses, and is as small as it should be."""

from __future__ import annotations

import os
import random
import re
import shlex
import sys
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import pytest
from xdsl.context import Context
from xdsl.dialects import func, scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import ParseError

from mlirad import opt
from mlirad.dialect.ops.basic_functions import CosOp, SinOp
from mlirad.testing.reducing.edits import size_of
from mlirad.testing.reducing.search import Failure, Reduction, fails_as, failure
from mlirad.xdsl_support.parser import PlacedParser
from mlirad.xdsl_support.traversal import find, ops_inside
from mlirad.xdsl_support.verify import verify_all

FILES = sorted((Path(__file__).resolve().parents[2] / "filecheck").glob("**/*.mlir"))
LARGE = next(path for path in FILES if path.stem == "reduce").read_text()


def parsed(text: str) -> ModuleOp:
    return PlacedParser(opt.MliradOptMain("", []).ctx, text, "input.mlir").parse_module()


@dataclass(frozen=True)
class FailsOnSine(ModulePass):
    """A pass with a bug: it looks something up that is there for a cosine only."""

    name = "test-fails-on-sine"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        known = {cosine.name: cosine for cosine in find(op, CosOp)}
        for each in ops_inside(op):
            if isinstance(each, SinOp | CosOp):
                known[each.name]


class FailsInLoops(FailsOnSine):
    """A bug without a message, in loops only."""

    name = "test-fails-in-loops"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for loop in find(op, scf.ForOp):
            if find(loop, scf.IfOp):
                raise AssertionError  # pytest would give a plain assert a message


class FailsOnSecondResult(FailsOnSine):
    """Two bugs: one of functions with two results, which alone is found first, and one of calls."""

    name = "test-fails-on-second-result"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for each in find(op, func.FuncOp):
            if len(each.function_type.outputs) == 2:
                raise ValueError(f"@{each.sym_name.data} has 2 results of types <{each.function_type.outputs.data}>")
        if find(op, func.CallOp):
            raise ValueError("a call")


class MovesOps(FailsOnSine):
    """A bug that makes an invalid module: an op is moved in front of what it reads."""

    name = "test-moves-ops"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for each in ops_inside(op):
            if each.name == "tensor.concat" and isinstance(each.operands[0].owner, Operation):
                maker = each.operands[0].owner
                each.detach()
                assert maker.parent is not None
                maker.parent.insert_op_before(each, maker)


@pytest.mark.parametrize(
    ("kind", "wanted", "ops"),
    [
        (FailsOnSine, Failure("test-fails-on-sine", "KeyError", "'nd.sin'"), ["func.func", "nd.sin", "func.return"]),
        (
            FailsInLoops,
            Failure("test-fails-in-loops", "AssertionError", "in FailsInLoops.apply"),
            ["func.func", "scf.for", "scf.if", "scf.yield", "scf.yield", "scf.yield", "func.return"],
        ),
        (
            FailsOnSecondResult,
            Failure("test-fails-on-second-result", "ValueError", "@ has 0 results of types"),
            ["func.func", "func.return"],
        ),
        (
            MovesOps,
            Failure("test-moves-ops", "the result is invalid", "operand 0 of tensor.concat is not visible there"),
            ["func.func", "*", "tensor.concat", "func.return"],
        ),
    ],
)
def test_what_is_left_of_a_seeded_failure(kind: type[ModulePass], wanted: Failure, ops: list[str]) -> None:
    context = opt.MliradOptMain("", []).ctx
    found = failure([kind()], context, parsed(LARGE))
    assert found is not None
    assert (found.where, found.error) == (wanted.where, wanted.error) and found.head.startswith(wanted.head)
    reduced = Reduction(parsed(LARGE), fails_as([kind()], context, found)).run()
    verify_all(reduced)
    names = [op.name for op in ops_inside(reduced)]
    assert [name if wanted != "*" else "*" for name, wanted in zip(names, ops, strict=True)] == ops
    assert failure([kind()], context, parsed(str(reduced))) == found


@pytest.mark.parametrize("seed", range(300 if os.environ.get("MLIRAD_FULL") else 12))
def test_a_module_keeps_what_is_looked_for(seed: int) -> None:
    """One kind of op of one of the FileCheck tests' modules."""
    rng = random.Random(seed)
    while True:
        try:
            module = parsed(rng.choice(FILES).read_text())
            verify_all(module)
        except (ParseError, ValueError):
            continue
        names = sorted({op.name for op in ops_inside(module)} - {"func.func"})
        if names and len(ops_inside(module)) < 60:
            break
    name = rng.choice(names)
    text, size = str(module), size_of(module)

    def test(candidate: ModuleOp) -> bool:
        verify_all(candidate)
        return name in [op.name for op in ops_inside(candidate)]

    reduced = Reduction(module, test).run()
    assert str(module) == text, "the module that is reduced is not changed itself"
    assert size_of(reduced) <= size
    again = parsed(str(reduced))
    verify_all(again)
    assert test(again) and size_of(again) == size_of(reduced)
    assert size_of(reduced)[0] <= 12, str(reduced)


def run(words: list[str], folder: Path, capsys: pytest.CaptureFixture[str]) -> tuple[int | str | None, str, str]:
    path = folder / "input.mlir"
    path.write_text(LARGE)
    code: int | str | None = 0
    try:
        opt.main([str(path), *words])
    except SystemExit as done:
        code = done.code
    return code, *capsys.readouterr()


def test_the_command_reduces(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = SimpleNamespace(name=FailsOnSine.name, summary="", load=lambda: FailsOnSine)
    monkeypatch.setattr(opt, "pass_files", lambda: [found])
    code, out, err = run(["-p", "test-fails-on-sine", "--reduce"], tmp_path, capsys)
    assert code == 0
    assert re.search(r"reduced from \d+ to 3 ops, in \d+ tries", err) and "KeyError" in err
    assert re.findall(r"nd\.\w+", out) == ["nd.sin"]


def test_the_command_asks_another_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script = tmp_path / "is_interesting.py"
    script.write_text("import sys\nsys.exit('nd.cos' not in open(sys.argv[1]).read())\n")
    code, out, err = run(["--reduce-while", f"{shlex.quote(sys.executable)} -S {script}"], tmp_path, capsys)
    assert code == 0 and "to 3 ops" in err
    assert re.findall(r"nd\.\w+", out) == ["nd.cos"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--reduce"], "--reduce needs the passes that fail: give them with -p"),
        (["--reduce", "-p", "mlirad-dce"], "nothing to reduce: the passes do not fail on this module"),
        (["--reduce-while", "false"], "nothing to reduce: 'false' does not exit with 0 for this module"),
        (["--reduce-while", "true", "-p", "mlirad-dce"], "--reduce-while takes no passes"),
    ],
)
def test_what_cannot_be_reduced_is_told(
    words: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = run(words, tmp_path, capsys)
    assert (code, out) == (1, "") and message in err
