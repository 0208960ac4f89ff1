"""The examples in the docstrings of passes: each pass has one, and makes of the IR before what is shown after.

An example is two indented blocks of MLIR, after the lines "Before:" and "After `mlirad-name{options}`:". The second one
leaves out functions that stay as they are. Names of values and line breaks do not count.
"""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass, fields
from io import BytesIO

import pytest
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from mlirad import opt
from mlirad.targets.finding import find_target, target_names

OWNERS = {found.name: name for name in target_names() for found in find_target(name).passes()}
"""The target of each target's pass."""
PASSES = {
    found.name: found
    for found in (*opt.passes(), *(each for name in target_names() for each in find_target(name).passes()))
}
EXAMPLE = re.compile(
    r"^Before:\n\n(?P<before>(?: {4}.*\n)+)\nAfter `(?P<pipeline>mlirad-[^`]+)`:\n\n(?P<after>(?: {4}.*(?:\n|$))+)",
    re.MULTILINE,
)


@dataclass(frozen=True)
class Example:
    before: str
    pipeline: str
    after: str


def example(of: type[ModulePass]) -> Example | None:
    found = EXAMPLE.search(inspect.cleandoc(of.__dict__.get("__doc__") or ""))
    return None if found is None else Example(**found.groupdict())


def functions(text: str, *options: str) -> dict[str, str]:
    """The functions that `mlirad-opt` makes of a text with these options, as text in which values have no names."""
    driver = opt.MliradOptMain(args=options)
    module = driver.parse_chunk(BytesIO(text.encode()), "mlir")
    assert module is not None
    driver.apply_passes(module)
    module.verify()
    for op in module.walk():
        forget_names(op)
    return {op.sym_name.data: str(op) for op in module.ops if isinstance(op, FuncOp)}


def forget_names(op: Operation) -> None:
    for value in [
        *op.results,
        *(argument for region in op.regions for block in region.blocks for argument in block.args),
    ]:
        value.name_hint = None


def untruths(shown: Example, *options: str) -> list[str]:
    """The functions that the pass makes otherwise than the example says."""
    before = functions(shown.before, *options)
    after = functions(shown.after, *options)
    made = functions(shown.before, *options, "-p", shown.pipeline)
    return [name for name in {**after, **made} if made.get(name) != after.get(name, before.get(name))]


@pytest.mark.parametrize("name", sorted(PASSES))
def test_the_example_of_a_pass_is_true(name: str) -> None:
    shown = example(PASSES[name])
    known = ("--dialects-of", OWNERS[name]) if name in OWNERS else ()
    assert shown, f"the docstring of {PASSES[name].__name__} shows no IR before and after; see CONTRIBUTING.md"
    assert re.fullmatch(rf"{name}(\{{.*\}})?", shown.pipeline)
    assert not untruths(shown, *known)
    assert functions(shown.before, *known) != functions(shown.before, *known, "-p", shown.pipeline)


@pytest.mark.parametrize("name", sorted(PASSES))
def test_options_are_shown(name: str) -> None:
    shown = example(PASSES[name])
    assert shown
    for option in fields(PASSES[name]):
        assert f"{option.name}=" in shown.pipeline
        assert f"{option.name}: " in (PASSES[name].__doc__ or "")


def test_untrue_examples_are_seen() -> None:
    shown = example(PASSES["mlirad-differentiate"])
    assert shown
    assert untruths(Example(shown.before, shown.pipeline, shown.after.replace("nd.cos", "nd.sin"))) == ["f.vjp"]
    without_caller = shown.after[shown.after.index("    func.func private @f.vjp") :]
    assert untruths(Example(shown.before, shown.pipeline, without_caller)) == ["gradient"]
    renamed = shown.after.replace("%d_x", "%slope").replace("%y = ", "%y =\n")
    assert not untruths(Example(shown.before, shown.pipeline, renamed))


def test_help_has_a_line_for_each_pass(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        opt.main(["--help"])
    text = capsys.readouterr().out
    for found in opt.passes():
        assert re.search(rf"^  {found.name} +[A-Z].*\.$", text, re.MULTILINE), found.name
