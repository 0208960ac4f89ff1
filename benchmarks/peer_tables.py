"""Reads: measurements of `peers.py`, one JSON object a line. Writes: the tables in README.md and docs/benchmarks.md.
Leaves: nothing.

    python benchmarks/peer_tables.py    # writes both tables from peers.jsonl

Losses come first: rows are sorted by the smallest ratio to any peer.
"""

from __future__ import annotations

import dataclasses
import json
import statistics
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MEASURED = Path(__file__).resolve().parent / "peers.jsonl"
README, PAGE = ROOT / "README.md", ROOT / "docs" / "benchmarks.md"
MARK = "<!-- beside peers -->"
_WIDTH = 130  # of the pages' lines

OURS = "mlirad"
SYSTEMS = ("JAX", "PyTorch")
PEERS = (*SYSTEMS, "by hand", "by hand, fastmath", "C, libmvec")
FAST = {"by hand, fastmath": "mlirad, fastmath"}
"""What is compared with another contender than mlirad: both may round in any order, and keep nan, infinity and -0.0."""


@dataclass(frozen=True)
class Figures:
    """What was measured of one program at one size. times: processor time of a call, in seconds, by contender; compile:
    how much longer its first call takes, in seconds; memory: the growth of the resident set in a call, in bytes, if
    measured."""

    name: str
    size: int
    times: Mapping[str, float]
    compile: Mapping[str, float]
    memory: Mapping[str, int | None]

    def ratio(self, peer: str) -> float | None:
        """How many times as long the peer takes: below 1, mlirad is slower."""
        return self.times[peer] / self.times[FAST.get(peer, OURS)] if peer in self.times else None

    def worst(self, peers: Sequence[str] = PEERS) -> float:
        return min(_known(map(self.ratio, peers)), default=1.0)

    @property
    def beside_systems(self) -> float | None:
        """The ratio to the faster of JAX and PyTorch."""
        return min(_known(map(self.ratio, SYSTEMS)), default=None)

    def line(self) -> str:
        return json.dumps(dataclasses.asdict(self))


def read(log: Path) -> list[Figures]:
    return [Figures(**json.loads(line)) for line in log.read_text().splitlines()] if log.exists() else []


# --- tables -------------------------------------------------------------------------------------------------------


def full_table(found: Sequence[Figures]) -> Iterator[str]:
    """A table in Markdown of all that was measured."""
    columns = ["program", "size", "mlirad, us"]
    columns += ["both with fastmath" if peer in FAST else f"{peer} / mlirad" for peer in PEERS]
    columns += ["compile, s", "JAX, s"]
    has_memory = any(each.memory for each in found)
    if has_memory:
        columns += ["memory, MiB", "by hand, MiB"]
    yield from _head(columns)
    for each in sorted(found, key=Figures.worst):
        cells = [each.name, f"{each.size:,}", f"{each.times[OURS] * 1e6:,.0f}"]
        cells += [_ratio(each.ratio(peer)) for peer in PEERS]
        cells += [_ratio(each.compile.get(contender)) for contender in (OURS, "JAX")]
        if has_memory:
            cells += [_mebibytes(each.memory.get(contender)) for contender in (OURS, "by hand")]
        yield f"| {' | '.join(cells)} |"
    means = [_ratio(_mean(each.ratio(peer) for each in found)) for peer in PEERS]
    yield f"| geometric mean | {' | '.join(['', '', *means, *[''] * (len(columns) - 3 - len(PEERS))])} |"


def short_table(found: Sequence[Figures]) -> Iterator[str]:
    """A table with one row for each program, at its largest size."""
    shown = (*SYSTEMS, "by hand")
    yield from _head(["gradient of", "size", "mlirad, ms", *(f"{peer} / mlirad" for peer in shown)])
    for each in sorted(_largest(found), key=lambda figures: figures.worst(shown)):
        ratios = [_ratio(each.ratio(peer)) for peer in shown]
        yield f"| {each.name} | {each.size:,} | {each.times[OURS] * 1e3:.3g} | {' | '.join(ratios)} |"


def summary(found: Sequence[Figures]) -> str:
    """The means and the worst ratios, as a sentence; peers that ran no program are left out."""
    peers = {
        "the faster of JAX and PyTorch": [each.beside_systems for each in found],
        "the adjoint written by hand in Numba": [each.ratio("by hand") for each in found],
    }
    known = {peer: list(_known(iter(ratios))) for peer, ratios in peers.items()}
    said = [
        f"{peer} takes {_mean(each):.1f} times as long as mlirad ({min(each):.2f} at worst)"
        for peer, each in known.items()
        if each
    ]
    return f"{len(_largest(found))} programs, in geometric mean: {', '.join(said)}."


def _largest(found: Sequence[Figures]) -> list[Figures]:
    return list({each.name: each for each in sorted(found, key=lambda figures: figures.size)}.values())


def _head(columns: Sequence[str]) -> Iterator[str]:
    yield f"| {' | '.join(columns)} |"
    yield "|---" + "|---:" * (len(columns) - 1) + "|"


def _known(ratios: Iterator[float | None] | map[float | None]) -> Iterator[float]:
    return (ratio for ratio in ratios if ratio is not None)


def _mean(ratios: Sequence[float] | Iterator[float | None]) -> float | None:
    known = list(_known(iter(ratios)))
    return statistics.geometric_mean(known) if known else None


def _ratio(ratio: float | None) -> str:
    return "-" if ratio is None else f"{ratio:.2f}"


def _mebibytes(count: int | None) -> str:
    return "-" if count is None else f"{count / 2**20:.1f}"


# --- pages --------------------------------------------------------------------------------------------------------


def with_tables(readme: str, page: str, found: Sequence[Figures]) -> tuple[str, str]:
    """Both pages with the tables of these measurements."""
    folded = ["<details><summary>All programs, worst first</summary>", "", *short_table(found), "", "</details>"]
    return (
        between_marks(readme, "\n".join([*textwrap.wrap(summary(found), _WIDTH), "", *folded])),
        between_marks(page, "\n".join(full_table(found))),
    )


def between_marks(page: str, text: str) -> str:
    before, _, after = page.split(MARK)
    return f"{before}{MARK}\n{text}\n{MARK}{after}"


def main() -> int:
    for path, text in zip(
        (README, PAGE), with_tables(README.read_text(), PAGE.read_text(), read(MEASURED)), strict=True
    ):
        path.write_text(text)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
