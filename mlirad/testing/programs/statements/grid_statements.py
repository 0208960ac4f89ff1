"""Statements on grids: stencils in place, walls, sweeps along an axis, products, rows, sums that are spread again.

Reads: the scope. Writes: statements on whole arrays, and loops of them. Leaves: how large arrays are, to generate.py.

What they write is made of small multiples of what they read, so that loops of them stay near 1.
"""

from __future__ import annotations

from collections.abc import Callable

from mlirad.testing.programs.function_writer import Writer, writes
from mlirad.testing.programs.kinds import Array, Float, Int, Shape
from mlirad.testing.programs.statements.control_statements import loop

SIZES = (1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 31, 33, 65)
"""Around the widths of vectors, and where rows, tiles and strips begin."""

_SMALL = ("0.1", "0.25", "-0.2", "0.3", "-0.05")
_SMOOTH = ("np.sin({})", "np.tanh({})", "np.cos({})", "{}", "{}", "{}")


def grid_parameters(random_size: Callable[[], int], random_side: Callable[[], int]) -> dict[str, Array]:
    """Parameters of a program on grids: a matrix, those staggered by one, its borders, and boxes."""
    rows, columns = random_size(), random_size()
    box = (random_side(), random_side(), random_side())
    shapes: dict[str, Shape] = {
        "A": (rows, columns),
        "B": (rows, columns),
        "P": (rows + 1, columns),
        "Q": (rows, columns + 1),
        "W": (columns, columns),
        "c": (columns,),
        "o": (rows,),
        "X": box,
        "Y": box,
        "Z": (box[0], box[1], box[2] + 1),
    }
    return {name: Array(shape) for name, shape in shapes.items()}


def _grids(writer: Writer, lowest: int = 1) -> list[tuple[str, Shape]]:
    """Arrays of at least so many axes that may be written."""
    return [(name, shape) for name, shape in writer.updatable() if len(shape) >= lowest and name.isidentifier()]


def _part(first: int, length: int, step: int, size: int, style: int) -> str:
    """A slice of an axis of this size."""
    if step == -1:
        return f"{first + length - 1}:{first - 1 if first else ''}:-1"
    stop = first + (length - 1) * step + 1 if length else first
    if style == 0 and stop == size and step == 1:
        return f"{first or ''}:"
    if style == 1 and size > stop and step == 1:
        return f"{first or ''}:{stop - size}"
    return f"{first}:{stop}" + (f":{step}" if step > 1 else "")


def _inside(writer: Writer, shape: Shape) -> list[tuple[int, int, int]]:
    """For each axis, where a part of it begins, its length, and its step."""
    rng = writer.rng
    found: list[tuple[int, int, int]] = []
    for size in shape:
        low, high = (rng.choice([0, 0, 1, 1, 2]) for _ in range(2))
        if low + high >= size:
            low = high = 0
        step = rng.choice([1, 1, 1, 1, 1, 2, -1])
        length = size - low - high
        found.append((low, (length + 1) // 2 if step == 2 else length, step))
    return found


def _read(writer: Writer, name: str, shape: Shape, parts: list[tuple[int, int, int]]) -> str | None:
    """A neighbouring part of another array, as long as `parts`."""
    rng = writer.rng
    shown: list[str] = []
    for size, (low, length, step) in zip(shape, parts, strict=True):
        span = (length - 1) * abs(step) + 1 if length else 0
        if span > size:
            return None
        first = min(max(low + rng.choice([-1, 0, 0, 1]), 0), size - span)
        shown.append(_part(first, length, step, size, rng.randrange(3)))
    return f"{name}[{', '.join(shown)}]"


def _terms(writer: Writer, shape: Shape, parts: list[tuple[int, int, int]]) -> str:
    rng = writer.rng
    others = [(name, other) for name, other in writer.expressions.arrays() if len(other) == len(shape)]
    found: list[str] = []
    for _ in range(rng.choice([1, 2, 2, 3, 4])):
        read = _read(writer, *rng.choice(others), parts)
        if read is None:
            continue
        if rng.random() < 0.2 and (second := _read(writer, *rng.choice(others), parts)):
            read = rng.choice([f"np.where({read} > 0.3, {second}, -{read})", f"np.sin({read}) * {second}",
                               f"np.maximum({read}, {second})", f"{read} / (2 + {second} ** 2)"])  # fmt: skip
        found.append(f"{rng.choice(_SMALL)} * {rng.choice(_SMOOTH).format(read)}")
    return " + ".join(found) or "0.5"


@writes("stencil")
def write_stencil(writer: Writer) -> None:
    """A part of an array from parts around it, of the same array and of others."""
    grids = _grids(writer)
    if not grids:
        return writer.write("local")
    name, shape = writer.rng.choice(grids)
    parts = _inside(writer, shape)
    shown = ", ".join(_part(*part, size, writer.rng.randrange(3)) for part, size in zip(parts, shape, strict=True))
    return writer.line(f"{name}[{shown}] {writer.rng.choice(['=', '+=', '-='])} {_terms(writer, shape, parts)}")


@writes("wall")
def write_wall(writer: Writer) -> None:
    """A border of an array from another row of it, or from a number."""
    rng, grids = writer.rng, _grids(writer, 2)
    if not grids:
        return writer.write("local")
    name, shape = rng.choice(grids)
    axis = rng.randrange(len(shape))
    before = ":, " * axis
    to, source = (rng.choice([0, -1, min(1, shape[axis] - 1), -shape[axis]]) for _ in range(2))
    value = rng.choice([f"0.5 * {name}[{before}{source}]", f"{name}[{before}{source}]", writer.expressions.number(0)])
    return writer.line(f"{name}[{before}{to}] {rng.choice(['=', '=', '+='])} {value}")


@writes("march")
def write_march(writer: Writer) -> None:
    """A loop over time of several stencils and walls, at times one that makes new arrays and rotates names."""
    rng, grids = writer.rng, _grids(writer, 2)
    trip = writer.fresh("t")
    writer.line(f"for {trip} in range({rng.choice([*writer.expressions.names(Int), '2', '3'])}):")
    with loop(writer, {trip: Int(0, 2)}):
        for _ in range(rng.choice([1, 2, 2, 3, 4])):
            writer.write(rng.choice(["stencil", "stencil", "stencil", "wall", "spread", "step"]))
        if grids and rng.random() < 0.3:
            name, shape = rng.choice(grids)
            same = [other for other, size in grids if size == shape and other != name]
            if same:
                other = rng.choice(same)
                writer.line(f"{name}, {other} = {other}, {name}")


@writes("step")
def write_step(writer: Writer) -> None:
    """A new array in place of an old one, of shifted copies."""
    rng, grids = writer.rng, _grids(writer, 2)
    if not grids:
        return writer.write("local")
    name, shape = rng.choice(grids)
    axis, other = (rng.randrange(len(shape)) for _ in range(2))
    rolled = f"np.roll({name}, {rng.choice([1, -1])}, axis={axis}) - np.roll({name}, {rng.choice([1, -1])}, {other})"
    return writer.line(f"{name} = {name} * 0.9 + {rng.choice(_SMALL)} * ({rolled})")


@writes("sweep")
def write_sweep(writer: Writer) -> None:
    """A recurrence along an axis, forwards or backwards, of whole rows or planes, at times with one that is carried."""
    rng, grids = writer.rng, _grids(writer, 2)
    if not grids:
        return writer.write("local")
    name, shape = rng.choice(grids)
    others = [each for each, size in writer.expressions.arrays() if size == shape]
    axis, trip = rng.randrange(len(shape)), writer.fresh("k")
    size = shape[axis]
    last = axis == len(shape) - 1

    def at(array: str, place: str) -> str:
        return f"{array}[..., {place}]" if last and len(shape) > 1 else f"{array}[{':, ' * axis}{place}]"

    forwards = rng.random() < 0.5
    back = f"{trip} - 1" if forwards else f"{trip} + 1"
    over = (
        f"range(1, {size})" if forwards else rng.choice([f"range({size - 2}, -1, -1)", f"reversed(range({size - 1}))"])
    )
    one, two = rng.choice(others), rng.choice(others)
    carried = writer.fresh("g")
    is_carried = rng.random() < 0.4
    if is_carried:
        writer.line(f"{carried} = {at(two, '0')} * 0.5")
    before = carried if is_carried else at(name, back)
    writer.line(f"for {trip} in {over}:")
    writer.depth += 1
    value = rng.choice([
        f"({at(name, trip)} - 0.3 * {before}) / (2 + {at(one, trip)} ** 2)",
        f"0.5 * {at(one, trip)} + 0.4 * {before} * {at(two, trip)}",
        f"np.tanh({before}) + 0.2 * {at(one, back)}",
        f"np.where({before} > 0.3, {at(one, trip)}, 0.5 * {before})",
    ])  # fmt: skip
    if is_carried:
        writer.line(f"{carried} = {value}")
        value = rng.choice([carried, f"0.5 * {carried}", f"{carried} - 0.1 * {at(two, back)}"])
    writer.line(f"{at(name, trip)} {rng.choice(['=', '=', '+=', '-='])} {value}")
    writer.depth -= 1
    return None


@writes("product")
def write_product(writer: Writer) -> None:
    """A product of matrices or of a matrix and a vector, and what is computed beside it."""
    rng, expressions = writer.rng, writer.expressions
    matrices = writer.matrices()
    views = [(n, s) for n, s in matrices] + [(f"{n}.T", (s[1], s[0])) for n, s in matrices]
    vectors = [(n, s) for n, s in expressions.arrays() if len(s) == 1]
    pairs = [(x, y) for x in views for y in views + vectors if x[1][1] == y[1][0]]
    if not pairs:
        return writer.write("stencil")
    (one, left), (other, right) = rng.choice(pairs)
    shape = (left[0], *right[1:])
    product = f"{0.5 / max(1, left[1]):.3g} * ({one} @ {other})"
    beside = [n for n, s in (*views, *vectors) if s == shape]
    spread = [n for n, s in vectors if s == shape[-1:]]
    for held in (beside, spread):
        if held and rng.random() < 0.6:
            product = rng.choice([f"{product} + {rng.choice(held)}", f"({product}) * {rng.choice(held)}"])
    target = rng.choice([n for n, s in _grids(writer) if s == shape] or [""])
    value = rng.choice(_SMOOTH).format(product)
    if target and rng.random() < 0.5:
        return writer.line(f"{target} {rng.choice(['=', '+=', '-='])} {value}")
    name = writer.fresh("M")
    writer.define(name, Array(shape), value)
    return None


@writes("spread")
def write_spread(writer: Writer) -> None:
    """A sum, mean or extreme along an axis, which is spread over the array again or kept."""
    rng, grids = writer.rng, _grids(writer, 2)
    if not grids:
        return writer.write("local")
    name, shape = rng.choice(grids)
    axis = rng.randrange(len(shape))
    how = rng.choice(["mean", "mean", "max", "min", "var"])
    sign = rng.choice(["-=", "+=", "="])
    source = rng.choice([n for n, s in writer.expressions.arrays() if s == shape])
    return writer.line(f"{name} {'-=' if sign == '=' else sign} 0.3 * {source}.{how}(axis={axis}, keepdims=True)")


@writes("row by row")
def write_rows(writer: Writer) -> None:
    """A loop over rows that updates the rows after it, or reads all those before it."""
    rng = writer.rng
    matrices = [(name, shape) for name, shape in _grids(writer, 2) if len(shape) == 2]
    if not matrices:
        return writer.write("local")
    name, (rows, columns) = rng.choice(matrices)
    k = writer.fresh("k")
    square = [n for n, s in writer.matrices() if s == (columns, columns)]
    choices = [
        f"{name}[{k} + 1:] -= 0.1 * np.outer({name}[{k} + 1:, 0], {name}[{k}])",
        f"{name}[{k}] -= 0.1 * ({name}[{k}, :{min(rows, columns)}] @ {name}[:{min(rows, columns)}])",
        f"{name}[{k}] += 0.05 * {name}[:{k}].sum(axis=0)",
        f"{name}[:, {k} % {columns}] *= 0.5 + 0.1 * {name}[{k}, -1]",
        f"{name}[{k}, {k} % {columns}:] = 0.5 * {name}[{k}, {k} % {columns}:][::-1]",
        f"{name}[{k}] /= 1 + np.sqrt(0.1 + {name}[{k}] @ {name}[{k}])",
        f"{name}[{k}:] *= 1 + 0.1 * np.tanh({name}[{k}, {k} % {columns}])",
    ]
    if square:
        choices.append(f"{name}[{k}] = np.tanh({0.5 / columns:.3g} * ({name}[{k} - 1] @ {rng.choice(square)}))")
    writer.line(f"for {k} in {rng.choice([f'range({rows})', f'range(1, {rows})', f'range({rows - 1}, -1, -1)'])}:")
    writer.depth += 1
    for _ in range(rng.choice([1, 2, 3])):
        writer.line(rng.choice(choices))
    writer.depth -= 1
    return None


@writes("point by point")
def write_points(writer: Writer) -> None:
    """Nested loops over points that read neighbours which they may just have written."""
    rng = writer.rng
    matrices = [(name, shape) for name, shape in _grids(writer, 2) if len(shape) == 2 and min(shape) > 2]
    if not matrices:
        return writer.write("stencil")
    name, shape = rng.choice(matrices)
    source = rng.choice([n for n, s in writer.matrices() if s == shape])
    i, j = writer.fresh("i"), writer.fresh("j")
    backwards = rng.random() < 0.3
    for each, size in ((i, shape[0]), (j, shape[1])):
        writer.line(f"for {each} in {f'range({size - 2}, 0, -1)' if backwards else f'range(1, {size - 1})'}:")
        writer.depth += 1

    def near(trip: str) -> str:
        return trip + rng.choice(["", " - 1", " + 1"])

    reads = [f"{rng.choice([name, source])}[{near(i)}, {near(j)}]" for _ in range(rng.choice([2, 3, 4]))]
    value = " + ".join(f"{rng.choice(_SMALL)} * {read}" for read in reads)
    if rng.random() < 0.3:
        writer.line(f"if {reads[0]} > 0.3:")
        writer.line(f"    {name}[{i}, {j}] = 0.5 * {reads[-1]}")
        writer.line("    continue" if rng.random() < 0.5 else f"    {source}[{j} % {shape[0]}, {j}] *= 0.9")
    writer.line(f"{name}[{i}, {j}] {rng.choice(['=', '+=', '-='])} {value}")
    if sums := [
        each for each, kind in writer.expressions.scope.items() if kind == Float() and each not in writer.frozen
    ]:
        writer.line(f"{sums[0]} += 0.01 * {name}[{i}, {j}]")
    writer.depth -= 2
    return None
