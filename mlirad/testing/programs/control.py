"""Statements that decide what is done, and how often.

Reads: the scope. Writes: statements with bodies. Leaves: what the bodies do.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from mlirad.testing.programs.kinds import Array, Float, Int, Kind
from mlirad.testing.programs.writer import Writer


class Control(Writer):
    """Branches, loops, and ways out of them."""

    def write_branch(self) -> None:
        self.line(f"if {self.expressions.condition()}:")
        with self.block():
            self.body()
        if self.rng.random() < 0.3:
            self.line(f"elif {self.expressions.condition()}:")
            with self.block():
                self.body()
        if self.rng.random() < 0.5:
            self.line("else:")
            with self.block():
                self.body()

    @contextmanager
    def loop(self, kinds: dict[str, Kind]) -> Iterator[None]:
        """The body of a loop over these names; at times with an `else`."""
        with self.block():
            self.expressions.scope |= kinds
            self.frozen |= set(kinds)
            self.loops += 1
            start = len(self.lines)
            yield
            self.loops -= 1
            exits = any(line.strip() == "break" for line in self.lines[start:])
        if self.rng.random() < (0.35 if exits else 0.1):
            self.line("else:")
            with self.block():
                self.statement()

    def bounds(self) -> tuple[str, int, int]:
        """range(...), and the least and largest value of its index."""
        ints = [(name, kind) for name, kind in self.expressions.scope.items() if isinstance(kind, Int)]
        traced = [(name, max(kind.high, 1)) for name, kind in ints if kind.high <= 4]
        if traced and self.rng.random() < 0.65:
            name, high = self.rng.choice(traced)
            found = [
                (f"range({name})", 0, high - 1),
                (f"range({name} + 1)", 0, high),
                (f"range({name}, 0, -1)", 1, high),
                (f"range({name}, -1, -2)", 0, high),
                (f"range(1, {name})", 1, max(high - 1, 1)),
                (f"range(0, {name}, 2)", 0, high - 1),
                (f"reversed(range({name}))", 0, high - 1),
            ]
            return self.rng.choice(found)
        fixed = [
            ("range(3)", 0, 2),
            ("range(2)", 0, 1),
            ("range(4, 0, -2)", 2, 4),
            ("range(2, -1, -1)", 0, 2),
            ("range(0)", 0, 0),
            ("range(1)", 0, 0),
            ("range(1, 4)", 1, 3),
            ("reversed(range(3))", 0, 2),
        ]
        return self.rng.choice(fixed)

    def checkpointed(self, loop: str) -> str:
        """What a loop runs over, or its condition; at times with a way to keep its states for the reverse sweep."""
        if self.rng.random() < 0.85:
            return loop
        how = self.rng.choice(["'sqrt'", "'binomial'", "1", "2"])
        return f"mlirad.checkpointed({loop}, {how})"

    def write_count(self) -> None:
        over, low, high = self.bounds()
        over = self.checkpointed(over) if over.startswith("range") else over
        name = self.fresh("j")
        self.line(f"for {name} in {over}:")
        with self.loop({name: Int(low, high)}):
            self.body()

    def write_over(self) -> None:
        """A loop over the elements of an array, which the body may write."""
        vectors = self.vectors()
        if not vectors:
            return self.write_count()
        name, size = self.rng.choice(vectors)
        item = self.fresh("s")
        over = self.rng.choice([name, f"{name}[::2]", f"reversed({name})", self.expressions.view((min(size, 3),))])
        self.line(f"for {item} in {over}:")
        with self.loop({item: Float()}):
            self.line(f"{name}[{self.rng.randrange(size)}] {self.rng.choice(['+=', '='])} {item} * 0.5")
            self.body()
        return None

    def write_rows(self) -> None:
        matrices = self.matrices()
        if not matrices:
            return self.write_count()
        name, shape = self.rng.choice(matrices)
        row = self.fresh("r")
        over, size = self.rng.choice([(name, shape[1]), (f"reversed({name})", shape[1]), (f"{name}.T", shape[0])])
        self.line(f"for {row} in {over}:")
        with self.loop({row: Array((size,))}):
            self.line(f"{row}[{self.expressions.index(size)}] += {self.expressions.number(1)}")
            self.body()
        return None

    def write_enumerated(self) -> None:
        vectors = self.vectors()
        if not vectors:
            return self.write_count()
        name, size = self.rng.choice(vectors)
        index, item = self.fresh("j"), self.fresh("s")
        start = self.rng.choice(["", "", ", 1"])
        self.line(f"for {index}, {item} in enumerate({self.rng.choice([name, f'reversed({name})'])}{start}):")
        with self.loop({index: Int(0, size if start else size - 1), item: Float()}):
            self.line(f"{name}[{index}{' - 1' if start else ''}] {self.rng.choice(['+=', '='])} {item} * 0.25")
            self.body()
        return None

    def write_zipped(self) -> None:
        """A loop over arrays side by side, which may be views of one another."""
        rng, vectors = self.rng, self.vectors()
        if not vectors:
            return self.write_count()
        name, size = rng.choice(vectors)
        one, other = self.fresh("s"), self.fresh("s")
        kinds: dict[str, Kind] = {one: Float(), other: Float()}
        second = rng.choice([name, self.expressions.view((rng.choice([2, 3, size]),)), self.expressions.trips()])
        if second.startswith("range"):
            kinds[other] = Int(0, 4)
        matrices = self.matrices()
        first = self.expressions.view((size,))
        if matrices and rng.random() < 0.3:
            first, shape = rng.choice(matrices)
            kinds[one] = Array(shape[1:])
        self.line(f"for {one}, {other} in zip({first}, {second}):")
        with self.loop(kinds):
            if isinstance(kinds[one], Array):
                self.line(f"{one} {rng.choice(['+=', '*='])} {other} * 0.5")
            else:
                self.line(f"{name}[{rng.randrange(size)}] += {one} * 0.25")
            self.body()
        return None

    def write_until(self) -> None:
        name = self.fresh("c")
        self.line(f"{name} = 0")
        limit = self.rng.choice([*self.expressions.names(Int), "2", "3"])
        extra = f" and {self.expressions.condition(0)}" if self.rng.random() < 0.5 else ""
        self.line(f"while {self.checkpointed(f'{name} < {limit}{extra}')}:")
        with self.loop({name: Int(1, 5)}):
            self.line(f"{name} += 1")
            self.body()

    def write_flag(self) -> None:
        """A `while` that is left by a flag, or only from inside."""
        go, name = self.fresh("go"), self.fresh("c")
        self.line(f"{go} = True")
        self.line(f"{name} = 0")
        if self.rng.random() < 0.5:
            self.line(f"while {go} and {name} < {self.rng.choice(['3', '4'])}:")
        else:
            self.line("while True:")
        with self.loop({name: Int(1, 4)}):
            self.line(f"{name} += 1")
            if self.lines[-2].endswith("while True:"):
                self.line(f"if {name} > 3:")
                self.line("    break")
            self.body()
            self.line(f"if {self.expressions.condition()}:")
            self.line(f"    {go} = False" if self.rng.random() < 0.7 else "    break")

    def write_leave(self) -> None:
        self._exit("break")

    def write_skip(self) -> None:
        self._exit("continue")

    def _exit(self, how: str) -> None:
        self.line(f"if {self.expressions.condition()}:")
        with self.block():
            if self.rng.random() < 0.5:
                self.write_something()
            self.line(how)

    def write_early(self) -> None:
        """An early return, of what the end returns: `main` replaces the mark."""
        self.line(f"if {self.expressions.condition()}:")
        with self.block():
            if self.rng.random() < 0.5:
                self.write_something()
            self.line("return EARLY")

    def write_maybe(self) -> None:
        """A name that is bound on some paths only, and used (nearly always) where it is bound."""
        rng, expressions = self.rng, self.expressions
        name, test = self.fresh("u"), self.fresh("b")
        if rng.random() < 0.4:
            count = rng.choice([*expressions.names(Int), "2"])
            self.line(f"for {test} in range({count}):")
            self.line(f"    {name} = {test} * 0.5")
            certain = f"{count} > 0"
            kind: Kind = Float()
        else:
            self.line(f"{test} = {expressions.condition()}")
            self.line(f"if {test}:")
            shape = rng.choice(expressions.shapes())
            kind = rng.choice([Float(), Array(shape)])
            value = expressions.view(shape) if isinstance(kind, Array) else expressions.number(1)
            self.line(f"    {name} = {value}")
            if rng.random() < 0.5:
                self.statement()
            certain = test
        self.line(f"if {certain if rng.random() < 0.93 else expressions.condition()}:")
        with self.block():
            expressions.scope[name] = kind
            self.line(f"{name} {rng.choice(['+=', '*='])} 0.5")
            self.body()
