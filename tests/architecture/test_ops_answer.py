"""Ops answer, verbs ask: no verb names a concrete op. Names are resolved to tuples, unions, sets and dicts.

A verb that tests for an op, directly or through a table, is missing a question, and fails on the next op that would
give the same answer. Algebraic identities (files named after algebra) and emission may name ops: that is what they are.
"""

from __future__ import annotations

import ast
import importlib
import types
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, cast

import pytest
from own_sources import PACKAGE, nodes_of, trees

from mlirad.dialect.ad.ad import Ad
from mlirad.dialect.core.op import NdOp
from mlirad.dialect.nd import Nd

OPS = {kind.__name__: kind for kind in (*Nd.operations, *Ad.operations) if issubclass(kind, NdOp)}
NAMES = {kind.name: name for name, kind in OPS.items()}

MASK = "which mask the places of a subset come from"
UNIFORM = "whether an array is one number everywhere, also as a reshaped one"
LEFT: dict[str, tuple[str, set[str]]] = {
    "fusion.py": (UNIFORM, {"ReshapeOp"}),
    "mask_selections.py": (MASK, {"GatherOp", "ScatterOp"}),
}
"""By file name: the question that is missing, and the ops that are named until it is there. It may only shrink."""


def is_verb(path: Path) -> bool:
    parts = path.relative_to(PACKAGE).parts
    return parts[0] not in ("dialect", "testing", "xdsl_support") and "emit" not in parts and "algebra" not in path.name


def named(value: Any) -> Iterator[str]:
    """The ops that a value is, or holds."""
    if isinstance(value, type):
        if OPS.get(value.__name__) is value:
            yield value.__name__
    elif isinstance(value, types.UnionType):
        yield from named(value.__args__)
    elif isinstance(value, tuple | list | set | frozenset | dict):
        for each in cast("Iterable[Any]", value):
            yield from named(each)
    elif isinstance(value, str) and value in NAMES:
        yield NAMES[value]


def resolved(node: ast.AST, names: dict[str, Any]) -> Iterator[str]:
    """The ops that an expression names, directly or through names of the module."""
    match node:
        case ast.Tuple() | ast.List() | ast.Set():
            for each in node.elts:
                yield from resolved(each, names)
        case ast.Dict():
            for key in node.keys:
                if key is not None:
                    yield from resolved(key, names)
        case ast.Starred(value=value):
            yield from resolved(value, names)
        case ast.BinOp(left=left, right=right):
            yield from resolved(left, names)
            yield from resolved(right, names)
        case ast.Call(args=[argument]):  # frozenset({...})
            yield from resolved(argument, names)
        case ast.Name(id=name):
            yield from named(names.get(name))
        case ast.Attribute(value=ast.Name(id=module), attr=name):
            yield from named(getattr(names.get(module), name, None))
        case ast.Constant(value=str() as text):
            yield from named(text)
        case _:
            pass


def where_asked(tree: ast.AST, names: dict[str, Any]) -> Iterator[tuple[int, str]]:
    """The places where a module tests for an op: isinstance, a pattern, a comparison, or a table by op; line and op."""
    for node in nodes_of(tree):
        asked: list[ast.AST] = []
        match node:
            case ast.Call(func=ast.Name(id="isinstance" | "issubclass"), args=[_, kind]):
                asked = [kind]
            case ast.MatchClass(cls=kind):
                asked = [kind]
            case ast.Compare():
                asked = [node.left, *node.comparators]
            case ast.Dict():
                asked = [node]
            case _:
                pass
        for each in asked:
            yield from ((getattr(node, "lineno", 0), op) for op in resolved(each, names))


def found_in(path: Path) -> dict[str, int]:
    """The ops that a file tests for, each with a line."""
    name = ".".join(["mlirad", *path.relative_to(PACKAGE).with_suffix("").parts]).removesuffix(".__init__")
    return {op: line for line, op in where_asked(trees()[path], vars(importlib.import_module(name)))}


VERBS = [path for path in sorted(PACKAGE.rglob("*.py")) if is_verb(path) and path.name != "__main__.py"]


@pytest.fixture(scope="module")
def found() -> dict[str, dict[str, int]]:
    """The ops that each file tests for. Only files that name an op can; the others need not be imported."""
    all_found: dict[str, dict[str, int]] = {}
    for path in VERBS:
        if "mlirad.dialect" in path.read_text() and (ops := found_in(path)):
            all_found[path.name] = {**all_found.get(path.name, {}), **ops}
    return all_found


def test_no_verb_names_an_op(found: dict[str, dict[str, int]]) -> None:
    new = [
        f"{path}:{line} tests for {op}: let ops answer a question (dialect/core/op.py) that has a default"
        for path, ops in found.items()
        for op, line in ops.items()
        if op not in LEFT.get(path, ("", set()))[1]
    ]
    assert not new, "\n".join(new)


def test_what_is_left_is_still_there(found: dict[str, dict[str, int]]) -> None:
    gone = [f"{path}: {op}" for path, (_, ops) in LEFT.items() for op in sorted(ops - found.get(path, {}).keys())]
    assert not gone, f"take these out of LEFT: {gone}"


@pytest.mark.parametrize(
    ("text", "ops"),
    [
        ("isinstance(op, AddOp)", ["AddOp"]),
        ("isinstance(op, (AddOp, SubOp))", ["AddOp", "SubOp"]),
        ("isinstance(op, AddOp | SubOp)", ["AddOp", "SubOp"]),
        ("issubclass(kind, arithmetic.AddOp)", ["AddOp"]),
        ("isinstance(op, EITHER)", ["AddOp", "SubOp"]),
        ("op.__class__ in TABLE", ["AddOp"]),
        ("op.__class__ in {*SOME, SubOp}", ["AddOp", "SubOp"]),
        ("type(op) is AddOp", ["AddOp"]),
        ("AddOp == type(op)", ["AddOp"]),
        ("op.name == 'nd.add'", ["AddOp"]),
        ("{AddOp: visit, **more}", ["AddOp"]),
        ("{'nd.add': visit}", ["AddOp"]),
        ("match op:\n    case AddOp(x=x) | SubOp(): pass", ["AddOp", "SubOp"]),
        ("isinstance(op, NdOp)", []),
        ("isinstance(op, BinaryOp)", []),
        ("emit(AddOp, x, y)", []),
    ],
)
def test_the_test_sees_what_it_should(text: str, ops: list[str]) -> None:
    from mlirad.dialect.ops import arithmetic
    from mlirad.dialect.ops.arithmetic import AddOp, SubOp
    from mlirad.dialect.ops.elementwise import BinaryOp

    names = {"AddOp": AddOp, "SubOp": SubOp, "NdOp": NdOp, "BinaryOp": BinaryOp, "arithmetic": arithmetic}
    names |= {"EITHER": AddOp | SubOp, "TABLE": {AddOp: None}, "SOME": frozenset({AddOp})}
    assert sorted(op for _, op in where_asked(ast.parse(text), names)) == ops
