"""Statements that write numbers and arrays.

Reads: the scope. Writes: one statement or a few. Leaves: control flow.
"""

from __future__ import annotations

from mlirad.testing.programs.function_writer import Writer, writes
from mlirad.testing.programs.kinds import Array, Float, Int

_OTHER = [(5,), (3,), (4,), (2,), (3, 4)]


@writes("number")
def write_number(writer: Writer) -> None:
    held = writer.numbers()
    if held and writer.rng.random() < 0.5:
        writer.line(f"{writer.rng.choice(held)} {writer.rng.choice(['+=', '-=', '*='])} {writer.expressions.number(1)}")
    else:
        writer.bind(Float(), "s", writer.expressions.number(2))


@writes("integer")
def write_integer(writer: Writer) -> None:
    """An int of Python, or of NumPy."""
    rng, whole = writer.rng, writer.expressions.integer()
    choice = rng.random()
    if choice < 0.25:
        whole = f"np.int64({whole})"
    elif choice < 0.35:
        whole = f"int({writer.expressions.number(0)})"
    writer.bind(Int(0, 4), "i", f"({whole}) % 5")


@writes("widened")
def write_widened(writer: Writer) -> None:
    """A number that is an int before a loop and a float in it."""
    name, index = writer.fresh("s"), writer.fresh("j")
    writer.line(f"{name} = {writer.rng.choice(['0', '1', '-2'])}")
    writer.line(f"for {index} in {writer.expressions.trips()}:")
    writer.line(f"    {name} = {name} {writer.rng.choice(['+', '-', '*'])} {writer.expressions.number(1)}")
    writer.define(name, Float(), f"{name} * 1.0")


@writes("rebind")
def write_rebind(writer: Writer) -> None:
    shape = writer.rng.choice(writer.expressions.shapes())
    writer.bind(Array(shape), "t", writer.expressions.array(shape, 2))


@writes("local")
def write_local(writer: Writer) -> None:
    rng = writer.rng
    shape = rng.choice(_OTHER)
    same = writer.expressions.names(Array, shape)
    made = [f"np.zeros({shape})", f"np.ones({shape})", f"np.full({shape}, {writer.expressions.number(1)})"]
    made += [f"{name}.copy()" for name in same] + [f"np.zeros_like({name})" for name in same]
    writer.bind(Array(shape), "t", rng.choice(made))


@writes("view")
def write_view(writer: Writer) -> None:
    shape = writer.rng.choice([*writer.expressions.shapes(), (2,), (3,), (4,)])
    writer.bind(Array(shape), "v", writer.expressions.view(shape))


@writes("choice")
def write_choice(writer: Writer) -> None:
    """A reference that depends on a branch, and a write through it."""
    rng, expressions = writer.rng, writer.expressions
    shape = rng.choice(expressions.shapes())
    one, other = expressions.view(shape), expressions.view(shape)
    if rng.random() < 0.6:
        name = writer.bind(Array(shape), "v", f"{one} if {expressions.condition()} else {other}")
    else:
        name = writer.fresh("v")
        writer.line(f"{name} = {one}")
        writer.line(f"if {expressions.condition()}:")
        writer.line(f"    {name} = {other}")
        expressions.scope[name] = Array(shape)
    writer.line(f"{expressions.element(name, shape)} {rng.choice(['=', '+=', '*='])} {expressions.number(1)}")


@writes("element")
def write_element(writer: Writer) -> None:
    arrays = writer.expressions.arrays()
    if not arrays:
        return write_local(writer)
    where = writer.expressions.element(*writer.rng.choice(arrays))
    sign = writer.rng.choice(["=", "=", "+=", "-=", "*="])
    return writer.line(f"{where} {sign} {writer.expressions.number(2 if sign == '=' else 1)}")


@writes("update")
def write_update(writer: Writer) -> None:
    arrays = writer.updatable()
    if not arrays:
        return write_element(writer)
    name, shape = writer.rng.choice(arrays)
    sign = writer.rng.choice(["+=", "-=", "*="])
    value = writer.expressions.number(1) if writer.rng.random() < 0.4 else writer.expressions.array(shape, 1)
    return writer.line(f"{name} {sign} {value}")


@writes("slice")
def write_slice(writer: Writer) -> None:
    rng, expressions = writer.rng, writer.expressions
    shape = rng.choice([*expressions.shapes(), (2,), (3,)])
    where = expressions.view(shape)
    if not where.endswith("]") or where.startswith("np.") or where in expressions.names(Array):
        return write_element(writer)
    sign = rng.choice(["=", "=", "+=", "-=", "*="])
    value = expressions.number(1) if rng.random() < 0.3 else expressions.array(shape, 1)
    return writer.line(f"{where} {sign} {value}")


@writes("shift")
def write_shift(writer: Writer) -> None:
    """A part of an array from another part of it, in place."""
    rng, vectors = writer.rng, writer.vectors()
    if not vectors:
        return write_slice(writer)
    name, size = rng.choice(vectors)
    sign = rng.choice(["=", "+=", "-=", "*="])
    if size < 3:
        return writer.line(f"{name} {'+=' if sign == '=' else sign} {name}[::-1]")
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
    return writer.line(f"{name}[{left}] {sign} {name}[{right}]{factor}")


@writes("window")
def write_window(writer: Writer) -> None:
    """Slices of run-time lengths."""
    rng, expressions, vectors = writer.rng, writer.expressions, writer.vectors()
    if not vectors:
        return write_slice(writer)
    name, size = rng.choice(vectors)
    other = rng.choice([each for each, length in vectors if length == size])
    where = expressions.window()
    if rng.random() < 0.3:
        return writer.line(f"{name}[{where}] {rng.choice(['=', '+=', '*='])} {expressions.number(1)}")
    value = rng.choice([f"{other}[{where}] * 0.5", f"{other}[{where}] + {expressions.number(0)}", f"{other}[{where}]"])
    return writer.line(f"{name}[{where}] {rng.choice(['=', '+=', '-='])} {value}")


@writes("back")
def write_back(writer: Writer) -> None:
    """A row taken out, changed, and written back."""
    rng, expressions, matrices = writer.rng, writer.expressions, writer.matrices()
    if not matrices:
        return write_choice(writer)
    name, shape = rng.choice(matrices)
    row, place = writer.fresh("r"), expressions.index(shape[0])
    writer.line(f"{row} = {name}[{place}]{rng.choice(['', '.copy()'])}")
    writer.line(f"{row} {rng.choice(['+=', '*='])} {expressions.number(1)}")
    writer.line(f"{row}[{expressions.index(shape[1])}] = {expressions.number(1)}")
    writer.line(f"{name}[{rng.choice([place, expressions.index(shape[0])])}] = {row}")
    expressions.scope[row] = Array(shape[1:])
    return None


@writes("swap")
def write_swap(writer: Writer) -> None:
    rng, places = writer.rng, [(place, kind) for place, kind in writer.targets()]
    pairs = [(p, q, k) for i, (p, k) in enumerate(places) for q, other in places[i + 1 :] if k == other]
    if not pairs:
        return write_turn(writer)
    first, second, kind = rng.choice(pairs)
    if rng.random() < 0.25 and isinstance(kind, Array) and kind.dtype == "float64":
        return writer.line(f"{first}, {second} = {second}, {writer.expressions.array(kind.shape, 1)}")
    if rng.random() < 0.2:
        old = writer.fresh("t")
        writer.line(f"{old} = {first}")
        writer.line(f"{first} = {second}")
        return writer.line(f"{second} = {old}")
    return writer.line(f"{first}, {second} = {second}, {first}")


@writes("rotate")
def write_rotate(writer: Writer) -> None:
    """Three references, or two and something new, that change places."""
    rng, expressions = writer.rng, writer.expressions
    shape = rng.choice(expressions.shapes())
    held = [place for place, kind in writer.targets() if kind == Array(shape)]
    if len(held) < 3:
        made = writer.fresh("t")
        writer.define(made, Array(shape), expressions.array(shape, 1))
        held = [place for place, kind in writer.targets() if kind == Array(shape)]
    if len(held) < 2:
        return write_view(writer)
    one, two, *rest = rng.sample(held, min(3, len(held)))
    if rest:
        return writer.line(f"{one}, {two}, {rest[0]} = {two}, {rest[0]}, {one}")
    return writer.line(f"{one}, {two} = {two}, {one}")


@writes("turn")
def write_turn(writer: Writer) -> None:
    """Elements or rows that change places: rows are views, and become equal."""
    rng, expressions = writer.rng, writer.expressions
    arrays = expressions.arrays()
    if not arrays:
        return write_local(writer)
    name, shape = rng.choice(arrays)
    one, other = expressions.index(shape[0]), expressions.index(shape[0])
    return writer.line(f"{name}[{one}], {name}[{other}] = {name}[{other}], {name}[{one}]")


@writes("other")
def write_other(writer: Writer) -> None:
    """Arrays of other dtypes."""
    rng, expressions = writer.rng, writer.expressions
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
        writer.line(rng.choice(statements))
    elif single:
        name, shape = rng.choice(single)
        statements = [
            f"{expressions.element(name, shape)} {rng.choice(['=', '+=', '*='])} {expressions.number(1)}",
            f"{name} {rng.choice(['+=', '-='])} {expressions.array(shape, 1)}",
            f"{name}[::-1] *= 0.5",
            f"{name}[1:] = {name}[:-1] * 1.5",
            f"{name} = {name} * 0.5",
        ]
        writer.line(rng.choice(statements))
    else:
        write_number(writer)
