"""Random programs, grown statement by statement: each is tried in plain Python, and kept if the program still runs.

Reads: a seed. Writes: nothing. Leaves: source text of a function `f`, and arguments to call it with.

Running the program shows which names are bound, and to what: nothing here infers types or shapes, or knows what the
compiler supports. The same seed gives the same program.
"""

from __future__ import annotations

import copy
import math
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from random import Random
from types import FrameType
from typing import Any

import numpy as np

from mlirad.testing.grammar.productions import Expressions

RUNS = 2
"""Sets of arguments that each program runs on."""

MOST_LINES = 400
"""Executed lines after which a program counts as running forever."""

_TRIES = 12


class TooLong(Exception):
    """A program runs too long, or makes values that are too large."""


@dataclass(frozen=True)
class Program:
    """`source` defines `f`, which takes the parameters."""

    seed: int
    source: str
    parameters: dict[str, str]

    def arguments(self, number: int) -> list[Any]:
        rng = np.random.default_rng([self.seed, number])
        return [_argument(kind, rng) for kind in self.parameters.values()]


_KINDS = {
    "x": ("f8 5", "f8 4", "f8 3x4", "f4 5", "f8 fortran", "f8 strided"),
    "y": ("f8 5", "f8 3x3", "f8 1", "i8 5", "u1 5", "f4 3x4", "f8 3x4"),
    "z": ("f8 5", "i8 4", "b 5", "i1 5", "u8 3"),
    "a": ("float", "float", "np.float32", "np.float64"),
    "n": ("int", "int", "np.int64", "np.uint8"),
    "c": ("bool", "float", "tuple", "dict", "list"),
}
_DTYPES = {"f8": "float64", "f4": "float32", "i8": "int64", "u1": "uint8", "b": "bool", "i1": "int8", "u8": "uint64"}


def _argument(kind: str, rng: np.random.Generator) -> Any:
    match kind.split():
        case [dtype, layout]:
            shape = (3, 4) if layout == "fortran" else tuple(map(int, layout.replace("strided", "10").split("x")))
            low = 0 if dtype in ("u1", "u8", "b") else -8
            values = (rng.integers(low, 9, shape) / (4 if dtype[0] == "f" else 1)).astype(_DTYPES[dtype])
            return np.asfortranarray(values) if layout == "fortran" else values[::2] if layout == "strided" else values
    match kind:
        case "float" | "np.float32" | "np.float64":
            value = float(rng.integers(-8, 9) / 4)
            return value if kind == "float" else getattr(np, kind[3:])(value)
        case "int" | "np.int64" | "np.uint8":
            value = int(rng.integers(0, 5))
            return value if kind == "int" else getattr(np, kind[3:])(value)
        case "bool":
            return bool(rng.integers(2))
        case "tuple":
            return (rng.integers(-8, 9, 4) / 4, 1.5)
        case "dict":
            return {"u": rng.integers(-8, 9, 5) / 4, "v": 2.0}
    return [rng.integers(-8, 9, 5) / 4, 0.5]


def run(source: str, arguments: list[Any], probe: list[dict[str, Any]] | None = None) -> Any:
    """The result of `f` in plain Python. `probe` receives the bound names at each call of `probe_(locals())`."""
    namespace: dict[str, Any] = {"np": np, "math": math}
    if probe is not None:
        namespace["probe_"] = lambda bound: probe.append(copy.deepcopy(bound))
    lines = 0

    def count(frame: FrameType, event: str, _argument: Any) -> Any:
        nonlocal lines
        if frame.f_code.co_filename != "<grammar>":
            return None
        lines += event == "line"
        if lines > MOST_LINES or any(map(_grows, frame.f_locals.values())):
            raise TooLong
        return count

    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        exec(compile(source, "<grammar>", "exec"), namespace)
        before = sys.gettrace()
        sys.settrace(count)
        try:
            return namespace["f"](*arguments)
        finally:
            sys.settrace(before)


def _grows(value: Any) -> bool:
    """Whether a value is one of those that Python lets grow without end."""
    if type(value) is int:
        return abs(value) > 10**15
    held, waiting = 0, [value]
    while waiting and held <= 1000:
        # An object that a tuple holds several times is counted each time, because it is copied each time.
        item = waiting.pop()
        items = item.values() if isinstance(item, dict) else item if isinstance(item, list | tuple) else ()
        held += item.size if isinstance(item, np.ndarray) else len(items)
        waiting += items
    return held > 1000


def is_plain(value: Any, depth: int = 0) -> bool:
    """Whether a value is numbers, arrays of numbers and containers of them, none of it large."""
    if isinstance(value, np.ndarray):
        small = value.size <= 64 and value.ndim <= 4 and value.dtype.kind in "biuf" and type(value) is np.ndarray
        return small and not np.any(np.abs(value.astype(np.float64)) > 1e6)
    if isinstance(value, bool | np.bool_):
        return True
    if isinstance(value, (int, float, np.integer, np.floating)):
        return not abs(value) > 1e6 and np.asarray(value).dtype.name not in ("float16", "longdouble", "float128")
    if isinstance(value, tuple | list):
        return depth < 3 and len(value) <= 12 and all(is_plain(item, depth + 1) for item in value)
    if isinstance(value, dict):
        return depth < 3 and all(isinstance(key, str) for key in value) and all(map(is_plain, value.values()))
    return value is None


@dataclass
class Grower:
    """A growing program. `head` and `tail`: the lines before and after the place of the next statement."""

    rng: Random
    program: Program
    head: list[str] = field(default_factory=list)
    tail: list[str] = field(default_factory=list)
    bound: dict[str, Any] = field(default_factory=dict)
    after: dict[str, Any] = field(default_factory=dict)
    loops: int = 0
    fresh: int = 0

    def source(self, *middle: str) -> str:
        return "\n".join([*self.head, *middle, *self.tail])

    def runs(self, *middle: str) -> bool:
        """Whether the program runs with these lines in it, on all arguments, and binds only plain values."""
        try:
            for number in range(RUNS):
                seen: list[dict[str, Any]] = []
                run(self.source(*middle), self.program.arguments(number), seen)
                if not all(is_plain(value) or callable(value) for each in seen for value in each.values()):
                    return False
                self.after = seen[-1] if seen else self.after
        except Exception:  # noqa: BLE001 - a random program that raises anything is not kept
            return False
        return True

    def look(self, indent: str) -> bool:
        """See what is bound here, in the first run that reaches this place; False: none does."""
        for number in range(RUNS):
            seen: list[dict[str, Any]] = []
            try:
                run(self.source(f"{indent}probe_(locals())"), self.program.arguments(number), seen)
            except Exception:  # noqa: BLE001 - a probe that cannot copy the bound values is useless
                return False
            if seen:
                self.bound = self.rng.choice(seen)
                return True
        return False

    @property
    def make(self) -> Expressions:
        return Expressions(self.rng, self.bound)

    def block(self, indent: str, statements: int, depth: int) -> None:
        for _ in range(statements):
            if not self.look(indent):
                return
            for _ in range(_TRIES):
                if self.statement(indent, depth):
                    break

    def statement(self, indent: str, depth: int) -> bool:
        kinds = {"assign": 10, "augment": 6, "store": 7, "unpack": 2, "effect": 2, "define": 1}
        if depth > 0:
            kinds |= {"branch": 6, "count": 7, "until": 3}
        if self.loops:
            kinds |= {"leave": 2}
        (kind,) = self.rng.choices(list(kinds), list(kinds.values()))
        match kind:
            case "branch":
                return self.nested(indent, f"if {self.make.expression(2)}:", depth, self.rng.random() < 0.5)
            case "count":
                self.fresh += 1
                target = f"{self.rng.choice('ijk')}{self.fresh}"
                heads = [f"for {target} in {self.make.iterable()}:"] * 3
                heads.append(f"for {target}, v{self.fresh} in enumerate({self.make.array()}):")
                heads.append(f"for {target}, v{self.fresh} in zip({self.make.array()}, {self.make.array()}):")
                return self.loop(indent, self.rng.choice(heads), depth)
            case "until":
                name = self.make.name((int, float))
                step = self.rng.choice(["-= 1", "/= 2", "+= 1", "//= 2"])
                return self.loop(
                    indent, f"while {name} {self.rng.choice('<>')} {self.make.constant()}:", depth, [f"{name} {step}"]
                )
            case "leave":
                return self.keep(
                    f"{indent}if {self.make.compare(1)}:", f"{indent}    {self.rng.choice(['break', 'continue'])}"
                )
            case "define":
                self.fresh += 1
                name, make = f"g{self.fresh}", Expressions(self.rng, {**self.bound, "t": 1.5, "s": 2})
                lines = [f"def {name}(t, s={self.make.constant()}):", f"    return {make.expression(3)}"]
                call = f"r{self.fresh} = {name}({self.make.expression(1)})"
                return self.keep(*(indent + line for line in (*lines, call)))
        return self.keep(indent + self.simple(kind))

    def simple(self, kind: str) -> str:
        make = self.make
        names = [name for name in make.names() if not callable(self.bound[name])]
        target = self.rng.choice([*names, f"w{self.rng.randrange(4)}"])
        symbol = (
            self.rng.choice(["+", "-", "*", "/", "//", "%", "**", "|", "&", "@"]) if self.rng.random() < 0.4 else "+"
        )
        match kind:
            case "augment":
                return (
                    f"{target} {symbol}= {self.rng.choice(['2', '0.5', '3']) if symbol == '**' else make.expression(2)}"
                )
            case "store":
                equals = self.rng.choice(["=", "=", f"{symbol}="])
                place = make.name((np.ndarray, np.ndarray, list, dict))
                value = self.rng.choice(["2", "0.5"]) if equals == "**=" else make.expression(2)
                return f"{place}[{make.index(1)}] {equals} {value}"
            case "unpack":
                other = self.rng.choice([*names, "w1"])
                swap, star = f"{target}, {other} = {other}, {target}", f"{target}, *w2 = {make.array()}"
                return self.rng.choice([swap, star, f"{target} = w3 = {make.expression(2)}"])
            case "effect":
                added = f"np.add.at({make.array()}, {make.name()}, {make.expression(1)})"
                append = f"{make.name(list)}.append({make.expression(1)})"
                return self.rng.choice([append, f"del {target}", make.method(1), added])
        return f"{target} = {make.expression(3)}"

    def keep(self, *lines: str) -> bool:
        if not self.runs(*lines, f"{_indent(lines[0])}probe_(locals())"):
            return False
        changed = any(name in self.after and _kind(self.after[name]) != _kind(old) for name, old in self.bound.items())
        if changed and self.rng.random() < 0.99:
            return False  # few programs change the types of their variables
        self.head += lines
        return True

    def nested(self, indent: str, header: str, depth: int, has_else: bool) -> bool:
        """A branch: its header is kept if it runs, then its blocks grow."""
        head, other, inner = indent + header, f"{indent}else:", f"{indent}    pass"
        if not self.runs(head, inner):
            return False
        blocks = [(head, [inner, other, inner]), (other, [inner])] if has_else else [(head, [inner])]
        for first, rest in blocks:
            self.head.append(first)
            self.tail[:0] = rest
            self.block(f"{indent}    ", self.rng.randint(1, 3), depth - 1)
            del self.tail[: len(rest)]
            if self.head[-1] == first:
                self.head.append(inner)
        return True

    def loop(self, indent: str, header: str, depth: int, last: list[str] | None = None) -> bool:
        inner = indent + "    "
        ends = [inner + line for line in last or ["pass"]]
        if not self.runs(indent + header, *ends):
            return False
        self.head.append(indent + header)
        self.tail[:0] = ends
        self.loops += 1
        self.block(inner, self.rng.randint(1, 4), depth - 1)
        self.loops -= 1
        del self.tail[: len(ends)]
        self.head += ends
        return True


def _kind(value: Any) -> Any:
    """The properties of a variable that seldom change."""
    if isinstance(value, np.ndarray):
        return value.dtype, value.shape
    if isinstance(value, tuple | list):
        return type(value), tuple(map(_kind, value))
    return type(value)


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


def generate(seed: int) -> Program:
    """The program of a seed. It runs on its arguments, and returns what it has bound."""
    rng = Random(seed)
    chosen = {name: rng.choice(kinds) for name, kinds in _KINDS.items() if name == "x" or rng.random() < 0.6}
    grower = Grower(rng, Program(seed, "", chosen))
    grower.head = ["import math", "import numpy as np", "", f"def f({', '.join(chosen)}):"]
    grower.tail = ["    return None"]
    grower.block("    ", rng.randint(3, 6), 3)
    grower.tail = []
    grower.look("    ")
    results = [name for name in _returned(grower) if rng.random() < 0.8]
    return Program(seed, grower.source(f"    return {', '.join(results)}{',' if results else 'None'}") + "\n", chosen)


def _returned(grower: Grower) -> Iterator[str]:
    """The names that are bound at the end of each run, to values that can be returned."""
    for name, value in list(grower.bound.items()):
        if callable(value):
            continue
        if grower.runs(f"    probe_({{'value': {name}}})", f"    return {name}"):
            yield name
