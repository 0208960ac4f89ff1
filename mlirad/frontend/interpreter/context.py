"""The state that every part of the interpreter receives: the program's state, the current block, the frames and all
findings.

Reads: values. Writes: ops at the current insertion point. Leaves: the state after them.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import count
from typing import Any, Protocol

from xdsl.dialects import func
from xdsl.ir import Block, SSAValue

from mlirad.contract.captures import CaptureFindings
from mlirad.dialect.core import types
from mlirad.dialect.core.expr import Expr, constant, insertion_point, swap_location
from mlirad.dialect.core.op import NdOp
from mlirad.dialect.ops.check import check
from mlirad.errors import CompileError, UnsupportedSyntaxError
from mlirad.frontend.join.append_counts import AppendCounts
from mlirad.frontend.join.fillings import Fillings
from mlirad.frontend.join.frames import Frame, Why
from mlirad.frontend.join.outcomes import Chosen, Exit, Outcome
from mlirad.frontend.join.recursions import Calling
from mlirad.frontend.join.repeated_calls import RepeatedCalls
from mlirad.frontend.join.selectors import contents_of
from mlirad.frontend.join.steering import Bottom
from mlirad.frontend.program.scope import scope_of
from mlirad.frontend.values import sizes
from mlirad.frontend.values.poison import Poison, PoisonUsed, Unresolved
from mlirad.frontend.values.state import State
from mlirad.frontend.values.traced import DATA, Traced
from mlirad.frontend.values.values import Alternative, Closure, Entry, Object, OrNone, Ref, Value
from mlirad.frontend.values.views.view import View
from mlirad.location import SourceLocation

Arguments = Sequence[Value]
Keywords = dict[str, Value]


class Live(Protocol):
    """Runs one function in Python instead of the interpreter, while its computation is still written as ops."""

    @property
    def function(self) -> object: ...

    def start(self, arguments: Sequence[SSAValue], keys: Sequence[int]) -> None:
        """The arguments of the outermost block are the leaves with these numbers."""
        ...

    def bind(self, arguments: Sequence[SSAValue], operands: Sequence[SSAValue]) -> None:
        """The arguments of a block are these operands in this run."""
        ...

    def run(self, context: Context, args: Arguments, kwargs: Keywords) -> Value | None:
        """The function's value; None if its arguments have no single value, like those of a lane."""
        ...

    def held_by(self, value: object) -> set[str]:
        """The names in frame 0 of the values that a Python object, captured by a function, holds."""
        ...


class _At:
    """The context manager of `Context.at`: a class, for speed, since every expression is evaluated in one."""

    __slots__ = ("before", "context", "node", "saved")

    def __init__(self, context: Context, node: ast.AST):
        self.context = context
        self.node = node

    def __enter__(self) -> None:
        context = self.context
        self.before = context.location
        source = context.active[-1].source
        if self.before is None or not source.is_hidden:
            context.location = source.location(self.node)
        self.saved = swap_location(context.location)

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        swap_location(self.saved)
        if error is not None:
            self.place(error)
        self.context.location = self.before

    def place(self, error: BaseException) -> None:
        if isinstance(error, CompileError):
            error.at(self.context.location)
            error.block = error.block or self.context.current_block
        elif isinstance(error, Unresolved):
            error.place(self.context.location)


class Context:
    """The interpreter's state and the block it writes to. `state` is the only way to reach the program's state: nothing
    else may keep a part of it across an evaluation, because a join replaces it."""

    def __init__(
        self,
        findings: CaptureFindings,
        unrolled: dict[Hashable, Why],
        boundscheck: bool,
        reserved: frozenset[str],
        repeated: RepeatedCalls | None = None,
    ):
        self.state = State()
        self._numbers = count(1)  # not shared, since some appear in the IR: the same program gives the same IR
        self.findings = findings
        self.unrolled = unrolled
        self.peeled: set[Hashable] = set()  # loops that are known to need only their first iteration apart (peeling.py)
        self.decided_by_run: set[Hashable] = set()  # whiles that cannot be unrolled for items of lists (loops.py)
        self.headers: dict[Hashable, Any] = {}  # the headers of loops when they were last met (loops.py)
        self.marks: dict[Hashable, dict[Hashable, Any]] = {}  # the origins of loop-carried values (origins.py)
        self.stepwise: set[Hashable] = set()  # loops with numbers that are widened one by one (fixpoint.py)
        self.surprising: set[Hashable] = set()  # loops whose headers their texts do not foresee (foreseen_writes.py)
        self.crowded: set[Hashable] = set()  # loops in which names have shared three arrays (collapse.py)
        self.covered: set[int] = set()  # lists with room for what is appended here (filled_lists.py)
        self.doubling: set[int] = set()  # the lists among them with arrays that are enlarged when full
        self.appended = AppendCounts()
        self.chosen: Chosen | None = None  # set while the interpreter finds out what a loop carries
        self.through_ifs = False  # whether ifs pair arrays by place
        self.has_swapped = False  # whether pairing by place would have made a difference
        self.writes = 0  # the number of writes so far
        # The arrays that names of frame 0 hold, by their position there, and that writes may have reached.
        self.reached_by_writes: set[tuple[str, int]] = set()
        self.changes_copies = False  # whether a differentiated function changes a list, dict or dataclass argument
        self.impure: set[Hashable] = set()  # while loops with side effects in their conditions
        self.captures_used: set[str] = set()  # their names in frame 0
        # Replacements for what outside objects hold: (the object, a name in frame 0), by the object's id.
        self.stand_ins: dict[int, tuple[Any, str]] = {}
        self.opened: list[Any] = []  # the outside containers whose items are being read, from the outermost on
        self.boundscheck = boundscheck
        self.frames: dict[int, Frame] = {}
        self.active: list[Frame] = []
        self.location: SourceLocation | None = None
        self.returned: dict[str, SourceLocation] = {}  # the last return of each function, by its name
        self.fillings = Fillings(done=True)  # the lists that the loop under way keeps in arrays (filled_lists.py)
        self.functions: list[func.FuncOp] = []  # those of the module
        self.live: Live | None = None
        self.ops_of_target: Mapping[Any, type[NdOp]] = {}  # by the functions that they compute
        self.reserved = reserved  # names that no function may have
        self.handled: list[Callable[[], Exception]] = []  # for each running handler: raises again what it has caught
        self.calling = Calling(repeated=repeated or RepeatedCalls(is_allowed=False))
        # The known facts about shared memory, and whether they matter: see separate_copies.py.
        self.memory: dict[str, frozenset[Hashable]] = {}
        self.writes_copies = False

    # Places in the source, and errors there.

    @property
    def frame(self) -> Frame:
        return self.active[-1]

    @property
    def current_block(self) -> Block:
        return insertion_point().block

    def at(self, node: ast.AST) -> _At:
        """Ops and errors created inside come from `node`."""
        return _At(self, node)

    def refusal(self, message: str, hint: str | None = None, page: str | None = None) -> UnsupportedSyntaxError:
        return UnsupportedSyntaxError(message, self.location, hint, page)

    def failed(self, error: str, message: str) -> Bottom:
        """Emit an error that is certain at run time. The code after it is dead, so the result must be raised."""
        check(constant(False, types.I1), error, message.replace("{", "{{").replace("}", "}}"))
        return Bottom()

    def use(self, value: Value) -> Value:
        """The value; required before it is looked at."""
        if isinstance(value, Poison | OrNone):
            raise PoisonUsed(value.why if isinstance(value, OrNone) else value)
        return value

    def present(self, value: Value, message: str, error: str = "TypeError") -> Value:
        """The value, where Python raises if it is None."""
        if isinstance(value, OrNone):
            check(value.flag, error, message)
            value = value.value
        return self.use(value)

    # Operands under evaluation: evaluating the next one may change what they refer to, so they are in the state.

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
        """Evaluate one after the other; evaluating later values may affect earlier ones."""
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

    def as_is(self, value: Object) -> Entry:
        """The entry of any object."""
        return self.state.heap[value.number]

    def grown(self, value: Value) -> Entry | None:
        """The entry of a list that grows; None for anything else."""
        entry = self.as_is(value) if isinstance(value, Object) else None
        return entry if entry is not None and entry.growth is not None else None

    def new_array(
        self, contents: Expr, strides: tuple[int, ...] | None = None, shape: sizes.Shape | None = None
    ) -> Ref:
        """A new array with these contents (a tensor, even for rank 0). `shape`: its shape, if known more precisely."""
        number = self.fresh()
        self.state.store[number] = contents
        shape = sizes.shape_of(contents) if shape is None else shape
        return Ref((Alternative(number, View.of(shape, types.to_dtype(contents.element), strides)),))

    def read(self, array: Ref) -> Traced:
        """The present contents of an array."""
        result = contents_of(array, self.state.store)
        return Traced(result, zero_d=not array.ndim, origins=frozenset({DATA}))

    def read_scalar(self, array: Ref) -> Traced:
        """The element of an array of rank 0, as a NumPy scalar."""
        return Traced(self.read(array).scalar, origins=frozenset({DATA}))

    # Continuing.

    def seen_by(self, closure: Closure) -> Iterator[tuple[int, str]]:
        number: int | None = closure.frame
        names = scope_of(closure.node).free
        while number is not None:
            yield from ((number, name) for name in names)
            number = self.frames[number].parent

    def proceed(self, outcome: Outcome) -> None:
        """Continue with the following code, which is reached only by NEXT."""
        if Exit.NEXT not in outcome.states:
            raise Bottom
        self.state = outcome.states[Exit.NEXT]
