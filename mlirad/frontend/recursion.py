"""Functions that call themselves: each becomes a func.func of its own, and a call of it a func.call.

Reads: calls, and the functions that are being interpreted. Writes: private func.funcs, and func.call. Leaves: the value
of the call, in the state after it.

A call that sees what an earlier one, still under way, has seen (the same kinds of values, the same aliasing) is a
recursion: the earlier one is started again as a function. Every value that it sees is a parameter, and what it returns
is a fix-point: while nothing is known of it, a recursive call never returns. Where the arguments differ by static
numbers in every call, the calls are interpreted one in another, up to a limit; from there on these numbers are traced.

A function is its code and its cells: `compose(compose(f, g), h)` calls the code of its inner function again, on other
cells, and is no recursion.
"""

from __future__ import annotations

import re
from abc import abstractmethod
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace
from typing import NoReturn

from xdsl.dialects import func
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, FunctionType, IntegerAttr, i64
from xdsl.ir import Block, Operation, Region

from mlirad.dialect import types
from mlirad.dialect.expr import building, constant, insert, located
from mlirad.errors import DifferentiationError
from mlirad.frontend.call_state import FUNCTION, Ambiguous, Ended, Seen
from mlirad.frontend.captures import CAPTURE
from mlirad.frontend.columns import discard
from mlirad.frontend.core import Bottom, Core, Frame
from mlirad.frontend.known import scope
from mlirad.frontend.numbers import number_dtype
from mlirad.frontend.scope import scope_of
from mlirad.frontend.source import FunctionNode, Source
from mlirad.frontend.state import State, trim
from mlirad.frontend.traced import Traced
from mlirad.frontend.values import Closure, Static, Value, is_number
from mlirad.signature import is_same_static

# How deep a function is inlined in itself; how deep, and how often, before its static numbers are traced.
DEPTH, CHAIN, COPIES = 60, 12, 40
# How deep closures of one code, each with cells of its own, call one another.
CLOSURES = 500
# Passes after which what a function returns is said to have no one type.
PASSES = 8
INLINED = "inlined"


@dataclass(eq=False)
class Site:
    """A call about to be interpreted. bound: the names that it binds. state, block, mark: where it stands, and the
    last op before it, to begin again from there."""

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
        """Code and cells: of a function that the program defines, the frame around it holds the cells."""
        return id(self.node), id(self.source.function) if self.parent is None else self.parent


@dataclass(eq=False)
class Recursion:
    """A function that calls itself. traced: the parameters whose static numbers are traced. ended: what is known of
    what it leaves; None: nothing yet. knew_memory: it was made where arrays share memory; writes_copies: a function
    that it differentiates writes an array, as it turned out; meets_memory: it was called where arrays share memory."""

    function: Hashable
    symbol: str
    description: Hashable
    traced: frozenset[str]
    knew_memory: bool
    ended: Ended | None = None
    writes_copies: bool = False
    meets_memory: bool = False


class Recursive(Exception):
    """A call that an inlined one, of `site`, leads to is that call again."""

    def __init__(self, site: Site, traced: frozenset[str]):
        super().__init__(f"{site.name} calls itself")
        self.site = site
        self.traced = traced


@dataclass
class Calling:
    """The functions that are known to call themselves, and how often each function has been inlined in itself."""

    known: list[Recursion] = field(default_factory=list)
    copies: Counter[Hashable] = field(default_factory=Counter)


class Functions(Core):
    """The module's functions."""

    functions: list[func.FuncOp]
    reserved: frozenset[str] = frozenset()
    # What of memory is known, and whether it matters: see separate_copies.py.
    memory: dict[str, frozenset[Hashable]]
    writes_copies: bool = False

    def symbol(self, name: str) -> str:
        base = re.sub(r"\W", "_", name).strip("_") or "lambda"
        taken = {function.sym_name.data for function in self.functions} | self.reserved
        number = 0
        while f"{base}_{number}" in taken:
            number += 1
        return f"{base}_{number}"

    def as_number(self, value: Value) -> Value:
        """A static number as a traced one."""
        if isinstance(value, Static) and (known := number_dtype(value)) is not None:
            dtype, weak = known
            return Traced(constant(value.value, types.from_dtype(dtype)), weak=weak)
        return value


class Recursions(Functions):
    """`entered(site)`."""

    calling: Calling

    @abstractmethod
    def run_body(self, node: FunctionNode, number: int) -> Value: ...

    @abstractmethod
    def too_deep(self, name: str, args: Sequence[Value]) -> NoReturn: ...

    def entered(self, site: Site) -> Value:
        """The value of a call: of a function that is known, or of the body, interpreted here."""
        running = [frame.site for frame in self.active if frame.scope.node is site.node and frame.site is not None]
        if (made := self.known_call(site)) is not None:
            return made
        if running:
            self.find_recursion(site, running)
        try:
            return self.interpreted(site)
        except Recursive as found:
            if found.site is not site:
                raise
            traced = found.traced
        while True:
            self.give_up(site)
            try:
                return self.as_function(replace(site, bound=self.with_traced(site.bound, traced), seen=None), traced)
            except Recursive as found:
                if found.site.identity is not site.identity:
                    raise
                traced |= found.traced

    def give_up(self, site: Site) -> None:
        """Be again where the call stands."""
        while (op := site.block.last_op) is not site.mark:
            assert op is not None
            op.detach()
            for inner in op.walk():
                inner.drop_all_references()
        self.state = site.state.fork()

    def interpreted(self, site: Site) -> Value:
        """The value that the body gives, in a frame of its own; the state's frame for it is gone afterwards."""
        number = self.fresh()
        active, location = len(self.active), self.location
        frame = Frame(number, site.source, scope_of(site.node), site.parent, site=site)
        self.frames[number] = frame
        self.state.frames[number] = dict(site.bound)
        self.active.append(frame)
        if site.parent is not None:
            # What the function sees of the code around it lives as long as it runs.
            self.push(Closure(site.node, site.parent, site.source, (), ()))
        try:
            result = self.run_body(site.node, number)
        except Recursive:
            del self.active[active:]
            raise
        finally:
            self.location = location
        if site.parent is not None:
            self.pop()
        self.leave()
        return result

    @abstractmethod
    def leave(self) -> None: ...

    # What a call sees.

    def seen_at(self, site: Site, state: State, bound: dict[str, Value]) -> Seen:
        """What a call sees of the state: its arguments, captured arrays, and what its closures see."""
        captures = {name: value for name, value in state.frames[0].items() if name.startswith(CAPTURE)}
        frames = {**state.frames, 0: captures}
        function: tuple[Value, ...] = ()
        if site.parent is not None:
            function = (Closure(site.node, site.parent, site.source, (), ()),)
        own = State(frames, state.heap, state.store, (*bound.values(), *function))
        trimmed = trim(own, {0: None}, self.seen_by)
        trimmed.live = None
        return Seen.of(trimmed, self.called(site))

    @staticmethod
    def called(site: Site) -> frozenset[Hashable]:
        """The origin of what a function takes and gives: it is static only if the calls are inlined."""
        return frozenset({(INLINED, id(site.node))})

    def with_traced(self, bound: dict[str, Value], traced: frozenset[str]) -> dict[str, Value]:
        return {name: self.as_number(value) if name in traced else value for name, value in bound.items()}

    # Finding out.

    def known_call(self, site: Site) -> Value | None:
        """The value of a call of a function that is known to call itself; None if it is not known, or not so."""
        for known in self.calling.known:
            if known.function == site.function:
                seen = self.seen_at(site, self.state, self.with_traced(site.bound, known.traced))
                if seen.description == known.description and self.is_right_here(known):
                    return self.emitted_call(known, seen)
        return None

    def is_right_here(self, known: Recursion) -> bool:
        """Whether a function is right although arrays share memory here that did not where it was made."""
        if not self.memory or known.knew_memory:
            return True
        known.meets_memory = True
        return not known.writes_copies

    def find_recursion(self, site: Site, running: list[Site]) -> None:
        """Raise Recursive if the call is that of one of the sites, which are of its function, again."""
        must_inline = (INLINED, id(site.node)) in self.unrolled
        if len(running) >= CLOSURES:
            self.too_deep(site.name, tuple(site.bound.values()))
        running = [other for other in running if other.function == site.function]
        if not running:
            return
        site.seen = self.seen_at(site, site.state, site.bound)
        for other in running:
            if other.seen is None:
                other.seen = self.seen_at(other, other.state, other.bound)
            if other.seen.description == site.seen.description:
                if must_inline:
                    self.too_deep(site.name, tuple(site.bound.values()))
                raise Recursive(other, frozenset())
        self.calling.copies[site.function] += 1
        if not must_inline and (len(running) >= CHAIN or self.calling.copies[site.function] >= COPIES):
            for other in running:
                differing = _differing(other.bound, site.bound)
                if differing and self.is_same_but(differing, other, site):
                    raise Recursive(other, differing)
        if len(running) >= DEPTH:
            self.too_deep(site.name, tuple(site.bound.values()))

    def is_same_but(self, differing: frozenset[str], one: Site, other: Site) -> bool:
        """Whether two calls see the same, once their static numbers of these names are traced."""
        scratch = Block()
        with building(scratch):
            a, b = (
                self.seen_at(each, each.state, self.with_traced(each.bound, differing)).description
                for each in (one, other)
            )
        discard(scratch)
        return a == b

    # The function.

    def as_function(self, site: Site, traced: frozenset[str]) -> Value:
        """Make the function that a call is, and call it."""
        seen = self.seen_at(site, self.state, site.bound)
        self.require_no_grown(seen.state, f"{site.name} calls itself and is given")
        made = Recursion(site.function, self.symbol(site.name), seen.description, traced, bool(self.memory))
        writes_copies, self.writes_copies = self.writes_copies, False
        reserved, self.reserved = self.reserved, self.reserved | {made.symbol}
        known, outer = self.calling.known, self.state
        functions, active = len(self.functions), len(self.active)
        self.calling.known = [*known, made]
        try:
            for _ in range(PASSES):
                block = Block(arg_types=[value.type for value in seen.parameters])
                del self.functions[functions:]
                self.calling.known = [*known, made]
                ended = self.pass_over(site, seen, block)
                if made.ended is not None and ended.description == made.ended.description:
                    break
                made.ended = ended
                discard(block)
            else:
                raise self.refusal(f"what {site.name} returns has no one type", "return the same kind of value always")
        except BaseException:
            del self.active[active:]
            self.calling.known, self.reserved = known, reserved
            self.writes_copies |= writes_copies
            raise
        finally:
            self.state = outer
        made.ended, made.writes_copies = ended, self.writes_copies
        self.writes_copies |= writes_copies
        if made.writes_copies and made.meets_memory:
            message = f"{site.name} is called by a function that is differentiated, on arrays that may share memory"
            raise DifferentiationError(message, self.location, "pass a copy of one of them: x.copy()")
        self.functions.append(self.function(made, seen, block))
        return self.emitted_call(made, seen)

    def pass_over(self, site: Site, seen: Seen, block: Block) -> Ended:
        """Interpret the function's body, as far as is known what it leaves."""
        with building(block):
            self.state = seen.entered(block.args)
        count = len(site.bound)
        bound = dict(zip(site.bound, self.state.temps[:count], strict=True))
        if site.parent is not None:
            self.state.frames[0][FUNCTION] = self.state.temps[count]
        self.state.temps = ()
        active, start = len(self.active), self.location
        try:
            with building(block), scope(), located(self.location):
                again = replace(site, bound=bound, state=self.state.fork(), block=block, mark=None, seen=seen)
                value = self.interpreted(again)
                self.push(self.use(value))
                return self.left(site, seen, block)
        except Bottom:
            del self.active[active:]
            self.location = start
            discard(block)
            if any(known.ended is None and known.function != site.function for known in self.calling.known):
                raise  # it does not return as far as is known of the functions around it
            hint = "let it return on one path without a call of itself"
            raise self.refusal(f"{site.name} calls itself and never returns", hint) from None
        except BaseException:
            discard(block)
            raise

    def left(self, site: Site, seen: Seen, block: Block) -> Ended:
        """What the function leaves, its result on top of the operands."""
        state = trim(self.state, {0: None}, self.seen_by)
        self.require_no_grown(state, f"{site.name} calls itself and returns")
        if set(state.frames) - set(seen.state.frames) - {0}:
            message = f"{site.name} calls itself and returns a function that it defines"
            raise self.refusal(message, "define that function outside of it")
        try:
            return Ended.of(seen, state, block.args, self.called(site), lambda array: self.read(array).contents)
        except Ambiguous:
            hint = "return a copy of it: x.copy()"
            raise self.refusal(f"which array {site.name} returns cannot be followed", hint) from None

    def require_no_grown(self, state: State, what: str) -> None:
        if any(entry.growth is not None for entry in state.heap.values()):
            raise self.refusal(f"{what} a list that a loop fills", "use np.array of it, made before")

    def function(self, made: Recursion, seen: Seen, block: Block) -> func.FuncOp:
        ended = made.ended
        assert ended is not None
        with building(block):
            insert(func.ReturnOp(*ended.results))
        place = {value: number for number, value in enumerate(ended.results)}
        written: dict[int, int] = {}
        for index, contents in ended.contents.items():
            cell = seen.state.store[seen.numbers[index]].value
            if contents.value in place and place[contents.value] not in written.values():
                written[seen.parameters.index(cell)] = place[contents.value]
        attributes = [
            DictionaryAttr({"mlirad.written": IntegerAttr(written[index], i64)} if index in written else {})
            for index in range(len(block.args))
        ]
        op = func.FuncOp(
            made.symbol,
            FunctionType.from_lists([a.type for a in block.args], [value.type for value in ended.results]),
            Region([block]),
            visibility="private",
            arg_attrs=ArrayAttr(attributes) if written else None,
        )
        op.location = types.to_location(self.location)
        return op

    def emitted_call(self, known: Recursion, seen: Seen) -> Value:
        """A call of the function; where it is not known yet to return, it does not."""
        if known.ended is None:
            raise Bottom
        ended = known.ended
        for index, contents in ended.contents.items():
            if contents.value not in ended.parameters:
                self.require_free(seen.numbers[index])
        op = insert(func.CallOp(known.symbol, seen.operands, [value.type for value in ended.results]))
        if written := ended.written(self.state, seen):
            self.note_write(written)
        value, self.state = ended.into(self.state, seen, op.results, self.fresh)
        self.writes_copies |= known.writes_copies
        self.captures_used.update(name for name in seen.state.frames.get(0, {}) if name.startswith(CAPTURE))
        return value


def _differing(one: dict[str, Value], other: dict[str, Value]) -> frozenset[str]:
    """The names under which there are different static numbers."""
    return frozenset(
        name
        for name, value in one.items()
        if isinstance(value, Static)
        and is_number(value)
        and isinstance(found := other.get(name), Static)
        and is_number(found)
        and not is_same_static(value.value, found.value)
    )
