"""Statements that read and write through masks and index arrays.

Reads: the scope. Writes: one statement or a few. Leaves: slices and elements to assignment_statements.py.
"""

from __future__ import annotations

from mlirad.testing.programs.function_writer import Writer, writes
from mlirad.testing.programs.kinds import Array


@writes("mask")
def write_mask(writer: Writer) -> None:
    rng, expressions = writer.rng, writer.expressions
    arrays = expressions.arrays()
    if not arrays:
        return writer.write("element")
    name, shape = rng.choice(arrays)
    mask = expressions.mask(shape)
    if rng.random() < 0.3:
        held = writer.fresh("k")
        writer.line(f"{held} = {mask}")
        writer.line(f"{name}[{held}] {rng.choice(['=', '*=', '+='])} {expressions.number(1)}")
        mask = f"~{held}"
    choice = rng.random()
    if choice < 0.2:
        return writer.line(f"{name}[{mask}] *= -0.5")
    if choice < 0.4:
        return writer.line(f"{name}[{mask}] = {expressions.array(shape, 1)}[{mask}]")
    return writer.line(f"{name}[{mask}] {rng.choice(['=', '+=', '-='])} {expressions.number(1)}")


def _places_and_value(writer: Writer, size: int) -> tuple[str, int, str]:
    """An index array for an array of this size, its own size, and a value to write there: a number or an array."""
    chosen, count = writer.expressions.indices(size)
    is_number = writer.rng.random() < 0.5
    return chosen, count, writer.expressions.number(1) if is_number else writer.expressions.array((count,), 1)


@writes("fancy")
def write_fancy(writer: Writer) -> None:
    rng, vectors = writer.rng, writer.vectors()
    if not vectors:
        return write_mask(writer)
    name, size = rng.choice(vectors)
    chosen, count, value = _places_and_value(writer, size)
    match rng.randrange(5):
        case 0:
            writer.bind(Array((count,)), "t", f"{name}[{chosen}]")
        case 1:
            writer.line(f"{name}[{chosen}] = {value}")
        case 2:
            writer.line(f"{name}[{chosen}] {rng.choice(['+=', '*='])} {value}")
        case 3:
            one, other = rng.randrange(size), rng.randrange(-size, size)
            writer.line(f"{name}[[{one}, {other}]] = {name}[[{other}, {one}]]")
        case _:
            writer.write("accumulate")
    return None


@writes("accumulate")
def write_accumulate(writer: Writer) -> None:
    """np.add.at, which adds once for each time that an index occurs."""
    vectors = writer.vectors()
    if not vectors:
        return write_mask(writer)
    name, size = writer.rng.choice(vectors)
    chosen, _, value = _places_and_value(writer, size)
    return writer.line(f"np.add.at({name}, {chosen}, {value})")
