"""`mlirad coverage` and its table: it is of what is compiled, and finds what a file calls that is not."""

from __future__ import annotations

import os
import random
import sys
from pathlib import Path

import numpy as np
import other_numpys
import pytest

import mlirad
from mlirad import cli
from mlirad.errors import CompileError
from mlirad.frontend.numpy import numpy_calls
from mlirad.frontend.program import coverage
from mlirad.testing.calls import campaign_of_calls, coverage_page, coverage_report, packed
from mlirad.testing.calls.inputs import LAYOUTS, laid_out
from mlirad.testing.calls.judge_calls import REFUSED, SAME, WRONG, compared, judged_derivatives, judged_values
from mlirad.testing.calls.measure import measured
from mlirad.testing.calls.packed import Call
from mlirad.testing.calls.public_names import groups
from mlirad.testing.calls.samples import sample_call

ROWS = coverage.rows()


def test_every_function_that_is_compiled_has_a_sample_and_a_row() -> None:
    names = {name for name in numpy_calls.supported_names() if name.startswith(("np.", "math."))}
    listed = {name for group in groups().values() for name in group} | set(coverage.table()["apart"])
    # Names of classes that only describe dtypes, and methods of ufuncs with one operand, have no rows.
    assert {name for name in names - listed if name.count(".") == 1} <= DESCRIPTIONS
    assert [name for name in names & listed if sample_call(name) is None] == []


DESCRIPTIONS = frozenset(
    f"np.{name}"
    for name in (
        *("dtype", "intp", "longlong", "ulonglong", "long", "ulong", "ndarray", "bool"),
        *(
            "float16",
            "complex64",
            "complex128",
            "floating",
            "integer",
            "number",
            "inexact",
            "generic",
            "signedinteger",
            "unsignedinteger",
        ),
        *("linalg.norm",),
    )
)


@pytest.mark.skipif(
    other_numpys.IS_OTHER or sys.version_info[:2] != (3, 11), reason="the table is that of Python 3.11 and NumPy 2.4"
)
def test_the_table_is_that_of_the_public_names_and_nothing_in_it_is_wrong() -> None:
    assert {group: set(rows) for group, rows in coverage.table()["groups"].items()} == {
        group: set(names) for group, names in groups().items()
    }
    assert {name: row["wrong"] for name, row in ROWS.items() if "wrong" in row} == {}
    root = Path(__file__).parents[3]
    assert (root / "docs/coverage.md").read_text() == coverage_page.page(coverage.table())
    assert (readme := (root / "README.md").read_text()) == coverage_page.counted(readme, coverage.table())


def test_a_drawn_sample_of_the_table_is_current() -> None:
    """Functions that the table lists as compiled are compiled and right; `make coverage` enters new ones."""
    there = {name for group in groups().values() for name in group}
    names = [name for name, row in ROWS.items() if coverage.is_compiled(row) and name in there]
    count = len(names) if os.environ.get("MLIRAD_FULL") else 12
    chosen = random.Random(1).sample(names, count)
    for name, row in measured(chosen).items():
        for kind in ("f64", "f32", "int", "bool"):
            assert set(ROWS[name].get(kind, "")) <= set(row.get(kind, "")), (name, kind, row)


def test_the_judge_finds_what_is_wrong() -> None:
    x = np.array([0.25, 0.5, 0.75])
    call = Call("np.sum(x)", {"x": x})
    assert judged_values([call], [np.float64(1.5)]) == [(SAME, "")]
    for wrong in (np.float64(1.5 + 1e-8), np.float32(1.5), 1.5, np.array([1.5])):
        assert compared(np.float64(1.5), wrong)[0] == WRONG
    refused = Call("np.nosuch(x)", {"x": x})
    good, other = judged_values([call, refused], [np.float64(1.5), None])
    assert good == (SAME, "") and other[0] == REFUSED


@pytest.mark.parametrize("wrap", packed.WRAPS)
def test_the_judge_of_derivatives_finds_a_wrong_one(wrap: str, monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.array([0.25, 0.5, 0.75])
    loss = packed.loss_of(Call("np.exp(x)", {"x": x}), wrap, np.exp(x))
    assert loss is not None
    assert {verdict for verdict, _ in judged_derivatives([loss])[0].values()} == {SAME}
    right = packed.gradients
    monkeypatch.setattr(packed, "gradients", lambda losses: [{"x": 1.001 * each["x"]} for each in right(losses)])
    assert judged_derivatives([loss])[0]["reverse"][0] == WRONG


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts_have_the_same_elements(layout: str) -> None:
    for shape in ((3, 4), (0, 2), (1,), ()):
        array = np.arange(float(np.prod(shape))).reshape(shape)
        made = laid_out(array, layout)
        np.testing.assert_array_equal(made, array)
        assert isinstance(made, np.ndarray) and made.flags.writeable == (layout != "read-only")
    assert laid_out(np.ones((3, 4)), "unaligned").flags.aligned == (layout == "x") or layout != "unaligned"


@pytest.mark.filterwarnings("ignore")
def test_random_calls() -> None:
    """A few seeds; `make fuzz` runs a campaign."""
    for seed in range(20 if os.environ.get("MLIRAD_FULL") else 4):
        summary = campaign_of_calls.judged(seed)
        assert not summary.wrong, summary.text()
        assert summary.calls() > 60 and summary.counts["value same"] > 50, summary.text()


X, ONE = np.array([[0.25, 0.5, 0.75]]), np.array([0.4])
FOUND = [
    Call("np.nextafter.accumulate(x, dtype=np.int32)", {"x": X}),
    Call("np.logical_and.accumulate(x, dtype=np.int32)", {"x": X > 0.3}),
    Call("np.logaddexp.accumulate(x, dtype=np.int32)", {"x": X[:0]}),
    Call("np.maximum.accumulate(x, dtype='f4')", {"x": X}),
    Call("np.ascontiguousarray(x.T, dtype=np.float32)", {"x": X}),
    Call("np.quantile(x, 1, axis=0)", {"x": np.array([[3, 1], [2, 4]], np.int8)}),
    Call("np.quantile(x, [0, 1], axis=0)", {"x": X}),
    Call("np.percentile(x, 100, axis=0)", {"x": np.array([[3, 1], [2, 4]], np.int8)}),
    Call("np.nanstd(x)", {"x": ONE}),
    Call("np.nanstd(x, 0)", {"x": np.array([[np.nan, 1.5], [0.5, 0.25]])}),
    Call("np.heaviside.reduce(x, dtype=np.int32)", {"x": X}),
    Call("np.logical_or.reduceat(x, [0], dtype=np.int32)", {"x": X}),
    Call("np.power.reduce(x)", {"x": np.array([-3, 3, 0])}),  # no number is raised to itself for the dtype
    Call("np.hypot.reduce(x)", {"x": -X}),
    Call("np.gcd.reduce(x)", {"x": np.array([[-4, 6]])}),
    Call("np.add.accumulate(x, (0,))", {"x": X}),
    Call("np.add.accumulate(x, (0, 1))", {"x": X}),
    Call("np.cumulative_sum(x, axis=(1,))", {"x": X}),
    Call("x.argmin(out=np.empty(()))", {"x": X}),
    Call("np.nanargmax(x, 0, out=np.empty(3))", {"x": X}),
    Call("np.take(x, [0], out=np.empty(1))", {"x": X.astype(np.float32)}),
    Call("np.einsum('ij->j', x, out=np.empty(3, 'f4'))", {"x": X}),
    Call("np.dot(x, x.T, out=np.empty((1, 1), 'f4'))", {"x": X}),
    Call("np.fromfunction(np.add, (1, 1, 1, 1))", {}),
    Call("np.can_cast(a, float)", {"a": 0.25}),  # crashed the process
    Call("math.trunc(x)", {"x": np.array(1.5)}),
    Call("np.poly(x)", {"x": np.array(1.5)}),
    Call("np.pad(x, -1)", {"x": np.array(1.5)}),
    Call("np.ix_(x)", {"x": X[0, :0]}),
    Call("np.place(x, True, [1.0])", {"x": np.float64(1.5)}),
    Call("np.unravel_index(i, (2, 3), order='f')", {"i": np.array([1, 4])}),
    Call("np.ravel_multi_index((i, i), (3, 3), order='A')", {"i": np.array([1, 2])}),
    Call("math.isclose(x, x, rel_tol=-1.0)", {"x": X}),
    Call("np.split(x, 5, axis=-1)", {"x": 0.25}),
    Call("np.less.reduceat(x, [0, 2], dtype=np.float32)", {"x": X > 0.3}),
    Call("x.choose([x, x])", {"x": np.ones(2, np.uint64)}),
    Call("x.choose(choices=[x, x])", {"x": np.ones(2, int)}),
    Call("np.round(x, 1)", {"x": X > 0.3}),
    Call("np.nanpercentile(x, x)", {"x": np.zeros((0, 4))}),
    Call("np.nanmedian(x, 1)", {"x": np.array([[np.inf, np.nan, 1.0], [np.inf, 0.5, 1.0]], np.float32)}),
    Call("np.interp(1.0, i, x[0])", {"i": np.array([0, 1, 1]), "x": X}),
    Call("np.matmul(x, x.T, where=True)", {"x": X}),
    Call("np.arange(x, x + 2)", {"x": np.array(2**63 - 1)}),
    Call("np.histogram2d(x, i, 2)[2]", {"x": X[0].astype(np.float16), "i": np.array([1, 2, 4])}),
    Call("np.rad2deg(x)", {"x": np.arange(1, 900, 100, np.uint16).view(np.float16)}),
    Call("special.beta(x / 2, y / 2)", {"x": np.array([-6, -4, 2, 4, -3]), "y": np.array([4, -4, -2, 4, 1])}),
    Call("special.beta(x, y)", {"x": np.float32([-1.5, np.inf]), "y": np.float32([2**31, 2])}),
    Call("special.betaln(x, y)", {"x": X, "y": X}),  # the second derivative, where the arguments are equal
    Call("special.softplus(x), special.softmax(x)", {"x": np.array([1, 2, 5], np.int8)}),
    Call("special.logsumexp(x), special.log_softmax(x)", {"x": X.astype(np.float16)}),
    Call(
        "special.beta(x, 2), special.xlogy(2.0, x), special.kl_div(x, 2), special.jv(2, x)", {"x": X.astype(np.float32)}
    ),
    Call("special.polygamma(1, x)", {"x": ONE[0].reshape(())}),
]


@pytest.mark.parametrize("call", FOUND, ids=lambda call: call.text)
def test_what_random_calls_have_found(call: Call) -> None:
    want = packed.plain_outcome(call)
    (verdict,) = judged_values([call], [want])
    may_refuse = isinstance(want, Exception) or other_numpys.IS_OTHER
    assert verdict[0] == SAME or (may_refuse and verdict[0] == REFUSED), verdict
    if verdict[0] == REFUSED:
        return
    loss = None if isinstance(want, Exception) else packed.loss_of(call, "bare", want)
    if loss is not None and not loss.is_coarse:
        assert {verdict for verdict, _ in judged_derivatives([loss])[0].values()} == {SAME}


def test_a_campaign_goes_on_where_it_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = tmp_path / "calls.jsonl"
    asked: list[int] = []
    monkeypatch.setattr(campaign_of_calls, "judged", lambda seed: asked.append(seed) or campaign_of_calls.Summary(1))
    campaign_of_calls._work([0, 1], log)
    log.write_text(log.read_text() + campaign_of_calls.Summary(wrong=["hangs"]).as_line(2) + "\n")
    summary = campaign_of_calls.run([0, 1, 2], log)
    assert asked == [0, 1] and summary.seeds == 3 and summary.wrong == ["seed 2: hangs"]


SOURCE = """import math
import numpy as np
from numpy import sin as sine, save
from scipy import special
from scipy.special import ellipk

def f(x):
    a = sine(x) + np.sum(x, axis=0)
    b = np.roots(x)
    save("x", x)
    np.gcd(x, x, dtype=int)
    np.random.normal()
    x.view(int)
    x.index(3)
    special.struve(x, x)
    ellipk(x)
    np.r_[x, x]
    return math.sin(a) + my.numpy.save(x) + x.partition(2)
"""


def test_a_file_is_told_what_is_not_compiled(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "program.py"
    path.write_text(SOURCE)
    assert cli.main(["coverage", str(path)]) == 1
    lines = capsys.readouterr().out.splitlines()
    refused = {int(line.removeprefix(f"{path}:").split(":")[0]) for line in lines[:-1] if "note:" not in line}
    assert refused == {9, 10, 11, 12, 13, 15, 16}
    assert any("np.roots is not compiled" in line for line in lines)
    assert any("np.gcd(dtype=) is not compiled" in line for line in lines)
    path.write_text("import numpy as np\nnp.exp(np.sum([1.0]))\n")
    assert cli.main(["coverage", str(path)]) == 0
    assert capsys.readouterr().out == "2 calls of public functions; 0 not compiled, 0 in part\n"


def test_functions_and_the_summary(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["coverage"]) == 0
    assert "NumPy's functions" in capsys.readouterr().out
    assert cli.main(["coverage", "numpy.sin"]) == 0
    assert "value, reverse, forward, second" in capsys.readouterr().out
    assert cli.main(["coverage", "np.random.rand"]) == 1
    assert "pass a generator" in capsys.readouterr().out
    assert cli.main(["coverage", "np.fft.fft"]) == 0
    assert "value, reverse, forward, second" in capsys.readouterr().out
    assert cli.main(["coverage", str(tmp_path / "missing.py")]) == 2
    (tmp_path / "broken.py").write_text("def f(:\n")
    assert cli.main(["coverage", str(tmp_path / "broken.py")]) == 2
    assert coverage_report.of_name("np.nosuch") == (["np.nosuch is not in the table"], 1)


def test_hints_of_refused_functions_are_those_of_the_table() -> None:
    def zeros(x):
        return np.roots(x[0])

    def saves(x):
        return np.save("x", x)

    def reads(x):
        return x.tofile("x")

    for function, hint in (
        (zeros, "contents of an array"),
        (saves, "call it outside"),
        (reads, "call it outside"),
    ):
        with pytest.raises(CompileError) as caught:
            mlirad.jit(function)(np.ones((2, 2)))
        assert caught.value.hint is not None and hint in caught.value.hint
