"""Statements that read and write through masks and index arrays.

Reads: the scope. Writes: one statement or a few. Leaves: slices and elements to assignments.py.
"""

from __future__ import annotations

from mlirad.testing.programs.kinds import Array
from mlirad.testing.programs.writer import Writer


class Selections(Writer):
    """Masks, lists of indices, arrays of indices, also repeated ones."""

    def write_mask(self) -> None:
        rng, expressions = self.rng, self.expressions
        arrays = expressions.arrays()
        if not arrays:
            return self.write("element")
        name, shape = rng.choice(arrays)
        mask = expressions.mask(shape)
        if rng.random() < 0.3:
            held = self.fresh("k")
            self.line(f"{held} = {mask}")
            self.line(f"{name}[{held}] {rng.choice(['=', '*=', '+='])} {expressions.number(1)}")
            mask = f"~{held}"
        choice = rng.random()
        if choice < 0.2:
            return self.line(f"{name}[{mask}] *= -0.5")
        if choice < 0.4:
            return self.line(f"{name}[{mask}] = {expressions.array(shape, 1)}[{mask}]")
        return self.line(f"{name}[{mask}] {rng.choice(['=', '+=', '-='])} {expressions.number(1)}")

    def write_fancy(self) -> None:
        rng, expressions, vectors = self.rng, self.expressions, self.vectors()
        if not vectors:
            return self.write_mask()
        name, size = rng.choice(vectors)
        chosen, count = expressions.indices(size)
        value = expressions.number(1) if rng.random() < 0.5 else expressions.array((count,), 1)
        match rng.randrange(5):
            case 0:
                self.bind(Array((count,)), "t", f"{name}[{chosen}]")
            case 1:
                self.line(f"{name}[{chosen}] = {value}")
            case 2:
                self.line(f"{name}[{chosen}] {rng.choice(['+=', '*='])} {value}")
            case 3:
                one, other = rng.randrange(size), rng.randrange(-size, size)
                self.line(f"{name}[[{one}, {other}]] = {name}[[{other}, {one}]]")
            case _:
                self.write("accumulate")
        return None

    def write_accumulate(self) -> None:
        """np.add.at, which adds once for each time that an index occurs."""
        rng, expressions, vectors = self.rng, self.expressions, self.vectors()
        if not vectors:
            return self.write_mask()
        name, size = rng.choice(vectors)
        chosen, count = expressions.indices(size)
        value = expressions.number(1) if rng.random() < 0.5 else expressions.array((count,), 1)
        return self.line(f"np.add.at({name}, {chosen}, {value})")
