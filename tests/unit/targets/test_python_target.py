"""The target `python`: its source is what a person would write, passes ruff, and computes the native numbers.

The random programs of `mlirad/testing/programs` are compared on both targets, too.
"""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import mlirad
from mlirad.dialect.ad.ad import Ad
from mlirad.dialect.core.op import NdOp
from mlirad.dialect.nd import Nd
from mlirad.testing.programs import campaign
from mlirad.testing.programs.two_targets import are_alike

TARGET = "python"
PROGRAMS = Path(__file__).resolve().parents[3] / "benchmarks"
X = np.array([1.0, 2.0, 3.0])


def loss(x, c):
    y = np.empty(x.shape[0])
    y[0] = x[0]
    for i in range(1, x.shape[0]):
        y[i] = c * np.sin(y[i - 1]) + x[i]
    return np.sum(y * y)


GRADIENT = """\
import numpy as np


def grad_loss(x, c):
    y = np.zeros(3)
    y[0] = x[0]
    for i in range(1, 3):
        y[i] = c * np.sin(y[i - 1]) + x[i]
    d_y = y + y
    d_x = np.zeros(3)
    # for i in range(1, x.shape[0]):
    for i in reversed(range(1, 3)):
        # y[i] = c * np.sin(y[i - 1]) + x[i]
        d_y_i = d_y[i]
        d_y[i] = 0.0
        d_x[i] += d_y_i
        d_y[i - 1] += d_y_i * c * np.cos(y[i - 1])
    # y[0] = x[0]
    d_x[0] += d_y[0]
    return d_x
"""


def require_ruff(directory: Path) -> None:
    """ruff's default rules, and its layout."""
    for command in (["check"], ["format", "--diff"]):
        subprocess.run([sys.executable, "-m", "ruff", *command, "--isolated", "-q", str(directory)], check=True)


def test_the_gradient_of_a_recurrence_reads_as_a_person_would_write_it() -> None:
    kernel = mlirad.jit(mlirad.grad(loss), target=TARGET)
    source = kernel.lower(X, 1.1).as_text("source")
    assert source == GRADIENT
    namespace: dict = {}
    exec(source, namespace)  # it is a separate program
    np.testing.assert_array_equal(namespace["grad_loss"](X, 1.1), mlirad.grad(loss)(X, 1.1))
    np.testing.assert_array_equal(kernel(X, 1.1), mlirad.grad(loss)(X, 1.1))


@pytest.mark.parametrize(
    "name",
    "recurrence seidel_2d products_2d newton_each trisolve cholesky limited lotka_volterra".split(),
)
def test_the_loop_programs_give_the_native_numbers(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(PROGRAMS))
    program = importlib.import_module(f"programs.{name}")
    ours, theirs = (program.arguments(min(program.SIZES[0], 20)) for _ in range(2))
    gradient = mlirad.value_and_grad(program.loss, program.ARGNUMS)
    kernel = mlirad.jit(gradient, target=TARGET)
    assert are_alike((gradient(*ours), list(ours)), (kernel(*theirs), list(theirs)))
    (tmp_path / "printed.py").write_text(kernel.lower(*theirs).as_text("source"))
    require_ruff(tmp_path)


def test_random_programs_give_the_native_numbers(tmp_path: Path) -> None:
    keys = [(bias, 700_000) for bias in ("mixed", "alias", "selections")] + [("around", 60_023)]
    summary = campaign.run(keys, f"native:{TARGET}", tmp_path / "log")
    assert not summary.failures, summary.text()
    assert summary.verdicts["same", "value on two targets"] >= 2
    assert summary.verdicts["same", "gradient on two targets"] >= 2


def test_errors_are_raised_at_the_users_line() -> None:
    def chosen(x, k, n):
        y = x * 2.0
        if n < 0:
            raise ValueError(f"no {n} of them")
        return y[k] + 7 // n

    kernel = mlirad.jit(chosen, target=TARGET)
    assert kernel(X, -1, 2) == chosen(X, -1, 2)
    for args, kind, line in (
        ((X, 3, 1), IndexError, "return y[k] + 7 // n"),
        ((X, 1, 0), ZeroDivisionError, "return y[k] + 7 // n"),
        ((X, 1, -4), ValueError, "raise ValueError"),
    ):
        with pytest.raises(kind) as native:
            mlirad.jit(chosen)(*args)
        with pytest.raises(kind) as found:
            kernel(*args)
        assert str(found.value) == str(native.value)
        assert line in str(found.value)


def test_what_overwrites_what() -> None:
    """Writes to the caller's arrays, an array that is returned with its old contents, rows, swaps, reversed slices."""

    def changed(x, m, n):
        before = x.copy()
        for _ in range(n):
            x[::-1] = x * 2.0 - m[1, :3]
            m[:, 1] += x[0]
        row = m[0]
        row[1:] = np.where(row[1:] > 0.5, row[:-1], -1.0)
        x, before = before, x
        return x @ before, before, m.T.copy()

    args = [(X.copy(), np.arange(12.0).reshape(3, 4), 3) for _ in range(2)]
    assert are_alike((changed(*args[0]), args[0]), (mlirad.jit(changed, target=TARGET)(*args[1]), args[1]))


def test_numbers_are_of_the_same_types() -> None:
    """Integers wrap, single precision stays single, and division by zero gives infinity."""

    def mixed(x, i, j):
        wrapped = np.int64(i)
        single = np.float32(0.1)
        for _ in range(3):
            wrapped = wrapped * wrapped + 1
            single = single * np.float32(3.0) + x[0]
        counted = 1.0
        while counted < 5.0:
            counted *= 2.0
        return wrapped, single, 1.0 / (counted - 8.0), np.int8(j) * np.int8(100), i // j, i % j

    for dtype in (np.float32, np.float64):
        args = (X.astype(dtype), 3_000_000_000, -7)
        want, got = mlirad.jit(mixed)(*args), mlirad.jit(mixed, target=TARGET)(*args)
        assert [type(each) for each in got] == [type(each) for each in want]
        assert are_alike(want, got)


def test_recursion_and_helpers() -> None:
    def power(x, n):
        return 1.0 if n == 0 else x * power(x, n - 1)

    kernel = mlirad.jit(mlirad.value_and_grad(power), target=TARGET)
    assert kernel(1.5, 5) == pytest.approx((1.5**5, 5 * 1.5**4), rel=1e-14)


def test_prints(capsys: pytest.CaptureFixture[str]) -> None:
    def shown(x, n):
        for i in range(n):
            print(f"{i}: {x[i]:.3f}", x[i] * 2.0, "100%d" % n, end=";\n", flush=True)  # noqa: UP031 - it is what is tested
            print("it's", file=sys.stderr)
        print(x)

    for function in (shown, mlirad.jit(shown, target=TARGET)):
        function(X, 2)
    out, err = capsys.readouterr()
    for text in (out, err):
        half = len(text) // 2
        assert text[:half] == text[half:] != ""


def test_all_ops_can_be_written() -> None:
    ops = [each for each in (*Nd.operations, *Ad.operations) if issubclass(each, NdOp)]
    without = {each.name for each in ops if not each.has_numpy_source() and each.hinted is NdOp.hinted}
    assert not without, "give them a spelling, or a `numpy_source`"


def test_a_slice_of_the_same_array_in_other_steps_is_read_first() -> None:
    """NumPy itself may read elements that it has just written (docs/deviations.md)."""

    def spread(x):
        x[::2] = x[:3]
        x[1:] = x[:-1]

    kernel, x, wanted = mlirad.jit(spread, target=TARGET), np.arange(5.0), np.arange(5.0)
    kernel(x)
    mlirad.jit(spread)(wanted)
    assert x.tolist() == wanted.tolist() == [0.0, 0.0, 1.0, 1.0, 3.0]
    source = kernel.lower(x).as_text("source")
    assert "x[::2] = x[:3].copy()\n" in source
    assert "x[1:] = x[:4]\n" in source
