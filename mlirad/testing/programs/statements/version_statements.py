"""Statements that read an array as it was before a write: of a copy, or of the array that the next one is made from.

Reads: the scope. Writes: loops and what they do. Leaves: what else their bodies do.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from mlirad.testing.programs.function_writer import Writer, writes
from mlirad.testing.programs.kinds import Array, Float, Int
from mlirad.testing.programs.statements.control_statements import bounds, loop

_SIGNS = ("=", "+=", "-=", "*=")
_COPIES = ("{}.copy()", "{}.copy()", "{} * 1.0", "np.array({})", "{}[:]")  # the last is a view


@contextmanager
def _trips(writer: Writer) -> Iterator[None]:
    over, low, high = bounds(writer)
    trip = writer.fresh("j")
    writer.line(f"for {trip} in {over}:")
    with loop(writer, {trip: Int(low, high)}):
        yield


def _also(writer: Writer) -> None:
    """At times the body of the loop does something else."""
    if writer.rng.random() < 0.25:
        writer.body()


@writes("kept")
def write_kept(writer: Writer) -> None:
    """Each trip copies an array, writes an element, and reads the one of the copy."""
    rng, expressions, arrays = writer.rng, writer.expressions, writer.expressions.arrays()
    if not arrays:
        return writer.write("local")
    name, shape = rng.choice(arrays)
    copy, read = writer.fresh("u"), rng.choice(arrays)
    place = f"{name}[{', '.join(str(rng.randrange(size)) for size in shape)}]"
    with _trips(writer):
        writer.define(copy, Array(shape), rng.choice(_COPIES).format(name))
        where = rng.choice([place, expressions.element(name, shape)])  # at times the same in all trips
        writer.line(f"{where} {rng.choice(_SIGNS)} {expressions.number(rng.choice([0, 0, 1]))}")
        before = copy + where.removeprefix(name)
        if numbers := writer.numbers():
            writer.line(f"{rng.choice(numbers)} {rng.choice(['=', '+='])} {before}")
        else:
            writer.line(f"{expressions.element(*read)} {rng.choice(_SIGNS)} {before}")
        _also(writer)
    return None


@writes("stepped")
def write_stepped(writer: Writer) -> None:
    """Each trip makes the next state from the one before, which it still reads, and replaces it."""
    rng, expressions = writer.rng, writer.expressions
    held = [(place, kind.shape) for place, kind in writer.targets() if isinstance(kind, Array) and place.isidentifier()]
    held = [(place, shape) for place, shape in held if expressions.scope[place] == Array(shape)]
    if not held:
        return writer.write("local")
    name, shape = rng.choice(held)
    following = writer.fresh("u")
    with _trips(writer):
        writer.line(f"{following} = {rng.choice([f'{name}.copy()', f'np.zeros({shape})', f'{name} * 0.5'])}")
        for _ in range(rng.choice([1, 1, 2])):
            where = expressions.element(name, shape)
            other = rng.choice([where, expressions.element(name, shape)])
            writer.line(f"{following}{where.removeprefix(name)} {rng.choice(_SIGNS)} {other} * {expressions.number(0)}")
        _also(writer)
        writer.line(rng.choice([f"{name} = {following}", f"{name}, {following} = {following}, {name}"]))
    return None


@writes("undone")
def write_undone(writer: Writer) -> None:
    """An element is set aside, written, and put back, as in a difference quotient."""
    rng, expressions, arrays = writer.rng, writer.expressions, writer.expressions.arrays()
    if not arrays:
        return writer.write("local")
    name, shape = rng.choice(arrays)
    kept = writer.fresh("s")
    with _trips(writer):
        where = expressions.element(name, shape)
        writer.define(kept, Float(), where)
        writer.line(f"{where} {rng.choice(_SIGNS)} {expressions.number(1)}")
        writer.body()
        writer.line(f"{where} = {rng.choice([kept, f'{kept} * 0.5', f'{where} + {kept}'])}")
    return None
