"""What all parts of the interpreter share: the state, the block being written, frames, branches, arrays.

Reads: values. Writes: ops at the current insertion point. Leaves: the state after them.
"""

from __future__ import annotations

import ast
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

import numpy as np
from xdsl.dialects.scf import IfOp, YieldOp
from xdsl.ir import Block

from mlirad.dialect import types
from mlirad.dialect.check import check
from mlirad.dialect.expr import Expr, building, constant, insert, insertion_point, swap_location
from mlirad.errors import DEVIATIONS, CompileError, UnsupportedSyntaxError
from mlirad.frontend import known, prelude, purity, sizes, views
from mlirad.frontend.appended import Appended
from mlirad.frontend.assignment import assignable
from mlirad.frontend.captures import Found
from mlirad.frontend.columns import Columns, discard, emit_if
from mlirad.frontend.leaves import leaves_between
from mlirad.frontend.merge import Merge, Naming, PlaceNaming, contents_of, kind_of
from mlirad.frontend.outcomes import Chosen, Exit, Outcome
from mlirad.frontend.poison import Poison, PoisonUsed
from mlirad.frontend.scope import NONE, Names, Scope, scope_of
from mlirad.frontend.selection import Selected
from mlirad.frontend.source import Source
from mlirad.frontend.state import State, trim
from mlirad.frontend.traced import DATA, NeedStatic, Traced, of_array, require_static
from mlirad.frontend.values import (
    Alternative,
    Closure,
    Entry,
    Growth,
    Maybe,
    Object,
    Ref,
    Static,
    Tuple,
    Value,
    inside,
    is_same,
)
from mlirad.frontend.views import View
from mlirad.frontend.widening import leaves_of
from mlirad.location import SourceLocation


class Bottom(Exception):
    """What follows is never reached: a certain error has been emitted, or every path has left."""


class Restart(Exception):
    """What has been found out (a capture, a loop to unroll) is to be known from the beginning."""


@dataclass(eq=False)
class Frame:
    """A running (or captured) function or comprehension. live: its names that are live at the statement under way.

    loops: for each loop around it, the names live after the loop and at its header. site: the call (recursion.py).
    """

    number: int
    source: Source
    scope: Scope
    parent: int | None
    live: Names = NONE
    loops: list[tuple[Names, Names]] = field(default_factory=list)
    site: Any = None


RESULT = "$return"


class _At:
    """What `Core.at` gives: a class, as every expression is evaluated in one."""

    __slots__ = ("before", "core", "node", "saved")

    def __init__(self, core: Core, node: ast.AST):
        self.core = core
        self.node = node

    def __enter__(self) -> None:
        core = self.core
        self.before = core.location
        source = core.active[-1].source
        # What a builtin does in prelude.py happens, for the user, where it is called.
        if self.before is None or source.filename != prelude.__file__:
            core.location = source.location(self.node)
        self.saved = swap_location(core.location)

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        swap_location(self.saved)
        if isinstance(error, CompileError):
            error.at(self.core.location)
        elif isinstance(error, NeedStatic | PoisonUsed):
            error.__dict__.setdefault("location", self.core.location)
        self.core.location = self.before


@dataclass(frozen=True)
class Why:
    """Why a loop is unrolled, or a call inlined. refusal: what to raise if it cannot be, if that is known."""

    text: str
    refusal: Exception | None = None


class Core(ABC):
    """The interpreter's state and the block it writes to. `state` is the one way to reach the program's state: nothing
    else may hold a piece of it across an evaluation, because a join replaces it."""

    def __init__(self, found: Found, unrolled: dict[Hashable, Why], boundscheck: bool = True):
        self.state = State()
        self._numbers = count(1)  # its own, as some come to stand in the IR: the same program is the same IR
        self.found = found
        self.unrolled = unrolled
        self.headers: dict[Hashable, Any] = {}  # what loops carried when they were last met (loops.py)
        self.marks: dict[Hashable, dict[Hashable, Any]] = {}  # origins of what loops carry (origins.py)
        self.stepwise: set[Hashable] = set()  # loops whose numbers are widened one by one (fixpoint.py)
        self.crowded: set[Hashable] = set()  # loops in which names have had three arrays in common (collapse.py)
        self.covered: set[int] = set()  # lists that have room for what is appended here (filled_lists.py)
        self.doubling: set[int] = set()  # of these, those whose arrays are enlarged when they are full
        self.appended = Appended()
        self.chosen: Chosen | None = None  # while a loop is searched for what it carries
        self.through_ifs = False  # pair what ifs join by where it stands
        self.has_swapped = False  # whether that would have been something else
        self.writes = 0  # how many there were so far
        # The arrays that names of frame 0 hold, by their position there, and that writes may have reached.
        self.reached_by_writes: set[tuple[str, int]] = set()
        self.changes_copies = False  # a function that is differentiated changes a list, dict or dataclass given to it
        self.impure: set[Hashable] = set()  # whiles whose conditions have side effects
        self.captures_used: set[str] = set()  # their names in frame 0
        self.boundscheck = boundscheck
        self.frames: dict[int, Frame] = {}
        self.active: list[Frame] = []
        self.location: SourceLocation | None = None
        self.returned: dict[str, SourceLocation] = {}  # the last return of each function, by its name

    # What the other parts answer.

    @abstractmethod
    def expression(self, node: ast.expr) -> Value: ...

    @abstractmethod
    def block(self, statements: Sequence[ast.stmt]) -> Outcome: ...

    @abstractmethod
    def call(self, function: Value, args: Sequence[Value], kwargs: dict[str, Value]) -> Value: ...

    # Places in the source, and what is wrong there.

    @property
    def frame(self) -> Frame:
        return self.active[-1]

    def at(self, node: ast.AST) -> _At:
        """Ops and errors in here come from `node`."""
        return _At(self, node)

    def refusal(self, message: str, hint: str | None = None, page: str | None = None) -> UnsupportedSyntaxError:
        return UnsupportedSyntaxError(message, self.location, hint, page)

    def failed(self, error: str, message: str) -> Bottom:
        """What is raised at run time, certainly, is emitted; what follows is dead, so the result is to be raised."""
        check(constant(False, types.I1), error, message.replace("{", "{{").replace("}", "}}"))
        return Bottom()

    def use(self, value: Value) -> Value:
        """A value that is about to be looked at."""
        if isinstance(value, Poison):
            raise PoisonUsed(value)
        return value

    # Operands under evaluation: what is evaluated next may change what they refer to, so they stand in the state.

    def push(self, *values: Value) -> None:
        self.state.temps = (*self.state.temps, *values)

    def pop(self) -> Value:
        value = self.state.temps[-1]
        self.state.temps = self.state.temps[:-1]
        return value

    def pop_many(self, number: int) -> tuple[Value, ...]:
        split = len(self.state.temps) - number
        values, self.state.temps = self.state.temps[split:], self.state.temps[:split]
        return values

    def top(self) -> Value:
        return self.state.temps[-1]

    def evaluate_all(self, thunks: Iterable[Callable[[], Value]]) -> tuple[Value, ...]:
        """Evaluate one after the other; earlier values take part in what later ones do."""
        number = 0
        for thunk in thunks:
            self.push(thunk())
            number += 1
        return self.pop_many(number)

    # Objects and arrays.

    def fresh(self) -> int:
        return next(self._numbers)

    def new_object(self, entry: Entry) -> Object:
        number = self.fresh()
        self.state.heap[number] = entry
        return Object(number)

    def new_list(self, items: Iterable[Value]) -> Object:
        return self.new_object(Entry.of_list(tuple(items)))

    def entry(self, value: Object) -> Entry:
        entry = self.state.heap[value.number]
        if entry.poison is not None:
            raise PoisonUsed(entry.poison)
        return entry if entry.growth is None else self.listed(value, entry)

    def as_is(self, value: Object) -> Entry:
        """The entry of an object, whatever it is."""
        return self.state.heap[value.number]

    def grown(self, value: Value) -> Entry | None:
        """The entry of a list that grows; None for all else."""
        entry = self.as_is(value) if isinstance(value, Object) else None
        return entry if entry is not None and entry.growth is not None else None

    def kind_of_object(self, value: Object) -> type:
        entry = self.state.heap[value.number]
        return entry.kind if entry.growth is not None else self.entry(value).kind

    @abstractmethod
    def listed(self, value: Object, entry: Entry) -> Entry:
        """A list that is kept in arrays, as one of values."""

    @abstractmethod
    def require_free(self, number: int) -> None:
        """Of a cell or object that is about to be changed."""

    @abstractmethod
    def filled_on_side(self, state: State, entry: Entry, growth: Growth) -> Entry:
        """A list of one side of an if, in arrays."""

    @abstractmethod
    def stacked(self, entry: Entry) -> Traced: ...

    def change(self, value: Object, entry: Entry) -> None:
        """Give an object other items."""
        self.require_free(value.number)
        old = self.entry(value)
        owner = old.borrowed
        if owner is not None and entry.poison is None and old.keys == entry.keys:
            if all(is_same(a, b) for a, b in zip(old.items, entry.items, strict=True)):
                return  # `d["x"] += y` has changed the array that d["x"] is, and not the dict
        self.changes_copies |= owner is not None
        if owner is not None and owner.of is None and owner.container is not None and not owner.is_shared:
            if owner.container not in self.found.changed:
                self.found.changed[owner.container] = old.keys
                raise Restart("a list, dict or dataclass of the caller is changed")
        elif owner is not None and (owner.of is None or owner.is_shared):
            copy = "list(x)" if old.kind is list else "dict(x)" if old.kind is dict else "dataclasses.replace(x)"
            raise self.refusal(f"this would change {owner.name}", f"copy it first: x = {copy}")
        self.state.heap[value.number] = entry

    def new_array(
        self, contents: Expr, strides: tuple[int, ...] | None = None, shape: sizes.Shape | None = None
    ) -> Ref:
        """A fresh array of these contents (a tensor, of rank 0 too). `shape`: its shape, if it is known better."""
        number = self.fresh()
        self.state.store[number] = contents
        shape = sizes.shape_of(contents) if shape is None else shape
        return Ref((Alternative(number, View.of(shape, types.to_dtype(contents.element), strides)),))

    def read(self, array: Ref) -> Traced:
        """The contents of an array, now."""
        result = contents_of(array, self.state.store)
        return Traced(result, zero_d=not array.ndim, origins=frozenset({DATA}))

    def read_scalar(self, array: Ref) -> Traced:
        """The element of an array of rank 0, as NumPy's scalar."""
        return Traced(self.read(array).scalar, origins=frozenset({DATA}))

    def require_writable(self, array: Ref) -> None:
        """At run time, as the path may never be taken."""
        message = "assignment destination is read-only"
        readonly = [index for index, alternative in enumerate(array.alternatives) if alternative.view.readonly]
        if array.selector is None or len(readonly) == len(array.alternatives):
            if readonly:
                raise self.failed("ValueError", message)
            return
        for index in readonly:
            check(array.selector != index, "ValueError", message)

    def note_write(self, cells: set[int]) -> None:
        """Something is written in these cells."""
        self.writes += 1
        for name, value in self.state.frames.get(0, {}).items():
            arrays = (each for each in inside(value) if isinstance(each, Ref))
            for position, array in enumerate(arrays):
                if any(alternative.cell in cells for alternative in array.alternatives):
                    self.reached_by_writes.add((name, position))

    def write(self, array: Ref, new: Expr) -> None:
        """Replace the elements of an array; `new` has its shape and dtype."""
        self.note_write({alternative.cell for alternative in array.alternatives})
        for alternative in array.alternatives:
            self.require_free(alternative.cell)
        for index, alternative in enumerate(array.alternatives):
            old = self.state.store[alternative.cell]
            if array.selector is None:
                self.state.store[alternative.cell] = views.put(alternative.view, old, new)
                continue
            if alternative.view.readonly:
                continue  # it has been checked that it is not this one
            # An scf.if and not a select of tensors: it is done in place.
            taken, kept = Block(), Block()
            with building(taken), known.scope():
                insert(YieldOp(views.put(alternative.view, old, new).value))
            with building(kept):
                insert(YieldOp(old.value))
            op = insert(IfOp((array.selector == index).value, [old.type], [taken], [kept]))
            self.state.store[alternative.cell] = Expr(op.results[0])

    def assign_array(self, array: Ref, value: Any, in_place: np.ufunc | None = None) -> None:
        """`array[...] = value`; with `in_place`, as the result of that ufunc with `out=array`."""
        self.write(array, assignable(value, array.shape, array.dtype, in_place))

    # Between the interpreter's values and those of numpy_calls.

    def operand(self, value: Value) -> Any:
        """A value as the NumPy functions take it: Traced contents, Python objects, tuples and lists of them."""
        value = self.use(value)
        match value:
            case Static():
                if not purity.is_constant(value.value):
                    raise self.changing(value.value)
                return value.value
            case Traced() | Selected():
                return value
            case Ref():
                return self.read(value)
            case Tuple():
                return tuple(self.operand(item) for item in value.items)
            case Object():
                entry = self.state.heap[value.number]
                if entry.growth is not None:
                    return self.stacked(entry)
                entry = self.entry(value)
                items = [self.operand(item) for item in entry.items]
                if entry.kind is dict:
                    return dict(zip(entry.keys, items, strict=True))
                if entry.kind is list:
                    return items
        raise self.refusal(f"{self.described(value)} cannot be an operand here")

    def described(self, value: Value) -> str:
        """What a value is, for a message: of an object, its class too."""
        if isinstance(value, Object) and (kind := self.kind_of_object(value)) not in (list, dict):
            return f"an object of class {kind.__name__}"
        return kind_of(value)

    def changing(self, value: Any) -> UnsupportedSyntaxError:
        """The refusal of an object of which it is not known whether it is still the same at the next call."""
        kind = type(value).__name__
        if isinstance(value, Iterator):
            return self.refusal(f"an iterator ({kind}) is used up by the first call", "make a list of it outside")
        hint = "take numbers, arrays, lists, dicts and tuples out of it first, or read its attributes"
        return self.refusal(f"what an object of class {kind} holds may be changed between calls", hint, DEVIATIONS)

    def result(self, value: Any, strides: tuple[int, ...] | None = None) -> Value:
        """What a NumPy function gave, as a value: arrays are fresh."""
        if isinstance(value, Traced):
            return self.new_array(value.contents, strides) if value.is_array else value
        if isinstance(value, Selected):
            return value
        if isinstance(value, tuple):
            kind = type(value) if hasattr(type(value), "_fields") else tuple
            return Tuple(tuple(self.result(item) for item in value), kind)
        if isinstance(value, list):
            return self.new_list(self.result(item) for item in value)
        if isinstance(value, dict):
            return self.new_object(Entry(dict, tuple(value), tuple(self.result(item) for item in value.values())))
        if isinstance(value, np.ndarray):
            return self.result(of_array(value))
        return Static(value)

    # Branches.

    def seen_by(self, closure: Closure) -> Iterator[tuple[int, str]]:
        number: int | None = closure.frame
        names = scope_of(closure.node).free
        while number is not None:
            yield from ((number, name) for name in names)
            number = self.frames[number].parent

    def trimmed(self, state: State, exit: Exit, live: Names | None = None) -> State:
        """A state without what is dead after this exit; `live`: the names live after the block, for NEXT."""
        names: dict[int, Names | None] = {0: None}
        for frame in self.active:
            names[frame.number] = frame.live | frame.scope.captured
        if self.active:
            frame = self.frame
            names[frame.number] = self.live_after(frame, exit, live) | frame.scope.captured
        return trim(state, names, self.seen_by)

    @staticmethod
    def live_after(frame: Frame, exit: Exit, live: Names | None) -> Names:
        match exit:
            case Exit.RETURN:
                return frozenset({RESULT})
            case Exit.BREAK:
                return frame.loops[-1][0]
            case Exit.CONTINUE | Exit.EXHAUSTED:
                return frame.loops[-1][1]
        return frame.live if live is None else live

    def run_in(self, block: Block, state: State, body: Callable[[], Outcome]) -> Outcome:
        """Run `body` from `state`, its ops in `block`. What it says of itself is visible outside of the block."""
        self.state = state
        active, appended = len(self.active), self.appended
        self.appended = Appended()
        try:
            with known.scope():
                with building(block):
                    outcome = body()
                return replace(outcome, appended=self.appended.outside(block))
        except Bottom:
            del self.active[active:]
            return Outcome({})
        except BaseException:
            discard(block)
            raise
        finally:
            self.appended = appended

    def branch(
        self,
        condition: Traced | Expr,
        then: Callable[[], Outcome],
        otherwise: Callable[[], Outcome],
        live: Names | None = None,
        trimmed: bool = True,
    ) -> Outcome:
        """`if condition: then() else: otherwise()`, both from the current state."""
        start = self.state
        left, right = Block(), Block()
        a = self.run_in(left, start.fork(), then)
        try:
            b = self.run_in(right, start.fork(), otherwise)
        except BaseException:
            discard(left)
            raise
        sides = [side.appended for side in (a, b) if side.states] or [a.appended]
        self.appended = self.appended.then(sides[0].either(sides[-1]))
        expr = condition.expr if isinstance(condition, Traced) else condition
        origins = condition.origins if isinstance(condition, Traced) else frozenset()
        return self.join(expr, origins, (left, a), (right, b), live, trimmed)

    def join(
        self,
        condition: Expr,
        origins: frozenset,
        left: tuple[Block, Outcome],
        right: tuple[Block, Outcome],
        live: Names | None,
        trimmed: bool,
    ) -> Outcome:
        columns = Columns(left[0], right[0])
        naming = Naming(self.fresh) if self.chosen is None else PlaceNaming(self.fresh, self.through_ifs)
        merged: dict[Exit, State] = {}
        merges: dict[Exit, Merge] = {}
        for exit in Exit:
            sides = [outcome.states.get(exit) for _, outcome in (left, right)]
            if sides == [None, None]:
                continue
            if trimmed:
                sides = [None if side is None else self.trimmed(side, exit, live) for side in sides]
            merges[exit] = Merge(
                sides[0], sides[1], columns, naming, origins, location=self.location, fill=self.filled_on_side
            )
            merged[exit] = merges[exit].run()
        code: Expr | None = None
        if len(merged) > 1:
            code = columns.request("code", types.I64, left[1].operand(), right[1].operand())
        rename = emit_if(condition, columns)
        states = {exit: state.renamed(rename) for exit, state in merged.items()}
        if self.chosen is not None:
            for exit, state in states.items():
                self.note_chosen(self.chosen, merges[exit], state)
        if isinstance(naming, PlaceNaming):
            self.has_swapped = self.has_swapped or naming.has_moved
        return Outcome(states, None if code is None else Expr(rename(code.value)))

    @staticmethod
    def note_chosen(chosen: Chosen, merge: Merge, state: State) -> None:
        """Note which values of a state the branches have chosen."""
        made = dict(leaves_of(state))
        for leaf in leaves_between(merge):
            value = made.get(leaf.place)
            if value is not None and value is not leaf.before and value is not leaf.after:
                chosen[id(value)] = value, leaf.before, leaf.after

    def relabelled(self, outcome: Outcome, labels: dict[Exit, Exit], live: Names | None = None) -> Outcome:
        """The outcome with some exits made others; two that become one are merged. live: what is live after NEXT."""
        states = {exit: self.trimmed(state, exit, live) for exit, state in outcome.states.items()}
        outcome = Outcome(states, outcome.code)
        for exit, target in labels.items():
            if exit not in outcome.states or exit == target:
                continue
            rest = {other: state for other, state in outcome.states.items() if other != exit}
            own = outcome.states[exit]
            if not rest:
                return Outcome({target: own})
            code = outcome.code
            assert code is not None
            moved, left = Outcome({target: own}), Outcome(rest, code if len(rest) > 1 else None)
            outcome = self.branch(code == int(exit), lambda o=moved: o, lambda o=left: o, trimmed=False)
        return outcome

    def proceed(self, outcome: Outcome) -> None:
        """Go on with what follows, which is reached by NEXT only."""
        if Exit.NEXT not in outcome.states:
            raise Bottom
        self.state = outcome.states[Exit.NEXT]

    def value_outcome(self, evaluate: Callable[[], Value]) -> Outcome:
        self.push(evaluate())
        return Outcome({Exit.NEXT: self.state})

    def choose(self, condition: Traced, then: Callable[[], Value], otherwise: Callable[[], Value]) -> Value:
        """The value of `then() if condition else otherwise()`."""
        self.proceed(self.branch(condition, lambda: self.value_outcome(then), lambda: self.value_outcome(otherwise)))
        return self.pop()

    # Names.

    def bind(self, name: str, value: Value) -> None:
        self.state.frames[self.frame_of(name).number][name] = value

    def unbind(self, name: str) -> None:
        self.lookup(name)
        del self.state.frames[self.frame_of(name).number][name]

    def frame_of(self, name: str) -> Frame:
        """The frame in which an assignment to a name binds it."""
        frame = self.frame
        if name in frame.scope.globals:
            raise self.refusal(f"{name!r} is a global, and compiled code cannot rebind it", "return the new value")
        if name in frame.scope.local:
            return frame
        number = frame.parent
        while number is not None:
            if name in self.frames[number].scope.local:
                return self.frames[number]
            number = self.frames[number].parent
        raise self.refusal(
            f"{name!r} belongs to a function that is not compiled", "pass it in and return the new value"
        )

    def lookup(self, name: str) -> Value:
        number: int | None = self.frame.number
        while number is not None:
            frame = self.frames[number]
            if name in frame.scope.local:
                return self.bound(frame, name)
            number = frame.parent
        return self.global_value(name)

    def bound(self, frame: Frame, name: str) -> Value:
        names = self.state.frames.get(frame.number, {})
        value = names.get(name)
        if value is None:
            raise self.failed(
                "UnboundLocalError", f"cannot access local variable '{name}' where it is not associated with a value"
            )
        if isinstance(value, Maybe):
            message = f"cannot access local variable '{name}' where it is not associated with a value"
            check(value.flag, "UnboundLocalError", message)
            names[name] = value = value.value
        return value

    @abstractmethod
    def global_value(self, name: str) -> Value: ...

    def static(self, value: Value, what: str) -> Any:
        """The Python object that a value is at compile time. Raises NeedStatic where it is not one."""
        return require_static(self.operand(value), what)

    @property
    def current_block(self) -> Block:
        return insertion_point().block
