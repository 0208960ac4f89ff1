"""Statements of Python source, in which SSA values represent variables without names.

Reads: nothing. Writes: nothing. Leaves: a tree, which `variable_names.py` names and `layout.py` prints.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from xdsl.ir import SSAValue

from mlirad.dialect.core.numpy_source import NumpyText
from mlirad.location import SourceLocation


@dataclass
class SourceLine:
    """A line of source. depth: its indentation relative to its block; 0 for a simple statement."""

    text: NumpyText
    location: SourceLocation | None = None
    depth: int = 0


@dataclass
class Assign:
    """`targets = text`, with one or more variables. is_call: it is evaluated even if its value is not used."""

    targets: tuple[SSAValue, ...]
    text: NumpyText
    location: SourceLocation | None = None
    is_call: bool = False


@dataclass
class AssignAll:
    """Variables that are all assigned at once."""

    pairs: list[tuple[SSAValue, NumpyText]]
    location: SourceLocation | None = None


@dataclass
class For:
    """`for counter in range:`"""

    counter: SSAValue
    range: NumpyText
    body: list[Statement] = field(default_factory=list)
    location: SourceLocation | None = None


@dataclass
class While:
    """`while True:`, the statements `head`, then `if not condition: break`, then `body`."""

    head: list[Statement]
    condition: NumpyText
    body: list[Statement]
    location: SourceLocation | None = None


@dataclass
class If:
    condition: NumpyText
    then: list[Statement]
    otherwise: list[Statement]
    location: SourceLocation | None = None


@dataclass
class Return:
    values: list[NumpyText]
    location: SourceLocation | None = None


Statement = SourceLine | Assign | AssignAll | For | While | If | Return


@dataclass
class Function:
    """A function of the program. kept: the variables that must not be reassigned, because the caller owns their
    memory."""

    name: str
    parameters: Sequence[SSAValue]
    body: list[Statement]
    kept: Sequence[SSAValue]
    location: SourceLocation | None = None


def values_in(text: NumpyText) -> Iterator[SSAValue]:
    """The variables in an expression."""
    return (part for part in text.parts if not isinstance(part, str))


def used_in(statements: list[Statement]) -> set[SSAValue]:
    """The variables that are read."""
    found: set[SSAValue] = set()
    for statement in statements:
        match statement:
            case SourceLine(text=text) | Assign(text=text):
                found.update(values_in(text))
            case Return(values=texts):
                found.update(*map(values_in, texts))
            case AssignAll(pairs=pairs):
                found.update(*(values_in(text) for _, text in pairs))
            case For(range=text, body=body):
                found |= {*values_in(text)} | used_in(body)
            case While(head=head, condition=text, body=body):
                found |= {*values_in(text)} | used_in(head) | used_in(body)
            case If(condition=text, then=then, otherwise=otherwise):
                found |= {*values_in(text)} | used_in(then) | used_in(otherwise)
    return found


def without_unused(function: Function) -> None:
    """Drop unused assignments, and then the values that only they needed."""
    while True:
        used = used_in(function.body)
        if not _drop(function.body, used):
            return


def _drop(statements: list[Statement], used: set[SSAValue]) -> bool:
    found = False
    for statement in list(statements):
        match statement:
            case Assign(targets=targets, is_call=False) if not used.intersection(targets):
                statements.remove(statement)
                found = True
            case AssignAll(pairs=pairs) if any(target not in used for target, _ in pairs):
                pairs[:] = [pair for pair in pairs if pair[0] in used]
                if not pairs:
                    statements.remove(statement)
                found = True
            case If(then=[], otherwise=[]):
                statements.remove(statement)
                found = True
            case For(body=body):
                found |= _drop(body, used)
            case While(head=head, body=body):
                found |= _drop(head, used) | _drop(body, used)
            case If(then=then, otherwise=otherwise):
                found |= _drop(then, used) | _drop(otherwise, used)
    return found
