"""The values of Python expressions while a function is compiled.

Reads: nothing of the program. Writes: nothing. Leaves: immutable values. Everything that can change (contents of
arrays, items of lists) is in the state, under the cell's or the object's number.
"""

from __future__ import annotations

import ast
import dataclasses
import operator
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from mlirad.dialect.core.expr import Expr
from mlirad.frontend.values.poison import Poison
from mlirad.frontend.values.sizes import Pattern, Shape
from mlirad.frontend.values.traced import Traced
from mlirad.frontend.values.views.view import View
from mlirad.requests.request import Request
from mlirad.signature import NUMBERS

if TYPE_CHECKING:
    from mlirad.contract.captures import Path
    from mlirad.frontend.program.source import Source


@dataclass(frozen=True, eq=False)
class Static:
    """An object known at compile time: a number, str, None, dtype, slice, range, function, module, class.

    path: where the function found it outside, if its attributes need guards.
    """

    value: Any
    path: Path | None = None


@dataclass(frozen=True, eq=False)
class Alternative:
    """One array that a reference may refer to: a view of a cell."""

    cell: int
    view: View


@dataclass(frozen=True, eq=False)
class Snapshot:
    """The elements of an array that may be one of several, as one value: a view of `contents`, valid while the cells of
    its alternatives hold `cells`."""

    view: View
    contents: Expr
    cells: tuple[Expr, ...]


@dataclass(frozen=True, eq=False)
class Ref:
    """An array: one of `alternatives`, which share a shape and dtype; the i64 `selector` chooses if there are several.

    No two alternatives are views of one cell with the same steps: such views are merged, and their starts selected.
    snapshot: the elements without the selection, if known.
    """

    alternatives: tuple[Alternative, ...]
    selector: Expr | None = None
    snapshot: Snapshot | None = None

    @property
    def shape(self) -> Shape:
        return self.alternatives[0].view.shape

    def seen_as(self, views: Iterable[View], of_snapshot: Callable[[View], View | None]) -> Ref:
        """The array with other views of its cells; of_snapshot: makes the same view of the snapshot."""
        alternatives = tuple(Alternative(each.cell, view) for each, view in zip(self.alternatives, views, strict=True))
        snapshot = self.snapshot
        if snapshot is not None:
            view = of_snapshot(snapshot.view)
            snapshot = None if view is None else dataclasses.replace(snapshot, view=view)
        return Ref(alternatives, self.selector, snapshot)

    def current(self, store: Mapping[int, Expr]) -> Snapshot | None:
        """The snapshot, if it is still the contents of the array."""
        if self.snapshot is None:
            return None
        pairs = zip(self.alternatives, self.snapshot.cells, strict=True)
        return self.snapshot if all(store[each.cell].value is cell.value for each, cell in pairs) else None

    @property
    def pattern(self) -> Pattern:
        return self.alternatives[0].view.pattern

    @property
    def dtype(self) -> np.dtype:
        return self.alternatives[0].view.dtype

    @property
    def ndim(self) -> int:
        return self.alternatives[0].view.ndim


@dataclass(frozen=True, eq=False)
class Tuple:
    """A tuple, or a NamedTuple of class `kind`."""

    items: tuple[Value, ...]
    kind: type = tuple


@dataclass(frozen=True, eq=False)
class Object:
    """A list, dict or dataclass: its items are in the heap."""

    number: int


@dataclass(frozen=True, eq=False)
class Closure:
    """A function or lambda in the code being compiled. Its free names are looked up in `frame` when it is called."""

    node: ast.FunctionDef | ast.Lambda
    frame: int
    source: Source
    defaults: tuple[Value, ...]
    keyword_defaults: tuple[tuple[str, Value], ...]

    @property
    def name(self) -> str:
        return getattr(self.node, "name", "<lambda>")


@dataclass(frozen=True, eq=False)
class Bound:
    """A method, or a function of a dataclass, with the object that it is called on."""

    receiver: Value
    name: str
    function: Any = None  # None: a method of the receiver's kind; otherwise Python calls it with the receiver first


@dataclass(frozen=True, eq=False)
class Lazy:
    """range, enumerate, zip, map or reversed of values, or a view of a dict: evaluated element by element.

    used: for an iterator, a list with one item that says whether it is used up.
    """

    kind: type
    parts: tuple[Value, ...]
    used: Object | None = None


@dataclass(frozen=True, eq=False)
class GeneratorKind:
    """The kind of the `Lazy` that a call of a function with `yield` gives: the function, where its free names are, and
    the names of its arguments. The parts are a Closure, if it is one, and the arguments."""

    node: ast.FunctionDef
    source: Source
    parent: int | None
    names: tuple[str, ...]
    __name__ = "generator"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, GeneratorKind) and (self.node, self.parent) == (other.node, other.parent)

    def __hash__(self) -> int:
        return hash((self.node, self.parent))


@dataclass(frozen=True, eq=False)
class Partial:
    """`functools.partial`: a function and its first arguments."""

    function: Value
    args: tuple[Value, ...]
    keywords: tuple[tuple[str, Value], ...]


@dataclass(frozen=True, eq=False)
class Transformed:
    """A transform of a function (`request`, whose own function is ignored)."""

    function: Value
    request: Request


@dataclass(frozen=True, eq=False)
class PullbackValue:
    """The pullback that `mlirad.vjp` returns inside a function: gives cotangents of the primals, from the saved values
    of the forward sweep."""

    residuals: Expr
    request: Any


@dataclass(frozen=True, eq=False)
class Buffer:
    """The array that holds one leaf of each element of a list that grows (grown_lists.py). It is a value: nothing else
    refers to it. Its first axis is the list's capacity."""

    contents: Expr


@dataclass(frozen=True, eq=False)
class Flagged:
    """A value that is there only if the i1 `flag` is true."""

    flag: Expr
    value: Value


@dataclass(frozen=True, eq=False)
class Maybe(Flagged):
    """Bound only if the flag is true."""


@dataclass(frozen=True, eq=False)
class OrNone(Flagged):
    """None unless the flag is true. why: what is raised where a value is needed that is known not to be None."""

    why: Poison


Value = (
    Static
    | Traced
    | Ref
    | Tuple
    | Object
    | Closure
    | Bound
    | Lazy
    | Partial
    | Transformed
    | PullbackValue
    | Buffer
    | Maybe
    | OrNone
    | Poison
)


@dataclass(frozen=True)
class Owner:
    """The owner of a list, dict or dataclass that the program has not created.

    name: for messages. of: the object that this is a copy of, and which the program may change (None: it is no copy).
    is_shared: the original is reachable in another way too, where the change would be missed. container: its number
    among the containers in the caller's arguments, which receive the changes.
    """

    name: str
    of: int | None = None
    is_shared: bool = False
    container: int | None = None


@dataclass(frozen=True)
class Growth:
    """Marks a list that is kept in arrays. element: what its elements have in common (list_elements.py). number:
    identifies the arrays; after a change of capacity it is another. loop: the loop that fills it (None: its lengths
    differ on the branches of an if); may_unroll: whether the loop may be unrolled, to make it a list of values."""

    element: Any
    number: int
    loop: Hashable
    may_unroll: bool


@dataclass(frozen=True, eq=False)
class Entry:
    """The contents of a list (with keys 0, 1, ...), dict or dataclass. `borrowed`: the program has not created it.

    `poison`: why its items cannot be known (the length depends on data). The only key of a list that grows is its
    Growth; the items are its length and a Buffer for each leaf of its elements.
    """

    kind: type
    keys: tuple[Hashable, ...]
    items: tuple[Value, ...]
    borrowed: Owner | None = None
    poison: Poison | None = None

    @property
    def growth(self) -> Growth | None:
        first = self.keys[0] if self.keys else None
        return first if isinstance(first, Growth) else None

    def mapped(self, change: Callable[[Value], Value]) -> Entry:
        """The entry with each item changed; the entry itself if no item changes."""
        items = tuple([change(item) for item in self.items])
        return self if all(map(operator.is_, items, self.items)) else dataclasses.replace(self, items=items)

    @staticmethod
    def of_list(items: tuple[Value, ...]) -> Entry:
        return Entry(list, tuple(range(len(items))), items)


def bare(value: Value) -> Value:
    """The value itself, if it may be unbound or None."""
    while isinstance(value, Flagged):
        value = value.value
    return value


def is_none(value: Value) -> bool:
    return isinstance(value, Static) and value.value is None


def is_number(value: Value) -> bool:
    """Whether a value is a number or bool, static or traced (a 0-d array is not)."""
    if isinstance(value, Static):
        return isinstance(value.value, NUMBERS)
    return isinstance(value, Traced)


def kind_of(value: Value) -> str:
    """A description of a value, for messages."""
    match value:
        case Ref():
            return f"an array {value.shape} {value.dtype}"
        case Traced():
            python, numpy = f"a Python {value.kind.__name__}", f"a NumPy {value.dtype} number"
            return f"{python} or {numpy}" if value.either else python if value.weak else numpy
        case Static():
            if isinstance(value.value, str) or value.value is None:
                return repr(value.value)
            if isinstance(value.value, frozenset):
                return "a set"
            return f"the {type(value.value).__name__} {value.value!r}"
        case Tuple():
            return f"a {value.kind.__name__} of {len(value.items)}"
        case Object():
            return "a list or dict"
        case Closure() | Bound() | Partial() | Transformed():
            return "a function"
        case Lazy() if value.kind is iter:
            return "a generator"
        case Lazy():
            return f"{'an' if value.kind is enumerate else 'a'} {value.kind.__name__}"
        case Flagged():
            return kind_of(value.value)
    return "something else"
