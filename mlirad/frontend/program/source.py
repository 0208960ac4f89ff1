"""Finds the ast of a function object.

Reads: texts that the function may have been compiled from. Writes: nothing. Leaves: a Source whose nodes have the lines
and columns of the text. Its text compiles to the function's code: another text with the same name and line is not used.
"""

from __future__ import annotations
import __future__

import ast
import linecache
import sys
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from types import CodeType, FunctionType
from typing import Any, NamedTuple
from weakref import ReferenceType, ref

from mlirad.errors import FUNCTIONS, UnsupportedSyntaxError
from mlirad.frontend.program.codes import asserts_in, codes_in, has_rewritten_asserts, meaning, meaning_outside
from mlirad.frontend.program.private_names import has_private_names, mangle
from mlirad.frontend.program.scope import nodes_in, parameter_names
from mlirad.frontend.program.texts import texts_of, why_there_is_none
from mlirad.library import spells
from mlirad.location import SourceLocation, remember
from mlirad.xdsl_support.once_per_object import once

FunctionNode = ast.FunctionDef | ast.Lambda

_FUTURE = __future__.annotations.compiler_flag
_NO_LINE = 1 << 30
_TEXTS = 64
"""For this many texts all functions are cached; for other texts only those that have been compiled."""


@dataclass(frozen=True, eq=False)
class Source:
    """A Python function and its ast; free names are found in the function's globals and closure cells.

    code: the function's code when it was read. has_asserts: False if Python leaves them out (-O).
    """

    filename: str
    node: FunctionNode
    function: Any  # a Python function
    code: CodeType
    has_asserts: bool = True

    @cached_property
    def is_hidden(self) -> bool:
        """Whether errors in it are shown to the user at the call."""
        return spells.is_hidden(self.filename)

    def location(self, node: ast.AST) -> SourceLocation:
        node = node if hasattr(node, "lineno") else self.node
        places = _places_of(node)
        if self.filename not in places:
            places[self.filename] = SourceLocation(
                self.filename,
                node.lineno,  # pyright: ignore[reportAttributeAccessIssue]  # it has one
                node.col_offset,  # pyright: ignore[reportAttributeAccessIssue]  # and this
                getattr(node, "end_lineno", None),
                getattr(node, "end_col_offset", None),
            )
        return places[self.filename]


@once
def _places_of(_node: ast.AST) -> dict[str, SourceLocation]:
    """The location of a node, with the name of the file."""
    return {}


def source_of(function: FunctionType, may_yield: bool = False) -> Source:
    """The source of a function. Raises UnsupportedSyntaxError if there is none, or if the function is a coroutine, or
    if it is a generator and may be none."""
    code = function.__code__
    name = function.__qualname__
    location = SourceLocation.of_definition(code)
    if code.co_flags & (0x280 if may_yield else 0x2A0):  # generator, coroutine, async generator
        raise UnsupportedSyntaxError(f"{name} is a generator or a coroutine", location, "return an array or a list")
    found = _found(function)
    if found is not None:
        return Source(found.filename, found.node, function, code, found.has_asserts)
    if not linecache.getlines(code.co_filename, function.__globals__):
        why, hint = why_there_is_none(function)
        raise UnsupportedSyntaxError(why, None, hint, FUNCTIONS)
    hint = (
        "if the file was changed after it was imported, reload the module or restart Python; if a decorator or an "
        "import hook rewrites functions, leave this one out"
    )
    why = f"the code of {name} is not what its source says: one of the two has changed"
    raise UnsupportedSyntaxError(why, location, hint, FUNCTIONS)


class _Found(NamedTuple):
    node: FunctionNode
    has_asserts: bool
    filename: str
    text: str


_sources: dict[int, tuple[ReferenceType[CodeType], _Found]] = {}
"""By id: code objects of two places may be equal. A file may change, and a function compiled from it may remain."""


def text_of(function: FunctionType) -> str | None:
    """The text that a function was compiled from; None where it cannot be found."""
    found = _found(function)
    return None if found is None else found.text


def _found(function: FunctionType) -> _Found | None:
    code = function.__code__
    found = _known(code)
    if found is not None:
        return found
    for filename, text in texts_of(function):
        found = _found_in(filename, text, code)
        if found is not None:
            remember(filename, text)
            _know(code, found)
            return found
    return None


def _known(code: CodeType) -> _Found | None:
    reference, found = _sources.get(id(code), (None, None))
    return found if reference is not None and reference() is code else None


def _know(code: CodeType, found: _Found) -> None:
    number = id(code)
    _sources[number] = ref(code, lambda gone: _forget(number, gone)), found


def _forget(number: int, gone: ReferenceType[CodeType]) -> None:
    if (known := _sources.get(number)) is not None and known[0] is gone:
        _sources.pop(number, None)


def _found_in(filename: str, text: str, code: CodeType) -> _Found | None:
    """The function in a text that compiles to the code, and whether its asserts are checked."""
    flags = code.co_flags & _FUTURE
    wanted = meaning(code)
    level = sys.flags.optimize
    for optimize in (level, *({0, 1, 2} - {level})):
        node = _nearest(_compiled(filename, text, flags, optimize).get(wanted, ()), code, filename, text)
        if node is not None:
            return _Found(node, optimize == 0, filename, text)
    if has_rewritten_asserts(code):
        node = _of_rewritten(code, filename, text, flags)
        return None if node is None else _Found(node, True, filename, text)
    return None


Meanings = dict[Hashable, list[CodeType]]


@lru_cache(_TEXTS)
def _compiled(filename: str, text: str, flags: int, optimize: int) -> Meanings:
    """The functions in a text, by meaning."""
    try:
        return _by_meaning(compile(text, filename, "exec", flags, dont_inherit=True, optimize=optimize))
    except (SyntaxError, ValueError):  # also null characters
        return {}


def _by_meaning(module: CodeType) -> Meanings:
    found: Meanings = {}
    for each in codes_in(module):
        found.setdefault(meaning(each), []).append(each)
    return found


@lru_cache(_TEXTS)
def _functions(filename: str, text: str) -> tuple[FunctionNode, ...]:
    tree = ast.parse(text, filename)
    if has_private_names(text):
        mangle(tree)
    return tuple(node for node in nodes_in(tree) if isinstance(node, FunctionNode))


@lru_cache(_TEXTS)
def _functions_at(filename: str, text: str) -> dict[int, list[FunctionNode]]:
    """The functions of a text by the lines that may be the first of their code. A text may have thousands."""
    found: dict[int, list[FunctionNode]] = {}
    for node in _functions(filename, text):
        for line in range(_first_line(node), node.lineno + 1):
            found.setdefault(line, []).append(node)
    return found


def _first_line(node: FunctionNode) -> int:
    decorators = [] if isinstance(node, ast.Lambda) else node.decorator_list
    return min([node.lineno, *(decorator.lineno for decorator in decorators)])


def _nearest(twins: Sequence[CodeType], code: CodeType, filename: str, text: str) -> FunctionNode | None:
    """The function of a text that was compiled to one of the twins of a code: the one that moved least."""

    def distance(twin: CodeType) -> tuple[bool, bool, int]:
        has_moved = list(twin.co_positions()) != list(code.co_positions())
        return has_moved, twin.co_qualname != code.co_qualname, abs(twin.co_firstlineno - code.co_firstlineno)

    for twin in sorted(twins, key=distance):
        node = _node_of(twin, filename, text)
        if node is not None:
            return node
    return None


def _node_of(twin: CodeType, filename: str, text: str) -> FunctionNode | None:
    """The node that a code object was compiled from."""
    found = [node for node in _functions_at(filename, text).get(twin.co_firstlineno, ()) if _is_of(node, twin)]
    if len(found) > 1:
        # Several lambdas in one line: the smallest that holds all of the code's instructions.
        found = sorted((node for node in found if _holds(node, twin)), key=_extent)
        if all(column is None for _, _, column, _ in twin.co_positions()):
            found = [node for node in found if _means(node, twin, filename, text)]
    return found[0] if found else None


def _is_of(node: FunctionNode, code: CodeType) -> bool:
    """Whether a node that is where the code begins has its name and its parameters."""
    names = parameter_names(node.args)
    if list(code.co_varnames[: len(names)]) != names:
        return False
    return code.co_name == "<lambda>" if isinstance(node, ast.Lambda) else node.name.endswith(code.co_name)


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


def _means(node: FunctionNode, twin: CodeType, filename: str, text: str) -> bool:
    """Whether a lambda has the meaning of a code object without columns (-X no_debug_ranges).

    It is compiled with the rest of its text, on a line of its own.
    """
    tree = ast.parse(text, filename)
    (marked,) = (
        each for each in ast.walk(tree) if isinstance(each, ast.Lambda) and _extent_of(each) == _extent_of(node)
    )
    marked.lineno = marked.end_lineno = _NO_LINE
    made = compile(tree, filename, "exec", twin.co_flags & _FUTURE, dont_inherit=True)
    return any(each.co_firstlineno == _NO_LINE and meaning(each) == meaning(twin) for each in codes_in(made))


def _of_rewritten(code: CodeType, filename: str, text: str, flags: int) -> FunctionNode | None:
    """The function of a text that does the same outside its asserts."""
    try:
        tree = ast.parse(text, filename)
    except SyntaxError:
        return None
    asserts = asserts_in(tree)
    wanted = meaning_outside(code, asserts)
    for each in codes_in(compile(text, filename, "exec", flags, dont_inherit=True)):
        if each.co_firstlineno == code.co_firstlineno and meaning_outside(each, asserts) == wanted:
            return _node_of(each, filename, text)
    return None
