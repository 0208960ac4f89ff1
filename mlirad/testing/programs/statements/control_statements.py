"""Statements that decide what is done, and how often.

Reads: the scope. Writes: statements with bodies. Leaves: what the bodies do.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from mlirad.testing.programs.function_writer import Writer, writes
from mlirad.testing.programs.kinds import Array, Float, Int, Kind


@writes("branch")
def write_branch(writer: Writer) -> None:
    writer.line(f"if {writer.expressions.condition()}:")
    with writer.block():
        writer.body()
    if writer.rng.random() < 0.3:
        writer.line(f"elif {writer.expressions.condition()}:")
        with writer.block():
            writer.body()
    if writer.rng.random() < 0.5:
        writer.line("else:")
        with writer.block():
            writer.body()


@contextmanager
def loop(writer: Writer, kinds: dict[str, Kind]) -> Iterator[None]:
    """The body of a loop over these names; at times with an `else`."""
    with writer.block():
        writer.expressions.scope |= kinds
        writer.frozen |= set(kinds)
        writer.loops += 1
        start = len(writer.lines)
        yield
        writer.loops -= 1
        exits = any(line.strip() == "break" for line in writer.lines[start:])
    if writer.rng.random() < (0.35 if exits else 0.1):
        writer.line("else:")
        with writer.block():
            writer.statement()


def bounds(writer: Writer) -> tuple[str, int, int]:
    """range(...), and the least and largest value of its index."""
    ints = [(name, kind) for name, kind in writer.expressions.scope.items() if isinstance(kind, Int)]
    traced = [(name, max(kind.high, 1)) for name, kind in ints if kind.high <= 4]
    if traced and writer.rng.random() < 0.65:
        name, high = writer.rng.choice(traced)
        found = [
            (f"range({name})", 0, high - 1),
            (f"range({name} + 1)", 0, high),
            (f"range({name}, 0, -1)", 1, high),
            (f"range({name}, -1, -2)", 0, high),
            (f"range(1, {name})", 1, max(high - 1, 1)),
            (f"range(0, {name}, 2)", 0, high - 1),
            (f"reversed(range({name}))", 0, high - 1),
        ]
        return writer.rng.choice(found)
    fixed = [
        ("range(3)", 0, 2),
        ("range(2)", 0, 1),
        ("range(4, 0, -2)", 2, 4),
        ("range(2, -1, -1)", 0, 2),
        ("range(0)", 0, 0),
        ("range(1)", 0, 0),
        ("range(1, 4)", 1, 3),
        ("reversed(range(3))", 0, 2),
    ]
    return writer.rng.choice(fixed)


def checkpointed(writer: Writer, loop: str) -> str:
    """What a loop runs over, or its condition; at times with a way to keep its states for the reverse sweep."""
    if writer.rng.random() < 0.85:
        return loop
    how = writer.rng.choice(["'sqrt'", "'binomial'", "1", "2"])
    return f"mlirad.checkpointed({loop}, {how})"


@writes("count")
def write_count(writer: Writer) -> None:
    over, low, high = bounds(writer)
    over = checkpointed(writer, over) if over.startswith("range") else over
    name = writer.fresh("j")
    writer.line(f"for {name} in {over}:")
    with loop(writer, {name: Int(low, high)}):
        writer.body()


@writes("over")
def write_over(writer: Writer) -> None:
    """A loop over the elements of an array, which the body may write."""
    vectors = writer.vectors()
    if not vectors:
        return write_count(writer)
    name, size = writer.rng.choice(vectors)
    item = writer.fresh("s")
    over = writer.rng.choice([name, f"{name}[::2]", f"reversed({name})", writer.expressions.view((min(size, 3),))])
    writer.line(f"for {item} in {over}:")
    with loop(writer, {item: Float()}):
        writer.line(f"{name}[{writer.rng.randrange(size)}] {writer.rng.choice(['+=', '='])} {item} * 0.5")
        writer.body()
    return None


@writes("rows")
def write_rows(writer: Writer) -> None:
    matrices = writer.matrices()
    if not matrices:
        return write_count(writer)
    name, shape = writer.rng.choice(matrices)
    row = writer.fresh("r")
    over, size = writer.rng.choice([(name, shape[1]), (f"reversed({name})", shape[1]), (f"{name}.T", shape[0])])
    writer.line(f"for {row} in {over}:")
    with loop(writer, {row: Array((size,))}):
        writer.line(f"{row}[{writer.expressions.index(size)}] += {writer.expressions.number(1)}")
        writer.body()
    return None


@writes("enumerated")
def write_enumerated(writer: Writer) -> None:
    vectors = writer.vectors()
    if not vectors:
        return write_count(writer)
    name, size = writer.rng.choice(vectors)
    index, item = writer.fresh("j"), writer.fresh("s")
    start = writer.rng.choice(["", "", ", 1"])
    writer.line(f"for {index}, {item} in enumerate({writer.rng.choice([name, f'reversed({name})'])}{start}):")
    with loop(writer, {index: Int(0, size if start else size - 1), item: Float()}):
        writer.line(f"{name}[{index}{' - 1' if start else ''}] {writer.rng.choice(['+=', '='])} {item} * 0.25")
        writer.body()
    return None


@writes("zipped")
def write_zipped(writer: Writer) -> None:
    """A loop over arrays side by side, which may be views of one another."""
    rng, vectors = writer.rng, writer.vectors()
    if not vectors:
        return write_count(writer)
    name, size = rng.choice(vectors)
    one, other = writer.fresh("s"), writer.fresh("s")
    kinds: dict[str, Kind] = {one: Float(), other: Float()}
    second = rng.choice([name, writer.expressions.view((rng.choice([2, 3, size]),)), writer.expressions.trips()])
    if second.startswith("range"):
        kinds[other] = Int(0, 4)
    matrices = writer.matrices()
    first = writer.expressions.view((size,))
    if matrices and rng.random() < 0.3:
        first, shape = rng.choice(matrices)
        kinds[one] = Array(shape[1:])
    writer.line(f"for {one}, {other} in zip({first}, {second}):")
    with loop(writer, kinds):
        if isinstance(kinds[one], Array):
            writer.line(f"{one} {rng.choice(['+=', '*='])} {other} * 0.5")
        else:
            writer.line(f"{name}[{rng.randrange(size)}] += {one} * 0.25")
        writer.body()
    return None


@writes("until")
def write_until(writer: Writer) -> None:
    name = writer.fresh("c")
    writer.line(f"{name} = 0")
    limit = writer.rng.choice([*writer.expressions.names(Int), "2", "3"])
    extra = f" and {writer.expressions.condition(0)}" if writer.rng.random() < 0.5 else ""
    writer.line(f"while {checkpointed(writer, f'{name} < {limit}{extra}')}:")
    with loop(writer, {name: Int(1, 5)}):
        writer.line(f"{name} += 1")
        writer.body()


@writes("flag")
def write_flag(writer: Writer) -> None:
    """A `while` that is left by a flag, or only from inside."""
    go, name = writer.fresh("go"), writer.fresh("c")
    writer.line(f"{go} = True")
    writer.line(f"{name} = 0")
    if writer.rng.random() < 0.5:
        writer.line(f"while {go} and {name} < {writer.rng.choice(['3', '4'])}:")
    else:
        writer.line("while True:")
    with loop(writer, {name: Int(1, 4)}):
        writer.line(f"{name} += 1")
        if writer.lines[-2].endswith("while True:"):
            writer.line(f"if {name} > 3:")
            writer.line("    break")
        writer.body()
        writer.line(f"if {writer.expressions.condition()}:")
        writer.line(f"    {go} = False" if writer.rng.random() < 0.7 else "    break")


@writes("leave")
def write_leave(writer: Writer) -> None:
    _exit(writer, "break")


@writes("skip")
def write_skip(writer: Writer) -> None:
    _exit(writer, "continue")


def _exit(writer: Writer, how: str) -> None:
    writer.line(f"if {writer.expressions.condition()}:")
    with writer.block():
        if writer.rng.random() < 0.5:
            writer.write_something()
        writer.line(how)


@writes("early")
def write_early(writer: Writer) -> None:
    """An early return, of what the end returns: `main` replaces the mark."""
    writer.line(f"if {writer.expressions.condition()}:")
    with writer.block():
        if writer.rng.random() < 0.5:
            writer.write_something()
        writer.line("return EARLY")


@writes("maybe")
def write_maybe(writer: Writer) -> None:
    """A name that is bound on some paths only, and used (nearly always) where it is bound."""
    rng, expressions = writer.rng, writer.expressions
    name, test = writer.fresh("u"), writer.fresh("b")
    if rng.random() < 0.4:
        count = rng.choice([*expressions.names(Int), "2"])
        writer.line(f"for {test} in range({count}):")
        writer.line(f"    {name} = {test} * 0.5")
        certain = f"{count} > 0"
        kind: Kind = Float()
    else:
        writer.line(f"{test} = {expressions.condition()}")
        writer.line(f"if {test}:")
        shape = rng.choice(expressions.shapes())
        kind = rng.choice([Float(), Array(shape)])
        value = expressions.view(shape) if isinstance(kind, Array) else expressions.number(1)
        writer.line(f"    {name} = {value}")
        if rng.random() < 0.5:
            writer.statement()
        certain = test
    writer.line(f"if {certain if rng.random() < 0.93 else expressions.condition()}:")
    with writer.block():
        expressions.scope[name] = kind
        writer.line(f"{name} {rng.choice(['+=', '*='])} 0.5")
        writer.body()
