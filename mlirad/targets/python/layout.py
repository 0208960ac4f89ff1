"""Prints statements as text, formatted as by ruff.

Reads: statements, and names. Writes: lines, with their locations in the user's source. Leaves: nothing.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from xdsl.ir import SSAValue

from mlirad.dialect.core.numpy_source import NumpyText, Rank, denied
from mlirad.dialect.core.types import is_tensor
from mlirad.location import SourceLocation
from mlirad.targets.python.python_statements import (
    Assign,
    AssignAll,
    For,
    Function,
    If,
    Return,
    SourceLine,
    Statement,
    While,
    values_in,
)

_WIDTH = 88
_INDENT = "    "
_LONG = ("def ", "return ", "raise ")
_HEADS = frozenset({"for", "while", "if", "elif", "else", "def", "with", "try"})
_STATEMENT = re.compile(
    r"(?P<head>return |if |elif |while |\w+(?:\[[^\]]*\])?(?:, \w+)* [-+*/%@&|^<>]*= )(?P<expression>.*?)(?P<tail>:?)"
)
# From the lowest precedence on.
_OPERATORS = [re.compile(f" (?:{each}) ") for each in ("if|else", "or", "and", "[<>=!]=|[<>]|(?:not )?in|is(?: not)?")]
_OPERATORS += [re.compile(f" (?:{each}) ") for each in (r"\|", r"\^", "&", "<<|>>", r"\+|-", r"\*|//?|%|@")]
Located = tuple[str, SourceLocation | None]


class PrintedLines:
    """The lines of one function."""

    def __init__(self, names: Mapping[SSAValue, str], used: Collection[SSAValue]) -> None:
        self.names, self.used = names, used
        self.used_names = {names[value] for value in used}
        self.lines: list[Located] = []
        self._last: SourceLocation | None = None
        self.is_tight = False
        """Whether an expression is too long for a line."""
        self._turned = False
        """Whether a loop runs backwards here."""

    def function(self, function: Function, name: str) -> list[Located]:
        parameters = ", ".join(self.names[each] for each in function.parameters)
        self._put(f"def {name}({parameters}):", 0, function.location)
        self._block(function.body, 1)
        return self.lines

    def _put(self, line: str, depth: int, location: SourceLocation | None) -> None:
        lines = list(fitted(line, depth))
        self.is_tight = self.is_tight or (len(lines) > 1 and not line.startswith(_LONG))
        self.lines += [(each, location) for each in lines]

    def shown(self, found: NumpyText) -> str:
        return "".join(part if isinstance(part, str) else self.names[part] for part in found.parts)

    def _block(self, statements: Sequence[Statement], depth: int) -> None:
        start = len(self.lines)
        for statement in statements:
            self._statement(statement, depth)
        if len(self.lines) == start:
            self._put("pass", depth, None)

    def _comment(self, statement: Statement, depth: int) -> None:
        """The user's line as a comment, above code that is in another order: where lines go backwards."""
        here, last = statement.location, self._last
        line = None if here is None else here.source_line()
        if here is None or line is None:
            return
        is_same = last is not None and (here.filename, here.lineno) == (last.filename, last.lineno)
        is_head = line.split("(")[0].split(" ")[-1].rstrip(":") in _HEADS or line.split()[0] in _HEADS
        if is_same or is_head is not isinstance(statement, For | While | If):
            return
        self._last = here
        is_back = last is not None and (here.filename != last.filename or here.lineno < last.lineno)
        if is_back or self._turned:
            self._put(f"# {line.strip()}"[: _WIDTH - len(_INDENT) * depth].rstrip(), depth, here)

    def _statement(self, statement: Statement, depth: int) -> None:
        place = statement.location
        match statement:
            case SourceLine(text=found, depth=more):
                self._comment(statement, depth)
                self._put(self.shown(found), depth + more, place)
            case Return(values=values):
                if not values:
                    return
                shown = ", ".join(map(self.shown, values))
                is_long = len(values) > 1 and len(_INDENT) * depth + len(f"return {shown}") > _WIDTH
                self._put(f"return ({shown})" if is_long else f"return {shown}".strip(), depth, place)
            case Assign(targets=targets, text=found):
                self._comment(statement, depth)
                self._assign(targets, found, depth, place)
            case AssignAll(pairs=pairs):
                self._copies(pairs, depth, statement)
            case For(counter=counter, range=span, body=body):
                self._comment(statement, depth)
                name = self.names[counter] if counter in self.used else "_"
                self._put(f"for {name} in {self.shown(span)}:", depth, place)
                turned, self._turned = self._turned, self._turned or self.shown(span).startswith("reversed")
                self._block(body, depth + 1)
                self._turned = turned
            case While():
                self._while(statement, depth)
            case If():
                self._if(statement, depth, "if")

    def _target(self, value: SSAValue) -> str:
        return self.names[value] if self._is_used(value) else "_"

    def _is_used(self, value: SSAValue) -> bool:
        return self.names[value] in self.used_names

    def _assign(self, targets: Sequence[SSAValue], found: NumpyText, depth: int, place: SourceLocation | None) -> None:
        shown = self.shown(found)
        if len(targets) > 1:
            self._put(f"{', '.join(map(self._target, targets))} = {shown}", depth, place)
        elif not self._is_used(targets[0]):
            self._put(shown, depth, place)
        elif self.names[targets[0]] != shown:
            self._put(self._assigned(targets[0], found), depth, place)

    def _copies(self, pairs: Sequence[tuple[SSAValue, NumpyText]], depth: int, statement: AssignAll) -> None:
        left = [(target, found) for target, found in pairs if self._is_used(target)]
        left = [(target, found) for target, found in left if self.names[target] != self.shown(found)]
        if left:
            self._comment(statement, depth)
        while left:
            ready = next((each for each in left if not self._is_read(each, left)), None)
            if ready is None:
                names, texts = zip(*((self.names[target], self.shown(found)) for target, found in left), strict=True)
                self._put(f"{', '.join(names)} = {', '.join(texts)}", depth, statement.location)
                return
            left.remove(ready)
            self._put(self._assigned(*ready), depth, statement.location)

    def _is_read(self, pair: tuple[SSAValue, NumpyText], pairs: Sequence[tuple[SSAValue, NumpyText]]) -> bool:
        """Whether the variable of a pair is read in another pair."""
        name = self.names[pair[0]]
        others = (found for target, found in pairs if target is not pair[0])
        return any(self.names[value] == name for found in others for value in values_in(found))

    def _assigned(self, target: SSAValue, found: NumpyText) -> str:
        """`x = value`; for numbers also `x += value`, which would change an array in place."""
        name = self.names[target]
        if found.operation is not None and not is_tensor(target.type) and found.rank >= Rank.BIT_OR:
            first, symbol, other = found.operation
            if self.shown(first) == name:
                return f"{name} {symbol}= {self.shown(other)}"
        return f"{name} = {self.shown(found)}"

    def _inner(self) -> PrintedLines:
        inner = PrintedLines(self.names, self.used)
        inner._last, inner._turned = self._last, self._turned
        return inner

    def _while(self, loop: While, depth: int) -> None:
        inner = self._inner()
        for statement in loop.head:
            inner._statement(statement, depth + 1)
        if not inner.lines:
            self._put(f"while {self.shown(loop.condition)}:", depth, loop.location)
        else:
            self._put("while True:", depth, loop.location)
            self.lines += inner.lines
            self.is_tight = self.is_tight or inner.is_tight
            self._put(f"if {self.shown(denied(loop.condition))}:", depth + 1, loop.location)
            self._put("break", depth + 2, loop.location)
        before = len(self.lines)
        for statement in loop.body:
            self._statement(statement, depth + 1)
        if len(self.lines) == before and not inner.lines:
            self._put("pass", depth + 1, None)

    def _if(self, statement: If, depth: int, word: str) -> None:
        sides: list[list[Located]] = []
        for side in (statement.then, statement.otherwise):
            inner = self._inner()
            for each in side:
                inner._statement(each, depth + 1)
            sides.append(inner.lines)
            self.is_tight = self.is_tight or inner.is_tight
        then, otherwise = sides
        place = statement.location
        if not then and not otherwise:
            return
        if not then or not otherwise:
            condition = statement.condition if then else denied(statement.condition)
            body = statement.then if then else statement.otherwise
            self._one_sided(condition, body, then or otherwise, depth, word, place)
            return
        self._put(f"{word} {self.shown(statement.condition)}:", depth, place)
        self.lines += then
        if len(statement.otherwise) == 1 and isinstance(last := statement.otherwise[0], If):
            self._if(last, depth, "elif")
            return
        self._put("else:", depth, place)
        self.lines += otherwise

    def _one_sided(
        self,
        condition: NumpyText,
        body: Sequence[Statement],
        lines: list[Located],
        depth: int,
        word: str,
        place: SourceLocation | None,
    ) -> None:
        """An `if` without `else`, with these lines as its body; merged with an `if` that is its whole body."""
        if _only_if(lines, depth + 1) is not None:
            beside = self._inner()
            for each in body:
                beside._statement(each, depth)
            if (only := _only_if(beside.lines, depth)) is not None:
                comments, inner = only.above, only.condition
                self.lines += beside.lines[:comments] if word == "if" else []  # an `elif` has no place for them
                self._put(f"{word} {self.shown(condition.within(Rank.AND))} and {inner}:", depth, place)
                self.lines += beside.lines[comments + 1 :]
                return
        self._put(f"{word} {self.shown(condition)}:", depth, place)
        self.lines += lines


# --- lines that are too long ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _OnlyIf:
    """An `if` without `else`. above: the number of comment lines above it."""

    condition: str
    above: int


def _only_if(lines: Sequence[Located], depth: int) -> _OnlyIf | None:
    """The single `if` without `else` in these lines, ignoring comments; None if there is anything else."""
    start = _INDENT * depth
    above = next((number for number, (line, _) in enumerate(lines) if not line.startswith(start + "#")), 0)
    heads = [line for line, _ in lines[above:] if not line.startswith(start + " ")]
    if len(heads) != 1 or not heads[0].startswith(start + "if ") or not heads[0].endswith(":"):
        return None
    condition = heads[0].removeprefix(start + "if ").removesuffix(":")
    return _OnlyIf(f"({condition})" if " or " in condition or " if " in condition else condition, above)


def fitted(line: str, depth: int) -> Iterator[str]:
    """A line at a depth, with its outermost brackets opened if it is too long."""
    start = _INDENT * depth
    if not line or len(start) + len(line) <= _WIDTH or line.startswith("#"):
        yield start + line if line else ""
        return
    opened = _last_brackets(line)
    operated = _operation(line)
    if operated is not None and not (len(operated.terms) == 2 and opened and _is_open(line, opened, operated, start)):
        whole = " ".join(operated.terms)
        yield f"{start}{operated.head}("
        for term in [whole] if len(start) + len(_INDENT) + len(whole) <= _WIDTH else operated.terms:
            yield from fitted(term, depth + 1)
        yield f"{start}){operated.tail}"
        return
    if opened is None:
        yield start + line
        return
    first, end = opened
    yield start + line[: first + 1]
    inside = line[first + 1 : end]
    items = _split(inside)
    is_call = first > 0 and (line[first - 1].isalnum() or line[first - 1] in "_)]")
    is_short = is_call and len(start) + len(_INDENT) + len(inside) <= _WIDTH
    if is_short or len(items) == 1:
        yield from fitted(inside, depth + 1)
    else:
        for item in items:
            yield from _item(item, depth + 1)
    yield start + line[end:]


def _is_open(line: str, brackets: tuple[int, int], operation: _Operation, start: str) -> bool:
    """Whether the brackets of an operation with two terms are opened, instead of new ones added around it."""
    first, end = brackets
    is_outermost = end == len(line) - len(operation.tail) - 1 or operation.terms[0].startswith("(")
    return is_outermost and len(start) + first < _WIDTH


@dataclass(frozen=True)
class _Operation:
    """The terms of a statement's expression, each with the operator before it, of the lowest precedence. head, tail:
    the text before and after the expression."""

    head: str
    terms: list[str]
    tail: str


def _operation(line: str) -> _Operation | None:
    """The operators of a line outside of all brackets; None if there are none."""
    statement = _STATEMENT.fullmatch(line)
    if statement is None or len(_split(expression := statement["expression"])) > 1:
        return None
    depth, outside = 0, set[int]()
    for place, letter in _code(expression):
        depth += (letter in "([{") - (letter in ")]}")
        if not depth:
            outside.add(place)
    for operators in _OPERATORS:
        found = [each.start() + 1 for each in operators.finditer(expression) if each.start() in outside]
        if found:
            ends = [*found, len(expression) + 1]
            terms = [expression[start : end - 1] for start, end in zip([0, *found], ends, strict=True)]
            return _Operation(statement["head"], terms, statement["tail"])
    return None


def _item(item: str, depth: int) -> Iterator[str]:
    *before, last = fitted(item, depth)
    yield from before
    yield last + ","


def _last_brackets(line: str) -> tuple[int, int] | None:
    """The last pair of brackets that is not inside another pair."""
    found: tuple[int, int] | None = None
    opened: list[int] = []
    for place, letter in _code(line):
        if letter in "([{":
            opened.append(place)
        elif letter in ")]}":
            first = opened.pop()
            if not opened and place > first + 1:
                found = first, place
    return found


def _split(inside: str) -> list[str]:
    """The parts between commas that are outside of all brackets."""
    items: list[str] = []
    depth = start = 0
    for place, letter in _code(inside):
        depth += (letter in "([{") - (letter in ")]}")
        if letter == "," and not depth:
            items.append(inside[start:place].strip())
            start = place + 1
    rest = inside[start:].strip()
    return [*items, rest] if rest else items


def _code(line: str) -> Iterator[tuple[int, str]]:
    """The characters outside of strings."""
    quote = ""
    skip = False
    for place, letter in enumerate(line):
        if skip:
            skip = False
        elif quote:
            skip = letter == "\\"
            quote = "" if letter == quote else quote
        elif letter in "\"'":
            quote = letter
        else:
            yield place, letter
