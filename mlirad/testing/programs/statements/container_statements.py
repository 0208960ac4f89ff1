"""Statements about tuples, lists, dicts and dataclasses of arrays and numbers.

Reads: the scope. Writes: one statement or a few. Leaves: control flow.
"""

from __future__ import annotations

from mlirad.testing.programs.function_writer import Writer, writes
from mlirad.testing.programs.kinds import Array, Float, Several


@writes("tuple")
def write_tuple(writer: Writer) -> None:
    _make(writer, "tuple")


@writes("list")
def write_list(writer: Writer) -> None:
    _make(writer, "list")


@writes("dict")
def write_dict(writer: Writer) -> None:
    _make(writer, "dict")


@writes("record")
def write_record(writer: Writer) -> None:
    _make(writer, "record")


def _make(writer: Writer, holder: str) -> None:
    rng, expressions = writer.rng, writer.expressions
    held = [(n, k) for n, k in expressions.scope.items() if isinstance(k, Several) and k.holder == holder]
    if held and rng.random() < 0.6:
        return _change(writer, *rng.choice(held))
    shape = rng.choice(expressions.shapes())
    second = rng.choice([Array(shape), Array(shape), Float(), Array(rng.choice(expressions.shapes()))])
    kind = Several(holder, (Array(shape), second))
    values = [expressions.view(each.shape) if isinstance(each, Array) else expressions.number(1) for each in kind.items]
    if rng.random() < 0.3:
        values[0] = expressions.array(shape, 1)
    name = writer.fresh("p")
    writer.define(name, kind, kind.made(values))
    return _change(writer, name, kind)


def _change(writer: Writer, name: str, kind: Several) -> None:
    """One item changed in place, replaced, or removed; or the whole container made again."""
    rng, expressions = writer.rng, writer.expressions
    number = rng.randrange(len(kind.items))
    place, item = kind.path(name, number), kind.items[number]
    choice = rng.random()
    if choice < 0.3 and isinstance(item, Array):
        writer.line(f"{expressions.element(place, item.shape)} {rng.choice(['=', '+='])} {expressions.number(1)}")
    elif choice < 0.5:
        first, second = writer.fresh("t"), writer.fresh("t")
        if kind.holder in ("tuple", "list"):
            writer.line(f"{first}, {second} = {name}")
        else:
            writer.line(f"{first}, {second} = {kind.path(name, 0)}, {kind.path(name, 1)}")
        expressions.scope |= {first: kind.items[0], second: kind.items[1]}
    elif choice < 0.7 and kind.holder != "tuple":
        value = expressions.array(item.shape, 1) if isinstance(item, Array) else expressions.number(1)
        writer.line(f"{place} = {value}")
    elif choice < 0.85 and name not in writer.frozen:
        values = [kind.path(name, 0), kind.path(name, 1)]
        if kind.items[0] == kind.items[1] and rng.random() < 0.5:
            values.reverse()
        elif isinstance(item, Array):
            values[number] = expressions.array(item.shape, 1)
        else:
            values[number] = f"{place} * 0.5 + {expressions.number(0)}"
        writer.line(f"{name} = {kind.made(values)}")
    elif isinstance(item, Float) and kind.holder != "tuple":
        writer.line(f"{place} {rng.choice(['+=', '-='])} {expressions.number(1)}")
    else:
        writer.write_something()
