"""Functions beside and inside the main one, and their calls.

Reads: the scope. Writes: helpers, closures, callbacks, calls. Leaves: the text of whole functions.
"""

from __future__ import annotations

from mlirad.testing.programs.function_writer import Helper, Writer, writes
from mlirad.testing.programs.kinds import Array, Complex, Float, Generator, Int, Kind, Number, Shape
from mlirad.testing.programs.statements import (  # noqa: F401  (importing them registers their statements)
    beside_statements,
    complex_statements,
    container_statements,
    control_statements,
    drawing_statements,
    grid_statements,
    narrow_statements,
    selection_statements,
    surrounding_statements,
    version_statements,
)
from mlirad.testing.programs.statements.assignment_statements import write_choice

APPLY = """def apply(step, v, s):
    v[0] += s * 0.25
    return step(v, step(v[::-1], s))"""


def main(writer: Writer, parameters: dict[str, Kind], count: int) -> tuple[str, list[Kind]]:
    writer.is_main, writer.budget = True, count
    writer.expressions.scope = dict(parameters)
    writer.frozen = {name for name, kind in parameters.items() if isinstance(kind, Int | Generator)}
    writer.line(f"def f({', '.join(parameters)}):")
    with writer.block():
        while writer.budget > 0:
            writer.statement()
        while writer.planned:
            force(writer, writer.planned.pop())
        scope = writer.expressions.scope
        held = [
            name
            for name, kind in scope.items()
            if name not in writer.frozen and isinstance(kind, Array | Float | Complex | Int | Number)
        ]
        if any(line.endswith("return EARLY") for line in writer.lines):
            held = [name for name in held if name in parameters]  # they are bound everywhere
        chosen = writer.rng.sample(held, min(len(held), writer.rng.randrange(1, 4)))
        chosen += [name for name in held if isinstance(scope[name], Number) and name not in chosen]
        shown = [as_shown(writer, name, scope[name]) for name in chosen]
        writer.line(f"return ({', '.join(shown)},)")
        text = "\n".join(writer.lines).replace("EARLY", f"({', '.join(shown)},)")
        return text, [scope[name] for name in chosen]


def as_shown(writer: Writer, name: str, kind: Kind) -> str:
    """The returned part of a variable: sometimes the array itself, which may be an argument or a view of one."""
    return f"{name}.copy()" if isinstance(kind, Array) and writer.rng.random() < 0.7 else name


def force(writer: Writer, kind: str) -> None:
    """Write the planned statements that have not occurred, in a loop if they need one."""
    if writer.is_possible(kind):
        return writer.write(kind)
    name = writer.fresh("j")
    over, low, high = control_statements.bounds(writer)
    writer.line(f"for {name} in {over}:")
    with control_statements.loop(writer, {name: Int(low, high)}):
        writer.write(kind)
        writer.write_something()
    return None


def helper(writer: Writer, name: str) -> tuple[Helper, str]:
    """A function that writes its arguments."""
    rng = writer.rng
    shapes = rng.sample([(5,), (3,), (4,), (2,), (3, 4)], rng.randrange(1, 3))
    kinds: list[Kind] = [Array(shape) for shape in shapes]
    if rng.random() < 0.5:
        kinds.append(Float())
    names = [f"p{index}" for index in range(len(kinds))]
    if not drawing_statements.KINDS.isdisjoint(writer.weights):
        kinds, names = [*kinds, Generator()], [*names, "rng"]
        writer.frozen = {"rng"}
    writer.expressions.scope = dict(zip(names, kinds, strict=True))
    writer.line(f"def {name}({', '.join(names)}):")
    with writer.block():
        writer.write_something()
        writer.budget = rng.randrange(3)
        while writer.budget > 0:
            writer.statement()
        result = _result(writer, shapes[0])
    return Helper(name, tuple(kinds), result), "\n".join(writer.lines)


def recursion(writer: Writer, name: str) -> tuple[Helper, str]:
    """A function that calls itself to a traced depth, and writes its argument on the way down or up."""
    rng, expressions = writer.rng, writer.expressions
    shape = rng.choice([(5,), (3,), (3, 4)])
    expressions.scope = {"p0": Array(shape), "p1": Float()}
    more: tuple[Kind, ...] = ()
    given = "p0, p1"
    if not drawing_statements.KINDS.isdisjoint(writer.weights):
        expressions.scope["rng"] = Generator()
        more, given, writer.frozen = (Generator(),), "p0, p1, rng", {"rng"}
    writer.line(f"def {name}({given}, depth):")
    with writer.block():
        extra = rng.choice(["", f" or {expressions.condition(0)}"])
        writer.line(f"if depth <= 0{extra}:")
        writer.line(f"    return {expressions.number(1)}")
        if rng.random() < 0.7:
            writer.write_something()
        call = f"{name}({given.replace('p1', 'p1 * 0.5')}, depth - 1)"
        writer.line(rng.choice([f"t = {call}", f"t = {call} + {expressions.number(1)}", f"t = {call} + {call}"]))
        expressions.scope["t"] = Float()
        if rng.random() < 0.4:
            writer.write_something()
        writer.line(f"return 0.5 * t + {expressions.number(1)}")
    return Helper(name, (Array(shape), Float(), *more), Float(), recursive=True), "\n".join(writer.lines)


def _result(writer: Writer, shape: Shape) -> Kind | None:
    match writer.rng.randrange(4):
        case 0:
            return None
        case 1:
            writer.line(f"return {writer.expressions.number(2)}")
            return Float()
        case 2:
            writer.line(f"return {writer.expressions.view(shape)}")
        case _:
            writer.line(f"return {writer.expressions.array(shape, 2)}")
    return Array(shape)


# Calls.


@writes("helper")
def write_helper(writer: Writer) -> None:
    _call(writer, [helper for helper in writer.helpers if not helper.recursive])


@writes("recursive")
def write_recursive(writer: Writer) -> None:
    _call(writer, [helper for helper in writer.helpers if helper.recursive])


def _call(writer: Writer, helpers: list[Helper]) -> None:
    if not helpers:
        return write_choice(writer)
    helper = writer.rng.choice(helpers)
    args = [
        writer.expressions.view(kind.shape)
        if isinstance(kind, Array)
        else "rng"
        if isinstance(kind, Generator)
        else writer.expressions.number(1)
        for kind in helper.parameters
    ]
    if helper.recursive:
        args.append(writer.rng.choice([*writer.expressions.names(Int), "2", "1"]))
    call = f"{helper.name}({', '.join(args)})"
    if helper.result is None:
        return writer.line(call)
    writer.bind(helper.result, "t" if isinstance(helper.result, Array) else "s", call)
    return None


# Functions inside.


@writes("closure")
def write_closure(writer: Writer) -> None:
    """A function inside that changes what is around it, called twice."""
    rng, expressions = writer.rng, writer.expressions
    name = writer.fresh("g")
    numbers = [n for n in writer.held(Float()) if is_local(writer, n)]
    bound = [(n, shape) for n, shape in expressions.arrays() if n not in writer.frozen and is_local(writer, n)]
    writer.line(f"def {name}(u):")
    with writer.function():
        if numbers:
            writer.line(f"nonlocal {numbers[0]}")
            writer.line(f"{numbers[0]} {rng.choice(['=', '+='])} u * 0.5")
        if bound and rng.random() < 0.4:
            writer.line(f"nonlocal {bound[0][0]}")
            writer.line(f"{bound[0][0]} = {expressions.array(bound[0][1], 1)}")
        writer.write(rng.choice(["element", "slice"]))  # `x += 1` would make x a name of its own
        writer.line(f"return u * 0.5 + {expressions.number(1)}")
    writer.bind(Float(), "s", f"{name}({expressions.number(1)}) + {name}({expressions.number(0)})")


def is_local(writer: Writer, name: str) -> bool:
    """Whether a name is one of the function's, which a function inside may rebind."""
    return name.isidentifier() and not any(line.startswith(f"def {name}(") for line in writer.lines)


@writes("callback")
def write_callback(writer: Writer) -> None:
    """A function passed as an argument: a lambda, or one that writes its argument and what is around it."""
    rng, expressions = writer.rng, writer.expressions
    size = rng.choice([size for _, size in writer.vectors()] or [3])
    array = expressions.view((size,))
    if rng.random() < 0.4:
        function = f"lambda v, s: s * 0.5 + v[{rng.randrange(size)}] * {expressions.number(0)}"
    else:
        function = writer.fresh("g")
        writer.line(f"def {function}(v, s):")
        with writer.function():
            expressions.scope |= {"v": Array((size,)), "s": Float()}
            writer.line(f"v[{expressions.index(size)}] {rng.choice(['=', '+='])} s * 0.5")
            writer.write(rng.choice(["element", "slice"]))
            writer.line(f"return s * 0.25 + {expressions.number(1)}")
    writer.bind(Float(), "s", f"apply({function}, {array}, {expressions.number(1)})")
