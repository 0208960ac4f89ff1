"""Values, gradients and Hessians of textbook functions against 40-digit arithmetic (tests/data/functions.json)."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import mlirad

DATA = json.loads((Path(__file__).parents[2] / "data" / "functions.json").read_text())
UNARY = ("sin", "cos", "tan", "exp", "log", "sqrt", "tanh")


def babylonian_sqrt_6_steps(x0):
    y = x0
    for _ in range(6):
        y = 0.5 * (y + x0 / y)
    return y


def loop_power(x0):
    y = 1.0
    for _ in range(7):
        y = y * x0
    return y


def logistic_map_10_steps(x0, x1):
    y = x0
    for _ in range(10):
        y = x1 * y * (1 - y)
    return y


LOOPS = {f.__name__: f for f in (babylonian_sqrt_6_steps, loop_power, logistic_map_10_steps)}


@pytest.fixture(scope="module")
def expressions(tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    """A module with the expressions of the data file as functions f0, f1, ..."""
    path = tmp_path_factory.mktemp("reference") / "expressions.py"
    text = ["import numpy as np"]
    for number, entry in enumerate(DATA["functions"]):
        if not entry["expr"].startswith("loop"):
            arguments = ", ".join(f"x{i}" for i in range(len(entry["x"])))
            text.append(f"def f{number}({arguments}):\n    return {entry['expr']}")
    text += [f"def unary_{name}(x):\n    return np.{name}(x)" for name in UNARY]
    path.write_text("\n\n\n".join(text) + "\n")
    spec = importlib.util.spec_from_file_location("expressions", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


FUNCTIONS = [
    pytest.param(number, entry, id=f"{entry['name']}-{number}") for number, entry in enumerate(DATA["functions"])
]


@pytest.mark.parametrize(("number", "entry"), FUNCTIONS)
def test_value_gradient_and_hessian(number: int, entry: dict[str, Any], expressions: ModuleType) -> None:
    f: Callable[..., Any] = LOOPS.get(entry["name"]) or getattr(expressions, f"f{number}")
    x, n = entry["x"], len(entry["x"])
    argnums = tuple(range(n))
    value, gradient = mlirad.value_and_grad(f, argnums=argnums)(*x)
    np.testing.assert_allclose(mlirad.jit(f)(*x), entry["value"], rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(value, entry["value"], rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(gradient, entry["grad"], rtol=1e-10, atol=1e-10)
    for column in range(n):
        direction = tuple(float(row == column) for row in range(n))
        _, hessian_column = mlirad.jvp(mlirad.grad(f, argnums=argnums), tuple(x), direction)
        np.testing.assert_allclose(hessian_column, np.array(entry["hess"])[:, column], rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("entry", [u for u in DATA["unary"] if u["fn"] in UNARY], ids=lambda u: f"{u['fn']}-{u['x']}")
def test_three_derivatives(entry: dict[str, Any], expressions: ModuleType) -> None:
    f: Any = getattr(expressions, f"unary_{entry['fn']}")
    for expected in (entry["f"], entry["d1"], entry["d2"], entry["d3"]):
        np.testing.assert_allclose(mlirad.jit(f)(entry["x"]), expected, rtol=1e-10)
        f = mlirad.grad(f)


def test_the_textbooks_example() -> None:
    """Baydin et al., Automatic differentiation in machine learning: a survey, section 3."""

    def f(x1, x2):
        return np.log(x1) + x1 * x2 - np.sin(x2)

    value, gradient = mlirad.value_and_grad(f, argnums=(0, 1))(2.0, 5.0)
    assert value == pytest.approx(11.652071455223084, rel=1e-14)
    assert gradient == pytest.approx((5.5, 1.7163378145367738), rel=1e-14)


def test_shared_subexpressions() -> None:
    def f(x):
        return np.exp(np.exp(x) + np.exp(x) ** 2) + np.sin(np.exp(x) + np.exp(x) ** 2)

    x = 0.3
    inner, outer = np.exp(x) + 2 * np.exp(2 * x), np.exp(x) + np.exp(x) ** 2
    first = inner * (np.exp(outer) + np.cos(outer))
    second = (np.exp(x) + 4 * np.exp(2 * x)) * (np.exp(outer) + np.cos(outer)) + inner**2 * (
        np.exp(outer) - np.sin(outer)
    )
    assert mlirad.jit(f)(x) == pytest.approx(f(x), rel=1e-12)
    assert mlirad.grad(f)(x) == pytest.approx(first, rel=1e-12)
    assert mlirad.jvp(mlirad.grad(f), (x,), (1.0,))[1] == pytest.approx(second, rel=1e-12)
    assert mlirad.grad(mlirad.grad(f))(x) == pytest.approx(second, rel=1e-12)


def test_the_third_derivative_of_sin_is_minus_cos() -> None:
    def f(x):
        return np.sin(x)

    third = mlirad.grad(mlirad.grad(mlirad.grad(f)))
    for x in (-2.0, 0.0, 0.7):
        assert third(x) == pytest.approx(-np.cos(x), abs=1e-15)
