"""From a function object to its ast.

Reads: the source file, through linecache (so notebooks and doctests too). Writes: nothing. Leaves: a Source whose nodes
have the lines and columns of the file.
"""

from __future__ import annotations

import ast
import linecache
from collections.abc import Hashable
from dataclasses import dataclass
from functools import cache
from types import CodeType, FunctionType
from typing import Any

from mlirad.errors import UnsupportedSyntaxError
from mlirad.frontend.scope import nodes_in
from mlirad.location import SourceLocation

FunctionNode = ast.FunctionDef | ast.Lambda


@dataclass(frozen=True, eq=False)
class Source:
    """The ast of a Python function, and the function, whose globals and closure cells its free names are found in.

    is_exact: the function's code is what this ast compiles to; it is not if the file has changed since.
    """

    filename: str
    node: FunctionNode
    function: Any  # a Python function
    is_exact: bool = True

    def location(self, node: ast.AST) -> SourceLocation:
        return _place_of(self.filename, node if hasattr(node, "lineno") else self.node)


@cache
def _place_of(filename: str, node: ast.AST) -> SourceLocation:
    return SourceLocation(
        filename,
        node.lineno,  # type: ignore[attr-defined]
        node.col_offset,  # type: ignore[attr-defined]
        getattr(node, "end_lineno", None),
        getattr(node, "end_col_offset", None),
    )


def source_of(function: FunctionType) -> Source:
    """The source of a function. Raises UnsupportedSyntaxError where there is none, or where it is a generator."""
    code = function.__code__
    name = function.__qualname__
    if code.co_flags & 0x2A0:  # generator, coroutine, async generator
        location = SourceLocation(code.co_filename, code.co_firstlineno)
        raise UnsupportedSyntaxError(f"{name} is a generator or a coroutine", location, "return an array or a list")
    text = _text_of(function)
    if not text:
        hint = "define it in a file or in a notebook cell, not by exec or eval of a string"
        raise UnsupportedSyntaxError(f"the source of {name} cannot be found ({code.co_filename})", None, hint)
    is_exact = _fingerprint(code) in _compiled(code.co_filename, text)
    return Source(code.co_filename, _node_of(code, name, text), function, is_exact)


def _text_of(function: FunctionType) -> str:
    """The text that a function was compiled from: what is remembered of its file, or what is in it now."""
    code = function.__code__
    text = "".join(linecache.getlines(code.co_filename, function.__globals__))
    if _fingerprint(code) in _compiled(code.co_filename, text):
        return text
    # The file may have been changed and the module reloaded since it was read.
    linecache.checkcache(code.co_filename)
    return "".join(linecache.getlines(code.co_filename, function.__globals__))


def _fingerprint(code: CodeType) -> Hashable:
    """Two functions of one fingerprint do the same."""
    held = (_fingerprint(each) if isinstance(each, CodeType) else repr(each) for each in code.co_consts)
    return code.co_name, code.co_firstlineno, code.co_code, code.co_names, tuple(held)


@cache
def _compiled(filename: str, text: str) -> frozenset[Hashable]:
    """The fingerprints of the functions in a text."""
    found: set[Hashable] = set()
    try:
        work = [compile(text, filename, "exec", dont_inherit=True)]
    except SyntaxError:
        return frozenset()
    while work:
        code = work.pop()
        found.add(_fingerprint(code))
        work += [each for each in code.co_consts if isinstance(each, CodeType)]
    return frozenset(found)


@cache
def _functions(filename: str, text: str) -> tuple[FunctionNode, ...]:
    try:
        tree = ast.parse(text, filename)
    except SyntaxError as error:
        hint = "the file has changed since it was imported"
        raise UnsupportedSyntaxError(f"{filename} does not parse: {error}", None, hint) from None
    return tuple(node for node in nodes_in(tree) if isinstance(node, ast.FunctionDef | ast.Lambda))


def _node_of(code: CodeType, name: str, text: str) -> FunctionNode:
    found = [node for node in _functions(code.co_filename, text) if _is_of(node, code)]
    if len(found) > 1:
        # Several lambdas in one line: the smallest that holds all of the code's instructions.
        holding = [node for node in found if _holds(node, code)]
        found = sorted(holding, key=_extent)[:1]
    if not found:
        location = SourceLocation(code.co_filename, code.co_firstlineno)
        hint = "restart Python, or reload the module"
        raise UnsupportedSyntaxError(f"{name} is not in its file any more: it has changed", location, hint)
    return found[0]


def _is_of(node: FunctionNode, code: CodeType) -> bool:
    arguments = node.args
    names = [a.arg for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]
    names += [a.arg for a in (arguments.vararg, arguments.kwarg) if a is not None]
    if list(code.co_varnames[: len(names)]) != names:
        return False
    if isinstance(node, ast.Lambda):
        return code.co_name == "<lambda>" and node.lineno == code.co_firstlineno
    first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
    return code.co_name == node.name and first == code.co_firstlineno


def _holds(node: FunctionNode, code: CodeType) -> bool:
    start, end = _extent_of(node.body if isinstance(node, ast.Lambda) else node)
    for line, end_line, column, end_column in code.co_positions():
        if line is None or end_line is None or column is None or end_column is None or column == end_column:
            continue
        if not start <= (line, column) or not (end_line, end_column) <= end:
            return False
    return True


def _extent_of(node: ast.AST | list[ast.stmt]) -> tuple[tuple[int, int], tuple[int, int]]:
    assert isinstance(node, ast.expr | ast.stmt)
    assert node.end_lineno is not None and node.end_col_offset is not None
    return (node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset)


def _extent(node: FunctionNode) -> tuple[int, int]:
    (line, column), (end_line, end_column) = _extent_of(node)
    return end_line - line, end_column - column if end_line == line else 0
