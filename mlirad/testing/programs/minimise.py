"""Cuts a program down while it stays wrong in the same way.

Reads: a program, and what is wrong. Writes: nothing. Leaves: a program from which nothing more can be removed.
"""

from __future__ import annotations

import ast
import copy
import dataclasses
import itertools
from collections.abc import Callable, Iterator

from mlirad.testing.programs.program import Program

Test = Callable[[Program], bool]


def minimised(program: Program, is_wrong: Test) -> Program:
    """The smallest program found by removing statements, the tests around them, and parts of expressions."""
    before = None
    while program != before:
        before, place = program, 0
        # After a success, continue at the same place: earlier edits have just failed.
        while (smaller := next(itertools.islice(_smaller(ast.parse(program.source)), place, None), None)) is not None:
            candidate = dataclasses.replace(program, source=ast.unparse(smaller) + "\n")
            if len(candidate.source) < len(program.source) and is_wrong(candidate):
                program = candidate
            else:
                place += 1
    return program


def _smaller(tree: ast.Module) -> Iterator[ast.Module]:
    for number, node in enumerate(ast.walk(tree)):
        for name in ("body", "orelse"):
            block = getattr(node, name, None)
            if isinstance(block, list):
                for place in range(len(block)):
                    yield from _without(tree, number, name, place)
    nodes = list(ast.walk(tree))
    for number, node in enumerate(nodes):
        if isinstance(node, ast.expr) and isinstance(getattr(node, "ctx", ast.Load()), ast.Load):
            parts = [part for part in ast.iter_child_nodes(node) if isinstance(part, ast.expr)]
            shapeless = not isinstance(node, ast.Name | ast.Constant | ast.Attribute | ast.Tuple | ast.Slice)
            for part in [*parts, ast.Constant(0.5), ast.Name("x", ast.Load())] if shapeless else []:
                if not isinstance(part, ast.Slice):
                    yield _replaced(tree, number, part)


def _without(tree: ast.Module, number: int, name: str, place: int) -> Iterator[ast.Module]:
    """The program without a statement, and with the statement's own block in its place."""
    statement = getattr(list(ast.walk(tree))[number], name)[place]
    inner = [*getattr(statement, "body", ()), *getattr(statement, "orelse", ())]
    kept = [[]] if isinstance(statement, ast.FunctionDef) or not inner else [[], inner]
    for replacement in kept:
        made = copy.deepcopy(tree)
        block = getattr(list(ast.walk(made))[number], name)
        block[place : place + 1] = copy.deepcopy(replacement)
        if block or name == "orelse":
            yield made


def _replaced(tree: ast.Module, number: int, part: ast.expr) -> ast.Module:
    """The program with another expression in the place of node `number`."""
    made = copy.deepcopy(tree)
    replaced = list(ast.walk(made))[number]

    class Replace(ast.NodeTransformer):
        def visit(self, node: ast.AST) -> ast.AST:
            return copy.deepcopy(part) if node is replaced else self.generic_visit(node)

    Replace().visit(made)
    return ast.fix_missing_locations(made)
