"""What the compiler has decided, and why: `f.lower(*args).report()`.

Reads: modules of stage `autodiff`, and of the last stage that is a module. Writes: nothing. Gives: facts, each with its
line of the user's source, and their text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum

from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import DictionaryAttr, IntegerAttr, MemRefType, ModuleOp, VectorType
from xdsl.ir import Operation

from mlirad.dialect.ad.notes import RECOVERED
from mlirad.dialect.core import types
from mlirad.location import SourceLocation


class Kind(Enum):
    """The kind of decision."""

    SPECIALISED = "specialised"
    UNROLLED = "unrolled"
    RAISED = "raised to whole arrays"
    KEPT = "kept as a loop"
    STORED = "stored"
    RECOMPUTED = "recomputed"
    UNDONE = "undone"
    RE_READ = "re-read"
    CARRIED = "carried"
    CHECKPOINTED = "checkpointed"
    COPIED = "copied"
    VECTORISED = "vectorised"
    SHARED = "shared among threads"
    ROUNDED = "rounded in any order"


@dataclass(frozen=True)
class Fact:
    """One decision: its subject and its reason. location: in the user's source; None for the function as a whole."""

    kind: Kind
    location: SourceLocation | None
    subject: str
    reason: str

    def __str__(self) -> str:
        return f"{self.kind.value}: {self.subject}, because {self.reason}"


@dataclass(frozen=True)
class Report:
    """All facts, ordered by line."""

    facts: tuple[Fact, ...]

    def of(self, kind: Kind) -> tuple[Fact, ...]:
        return tuple(fact for fact in self.facts if fact.kind is kind)

    def __str__(self) -> str:
        lines: list[str] = []
        place: tuple[str, int] | None = None
        for fact in self.facts:
            now = None if fact.location is None else (fact.location.filename, fact.location.lineno)
            if now != place and fact.location is not None:
                lines.append(
                    f"{fact.location.filename}:{fact.location.lineno}: {(fact.location.source_line() or '').strip()}"
                )
            place = now
            lines.append(f"  {fact}")
        return "\n".join(lines)


def sorted_by_line(facts: Iterable[Fact]) -> Report:
    def key(fact: Fact) -> tuple[str, int, str]:
        place = fact.location
        return ("", 0, "") if place is None else (place.filename, place.lineno, fact.kind.value)

    return Report(tuple(sorted(dict.fromkeys(facts), key=key)))


# How the reverse sweep of a loop recovers the values of its forward trips; `ad.recovered` counts them.
_RECOVERED: dict[str, tuple[Kind, str, str]] = {
    "stored": (
        Kind.STORED,
        "of each trip",
        "recomputing them would cost more, or their operands are overwritten",
    ),
    "recomputed": (Kind.RECOMPUTED, "of each trip, in the reverse sweep", "that costs less than storing them"),
    "undone": (Kind.UNDONE, "of each trip, which are writes", "the arrays then hold what they held in the trip"),
    "re_read": (Kind.RE_READ, "of each trip", "the reverse sweep undoes the writes of the arrays that they are in"),
    "read_final": (Kind.RE_READ, "of each trip", "nothing overwrites the arrays that they are in"),
    "carried": (Kind.CARRIED, "from each trip to the one before", "the reverse sweep has them available"),
}


def of_loops(verdicts: Mapping[SourceLocation, str | None]) -> Iterator[Fact]:
    """The loops that became ops on whole arrays, and why others stay loops."""
    for place, reason in verdicts.items():
        if reason is None:
            yield Fact(Kind.RAISED, place, "the trips of this loop", "they are independent, apart from sums")
        else:
            yield Fact(Kind.KEPT, place, "this loop", reason)


def of_derivatives(module: ModuleOp) -> Iterator[Fact]:
    """How the loops of reverse sweeps recover the values of the forward sweep."""
    for op in module.walk():
        counts = op.attributes.get(RECOVERED)
        if not isinstance(counts, DictionaryAttr):
            continue
        place = types.from_location(op.location)
        numbers = {name: each.value.data for name, each in counts.data.items() if isinstance(each, IntegerAttr)}
        if "checkpointed" in counts.data:
            what = "the reverse sweep stores a few states of the loop, and reruns its trips"
            yield Fact(Kind.CHECKPOINTED, place, what, "the program requests it")
            continue
        for name, (kind, where, why) in _RECOVERED.items():
            if count := numbers.get(name):
                size = f" ({numbers['stored_bytes']} bytes)" if name == "stored" and "stored_bytes" in numbers else ""
                yield Fact(kind, place, f"{_values(count)}{size} {where}", why)


def of_code(module: ModuleOp) -> Iterator[Fact]:
    """The copied, vectorised, parallel and reassociable parts of a module in which arrays are memory."""
    widest: dict[SourceLocation, int] = {}
    copies: Counter[tuple[SourceLocation | None, str]] = Counter()
    for op in module.walk():
        place = types.from_location(op.location)
        if isinstance(op, memref.CopyOp):
            copies[place, _shape(op)] += 1
        elif isinstance(op, scf.ParallelOp):
            yield from _of_shared(op)
        if _has_flags(op) and place is not None:
            line = SourceLocation(place.filename, place.lineno)
            yield Fact(Kind.ROUNDED, line, "the arithmetic of this line", "fastmath=True allows it")
        for result in op.results:
            if isinstance(result.type, VectorType) and place is not None:
                line = SourceLocation(place.filename, place.lineno)
                widest[line] = max(widest.get(line, 1), *result.type.get_shape())
    for place, lanes in widest.items():
        yield Fact(Kind.VECTORISED, place, f"{lanes} elements at a time", "they do not depend on one another")
    for (place, shape), count in copies.items():
        times = "" if count == 1 else f", in {count} places"
        what = f"an array of {shape}{times}"
        yield Fact(Kind.COPIED, place, what, "it is written or handed on here, and its old contents are still needed")


def _of_shared(loop: scf.ParallelOp) -> Iterator[Fact]:
    """What threads share, by the lines of all nests that the loop runs."""
    places = dict.fromkeys(types.from_location(op.location) for op in loop.walk())
    lines = list(dict.fromkeys(SourceLocation(each.filename, each.lineno) for each in places if each is not None))
    what, why = "the loop over this array", "it is long, and parallel=True asks for it"
    if len(lines) > 1:
        what = f"the loops of {len(lines)} lines, together, by blocks of rows"
        why = "they go over the same rows, and parallel=True asks for it"
    for place in lines or [None]:
        yield Fact(Kind.SHARED, place, what, why)


def _has_flags(op: Operation) -> bool:
    flags = op.properties.get("fastmath")
    return isinstance(flags, arith.FastMathFlagsAttr) and bool(flags.data)


def _shape(op: Operation) -> str:
    type = op.operands[0].type
    sizes = type.get_shape() if isinstance(type, MemRefType) else ()
    return " x ".join("?" if size < 0 else str(size) for size in sizes) or "one number"


def _values(count: int) -> str:
    return "a value" if count == 1 else f"{count} values"
