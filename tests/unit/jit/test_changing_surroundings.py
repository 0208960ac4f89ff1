"""Captured objects change between calls: each call gives the new answer, or a clear refusal."""

from __future__ import annotations

import builtins
import dataclasses
import functools
import types
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pytest

import mlirad
from mlirad.jit.kernel import SLOW_CALLS

X = np.array([1.0, 2.0, 3.0])
# So many calls of a kind go without Python, in the end.
CALLS = 2 * SLOW_CALLS + 2
# The changes between two calls, one after the other; the function is compared with itself after each.
Changes = Iterable[Callable[[], Any]]
Case = tuple[Callable[..., Any], Changes]


def slope(f: Callable[..., Any]) -> np.ndarray:
    step = np.eye(3) * 1e-3
    return np.array([(np.sum(f(X + h)) - np.sum(f(X - h))) / 2e-3 for h in step])


def check_all_along(f: Callable[..., Any], changes: Changes) -> None:
    kernel, gradient = mlirad.jit(f), mlirad.grad(lambda x: np.sum(f(x)))
    for change in [lambda: None, *changes]:
        change()
        for _ in range(CALLS):
            np.testing.assert_allclose(kernel(X), f(X), rtol=1e-13)
        np.testing.assert_allclose(gradient(X), slope(f), rtol=1e-6, atol=1e-9)
    before = kernel.cache_info().misses
    kernel(X)
    assert kernel.cache_info().misses == before  # what has not changed is not compiled again


class Holder:
    factor = 1.0

    def __init__(self, **fields: Any):
        self.__dict__.update(fields)

    def scaled(self, x):
        return x * self.w

    def __call__(self, x):
        return x * self.w + self.items[0]

    @property
    def twice(self):
        return self.w * 2

    @classmethod
    def by_factor(cls, x):
        return x * cls.factor

    @staticmethod
    def doubled(x):
        return x * 2


@dataclasses.dataclass
class Layer:
    w: Any
    gain = 2.0

    def __call__(self, x):
        return x * self.w * self.gain

    @staticmethod
    def shifted(x):
        return x + 1.0


@dataclasses.dataclass
class Other:
    w: Any
    gain = 3.0

    def __call__(self, x):
        return x - self.w * self.gain


def cells() -> Case:
    k: Any = 2.0
    a: Any = np.ones(3)
    g: Any = lambda y: y * 2

    def f(x):
        return g(x * a) * k

    def set_k(value: Any) -> None:
        nonlocal k
        k = value

    def set_a(value: Any) -> None:
        nonlocal a
        a = value

    def set_g(value: Any) -> None:
        nonlocal g
        g = value

    numbers = [3.0, -0.0, 2, True, np.float32(2.5), np.float64(0.5), np.array(4.0)]
    arrays = [np.arange(3.0), np.arange(3.0)[::-1], np.arange(6.0)[1::2], 7.0, np.ones(3, np.float32), np.ones((2, 3))]
    return f, [
        *(lambda v=v: set_k(v) for v in numbers),
        *(lambda v=v: set_a(v) for v in arrays),
        lambda: a.fill(9.0),
        lambda: set_g(lambda y: y * y),
        lambda: set_g(mlirad.jit(lambda y: y + 1)),
    ]


def attributes() -> Case:
    h = Holder(w=np.ones(3), items=[1.0], inner=Holder(w=2.0))

    def f(x):
        return h.scaled(x) + h(x) + h.twice + h.inner.w

    return f, [
        lambda: setattr(h, "w", np.full(3, 5.0)),
        lambda: h.w.fill(6.0),
        lambda: setattr(h, "w", 3.0),
        lambda: h.items.__setitem__(0, 4.0),
        lambda: h.items.append(4.0),
        lambda: setattr(h.inner, "w", 5.0),
        lambda: setattr(h, "inner", Holder(w=np.arange(3.0))),
        lambda: setattr(h, "scaled", lambda x: x * 10.0),
    ]


def a_class() -> Case:
    class Own(Holder):
        pass

    h = Own(w=2.0, items=[0.0])

    def f(x):
        return h.scaled(x) + Own.by_factor(x) + h.by_factor(x) + h.doubled(x) * Own.factor + h(x)

    return f, [
        lambda: setattr(Own, "factor", 3.0),
        lambda: setattr(h, "factor", 5.0),
        lambda: setattr(Own, "factor", np.ones(3)),
        lambda: setattr(Own, "scaled", lambda self, x: x * 100),
        lambda: setattr(Own, "doubled", staticmethod(lambda x: x * 20)),
        lambda: setattr(Own, "by_factor", classmethod(lambda cls, x: x * 7)),
        lambda: setattr(Own, "__call__", lambda self, x: x * 1000),
    ]


def dataclass_objects() -> Case:
    box: dict[str, Any] = {"layer": Layer(np.ones(3))}

    def f(x):
        layer = box["layer"]
        return layer(x) + layer.w

    return f, [
        lambda: setattr(box["layer"], "w", 4.0),
        lambda: setattr(Layer, "gain", 5.0),
        lambda: box.update(layer=Other(4.0)),
        lambda: setattr(Other, "__call__", lambda self, x: x * 9.0),
        lambda: setattr(Layer, "gain", 2.0),
    ]


def containers() -> Case:
    box: dict[str, Any] = {"a": 2.0, "w": np.ones(3), "l": [1.0, 2.0], "t": (1.0, (2.0, np.ones(3))), "s": {1, 2}}

    def f(x):
        y = x * box["a"] * box["w"] + sum(box["l"]) + box["t"][1][1] * box["t"][0]
        return y * (2.0 if 1 in box["s"] else 3.0) * (5.0 if "new" in box else 7.0) * len(box["l"])

    return f, [
        lambda: box.update(a=3.0),
        lambda: box["w"].fill(2.0),
        lambda: box.update(w=np.full(3, 4.0)),
        lambda: box["l"].append(5.0),
        lambda: box["l"].__setitem__(0, np.float64(5.0)),
        lambda: box.update(t=(3.0, (2.0, np.arange(3.0)))),
        lambda: box["s"].remove(1),
        lambda: box.update(new=None),
        lambda: box.pop("new"),
    ]


def defaults() -> Case:
    def g(x, k=2.0, w=np.ones(3), *, only=4.0):
        return x * k * w + only

    return g, [
        lambda: g.__defaults__[1].fill(3.0),
        lambda: setattr(g, "__defaults__", (5.0, np.arange(3.0))),
        lambda: setattr(g, "__kwdefaults__", {"only": np.arange(3.0)}),
    ]


def partials() -> Case:
    array, items = np.ones(3), [2.0]
    f = functools.partial(lambda a, items, x, k=1.0: x * a * items[0] * k, array, items, k=4.0)
    return f, [
        lambda: array.fill(3.0),
        lambda: items.__setitem__(0, 5.0),
        lambda: f.keywords.update(k=6.0),
    ]


def optional_attributes() -> Case:
    h = Holder(w=2.0)

    def f(x):
        return x * getattr(h, "extra", 3.0) * (2.0 if hasattr(h, "flag") else 5.0) * getattr(h, "w")

    return f, [
        lambda: setattr(h, "extra", 7.0),
        lambda: setattr(h, "flag", None),
        lambda: delattr(h, "flag"),
        lambda: delattr(h, "extra"),
    ]


def namespaces() -> Case:
    n = types.SimpleNamespace(a=2.0, w=np.ones(3))
    return lambda x: x * n.a + n.w, [lambda: setattr(n, "a", 3.0), lambda: setattr(n, "w", np.arange(3.0))]


def function_attributes() -> Case:
    def f(x):
        return x * f.k + g.w

    def g(x):
        return x

    f.k, g.w = 2.0, np.ones(3)
    return f, [lambda: setattr(f, "k", 3.0), lambda: g.w.fill(5.0)]


def code() -> Case:
    def g(x):
        return x * 2.0

    def h(x):
        return x * 5.0 + 1.0

    return lambda x: g(x), [lambda: setattr(g, "__code__", h.__code__)]


CASES = [
    cells,
    attributes,
    a_class,
    dataclass_objects,
    containers,
    defaults,
    partials,
    optional_attributes,
    namespaces,
    function_attributes,
    code,
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_each_call_sees_what_is_there(case: Callable[[], Case]) -> None:
    check_all_along(*case())


@pytest.mark.parametrize("kind", ["method", "callable", "bound", "partial"])
def test_what_is_compiled_is_itself_an_object(kind: str) -> None:
    h = Holder(w=np.ones(3), items=[1.0])
    f = {"method": h.scaled, "callable": h, "bound": h.__call__, "partial": functools.partial(h)}[kind]
    changes: Changes = [
        lambda: h.w.fill(3.0),
        lambda: setattr(h, "w", np.arange(3.0)),
        lambda: setattr(h, "w", 4.0),
        lambda: h.items.__setitem__(0, 5.0),
    ]
    check_all_along(f, changes)


class Model:
    def __init__(self, w: Any):
        self.w = w
        self.items = [1.0]

    @mlirad.jit
    def loss(self, x):
        return np.sum(self.w * x) * self.items[0]

    slope = mlirad.grad(loss, 1)

    @mlirad.jit
    def accumulates(self, x):
        w = self.w
        w += x
        return w.sum()


def test_the_attributes_of_self() -> None:
    model, other = Model(np.ones(3)), Model(np.full(3, 2.0))

    def check() -> None:
        for each in (model, other):
            assert each.loss(X) == Model.loss.numpy(each, X)
            np.testing.assert_array_equal(each.slope(X), np.ones(3) * each.w * each.items[0])

    check()
    model.w[1] = 5.0
    check()
    model.w = np.arange(3.0)
    check()
    model.w = 3.0
    check()
    model.items[0] = 7.0
    check()
    model.w, other.w = other.w, model.w
    check()
    np.testing.assert_array_equal(mlirad.grad(model.loss)(X), model.slope(X))
    np.testing.assert_array_equal(mlirad.jit(model.slope)(X), model.slope(X))
    wrapped = mlirad.jit(lambda x: model.loss(x))
    assert wrapped(X) == model.loss(X)
    model.items[0] = 9.0
    assert wrapped(X) == model.loss(X)


def test_an_array_of_self_is_written() -> None:
    model = Model(np.ones(3))
    assert model.accumulates(X) == 9.0
    np.testing.assert_array_equal(model.w, 1 + X)
    assert model.accumulates(model.w) == 18.0  # it is the argument, too
    np.testing.assert_array_equal(model.w, 2 * (1 + X))


class Equal:
    """All of a number are equal, as the rows of a data base are."""

    def __init__(self, number: int, w: Any):
        self.number, self.w = number, w

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Equal) and self.number == other.number


class Hashed(Equal):
    def __hash__(self) -> int:
        return self.number


@pytest.mark.parametrize("kind", [Equal, Hashed])
def test_objects_that_are_equal_are_not_the_same(kind: type[Equal]) -> None:
    kernel = mlirad.jit(lambda a, b, x: x * a.w + b.w)
    for a, b in ((2.0, 3.0), (4.0, 5.0), (np.ones(3), np.arange(3.0))):
        np.testing.assert_array_equal(kernel(kind(1, a), kind(1, b), X), X * a + b)
    if kind is Hashed:
        declared = mlirad.jit(lambda a, x: x * a.w, static_argnums=0)
        declared(Hashed(1, 2.0), X)
        declared(Hashed(1, 2.0), X)
        assert declared.cache_info().misses == 1


def in_module(name: str, **names: Any) -> Callable[..., Any]:
    """A function of another module, which has these globals."""

    def template(x):
        return (TABLE * x).sum() * FACTOR  # noqa: F821  (globals of the copy)

    return types.FunctionType(template.__code__, {"__name__": name, "__builtins__": builtins, **names})


def closure_of(array: np.ndarray) -> Callable[..., Any]:
    return lambda x: (array * x).sum()


def test_arrays_of_one_name_are_kept_apart() -> None:
    one, two = (in_module(str(k), TABLE=np.arange(3.0) + k, FACTOR=2.0 + k) for k in range(2))
    first, second = closure_of(np.ones(3)), closure_of(np.full(3, 5.0))

    def f(x):
        return one(x) + 10 * two(x) + 100 * first(x) + 1000 * second(x)

    assert mlirad.jit(f)(X) == f(X)
    np.testing.assert_allclose(mlirad.grad(f)(X), slope(f))
    separately = mlirad.jit(lambda x: mlirad.grad(first)(x) + 10 * mlirad.grad(second)(x))
    np.testing.assert_array_equal(separately(X), np.full(3, 51.0))
    two.__globals__["TABLE"] = np.arange(3.0) * 7
    assert mlirad.jit(f)(X) == f(X)


def test_namesakes_that_are_written() -> None:
    arrays = [np.zeros(3), np.zeros(3)]

    def adds_to(array: np.ndarray) -> Callable[..., Any]:
        def add(x):
            array[0] += x[0]
            return array

        return add

    one, two = map(adds_to, arrays)
    found = mlirad.jit(lambda x: (one(x), two(x * 10)))(X)
    assert found[0] is arrays[0] and found[1] is arrays[1]
    assert [array[0] for array in arrays] == [1.0, 10.0]


def test_what_an_operator_of_a_class_reads_is_guarded() -> None:
    one, other = Equal(1, 2.0), Equal(1, 3.0)
    captured = mlirad.jit(lambda x: x if one == other else -x)
    passed = mlirad.jit(lambda o, x: x if o == one else -x)
    for number in (1, 2, 1):
        other.number = number
        np.testing.assert_array_equal(captured(X), captured.numpy(X))
        np.testing.assert_array_equal(passed(other, X), passed.numpy(other, X))


CHANGING: list[tuple[Any, Callable[[Any, Any], Any]]] = [
    (OrderedDict(a=2.0), lambda o, x: x * o["a"]),
    (defaultdict(float, a=2.0), lambda o, x: x * o["a"]),
    (types.MappingProxyType({"a": 2.0}), lambda o, x: x * o["a"]),
    (deque([1.0]), lambda o, x: x * o[0]),
    (bytearray(b"a"), lambda o, x: x * o[0]),
    (Holder(w=2.0), lambda o, x: x * vars(o)["w"]),
]


@pytest.mark.parametrize(("thing", "function"), CHANGING, ids=lambda each: type(each).__name__)
def test_contents_that_cannot_be_guarded_are_refused(thing: Any, function: Callable[..., Any]) -> None:
    with pytest.raises(mlirad.CompileError, match=r"test_changing_surroundings.py"):
        mlirad.jit(function)(thing, X)
    with pytest.raises(mlirad.CompileError, match=r"may change between calls|vars is not supported"):
        mlirad.jit(lambda x: function(thing, x))(X)


@pytest.mark.parametrize("make", [lambda: np.matrix(np.eye(3)), lambda: np.ma.masked_array(X, [0, 1, 0])])
@pytest.mark.filterwarnings("ignore:the matrix subclass")
def test_arrays_that_mean_something_else_are_refused(make: Callable[[], Any]) -> None:
    array = make()
    product = mlirad.jit(lambda a: a * a)
    product(np.array(array))
    with pytest.raises(TypeError, match=r"a subclass of ndarray with operators of its own"):
        product(array)
    with pytest.raises(TypeError, match=r"test_changing_surroundings.py(.|\n)*a subclass of ndarray"):
        mlirad.jit(lambda x: array * x)(X)


def test_memory_maps_are_arrays(tmp_path) -> None:
    mapped = np.memmap(tmp_path / "x", dtype=np.float64, mode="w+", shape=3)
    mapped[:] = X
    mlirad.jit(lambda x: x.fill(2.0))(mapped)
    np.testing.assert_array_equal(mapped, [2.0, 2.0, 2.0])


class Scales(Hashed):
    def __call__(self, x):
        return np.sum(x * self.w)


class Unhashed(Equal):
    def __call__(self, x):
        return np.sum(x * self.w)


@pytest.mark.parametrize("kind", [Scales, Unhashed, lambda number, w: Layer(w)])
def test_transforms_of_equal_objects(kind: Callable[..., Any]) -> None:
    for w in (2.0, 3.0, np.arange(3.0)):
        each = kind(1, w)
        gradient = mlirad.grad(lambda x, each=each: np.sum(each(x)))
        expected = gradient(X)
        np.testing.assert_allclose(expected, slope(each), rtol=1e-9)
        own = mlirad.jit(each)
        assert np.sum(own(X)) == np.sum(each(X))
        np.testing.assert_array_equal(mlirad.vjp(each, X)[1](own(X) * 0 + 1.0)[0], expected)
        if not isinstance(each, Layer):
            np.testing.assert_array_equal(mlirad.grad(each)(X), expected)
    assert mlirad.grad(each.__call__) is mlirad.grad(each.__call__)


def test_an_array_around_the_function_is_changed_under_a_transform() -> None:
    model, other = Model(np.ones(3)), Model(np.ones(3))
    for _ in range(3):
        mlirad.grad(model.accumulates)(X)
        other.accumulates(X)
        np.testing.assert_array_equal(model.w, other.w)
