"""Statements that write numbers and arrays.

Reads: the scope. Writes: one statement or a few. Leaves: control flow.
"""

from __future__ import annotations

from mlirad.testing.programs.kinds import Array, Float, Int
from mlirad.testing.programs.writer import Writer

_OTHER = [(5,), (3,), (4,), (2,), (3, 4)]


class Assignments(Writer):
    """Numbers, elements, slices, views and swaps."""

    def write_number(self) -> None:
        held = self.numbers()
        if held and self.rng.random() < 0.5:
            self.line(f"{self.rng.choice(held)} {self.rng.choice(['+=', '-=', '*='])} {self.expressions.number(1)}")
        else:
            self.bind(Float(), "s", self.expressions.number(2))

    def write_integer(self) -> None:
        """An int of Python, or of NumPy."""
        rng, whole = self.rng, self.expressions.integer()
        choice = rng.random()
        if choice < 0.25:
            whole = f"np.int64({whole})"
        elif choice < 0.35:
            whole = f"int({self.expressions.number(0)})"
        self.bind(Int(0, 4), "i", f"({whole}) % 5")

    def write_widened(self) -> None:
        """A number that is an int before a loop and a float in it."""
        name, index = self.fresh("s"), self.fresh("j")
        self.line(f"{name} = {self.rng.choice(['0', '1', '-2'])}")
        self.line(f"for {index} in {self.expressions.trips()}:")
        self.line(f"    {name} = {name} {self.rng.choice(['+', '-', '*'])} {self.expressions.number(1)}")
        self.line(f"{name} = {name} * 1.0")
        self.expressions.scope[name] = Float()

    def write_rebind(self) -> None:
        shape = self.rng.choice(self.expressions.shapes())
        self.bind(Array(shape), "t", self.expressions.array(shape, 2))

    def write_local(self) -> None:
        rng = self.rng
        shape = rng.choice(_OTHER)
        same = self.expressions.names(Array, shape)
        made = [f"np.zeros({shape})", f"np.ones({shape})", f"np.full({shape}, {self.expressions.number(1)})"]
        made += [f"{name}.copy()" for name in same] + [f"np.zeros_like({name})" for name in same]
        self.bind(Array(shape), "t", rng.choice(made))

    def write_view(self) -> None:
        shape = self.rng.choice([*self.expressions.shapes(), (2,), (3,), (4,)])
        self.bind(Array(shape), "v", self.expressions.view(shape))

    def write_choice(self) -> None:
        """A reference that depends on a branch, and a write through it."""
        rng, expressions = self.rng, self.expressions
        shape = rng.choice(expressions.shapes())
        one, other = expressions.view(shape), expressions.view(shape)
        if rng.random() < 0.6:
            name = self.bind(Array(shape), "v", f"{one} if {expressions.condition()} else {other}")
        else:
            name = self.fresh("v")
            self.line(f"{name} = {one}")
            self.line(f"if {expressions.condition()}:")
            self.line(f"    {name} = {other}")
            expressions.scope[name] = Array(shape)
        self.line(f"{expressions.element(name, shape)} {rng.choice(['=', '+=', '*='])} {expressions.number(1)}")

    def write_element(self) -> None:
        arrays = self.expressions.arrays()
        if not arrays:
            return self.write_local()
        where = self.expressions.element(*self.rng.choice(arrays))
        sign = self.rng.choice(["=", "=", "+=", "-=", "*="])
        return self.line(f"{where} {sign} {self.expressions.number(2 if sign == '=' else 1)}")

    def write_update(self) -> None:
        arrays = self.updatable()
        if not arrays:
            return self.write_element()
        name, shape = self.rng.choice(arrays)
        sign = self.rng.choice(["+=", "-=", "*="])
        value = self.expressions.number(1) if self.rng.random() < 0.4 else self.expressions.array(shape, 1)
        return self.line(f"{name} {sign} {value}")

    def write_slice(self) -> None:
        rng, expressions = self.rng, self.expressions
        shape = rng.choice([*expressions.shapes(), (2,), (3,)])
        where = expressions.view(shape)
        if not where.endswith("]") or where.startswith("np.") or where in expressions.names(Array):
            return self.write_element()
        sign = rng.choice(["=", "=", "+=", "-=", "*="])
        value = expressions.number(1) if rng.random() < 0.3 else expressions.array(shape, 1)
        return self.line(f"{where} {sign} {value}")

    def write_shift(self) -> None:
        """A part of an array from another part of it, in place."""
        rng, vectors = self.rng, self.vectors()
        if not vectors:
            return self.write_slice()
        name, size = rng.choice(vectors)
        sign = rng.choice(["=", "+=", "-=", "*="])
        if size < 3:
            return self.line(f"{name} {'+=' if sign == '=' else sign} {name}[::-1]")
        parts = [
            ("1:", ":-1"),
            (":-1", "1:"),
            (":2", "-2:"),
            ("::-1", ":"),
            ("1:", "-2::-1"),
            ("::2", f":{-(-size // 2)}"),
        ]
        left, right = rng.choice(parts)
        factor = rng.choice(["", "", " * 0.5"])
        return self.line(f"{name}[{left}] {sign} {name}[{right}]{factor}")

    def write_window(self) -> None:
        """Slices whose lengths only the run knows."""
        rng, expressions, vectors = self.rng, self.expressions, self.vectors()
        if not vectors:
            return self.write_slice()
        name, size = rng.choice(vectors)
        other = rng.choice([each for each, length in vectors if length == size])
        where = expressions.window()
        if rng.random() < 0.3:
            return self.line(f"{name}[{where}] {rng.choice(['=', '+=', '*='])} {expressions.number(1)}")
        value = rng.choice(
            [f"{other}[{where}] * 0.5", f"{other}[{where}] + {expressions.number(0)}", f"{other}[{where}]"]
        )
        return self.line(f"{name}[{where}] {rng.choice(['=', '+=', '-='])} {value}")

    def write_back(self) -> None:
        """A row taken out, changed, and written back."""
        rng, expressions, matrices = self.rng, self.expressions, self.matrices()
        if not matrices:
            return self.write_choice()
        name, shape = rng.choice(matrices)
        row, place = self.fresh("r"), expressions.index(shape[0])
        self.line(f"{row} = {name}[{place}]{rng.choice(['', '.copy()'])}")
        self.line(f"{row} {rng.choice(['+=', '*='])} {expressions.number(1)}")
        self.line(f"{row}[{expressions.index(shape[1])}] = {expressions.number(1)}")
        self.line(f"{name}[{rng.choice([place, expressions.index(shape[0])])}] = {row}")
        expressions.scope[row] = Array(shape[1:])
        return None

    def write_swap(self) -> None:
        rng, places = self.rng, [(place, kind) for place, kind in self.targets()]
        pairs = [(p, q, k) for i, (p, k) in enumerate(places) for q, other in places[i + 1 :] if k == other]
        if not pairs:
            return self.write_turn()
        first, second, kind = rng.choice(pairs)
        if rng.random() < 0.25 and isinstance(kind, Array) and kind.dtype == "float64":
            return self.line(f"{first}, {second} = {second}, {self.expressions.array(kind.shape, 1)}")
        if rng.random() < 0.2:
            old = self.fresh("t")
            self.line(f"{old} = {first}")
            self.line(f"{first} = {second}")
            return self.line(f"{second} = {old}")
        return self.line(f"{first}, {second} = {second}, {first}")

    def write_rotate(self) -> None:
        """Three references, or two and something new, that change places."""
        rng, expressions = self.rng, self.expressions
        shape = rng.choice(expressions.shapes())
        held = [place for place, kind in self.targets() if kind == Array(shape)]
        if len(held) < 3:
            made = self.fresh("t")
            self.line(f"{made} = {expressions.array(shape, 1)}")
            expressions.scope[made] = Array(shape)
            held = [place for place, kind in self.targets() if kind == Array(shape)]
        if len(held) < 2:
            return self.write_view()
        one, two, *rest = rng.sample(held, min(3, len(held)))
        if rest:
            return self.line(f"{one}, {two}, {rest[0]} = {two}, {rest[0]}, {one}")
        return self.line(f"{one}, {two} = {two}, {one}")

    def write_turn(self) -> None:
        """Elements or rows that change places: rows are views, and become equal."""
        rng, expressions = self.rng, self.expressions
        arrays = expressions.arrays()
        if not arrays:
            return self.write_local()
        name, shape = rng.choice(arrays)
        one, other = expressions.index(shape[0]), expressions.index(shape[0])
        return self.line(f"{name}[{one}], {name}[{other}] = {name}[{other}], {name}[{one}]")

    def write_other(self) -> None:
        """Arrays of other dtypes."""
        rng, expressions = self.rng, self.expressions
        whole, single = expressions.arrays("int64"), expressions.arrays("float32")
        if whole and (not single or rng.random() < 0.5):
            name, shape = rng.choice(whole)
            statements = [
                f"{expressions.element(name, shape)} {rng.choice(['=', '+=', '-='])} {expressions.integer()}",
                f"{name}[1:] {rng.choice(['=', '+='])} {name}[:-1]",
                f"{name} {rng.choice(['//=', '%=', '*='])} 3",
                f"{name}[::-1] = {name} % 4",
                f"{name}[:2] = {rng.choice(['-1', '7', expressions.integer()])}",
            ]
            self.line(rng.choice(statements))
        elif single:
            name, shape = rng.choice(single)
            statements = [
                f"{expressions.element(name, shape)} {rng.choice(['=', '+=', '*='])} {expressions.number(1)}",
                f"{name} {rng.choice(['+=', '-='])} {expressions.array(shape, 1)}",
                f"{name}[::-1] *= 0.5",
                f"{name}[1:] = {name}[:-1] * 1.5",
                f"{name} = {name} * 0.5",
            ]
            self.line(rng.choice(statements))
        else:
            self.write_number()
