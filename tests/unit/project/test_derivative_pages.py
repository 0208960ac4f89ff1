"""docs/derivatives.md says what the example that it names computes."""

from __future__ import annotations

import runpy
from pathlib import Path
from xml.etree import ElementTree

import pytest

import mlirad

ROOT = Path(__file__).resolve().parents[3]


def test_the_four_ways(monkeypatch: pytest.MonkeyPatch) -> None:
    page = (ROOT / "docs" / "derivatives.md").read_text()
    monkeypatch.syspath_prepend(str(ROOT / "examples"))
    script = runpy.run_path(str(ROOT / "examples" / "derivatives_four_ways.py"))
    operations, simplified, derivative = script["operations"], script["simplified"], script["derivative"]
    for count in (1, 3, 5):
        formula = script["symbolic_logistic"](count)
        swollen = operations(simplified(derivative(formula)))
        row = count, operations(formula), swollen, script["steps_of_both_sweeps"](count)
        assert f"| {' | '.join(map(str, row))} |\n" in page
    own = script["symbolic_L"]()
    assert (
        f"L with {operations(own)} operations becomes a derivative with {operations(simplified(derivative(own)))},"
        in (" ".join(page.split()))
    )
    assert str(mlirad.trace(script["L"], 0.5, direction=(1.0,))) in page
    assert ElementTree.parse(ROOT / "docs" / "gallery" / "derivatives_four_ways.svg").getroot().tag.endswith("svg")
