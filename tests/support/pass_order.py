"""Runs passes of mlirad on the FileCheck tests' modules, one after another in one process, and shows what they print.

Usage: pass_order.py forwards|backwards [every]. Writes JSON: for each run its output, and (forwards) what the runs have
changed in the classes of xDSL. Two processes with opposite orders have run each pair of passes in both orders.

Reads: tests/filecheck. Writes: standard output. Leaves: nothing.
"""

from __future__ import annotations

import contextlib
import json
import re
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from xdsl.dialects import get_all_dialects
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Dialect
from xdsl.irdl import ParamAttrDef
from xdsl.passes import PassPipeline

from mlirad import opt
from mlirad.xdsl_support.parser import PlacedParser

FILES = sorted((Path(__file__).resolve().parents[1] / "filecheck").glob("**/*.mlir"))
RUN = re.compile(r"RUN: (?:not )?mlirad-opt %s -p (?:'([^']+)'|([^'|\s]+))")
BETWEEN = re.compile(r",(?![^{]*\})")
ON_ANYTHING = ("mlirad-dce", "mlirad-cse", "mlirad-hoist", "mlirad-canonicalize")
"""Passes that ask an op of any dialect what it does: they get files that are written for others."""

UNUSED = """
func.func @unused(%x: tensor<3xf64>) -> tensor<3xf64> {
  %y = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],
                       iterator_types = ["parallel"]}
       ins(%x : tensor<3xf64>) outs(%x : tensor<3xf64>) {
  ^bb0(%a: f64, %b: f64):
    linalg.yield %a : f64
  } -> tensor<3xf64>
  return %x : tensor<3xf64>
}
"""


def runs(every: bool) -> list[tuple[str, str, str]]:
    """Name, text and pass of each run, all runs of a pass together: else it would run before another in both orders."""
    all_passes = tuple(each.name for each in opt.passes())
    found: list[tuple[str, str, str]] = []
    for number, path in enumerate(FILES):
        text = path.read_text()
        own = [one for passes in RUN.findall(text) for one in BETWEEN.split("".join(passes))]
        more = all_passes if every else ON_ANYTHING if number % 3 == 0 else ()
        found += [(f"{path.stem} {one}", text, one) for one in dict.fromkeys((*own, *more))]
    found += [(f"unused {one}", UNUSED, one) for one in all_passes]
    return sorted(found, key=lambda run: run[2])


def output(driver: opt.MliradOptMain, parsed: Callable[[str], ModuleOp], text: str, passes: str) -> str:
    """The module that the passes make of a text, or the error that they end in."""
    try:
        module = parsed(text).clone()
        PassPipeline.parse_spec(driver.available_passes, passes).apply(driver.ctx, module)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return str(module)


def classes() -> Iterator[type[Any]]:
    """The classes of the ops and attributes of every dialect that xDSL has, and those that they extend."""
    dialects: list[Dialect] = [make() for make in get_all_dialects().values()]
    kinds = [kind for dialect in dialects for kind in (*dialect.operations, *dialect.attributes)]
    yield from dict.fromkeys(base for kind in kinds for base in kind.__mro__ if base.__module__.startswith("xdsl."))


def content(kind: type[Any]) -> dict[str, Any]:
    """The parts of a class: its own attributes, its traits, and the constraints of its definition."""
    found: dict[str, Any] = dict(vars(kind))
    if hasattr(kind, "traits"):
        found["all traits"] = frozenset(map(repr, kind.traits.traits))
    if hasattr(kind, "get_irdl_definition"):
        with contextlib.suppress(AttributeError, TypeError, ValueError):  # of a class that others extend
            definition = kind.get_irdl_definition()
            if isinstance(definition, ParamAttrDef):
                found["all parameters"] = repr(definition.parameters)
            else:
                found["all operands and results"] = repr((definition.operands, definition.results))
    return found


def main() -> None:
    order, *more = sys.argv[1:]
    asked = runs("every" in more)
    if order == "backwards":
        asked.reverse()
    before = {kind: content(kind) for kind in classes()} if order == "forwards" else {}
    driver = opt.MliradOptMain("", [])

    @cache
    def parsed(text: str) -> ModuleOp:
        return PlacedParser(driver.ctx, text, "input.mlir").parse_module()

    printed = {name: output(driver, parsed, text, passes) for name, text, passes in asked}
    after = {kind: content(kind) for kind in before}
    changed = [
        f"{kind.__module__}.{kind.__name__}.{name}"
        for kind, found in before.items()
        for name in found.keys() | after[kind].keys()
        if _differs(found.get(name), after[kind].get(name))
    ]
    json.dump({"printed": printed, "changed": sorted(changed)}, sys.stdout)


def _differs(a: object, b: object) -> bool:
    return a is not b and not (isinstance(a, str | frozenset) and a == b)


if __name__ == "__main__":
    main()
