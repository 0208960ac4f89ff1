"""Programs and their texts are freed together with the last function that belongs to them."""

from __future__ import annotations

import ast
import gc
import linecache
import weakref

import numpy as np
import pytest

import mlirad
from mlirad.frontend.program.source import _compiled, _functions, _functions_at, source_of
from mlirad.xdsl_support.once_per_object import once

TEXT = """
def program(x):
    total = 0.0
    for i in range(x.shape[0]):
        total = total + sum([each * 2.0 for each in (x[i], 1.0)])
    return total
"""


def test_an_answer_is_computed_once_for_each_node():
    asked: list[ast.AST] = []

    @once
    def lines(node: ast.expr) -> int:
        asked.append(node)
        return node.lineno

    one, two = (ast.parse("x + 1", mode="eval").body for _ in range(2))
    assert [lines(one), lines(two), lines(one)] == [1, 1, 1]
    assert asked == [one, two]


@pytest.mark.usefixtures("young_heap")
def test_a_program_is_forgotten():
    linecache.cache["<forgotten>"] = len(TEXT), None, TEXT.splitlines(True), "<forgotten>"
    names: dict = {}
    exec(compile(TEXT, "<forgotten>", "exec"), names)
    program = names.pop("program")
    assert mlirad.grad(program)(np.ones(3)).tolist() == [2.0, 2.0, 2.0]
    code, kernel = weakref.ref(program.__code__), weakref.ref(mlirad.jit(program))
    body = source_of(program).node
    assert vars(body), "what is known of a node is kept with it"
    answers = [weakref.ref(each) for each in vars(body).values() if hasattr(each, "liveness")]
    assert answers
    del program, body, names
    linecache.cache.pop("<forgotten>")
    _compiled.cache_clear()  # 64 other texts would do the same
    _functions.cache_clear()
    _functions_at.cache_clear()
    gc.collect()
    assert code() is None
    assert kernel() is None
    gc.collect()  # the nodes, which the code has held
    assert [each() for each in answers] == [None] * len(answers)
