"""The tables of README.md and docs/benchmarks.md are those of benchmarks/peers.jsonl, and show losses first."""

from __future__ import annotations

import dataclasses
import importlib
import re
from pathlib import Path
from types import ModuleType

import pytest

BENCHMARKS = Path(__file__).resolve().parents[3] / "benchmarks"


@pytest.fixture
def tables(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(BENCHMARKS)
    return importlib.import_module("peer_tables")


def test_pages_show_what_was_measured(tables: ModuleType) -> None:
    pages = tables.README.read_text(), tables.PAGE.read_text()
    assert pages == tables.with_tables(*pages, tables.read(tables.MEASURED)), "run `python benchmarks/peer_tables.py`"


def test_each_program_is_measured_once_at_each_size(tables: ModuleType) -> None:
    found = [(each.name, each.size) for each in tables.read(tables.MEASURED)]
    assert len(found) == len(set(found))
    assert {name for name, _ in found} <= {path.stem for path in BENCHMARKS.glob("*/*.py")}


def test_losses_come_first(tables: ModuleType) -> None:
    """Each kind of ratio can be the worst of its row; with fastmath, it is to mlirad with fastmath."""
    seconds = {"mlirad": 1.0, "mlirad, fastmath": 0.5, "JAX": 2.0, "by hand": 3.0, "by hand, fastmath": 2.0}
    row = tables.Figures("usual", 10, seconds, {"mlirad": 0.25, "JAX": 0.5}, {})
    slower = [
        dataclasses.replace(row, name=name, times={**seconds, peer: time})
        for name, peer, time in (
            ("fastmath", "by hand, fastmath", 0.25),
            ("system", "PyTorch", 0.7),
            ("hand", "by hand", 0.6),
        )
    ]
    lines = list(tables.full_table([row, *slower]))
    assert [line.split()[1] for line in lines[2:-1]] == ["fastmath", "hand", "system", "usual"]
    assert re.search(r"\| usual \| 10 \| 1,000,000 \| 2.00 \| - \| 3.00 \| 4.00 \| - \| 0.25 \| 0.50 \|", lines[-2])
    short = [line.split()[1] for line in list(tables.short_table([row, *slower]))[2:]]
    assert short == ["hand", "system", "usual", "fastmath"]
    assert "4 programs" in tables.summary([row, *slower]) and "(0.70 at worst" in tables.summary([row, *slower])
