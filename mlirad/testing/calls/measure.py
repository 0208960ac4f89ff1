"""Measures how the compiler handles each public function, and writes the table.

`python -m mlirad.testing.calls.measure` runs the sample call of each function in each class of dtypes, natively, and
writes coverage.json, which the package reads, docs/coverage.md, and the counts in README.md. Reads: samples.py. Writes:
these three files. Leaves: exit code 1 if a call differed from NumPy.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from mlirad.frontend.program import coverage
from mlirad.testing.calls import packed
from mlirad.testing.calls.coverage_page import counted, page
from mlirad.testing.calls.inputs import CLASSES, of_class
from mlirad.testing.calls.judge_calls import ORDERS, REFUSED, SAME, WRONG, judged_derivatives, judged_values
from mlirad.testing.calls.keywords import optional, with_keyword
from mlirad.testing.calls.packed import Call
from mlirad.testing.calls.public_names import OF_THEIR_OWN, apart, groups
from mlirad.testing.calls.samples import sample_call

AT_ONCE = 20
LETTERS = {"value": "v", "reverse": "r", "forward": "f", "second": "s"}


def measured(names: Sequence[str], log: Path | None = None) -> dict[str, dict[str, Any]]:
    """The rows of the table: `call`; for each class of dtypes letters of what is right (v: value; r, f, s: derivatives
    in reverse mode, in forward mode, of second order), "-" where NumPy itself refuses it; `why` it is refused, by class
    and letter; what to write `instead`; `wrong` results; `keywords` that are refused. Rows that are in
    the log already are taken from there."""
    rows: dict[str, dict[str, Any]] = {name: {"call": sample_call(name)} for name in names}
    if log is not None and log.exists():
        rows |= {name: row for name, row in map(json.loads, log.read_text().splitlines()) if name in rows}
    left = [name for name, row in rows.items() if row["call"] is not None and CLASSES[0] not in row]
    for start in range(0, len(left), AT_ONCE):
        part = left[start : start + AT_ONCE]
        for kind in CLASSES:
            tried = [name for name in part if not _is_refused_altogether(rows[name])]
            for name, found in zip(tried, _of_class(tried, kind), strict=True):
                _enter(rows[name], kind, found)
        for name, refused in _refused_keywords([name for name in part if "v" in rows[name]["f64"]]).items():
            rows[name]["keywords"] = refused
        if log is not None:
            _write(log, [(name, rows[name]) for name in part])
    return rows


def _write(log: Path, rows: Iterable[tuple[str, Mapping[str, Any]]]) -> None:
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("a") as file:
        file.writelines(json.dumps(each) + "\n" for each in rows)


def _is_refused_altogether(row: Mapping[str, Any]) -> bool:
    """Whether a function is refused for all arguments."""
    return row.get("why", {}).get(f"{CLASSES[0]} v", "").endswith("is not supported")


def _of_class(names: Sequence[str], kind: str) -> list[dict[str, tuple[str, str]]]:
    """Verdicts by letter on the sample of each name; no verdict if NumPy raises."""
    texts = [sample_call(name) or "" for name in names]
    calls = [Call(text, of_class(text, kind)) for text in texts]
    wanted = [packed.plain_outcome(call) for call in calls]
    found: list[dict[str, tuple[str, str]]] = [{} for _ in names]
    right = [index for index, value in enumerate(wanted) if not isinstance(value, Exception)]
    verdicts = judged_values([calls[index] for index in right], [wanted[index] for index in right])
    losses: dict[int, packed.Loss] = {}
    for index, verdict in zip(right, verdicts, strict=True):
        found[index]["v"] = verdict
        loss = packed.loss_of(calls[index], "bare", wanted[index]) if verdict[0] == SAME else None
        if loss is not None and kind in ("f64", "f32"):
            losses[index] = loss
    orders = ORDERS if kind == "f64" else ORDERS[:2]
    for index, verdicts_of in zip(losses, judged_derivatives(list(losses.values()), orders), strict=True):
        found[index] |= {LETTERS[order]: verdict for order, verdict in verdicts_of.items()}
    return found


def _enter(row: dict[str, Any], kind: str, found: Mapping[str, tuple[str, str]]) -> None:
    row[kind] = "".join(letter for letter, (verdict, _) in found.items() if verdict not in (REFUSED, WRONG))
    if not found:
        row[kind] = "-"
    for what, key in ((REFUSED, "why"), (WRONG, "wrong")):
        for letter, (verdict, text) in found.items():
            if verdict == what:
                why, _, instead = text.partition("\n")
                row.setdefault(key, {})[f"{kind} {letter}"] = why
                if instead and coverage.PAGE not in instead:
                    row["instead"] = instead


def _refused_keywords(names: Sequence[str]) -> dict[str, list[str]]:
    """For each function, the optional parameters that NumPy accepts and the compiler does not."""
    tried: list[tuple[str, str, Call, Any]] = []
    for name in names:
        for keyword in optional(name):
            for text in with_keyword(name, keyword):
                call = Call(text, of_class(text, "f64"))
                want = packed.plain_outcome(call)
                if not isinstance(want, Exception):
                    tried.append((name, keyword, call, want))
                    break
    found: dict[str, list[str]] = {}
    for start in range(0, len(tried), AT_ONCE):
        part = tried[start : start + AT_ONCE]
        verdicts = judged_values([each[2] for each in part], [each[3] for each in part])
        for (name, keyword, *_), (verdict, _why) in zip(part, verdicts, strict=True):
            if verdict != SAME:
                found.setdefault(name, []).append(keyword if verdict == REFUSED else f"{keyword} (wrong)")
    return found


def table(log: Path | None) -> dict[str, Any]:
    """The contents of coverage.json: the rows by group, and the functions that are not measured."""
    return {
        "apart": dict(apart()),
        "their own": {prefix: sorted(module.__all__) for prefix, module in OF_THEIR_OWN.items()},
        "groups": {group: measured(names, log) for group, names in groups().items()},
    }


def as_json(found: Mapping[str, Any]) -> str:
    """JSON with a line for each function, so that changes of the table are readable."""

    def lines(value: Any, depth: int) -> str:
        if depth == 0 or not isinstance(value, Mapping):
            return json.dumps(value, ensure_ascii=False)
        return _object((key, lines(each, depth - 1)) for key, each in value.items())

    return _object((key, lines(found[key], 1 + (key == "groups"))) for key in found) + "\n"


def _object(items: Iterable[tuple[str, str]]) -> str:
    return "{\n" + ",\n".join(f"{json.dumps(key)}: {text}" for key, text in items) + "\n}"


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--page", type=Path, default=Path("docs/coverage.md"), help="where the page goes")
    arguments.add_argument(
        "--log", type=Path, default=Path("build/coverage.jsonl"), help="a log from which an interrupted run continues"
    )
    arguments.add_argument("--refused", action="store_true", help="only what is refused or wrong in the table as it is")
    given = arguments.parse_args()
    if given.refused:
        known = [
            (name, row) for name, row in coverage.rows().items() if coverage.is_compiled(row) and "wrong" not in row
        ]
        _write(given.log, known)
    if not coverage.PLACE.exists():  # refusals ask it for hints
        coverage.PLACE.write_text(as_json({"apart": {}, "their own": {}, "groups": {}}))
    found = table(given.log)
    coverage.PLACE.write_text(as_json(found))
    given.page.write_text(page(found))
    readme = Path("README.md")
    readme.write_text(counted(readme.read_text(), found))
    given.log.unlink()
    rows = {name: row for group in found["groups"].values() for name, row in group.items()}
    wrong = [f"{name}: {row['wrong']}" for name, row in rows.items() if "wrong" in row]
    print("\n".join(wrong) or "nothing differs from NumPy")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
