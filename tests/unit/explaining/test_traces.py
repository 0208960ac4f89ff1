"""`mlirad.trace`: the numbers of textbooks, loops and branches, and both sweeps beside what jit computes."""

from __future__ import annotations

from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mlirad
from mlirad.cli import main
from mlirad.errors import DTypeError


def textbook(x1, x2):
    return np.log(x1) + x1 * x2 - np.sin(x2)


def newton(a):
    x = np.array([a, 0.0])
    while abs(x[0] * x[0] - a) > 1e-10:
        x[0] = 0.5 * (x[0] + a / x[0])
    return x[0]


def network(w, x):
    total = 0.0
    for i in range(6):
        x = np.tanh(w @ x)
        if x[0] > 0.3:
            total = total + x.sum()
        else:
            total = total - x[1] * i
    return total, x


def fact(x, n):
    return x if n == 0 else x * n * fact(x, n - 1)


def of_a_gradient(x):
    return x * mlirad.grad(lambda y: np.sin(y) * y)(x)


def overwritten(x, k):
    x[1:] += x[:-1] ** 2 * k
    return np.where(x > 0, np.sqrt(np.abs(x)), 0.0).sum()


def test_the_textbooks_traces() -> None:
    trace = mlirad.trace(textbook, 2.0, 5.0)
    assert str(trace).splitlines() == [
        "forward primal trace    reverse adjoint trace, to be read upwards",
        "─" * 65,
        "v₋₁ = x1 = 2            x̄1 = v̄₋₁ = 5.5",
        "v₀ = x2 = 5             x̄2 = v̄₀ = 1.716",
        "─" * 65,
        "v₁ = log(v₋₁) = 0.693   v̄₋₁ = v̄₋₁ + v̄₁ / v₋₁ = 5.5",
        "v₂ = v₋₁ * v₀ = 10      v̄₋₁ = v̄₂ * v₀ = 5",
        "                        v̄₀ = v̄₀ + v̄₂ * v₋₁ = 1.716",
        "v₃ = sin(v₀) = -0.959   v̄₀ = v̄₃ * cos(v₀) = -0.284",
        "v₄ = v₁ + v₂ = 10.693   v̄₁ = v̄₄ = 1",
        "                        v̄₂ = v̄₄ = 1",
        "v₅ = v₄ - v₃ = 11.652   v̄₄ = v̄₅ = 1",
        "                        v̄₃ = -v̄₅ = -1",
        "─" * 65,
        "y = v₅ = 11.652         v̄₅ = ȳ = 1",
        "─" * 65,
    ]


def test_a_tangent_trace() -> None:
    lines = str(mlirad.trace(textbook, 2.0, 5.0, direction=(1.0, 0.0))).splitlines()
    assert "v₂ = v₋₁ * v₀ = 10      v̇₂ = v̇₋₁ * v₀ + v̇₀ * v₋₁ = 5   v̄₋₁ = v̄₂ * v₀ = 5" in lines
    assert any("ẏ = v̇₅ = 5.5" in line for line in lines)


@pytest.mark.parametrize(
    ("function", "args"),
    [
        (textbook, (2.0, 5.0)),
        (newton, (2.0,)),
        (network, (np.ones((2, 2), np.float32) / 3, np.array([1, -0.5], np.float32))),
        (fact, (1.5, 3)),
        (of_a_gradient, (0.7,)),
        (overwritten, (np.array([1.0, 0.0, -2.0]), 3)),
        (lambda p: p["a"] * p["b"][0], ({"a": np.ones(2), "b": (3.0, 1)},)),
    ],
)
def test_both_sweeps_give_the_derivatives(function: Callable[..., Any], args: tuple[Any, ...]) -> None:
    floats = [each for each in mlirad.tree.leaves(args) if np.asarray(each).dtype.kind == "f"]
    random = np.random.default_rng(0)
    direction = [random.normal(size=np.shape(each)) for each in floats]
    trace = mlirad.trace(function, *_copied(args), direction=direction)

    def of_floats(*given: Any) -> Any:
        left, (leaves, structure) = list(given), mlirad.tree.flatten(args)
        every = [left.pop(0) if np.asarray(each).dtype.kind == "f" else each for each in leaves]
        return function(*mlirad.tree.unflatten(structure, every))

    tangents = [np.asarray(each, np.asarray(of).dtype)[()] for each, of in zip(direction, floats, strict=True)]
    value, tangent = mlirad.jvp(of_floats, _copied(tuple(floats)), tuple(tangents))
    _, pullback = mlirad.vjp(of_floats, *_copied(tuple(floats)))
    cotangents = pullback(mlirad.tree.map(np.ones_like, value))
    tolerance = 1e-5 if np.asarray(floats[0]).dtype == np.float32 else 1e-12
    for variable, cotangent in zip(trace.wengert.arguments, cotangents, strict=True):
        np.testing.assert_allclose(trace.cotangents.get(variable.number, 0.0), cotangent, rtol=tolerance, atol=1e-30)
    shown = [trace.tangents[each.number] for each in trace.wengert.results]
    for one, other in zip(shown, mlirad.tree.leaves(tangent), strict=True):
        np.testing.assert_allclose(one, other, rtol=tolerance)


def _copied(args: tuple[Any, ...]) -> tuple[Any, ...]:
    return mlirad.tree.map(lambda each: each.copy() if isinstance(each, np.ndarray) else each, args)


def test_arguments_that_are_one_array() -> None:
    def written(a, b):
        a[0] = b[1] * 2.0
        return a.sum() * b[0]

    x, y = np.array([1.0, 3.0]), np.array([1.0, 3.0])
    value = written(y, y)
    traced = mlirad.trace(written, x, x)
    assert traced.wengert.results[0].value == value
    np.testing.assert_array_equal(x, y)
    apart = mlirad.trace(lambda a, b: a @ b, x, x)  # as two arguments they have a cotangent each
    np.testing.assert_array_equal(apart.wengert.arguments[0].value, x)
    assert len(apart.wengert.arguments) == 2


def test_what_a_function_captures_is_constant() -> None:
    weights = np.array([2.0, 3.0])
    traced = mlirad.trace(lambda t: np.sum(t * weights), 3.0, direction=(2.0,))
    assert [argument.name for argument in traced.wengert.arguments] == ["t"]
    assert traced.cotangents[0] == 5.0
    assert traced.tangents is not None
    assert traced.tangents[traced.wengert.results[0].number] == 10.0


def test_complex_numbers_have_steps() -> None:
    def turned(t):
        return t + np.real(np.exp(1j * t))

    traced = mlirad.trace(turned, 0.5)
    np.testing.assert_allclose(traced.cotangents[0], 1 - np.sin(0.5), rtol=1e-15)
    assert "v₃ = exp(v₂) = 0.878+0.479j" in str(traced)
    assert "v₂ = (0+1j) * v₁" in str(traced)

    def square(z):
        return abs(z * z)

    of_complex = mlirad.trace(square, 1 + 2j)
    assert of_complex.cotangents[0] == mlirad.grad(square)(1 + 2j)


def test_loops_by_their_trips() -> None:
    lines = str(mlirad.trace(newton, 2.0)).splitlines()
    start = newton.__code__.co_firstlineno + 2
    headings = [line for line in lines if line.startswith(("while", "⋮"))]
    assert headings == [
        f"while at line {start}, trip 1",
        f"while at line {start}, trip 2",
        f"⋮ trips 3 to 4 of the while at line {start}",
        f"while at line {start}, trip 5",
    ]
    assert "v₁₁ = 0.5 * v₁₀ = 1.5" in "\n".join(lines)
    assert "v₁₂ = x = v₁ with [0] = v₁₁ = [1.5, 0]" in "\n".join(lines)
    branches = [line.strip() for line in str(mlirad.trace(network, np.eye(2), np.ones(2))).splitlines()]
    assert sum(line.startswith("if at line") for line in branches) > 0


class _Texts(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: set[str] = set()

    def handle_data(self, data: str) -> None:
        self.found.add(data.strip())


def test_a_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "program.py"
    path.write_text("import numpy as np\n\ndef f(x1, x2):\n    return np.log(x1) + x1 * x2 - np.sin(x2)\n")
    assert main(["trace", f"{path}:f", "2", "5"]) == 0
    assert "v₅ = v₄ - v₃ = 11.652" in capsys.readouterr().out
    assert (
        main(["trace", f"{path}:f", "2.0", "5.0", "--direction", "1.0", "0.0", "--html", str(tmp_path / "p.html")]) == 0
    )
    page = (tmp_path / "p.html").read_text()
    texts = _Texts()
    texts.feed(page)
    assert {"Trace of f", "forward tangent trace", "v₅ = v₄ - v₃ = 11.652"} <= texts.found
    assert page.count("<tbody>") == page.count("</tbody>") == 3


def test_what_has_no_trace(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(DTypeError, match="textbook has no float among its arguments"):
        mlirad.trace(textbook, 2, 5)
    with pytest.raises(DTypeError, match="no result of <lambda> depends on a float"):
        mlirad.trace(lambda x: np.argmax(x), np.ones(3))
    with pytest.raises(ValueError, match=r"shapes \[\(\), \(\)\], and the tangents \[\(2,\)\]"):
        mlirad.trace(textbook, 2.0, 5.0, direction=(np.ones(2),))
    assert main(["trace", f"{tmp_path}/none.py:f", "2"]) == 2
    assert "no file" in capsys.readouterr().out
    assert main(["trace", "none.py", "2"]) == 2
    assert "'none.py' names no function: write it as file.py:function" in capsys.readouterr().out
    (tmp_path / "some.py").write_text("def f(x):\n    return x\n")
    assert main(["trace", f"{tmp_path}/some.py:f", "np.one(3)"]) == 2
    assert "the argument 'np.one(3)' has no value: AttributeError" in capsys.readouterr().out


def test_a_failing_check_raises_as_the_call_does() -> None:
    def beyond(x, i):
        return x[i] * 2.0

    with pytest.raises(IndexError):
        mlirad.trace(beyond, np.ones(2), 5)
