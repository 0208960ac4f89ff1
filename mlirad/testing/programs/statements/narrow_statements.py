"""Statements about narrow dtypes: arrays and scalars of 8-bit integers, uint64 and float32, and what they meet.

Reads: the scope. Writes: one statement or a few. Leaves: numbers of no known dtype (`Number`), whose dtype is what is
tested: literals that stay weak, stores that cast or raise, joins that keep one of two dtypes.
"""

from __future__ import annotations

from mlirad.testing.programs.function_writer import Writer, writes
from mlirad.testing.programs.kinds import Array, Float, Int, Number, Shape

DTYPES = ("int8", "uint8", "uint64", "float32")
_LITERALS = ("0", "1", "2", "-1", "3", "7", "100", "0.5", "1.5", "True")
_UNSIGNED = ("0", "1", "2", "3", "7", "100")


def narrow_arrays(writer: Writer) -> list[tuple[str, Shape, str]]:
    """The arrays of narrow dtypes in scope."""
    return [(name, shape, dtype) for dtype in DTYPES for name, shape in writer.expressions.arrays(dtype)]


def loose(writer: Writer, depth: int = 1) -> str:
    """A number of whatever dtype comes out."""
    rng, expressions = writer.rng, writer.expressions
    if depth and rng.random() < 0.5:
        left, right = loose(writer, depth - 1), loose(writer, depth - 1)
        shapes = [
            *(f"({left} {sign} {right})" for sign in "++-**"),
            *(f"{name}({left}, {right})" for name in ("np.minimum", "np.maximum")),
            f"({left} // {rng.choice(['2', '3'])})",
            f"{left} ** {rng.choice(['2', 'np.int64(2)', 'np.uint8(2)'])}",
            f"abs({left})",
            f"max({left}, {left} * 2)",
            f"({left} if {right} > {rng.choice(_LITERALS)} else {left})",
        ]
        return rng.choice(shapes)
    found = expressions.names(Number) + expressions.names(Int)[:1]
    narrow = narrow_arrays(writer)
    if narrow:
        name, shape, _ = rng.choice(narrow)
        found += [expressions.element(name, shape)] * 2 + [rng.choice([f"{name}.sum()", f"{name}.max()"])]
    kind = rng.choice(DTYPES)
    literals = _UNSIGNED if kind.startswith("u") else _LITERALS[:7]
    found += [rng.choice(_LITERALS), f"np.{kind}({rng.choice(literals)})"]
    return rng.choice(found)


@writes("narrow")
def write_narrow(writer: Writer) -> None:
    """A new array of a narrow dtype, made or cast."""
    rng, expressions = writer.rng, writer.expressions
    dtype = rng.choice(DTYPES)
    items = ", ".join(rng.choice(_UNSIGNED) for _ in range(3))
    made = [
        f"np.array([{items}], np.{dtype})",
        f"np.zeros(3, np.{dtype})",
        f"np.full(3, {rng.choice(_UNSIGNED)}, np.{dtype})",
    ]
    shape: Shape = (3,)
    arrays = expressions.arrays()
    if arrays and rng.random() < 0.6:
        name, shape = rng.choice(arrays)
        value = f"np.abs({name})" if dtype.startswith("u") else name
        made = [f"({value} * {rng.choice(['1.5', '2.6', '1.0', '100.0'])}).astype(np.{dtype})"]
    name = writer.fresh("b")
    writer.define(name, Array(shape, dtype), rng.choice(made))


@writes("loose")
def write_loose(writer: Writer) -> None:
    """A number of any dtype; often a power, whose exponent has a dtype too."""
    name = writer.fresh("l")
    power = f"{of_dtype(writer, writer.rng.choice(DTYPES))} ** np.{writer.rng.choice(['int64', 'uint8'])}(2)"
    writer.define(name, Number(), power if writer.rng.random() < 0.2 else loose(writer, 2))


@writes("store")
def write_store(writer: Writer) -> None:
    """A number or an array into an array of another dtype, which casts it, or raises."""
    rng, expressions, narrow = writer.rng, writer.expressions, narrow_arrays(writer)
    if not narrow:
        return write_narrow(writer)
    name, shape, _ = rng.choice(narrow)
    numbers = [loose(writer, 1), f"int({loose(writer, 1)})", f"{loose(writer, 0)} % 5", expressions.number(0)]
    ints = expressions.names(Int)
    numbers += [f"{rng.choice(ints)} * 100"] if ints else []
    number = rng.choice(numbers)
    same = [n for n, s, _ in narrow if s == shape] + [n for n, s in expressions.arrays() if s == shape]
    statements = [
        f"{expressions.element(name, shape)} = {number}",
        f"{expressions.element(name, shape)} = {number}",
        f"{name}[:] = {rng.choice(same)}",
        f"{name}[:2] = {rng.choice(_UNSIGNED)}",
        f"{name} {rng.choice(['+=', '-=', '*='])} {rng.choice(_UNSIGNED)}",
        f"{name}[::-1] += {name}",
    ]
    return writer.line(rng.choice(statements))


def of_dtype(writer: Writer, dtype: str) -> str:
    """A number of NumPy, of a dtype."""
    arrays = writer.expressions.arrays(dtype)
    if arrays and writer.rng.random() < 0.7:
        name, shape = writer.rng.choice(arrays)
        return writer.expressions.element(name, shape)
    return f"np.{dtype}({writer.rng.choice(_UNSIGNED)})"


@writes("join")
def write_join(writer: Writer) -> None:
    """A number that is Python's on one path and NumPy's on another, mostly one that the other's dtype can hold."""
    rng, expressions = writer.rng, writer.expressions
    name, narrow = writer.fresh("l"), [each for each in narrow_arrays(writer) if len(each[1]) == 1]
    array, _, dtype = rng.choice(narrow) if narrow else ("", (), rng.choice(DTYPES))
    fits = _UNSIGNED if dtype.startswith("u") else _LITERALS[:7] if dtype == "int8" else _LITERALS[:9]
    literal = rng.choice(fits if rng.random() < 0.85 else _LITERALS)
    number = of_dtype(writer, dtype) if rng.random() < 0.85 else loose(writer, 1)
    match rng.randrange(4):
        case 0 if narrow:
            item = writer.fresh("e")
            writer.line(f"{name} = {literal}")
            writer.line(f"for {item} in {array}:")
            writer.line(f"    if {item} > {rng.choice(_UNSIGNED)}:")
            writer.line(f"        {name} = {rng.choice([item, item, f'{name} + {item}', f'max({name}, {item})'])}")
        case 1:
            writer.line(f"{name} = {literal}")
            writer.line(f"if {expressions.condition(0)}:")
            writer.line(f"    {name} = {number}")
        case 2:
            writer.line(f"{name} = {number} if {expressions.condition(0)} else {literal}")
        case _:
            writer.line(f"{name} = {rng.choice(['max', 'min'])}({literal}, {number})")
    used = writer.fresh("l")
    both = [f"{name} * {expressions.number(0)}", f"{name} > 2", f"{name} * 1.5 + {expressions.number(0)}", name]
    either = [f"{name} - 10", f"{name} * 100", f"{name} + np.uint8(200)", f"{name} / 2", f"-{name}"]
    writer.line(f"{used} = {rng.choice(both if rng.random() < 0.8 else either)}")
    expressions.scope |= {used: Number()}


@writes("compared")
def write_compared(writer: Writer) -> None:
    """A branch on numbers of different dtypes, in which doubles are written."""
    writer.line(f"if {loose(writer, 1)} {writer.rng.choice(['<', '>', '==', '<='])} {loose(writer, 0)}:")
    with writer.block():
        writer.write_something()


@writes("scaled")
def write_scaled(writer: Writer) -> None:
    """Doubles times numbers of other dtypes."""
    arrays = writer.expressions.arrays()
    if arrays:
        factor = writer.rng.choice([loose(writer, 0), f"np.float32({writer.rng.choice(_LITERALS[:7])})"])
        writer.bind(Float(), "s", f"np.sum({writer.rng.choice(arrays)[0]} * {factor}) * 0.125")
