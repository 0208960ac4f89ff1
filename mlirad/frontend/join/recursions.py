"""Functions that call themselves, and calls that are about to be interpreted.

Reads: nothing. Writes: nothing. Leaves: Calling.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any

from xdsl.ir import Block, Operation

from mlirad.frontend.join.call_state import Ended, Seen
from mlirad.frontend.join.repeated_calls import RepeatedCalls
from mlirad.frontend.program.source import FunctionNode, Source
from mlirad.frontend.values.state import State
from mlirad.frontend.values.values import Value


@dataclass(eq=False)
class Site:
    """A call about to be interpreted. bound: the names that it binds. state, block, mark: its place, and the last op
    before it, for restarting from there."""

    node: FunctionNode
    source: Source
    parent: int | None
    bound: dict[str, Value]
    state: State
    block: Block
    mark: Operation | None
    seen: Seen | None = None
    identity: object = field(default_factory=object)

    @property
    def name(self) -> str:
        return getattr(self.node, "name", "<lambda>")

    @property
    def function(self) -> Hashable:
        """Identifies code and its cells: for a function that the program defines, the enclosing frame holds the
        cells."""
        return id(self.node), id(self.source.function) if self.parent is None else self.parent


@dataclass(eq=False)
class Recursion:
    """A function that calls itself. traced: the parameters with traced instead of static numbers. ended: what is known
    of the state that it leaves; None: nothing yet. knew_memory: it was created where arrays share memory;
    writes_copies: a function that it differentiates was found to write an array; meets_memory: it was called where
    arrays share memory. users: the call of the user's function in which it calls itself, while `ended` is None."""

    function: Hashable
    symbol: str
    description: Hashable
    traced: frozenset[str]
    knew_memory: bool
    ended: Ended | None = None
    writes_copies: bool = False
    meets_memory: bool = False
    users: Site | None = None


@dataclass
class Calling:
    """The functions known to be called by call ops: those that call themselves, or that several calls share. repeated:
    which calls may share a function. copies: how often each function is inlined in itself. ruled: functions with
    derivative rules of their own, by the functions and the kinds of their arguments. plain: the ids of functions that
    are interpreted as if no rule were registered for them. has_omitted_rules: whether rules were not interpreted, as
    nothing was differentiated."""

    known: list[Recursion] = field(default_factory=list)
    repeated: RepeatedCalls = field(default_factory=RepeatedCalls)
    copies: Counter[Hashable] = field(default_factory=Counter)
    ruled: dict[Hashable, Any] = field(default_factory=dict)
    plain: frozenset[int] = frozenset()
    has_omitted_rules: bool = False
