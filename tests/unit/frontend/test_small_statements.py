"""with np.errstate, imports, type() and parts of a range, against Python."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mlirad
from mlirad.errors import CompileError
from mlirad.testing.interpreted import Interpreted

X = np.array([0.0, 1.0, 4.0, -1.0])


# --- with np.errstate -------------------------------------------------------------------------------------------


def quiet(x, n):
    with np.errstate(divide="ignore", invalid="warn"):
        y = 1.0 / x
    with np.errstate(all="ignore"), np.errstate(over=None) as nothing:
        for i in range(n):
            if i > 2:
                return y[1] + i
            y = y * 2.0
    return y[1] if nothing is None else 0.0


def test_errstate() -> None:
    for n in (0, 2, 5):
        assert Interpreted(quiet)(X, n) == quiet(X, n)
    assert np.array_equal(mlirad.grad(quiet)(np.ones(3), 2), [0.0, -4.0, 0.0])


def raising(x):
    with np.errstate(divide="raise"):
        return 1 / x


def calling(x):
    with np.errstate(all="call"):
        return 1 / x


def printing(x):
    with np.errstate(all="print"):
        return 1 / x


def logging(x):
    with np.errstate(under="log"):
        return 1 / x


def handler(x):
    with np.errstate(call=print):
        return 1 / x


def file(x):
    with open("log"):
        return x


@pytest.mark.parametrize("function", [raising, calling, printing, logging, handler, file], ids=lambda f: f.__name__)
def test_other_contexts_are_refused_at_the_line(function: Callable[..., Any]) -> None:
    with pytest.raises(CompileError, match="is not compiled") as caught:
        mlirad.jit(function)(X)
    assert caught.value.lineno == function.__code__.co_firstlineno + 1 and caught.value.hint


# --- import -----------------------------------------------------------------------------------------------------


def imports(x):
    import math
    import os.path
    from math import cos
    from math import pi as half_turn

    import numpy as numpy_again
    from numpy.linalg import LinAlgError

    if os.path is None:
        raise LinAlgError("never")
    return numpy_again.sum(x) * math.exp(1.0) + cos(half_turn) * x[2]


def test_imports() -> None:
    assert Interpreted(imports)(X) == pytest.approx(imports(X), rel=1e-15)
    assert np.array_equal(mlirad.grad(imports)(X), np.array([np.e, np.e, np.e - 1.0, np.e]))


def test_an_attribute_of_an_imported_module_may_change(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    (tmp_path / "settings_of_mine.py").write_text("scale = 2.0\n")
    monkeypatch.syspath_prepend(str(tmp_path))

    @mlirad.jit
    def scaled(x):
        import settings_of_mine

        return x * settings_of_mine.scale

    with pytest.raises(CompileError, match="import it at the top of the file"):
        scaled(3.0)
    import settings_of_mine

    assert scaled(3.0) == 6.0
    settings_of_mine.scale = 5.0
    assert scaled(3.0) == 15.0
    del sys.modules["settings_of_mine"]


def test_a_missing_module_is_refused() -> None:
    def missing(x):
        from math import no_such_name

        return no_such_name(x)

    with pytest.raises(CompileError, match="no_such_name"):
        mlirad.jit(missing)(1.0)


# --- type() -----------------------------------------------------------------------------------------------------


def kinds(x):
    y = x * 2
    return [
        *(type(x) is float, type(x) is np.ndarray, type(x) is not int, type(x) in (bool, np.float64)),
        *(type(y) is type(x), type((x, y)) is tuple, type([x]) is list, type({}) is dict, type(range(3)) is range),
        *(isinstance(x, float), isinstance(y, np.floating), isinstance(x, np.ndarray | float), isinstance(x, int)),
        *(type(x).__name__, type(x > 0) is bool, type(np.sum(y)) is np.float64, type(None) is type(x)),
        *(type(lambda: x).__name__, issubclass(type(x), float), type(x)(1) == 1 if not np.shape(x) else None),
    ]


NUMBERS = (True, 3, 2.5, np.True_, np.int8(3), np.uint64(3), np.float32(2.5), np.float64(2.5), X, np.array(1.5))


@pytest.mark.parametrize("value", NUMBERS, ids=lambda value: f"{type(value).__name__}")
def test_types(value: Any) -> None:
    if isinstance(value, np.bool_):
        assert Interpreted(lambda x: (type(x) is np.bool_, type(x) is bool))(value) == (True, False)
        return
    found = mlirad.jit(kinds)(value)
    assert found == kinds(value)


def test_a_class_made_by_a_call_is_refused() -> None:
    def call(x):
        return type("Point", (), {})

    with pytest.raises(CompileError, match="outside"):
        mlirad.jit(call)(1.0)


# --- parts of a range -------------------------------------------------------------------------------------------


def part(n, start, stop, step):
    return list(range(10)[start:stop:step]) if n is None else [i * 1.0 for i in range(0, 10, n)[start:stop:step]]


def steps(n, start, stop, step):
    total, count = 0, 0
    for i in range(2, n, 3)[start:stop][::step]:
        total = total * 7 + i
        count += 1
    return total, count, len(range(2, n, 3)[start:stop])


def test_known_parts() -> None:
    for start, stop, step in ((2, 5, 1), (None, None, 2), (-3, None, None), (5, 2, -1), (20, -20, -3)):

        def known(x, start=start, stop=stop, step=step):
            r = range(10)[start:stop:step]
            return [i * x for i in r], len(r), range(4)[1] + range(4)[-1]

        assert Interpreted(known)(1.5) == known(1.5)


def test_parts_that_only_the_run_knows() -> None:
    kernel = mlirad.jit(steps)
    ends = (-9, -2, -1, 0, 1, 3, 99)
    for n, start, stop, step in itertools.product((0, 3, 12), ends, ends, (-1, 1, 2)):
        assert kernel(n, start, stop, step) == steps(n, start, stop, step), (n, start, stop, step)
    assert kernel.cache_info().currsize == 1


def test_an_element() -> None:
    @mlirad.jit
    def element(n, i):
        return range(3, n, 2)[i], range(10, 0, -3)[i]

    assert [element(9, i) for i in range(-3, 3)] == [element.numpy(9, i) for i in range(-3, 3)]
    for i in (3, -4):
        with pytest.raises(IndexError, match="range object index out of range"):
            element(9, i)


def test_a_step_of_zero() -> None:
    with pytest.raises(ValueError, match="slice step cannot be zero"):
        mlirad.jit(steps)(9, 0, 5, 0)
