"""Functions beside and inside the main one, and their calls.

Reads: the scope. Writes: helpers, closures, callbacks, calls. Leaves: the text of whole functions.
"""

from __future__ import annotations

from mlirad.testing.programs import narrow  # noqa: F401  (what it writes is entered by importing it)
from mlirad.testing.programs.around import Around
from mlirad.testing.programs.assignments import write_choice
from mlirad.testing.programs.containers import Containers
from mlirad.testing.programs.control import Control
from mlirad.testing.programs.kinds import Array, Float, Int, Kind, Number, Shape
from mlirad.testing.programs.selections import Selections
from mlirad.testing.programs.writer import Helper

APPLY = """def apply(step, v, s):
    v[0] += s * 0.25
    return step(v, step(v[::-1], s))"""


class Functions(Selections, Containers, Control, Around):
    """Whole functions, and statements that call or make some."""

    def main(self, parameters: dict[str, Kind], count: int) -> tuple[str, list[Kind]]:
        self.is_main, self.budget = True, count
        self.expressions.scope = dict(parameters)
        self.frozen = {name for name, kind in parameters.items() if isinstance(kind, Int)}
        self.line(f"def f({', '.join(parameters)}):")
        with self.block():
            while self.budget > 0:
                self.statement()
            while self.planned:
                self.force(self.planned.pop())
            scope = self.expressions.scope
            held = [
                name
                for name, kind in scope.items()
                if name not in self.frozen and isinstance(kind, Array | Float | Int | Number)
            ]
            if any(line.endswith("return EARLY") for line in self.lines):
                held = [name for name in held if name in parameters]  # they are bound everywhere
            chosen = self.rng.sample(held, min(len(held), self.rng.randrange(1, 4)))
            chosen += [name for name in held if isinstance(scope[name], Number) and name not in chosen]
            shown = [self.shown(name, scope[name]) for name in chosen]
            self.line(f"return ({', '.join(shown)},)")
            text = "\n".join(self.lines).replace("EARLY", f"({', '.join(shown)},)")
            return text, [scope[name] for name in chosen]

    def shown(self, name: str, kind: Kind) -> str:
        """What is returned of a variable: at times the array itself, which may be an argument or a view of one."""
        return f"{name}.copy()" if isinstance(kind, Array) and self.rng.random() < 0.7 else name

    def force(self, kind: str) -> None:
        """Write what was planned and has not occurred, in a loop if it needs one."""
        if self.is_possible(kind):
            return self.write(kind)
        name = self.fresh("j")
        over, low, high = self.bounds()
        self.line(f"for {name} in {over}:")
        with self.loop({name: Int(low, high)}):
            self.write(kind)
            self.write_something()
        return None

    def helper(self, name: str) -> tuple[Helper, str]:
        """A function that writes its arguments."""
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
            self.budget = rng.randrange(3)
            while self.budget > 0:
                self.statement()
            result = self._result(shapes[0])
        return Helper(name, tuple(kinds), result), "\n".join(self.lines)

    def recursion(self, name: str) -> tuple[Helper, str]:
        """A function that calls itself to a traced depth, writing its argument on the way down or up."""
        rng, expressions = self.rng, self.expressions
        shape = rng.choice([(5,), (3,), (3, 4)])
        expressions.scope = {"p0": Array(shape), "p1": Float()}
        self.line(f"def {name}(p0, p1, depth):")
        with self.block():
            extra = rng.choice(["", f" or {expressions.condition(0)}"])
            self.line(f"if depth <= 0{extra}:")
            self.line(f"    return {expressions.number(1)}")
            if rng.random() < 0.7:
                self.write_something()
            call = f"{name}(p0, p1 * 0.5, depth - 1)"
            self.line(rng.choice([f"t = {call}", f"t = {call} + {expressions.number(1)}", f"t = {call} + {call}"]))
            expressions.scope["t"] = Float()
            if rng.random() < 0.4:
                self.write_something()
            self.line(f"return 0.5 * t + {expressions.number(1)}")
        return Helper(name, (Array(shape), Float()), Float(), recursive=True), "\n".join(self.lines)

    def _result(self, shape: Shape) -> Kind | None:
        match self.rng.randrange(4):
            case 0:
                return None
            case 1:
                self.line(f"return {self.expressions.number(2)}")
                return Float()
            case 2:
                self.line(f"return {self.expressions.view(shape)}")
            case _:
                self.line(f"return {self.expressions.array(shape, 2)}")
        return Array(shape)

    # Calls.

    def write_helper(self) -> None:
        self._call([helper for helper in self.helpers if not helper.recursive])

    def write_recursive(self) -> None:
        self._call([helper for helper in self.helpers if helper.recursive])

    def _call(self, helpers: list[Helper]) -> None:
        if not helpers:
            return write_choice(self)
        helper = self.rng.choice(helpers)
        args = [
            self.expressions.view(kind.shape) if isinstance(kind, Array) else self.expressions.number(1)
            for kind in helper.parameters
        ]
        if helper.recursive:
            args.append(self.rng.choice([*self.expressions.names(Int), "2", "1"]))
        call = f"{helper.name}({', '.join(args)})"
        if helper.result is None:
            return self.line(call)
        self.bind(helper.result, "t" if isinstance(helper.result, Array) else "s", call)
        return None

    # Functions inside.

    def write_closure(self) -> None:
        """A function inside that changes what is around it, called twice."""
        rng, expressions = self.rng, self.expressions
        name = self.fresh("g")
        numbers = [n for n in self.held(Float()) if self.is_local(n)]
        bound = [(n, shape) for n, shape in expressions.arrays() if n not in self.frozen and self.is_local(n)]
        self.line(f"def {name}(u):")
        with self.function():
            if numbers:
                self.line(f"nonlocal {numbers[0]}")
                self.line(f"{numbers[0]} {rng.choice(['=', '+='])} u * 0.5")
            if bound and rng.random() < 0.4:
                self.line(f"nonlocal {bound[0][0]}")
                self.line(f"{bound[0][0]} = {expressions.array(bound[0][1], 1)}")
            self.write(rng.choice(["element", "slice"]))  # `x += 1` would make x a name of its own
            self.line(f"return u * 0.5 + {expressions.number(1)}")
        self.bind(Float(), "s", f"{name}({expressions.number(1)}) + {name}({expressions.number(0)})")

    def is_local(self, name: str) -> bool:
        """Whether a name is one of the function's, which a function inside may rebind."""
        return name.isidentifier() and not any(line.startswith(f"def {name}(") for line in self.lines)

    def write_callback(self) -> None:
        """A function passed as an argument: a lambda, or one that writes its argument and what is around it."""
        rng, expressions = self.rng, self.expressions
        size = rng.choice([size for _, size in self.vectors()] or [3])
        array = expressions.view((size,))
        if rng.random() < 0.4:
            function = f"lambda v, s: s * 0.5 + v[{rng.randrange(size)}] * {expressions.number(0)}"
        else:
            function = self.fresh("g")
            self.line(f"def {function}(v, s):")
            with self.function():
                expressions.scope |= {"v": Array((size,)), "s": Float()}
                self.line(f"v[{expressions.index(size)}] {rng.choice(['=', '+='])} s * 0.5")
                self.write(rng.choice(["element", "slice"]))
                self.line(f"return s * 0.25 + {expressions.number(1)}")
        self.bind(Float(), "s", f"apply({function}, {array}, {expressions.number(1)})")
