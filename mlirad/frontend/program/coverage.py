"""Which public functions of NumPy, scipy.special, math and Python are compiled: the table of coverage.json.

Reads: coverage.json, which `python -m mlirad.testing.calls.measure` writes by running a sample call of each function.
Writes: nothing. Leaves: rows, and hints for functions that are refused.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

PLACE = Path(__file__).with_name("coverage.json")
PAGE = "docs/coverage.md"
_THEIR_OWN = {
    "np.random": "pass a generator, np.random.default_rng(seed), and call its methods (docs/random.md)",
}


@cache
def table() -> Mapping[str, Any]:
    return json.loads(PLACE.read_text())


@cache
def rows() -> Mapping[str, Mapping[str, Any]]:
    """The row of each function, by the name that users write; methods as `x.sum`, scipy.special's as `special.erf`."""
    return {name: row for group in table()["groups"].values() for name, row in group.items()}


def is_compiled(row: Mapping[str, Any]) -> bool:
    """Whether the function's value is compiled for at least one class of dtypes."""
    return any("v" in row.get(kind, "") for kind in ("f64", "f32", "int", "bool"))


def hint(name: str) -> str | None:
    """What to write instead of a refused function that has no hint of its own."""
    return hint_of_kind(name) or (f"{PAGE} lists the functions that are compiled" if name in rows() else None)


def hint_of_kind(name: str) -> str | None:
    """What to write instead of a function of a kind that is never compiled, such as file input."""
    prefix = name.rpartition(".")[0]
    if prefix in _THEIR_OWN:
        return _THEIR_OWN[prefix]
    kind = table()["apart"].get(name)
    return None if kind is None else f"call it outside: it is no function of numbers ({kind})"
