"""Hints of refusals: similar names, the user's own line, and never a name of the compiler."""

# Mistakes are tested too.
# pyright: reportAttributeAccessIssue=false, reportUndefinedVariable=false, reportMissingImports=false

from __future__ import annotations

import logging
import math
import random
import re
import string
import threading
import traceback
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from refused_programs import programs

import mlirad
from mlirad import slow_compilations
from mlirad.errors import CompileError
from mlirad.frontend.interpreter.loops import loop_ops
from mlirad.frontend.numpy import numpy_calls
from mlirad.frontend.program import hints

MODULES: dict[str, ModuleType] = {
    "np": np,
    "np.linalg": np.linalg,
    "np.fft": np.fft,
    "np.random": np.random,
    "math": math,
}
try:
    import scipy.special

    MODULES["scipy.special"] = scipy.special
except ImportError:  # pragma: no cover
    pass

PUBLIC = [
    (f"{prefix}.{name}", getattr(module, name))
    for prefix, module in MODULES.items()
    for name in dir(module)
    if not name.startswith("_") and callable(getattr(module, name))
]
X = np.array([0.5, 1.5, 2.5])


def refused(function: Callable[..., Any], *args: Any) -> CompileError:
    with pytest.raises(CompileError) as caught:
        mlirad.jit(function)(*args)
    return caught.value


# --- names that exist, and typos --------------------------------------------------------------------------------


def test_a_name_that_exists_is_no_typo() -> None:
    assert len(PUBLIC) > 700
    for name, function in PUBLIC:
        hint = numpy_calls.unsupported(function).hint
        assert hint is None or "did you mean" not in hint, name
        assert hint is None or not re.fullmatch(r"(np|math)\.\w+ is", hint), name


@pytest.mark.skipif(hasattr(np, "trapz"), reason="this NumPy has both names")
def test_what_numpy_has_renamed_is_no_typo() -> None:
    def area(x):
        return np.trapz(x)

    assert refused(area, X).hint == "NumPy calls it np.trapezoid now"
    for hint in map(hints.of_former_name, ("trapz", "in1d", "product", "cumproduct", "msort")):
        assert hint is not None and hasattr(np, hint.split()[3][3:])
    assert hints.of_former_name("sum") is None


def test_a_typo_gets_the_name() -> None:
    def typo(x):
        return np.sni(x)

    assert refused(typo, X).hint == "did you mean np.sin?"

    def method(x):
        return x.summ()

    assert refused(method, X).hint == "did you mean .sum?"

    def method_of_a_number(x):
        return x[0].claap()

    assert refused(method_of_a_number, X).hint == "did you mean .clip?"

    def module(x):
        return npp.sum(x)  # noqa: F821  (the error that is tested)

    assert refused(module, X).hint == "did you mean np?"

    def local(x):
        total = x[0]
        return totl + total  # noqa: F821  (the error that is tested)

    assert refused(local, X).hint == "did you mean total?"


def misspelled(name: str, source: random.Random) -> str:
    place, letter = source.randrange(len(name)), source.choice(string.ascii_lowercase)
    changed = [
        name[:place] + name[place + 1 :],
        name[:place] + letter + name[place:],
        name[:place] + letter + name[place + 1 :],
        name[: place - 1] + name[place - 1 : place + 1][::-1] + name[place + 1 :] if place else name[::-1],
    ]
    return source.choice(changed)


def test_most_typos_get_the_right_name() -> None:
    source = random.Random(1)
    names = [name for name in numpy_calls.supported_names() if name.startswith("np.") and name.count(".") == 1]
    short = [name[3:] for name in names if len(name) > 6]
    right, asked = 0, 0
    for name in short * 2:
        typo = misspelled(name, source)
        if hasattr(np, typo):
            continue
        asked += 1
        right += hints.closest(typo, [*short, *dir(np)]) == name
    assert asked > 120 and right > 0.9 * asked


def test_what_is_far_from_everything_gets_no_name() -> None:
    assert hints.closest("y", ["x"]) is None  # every name of one letter would be near
    assert hints.closest("quaternion", dir(np)) is None and hints.did_you_mean("zzz", ["sin"]) is None


# --- called only for an effect ----------------------------------------------------------------------------------


def test_what_is_called_for_its_effect_is_named_before_its_argument() -> None:
    def asks(x):
        input(f"{x[0]:.3f} {np.roots(x)}")
        return x

    def logs(x):
        logging.getLogger("x").info("%s", x)
        return x

    def opens_each(x):
        return x + len(list(map(open, ["a", "b"])))

    assert refused(asks, X).message == "input is not compiled"
    assert "files outside" in str(refused(opens_each, X).hint)
    assert "log" in str(refused(logs, X).hint)


# --- the way to the place ---------------------------------------------------------------------------------------


def norm_squared(x):
    return np.roots(x) ** 2


def scaled(x, k):
    return norm_squared(x * k)


def shape_from_data(x):
    return np.rot90(x[None], int(x[0]))


def test_calls_on_the_way_are_named() -> None:
    def outer(x):
        y = x + 1.0
        return scaled(y, 2.0)

    error = refused(outer, X)
    first = norm_squared.__code__.co_firstlineno
    assert error.lineno == first + 1
    assert [caller.lineno for caller in error.callers] == [first + 5, outer.__code__.co_firstlineno + 2]
    assert re.search(r"np\.roots.*\n.*\^~+\n  called from .*:\d+:\d+\n +return norm_squared\(x \* k\)", str(error))

    def data(x):
        return shape_from_data(x).sum()

    assert [caller.lineno for caller in refused(data, X).callers] == [data.__code__.co_firstlineno + 1]


def test_a_refusal_in_a_library_names_the_users_line(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "library_of_somebody.py").write_text("import numpy as np\n\n\ndef f(x):\n    return np.roots(x)\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    import library_of_somebody

    def mine(x):
        return library_of_somebody.f(x)

    error = refused(mine, X)
    assert str(error.filename).endswith("library_of_somebody.py")
    assert f"called from {__file__}:{mine.__code__.co_firstlineno + 1}:" in str(error)


def test_long_ways_are_cut() -> None:
    def deep(x, n):
        if n == 0:
            return np.roots(x)
        return deep(x, n - 1)

    text = str(refused(lambda x: deep(x, 9), X))
    assert text.count("called from") == 6 and "\n  ...\n" in text


# --- slow compilations, and Ctrl-C in one -----------------------------------------------------------------------


def unrolled_loop(x):
    items = []
    for i in range(60):
        items.append(x * i if i % 2 else float(i))
    return items[3]


def test_a_slow_compilation_says_what_it_unrolls(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(slow_compilations, "PATIENCE", 0.01)
    mlirad.jit(unrolled_loop)(X)
    told = capsys.readouterr().err
    line = unrolled_loop.__code__.co_firstlineno + 2
    assert told.startswith("mlirad: compiling unrolled_loop takes more than 0.01 s\n")
    assert f"{__file__}:{line}:5: this loop is unrolled because " in told and told.count("mlirad: ") == 1


def largest_of_a_list(x):
    items = [x[0] * i if i % 2 else float(i) for i in (3, 1, 2)]
    return max(items)


def test_a_loop_of_a_builtin_is_where_it_is_called(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(slow_compilations, "PATIENCE", 0.001)
    mlirad.jit(largest_of_a_list)(X)
    told = capsys.readouterr().err
    line = largest_of_a_list.__code__.co_firstlineno + 2
    assert f"{__file__}:{line}:12: this loop is unrolled because " in told
    assert "prelude" not in told


def test_a_quick_compilation_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    mlirad.jit(lambda x: x * 3.0)(X)
    assert capsys.readouterr().err == ""


def test_ctrl_c_in_a_compilation_shows_no_frames_of_the_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    def loops(x):
        for i in range(9):
            x = x + i
        return x

    kernel = mlirad.jit(loops)
    with monkeypatch.context() as patched:
        patched.setattr(loop_ops, "one_pass", interrupted)
        with pytest.raises(KeyboardInterrupt) as caught:
            kernel(X)
        frames = [frame.filename for frame in traceback.extract_tb(caught.value.__traceback__)]
        assert [name.rpartition("mlirad/")[2] for name in frames[1:]] == ["jit/kernel.py"]
        assert frames[0] == __file__ and caught.value.__suppress_context__
        patched.setenv("MLIRAD_TRACEBACK", "full")
        with pytest.raises(KeyboardInterrupt) as caught:
            kernel(X)
        assert len(traceback.extract_tb(caught.value.__traceback__)) > 5
    assert np.array_equal(kernel(X), loops(X))


# --- no name of the compiler ------------------------------------------------------------------------------------

INTERNAL = re.compile(
    r"mlirad\.(frontend|dialect|jit|lowering|autodiff|targets)|Traced|StandIn|NeedStatic|Poison|\bRef\b|\bSSA|\$\w|%\w"
    r"|\b(nd|scf|arith|func|ad)\.\w+|<traced|something else|\biter\b of|_of_\w+\(\)|tensor<|<function|object at 0x"
)


@pytest.mark.filterwarnings("ignore")
def test_no_internal_name_in_a_message() -> None:
    refusals = 0
    for source, function in programs():
        try:
            mlirad.jit(function, cache=False)(X.copy(), 1.5, 2)
        except CompileError as error:
            refusals += 1
            text = f"{error.message} {error.hint}"
            assert not INTERNAL.search(text), (source, text)
            assert error.location is not None, (source, text)
        except Exception as error:
            location = getattr(error, "location", None)
            assert location is not None, (source, error)
            text = str(error).partition("\n")[0].removeprefix(str(location))
            assert not INTERNAL.search(text), (source, text)
    assert refusals > 100


def test_a_compilation_leaves_no_thread_behind() -> None:
    before = threading.active_count()
    for k in range(20):
        mlirad.jit(lambda x, k=k: x * k)(X)
        assert threading.active_count() == before
