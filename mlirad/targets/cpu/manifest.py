"""The manifest of an object file: its functions' signatures and its error table, as JSON in an exported constant.

Reads: `EntrySignature` and `ErrorEntry`. Writes: zero-terminated bytes, and reads them back. Leaves: nothing.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any

from mlirad.contract.call_recipes import PassedValue
from mlirad.location import SourceLocation

MANIFEST = "mlirad.manifest"
ENTRIES = "mlirad.entries"  # the addresses of the functions, in the manifest's order


@dataclass(frozen=True, slots=True)
class EntrySignature:
    """The signature of one compiled function: its arguments (including outputs), then the values returned in slots."""

    name: str
    symbol: str
    arguments: tuple[PassedValue, ...]
    returns: tuple[PassedValue, ...]
    arena_size: int
    is_long: bool = True
    """Whether a call may take so long that other threads should not wait for it."""

    @property
    def inputs(self) -> tuple[PassedValue, ...]:
        """The arguments that the caller passes: all except the outputs."""
        return tuple(passed for passed in self.arguments if not passed.is_output)

    @property
    def result_count(self) -> int:
        return len(self.returns) + sum(passed.result is not None for passed in self.arguments)


@dataclass(frozen=True, slots=True)
class ErrorEntry:
    """One possible error of a compiled function: Python's exception, its message (with {0} and {1}), and the
    location."""

    exception: str
    message: str
    location: SourceLocation | None


@dataclass(frozen=True, slots=True)
class Manifest:
    entries: dict[str, EntrySignature]
    errors: tuple[ErrorEntry, ...]

    def to_bytes(self) -> bytes:
        data = {
            "entries": [asdict(entry) for entry in self.entries.values()],
            "errors": [asdict(error) for error in self.errors],
        }
        return json.dumps(data, separators=(",", ":")).encode() + b"\0"

    @staticmethod
    def from_bytes(data: bytes) -> Manifest:
        read = json.loads(data.rstrip(b"\0"))
        entries = [_entry(entry) for entry in read["entries"]]
        return Manifest({entry.name: entry for entry in entries}, tuple(_error(error) for error in read["errors"]))


def _passed_value(data: dict[str, Any]) -> PassedValue:
    shape = data.pop("shape")
    return PassedValue(shape=None if shape is None else tuple(shape), **data)


def _entry(data: dict[str, Any]) -> EntrySignature:
    arguments = tuple(_passed_value(passed) for passed in data.pop("arguments"))
    returns = tuple(_passed_value(passed) for passed in data.pop("returns"))
    return EntrySignature(arguments=arguments, returns=returns, **data)


def _error(data: dict[str, Any]) -> ErrorEntry:
    location = data.pop("location")
    return ErrorEntry(location=None if location is None else SourceLocation(**location), **data)
