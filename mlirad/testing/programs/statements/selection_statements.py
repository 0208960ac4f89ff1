"""Statements that read and write through masks and index arrays.

Reads: the scope. Writes: one statement or a few. Leaves: slices and elements to assignment_statements.py.
"""

from __future__ import annotations

from mlirad.testing.programs.function_writer import Writer, writes
from mlirad.testing.programs.kinds import Array, Float


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


def _select(writer: Writer) -> tuple[str, str, str] | None:
    """Bind a selection to a name. Returns this name, the mask's name, and an array of the mask's shape."""
    rng, expressions = writer.rng, writer.expressions
    arrays = expressions.arrays()
    if not arrays:
        return None
    name, shape = rng.choice(arrays)
    mask, held = writer.fresh("k"), writer.fresh("w")
    writer.line(f"{mask} = {expressions.mask(shape)}")
    source = name if rng.random() < 0.5 else f"({expressions.array(shape, 1)})"
    writer.line(f"{held} = {source}[{mask}]")
    return held, mask, name


def _change(writer: Writer, held: str) -> bool:
    """Changes a selection, or binds its name again; whether it is as long as it was."""
    rng, number = writer.rng, writer.expressions.number(1)
    match rng.randrange(6):
        case 0:
            writer.line(f"{held} {rng.choice(['+=', '*='])} {number}")
        case 1:
            writer.line(f"{held}[{rng.choice([':1', '::2', '1:', ':'])}] = {number}")
        case 2:
            writer.line(f"{held} = {held}[::-1] * 0.5")
        case 3:
            writer.line(f"{held} = {held}[{held} {rng.choice('<>')} {rng.choice(['0.1', '0.4', '-0.2'])}]")
            return False
        case 4:
            writer.line(f"{held} = np.concatenate([{held}[:1], {held}])")
            return False
        case _:
            writer.line(f"{held} = np.sin({held}) + {number}")
    return True


@writes("selected")
def write_selected(writer: Writer) -> None:
    """What a mask selects, as an array: changed, looped over, indexed, and written back."""
    rng = writer.rng
    found = _select(writer)
    if found is None:
        return writer.write("element")
    held, mask, name = found
    changes = [_change(writer, held) for _ in range(rng.randrange(3))]
    match rng.randrange(7):
        case 0:
            total = writer.fresh("s")
            writer.line(f"{total} = 0.25")
            writer.line(f"for v in {held}:")
            writer.line(f"    {total} = 0.5 * {total} + np.sin(v)")
            writer.expressions.scope[total] = Float()
        case 1:
            writer.bind(Float(), "s", f"{held}[0] * {held}[-1] if len({held}) > 1 else 0.25")
        case 2:
            writer.bind(Float(), "s", f"np.sum({held}[::-1] * np.cos({held}))")
        case 3:
            writer.bind(Float(), "s", f"np.cos(np.dot({held}, {held}))")
        case 4:
            writer.bind(Float(), "s", f"np.max({held}) if {held}.size else -0.5")
        case 5 if all(changes):
            writer.line(f"{name}[{mask}] = {held}")
        case _:
            writer.bind(Float(), "s", f"np.sum(np.sin({held})) * 0.5")
    return None


@writes("joined")
def write_joined(writer: Writer) -> None:
    """One of two selections, or a selection that gets shorter in a loop."""
    rng = writer.rng
    first, second = _select(writer), _select(writer)
    if first is None or second is None:
        return writer.write("element")
    one, other = first[0], second[0]
    if rng.random() < 0.5:
        writer.line(f"if {writer.expressions.number(1)} > 0.1:")
        writer.line(f"    {one} = {other} * 0.5")
    else:
        writer.line(f"while len({one}) > {rng.randrange(3)}:")
        writer.line(f"    {one} = {one}[1:] * {rng.choice(['0.5', '1.1'])}")
    writer.bind(Float(), "s", f"np.sum(np.cos({one})) * 0.3 + len({one}) * 0.1")
    return None
