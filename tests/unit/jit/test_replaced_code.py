"""Compiled code is what Python would run: code is replaced, files are saved, modules reloaded, NumPy is patched."""

from __future__ import annotations

import ast
import builtins
import functools
import importlib.machinery
import importlib.util
import linecache
import math
import operator
import os
import random
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import mlirad
from mlirad.frontend.program.codes import meaning
from mlirad.jit.kernel import SLOW_CALLS
from mlirad.requests.python_functions import copied

X = np.array([1.0, 2.0, 3.0])
CALLS = 2 * SLOW_CALLS + 2
"""After so many, calls go without Python."""


def agree(kernel: Any, *args: Any) -> None:
    for _ in range(CALLS):
        np.testing.assert_allclose(kernel(*args), kernel.numpy(*args), rtol=1e-13)


def slope(function: Callable[..., Any], *args: Any) -> np.ndarray:
    step = np.eye(3) * 1e-3
    return np.array([(function(X + h, *args) - function(X - h, *args)) / 2e-3 for h in step])


# `__code__` is replaced, by hand and by %autoreload, which does the same.


def first(x):
    return x * 2.0


def second(x):
    return x * x + 1.0


def third(y):
    return -np.sin(y)


class Model:
    def __init__(self) -> None:
        self.scale = 3.0

    def apply(self, x):
        return x * self.scale

    def shifted(self, x):
        return x + self.scale

    @staticmethod
    def plain(x):
        return x + 7.0

    def __call__(self, x):
        return x - self.scale


def copy_of(function: Any) -> Any:
    """Another function of the same code, for its code to be replaced."""
    made = type(function)(function.__code__, function.__globals__, function.__name__)
    made.__module__ = function.__module__
    return made


def functions_over(inner: Any) -> dict[str, Callable[[Any], Any]]:
    """Ways in which a function is used by another one."""
    model = Model()
    model.inner = inner
    table, partial = {"f": [inner]}, functools.partial(inner)
    kernel = mlirad.jit(inner)
    return {
        "itself": inner,
        "called": lambda x: inner(x) + 1.0,
        "kernel": lambda x: kernel(x) + 1.0,
        "attribute": lambda x: model.inner(x) * 2.0,
        "item": lambda x: table["f"][0](x) - 1.0,
        "partial": lambda x: partial(x) / 2.0,
        "default": lambda x, f=inner: f(x) + x,
        "method": lambda x: model.apply(x) + Model.plain(x) + model(x),
        "argument": lambda x: sum(map(inner, (x, x * 2.0))),
    }


@pytest.mark.parametrize("how", list(functions_over(first)))
def test_code_that_was_replaced_is_what_is_called(how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    inner = copy_of(first)
    function = functions_over(inner)[how]
    kernel, gradient = mlirad.jit(function), mlirad.grad(lambda x: np.sum(function(x)))
    agree(kernel, X)
    for other in (second, third, first):
        monkeypatch.setattr(inner, "__code__", other.__code__)
        monkeypatch.setattr(Model.apply, "__code__", Model.shifted.__code__)
        monkeypatch.setattr(Model.plain, "__code__", other.__code__)
        agree(kernel, X)
        np.testing.assert_allclose(gradient(X), slope(lambda x: np.sum(function(x))), rtol=1e-5)
        monkeypatch.setattr(Model.apply, "__code__", Model.apply.__code__)
        monkeypatch.undo()
        agree(kernel, X)
    before = kernel.cache_info().misses
    agree(kernel, X)
    assert kernel.cache_info().misses == before


BODIES = ["x * {k}", "x * x + {k}", "-np.sin(x * {k})", "x / (1.0 + x * x) - {k}"]


@pytest.mark.parametrize("seed", range(60 if os.environ.get("MLIRAD_FULL") else 4))
def test_replaced_code_in_random_programs(seed: int) -> None:
    """Functions that call one another; one after the other gets the code of another one."""
    choose = random.Random(seed)
    count = choose.randint(2, 6)
    lines = ["import numpy as np"]
    for number in range(2 * count):
        lines.append(f"def leaf{number}(x):\n    return {choose.choice(BODIES).format(k=choose.randint(1, 4) / 4)}")
    for number in range(count):
        calls = [f"leaf{number}(x)", *(f"node{each}(x) * 0.25" for each in range(number) if choose.random() < 0.6)]
        lines.append(f"def node{number}(x):\n    return {' + '.join(calls)}")
    text, name = "\n".join(lines), f"<replaced {seed}>"
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    space: dict[str, Any] = {}
    exec(compile(text, name, "exec", dont_inherit=True), space)
    top = space[f"node{count - 1}"]
    kernel, gradient = mlirad.jit(top), mlirad.grad(lambda x: np.sum(top(x)))
    for _ in range(6):
        one, other = (space[f"leaf{choose.randrange(2 * count)}"] for _ in range(2))
        one.__code__ = other.__code__
        agree(kernel, X)
        np.testing.assert_allclose(gradient(X), slope(lambda x: np.sum(top(x))), rtol=1e-5, atol=1e-6)


# Files that are saved while they are in use.

FILE = """
import numpy as np


def helper(x):
    return x * {a}


def f(x):
    return helper(x) + {b}


def g(x):
    return x - {c}
"""


class Saved:
    """A module in a file that can be saved again."""

    def __init__(self, place: Path, monkeypatch: pytest.MonkeyPatch):
        self.place, self.name = place / "saved_module.py", "saved_module"
        monkeypatch.syspath_prepend(place)
        self._time = 1_000_000_000

    def save(self, text: str, *, in_one_second: bool = False) -> None:
        self.place.write_text(text)
        self._time += 0 if in_one_second else 10
        os.utime(self.place, (self._time, self._time))

    def load(self) -> ModuleType:
        importlib.invalidate_caches()
        found = sys.modules.get(self.name)
        for each in (self.place.parent / "__pycache__").glob("*.pyc"):
            each.unlink()
        return importlib.import_module(self.name) if found is None else importlib.reload(found)


@pytest.fixture
def saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Saved]:
    yield Saved(tmp_path, monkeypatch)
    sys.modules.pop("saved_module", None)


CHANGED = r"saved_module.py:\d+(.|\n)*is not what its source says(.|\n)*reload the module"


@pytest.mark.parametrize("is_known", [True, False], ids=["linecache knows the old text", "it knows none"])
@pytest.mark.parametrize("in_one_second", [True, False])
def test_a_file_that_is_saved_before_the_first_call(saved: Saved, is_known: bool, in_one_second: bool) -> None:
    saved.save(FILE.format(a=2, b=3, c=4))
    module = saved.load()
    if is_known:
        linecache.getlines(module.f.__code__.co_filename)
    old, kernel = module.f, mlirad.jit(module.f)
    assert old(X)[0] == 5.0
    saved.save(FILE.format(a=7, b=8, c=4), in_one_second=in_one_second)
    if is_known:
        agree(kernel, X)  # by the text that was remembered
    else:
        with pytest.raises(mlirad.CompileError, match=CHANGED):
            kernel(X)
    unchanged = mlirad.jit(module.g)
    agree(unchanged, X)  # what has not changed is compiled, whatever else has
    new = saved.load()
    agree(mlirad.jit(new.f), X)
    assert mlirad.jit(new.f)(X)[0] == 15.0
    assert old(X)[0] == 10.0  # the old function, over the new helper
    if is_known:  # and compiled before
        agree(kernel, X)
        agree(mlirad.jit(old), X)


def test_functions_that_have_moved_in_their_file(saved: Saved) -> None:
    saved.save(FILE.format(a=2, b=3, c=4))
    module = saved.load()
    saved.save("# a line\n\n\n" + FILE.format(a=2, b=3, c=4) + "\n\ndef f2(x):\n    return x\n")
    agree(mlirad.jit(module.f), X)
    saved.save("# a line\n\n\n" + FILE.format(a=2, b=3.5, c=4))
    agree(mlirad.jit(module.g), X)


def test_a_reloaded_module_again_and_again(saved: Saved) -> None:
    for number in range(4):
        for in_one_second in (False, True):
            saved.save(FILE.format(a=number, b=int(in_one_second), c=4), in_one_second=in_one_second)
            module = saved.load()
            kernel = mlirad.jit(module.f)
            agree(kernel, X)
            np.testing.assert_array_equal(kernel(X), X * number + int(in_one_second))


def test_what_autoreload_does(saved: Saved) -> None:
    """The old function gets the code of the new one; kernels of it follow."""
    saved.save(FILE.format(a=2, b=3, c=4))
    old = saved.load().f
    kernel, gradient = mlirad.jit(old), mlirad.grad(lambda x: np.sum(old(x)))
    agree(kernel, X)
    assert gradient(X).tolist() == [2.0, 2.0, 2.0]
    for a in (5, 6):
        saved.save(FILE.format(a=a, b=3, c=4))
        old.__code__ = saved.load().f.__code__
        agree(kernel, X)
        assert gradient(X).tolist() == [a, a, a]


# Bytecode is compared with what the source compiles to.


def test_code_that_no_source_says_is_refused() -> None:
    def f(x):
        return x + 1.0

    consts = tuple(2.0 if each == 1.0 else each for each in f.__code__.co_consts)
    f.__code__ = f.__code__.replace(co_consts=consts)
    assert f(1.0) == 3.0
    with pytest.raises(mlirad.CompileError, match="is not what its source says"):
        mlirad.jit(f)(1.0)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("1.0", "1"), ("0.0", "-0.0"), ("x + y", "y + x"), ("x + y", "x - y"), ("np.sin(x)", "np.cos(x)"),
        ("x if y else -x", "-x if y else x"), ("(1, 2)[0]", "(1.0, 2)[0]"), ("x[0:1]", "x[0:2]"),
        ("np.sum(x, axis=0)", "np.sum(x, initial=0)"), ("(lambda a: a)(x)", "(lambda a: -a)(x)"),
        ("x > 1.0", "x >= 1.0"), ("x is None", "x is not None"), ("-x", "+x"), ("1e22", "1e23"),
    ],
)  # fmt: skip
def test_every_difference_is_seen(saved: Saved, old: str, new: str) -> None:
    text = "import numpy as np\ndef f(x, y):\n    return {}\n"
    saved.save(text.format(old))
    module = saved.load()
    saved.save(text.format(new))
    with pytest.raises(mlirad.CompileError, match=CHANGED):
        mlirad.jit(module.f)(X, 1.0)
    saved.save("# moved\n" + text.format(f"({old})"))
    assert mlirad.jit(module.f).lower(X, 1.0) is not None


SUBJECT = """
def f(x, y, n=3, *, k=2.0):
    total = 0.0
    for i in range(0, n):
        if x[i] > y and (i < 2 or x[i] != 1.0):
            total = total + x[i] * k - y / (1.0 + i)
        elif x[i] <= 0.5:
            total -= np.sin(x[i]) if i % 2 == 0 else np.cos(y)
    inner = lambda a, b=n: -a * b + total ** 2
    values = [inner(each) for each in (x[0], x[-1], y)]
    return total, values, x[0:n:1].sum(), (1, 1.0, True, 0.0)[n % 4], {"a": total}["a"], not total, +k
"""


class Mutant(ast.NodeTransformer):
    """One change of one node."""

    def __init__(self, choose: random.Random, place: int):
        self.choose, self.left = choose, place

    def visit(self, node: ast.AST) -> ast.AST:
        self.left -= 1
        changed = self.changed(node) if self.left == 0 else None
        return self.generic_visit(node) if changed is None else ast.copy_location(changed, node)

    def changed(self, node: ast.AST) -> ast.AST | None:
        match node:
            case ast.Constant():
                return ast.Constant(self.choose.choice([0, 1, 2, -0.0, 0.0, 1.0, 0.5, True, False, "a", None]))
            case ast.BinOp():
                return ast.BinOp(node.right, self.choose.choice([ast.Add(), ast.Sub(), ast.Mult(), node.op]), node.left)
            case ast.Compare():
                return ast.Compare(node.left, [self.choose.choice([ast.Lt(), ast.GtE(), ast.Eq()])], node.comparators)
            case ast.Name(ctx=ast.Load()):
                return ast.Name(self.choose.choice(["x", "y", "n", "k", "total"]), ast.Load())
            case ast.UnaryOp():
                return node.operand
            case ast.BoolOp():
                return ast.BoolOp(self.choose.choice([ast.And(), ast.Or()]), node.values[::-1])
            case ast.IfExp():
                return ast.IfExp(node.test, node.orelse, node.body)
            case ast.If():
                return ast.If(ast.UnaryOp(ast.Not(), node.test), node.body, node.orelse)
            case ast.Attribute():
                return ast.Attribute(node.value, self.choose.choice(["sin", "cos", "sum", "max"]), ast.Load())
            case ast.AugAssign():
                return ast.AugAssign(node.target, ast.Add(), node.value)
        return None


def outcomes(text: str) -> Any:
    space: dict[str, Any] = {"np": np, "__builtins__": builtins}
    exec(compile(text, "<mutant>", "exec", dont_inherit=True), space)
    found = []
    for y in (0.25, 2.5, -1.0):
        try:
            found.append(repr(space["f"](np.array([1.0, 2.5, 0.25]), y, 3, k=2.0)))
        except Exception as error:
            found.append(repr(error))
    return space["f"].__code__, found


def test_texts_that_do_other_things_have_other_meanings() -> None:
    """Runs two texts to find their results."""
    choose = random.Random(0)
    code, expected = outcomes(SUBJECT)
    size = len(list(ast.walk(ast.parse(SUBJECT))))
    differing = equal = 0
    for _ in range(3000 if os.environ.get("MLIRAD_FULL") else 300):
        tree = ast.fix_missing_locations(Mutant(choose, choose.randint(1, size)).visit(ast.parse(SUBJECT)))
        text = ast.unparse(tree)
        mutant, found = outcomes(text)
        if found != expected:
            differing += 1
            assert meaning(mutant) != meaning(code), text
        again, _ = outcomes("# moved\n\n" + text.replace("\n", "  # a comment\n"))
        assert meaning(again) == meaning(mutant)
        equal += meaning(mutant) == meaning(code)
    assert differing > 80 and equal > 10


def test_an_import_hook_that_rewrites_functions(saved: Saved) -> None:
    """What it makes of a text may mean something else than the text."""

    class Loader(importlib.machinery.SourceFileLoader):
        def source_to_code(self, data: Any, path: Any, **options: Any) -> Any:
            tree = ast.parse(data)
            for node in ast.walk(tree):
                if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
                    node.op = ast.FloorDiv()
            return compile(tree, path, "exec", dont_inherit=True)

    saved.save("def f(x):\n    return x / 2.0\n\ndef g(x):\n    return x * 2.0\n")
    spec = importlib.util.spec_from_file_location(
        "saved_module", saved.place, loader=Loader("saved_module", str(saved.place))
    )
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.f(3.0) == 1.0
    with pytest.raises(mlirad.CompileError, match="import hook rewrites functions"):
        mlirad.jit(module.f)(3.0)
    agree(mlirad.jit(module.g), 3.0)


def has_asserts(x, n):
    assert n > 0, "n is positive"
    total = 0.0
    for i in range(n):
        assert x[i] == x[i] and n < 100
        if x[i] > 1.0:
            assert n
            total = total + x[i]
        else:
            total = total - 1.0
    while total > 4.0:
        assert total
        total = total - 0.5
    scaled = (lambda a: a * 2.0)(total)
    assert scaled is not None
    return scaled


def test_asserts_that_pytest_has_rewritten() -> None:
    names = [*has_asserts.__code__.co_names, *has_asserts.__code__.co_varnames]
    assert any(name.startswith("@py") for name in names)
    kernel = mlirad.jit(has_asserts)
    assert kernel(X, 3) == has_asserts(X, 3)
    with pytest.raises(AssertionError, match="n is positive"):
        kernel(X, 0)
    code = has_asserts.__code__
    changed = copy_of(has_asserts)
    changed.__code__ = code.replace(co_consts=tuple(0.25 if each == 0.5 else each for each in code.co_consts))
    with pytest.raises(mlirad.CompileError, match="is not what its source says"):
        mlirad.jit(changed)(X, 3)


@pytest.mark.parametrize("optimize", [0, 1, 2])
def test_code_of_other_optimisation_levels(saved: Saved, optimize: int) -> None:
    text = 'def f(x):\n    """A text."""\n    assert x > 0\n    return x * 2.0\n'
    saved.save(text)
    space: dict[str, Any] = {}
    exec(compile(text, str(saved.place), "exec", dont_inherit=True, optimize=optimize), space)
    kernel = mlirad.jit(space["f"])
    assert kernel(3.0) == 6.0
    if optimize:
        assert kernel(-3.0) == -6.0  # Python does not run the assert
    else:
        with pytest.raises(AssertionError):
            kernel(-3.0)


def test_future_imports_of_an_earlier_cell() -> None:
    name, text = "<cell 1>", "def f(x: undefined) -> undefined:\n    return x + 1.0\n"
    import __future__

    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    space: dict[str, Any] = {}
    exec(compile(text, name, "exec", __future__.annotations.compiler_flag, dont_inherit=True), space)
    assert mlirad.jit(space["f"])(1.0) == 2.0


class Private:
    __scale = 3.0

    def __init__(self) -> None:
        self.__weights = X

    def loss(self, x, __power=2.0):
        __total = np.sum(self.__weights * x)
        return self.__halved(__total) * self.__scale * __power + __private_global

    def __halved(self, x):
        return x * 0.5


__private_global = 1000.0
_Private__private_global = 1.0


def test_private_names_of_a_class() -> None:
    model = Private()
    assert mlirad.jit(model.loss)(X) == model.loss(X) == 43.0
    np.testing.assert_array_equal(mlirad.grad(model.loss)(X), 3.0 * X)


# NumPy is patched.


def uses_numpy(x):
    return np.sum(np.sin(x)) + math.sin(x[0]) * np.pi


@pytest.mark.parametrize(
    ("module", "name", "other"),
    [
        (np, "sin", np.cos),
        (np, "sin", lambda x: x),
        (np, "sum", np.max),
        (math, "sin", math.cos),
        (np, "pi", 3.0),
    ],
)
def test_replaced_functions_are_noticed(module: Any, name: str, other: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = mlirad.jit(uses_numpy)
    agree(kernel, X)
    monkeypatch.setattr(module, name, other)
    if name == "pi":
        agree(kernel, X)
    else:
        message = rf"test_replaced_code.py:\d+(.|\n)*{name} has been replaced(.|\n)*restore it"
        for each in (kernel, mlirad.jit(uses_numpy), mlirad.grad(uses_numpy), mlirad.jit(first)):
            with pytest.raises(mlirad.CompileError, match=message):
                each(X)
    monkeypatch.undo()
    before = kernel.cache_info().misses
    agree(kernel, X)
    agree(mlirad.jit(uses_numpy), X)
    assert kernel.cache_info().misses <= before + 1


def test_other_changes_of_numpy_are_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = mlirad.jit(copied(uses_numpy))
    agree(kernel, X)
    monkeypatch.setattr(np, "of_a_test", 1.0, raising=False)
    monkeypatch.setattr(np, "load", lambda *args: None)
    agree(kernel, X)
    agree(mlirad.jit(lambda x: x + np.of_a_test), X)
    assert kernel.cache_info().misses == 1


def test_numpy_under_another_meaning(monkeypatch: pytest.MonkeyPatch) -> None:
    """The name `np` gets another module, as tests of portable programs do."""
    other = ModuleType("other")
    other.sin, other.sum = np.cos, np.max
    kernel, before = mlirad.jit(lambda x: np.sum(np.sin(x))), np.sum(np.sin(X))
    agree(kernel, X)
    with monkeypatch.context() as patch:
        patch.setitem(globals(), "np", other)
        assert math.isclose(kernel(X), kernel.numpy(X))
        assert not math.isclose(kernel(X), before)
    agree(kernel, X)


def test_a_module_of_the_user_that_has_a_builtin_function(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("user_module")
    module.combine = operator.add
    kernel = mlirad.jit(lambda x: module.combine(x, x * 2.0))
    agree(kernel, X)
    module.combine = operator.sub
    agree(kernel, X)
