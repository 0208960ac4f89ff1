"""Decides which code objects do the same, wherever they are, even if a test tool has rewritten their asserts.

Reads: code objects. Writes: nothing. Leaves: answers that do not depend on line numbers, file names or the positions of
instructions: these change when a text moves in its file or a cell runs again.
"""

from __future__ import annotations

import ast
import dis
import re
from collections.abc import Hashable, Iterator, Sequence
from inspect import CO_VARARGS, CO_VARKEYWORDS
from types import CodeType

# The prefix of the variables in asserts that pytest has rewritten.
_OF_PYTEST = "@py"
# Instructions without influence on the result, or that the code around an assert decides.
_SILENT = re.compile(r"CACHE|NOP|EXTENDED_ARG|RESUME|COPY_FREE_VARS|MAKE_CELL|JUMP_(FORWARD|BACKWARD\w*|ABSOLUTE)")

_JUMPS = {*dis.hasjrel, *dis.hasjabs}

Range = tuple[tuple[int, int], tuple[int, int]]


def codes_in(code: CodeType) -> Iterator[CodeType]:
    """A code object and all code objects in it, outermost first."""
    work = [code]
    for each in work:  # which grows
        yield each
        work += [constant for constant in each.co_consts if isinstance(constant, CodeType)]


def meaning(code: CodeType) -> Hashable:
    """Whether two functions with the same `meaning`, over the same variables, do the same."""
    return (
        *_parameters(code),
        code.co_code,
        code.co_names,
        code.co_varnames,
        code.co_freevars,
        code.co_cellvars,
        code.co_exceptiontable,
        tuple(map(_constant, code.co_consts)),
    )


def _parameters(code: CodeType) -> tuple[Hashable, ...]:
    count = code.co_argcount + code.co_kwonlyargcount
    flags = code.co_flags & (CO_VARARGS | CO_VARKEYWORDS)
    count += bool(flags & CO_VARARGS) + bool(flags & CO_VARKEYWORDS)
    counts = code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount
    return code.co_name, counts, flags, code.co_varnames[:count]


def _constant(value: object) -> Hashable:
    """A constant with its type: 1, 1.0 and True are equal, and so are 0.0 and -0.0."""
    if isinstance(value, CodeType):
        return meaning(value)
    if isinstance(value, tuple):
        return (tuple, *map(_constant, value))
    if isinstance(value, frozenset):
        return frozenset, frozenset(map(_constant, value))
    if type(value) is int:
        return int, value
    if value is None or type(value) in (bool, float, complex, str, bytes, type(...)):
        return type(value), repr(value)
    return type(value), id(value)  # no source says it


def has_rewritten_asserts(code: CodeType) -> bool:
    """Whether pytest has rewritten an assert of a function, or of a function inside it."""
    names = (name for each in codes_in(code) for name in (*each.co_varnames, *each.co_cellvars, *each.co_names))
    return any(name.startswith(_OF_PYTEST) for name in names)


def meaning_outside(code: CodeType, asserts: Sequence[Range]) -> Hashable:
    """What a function does outside its asserts: its instructions, each with its place relative to the first line.

    The targets of jumps are left out: instructions with the same places come in the same order.
    """
    found: set[Hashable] = set()
    for each in dis.get_instructions(code):
        place = each.positions
        if place is None or place.lineno is None or _SILENT.fullmatch(each.opname):
            continue
        start = place.lineno, place.col_offset or 0
        if any(first <= start < last for first, last in asserts):
            continue
        argument: Hashable = None
        if isinstance(each.argval, CodeType):
            argument = meaning_outside(each.argval, asserts)
        elif each.opcode not in _JUMPS:
            argument = _constant(each.argval)
        name = re.sub("FORWARD_|BACKWARD_", "", each.opname)
        found.add((name, argument, start[0] - code.co_firstlineno, start[1]))
    return (*_parameters(code), frozenset(found))


def asserts_in(tree: ast.AST) -> list[Range]:
    """The places of a program's asserts."""
    found = [each for each in ast.walk(tree) if isinstance(each, ast.Assert)]
    return [
        ((each.lineno, each.col_offset), (each.end_lineno or each.lineno, each.end_col_offset or 0)) for each in found
    ]
