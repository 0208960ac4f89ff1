"""Random expressions, each a production of Python's grammar. They need not make sense: the generator tries them.

Reads: the bound names, and their values in a run. Writes: nothing. Leaves: source text.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Any

import numpy as np

from mlirad.testing.grammar import vocabulary

_BINARY = ("+", "-", "*", "/", "//", "%", "**", "@", "&", "|", "^", "<<", ">>")
_BINARY_WEIGHTS = (9, 8, 9, 5, 2, 2, 2, 2, 1, 1, 1, 1, 1)
_COMPARE = ("<", ">", "<=", ">=", "==", "!=")
_CONSTANTS = (
    *("0", "1", "2", "3", "-1", "5", "0.5", "1.5", "-0.25", "2.0", "1e-3", "True", "False", "200"),
    *("np.float32(0.5)", "np.int8(3)", "np.uint8(200)", "np.float64(1.25)", "np.int64(2)", "np.pi", "math.pi"),
)
_EXPONENTS = ("2", "3", "0.5", "-1", "1.5", "0", "np.int64(2)", "np.float32(2.0)", "np.uint8(3)", "True")


class Expressions:
    """`expression(depth)` over the names of `scope`."""

    def __init__(self, rng: Random, scope: Mapping[str, Any]):
        self.rng = rng
        self.scope = scope
        self.productions: Sequence[tuple[int, Callable[[int], str]]] = (
            (16, lambda depth: self.name()),
            (8, lambda depth: self.constant()),
            (22, self.binary),
            (4, self.unary),
            (5, self.compare),
            (2, self.boolean),
            (3, self.conditional),
            (16, self.subscript),
            (12, self.numpy_call),
            (5, self.method),
            (3, self.attribute),
            (5, self.builtin),
            (2, self.mathematics),
            (2, self.display),
            (2, self.comprehension),
            (1, self.called_lambda),
            (1, self.walrus),
        )
        self.weights = [weight for weight, _ in self.productions]

    def expression(self, depth: int) -> str:
        if depth <= 0:
            return self.name() if self.rng.random() < 0.7 else self.constant()
        (_, production) = self.rng.choices(self.productions, self.weights)[0]
        return production(depth - 1)

    def names(self, of: type | tuple[type, ...] = object) -> list[str]:
        return [name for name, value in self.scope.items() if isinstance(value, of)]

    def name(self, of: type | tuple[type, ...] = object) -> str:
        found = self.names(of) or [name for name, value in self.scope.items() if not callable(value)]
        return self.rng.choice(found) if found else self.constant()

    def array(self) -> str:
        return self.name(np.ndarray)

    def constant(self) -> str:
        return self.rng.choice(_CONSTANTS)

    def binary(self, depth: int) -> str:
        (symbol,) = self.rng.choices(_BINARY, _BINARY_WEIGHTS)
        # Python's own integers would grow without end.
        right = self.rng.choice(_EXPONENTS) if symbol in ("**", "<<") else self.expression(depth)
        return f"({self.expression(depth)} {symbol} {right})"

    def unary(self, depth: int) -> str:
        return f"({self.rng.choice(('-', '-', '+', 'not ', '~'))}{self.expression(depth)})"

    def compare(self, depth: int) -> str:
        parts = [self.expression(depth)]
        for _ in range(1 if self.rng.random() < 0.85 else 2):
            parts += [self.rng.choice(_COMPARE), self.expression(depth)]
        return f"({' '.join(parts)})"

    def boolean(self, depth: int) -> str:
        part = self.compare if self.rng.random() < 0.8 else self.expression
        return f"({part(depth)} {self.rng.choice(('and', 'or'))} {part(depth)})"

    def conditional(self, depth: int) -> str:
        left = self.expression(depth)
        right = f"{left} * 2" if self.rng.random() < 0.8 else self.expression(depth)
        return f"({left} if {self.compare(depth)} else {right})"

    def index(self, depth: int) -> str:
        small = str(self.rng.randrange(-2, 4))
        number = self.rng.choice([small, small, self.name((int, np.integer)), self.expression(depth - 1)])
        match self.rng.randrange(10):
            case 0 | 1 | 2 | 3:
                return number
            case 4 | 5:
                start, stop = (self.rng.choice(["", "", small, number]) for _ in range(2))
                step = self.rng.choice(["", "", "", ":2", ":-1"])
                return f"{start}:{stop}{step}"
            case 6:
                return f"{number}, {self.index(depth - 1)}" if depth > 0 else f"{number}, :"
            case 7:
                return f":, {number}"
            case 8:
                return self.rng.choice(["None, :", "..., 0", "...", ":, None"])
            case _:
                return self.rng.choice([f"{self.array()} > {self.constant()}", self.array()])

    def subscript(self, depth: int) -> str:
        return f"{self.name((np.ndarray, np.ndarray, list, tuple, dict))}[{self.index(depth)}]"

    def numpy_call(self, depth: int) -> str:
        name = vocabulary.draw(self.rng)
        while vocabulary.is_missing(f"np.{name}") and self.rng.random() < 0.98:
            name = vocabulary.draw(self.rng)
        least, most = vocabulary.arity(name)
        if most == 0:
            return f"np.{name}"
        count = self.rng.randint(least, most) if self.rng.random() < 0.3 else least
        given = [self.array() if self.rng.random() < 0.5 else self.expression(depth) for _ in range(count)]
        if name.endswith(("stack", "concatenate")):
            given = [f"({self.array()}, {self.array()})"]
        elif name == "einsum":
            given = [self.rng.choice(["'i,i->'", "'i,j->ij'", "'ij,j->i'", "'ii->i'", "'ij->ji'"]), *given]
        elif name in ("zeros", "ones", "arange", "eye", "identity", "linspace"):
            given = [self.rng.choice(["3", "4", f"{self.array()}.shape[0]", self.name(int)]) for _ in given]
        known = vocabulary.keywords(name)
        if known and self.rng.random() < 0.35:
            given.append(self.keyword(self.rng.choice(known)))
        return f"np.{name}({', '.join(given)})"

    def keyword(self, key: str) -> str:
        values = {"axis": ("0", "1", "-1", "None"), "keepdims": ("True",)}
        dtypes = ("np.float32", "np.float64", "np.int64", "float", "int", "bool", "np.uint8")
        return f"{key}={self.rng.choice(values.get(key, dtypes))}"

    def method(self, depth: int) -> str:
        name = self.rng.choice(vocabulary.METHODS)
        while vocabulary.is_missing(f".{name}") and self.rng.random() < 0.98:
            name = self.rng.choice(vocabulary.METHODS)
        arguments = {
            "reshape": ["-1", "-1, 1", "2, -1"],
            "astype": ["np.float32", "np.int64", "float", "np.uint8", "bool"],
            "take": ["[0, 1]"],
            "repeat": ["2"],
            "swapaxes": ["0, -1"],
            "clip": ["-1, 1", "0.0, None"],
            "dot": [self.array()],
            "fill": [self.constant()],
        }.get(name, ["", "", "axis=0", "axis=-1, keepdims=True", "0"])
        return f"{self.array()}.{name}({self.rng.choice(arguments)})"

    def attribute(self, depth: int) -> str:
        name = self.rng.choice(vocabulary.ATTRIBUTES)
        return f"{self.array()}.{name}" + ("[0]" if name == "shape" and self.rng.random() < 0.8 else "")

    def builtin(self, depth: int) -> str:
        name = self.rng.choice(vocabulary.BUILTINS)
        count = 2 if name in ("divmod", "pow") or (name in ("min", "max") and self.rng.random() < 0.6) else 1
        return f"{name}({', '.join(self.expression(depth) for _ in range(count))})"

    def mathematics(self, depth: int) -> str:
        name = self.rng.choice(vocabulary.MATH)
        while vocabulary.is_missing(f"math.{name}") and self.rng.random() < 0.98:
            name = self.rng.choice(vocabulary.MATH)
        if name == "pi":
            return "math.pi"
        count = 2 if name in ("atan2", "hypot", "pow") else 1
        return f"math.{name}({', '.join(self.expression(depth) for _ in range(count))})"

    def display(self, depth: int) -> str:
        items = ", ".join(self.expression(depth) for _ in range(self.rng.randint(1, 3)))
        return self.rng.choice([f"({items},)", f"[{items}]", f"{{'u': {self.expression(depth)}}}", f"[*{self.name()}]"])

    def comprehension(self, depth: int) -> str:
        name = self.rng.choice("pqr")
        source = self.iterable()
        inner = Expressions(self.rng, {**self.scope, name: 1})
        body = inner.expression(depth)
        test = f" if {inner.compare(depth - 1)}" if self.rng.random() < 0.2 else ""
        shape = self.rng.choice(["[{}]", "np.array([{}])", "sum({})", "max([{}])", "tuple([{}])"])
        return shape.format(f"{body} for {name} in {source}{test}")

    def iterable(self) -> str:
        array, count = self.array(), self.rng.choice(["2", "3", self.name(int), f"len({self.array()})"])
        return self.rng.choice(
            [f"range({count})", f"range({count})", array, f"range(1, {count})", f"reversed(range({count}))"]
        )

    def called_lambda(self, depth: int) -> str:
        inner = Expressions(self.rng, {**self.scope, "t": self.scope.get(self.name(), 1)})
        return f"(lambda t: {inner.expression(depth)})({self.expression(depth)})"

    def walrus(self, depth: int) -> str:
        return f"({self.rng.choice(self.names() or ['w0'])} := {self.expression(depth)})"
