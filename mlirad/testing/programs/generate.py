"""Random programs: plain NumPy functions with loops, branches, views and updates in place, from a seed.

Reads: a seed and a bias. Writes: nothing. Leaves: source text, and arguments to call it with.

`mixed` spreads over everything; `alias` is dense in views, swaps, helpers that write, and references that depend on
branches. The same seed gives the same program, on every machine.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np

from mlirad.testing.programs.expressions import Expressions
from mlirad.testing.programs.kinds import Array, Bool, Float, Int, Kind, Shape

BIASES = ("mixed", "alias")

_PARAMETERS: dict[str, Kind] = {
    "x": Array((5,)),
    "y": Array((5,)),
    "z": Array((3,)),
    "m": Array((3, 4)),
    "w": Array((4,)),
    "q": Array((5,), "int64"),
    "g": Array((5,), "float32"),
    "a": Float(),
    "b": Float(),
    "n": Int(0, 3),
    "k": Int(-2, 2),
}
_WEIGHTS: dict[str, dict[str, int]] = {
    "mixed": {
        "number": 6, "rebind": 4, "element": 6, "update": 6, "slice": 5, "view": 3, "local": 3, "branch": 5, "count": 6,
        "until": 3, "flag": 2, "swap": 2, "helper": 3, "pair": 1, "rows": 1, "other": 2, "integer": 3, "leave": 2,
        "closure": 1, "pairs": 1, "early": 1,
    },
    "alias": {
        "number": 2, "rebind": 4, "element": 4, "update": 6, "slice": 7, "view": 9, "local": 1, "branch": 5, "count": 5,
        "until": 2, "flag": 1, "swap": 6, "helper": 6, "pair": 3, "rows": 2, "other": 1, "integer": 2, "leave": 1,
        "closure": 3, "pairs": 2, "early": 0,
    },
}  # fmt: skip


@dataclass(frozen=True)
class Program:
    """`source` defines f; loss, the number to differentiate; outs, f's float results as a function of `floats` only."""

    seed: int
    bias: str
    source: str
    parameters: dict[str, Kind]

    @property
    def floats(self) -> tuple[str, ...]:
        """The parameters that have derivatives."""
        return tuple(name for name, kind in self.parameters.items() if is_float(kind))

    def arguments(self, number: int, generic: bool = False) -> list[Any]:
        """The arguments of call `number`: multiples of 1/4, or generic ones (away from ties) to differentiate at."""
        rng = np.random.default_rng([self.seed, number, generic])
        return [_argument(kind, rng, generic) for kind in self.parameters.values()]


def is_float(kind: Kind) -> bool:
    return isinstance(kind, Float) or (isinstance(kind, Array) and kind.dtype.startswith("float"))


def _argument(kind: Kind, rng: np.random.Generator, generic: bool) -> Any:
    match kind:
        case Array(shape, "int64"):
            return rng.integers(-4, 5, shape)
        case Array(shape, dtype):
            values = rng.uniform(-2, 2, shape) if generic else rng.integers(-12, 13, shape) / 4
            return np.ascontiguousarray(values, dtype)
        case Float():
            return float(rng.uniform(-2, 2) if generic else rng.integers(-12, 13) / 4)
        case Int(low, high):
            return int(rng.integers(low, high + 1))
        case Bool():
            return bool(rng.integers(2))


@dataclass(frozen=True)
class Helper:
    name: str
    parameters: tuple[Kind, ...]
    result: Kind | None


def generate(seed: int, bias: str) -> Program:
    rng = Random(f"{bias}:{seed}")
    helpers = [_Function(rng, bias, []).helper(f"h{number}") for number in range(rng.randrange(3))]
    chosen = {name: kind for name, kind in _PARAMETERS.items() if rng.random() < _likelihood(name)}
    main = _Function(rng, bias, [helper for helper, _ in helpers], is_main=True)
    text, results = main.main(chosen)
    parts = ["import numpy as np", *(text for _, text in helpers), text, _loss(chosen, results), _outs(chosen, results)]
    return Program(seed, bias, "\n\n\n".join(parts) + "\n", chosen)


def _likelihood(name: str) -> float:
    return {"x": 1.0, "m": 0.6, "q": 0.2, "g": 0.1, "w": 0.3, "b": 0.3, "n": 0.8}.get(name, 0.5)


def _terms(parameters: dict[str, Kind], results: list[Kind]) -> list[tuple[str, Kind]]:
    parts = [(f"r[{index}]", kind) for index, kind in enumerate(results) if is_float(kind)]
    return parts + [(name, kind) for name, kind in parameters.items() if is_float(kind) and isinstance(kind, Array)]


def _loss(parameters: dict[str, Kind], results: list[Kind]) -> str:
    lines = [f"def loss({', '.join(parameters)}):", f"    r = f({', '.join(parameters)})", "    t = 0.0"]
    for number, (part, kind) in enumerate(_terms(parameters, results)):
        weight = (number + 2) / 8
        lines.append(f"    t = t + np.sum({part} * ({part} + {weight}))" if isinstance(kind, Array) else
                     f"    t = t + {part} * {weight}")  # fmt: skip
    return "\n".join([*lines, "    return t"])


def _outs(parameters: dict[str, Kind], results: list[Kind]) -> str:
    floats = [name for name, kind in parameters.items() if is_float(kind)]
    passed = [
        name if name in floats else f"fixed_{name}" + (".copy()" if isinstance(kind, Array) else "")
        for name, kind in parameters.items()
    ]
    parts = [f"{part} * 1.0" for part, _ in _terms(parameters, results)]
    lines = [f"def outs({', '.join(floats)}):", f"    r = f({', '.join(passed)})", f"    return ({', '.join(parts)},)"]
    return "\n".join(lines)


class _Function:
    """Writes one function. `frozen`: names that only the loop they belong to may change."""

    def __init__(self, rng: Random, bias: str, helpers: list[Helper], is_main: bool = False):
        self.rng = rng
        self.is_main = is_main
        self.bias = bias
        self.helpers = helpers
        self.expressions = Expressions(rng, {}, smooth=rng.choice([0.0, 0.1, 0.25]))
        self.lines: list[str] = []
        self.depth = 0
        self.loops = 0
        self.frozen: set[str] = set()
        self.outer: set[str] = set()
        self.count = 0

    # The function as a whole.

    def main(self, parameters: dict[str, Kind]) -> tuple[str, list[Kind]]:
        self.expressions.scope = dict(parameters)
        self.frozen = {name for name, kind in parameters.items() if isinstance(kind, Int)}
        self.line(f"def f({', '.join(parameters)}):")
        with self.block():
            for _ in range(self.rng.randrange(4, 10)):
                self.statement()
            scope = self.expressions.scope
            held = [name for name, kind in scope.items() if not isinstance(kind, Int) or name not in self.frozen]
            if any(line.endswith("return EARLY") for line in self.lines):
                held = [name for name in parameters if is_float(parameters[name])]  # they are bound everywhere
            chosen = self.rng.sample(held, min(len(held), self.rng.randrange(1, 4)))
            shown = [
                f"{name}.copy()" if isinstance(scope[name], Array) and self.rng.random() < 0.8 else name
                for name in chosen
            ]
            self.line(f"return ({', '.join(shown)},)")
            text = "\n".join(self.lines).replace("EARLY", f"({', '.join(shown)},)")
            return text, [scope[name] for name in chosen]

    def helper(self, name: str) -> tuple[Helper, str]:
        rng = self.rng
        shapes = rng.sample([(5,), (3,), (4,), (2,), (3, 4)], rng.randrange(1, 3))
        kinds: list[Kind] = [Array(shape) for shape in shapes]
        if rng.random() < 0.5:
            kinds.append(Float())
        names = [f"p{index}" for index in range(len(kinds))]
        self.expressions.scope = dict(zip(names, kinds, strict=True))
        self.line(f"def {name}({', '.join(names)}):")
        with self.block():
            self.write_something()
            for _ in range(rng.randrange(3)):
                self.statement()
            result = self.helper_result(shapes[0])
        return Helper(name, tuple(kinds), result), "\n".join(self.lines)

    def helper_result(self, shape: Shape) -> Kind | None:
        match self.rng.randrange(4):
            case 0:
                return None
            case 1:
                self.line(f"return {self.expressions.number(2)}")
                return Float()
            case 2:
                self.line(f"return {self.expressions.view(shape)}")
                return Array(shape)
            case _:
                self.line(f"return {self.expressions.array(shape, 2)}")
                return Array(shape)

    # Lines and scopes.

    def line(self, text: str) -> None:
        self.lines.append("    " * self.depth + text)

    @contextmanager
    def block(self) -> Iterator[None]:
        """What is bound inside is not seen after it."""
        before, frozen, outer = dict(self.expressions.scope), set(self.frozen), set(self.outer)
        self.outer = set(before)
        self.depth += 1
        yield
        self.depth -= 1
        self.expressions.scope, self.frozen, self.outer = before, frozen, outer

    def fresh(self, prefix: str) -> str:
        self.count += 1
        return f"{prefix}{self.count}"

    def target(self, kind: Kind, prefix: str) -> str:
        """A name to bind to a value of this kind: a new one, or one that holds such a value."""
        held = [n for n, k in self.expressions.scope.items() if k == kind and n not in self.frozen]
        if held and (self.depth > 1 or self.rng.random() < 0.3) and self.rng.random() < 0.6:
            return self.rng.choice(held)
        return self.fresh(prefix)

    def bind(self, kind: Kind, prefix: str, value: str) -> None:
        name = self.target(kind, prefix)
        self.line(f"{name} = {value}")
        self.expressions.scope[name] = kind

    def statement(self) -> None:
        weights = dict(_WEIGHTS[self.bias])
        if self.depth >= 3:
            weights = {kind: weight for kind, weight in weights.items() if kind not in _NESTED}
        if not self.loops:
            weights.pop("leave", None)
        if not self.is_main:
            weights["early"] = 0
        kind = self.rng.choices(list(weights), list(weights.values()))[0]
        getattr(self, f"write_{kind}")()

    def body(self, least: int = 1) -> None:
        for _ in range(self.rng.randrange(least, 4)):
            self.statement()

    # Straight-line statements.

    def write_something(self) -> None:
        self.rng.choice([self.write_element, self.write_update, self.write_slice])()

    def write_number(self) -> None:
        held = [n for n, k in self.expressions.scope.items() if isinstance(k, Float) and n not in self.frozen]
        if held and self.rng.random() < 0.5:
            self.line(f"{self.rng.choice(held)} {self.rng.choice(['+=', '-=', '*='])} {self.expressions.number(1)}")
        else:
            self.bind(Float(), "s", self.expressions.number(2))

    def write_integer(self) -> None:
        self.bind(Int(0, 4), "i", f"({self.expressions.integer()}) % 5")

    def write_rebind(self) -> None:
        shape = self.rng.choice(self.expressions.shapes())
        self.bind(Array(shape), "t", self.expressions.array(shape, 2))

    def write_local(self) -> None:
        rng = self.rng
        shape = rng.choice([(5,), (3,), (4,), (3, 4), (2,)])
        same = self.expressions.names(Array, shape)
        made = [f"np.zeros({shape})", f"np.ones({shape})", f"np.full({shape}, {self.expressions.number(1)})"]
        made += [f"{name}.copy()" for name in same] + [f"np.zeros_like({name})" for name in same]
        self.bind(Array(shape), "t", rng.choice(made))

    def write_view(self) -> None:
        rng, expressions = self.rng, self.expressions
        shape = rng.choice([*expressions.shapes(), (2,), (3,), (4,)])
        if rng.random() < 0.25:
            value = f"{expressions.view(shape)} if {expressions.condition()} else {expressions.view(shape)}"
        else:
            value = expressions.view(shape)
        self.bind(Array(shape), "v", value)

    def write_element(self) -> None:
        arrays = self.expressions.arrays()
        if arrays:
            where = self.expressions.element(*self.rng.choice(arrays))
            sign = self.rng.choice(["=", "=", "+=", "-=", "*="])
            self.line(f"{where} {sign} {self.expressions.number(2 if sign == '=' else 1)}")

    def write_update(self) -> None:
        name, shape = self.rng.choice(self.expressions.arrays() or [("", ())])
        if name:
            sign = self.rng.choice(["+=", "-=", "*="])
            value = self.expressions.number(1) if self.rng.random() < 0.4 else self.expressions.array(shape, 1)
            self.line(f"{name} {sign} {value}")

    def write_slice(self) -> None:
        rng, expressions = self.rng, self.expressions
        shape = rng.choice([*expressions.shapes(), (2,), (3,)])
        where = expressions.view(shape)
        if "[" not in where or where.startswith("np."):
            return self.write_element()
        sign = rng.choice(["=", "=", "+=", "-=", "*="])
        value = expressions.number(1) if rng.random() < 0.3 else expressions.array(shape, 1)
        return self.line(f"{where} {sign} {value}")

    def write_swap(self) -> None:
        rng, scope = self.rng, self.expressions.scope
        names = [name for name in scope if name not in self.frozen and not isinstance(scope[name], Int)]
        if not names:
            return None
        first = rng.choice(names)
        alike = [name for name in names if scope[name] == scope[first] and name != first]
        if not alike:
            return self.write_view()
        second = rng.choice(alike)
        if rng.random() < 0.25:
            kind = scope[first]
            value = (
                self.expressions.array(kind.shape, 1) if isinstance(kind, Array) and kind.dtype == "float64" else second
            )
            return self.line(f"{first}, {second} = {second}, {value}" if value != second else f"{first} = {second}")
        return self.line(f"{first}, {second} = {second}, {first}")

    def write_pair(self) -> None:
        """A tuple made, changed through, and taken apart."""
        shape = self.rng.choice(self.expressions.shapes())
        name = self.fresh("p")
        self.line(f"{name} = ({self.expressions.view(shape)}, {self.expressions.number(1)})")
        first, second = self.fresh("t"), self.fresh("s")
        if self.rng.random() < 0.5:
            self.line(f"{name}[0][{', '.join(self.expressions.index(size) for size in shape)}] += 0.5")
        self.line(f"{first}, {second} = {name}")
        self.expressions.scope |= {first: Array(shape), second: Float()}

    def write_helper(self) -> None:
        if not self.helpers:
            return self.write_view()
        helper = self.rng.choice(self.helpers)
        args = [
            self.expressions.view(kind.shape) if isinstance(kind, Array) else self.expressions.number(1)
            for kind in helper.parameters
        ]
        call = f"{helper.name}({', '.join(args)})"
        if helper.result is None:
            return self.line(call)
        return self.bind(helper.result, "t" if isinstance(helper.result, Array) else "s", call)

    def write_closure(self) -> None:
        """A function inside that changes what is around it, called twice."""
        rng, expressions = self.rng, self.expressions
        name = self.fresh("g")
        numbers = [n for n, k in expressions.scope.items() if isinstance(k, Float) and n not in self.frozen]
        bound = [n for n, k in expressions.arrays() if n not in self.frozen]
        self.line(f"def {name}(u):")
        with self.block():
            if numbers and self.is_local(numbers[0]):
                self.line(f"nonlocal {numbers[0]}")
                self.line(f"{numbers[0]} {rng.choice(['=', '+='])} u * 0.5")
            if bound and rng.random() < 0.4 and self.is_local(bound[0]):
                shape = next(shape for n, shape in expressions.arrays() if n == bound[0])
                self.line(f"nonlocal {bound[0]}")
                self.line(f"{bound[0]} = {expressions.array(shape, 1)}")
            rng.choice([self.write_element, self.write_slice])()  # `x += 1` would make x a name of its own
            self.line(f"return u * 0.5 + {expressions.number(1)}")
        self.bind(Float(), "s", f"{name}({expressions.number(1)}) + {name}({expressions.number(0)})")

    def is_local(self, name: str) -> bool:
        """Whether a name is one of the function's, which a function inside may rebind."""
        return not any(line.startswith(f"def {name}(") for line in self.lines)

    def write_pairs(self) -> None:
        """A loop over arrays side by side, which may be views of one another."""
        rng, expressions = self.rng, self.expressions
        vectors = [(name, shape) for name, shape in expressions.arrays() if len(shape) == 1]
        if not vectors:
            return self.write_count()
        name, shape = rng.choice(vectors)
        index, item = self.fresh("j"), self.fresh("s")
        if rng.random() < 0.5:
            self.line(f"for {index}, {item} in enumerate({name}):")
            kinds: dict[str, Kind] = {index: Int(0, shape[0] - 1), item: Float()}
        else:
            self.line(f"for {index}, {item} in zip({expressions.view(shape)}, {name}):")
            kinds = {index: Float(), item: Float()}
        with self.loop(item, Float()):
            expressions.scope |= kinds
            self.frozen |= set(kinds)
            self.line(f"{name}[{rng.randrange(shape[0])}] += {item} * 0.25")
            self.body()
        return None

    def write_early(self) -> None:
        """An early return, of what the end returns: `main` replaces the mark."""
        self.line(f"if {self.expressions.condition()}:")
        with self.block():
            if self.rng.random() < 0.5:
                self.write_something()
            self.line("return EARLY")

    def write_other(self) -> None:
        """Arrays of other dtypes."""
        rng, expressions = self.rng, self.expressions
        whole, single = expressions.arrays("int64"), expressions.arrays("float32")
        if whole and rng.random() < 0.6:
            name, shape = rng.choice(whole)
            statements = [
                f"{expressions.element(name, shape)} {rng.choice(['=', '+=', '-='])} {expressions.integer()}",
                f"{name}[1:] {rng.choice(['=', '+='])} {name}[:-1]",
                f"{name} {rng.choice(['//=', '%=', '*='])} 3",
                f"{name}[::-1] = {name} % 4",
            ]
            self.line(rng.choice(statements))
        elif single:
            name, shape = rng.choice(single)
            statements = [
                f"{expressions.element(name, shape)} {rng.choice(['=', '+=', '*='])} {expressions.number(1)}",
                f"{name} {rng.choice(['+=', '-='])} {expressions.array(shape, 1)}",
                f"{name}[::-1] *= 0.5",
                f"{name}[1:] = {name}[:-1] * 1.5",
            ]
            self.line(rng.choice(statements))
        else:
            self.write_number()

    # Control flow.

    def write_branch(self) -> None:
        self.line(f"if {self.expressions.condition()}:")
        with self.block():
            self.body()
        if self.rng.random() < 0.25:
            self.line(f"elif {self.expressions.condition()}:")
            with self.block():
                self.body()
        if self.rng.random() < 0.6:
            self.line("else:")
            with self.block():
                self.body()

    def bounds(self) -> tuple[str, int, int]:
        """range(...), and the least and largest value of its index."""
        ints = [(name, kind) for name, kind in self.expressions.scope.items() if isinstance(kind, Int)]
        traced = [(name, kind) for name, kind in ints if kind.high <= 4]
        if traced and self.rng.random() < 0.6:
            name, kind = self.rng.choice(traced)
            high = max(kind.high, 1)
            return self.rng.choice(
                [
                    (f"range({name})", 0, high - 1),
                    (f"range({name} + 1)", 0, high),
                    (f"range({name}, 0, -1)", 1, high),
                    (f"range(1, {name})", 1, max(high - 1, 1)),
                    (f"range(0, {name}, 2)", 0, high - 1),
                ]
            )
        return self.rng.choice(
            [
                ("range(3)", 0, 2),
                ("range(2)", 0, 1),
                ("range(4, 0, -2)", 2, 4),
                ("range(0)", 0, 0),
                ("range(1)", 0, 0),
                ("range(1, 4)", 1, 3),
            ]
        )

    def write_count(self) -> None:
        over, low, high = self.bounds()
        name = self.fresh("j")
        self.line(f"for {name} in {over}:")
        with self.loop(name, Int(low, high)):
            self.body()

    @contextmanager
    def loop(self, name: str, kind: Kind) -> Iterator[None]:
        with self.block():
            self.expressions.scope[name] = kind
            self.frozen.add(name)
            self.loops += 1
            yield
            self.loops -= 1

    def write_until(self) -> None:
        name = self.fresh("c")
        self.line(f"{name} = 0")
        limit = self.rng.choice([*self.expressions.names(Int), "2", "3"])
        extra = f" and {self.expressions.condition(0)}" if self.rng.random() < 0.5 else ""
        self.line(f"while {name} < {limit}{extra}:")
        with self.loop(name, Int(1, 5)):
            self.line(f"{name} += 1")
            self.body()

    def write_flag(self) -> None:
        go, name = self.fresh("go"), self.fresh("c")
        self.line(f"{go} = True")
        self.line(f"{name} = 0")
        self.line(f"while {go} and {name} < {self.rng.choice(['3', '4'])}:")
        with self.loop(name, Int(0, 3)):
            self.body()
            self.line(f"if {self.expressions.condition()}:")
            self.line(f"    {go} = False")
            self.line(f"{name} += 1")

    def write_rows(self) -> None:
        arrays = [(name, shape) for name, shape in self.expressions.arrays() if len(shape) == 2]
        if not arrays:
            return self.write_count()
        name, shape = self.rng.choice(arrays)
        row = self.fresh("r")
        self.line(f"for {row} in {name}:")
        with self.loop(row, Array(shape[1:])):
            self.line(f"{row}[{self.expressions.index(shape[1])}] += {self.expressions.number(1)}")
            self.body()
        return None

    def write_leave(self) -> None:
        """break or continue, from inside an if; what a while counts is counted first or bounded by its range."""
        self.line(f"if {self.expressions.condition()}:")
        with self.block():
            if self.rng.random() < 0.5:
                self.write_something()
            self.line("break")


_NESTED = frozenset({"branch", "closure", "count", "early", "flag", "leave", "pairs", "rows", "until"})
