"""The page of a campaign of random calls: docs/verification/random-calls.md.

Reads: a summary. Writes: nothing. Gives: text.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mlirad.testing.calls.campaign_of_calls import Summary

_PAGE = """# Random calls: what has been run

`make fuzz` writes this page (`python -m mlirad.testing.calls`). {seeds:,} seeds, {calls:,} calls: {same:,}
agree with NumPy; {refused:,} were refused while compiling. There are {drawn:,} different calls of functions that
[the table](../coverage.md) says are compiled, drawn with arguments, keywords, axes, shapes, dtypes (float16 to float64,
integers, bools) and layouts (strided, reversed, transposed, Fortran order, read-only, unaligned). Twenty make a kernel,
which runs on eight sets of numbers (nan, infinities and ties among them). Class, dtype, shape and numbers of a value
are compared with NumPy's, and the class of an exception. Derivatives of a third of the calls are compared too: with
differences of NumPy's values, and forward with reverse mode, for the plain call, in a loop or in a branch.
*Undecided*: differences of two step sizes do not agree, or are not finite.

In elementwise functions, float16 results have NumPy's bits; results of {near} and similar functions may be one unit
apart. Sums of float16 differ as docs/deviations.md says. If a campaign finds something wrong, it is fixed, becomes
a case of `tests/unit/testing/test_coverage.py`, and the seed is run again.
"""

_FOUND = (
    (
        "`dtype=`, `axis=`, errors of `accumulate`, `reduce`, `reduceat`; `reduce` by `hypot` and `gcd` of one element",
        "samples have no such keywords, and no axis of one element",
    ),
    (
        "`out=` of the wrong dtype in `argmin`, `take`, `compress`, `einsum`, `dot`; `where=` of `matmul`",
        "`out` was tried with arrays of the result's own dtype only",
    ),
    (
        "errors: `place`, `pad`, `poly`, `choose`, `ravel_multi_index`, `split`, `round` of bools, `trunc`",
        "24 functions were excluded from the calls that signatures give; now one is",
    ),
    ("`np.can_cast` of a Python number crashed the process", "it was also excluded"),
    (
        "`rad2deg`, `deg2rad` of float16 multiplied by a rounded factor",
        "float16 took no part, and a unit was allowed",
    ),
    (
        "`softmax`, `log_softmax`, `softplus`, `logsumexp` of float16 and narrow integers; `polygamma` of a 0-d array",
        "the table has int64 as its only integers, and arrays with axes",
    ),
    (
        "`beta`, `betaln` at the poles of gamma, of infinity, and of negative numbers beside large ones",
        "their test has positive numbers",
    ),
    (
        "second derivatives of `betaln` where both arguments are equal, of `i0` at 8: np.minimum and np.maximum halve",
        "derivatives were compared at random numbers, which never tie",
    ),
    (
        "`nanmedian` beside infinities, `nanpercentile` of no shares, `interp` at the last of equal places",
        "infinities and empty arrays were not among the inputs of these",
    ),
    ("functions of SciPy of float32 and a Python number, which is float64 in some", "numbers met arrays of float64"),
    ("edges of `histogram2d` of two dtypes, `ix_` of no floats, `arange` beyond 64 bits", "one dtype for all inputs"),
)


def page(summary: Summary) -> str:
    """The page."""
    same = sum(summary.counts[f"{what} {verdict}"] for what, verdict in _AGREEING)
    numbers = {"seeds": summary.seeds, "calls": summary.calls(), "drawn": summary.drawn, "same": same}
    lines = [_PAGE.format(**numbers, refused=summary.counts["value refused"], near="exp, sin")]
    parted = ((*what.rsplit(" ", 1), f"{count:,}") for what, count in sorted(summary.counts.items()))
    lines += _table("what | verdict | number", parted)
    lines += ["", "The most frequent refusals:", ""]
    lines += _table("number | reason", ((f"{count:,}", why) for why, count in summary.refused.most_common(25)))
    lines += ["", "Drawn, but not judged:", ""]
    lines += _table("number | reason", ((f"{count:,}", why) for why, count in summary.left_out.most_common()))
    lines += ["", "Bugs that campaigns have found, all fixed:", ""]
    lines += _table("bug | why tests had missed it", _FOUND)
    lines += ["", f"Wrong: {len(summary.wrong) or 'none'}.", *(f"* {_cell(each)}" for each in summary.wrong)]
    return "\n".join(lines) + "\n"


_AGREEING = (("value", "same"), ("exception", "same"), ("exception", "refused"))
"""A call that raises in NumPy may be refused."""


def _table(titles: str, rows: Iterable[Iterable[str]]) -> Iterator[str]:
    yield f"| {titles} |"
    yield "|" + "---|" * len(titles.split(" | "))
    yield from (f"| {' | '.join(map(_cell, row))} |" for row in rows)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
