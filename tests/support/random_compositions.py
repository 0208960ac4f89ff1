"""Programs that compose, curry, return and store functions, ten deep, from seeds.

`composed(seed, grad, jvp)` is a function of one number that calls the composition, with these transforms. Some build
their functions in it, others around it.
"""

from __future__ import annotations

import linecache
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

DEPTH = 10
# How many calls of the functions at the leaves a program makes at most.
CALLS = 60

PRELUDE = """\
from functools import partial, reduce, wraps
import numpy as np

def sine(x):
    return np.sin(x)

def squash(x, scale=0.9):
    return np.tanh(scale * x)

def two(a, b):
    return a * 0.5 + np.cos(b)

def compose(f, g):
    def h(x):
        return f(g(x))
    return h

def compose_lambda(f, g):
    return lambda x: f(g(x))

def compose_all(*fs):
    return reduce(compose, fs)

def twice(f):
    def h(x):
        return f(f(x))
    return h

def times(f, n):
    if n == 0:
        return lambda x: x
    return compose(f, times(f, n - 1))

def curry(f):
    return lambda a: lambda b: f(a, b)

def blend(f, g, w=0.25):
    def h(x):
        return w * f(x) + (1.0 - w) * g(x)
    return h

def layer(weight, bias, following):
    def apply(x):
        return following(np.tanh(weight * x + bias))
    return apply

def scaled(by):
    def decorate(f):
        @wraps(f)
        def wrapper(*args, **named):
            return by * f(*args, **named)
        return wrapper
    return decorate

def counting(f):
    calls = 0.0
    def h(x):
        nonlocal calls
        calls += 1.0
        return f(x) + 0.01 * calls
    return h

def choose(f, g):
    def h(x):
        if x > 0.3:
            return f(x)
        return g(x)
    return h

def nth_derivative(f, n):
    if n == 0:
        return f
    return nth_derivative(grad(f), n - 1)

def slope(f):
    def h(x):
        return jvp(f, (x,), (1.0,))[1]
    return h

def damped(f):
    def visit(x, left):
        if left < 1.0:
            return f(x)
        return 0.5 * visit(x, left - 1.0)
    return lambda x: visit(x, 2.5)

class Holder:
    def __init__(self, f, w):
        self.f = f
        self.w = w
    def __call__(self, x):
        return self.w * self.f(x)
    def method(self, x):
        return self.f(x) - self.w

"""


@dataclass(frozen=True)
class Function:
    """A function of the program: its name, how many calls a call of it makes, and how often it is differentiated."""

    name: str
    calls: int = 1
    order: int = 0
    is_pure: bool = True


@dataclass
class Writer:
    rng: random.Random
    is_inside: bool

    def __post_init__(self) -> None:
        self.lines: list[str] = []
        self.known = [Function("sine"), Function("squash")]

    def number(self) -> str:
        return f"{self.rng.uniform(0.2, 1.1):.3f}"

    def statements(self, name: str, f: Function, g: Function) -> list[tuple[list[str], Function]]:
        """The ways to make a function of two others."""
        both, pure = f.calls + g.calls, f.is_pure and g.is_pure
        order, c = max(f.order, g.order), self.number()
        one = Function(name, f.calls, f.order, f.is_pure)
        two = Function(name, both, order, pure)
        a, b = f.name, g.name
        ways = [
            ([f"{name} = compose({a}, {b})"], two),
            ([f"{name} = compose_lambda({b}, {a})"], two),
            ([f"{name} = compose_all({a}, sine, {b})"], two),
            ([f"{name} = twice({a})"], Function(name, 2 * f.calls, f.order, f.is_pure)),
            ([f"{name} = times({a}, 3)"], Function(name, 3 * f.calls, f.order, f.is_pure)),
            ([f"{name} = compose(curry(two)({c}), {a})"], one),
            ([f"{name} = compose(partial(two, {c}), {a})"], one),
            ([f"{name} = partial(squash, scale={c})", f"{name} = compose({name}, {a})"], one),
            ([f"{name} = blend({a}, {b}, w={c})"], two),
            ([f"{name} = layer({c}, 0.1, {a})"], one),
            ([f"{name} = scaled({c})({a})"], one),
            ([f"{name} = choose({a}, {b})"], two),
            ([f"{name} = damped({a})"], Function(name, 4 * f.calls, f.order, f.is_pure)),
            ([f"{name} = lambda x, f={a}, c={c}: c * f(x)"], one),
            ([f"@scaled({c})", f"def {name}(x):", f"    return {a}(x) + {b}(x)"], two),
            ([f"{name} = [{a}, {b}][1]", f"{name} = compose({a}, {name})"], two),
            ([f"{name} = {{'a': {a}, 'b': {b}}}", f"{name} = blend({name}['a'], {name}['b'])"], two),
            ([f"{name} = (lambda fs: lambda x: fs[0](fs[1](x)))(({a}, {b}))"], two),
        ]
        if not self.is_inside:
            ways.append(([f"{name} = Holder({a}, {c})"], one))
            ways.append(([f"{name} = Holder({a}, {c}).method"], one))
        else:
            loop = [f"{name} = {b}", "for k in range(3):", f"    {name} = layer(0.5 + 0.1 * k, 0.05, {name})"]
            ways.append((loop, Function(name, g.calls, g.order, g.is_pure)))
            ways.append(([f"{name} = counting({a})"], Function(name, f.calls, f.order, False)))
        if f.is_pure and f.order < 2:
            # Callees of a derivative are outlined: they may not count their calls.
            for text, orders in ((f"grad({a})", 1), (f"slope({a})", 1), (f"nth_derivative({a}, 2)", 2)):
                if f.order + orders <= 2:
                    ways.append(([f"{name} = {text}"], Function(name, 4**orders * f.calls, f.order + orders, True)))
        return [way for way in ways if way[1].calls <= CALLS]

    def written(self) -> str:
        for number in range(DEPTH):
            deepest, other = self.known[-1], self.rng.choice(self.known)
            ways = self.statements(f"f{number}", deepest, other) + self.statements(f"f{number}", other, deepest)[:3]
            lines, made = self.rng.choice(ways)
            self.lines += lines
            self.known.append(made)
        last = self.known[-1].name
        if self.is_inside:
            body = [*self.lines, f"return {last}(x)"]
            return "def f(x):\n" + "".join(f"    {line}\n" for line in body)
        return "\n".join(self.lines) + f"\n\ndef f(x):\n    return {last}(x)\n"


def own_text(seed: int) -> str:
    """A program without the functions that all of them have."""
    rng = random.Random(seed)
    return Writer(rng, rng.random() < 0.5).written()


def composed(seed: int, grad: Any, jvp: Any) -> Callable[[Any], Any]:
    source = PRELUDE + own_text(seed)
    name = f"<composition {seed}>"
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    space: dict[str, Any] = {"np": np, "grad": grad, "jvp": jvp, "__name__": f"composition_{seed}"}
    exec(compile(source, name, "exec"), space)
    return space["f"]
