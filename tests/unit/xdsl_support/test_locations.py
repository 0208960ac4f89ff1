"""Text printed with locations parses back to the same text."""

from __future__ import annotations

from pathlib import Path

import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import ParseError, VerifyException

from mlirad import opt
from mlirad.pipeline import text_of
from mlirad.xdsl_support.parser import PlacedParser

FILES = sorted((Path(__file__).resolve().parents[2] / "filecheck").glob("**/*.mlir"))


def test_text_with_locations_is_read() -> None:
    context = opt.MliradOptMain("", []).ctx

    def parsed(text: str) -> ModuleOp:
        return PlacedParser(context, text, "input.mlir").parse_module()

    read: list[str] = []
    for path in FILES:
        try:
            module = parsed(path.read_text())
            module.verify()
        except (ParseError, VerifyException):  # of the tests of errors
            continue
        first = module.body.block.first_op
        if first is None:
            continue
        module.location = first.location  # the one around a text without a module has none
        text = text_of(module, locations=True)
        assert text_of(parsed(text), locations=True) == text, path
        read.append(text)
    assert len(read) > 60
    for name in ("scf.while", "scf.for", "scf.if", "func.call", "linalg.generic", "arith.select", "ad.vjp"):
        assert any(f"{name} " in text for text in read), name


@pytest.mark.parametrize("locations", [False, True])
def test_a_while_has_its_location_once(locations: bool) -> None:
    text = """
func.func @f(%x: i64, %c: i1) -> i64 {
  %r = scf.while (%a = %x) : (i64) -> i64 {
    scf.condition(%c) %a : i64
  } do {
  ^bb0(%b: i64):
    scf.yield %b : i64
  } attributes {note = 1 : i64} loc("user.py":7:9)
  return %r : i64
}
"""
    module = PlacedParser(opt.MliradOptMain("", []).ctx, text, "input.mlir").parse_module()
    assert text_of(module, locations).count("user.py") == locations
    assert "attributes" in text_of(module, locations)
