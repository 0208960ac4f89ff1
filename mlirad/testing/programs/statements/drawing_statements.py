"""Statements that draw from a random generator: numbers, arrays, orders, and decisions.

Reads: the scope. Writes: one statement or a few. Leaves: what the bodies of branches and loops do. Where there is no
generator, something else is written.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps

from mlirad.testing.programs.function_writer import Writer, writes
from mlirad.testing.programs.kinds import Array, Float, Generator, Int
from mlirad.testing.programs.statements.control_statements import loop

KINDS = frozenset({"drawn", "drawn array", "die", "noise", "order", "tossed", "repeated"})
_SHAPES = [(5,), (3,), (4,), (2,), (3, 4)]


def drawing(write: Callable[[Writer], None]) -> Callable[[Writer], None]:
    """A statement that needs a generator in scope."""

    @wraps(write)
    def write_if_possible(writer: Writer) -> None:
        if writer.expressions.names(Generator):
            write(writer)
        else:
            writer.write("number")

    return write_if_possible


def drawn_number(writer: Writer) -> str:
    rng, x = writer.rng, writer.expressions.number(1)
    found = [
        "rng.random()",
        "rng.standard_normal()",
        f"rng.normal({x}, 0.5)",
        f"rng.normal({writer.expressions.number(0)}, abs({x}) + 0.25)",
        f"rng.uniform({x}, {x} + 1.5)",
        f"rng.exponential(abs({x}) + 0.5)",
        f"rng.lognormal(0.25 * {x}, 0.5)",
        f"rng.weibull(abs({x}) + 0.75)",
        f"rng.gamma(1.5, abs({x}) + 0.75)",  # by its shape, a draw has another derivative than differences
        f"rng.gumbel({x}, 0.5)",
        f"rng.laplace({x}, 1.5)",
        "rng.beta(2.0, 1.5)",
        "rng.poisson(2.5) * 0.5",
        "rng.binomial(5, 0.4) * 0.25",
        "float(rng.standard_normal(dtype=np.float32))",
    ]
    return rng.choice(found)


@writes("drawn")
@drawing
def write_drawn(writer: Writer) -> None:
    writer.bind(Float(), "s", f"{drawn_number(writer)} * {writer.rng.choice(['0.5', '1.0'])}")


@writes("drawn array")
@drawing
def write_drawn_array(writer: Writer) -> None:
    rng, expressions = writer.rng, writer.expressions
    shape = rng.choice([*expressions.shapes(), *_SHAPES])
    like = expressions.view(shape)
    found = [
        f"rng.random({shape})",
        f"rng.normal(size={shape})",
        f"rng.normal({expressions.number(1)}, 0.5, {shape})",
        f"rng.normal({like}, 0.5)",
        f"rng.normal({like}, np.abs({like}) + 0.25)",
        f"rng.standard_exponential({shape}) * 0.5",
        f"rng.integers(-2, 3, {shape}) * 0.5",
        f"rng.uniform(-1.0, 1.0, {like}.shape)",
        f"rng.standard_normal({shape}, dtype=np.float32) * 1.0 + np.zeros({shape})",
    ]
    writer.bind(Array(shape), "t", rng.choice(found))


@writes("die")
@drawing
def write_die(writer: Writer) -> None:
    """An int that is drawn."""
    writer.bind(Int(0, 4), "i", writer.rng.choice(["rng.integers(0, 5)", "int(rng.integers(5))", "rng.choice(5)"]))


@writes("noise")
@drawing
def write_noise(writer: Writer) -> None:
    """Random changes of an array in place: of all of it, of an element, of what a random mask selects."""
    rng, arrays = writer.rng, writer.updatable()
    if not arrays:
        return write_drawn_array(writer)
    name, shape = rng.choice(arrays)
    element = writer.expressions.element(name, shape)
    found = [
        f"{name} += 0.25 * rng.normal(size={shape})",
        f"{name} *= rng.random({shape}) < 0.7",
        f"{element} = {drawn_number(writer)}",
        f"{element} += {drawn_number(writer)}",
        f"{name}[rng.random({shape}) < 0.5] *= 0.5",
        f"{name}[rng.integers(0, {shape[0]})] = {writer.expressions.number(1)}",
        f"{name}[...] = np.where(rng.random({shape}) < 0.5, {name}, 0.5)",
        f"{name}[rng.integers(0, {shape[0]}, 2)] += 0.5",
    ]
    return writer.line(rng.choice(found))


@writes("order")
@drawing
def write_order(writer: Writer) -> None:
    rng, vectors = writer.rng, writer.vectors()
    if not vectors:
        return write_die(writer)
    name, size = rng.choice(vectors)
    match rng.randrange(4):
        case 0:
            writer.line(f"rng.shuffle({name})")
        case 1:
            writer.bind(Array((size,)), "t", f"rng.permutation({name})")
        case 2:
            writer.bind(Array((3,)), "t", f"rng.choice({name}, 3)")
        case _:
            writer.bind(Array((size,)), "t", f"{name}[rng.permutation({size})]")
    return None


@writes("tossed")
@drawing
def write_tossed(writer: Writer) -> None:
    """A branch that a draw decides, at times with draws on one side only."""
    writer.line(f"if rng.random() < {writer.rng.choice(['0.5', '0.8'])}:")
    with writer.block():
        writer.body()
    if writer.rng.random() < 0.5:
        writer.line("else:")
        with writer.block():
            writer.body()


@writes("repeated")
@drawing
def write_repeated(writer: Writer) -> None:
    """A loop with a drawn length."""
    rng, name = writer.rng, writer.fresh("j")
    if rng.random() < 0.5:
        writer.line(rng.choice(["while rng.random() < 0.6:", "while mlirad.checkpointed(rng.random() < 0.6, 'sqrt'):"]))
        with loop(writer, {}):
            writer.body()
        return
    over = rng.choice(["range(rng.integers(0, 4))", "mlirad.checkpointed(range(rng.integers(0, 4)), 2)", "range(3)"])
    writer.line(f"for {name} in {over}:")
    with loop(writer, {name: Int(0, 3)}):
        write_drawn(writer)
        writer.body()
