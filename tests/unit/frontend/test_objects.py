"""Objects of the user's classes created in the program: the same results as from the class in Python."""

# The programs are given objects that pyright does not know, and some are wrong.
# pyright: reportAttributeAccessIssue=false, reportCallIssue=false, reportOperatorIssue=false
# pyright: reportArgumentType=false, reportIndexIssue=false, reportPossiblyUnboundVariable=false

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import InitVar, dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pytest
from run_frontend import call, compile_for

import mlirad
from mlirad.errors import CompileError

X, Y = np.array([1.5, -2.0, 0.5]), np.array([0.25, 3.0, 0.5])


class Plain:
    scale = 3.0

    def __init__(self, a, b=2.0, *, c=1.0):
        self.a, self.b = a, b
        self.total = 0.0
        self.history = []
        self.c = c * self.scale

    def push(self, value):
        self.total += value * self.b
        self.history.append(value)
        return self

    @property
    def mean(self):
        return self.total / max(len(self.history), 1)

    @staticmethod
    def twice(x):
        return 2 * x

    def __call__(self, x):
        return self.a * x + self.c


class Derived(Plain):
    def push(self, value):
        self.total -= value
        return self


class Empty:
    pass


class Vector:
    def __init__(self, x, y):
        self.x, self.y = x, y

    def __add__(self, other):
        return Vector(self.x + other.x, self.y + other.y) if isinstance(other, Vector) else NotImplemented

    def __radd__(self, other):
        return Vector(self.x + other, self.y + other)

    def __iadd__(self, other):
        self.x += other.x
        return self

    def __mul__(self, k):
        return Vector(self.x * k, self.y * k)

    __rmul__ = __mul__

    def __matmul__(self, other):
        return self.x * other.x + self.y * other.y

    def __neg__(self):
        return Vector(-self.x, -self.y)

    def __eq__(self, other):
        return self.x == other.x and self.y == other.y

    def __lt__(self, other):
        return self.x < other.x

    def __getitem__(self, index):
        return (self.x, self.y)[index]

    def __setitem__(self, index, value):
        if index == 0:
            self.x = value
        else:
            self.y = value

    def __len__(self):
        return 2

    def __contains__(self, value):
        return bool(value == self.x)

    def __bool__(self):
        return bool(self.x > 0)


class Longer(Vector):
    def __radd__(self, other):
        return Longer(100.0, self.y)

    def __gt__(self, other):
        return True


class Shifted(NamedTuple):
    x: float
    y: float

    def __add__(self, other):
        return Shifted(self.x + other.x, self.y + other.y)


@dataclass
class Made:
    a: float
    items: list = field(default_factory=list)
    weights: np.ndarray = field(default_factory=lambda: np.ones(3))
    zeros: np.ndarray = field(default_factory=functools.partial(np.zeros, 3))
    named: dict = field(default_factory=dict)
    norm: float = field(init=False)
    count: int = field(default=0, init=False)
    k: float = field(default=2.0, kw_only=True)
    shared: ClassVar[float] = 7.0

    def __post_init__(self):
        self.norm = abs(self.a) * self.k
        self.named["norm"] = self.norm


@dataclass(order=True)
class Ordered:
    a: float
    b: float


def attributes_and_methods(x, y):
    p = Plain(x[0], c=y[1])
    for i in range(3):
        p.push(x[i]).push(1.0)
    return p.total, p.mean, p(x), p.twice(p.a), len(p.history), p.scale, p.c


def replaced_and_defaulted(x, y):
    s = Shifted(x[0], 1.0)
    for value in y:
        s = s._replace(y=s.y + value)
    kept = {}
    for i in range(4):
        kept.setdefault(i % 2, []).append(x[i % 3])
    kept.setdefault("none")
    ends = max([], default=y[0]), min(x, default=0.0), max((v * v for v in x), default=0.0)
    return s, Shifted(2.0, 3.0)._replace(), kept[0], kept[1], len(kept), ends


def derived_class(x, y):
    p = Derived(y[0], 5.0)
    for value in x:
        p = p.push(value)
    return p.total, isinstance(p, Plain), type(p) is Derived, p.mean


def carried_through_loops_and_branches(x, y):
    p, n = Plain(0.0), 0
    while p.total < 20.0 and n < 30:
        if x[n % 3] > 0:
            p.total += x[n % 3] * 2
        else:
            p.b *= 0.5
            p.total += 1.0
        n += 1
    return p.total, p.b, n


def arrays_in_objects_are_shared(x, y):
    e = Empty()
    e.x = x
    e.x[0] = 5.0
    e.y = e.x
    e.y *= 2.0
    other = e
    other.z = y.sum()
    return x, e.y, e.z, hasattr(e, "w"), e is other


def operators(x, y):
    a, b = Vector(x[0], y[0]), Vector(x[1], y[1])
    c = a + b
    d = 2.0 * c * 3.0
    e = 1.0 + d
    e += a
    e[1] = -e[0]
    f = sum([a, b], Vector(0.0, 0.0))
    return c.x, d.y, e.x, e.y, a @ b, (-a)[0], len(a), f.x


def comparisons(x, y):
    a, b, c = Vector(x[0], y[0]), Vector(x[0], y[0]), Vector(x[1], y[1])
    truths = [a == b, a != b, a == c, a != c, a < c, a > c, x[0] in a, y[1] in a]
    return [1.0 if each else 0.0 for each in truths], 1.0 if a else 0.0, 1.0 if not c else 0.0


def derived_operands_are_asked_first(x, y):
    a, b = Vector(x[0], y[0]), Longer(x[1], y[1])
    c = a + b
    return c.x, c.y, a < b, type(c) is Longer


def operators_of_named_tuples(x, y):
    c = Shifted(x[0], y[0]) + Shifted(x[1], y[1])
    return c.x, c.y, len(c)


def dataclass_with_factories(x, y):
    p, q = Made(x[0]), Made(x[1], k=y[0])
    p.items.append(3.0)
    p.weights[0] = 4.0
    p.zeros += 1.0
    return (
        p.norm,
        q.norm,
        p.items,
        len(q.items),
        p.weights + q.weights,
        p.zeros,
        q.zeros,
        p.named["norm"],
        p.count,
        q.shared,
    )


def dataclasses_compared(x, y):
    a, b, c = Ordered(x[0], y[0]), Ordered(x[0], y[1]), Ordered(x[0], y[0])
    return [1.0 if each else 0.0 for each in (a == b, a == c, a != b, a < b, a <= c, b < a, b >= a)]


PROGRAMS = [
    attributes_and_methods,
    replaced_and_defaulted,
    derived_class,
    carried_through_loops_and_branches,
    arrays_in_objects_are_shared,
    operators,
    comparisons,
    derived_operands_are_asked_first,
    operators_of_named_tuples,
    dataclass_with_factories,
    dataclasses_compared,
]


def same(want: Any, got: Any) -> None:
    assert type(want) is type(got)
    if isinstance(want, tuple | list):
        assert len(want) == len(got)
        for each, other in zip(want, got, strict=True):
            same(each, other)
    else:
        np.testing.assert_array_equal(want, got)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda each: each.__name__)
def test_means_what_python_means(program: Callable[..., Any]) -> None:
    for x, y in ((X, Y), (Y, X), (-X, X), (X[::-1].copy(), X)):
        given, other = x.copy(), x.copy()
        same(program(given, y.copy()), call(program, other, y.copy()))
        np.testing.assert_array_equal(given, other)


def test_objects_are_differentiated_through() -> None:
    def loss(x, y):
        total = 0.0
        p = Plain(x[0], b=y[2], c=y[1])
        for i in range(3):
            total += p.push(x[i] * x[i]).mean * p(x[i])
        v = 2.0 * (Vector(x[0], x[1]) + Vector(total, y[0]))
        return v @ v + p.total

    got = mlirad.grad(loss, argnums=(0, 1))(X, Y)
    for k, gradient in enumerate(got):
        for i in range(3):
            h, args = 1e-6, [[X.copy(), Y.copy()], [X.copy(), Y.copy()]]
            args[0][k][i] += h
            args[1][k][i] -= h
            assert gradient[i] == pytest.approx((loss(*args[0]) - loss(*args[1])) / (2 * h), rel=1e-5)


class Slotted:
    __slots__ = ("a",)

    def __init__(self, a):
        self.a = a


def setattr_of(slotted):
    slotted.b = 1.0
    return slotted.a


class Guarded:
    def __init__(self, a):
        self.a = a

    def __setattr__(self, name, value):
        object.__setattr__(self, name, value * 2)


class Computed:
    def __init__(self, a):
        self.b = a

    def __getattr__(self, name):
        return 3.0


class New:
    def __new__(cls, a):
        return object.__new__(cls)


class Limited:
    def __init__(self, a):
        self.a = a

    @property
    def a(self):
        return self._a

    @a.setter
    def a(self, value):
        self._a = value


class Meta(type):
    def __call__(cls, a):
        return super().__call__(a * 2)


class Counted(metaclass=Meta):
    def __init__(self, a):
        self.a = a


@dataclass
class Pseudo:
    a: float
    scale: InitVar[float] = 2.0

    def __post_init__(self, scale):
        self.a *= scale


def in_one_branch(x):
    p = Empty()
    if x[0] > 0:
        p.a = x[0]
    return getattr(p, "a", 0.0)


REFUSED = [
    (lambda x: setattr_of(Slotted(x[0])), "'Slotted' object has no attribute 'b'"),
    (lambda x: Guarded(x[0]).a, "Guarded has a __setattr__ of its own"),
    (lambda x: Computed(x[0]).a, "Computed has a __getattr__"),
    (lambda x: New(x[0]).a, "New is made by code that is not its __init__"),
    (lambda x: Counted(x[0]).a, "Counted has a metaclass of its own"),
    (lambda x: Limited(x[0]).a, "the attribute 'a' of Limited has a setter"),
    (lambda x: Pseudo(x[0]).a, "Pseudo runs code of its own"),
    (lambda x: Plain(x[0]), "cannot return an object of class Plain"),
    (lambda x: Made(x[0]), "cannot return an object of class Made"),
    (lambda x: x[0] + Vector(x[0], 1.0), "NumPy treats"),
    (lambda x: x + Vector(x[0], 1.0), "NumPy treats"),
    (lambda x: np.sin(Plain(x[0])), "an object of class Plain cannot be an operand"),
    (lambda x: Plain(x[0]) < Plain(x[1]), "< of an object of class Plain"),
    (lambda x: Plain(x[0])[0], "an object of class Plain cannot be indexed"),
    (in_one_branch, "which attributes this Empty has depends on data"),
    (lambda x: Plain(), "missing the argument 'a'"),
    (lambda x: Empty(x), r"Empty\(\) takes no arguments"),
]


@pytest.mark.parametrize(("program", "message"), REFUSED, ids=lambda x: x if isinstance(x, str) else "")
def test_what_is_more_than_its_attributes_is_refused(program: Callable[..., Any], message: str) -> None:
    with pytest.raises(CompileError, match=message):
        compile_for(program, X)


def test_an_init_that_is_replaced_is_compiled_again() -> None:
    class Changing:
        def __init__(self, a):
            self.a = a

    kernel = mlirad.jit(lambda x: Changing(x).a * 2.0)
    assert kernel(3.0) == 6.0

    def other(self, a):
        self.a = -a

    Changing.__init__ = other
    assert kernel(3.0) == -6.0


def test_rounding_and_keys() -> None:
    def rounded(x):
        return round(x)

    tries = [0.5, -0.5, 1.5, 2.5, -2.5, 0.49999999999999994, -0.49999999999999994, 2.0**52 + 1, 1e18, np.float32(3.5)]
    rng = np.random.default_rng(3)
    for x in (*tries, *(rng.uniform(-1, 1, 40) * 10.0 ** rng.integers(-3, 17, 40)), 7, True, np.int8(4)):
        same(rounded(x), call(rounded, x))
    for x, error in ((math.nan, ValueError), (math.inf, OverflowError)):
        with pytest.raises(error):
            mlirad.jit(rounded)(x)

    def chosen(x):
        best = max(range(3), key=lambda i: x[i])
        return best, min([x[0], x[1]], key=abs), max(x, key=lambda v: -v), max(x[0], x[1], key=None)

    for x in (X, Y, np.array([3.0, 3.0, -1.0])):
        same(chosen(x), call(chosen, x))
