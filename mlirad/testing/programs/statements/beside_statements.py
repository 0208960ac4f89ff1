"""Statements whose results are wrong if a write beside them moves: products of long rows, convolutions as loops, copies
of reversed slices, heaps, lists written at places that only the run knows, and `try`.

Reads: the scope. Writes: such statements, with writes to what they read before, between and after. Leaves: the arrays
that they need, to generate.py.
"""

from __future__ import annotations

from collections.abc import Iterable
from random import Random
from typing import TypeVar

from mlirad.testing.programs.function_writer import Writer, writes
from mlirad.testing.programs.kinds import Array, Float, Int, Kind, Shape
from mlirad.testing.programs.statements.control_statements import loop

_Size = TypeVar("_Size", int, Shape)
_LONG = (5, 16, 33, 64, 65, 129, 257)
"""Lengths of rows around those that products read in blocks."""
_SMALL = ("0.1", "0.25", "-0.2", "0.3", "-0.05")
_OF_EACH = ("np.sin({})", "np.tanh({})", "{} * 0.5", "{} ** 2 * 0.25", "{} + 1", "{}")


def beside_parameters(rng: Random) -> dict[str, Kind]:
    """Matrices with long columns and few of them, a signal and a filter, an image and its weights, and small ones."""
    rows, few, some = rng.choice(_LONG), rng.randrange(1, 9), rng.choice([1, 2, 3, 5, 9])
    high, wide = rng.randrange(5, 12), rng.randrange(4, 19)
    shapes: dict[str, Shape] = {
        "T": (rows, few),
        "U": (rows, few),
        "D": (rows, some),
        "S": (few, some),
        "v": (few,),
        "c": (rows,),
        "F": (3,),
        "I": (high, wide),
        "K": (rng.randrange(1, 4), 3),
        "H": (3, 3),
        "x": (5,),
    }
    return {name: Array(shape) for name, shape in shapes.items()}


def _named(places: Iterable[tuple[str, _Size]]) -> list[tuple[str, _Size]]:
    """Those that are names, not items of a container."""
    return [each for each in places if each[0].isidentifier()]


def _like(writer: Writer, shape: Shape, updated: bool = False) -> list[str]:
    arrays = writer.updatable() if updated else writer.expressions.arrays()
    return [name for name, own in _named(arrays) if own == shape]


def _write_to(writer: Writer, name: str, shape: Shape) -> None:
    """Change an array, or a part of it, in place."""
    rng = writer.rng
    last = ":, " * (len(shape) - 1)
    other = rng.choice(_like(writer, shape))
    small = rng.choice(_SMALL)
    writer.line(rng.choice([
        f"{name} *= {small} + 0.9",
        f"{name}[...] = {small} * {rng.choice(_OF_EACH).format(other)}",
        f"{name} += {small} * {other}",
        f"{name}[{rng.randrange(shape[0])}] = {small}",
        f"{name}[{last}{rng.randrange(shape[-1])}] *= {small}",
        f"{name}[1:] -= {small} * {name}[:-1]",
        f"{name}[{last}::-1] = {small} * {other}",
    ]))  # fmt: skip


def _maybe_write(writer: Writer, name: str, shape: Shape, share: float = 0.5) -> None:
    if writer.rng.random() < share and _like(writer, shape) and name in _like(writer, shape, updated=True):
        _write_to(writer, name, shape)


@writes("tall")
def write_tall(writer: Writer) -> None:
    """A product along long columns, of what a nest computes from an array that is then written."""
    rng = writer.rng
    tall = _named(writer.matrices())
    pairs = [(x, y) for x in tall for y in tall if x[1][0] == y[1][0]]
    if not pairs:
        return writer.write("local")
    (one, left), (other, right) = rng.choice(pairs)
    nest = writer.fresh("N")
    writer.define(nest, Array(left), rng.choice(_OF_EACH).format(rng.choice(_like(writer, left))))
    for name, shape in ((one, left), (other, right), (nest, left)):
        _maybe_write(writer, name, shape, 0.35)
    scale, vector = f"{0.5 / max(1, left[0]):.3g}", rng.choice(_like(writer, (left[0],)) or [f"{other}[:, 0]"])
    value, shape = rng.choice([
        (f"{nest}.T @ {other}", (left[1], right[1])),
        (f"({rng.choice(_like(writer, left))} * {nest}).T @ {other}", (left[1], right[1])),
        (f"{nest}.T @ {vector}", (left[1],)),
        (f"{vector} @ {nest}", (left[1],)),
        (f"{nest} @ np.ones({left[1]})", (left[0],)),
    ])  # fmt: skip
    made = writer.fresh("M")
    is_apart = rng.random() < 0.6
    if is_apart:
        writer.line(f"{made} = {value}")
        for name, own in ((one, left), (other, right)):
            _maybe_write(writer, name, own, 0.6)
    value = rng.choice(_OF_EACH).format(f"({scale} * {made if is_apart else f'({value})'})")
    targets = _like(writer, shape, updated=True)
    if targets and rng.random() < 0.7:
        writer.line(f"{rng.choice(targets)} {rng.choice(['=', '+=', '-='])} {value}")
    else:
        writer.define(made, Array(shape), value)
    for name, own in ((one, left), (other, right)):
        _maybe_write(writer, name, own, 0.35)
    return None


@writes("convolved")
def write_convolved(writer: Writer) -> None:
    """A convolution written as loops over places or over weights, with a write to what it reads inside or after it."""
    rng = writer.rng
    if rng.random() < 0.5 and (lines := [each for each in _named(writer.vectors()) if each[1] > 3]):
        source, size = rng.choice(lines)
        _convolved_line(writer, source, size)
        _maybe_write(writer, source, (size,))
        return None
    images = [each for each in _named(writer.matrices()) if min(each[1]) > 3]
    weights = [each for each in _named(writer.matrices()) if max(each[1]) == 3]
    if not images or not weights:
        return writer.write("mirrored")
    source, shape = rng.choice(images)
    _convolved_image(writer, source, shape, *rng.choice(weights))
    _maybe_write(writer, source, shape)
    return None


def _convolved_line(writer: Writer, source: str, size: int) -> None:
    rng = writer.rng
    weights = rng.choice(_like(writer, (3,)) or ["(0.5, -0.25, 0.5)"])
    i, k, made = writer.fresh("i"), writer.fresh("k"), writer.fresh("w")
    held = [name for name in _like(writer, (size,), updated=True) if name != source or rng.random() < 0.4]
    out = rng.choice([made, *held])
    if out == made:
        writer.define(made, Array((size,)), f"np.zeros({size})")
    writer.line(f"for {i} in range({size - 2}):")
    with loop(writer, {i: Int(0, size - 3)}):
        writer.line(f"for {k} in range(3):")
        writer.line(f"    {out}[{i}] += 0.2 * {source}[{i} + {k}] * {weights}[{k}]")
        if source in _like(writer, (size,), updated=True) and rng.random() < 0.4:
            writer.line(f"{source}[{i} + {rng.randrange(3)}] *= 0.9")


def _convolved_image(writer: Writer, source: str, shape: Shape, kernel: str, taps: Shape) -> None:
    rng, made = writer.rng, writer.fresh("C")
    high, wide = shape[0] - taps[0] + 1, shape[1] - taps[1] + 1
    writer.define(made, Array((high, wide)), f"np.zeros(({high}, {wide}))")
    i, j, k, m = (writer.fresh(each) for each in "ijkm")
    is_written = source in _like(writer, shape, updated=True) and rng.random() < 0.4
    if rng.random() < 0.5:
        writer.line(f"for {k} in range({taps[0]}):")
        writer.line(f"    for {m} in range({taps[1]}):")
        part = f"{source}[{k}:{k} + {high}, {m}:{m} + {wide}]"
        writer.line(f"        {made} += 0.2 * {part} * {kernel}[{k}, {m}]")
        if is_written:
            writer.line(f"    {source}[{k}] *= 0.9")
        return
    writer.line(f"for {i} in range({high}):")
    writer.line(f"    for {j} in range({wide}):")
    writer.line(f"        for {k} in range({taps[0]}):")
    writer.line(f"            for {m} in range({taps[1]}):")
    read = f"{source}[{i} + {k}, {j} + {m}]"
    writer.line(f"                {made}[{i}, {j}] += 0.2 * {read} * {kernel}[{k}, {m}]")
    if is_written:
        writer.line(f"        {source}[{i}, {j} + {rng.randrange(taps[1])}] *= 0.9")


@writes("mirrored")
def write_mirrored(writer: Writer) -> None:
    """A copy of an array in reverse, beside writes to it, or a part of it from its own reverse."""
    rng = writer.rng
    arrays = _named(writer.updatable())
    if not arrays:
        return writer.write("local")
    name, shape = rng.choice(arrays)
    axis = rng.randrange(len(shape))
    size, before = shape[axis], ":, " * axis
    if rng.random() < 0.5:
        made = writer.fresh("R")
        part = rng.choice([f"{before}::-1", f"{before}{size - 1}::-1", f"{before}-1::-1"])
        copy = rng.choice(["{}.copy()", "{} * 1.0", "np.array({})", "{}"])
        writer.define(made, Array(shape), copy.format(f"{name}[{part}]"))
        _maybe_write(writer, name, shape, 0.7)
        return writer.line(f"{name} {rng.choice(['+=', '-='])} {rng.choice(_SMALL)} * {made}")
    if rng.random() < 0.5 and len(shape) == 1:
        trip = writer.fresh("j")
        writer.line(f"for {trip} in range({size}):")
        writer.line(f"    {name}[{trip}] {rng.choice(['=', '+='])} 0.3 * ({name}[{trip}::-1] @ {name}[:{trip} + 1])"
                    f" / {size}")  # fmt: skip
        return None
    half = rng.randrange(size + 1)
    writer.line(rng.choice([
        f"{name}[{before}:{half}] = 0.5 * {name}[{before}::-1][{before}:{half}]",
        f"{name}[{before}{half}:] += 0.25 * {name}[{before}::-1][{before}{half}:]",
        f"{name}[{before}::-1] = 0.5 * {name}",
    ]))  # fmt: skip


@writes("heaped")
def write_heaped(writer: Writer) -> None:
    """A heap of numbers and places, from which some are popped, while the array that they come from is written."""
    rng = writer.rng
    vectors = _named(writer.vectors())
    if not vectors:
        return writer.write("local")
    name, size = rng.choice(vectors)
    heap, trip, taken, place = writer.fresh("h"), writer.fresh("j"), writer.fresh("s"), writer.fresh("p")
    is_updated = name in _like(writer, (size,), updated=True)
    writer.line(f"{heap} = []")
    writer.line(f"for {trip} in range({min(size, 7)}):")
    writer.line(f"    heapq.heappush({heap}, ({rng.choice([f'{name}[{trip}]', f'np.sin({name}[{trip}])'])}, {trip}))")
    if is_updated:
        writer.line(f"    {name}[{trip}] *= 0.5")
    over = rng.choice([f"while {heap}:", f"for _ in range({rng.randrange(1, min(size, 7) + 1)}):",
                       f"while len({heap}) > 1:"])  # fmt: skip
    writer.define(taken, Float(), "0.0")
    writer.line(over)
    with writer.block():
        value = writer.fresh("s")
        writer.line(f"{value}, {place} = heapq.heappop({heap})")
        writer.line(f"{taken} += 0.25 * {value} * ({place} + 1)")
        if is_updated:
            writer.line(f"{name}[{place}] += 0.5 * {value}")


@writes("placed")
def write_placed(writer: Writer) -> None:
    """A list that is written, and read, at places that only the run knows."""
    rng, expressions = writer.rng, writer.expressions
    if "q" not in expressions.scope or not writer.vectors():
        return writer.write("local")
    held, trip, length = writer.fresh("l"), writer.fresh("j"), rng.randrange(2, 5)
    writer.line(f"{held} = [{', '.join(rng.choice(['0.0', '0.5', '1.0']) for _ in range(length))}]")
    place = f"int(q[{trip}]) % {length}"
    writer.line(f"for {trip} in range(5):")
    with writer.block():
        expressions.scope[trip] = Int(0, 4)
        writer.frozen |= {trip}
        writer.line(f"{held}[{place}] {rng.choice(['+=', '-=', '='])} {expressions.number(1)}")
        if rng.random() < 0.5:
            name, size = rng.choice(writer.vectors())
            writer.line(f"{name}[{trip} % {size}] += 0.25 * {held}[({place} + 1) % {length}]")
    total = writer.fresh("s")
    writer.define(total, Float(), f"{held}[int(q[0]) % {length}] + 0.5 * sum({held})")


@writes("tried")
def write_tried(writer: Writer) -> None:
    """A statement that may raise, with a handler that goes on from the state before it."""
    rng, expressions = writer.rng, writer.expressions
    ints = [name for name, kind in expressions.scope.items() if isinstance(kind, Int)] or ["2"]
    n, name = rng.choice(ints), writer.fresh("s")
    if not writer.vectors():
        return writer.write("local")
    vector, size = rng.choice(writer.vectors())
    square = rng.choice(_like(writer, (3, 3)) or ["np.eye(3)"])
    raising: list[tuple[str, str]] = [
        (f"{vector}[{n} + {max(size - 2, 0)}] * 0.5", "IndexError"),
        (f"(4 // ({n} - 1)) * {expressions.number(0)}", "ZeroDivisionError"),
        (f"np.linalg.cholesky({square} @ {square}.T - {rng.choice(['0.3', '2.0'])} * np.eye(3))[1, 0] * 0.25",
         "np.linalg.LinAlgError"),
    ]  # fmt: skip
    value, error = rng.choice(raising)
    writer.define(name, Float(), expressions.number(0))
    writer.line("try:")
    if rng.random() < 0.4:
        writer.line(f"    {vector}[0] += 0.25")
    writer.line(f"    {name} = {value}")
    writer.line(f"except {rng.choice([error, error, 'Exception', f'(ValueError, {error})'])}:")
    writer.line(f"    {name} = {expressions.number(0)}")
    writer.line(f"    {vector}[-1] *= 0.5")
    if rng.random() < 0.3:
        writer.line("else:")
        writer.line(f"    {vector}[0] -= 0.5 * {name}")
