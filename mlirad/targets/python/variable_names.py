"""Names for the variables of a function: as few as possible, derived from the user's names.

Reads: statements. Writes: a name for each SSA value in them. Leaves: the statements.

Variables are live from their assignment to their last use. Two variables that are assigned to each other, such as a
loop's carry and its initial value, become one variable if they are never live at the same time with different values.
"""

from __future__ import annotations

import builtins
import keyword
import re
from collections.abc import Iterable, Sequence

from xdsl.ir import SSAValue

from mlirad.dialect.core.numpy_source import NumpyText
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

_COUNTERS = ("i", "j", "k", "m")
_TAKEN = {*keyword.kwlist, *dir(builtins), "np", "l", "O", "I", "_"}


def names_of(function: Function, taken: Iterable[str]) -> dict[SSAValue, str]:
    """A name for each variable. taken: names with another meaning."""
    live = _Liveness(function)
    return _Naming(function, live, {*_TAKEN, *taken}).names


class _Liveness:
    """Which variables interfere, as bit sets."""

    def __init__(self, function: Function) -> None:
        self.number: dict[SSAValue, int] = {}
        self.order: list[SSAValue] = []
        self.apart: list[int] = []
        self.pairs: list[tuple[int, int]] = []
        """Pairs of variables, where one is assigned to the other."""
        self.origin: dict[int, NumpyText] = {}
        self.counters: set[int] = set()
        self.used = 0
        for parameter in function.parameters:
            self._bit(parameter)
        self._meet(function.body)
        live = self._block(function.body, 0)
        for parameter in function.parameters:
            self._define(self.number[parameter], live | self._all(function.parameters))
        for kept in function.kept:
            self.apart[self.number[kept]] = -1

    def _meet(self, statements: Sequence[Statement]) -> None:
        """Number the variables in the order of the source."""
        for statement in statements:
            match statement:
                case SourceLine(text=text):
                    self._all(values_in(text))
                case Assign(targets=targets, text=text):
                    self._all(values_in(text))
                    self._all(targets)
                case AssignAll(pairs=pairs):
                    for target, text in pairs:
                        self._all([*values_in(text), target])
                case For(counter=counter, range=span, body=body):
                    self._all([*values_in(span), counter])
                    self._meet(body)
                case While(head=head, body=body):
                    self._meet(head)
                    self._meet(body)
                case If(then=then, otherwise=otherwise):
                    self._meet(then)
                    self._meet(otherwise)
                case Return():
                    pass

    def _bit(self, value: SSAValue) -> int:
        number = self.number.get(value)
        if number is None:
            number = self.number[value] = len(self.order)
            self.order.append(value)
            self.apart.append(0)
        return 1 << number

    def _all(self, values: Iterable[SSAValue]) -> int:
        bits = 0
        for value in values:
            bits |= self._bit(value)
        return bits

    def _uses(self, *texts: NumpyText) -> int:
        bits = 0
        for each in texts:
            bits |= self._all(values_in(each))
        self.used |= bits
        return bits

    def _define(self, number: int, live: int) -> None:
        self.apart[number] |= live & ~(1 << number)

    def _block(self, statements: Sequence[Statement], live: int) -> int:
        for statement in reversed(statements):
            live = self._before(statement, live)
        return live

    def _before(self, statement: Statement, live: int) -> int:
        match statement:
            case SourceLine(text=text):
                return live | self._uses(text)
            case Return(values=values):
                return self._uses(*values)
            case Assign(targets=targets, text=text):
                return self._assigned([(target, text) for target in targets], live)
            case AssignAll(pairs=pairs):
                return self._assigned(pairs, live)
            case For():
                return self._for(statement, live)
            case While():
                return self._while(statement, live)
            case If(condition=condition, then=then, otherwise=otherwise):
                return self._uses(condition) | self._block(then, live) | self._block(otherwise, live)

    def _assigned(self, pairs: Sequence[tuple[SSAValue, NumpyText]], live: int) -> int:
        targets = self._all(target for target, _ in pairs)
        for target, text in pairs:
            number = self.number.get(target, 0)
            self.origin.setdefault(number, text)
            others = (live | targets) & ~self._bit(target)
            if len(text.parts) == 1 and isinstance(source := text.parts[0], SSAValue):
                others &= ~self._bit(source)
                self.pairs.append((number, self.number[source]))
            self._define(number, others)
        return live & ~targets | self._uses(*(text for _, text in pairs))

    def _for(self, loop: For, live: int) -> int:
        counter = self._bit(loop.counter)
        self.counters.add(self.number[loop.counter])
        inside = live
        while True:
            start = self._block(loop.body, inside) & ~counter
            if start | inside == inside:
                break
            inside |= start
        self._define(self.number[loop.counter], inside)
        return inside | self._uses(loop.range)

    def _while(self, loop: While, live: int) -> int:
        start = 0
        while True:
            inside = self._block(loop.body, start)
            before = self._block(loop.head, inside | live | self._uses(loop.condition))
            if before | start == start:
                return before
            start |= before


class _Naming:
    def __init__(self, function: Function, live: _Liveness, taken: set[str]) -> None:
        self.live, self.taken = live, taken
        self.group = list(range(len(live.order)))
        self.members = [1 << number for number in self.group]
        self.apart = list(live.apart)
        for one, other in live.pairs:
            self._unite(one, other)
        self.names: dict[SSAValue, str] = {}
        self.parameters: set[str] = set()
        self._named: dict[str, int] = {}
        """The members of all groups, by their common name."""
        found: dict[int, str] = {}
        for number, value in enumerate(live.order):
            group = self._find(number)
            if group not in found:
                found[group] = self._name(group)
            self.names[value] = found[group]
            if value in function.parameters:
                self.parameters.add(found[group])

    def _find(self, number: int) -> int:
        while self.group[number] != number:
            number = self.group[number]
        return number

    def _are_apart(self, one: int, other: int) -> bool:
        return bool(self.apart[one] & self.members[other] or self.apart[other] & self.members[one])

    def _unite(self, one: int, other: int) -> None:
        one, other = sorted((self._find(one), self._find(other)))
        if one == other or self._are_apart(one, other):
            return
        self.group[other] = one
        self.members[one] |= self.members[other]
        self.apart[one] |= self.apart[other]

    def _name(self, group: int) -> str:
        numbers = [number for number in range(len(self.group)) if self.members[group] >> number & 1]
        hint = next((hint for number in numbers if (hint := _identifier(self.live.order[number].name_hint))), None)
        is_counter = any(number in self.live.counters for number in numbers)
        names = [hint] if hint else list(_COUNTERS) if is_counter else [self._of_element(numbers) or "t"]
        for name in names:
            if self._is_free(name, group, shared=bool(hint) or is_counter):
                return self._give(name, group)
        count = 1
        while not self._is_free(name := f"{names[0]}_{count}", group, shared=False):
            count += 1
        return self._give(name, group)

    def _of_element(self, numbers: Sequence[int]) -> str | None:
        """`x_i` for an element read from an array x, `tape` for memory that is filled later."""
        for number in numbers:
            origin = self.live.origin.get(number)
            if origin is not None and str(origin.parts[0]).startswith("np.empty("):
                return "tape"
            if origin is None or len(origin.parts) < 2 or not isinstance(origin.parts[0], SSAValue):
                continue
            if isinstance(origin.parts[1], str) and origin.parts[1].startswith("["):
                array = self.live.order[self._find(self.live.number[origin.parts[0]])]
                known = self.names.get(array) or _identifier(array.name_hint)
                return f"{known}_i" if known else None
        return None

    def _is_free(self, name: str, group: int, shared: bool) -> bool:
        if name in self.taken:
            return False
        if name in self.parameters and any(self.members[group] >> number & 1 for number in self.live.counters):
            return False  # ruff reports it as a mistake
        others = self._named.get(name, 0)
        if not others or not shared:
            return not others
        mine = self.members[group]
        if self.apart[group] & others:
            return False
        return not any(self.apart[number] & mine for number in range(len(self.apart)) if others >> number & 1)

    def _give(self, name: str, group: int) -> str:
        self._named[name] = self._named.get(name, 0) | self.members[group]
        return name


def _identifier(hint: str | None) -> str | None:
    if hint is None:
        return None
    name = re.sub(r"\W+", "_", hint).rstrip("_")
    return name if name.isidentifier() and not keyword.iskeyword(name) else None
