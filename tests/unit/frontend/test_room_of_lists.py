"""The capacity of a list's arrays: enough for everything that loops append, and not much more."""

from __future__ import annotations

import itertools
import linecache
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from mlirad import jit, pipeline
from mlirad.dialect.core import types
from mlirad.dialect.core.attributes import dense
from mlirad.dialect.ops.arithmetic import NegOp
from mlirad.dialect.ops.constant import ConstantOp
from mlirad.testing.interpreted import Interpreted
from mlirad.xdsl_support.verify import InvalidOp

# Nested loops, written from the outside in: the append is in the innermost body.
LINES = {
    "counted": "for {i} in range(n):",
    "known": "for {i} in range(3):",
    "of its own": "for {i} in range({outer} + 1):",
    "of a range": "for {i} in r:",
    "while": "while len(h) % 7 != {depth}:",
    "taken": "if x < 3.0:",
    "sometimes": "if len(h) % 2 == 0:",
    "not taken": "if x > 3.0:",
    "leaves": "if len(h) > 20: break",
    "goes on": "if x > 2.0: continue",
    "comes to an end": "for {i} in range(2, n + 4):",
}
CONDITIONS = ("leaves", "goes on")
LOOPS = [name for name, line in LINES.items() if line.startswith("for")]


def program(nest: tuple[str, ...]) -> tuple[str, Any]:
    lines = ["def f(x, n):", "    h = []", "    r = range(n)", "    i0 = 1"]
    depth, outer = 1, "i0"
    for number, kind in enumerate(nest, 1):
        line = LINES[kind].format(i=f"i{number}", outer=outer, depth=number)
        lines.append("    " * depth + line)
        outer = f"i{number}" if kind in LOOPS else outer
        depth += kind not in CONDITIONS
    lines += ["    " * depth + "h.append(x + len(h))", "    return sum(h) + len(h)"]
    source = "\n".join(lines) + "\n"
    name = f"<nest {nest}>"
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    space: dict[str, Any] = {}
    exec(compile(source, name, "exec"), space)
    return source, space["f"]


def nests() -> list[tuple[str, ...]]:
    """A loop, and up to two things in it. A while must append in order to end."""
    found = [(first, *rest) for first in LOOPS for n in (1, 2) for rest in itertools.product(LINES, repeat=n)]
    return [nest for nest in found if "while" not in nest[:-1]]


def check(nest: tuple[str, ...]) -> None:
    source, f = program(nest)
    kernel = Interpreted(f, "tensor")  # which verifies what it runs, and refuses writes outside of arrays
    for n in (0, 1, 5):
        assert kernel(0.4, n) == pytest.approx(f(0.4, n)), f"{n}\n{source}"


@pytest.mark.parametrize("nest", nests()[::61])
def test_there_is_room_for_all(nest: tuple[str, ...]) -> None:
    check(nest)


@pytest.mark.full
def test_there_is_room_for_all_in_every_nest() -> None:
    for nest in nests():
        check(nest)


def else_clause(x, n):
    h = []
    for i in range(1):
        m = n * 2
        for j in range(m):
            h.append(x * j)
            if x > 20:
                break
        else:
            for j in range(m):
                h.append(x)
        break
    return sum(h)


def test_one_of_two_branches() -> None:
    """Zero appended elements on one side and an unknown number on the other are not zero."""
    for n in (0, 7, 1000):
        assert jit(else_clause)(0.4, n) == pytest.approx(else_clause(0.4, n))


def iterated(x, n):
    h = []
    for _ in range(n):
        x = x + 0.5 * np.cos(x)
        h.append(x)
        if abs(x - np.pi / 2) < 1e-8:
            break
    return len(h) + h[-1]


def hardly_ever(x, n):
    h = []
    for i in range(10):
        h.append(x)
        if x > 3.0:
            for _ in range(n):
                h.append(x)
    return sum(h)


@pytest.mark.parametrize("function", [iterated, hardly_ever])
def test_what_is_not_run_needs_no_room(function) -> None:
    kernel = jit(function)
    most = 10**12  # there is not enough memory for this many
    assert kernel(0.4, most) == pytest.approx(function(0.4, 1000))
    assert kernel.last_memory() < 10_000


def test_code_that_uses_what_it_has_not_computed_is_not_run() -> None:
    """An op that uses a later value is found before anything is built from the module."""

    def doubled(x):
        return x + x

    module: ModuleOp = jit(doubled).lower(1.0).module
    block = module.body.block.first_op.regions[0].block
    late = ConstantOp.create(properties={"value": dense(1.0, types.F64)}, result_types=[types.F64])
    block.insert_op_before(NegOp.create(operands=[late.result], result_types=[types.F64]), block.first_op)
    block.insert_op_before(late, block.last_op)
    with pytest.raises(InvalidOp, match="is not visible"):
        pipeline.visible(module)
