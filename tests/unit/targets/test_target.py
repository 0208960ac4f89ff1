"""Targets: found by entry point, checked all at once, stages as data."""

from __future__ import annotations

import ast
import inspect
import re
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects import arith, builtin, func, scf
from xdsl.parser import Parser

import mlirad
from mlirad import cli, opt
from mlirad.dialect.nd import Nd
from mlirad.errors import TargetError
from mlirad.location import SourceLocation
from mlirad.pipeline import write_stages
from mlirad.targets import finding, memory_report, output
from mlirad.targets import target as interface
from mlirad.targets.cpu import CpuTarget
from mlirad.targets.finding import find_target, stages_of, target_names
from mlirad.targets.reading import parsed
from mlirad.targets.target import Stage

OF_A_CPU = re.compile(r"arena|segment|slot|plan|recipe|address|cpu\.", re.IGNORECASE)


CODE = """
from dataclasses import dataclass
from typing import ClassVar
from mlirad.targets.cpu import CpuTarget

@dataclass(frozen=True)
class Elsewhere(CpuTarget):
    name: ClassVar[str] = "elsewhere"
"""


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """Distributions that provide targets, on sys.path like installed ones. code: of the module `elsewhere_target`."""

    def install(package: str = "elsewhere", code: str = CODE, **points: str) -> None:
        info = tmp_path / f"{package}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
        lines = [f"{name} = {value}" for name, value in points.items()]
        (info / "entry_points.txt").write_text("\n".join(["[mlirad.targets]", *lines, ""]))
        (tmp_path / "elsewhere_target.py").write_text(code)
        monkeypatch.syspath_prepend(tmp_path)
        monkeypatch.delitem(sys.modules, "elsewhere_target", raising=False)

    return install


def test_a_target_is_found_by_its_entry_point(installed) -> None:
    installed(elsewhere="elsewhere_target:Elsewhere")
    assert "elsewhere" in target_names()
    found = find_target("elsewhere", vector_bytes=32)
    assert isinstance(found, CpuTarget)
    assert (found.name, found.vector_bytes) == ("elsewhere", 32)


def test_an_unknown_target_names_those_that_exist(installed) -> None:
    installed(elsewhere="elsewhere_target:Elsewhere")
    with pytest.raises(TargetError, match=r"(?s)no target 'gpu'.*elsewhere"):
        find_target("gpu")


def test_an_unknown_option_names_those_that_exist(installed) -> None:
    installed(elsewhere="elsewhere_target:Elsewhere")
    with pytest.raises(TargetError, match=r"(?s)no option 'vectors'.*vector_bytes"):
        find_target("elsewhere", vectors=4)


@pytest.mark.parametrize(
    ("value", "code", "message"),
    [
        ("json:dumps", CODE, r"json:dumps, of the package elsewhere\) is not a mlirad"),
        ("elsewhere_target:Elsewhere", "import chip_of_tomorrow", r"(?s)imported: ModuleNotFoundError.*uninstall it"),
        ("elsewhere_target:Elsewhere", "1 / 0", r"(?s)cannot be imported: ZeroDivisionError.*package elsewhere needs"),
        ("elsewhere_target:Other", CODE, r"cannot be imported: AttributeError"),
        ("elsewhere_target:Elsewhere", CODE.replace('"elsewhere"', '"other"'), r"(?s)calls itself 'other'.*one name"),
        (
            "elsewhere_target:Elsewhere",
            CODE + "    api_version = (2, 0)",
            r"(?s)for version 2\.0 of the interface, and this is 1\.2.*upgrade mlirad",
        ),
        ("elsewhere_target:Elsewhere", CODE + "    api_version = (0, 3)", r"(?s)version 0\.3.*upgrade elsewhere"),
        ("elsewhere_target:Elsewhere", CODE + "    api_version = 1", r"(?s)does not say which version.*\(1, 2\)"),
        (
            "elsewhere_target:Half",
            "from mlirad.targets.target import Target\nclass Half(Target):\n"
            "    name, loads, api_version = 'elsewhere', 'x', (1, 0)\n",
            r"lacks check, compile, fingerprint, load, runtime_info, stages",
        ),
    ],
)
def test_what_is_no_target_is_refused(installed, value: str, code: str, message: str) -> None:
    """The message names the package and the remedy; nothing else breaks."""
    installed(code=code, elsewhere=value)
    with pytest.raises(TargetError, match=message):
        find_target("elsewhere")
    assert find_target("cpu").name == "cpu"


def test_two_packages_with_one_target(installed) -> None:
    installed(elsewhere="elsewhere_target:Elsewhere")
    installed("another", elsewhere="elsewhere_target:Another")
    with pytest.raises(TargetError, match=r"(?s)another \(elsewhere_target:Another\) and elsewhere .*uninstall all"):
        find_target("elsewhere")


def test_no_package_takes_over_a_target_of_mlirads(installed) -> None:
    installed(python="elsewhere_target:Elsewhere")
    with pytest.raises(TargetError, match=r"(?s)several packages.*elsewhere \(.* and mlirad"):
        mlirad.jit(abs, target="python")(1.0)


@pytest.mark.parametrize("names", ["one one", "one optimized", "two"])
def test_stages_have_names_of_their_own(names: str) -> None:
    class Odd(CpuTarget):
        loads = "one"

        def stages(self) -> tuple[Stage, ...]:
            return tuple(Stage(name, str) for name in names.split())

    with pytest.raises(TargetError, match=r"(?s)two stages '(one|optimized)'.*rename|no stage 'one', which it says"):
        stages_of(Odd())
    assert stages_of(CpuTarget())


def test_options_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """They apply to a kernel without options; options in the program take precedence."""
    monkeypatch.setenv("MLIRAD_TARGET_OPTIONS", "cpu.vector_bytes=16 python.x='a b'")
    assert mlirad.jit(abs).options.for_target == {"vector_bytes": 16}
    assert mlirad.jit(abs, vector_bytes=32).options.for_target == {"vector_bytes": 32}
    with pytest.raises(TargetError, match="target 'python' has no option 'x'"):
        mlirad.jit(abs, target="python")(1.0)
    monkeypatch.setenv("MLIRAD_TARGET_OPTIONS", "cup.vector_bytes=16")
    with pytest.raises(TargetError, match=r"(?s)MLIRAD_TARGET_OPTIONS: there is no target 'cup'.*cpu"):
        mlirad.jit(abs)(-1.5)
    for odd in ("cpu.vector_bytes", "vector_bytes=16", "cpu.=3"):
        monkeypatch.setenv("MLIRAD_TARGET_OPTIONS", odd)
        with pytest.raises(ValueError, match=f"MLIRAD_TARGET_OPTIONS has words such as .*, unlike '{odd}'"):
            mlirad.jit(abs)


PICTURES = """
    def pictures(self, call):
        return {"result.txt": str(call())}
"""


def test_a_target_shows_what_a_call_did(installed, tmp_path, capsys: pytest.CaptureFixture[str]) -> None:
    program = tmp_path / "program.py"
    program.write_text("import numpy as np\ndef f(x, y):\n    return np.sum(x) + y\n")
    assert cli.main(["cpu", "view", f"{program}:f", "np.ones(3)", "2.0"]) == 1
    assert "the target 'cpu' has nothing to show" in capsys.readouterr().out
    installed(code=CODE + PICTURES, elsewhere="elsewhere_target:Elsewhere")
    words = ["elsewhere", "view", f"{program}:f", "np.ones(3)", "2.0", "--out", str(tmp_path / "shown")]
    assert cli.main(words) == 0
    assert capsys.readouterr().out.strip() == str(tmp_path / "shown" / "result.txt")
    assert float((tmp_path / "shown" / "result.txt").read_text()) == 5
    assert cli.main(["elsewhere", "view", f"{program}:g", "1.0"]) == 2
    with pytest.raises(SystemExit):
        cli.main(["nowhere", "view", f"{program}:f"])


PASSES = """
    def passes(self):
        return (Mark,)

from xdsl.dialects.builtin import UnitAttr
from xdsl.passes import ModulePass

class Mark(ModulePass):
    name = "elsewhere-mark"
    def apply(self, ctx, op):
        op.attributes["marked"] = UnitAttr()
"""


def test_mlirad_opt_knows_the_passes_of_a_target(installed, tmp_path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "empty.mlir").write_text("builtin.module {}")
    words = [str(tmp_path / "empty.mlir"), "-p", "elsewhere-mark"]
    installed(code=CODE + PASSES, elsewhere="elsewhere_target:Elsewhere")
    opt.main([*words, "--dialects-of", "elsewhere"])
    assert "attributes {marked}" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        opt.main(words)
    installed("another", code=CODE + PASSES.replace("elsewhere-mark", "mlirad-cse"), other="elsewhere_target:Elsewhere")
    with pytest.raises(SystemExit):
        opt.main([*words, "--dialects-of", "elsewhere"])
    assert "'elsewhere' has a pass 'mlirad-cse', and there is one already" in capsys.readouterr().err


EXPORT = """
    def export(self, module, name):
        return {f"{name}.txt": str(module)}
"""


def test_a_target_exports_a_function(installed, tmp_path, capsys: pytest.CaptureFixture[str]) -> None:
    program = tmp_path / "program.py"
    program.write_text("import mlirad\nimport numpy as np\ndef f(x):\n    return np.sum(x)\ng = mlirad.grad(f)\n")
    words = ["export", f"{program}:g", "np.ones(3)", "--out", str(tmp_path / "out"), "--target"]
    assert cli.main([*words, "cpu"]) == 1
    assert "the target 'cpu' exports nothing" in capsys.readouterr().out
    assert cli.main([*words, "nowhere"]) == 1
    assert "there is no target 'nowhere'" in capsys.readouterr().out
    installed(code=CODE + EXPORT, elsewhere="elsewhere_target:Elsewhere")
    assert cli.main([*words, "elsewhere"]) == 0
    assert capsys.readouterr().out.strip() == str(tmp_path / "out" / "grad_f.txt")
    assert "func.func public @grad_f" in (tmp_path / "out" / "grad_f.txt").read_text()
    assert cli.main(["export", f"{program}:h", "1.0", "--target", "elsewhere"]) == 2


def test_the_command_lists_targets(installed, capsys: pytest.CaptureFixture[str]) -> None:
    """Also the unusable ones, with the reason."""
    assert cli.main(["targets"]) == 0
    assert "python (of mlirad): interpreter" in capsys.readouterr().out
    installed(code="1 / 0", elsewhere="elsewhere_target:Elsewhere")
    assert cli.main(["targets"]) == 1
    told = capsys.readouterr().out
    assert "elsewhere (of elsewhere): target 'elsewhere' (elsewhere_target:Elsewhere) cannot be imported" in told
    assert "cpu (of mlirad): native" in told
    assert "options: vector_bytes, parallel" in told


def test_what_runs_the_code_is_told(tmp_path) -> None:
    """If the device itself does not run the code, `repr` and the head of dumps say so."""
    kernel = mlirad.jit(np.sin, target="python")
    assert re.fullmatch(r"<mlirad kernel sin for python, interpreter 3\.\S+ \(\w+\)>", repr(kernel))
    assert "for python, interpreter" in repr(kernel.lower(1.0))
    assert repr(mlirad.jit(np.sin)) == "<mlirad kernel sin>"
    lowered = kernel.lower(1.0)
    write_stages(lowered.module.clone(), lowered.target, tmp_path)
    assert "// target python: interpreter" in (tmp_path / "02-optimized.mlir").read_text()
    assert parsed((tmp_path / "02-optimized.mlir").read_text()).is_structurally_equivalent(
        parsed(lowered.as_text("optimized"))
    )


def test_the_package_declares_its_own_target() -> None:
    """Like any other distribution; nothing else names it."""
    import tomllib
    from pathlib import Path

    root = Path(__file__).parents[3]
    declared = tomllib.loads((root / "pyproject.toml").read_text())["project"]["entry-points"]["mlirad.targets"]
    assert declared["cpu"] == "mlirad.targets.cpu:CpuTarget"


def _names(text: str) -> Iterator[str]:
    """The imports, definitions, arguments and reads of a module."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom):
            yield f"{node.module}"
        for field in ("name", "id", "attr", "arg"):
            if not isinstance(node, ast.keyword) and isinstance(name := getattr(node, field, None), str):
                yield name


@pytest.mark.parametrize("module", [interface, finding, memory_report, output], ids=lambda module: module.__name__)
def test_what_a_target_is_says_nothing_of_a_cpu(module: ModuleType) -> None:
    """Arenas, slots of 64 bits and call plans are the CPU's; another target need not know these terms."""
    assert [name for name in _names(inspect.getsource(module)) if OF_A_CPU.search(name)] == []


def test_the_test_sees_the_words_of_a_cpu() -> None:
    found = list(_names("from mlirad.contract.call_recipes import X\ndef f(arena_size): return a.CallPlan"))
    assert [name for name in found if OF_A_CPU.search(name)] == [
        "mlirad.contract.call_recipes",
        "arena_size",
        "CallPlan",
    ]


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
      func.func public @f(%x: f128, %y: f64) -> f64 {
        %a = arith.addf %x, %x : f128 loc("user.py":2:9)
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
    assert "f128" in message
    assert "user.py:4:9" in message
    assert "i128" in message


def test_problems_are_told_in_the_order_of_the_source(tmp_path) -> None:
    text = "".join(f"line {number} of the program\n" for number in range(1, 10))
    (tmp_path / "user.py").write_text(text)
    file = str(tmp_path / "user.py")

    def problem(line: int | None, message: str, hint: str | None = None) -> TargetError:
        return TargetError(message, None if line is None else SourceLocation(file, line, 5, line, 6), hint)

    class Critic(CpuTarget):
        def check(self, module: Any) -> list[TargetError]:
            return [
                problem(7, "no seven"),
                problem(None, "nothing at all"),
                problem(2, "no two", "write 3"),
                problem(7, "no seven"),
                problem(7, "nor that"),
                problem(4, "no four"),
            ]

    with pytest.raises(TargetError) as caught:
        Critic().require(None)
    error = caught.value
    assert (error.message, error.lineno, error.hint) == ("no two", 2, "write 3")
    assert [each.message for each in error.others] == ["no four", "no seven", "nor that", "nothing at all"]
    expected = []
    for line, message in ((2, "no two"), (4, "no four"), (7, "no seven"), (7, "nor that")):
        expected += [f"{file}:{line}:6: {message}", f"    line {line} of the program", "         ^"]
        expected += ["  help: write 3"] if line == 2 else []
    assert str(error).splitlines() == [*expected, "nothing at all"]


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


_ND = """
func.func public @f(%a: tensor<7x5xf64>, %x: tensor<5xf64>, %n: i64, %w: tensor<7xf64> {mlirad.written = 1 : i64})
    -> (f64, tensor<7xf64>, tensor<7xf64>) {
  %y = "nd.contract"(%a, %x) {spec = "ij,j->i"} : (tensor<7x5xf64>, tensor<5xf64>) -> tensor<7xf64>
  %t = "nd.tanh"(%y) : (tensor<7xf64>) -> tensor<7xf64>
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c7 = arith.constant 7 : i64
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%v = %w) -> (tensor<7xf64>) : i64 {
    %k = "nd.check_index"(%i, %c7) {axis = 0 : i64} : (i64, i64) -> i64 loc("user.py":3:5)
    %e = "nd.extract"(%t, %k) : (tensor<7xf64>, i64) -> f64
    %q = "nd.insert"(%e, %v, %k) : (f64, tensor<7xf64>, i64) -> tensor<7xf64>
    scf.yield %q : tensor<7xf64>
  }
  %s = "nd.sum"(%t) {axes = array<i64: 0>} : (tensor<7xf64>) -> f64
  func.return %s, %r, %t : f64, tensor<7xf64>, tensor<7xf64>
}"""


def test_from_optimized_to_loaded_code() -> None:
    """Every stage of the target, on the same object; results in order, and the written argument in place."""
    context = Context()
    for dialect in (arith.Arith, builtin.Builtin, func.Func, scf.Scf, Nd):
        context.load_dialect(dialect)
    value: object = Parser(context, _ND).parse_module()
    target = CpuTarget()
    for stage in target.stages():
        value = stage.run(value)
        if stage.name == target.loads:
            break
    assert isinstance(value, str)
    artifact = target.load(target.compile(value))
    rng = np.random.default_rng(5)
    a, x, w = rng.normal(size=(7, 5)), rng.normal(size=5), np.zeros(7)
    expected = np.tanh(a @ x)
    total, written, tanh = artifact.invoke("f", [a, x, 4, w])
    assert written is w
    np.testing.assert_allclose(total, expected.sum(), rtol=1e-14)
    np.testing.assert_allclose(tanh, expected, rtol=1e-14)
    np.testing.assert_array_equal(w, np.where(np.arange(7) < 4, tanh, 0))
    with pytest.raises(IndexError, match=r"^user\.py:3:5: index 7 is out of bounds for axis 0 with size 7"):
        artifact.invoke("f", [a, x, 8, w])
