"""`mlirad.record_grad`: the gradient, the cotangents with their lines, NaNs, and functions with custom rules."""

from __future__ import annotations

import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mlirad
from mlirad.cli import main
from mlirad.errors import DifferentiationError


def distances(x, c):
    total = 0.0
    for i in range(x.shape[0]):
        v = x[i] - c
        total = total + np.sqrt(v * v)
    return total


def newton(a):
    x = np.array([a, 0.0])
    while abs(x[0] * x[0] - a) > 1e-10:
        x[0] = 0.5 * (x[0] + a / x[0])
    return x[0]


def branching(p, n):
    y = p["a"]
    for i in range(n):
        if y[0] > 0.5:
            y = np.tanh(y * p["b"])
        else:
            y = y + p["b"] * i
    return y.sum(), {"y": y}


@mlirad.custom_vjp
def clipped(t):
    return t * 1.0


clipped.defvjp(lambda t: (t * 1.0, None), lambda kept, g: (np.minimum(g, 1.0),))


@mlirad.custom_jvp
def doubled(t):
    return t * 1.0


doubled.defjvps(lambda dt, out, t: 2.0 * dt)


def with_rules(t):
    slope = mlirad.grad(lambda s: s * clipped(s))(t)  # a request inside, so that rules pass through two expansions
    for _ in range(2):
        t = clipped(5.0 * t) + doubled(t)
    return t * slope


CASES: list[tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]] = [
    (distances, (np.array([1.0, 2.0, 3.5]), 3.0), {"argnums": (0, 1)}),
    (distances, (np.array([1.0, 2.0, 3.5], np.float32), np.float32(3.0)), {"argnums": 1}),
    (newton, (2.0,), {}),
    (branching, ({"a": np.array([0.2, 0.7]), "b": 0.4}, 4), {"has_aux": True}),
    (with_rules, (0.3,), {}),
    (lambda z: abs(z * z), (1 + 2j,), {}),
    (lambda x, y: 3.0 * y, (1.0, 2.0), {}),
    (lambda x: np.sum(x * x), (np.zeros((0, 2)),), {}),
    (lambda x: np.sum(x[::-2] ** 2), (np.arange(12.0)[::-2],), {}),
]


@pytest.mark.parametrize(("function", "args", "options"), CASES)
def test_it_gives_what_grad_gives(function: Callable[..., Any], args: tuple[Any, ...], options: dict[str, Any]) -> None:
    expected = mlirad.grad(function, **options)(*args)
    found, record = mlirad.record_grad(function, **options)(*args)
    expected_leaves, structure = mlirad.tree.flatten(expected)
    leaves, own = mlirad.tree.flatten(found)
    assert own == structure
    for leaf, wanted in zip(leaves, expected_leaves, strict=True):
        assert type(leaf) is type(wanted)
        assert np.asarray(leaf).dtype == np.asarray(wanted).dtype
        np.testing.assert_allclose(leaf, wanted, rtol=1e-6 if np.asarray(leaf).dtype == np.float32 else 1e-12)
    value = function(*args)
    np.testing.assert_allclose(record.value, value[0] if options.get("has_aux") else value, rtol=1e-6)


def test_each_cotangent_has_its_line() -> None:
    first = distances.__code__.co_firstlineno
    _, record = mlirad.record_grad(distances)(np.array([1.0, 5.0]), 3.0)
    assert [(each.line - first, each.source) for each in record.of("v") if each.line is not None] == [
        (4, "total = total + np.sqrt(v * v)"),
        (4, "total = total + np.sqrt(v * v)"),
    ]
    assert [float(each.value) for each in record.of("v")] == [1.0, -1.0]  # of the last trip first
    assert [each.trips[0].number for each in record.of("v")] == [2, 1]
    x = record.of("x")[-1]
    assert (x.norm, x.largest, x.nans) == (np.sqrt(2.0), 1.0, 0)
    assert record.first_nan is None
    assert record.first_infinity is None
    assert len(record) == len(list(record))


def test_the_first_nan_and_the_largest() -> None:
    x = np.arange(1.0, 41.0)
    gradient, record = mlirad.record_grad(distances)(x, 30.0)
    assert np.isnan(gradient[29])
    first = distances.__code__.co_firstlineno
    nan, infinity = record.first_nan, record.first_infinity
    assert nan is not None
    assert infinity is not None
    assert (nan.name, nan.nans, nan.line, nan.trips[0].number) == ("v", 1, first + 4, 30)
    assert infinity is record.largest
    told = str(record).splitlines()
    assert f"⋮ trips 3 to 39 of the for at line {first + 2}" in told
    line = f"adjoint of line {first + 4}: total = total + np.sqrt(v * v), trip 30 of the for at line {first + 2}"
    assert [each.partition(":")[0] for each in told if line in each] == ["first NaN", "first infinity", "largest"]


def test_what_grad_refuses_is_refused() -> None:
    def written(a, b):
        a[0] = b[1] * 2.0
        return a.sum() * b[0]

    x = np.array([1.0, 3.0])
    with pytest.raises(DifferentiationError, match="shares memory"):
        mlirad.record_grad(written, (0, 1))(x, x)
    assert x.tolist() == [1.0, 3.0]
    with pytest.raises(DifferentiationError, match="needs a scalar"):
        mlirad.record_grad(lambda v: v)(x)
    with pytest.raises(DifferentiationError, match="int64"):
        mlirad.record_grad(distances, 1)(x, 3)
    _, record = mlirad.record_grad(written)(x, np.array([2.0, 4.0]))
    assert x.tolist() == [8.0, 3.0]  # written once, as the function does
    assert record.value == 22.0


def test_functions_with_rules_are_steps_of_traces() -> None:
    trace = mlirad.trace(lambda t: 5.0 * clipped(t) + t, 2.0)
    assert trace.cotangents[0] == 2.0
    assert "v₁ = clipped(v₀) = 2" in str(trace)
    assert "vjp(clipped)(v₀, v̄₁) = 2" in str(trace)
    pushed = mlirad.trace(lambda t: doubled(t) * 3.0, 2.0, direction=(1.0,))
    assert pushed.tangents[2] == 6.0
    assert pushed.cotangents[0] == 6.0
    assert "v̇₁ = jvp(doubled)(v₀, v̇₀) = 2" in str(pushed)


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, page = tmp_path / "program.py", tmp_path / "page.html"
    path.write_text("import numpy as np\n\ndef length(v, n):\n    return np.sqrt((v * v).sum()) * n\n")
    assert main(["grads", f"{path}:length", "np.zeros(2)", "3"]) == 0
    assert (
        "first NaN: v̄₀, of v (2 of 2), in the adjoint of line 4: return np.sqrt((v * v).sum()) * n"
        in capsys.readouterr().out
    )
    assert main(["grads", f"{path}:length", "np.zeros(2)", "3", "--html", str(page)]) == 0
    found: list[str] = []
    parser = HTMLParser()
    parser.handle_data = found.append
    parser.feed(page.read_text())
    assert {"Cotangents of grad(length)", "line 4: return np.sqrt((v * v).sum()) * n"} <= {
        each.strip() for each in found
    }
    assert main(["grads", f"{path}:length", "np.zeros(2, int)", "3"]) == 2
    assert "no float" in capsys.readouterr().out


def test_the_manual_shows_what_is_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    manual = (Path(__file__).resolve().parents[3] / "docs" / "debugging.md").read_text()
    program = re.search(r"```python\n(def distance.*?)\ngradient, ", manual, re.DOTALL)
    block = re.search(r"```text\n(cotangent .*?)```", manual, re.DOTALL)
    assert program is not None
    assert block is not None
    (tmp_path / "distance.py").write_text(f"import numpy as np\n{program[1]}")
    assert main(["grads", f"{tmp_path / 'distance.py'}:distance", "np.array([1.0, 2.0])", "2.0"]) == 0
    assert capsys.readouterr().out == block[1]


def of_pytrees(p, x, *, k=2.0):
    return p["a"] * np.sin(x * k) + p["b"][0]


def test_arguments_by_keyword() -> None:
    p = {"a": 1.5, "b": [2.0]}
    slopes = {"p": {"a": np.sin(4.5), "b": [1.0]}, "x": 1.5 * 1.5 * np.cos(4.5), "k": 1.5 * 3.0 * np.cos(4.5)}
    record_of = mlirad.record_grad(of_pytrees, argnames=("k", "x", "p"))
    for found in (record_of(p, 3.0, k=1.5), record_of(p, k=1.5, x=3.0), record_of(k=1.5, x=3.0, p=p)):
        np.testing.assert_allclose(found[0][:2], (slopes["k"], slopes["x"]))
        assert found[0][2] == {"a": pytest.approx(slopes["p"]["a"]), "b": [1.0]}
    assert mlirad.record_grad(of_pytrees, 1)(p, x=3.0, k=1.5)[0] == pytest.approx(slopes["x"])
    assert mlirad.record_grad(of_pytrees, (-1,))(p, 3.0)[0] == pytest.approx((3.0 * np.cos(6.0),))
    with pytest.raises(DifferentiationError, match="argnames='q' of of_pytrees"):
        mlirad.record_grad(of_pytrees, argnames="q")(p, 3.0)

    trace = mlirad.trace(of_pytrees, p, k=1.5, x=3.0, direction=({"a": 0.0, "b": [0.0]}, 1.0, 0.0))
    arguments = trace.wengert.arguments
    assert [each.name for each in arguments] == ["p.a", "p.b.0", "k", "x"]
    found = [trace.cotangents[each.number] for each in arguments]
    np.testing.assert_allclose(found, [slopes["p"]["a"], 1.0, slopes["k"], slopes["x"]])
    np.testing.assert_allclose(trace.tangents[trace.steps[-1].variable.number], slopes["k"])


def test_integers_in_the_terminal_are_floats(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program = tmp_path / "program.py"
    program.write_text("def f(x, y):\n    return x * y\n")
    assert main(["grads", f"{program}:f", "2", "5"]) == 0
    assert main(["dependence", f"{program}:f", "2", "5"]) == 0
    shown = capsys.readouterr().out
    assert "x    5" in shown and shown.endswith("   x  y\ny  x  x\n")
    assert mlirad.trace(lambda x: x * x, 3.0, direction=0.5).tangents[1] == 3.0
