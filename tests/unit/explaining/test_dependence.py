"""`mlirad.dependence`: the matrices against nonzero Jacobians, names, the text and the picture."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

import mlirad
from mlirad.cli import main
from mlirad.errors import DifferentiationError, DTypeError


def heat(u, k, steps):
    for _ in range(steps):
        u[1:-1] += k * (u[2:] - 2.0 * u[1:-1] + u[:-2])
    return u


def mixed(p, c, n):
    y = np.zeros(3)
    for i in range(n):
        y[i] = p["w"][i] * c + (p["b"] if i > 0 else 0.0)
    return y, y.sum() * 2, n


def test_it_is_where_the_jacobian_is_not_zero() -> None:
    u = np.sin(np.arange(9.0))
    found = mlirad.dependence(heat, u, 0.1, 2)
    assert (found.inputs, found.outputs) == (("u", "k"), ("y",))
    by_u, by_k = mlirad.jacfwd(heat, (0, 1))(u.copy(), 0.1, 2)
    np.testing.assert_array_equal(found["y", "u"], by_u != 0)
    np.testing.assert_array_equal(found["y", "k"][:, 0], by_k != 0)
    assert u[1] == np.sin(1.0)  # nothing is written


def test_containers_have_names() -> None:
    found = mlirad.dependence(mixed, {"w": np.ones(4), "b": 2.0}, 3.0, 3)
    assert str(found).splitlines() == [
        "      p['w']  p['b']  c",
        "y[0]  x...    .       x",
        "      .x..    x       x",
        "      ..x.    x       x",
        "y[1]  xxx.    x       x",
    ]
    several = mlirad.dependence(lambda x, *rest: x * rest[1], 1.0, 2.0, 3.0)
    assert (several.inputs, str(several).splitlines()[1]) == (("x", "rest[0]", "rest[1]"), "y  x  .        x")
    both_sides = mlirad.dependence(lambda x, y, z: y if x > 0 else z, 1.0, 2.0, 3.0)
    assert [bool(each[0, 0]) for each in both_sides.blocks[0]] == [False, True, True]
    large = mlirad.dependence(lambda x: x[::2], np.ones(70))
    assert str(large) == "x reaches y: 35 of 2450 pairs of numbers"


def test_a_branch_on_a_counter_counts_one_side() -> None:
    """Also if its loop computes functions, and could become ops on arrays."""

    def f(x, b):
        y = np.zeros(20)
        for i in range(20):
            y[i] = np.sin(x[i]) + (b if i > 9 else 0.0)
        return y

    found = mlirad.dependence(f, np.ones(20), 2.0)
    np.testing.assert_array_equal(found["y", "x"], np.eye(20, dtype=bool))
    np.testing.assert_array_equal(found["y", "b"][:, 0], np.arange(20) > 9)


def test_arguments_by_keyword() -> None:
    def f(x, *rest, k, **others):
        for _ in range(3):
            if x < 10.0:
                x = x * k
        return x * rest[1], others["z"]

    found = mlirad.dependence(f, 1.0, 2.0, 3.0, z=4.0, k=5.0)
    assert str(found).splitlines() == [
        "      x  rest[0]  rest[1]  z  k",
        "y[0]  x  .        x        .  x",
        "y[1]  .  .        .        x  .",
    ]


def test_the_picture_has_a_square_for_each_pair(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program, picture = tmp_path / "program.py", tmp_path / "reach.svg"
    program.write_text("import numpy as np\n\ndef f(x, c):\n    return x[:, 1] * c, x[1]\n")
    assert main(["dependence", f"{program}:f", "np.ones((2, 3))", "2.0", "--svg", str(picture)]) == 0
    tags = list(ElementTree.fromstring(picture.read_text()).iter())
    paths = [each.attrib["d"].count("z") for each in tags if each.tag.endswith("}path")]
    assert paths == [2, 2, 3]  # c does not reach x[1], which has no path
    assert [each.text for each in tags if each.tag.endswith("}text")] == ["x", "c", "y[0]", "y[1]"]
    assert main(["dependence", f"{program}:f", "np.ones((2, 3))", "2.0"]) == 0
    assert capsys.readouterr().out.splitlines()[1] == "y[0]  .x....  x"


def test_what_has_no_answer() -> None:
    def searching(x):
        while x < 1.0:
            x = x * 2.0
        return x

    loop = r"how often this loop runs.*\n.*while x < 1.0.*\n.*\n.*fixed number of trips, and an `if`.*mlirad\.trace"
    with pytest.raises(DifferentiationError, match=loop):
        mlirad.dependence(searching, 0.3)
    with pytest.raises(DifferentiationError, match=r"which elements are used.*\n.*\n.*\n.*mlirad\.trace") as refused:
        mlirad.dependence(lambda x: x[int(np.argmax(x))], np.ones(2))
    assert "sparsity" not in str(refused.value)
    with pytest.raises(DTypeError, match="no float among its arguments"):
        mlirad.dependence(lambda x: x, 3)
    with pytest.raises(DTypeError, match="no result of <lambda> is a float"):
        mlirad.dependence(lambda x: np.argmax(x), np.ones(2))
