"""The textual form of mlirad's dialects: for each op the names of its parts, and its syntax.

Usage: dialect_form.py. Records the form for the version of today in tests/data: once for each version, and again when
ops are added. Refuses to record a change that needs another version.

Reads: the dialects `nd` and `ad`. Writes: tests/data/dialects_<version>.json. Leaves: nothing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from xdsl.irdl import OptionalDef

from mlirad.dialect.ad.ad import Ad
from mlirad.dialect.nd import Nd
from mlirad.dialect_version import DIALECT_VERSION

RECORDED = Path(__file__).resolve().parents[1] / "data" / f"dialects_{DIALECT_VERSION}.json"
Form = Mapping[str, Any]
_PROPERTIES = ("properties", "optional")


def form() -> dict[str, Form]:
    """By the name of an op."""
    found: dict[str, Form] = {}
    for dialect in (Nd, Ad):
        for op in dialect.operations:
            definition: Any = getattr(op, "get_irdl_definition")()
            found[op.name] = {
                "operands": [name for name, _ in definition.operands],
                "results": [name for name, _ in definition.results],
                "regions": [name for name, _ in definition.regions],
                "properties": sorted(definition.properties),
                "optional": sorted(
                    name for name, each in definition.properties.items() if isinstance(each, OptionalDef)
                ),
                "attributes": sorted(definition.attributes),
                "format": definition.assembly_format,
            }
        for attribute in dialect.attributes:
            found[f"!{attribute.name}"] = {}
    return found


def changes(recorded: Mapping[str, Form], now: Mapping[str, Form]) -> list[str]:
    """The recorded forms that would now be read differently. New ops, and new properties that may be left out, do not
    count."""
    gone = [f"{name} is gone" for name in recorded.keys() - now.keys()]
    changed = [name for name in recorded.keys() & now if recorded[name] != _without_new(now[name], recorded[name])]
    return sorted(gone + [f"{name} has another form" for name in changed])


def _without_new(form: Form, recorded: Form) -> Form:
    """A form without the properties that are new and may be left out."""
    known = recorded.get("properties", ())
    new = {name for name in form.get("optional", ()) if name not in known}
    return {
        part: [each for each in names if each not in new] if part in _PROPERTIES else names
        for part, names in form.items()
    }


if __name__ == "__main__":
    if RECORDED.exists() and (found := changes(json.loads(RECORDED.read_text()), form())):
        raise SystemExit("raise DIALECT_VERSION first: " + "; ".join(found))
    lines = [f"{json.dumps(name)}: {json.dumps(each, sort_keys=True)}" for name, each in sorted(form().items())]
    RECORDED.write_text("{\n" + ",\n".join(lines) + "\n}\n")
