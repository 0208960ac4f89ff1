"""Statements about what is around a function: captured arrays as starts, closures that are composed, lists that grow.

Reads: the scope. Writes: one statement or a few. Leaves: the functions and globals that they need to `PRELUDE`.
"""

from __future__ import annotations

from typing import Any

from mlirad.testing.programs.function_writer import Writer, writes
from mlirad.testing.programs.kinds import Array, Float, Int

PRELUDE = """START = np.array([0.5, -1.0, 2.0, 0.25, -0.75])
CONFIG = {"start": np.array([1.0, -0.5, 0.25, 2.0, -1.5]), "rate": 0.5}
DRAWS = np.random.default_rng(7)


def compose(f, g):
    return lambda t: f(g(t))


def twice(f):
    return compose(f, f)


def scaled(k):
    def by(t):
        return t * k

    return by


def shifted(f, s=0.25):
    return lambda t, s=s: f(t) + s


HALVED, DOUBLED = scaled(0.5), scaled(2.0)
SUNK, RAISED = shifted(np.tanh, -0.25), shifted(np.sin, 0.75)"""

_STARTS = ("START", "CONFIG['start']")


def change_captured(namespace: dict[str, Any], number: int) -> None:
    """Change what programs capture: a number and elements first, then an array as a whole and the function around."""
    if number == 1:
        namespace["CONFIG"]["rate"] = 0.75
        namespace["START"][1:3] = 0.5, -1.75
    else:
        namespace["START"] = namespace["START"] * 2.0
        namespace["HALVED"], namespace["SUNK"] = namespace["scaled"](0.125), namespace["RAISED"]


def captured(namespace: dict[str, Any]) -> tuple[Any, ...]:
    """The captured arrays as they are."""
    return (namespace["START"], namespace["CONFIG"]["start"]) if "START" in namespace else ()


@writes("captured")
def write_captured(writer: Writer) -> None:
    """A captured array that a loop starts from; its own arrays may be written."""
    rng, expressions = writer.rng, writer.expressions
    name, index = writer.fresh("t"), writer.fresh("j")
    start = rng.choice(_STARTS)
    writer.line(f"{name} = {start}")
    if rng.random() < 0.15:
        writer.line(f"{name} = {name} * CONFIG['rate'] if {expressions.condition(0)} else {name}")
    writer.line(f"for {index} in {expressions.trips()}:")
    with writer.block():
        expressions.scope[index] = Int(0, 4)
        factor = rng.choice(["0.5", "0.25", "CONFIG['rate']"])
        writer.line(f"{name} = {name} * {factor} + {expressions.number(1)}")
        if rng.random() < 0.4:  # in an array of the loop's own
            writer.line(f"{name}[{rng.choice(['0', '-1', '1:3', '::2'])}] *= {rng.choice(['0.5', '-1.0'])}")
    # A new array: what the program writes next is its own.
    writer.define(name, Array((5,)), rng.choice([f"{name} + 0.0", f"{name}.copy()", f"{name} - {start} * 0.5"]))


def mapping(writer: Writer, depth: int) -> str:
    """An expression that is a function of a number."""
    rng = writer.rng
    simple = ["np.sin", "np.tanh", f"scaled({writer.expressions.number(0)})", "abs", "lambda t: t * t * 0.25"]
    simple.append(f"lambda t: t * 0.5 + {writer.expressions.number(0)}")
    simple += ["HALVED", "DOUBLED", "SUNK", "RAISED", "scaled(CONFIG['rate'])", "lambda t: t + CONFIG['rate']"]
    if depth <= 0:
        return rng.choice(simple)
    inner = mapping(writer, depth - 1)
    made = [f"compose({inner}, {mapping(writer, depth - 1)})", f"twice({inner})", f"shifted({inner})", inner]
    return rng.choice(made)


@writes("composed")
def write_composed(writer: Writer) -> None:
    """Functions composed of functions, kept in names and lists, and called."""
    rng, expressions = writer.rng, writer.expressions
    name = writer.fresh("k")
    argument = expressions.number(1)
    if rng.random() < 0.3:
        writer.line(f"{name} = [{mapping(writer, 1)}, {mapping(writer, 2)}]")
        value = f"{name}[1]({name}[0]({argument}))"
    else:
        writer.line(f"{name} = {mapping(writer, rng.choice([1, 2, 3]))}")
        value = rng.choice([f"{name}({argument})", f"{name}({name}({argument}))"])
    writer.bind(Float(), "s", value)


@writes("appended")
def write_appended(writer: Writer) -> None:
    """A list that a loop appends to, and what is made of it."""
    rng, expressions = writer.rng, writer.expressions
    name, index, item = writer.fresh("a"), writer.fresh("j"), writer.fresh("s")
    starts = rng.random() < 0.5
    writer.line(f"{name} = [{expressions.number(0) + ' * 1.0' if starts else ''}]")
    writer.define(item, Float(), expressions.number(1))
    is_while, trips = rng.random() < 0.3, ""
    if is_while:
        writer.line(f"{index} = 0")
        writer.line(f"while {index} < {rng.choice(['3', '11', *expressions.names(Int)[:1]])}:")
    else:
        trips = rng.choice([expressions.trips(), "range(70)", "range(11)"])
        writer.line(f"for {index} in {trips}:")
    with writer.block():
        if not is_while and trips not in ("range(70)", "range(11)"):
            expressions.scope[index] = Int(0, 4)
        writer.line(f"{item} = {item} * 0.5 + {expressions.number(1)}")
        if rng.random() < 0.3:
            writer.line(f"if {rng.choice([expressions.condition(0), f'{item} > 0.5'])}:")
            writer.line(f"    {name}.append({item} * 1.0)")
        else:
            writer.line(f"{name}.append({item} * 1.0)")
        if is_while:
            writer.line(f"{index} += 1")
    made = [f"np.sum(np.array({name})) * 0.25", f"len({name}) * 0.5", f"sum({name}) * 1.0"]
    made += [f"np.dot(np.array({name}), np.arange(len({name}))) * 0.25"]
    made += [f"{name}[-1] * 0.5", f"{name}[0] * 0.5", f"{name}[len({name}) // 2] * 0.5"] if starts else []
    writer.bind(Float(), "s", rng.choice(made))


@writes("hidden")
def write_hidden(writer: Writer) -> None:
    """A call that gives something else each time: to be right, or refused."""
    writer.bind(Float(), "s", writer.rng.choice(["DRAWS.uniform()", "float(np.random.rand())"]))
