"""The objects that a function captures from globals and closure cells: arrays become hidden arguments, others guards.

Reads: functions and their namespaces. Writes: nothing. Leaves: Captures (how to fetch an array at each call) and Guards
(what must still hold for the code to be right).
"""

from __future__ import annotations

import builtins
import dataclasses
import enum
from collections.abc import Hashable
from dataclasses import dataclass, field, replace
from types import CodeType, FunctionType, ModuleType
from typing import Any

from mlirad import tree
from mlirad.signature import ArrayLeaf, is_plain_array, is_same_static, layout_of

WORDS = "words"
"""The step to the words of a random generator."""
UNREACHABLE = (NameError, AttributeError, LookupError, TypeError, ValueError)


@dataclass(frozen=True, eq=False)
class Path:
    """Where an object is found: a name as `function` sees it ("": the function itself), then attributes and items.

    steps: ("attribute", name), ("item", key), ("default", parameter), or ("words", 0) of a random generator. `fetch()`
    gives the current object; it raises one of UNREACHABLE if there is none any more.
    """

    function: Any  # a Python function; with the name "", any object
    name: str
    steps: tuple[tuple[str, Hashable], ...] = ()

    # By the identity of the object: two that are equal may hold different things.

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Path) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> Hashable:
        return id(self.function), self.name, self.steps

    def fetch(self) -> Any:
        value: Any = lookup(self.function, self.name) if self.name else self.function
        for kind, key in self.steps:
            if kind == "default":
                value = default_of(value, key)
            elif kind == WORDS:
                value = tree.words_of(value)
            else:
                value = getattr(value, str(key)) if kind == "attribute" else value[key]
        return value

    def then(self, kind: str, key: Hashable) -> Path:
        return Path(self.function, self.name, (*self.steps, (kind, key)))

    def __str__(self) -> str:
        spelled = {"attribute": ".{}", "item": "[{!r}]", "default": "({}=...)", WORDS: ""}
        root = self.name or getattr(self.function, "__name__", type(self.function).__name__)
        return root + "".join(spelled[kind].format(key) for kind, key in self.steps)


@dataclass(frozen=True)
class Capture:
    """An array that is fetched at each call, and passed as a hidden argument.

    name: its unique name in frame 0: two modules, or two closures, may have different arrays of the same name.
    """

    path: Path
    leaf: ArrayLeaf
    name: str

    def holds(self) -> bool:
        """Whether the array still has the dtype, shape and layout that the code was built for."""
        try:
            value = self.path.fetch()
        except UNREACHABLE:
            return False
        return is_plain_array(value) and self.leaf == ArrayLeaf(
            value.dtype, value.shape, layout_of(value), not value.flags.writeable
        )


class Presence(enum.Enum):
    """What a guard may check instead of an object's value."""

    HERE = "here"
    NOT_HERE = "not here"


@dataclass(frozen=True, eq=False)
class Guard:
    """The code is right as long as the object found at `path` is the one it was compiled for.

    A number or str is compared by type and value, a container by its class (`value`) and keys, anything else by
    identity; or the guard only checks whether the object exists (Presence). With `code`, the function at the path must
    still have that code: editors replace the code of functions.
    """

    path: Path
    value: Any
    keys: Hashable | None = None
    code: CodeType | None = None

    @property
    def is_of_module(self) -> bool:
        """Whether it checks an object in the namespace of a module that the compiler knows, which hardly changes."""
        module, steps = self.path.function, self.path.steps
        if self.path.name or len(steps) != 1 or not is_settled(module) or isinstance(self.value, Presence):
            return False
        return vars(module).get(steps[0][1], Presence.NOT_HERE) is self.value

    @property
    def is_of_global(self) -> bool:
        """Whether it checks the identity of an object that a function's module has under a name."""
        path = self.path
        if path.steps or not path.name or self.keys is not None or path.name in path.function.__code__.co_freevars:
            return False
        return isinstance(self.value, ModuleType | FunctionType) and path.name in path.function.__globals__

    def holds(self) -> bool:
        try:
            value = self.path.fetch()
        except UNREACHABLE:
            return self.value is Presence.NOT_HERE
        if self.keys is not None:
            keys = keys_of(value)
            is_same = is_same_static(keys, self.keys) if isinstance(keys, tuple) else keys == self.keys
            return type(value) is self.value and is_same
        if self.code is not None:
            return value.__code__ is self.code
        return self.value is Presence.HERE or is_same_static(value, self.value)


CAPTURE = "$capture "
"""The prefix of the names of captured arrays in frame 0."""


@dataclass
class CaptureFindings:
    """The captures and guards of a build, in the order in which they were met.

    used, unkeyed: as in interface.Reliance. changed: the numbers of the changed containers in the arguments, with their
    initial keys. classes: the classes that class statements make. captured_by_rules: the captures that a function needs
    only for its derivative rule, by the function's id. differentiates: whether the program asks for derivatives.
    foreseen: the captures that the text names, and that no attempt has met yet.
    """

    captures: dict[Path, Capture] = field(default_factory=dict)
    guards: dict[Path, Guard] = field(default_factory=dict)
    used: dict[Hashable, None] = field(default_factory=dict)
    unkeyed: list[str] = field(default_factory=list)
    classes: dict[Hashable, type] = field(default_factory=dict)
    roots: dict[Hashable, Path] = field(default_factory=dict)
    captured_by_rules: dict[int, dict[str, None]] = field(default_factory=dict)
    changed: dict[int, tuple[Hashable, ...]] = field(default_factory=dict)
    differentiates: bool = False
    foreseen: set[Path] = field(default_factory=set)

    def again(self) -> CaptureFindings:
        """The start of a new attempt, so that every attempt finds more."""
        return CaptureFindings(
            captures=self.captures,
            roots=self.roots,
            changed=self.changed,
            captured_by_rules=self.captured_by_rules,
            differentiates=self.differentiates,
            foreseen=self.foreseen,
        )

    def without_foreseen(self) -> CaptureFindings:
        """The start of a new attempt without the captures that were foreseen and never met."""
        met = [capture for path, capture in self.captures.items() if path not in self.foreseen]
        again = replace(self.again(), captures={}, foreseen=set())
        for capture in met:
            again.capture(capture.path, capture.leaf)
        return again

    def capture(self, path: Path, leaf: ArrayLeaf, *, is_foreseen: bool = False) -> None:
        """Add an array that is not known yet."""
        if is_foreseen:
            self.foreseen.add(path)
        namesakes = sum(str(other) == str(path) for other in self.captures)
        number = f" ({namesakes + 1})" if namesakes else ""
        self.captures[path] = Capture(path, leaf, f"{CAPTURE}{path}{number}")

    def root(self, function: FunctionType, name: str) -> Path:
        """The path of a free name; functions that share a module or a closure cell have the same path for it."""
        free = function.__code__.co_freevars
        if name in free:
            assert function.__closure__ is not None
            variable: Hashable = id(function.__closure__[free.index(name)])
        else:
            variable = id(function.__globals__)
        return self.roots.setdefault((variable, name), Path(function, name))


def lookup(function: FunctionType, name: str) -> Any:
    """A free name of a function: in its closure cells, its globals, or the builtins. Raises NameError."""
    free = function.__code__.co_freevars
    if name in free:
        cells = function.__closure__
        assert cells is not None
        try:
            return cells[free.index(name)].cell_contents
        except ValueError:
            raise NameError(f"cannot access free variable {name!r}: it is not bound yet") from None
    if name in function.__globals__:
        return function.__globals__[name]
    if hasattr(builtins, name):
        return getattr(builtins, name)
    raise NameError(f"name {name!r} is not defined")


def default_of(function: FunctionType, key: Hashable) -> Any:
    """A default of a parameter, by name."""
    code = function.__code__
    keywords = function.__kwdefaults__ or {}
    if key in keywords:
        return keywords[str(key)]
    names = code.co_varnames[: code.co_argcount]
    defaults = function.__defaults__ or ()
    return defaults[names.index(str(key)) - (len(names) - len(defaults))]


def keys_of(value: Any) -> Hashable:
    """The keys of a container's items: for a set, its elements."""
    if isinstance(value, dict):
        return tuple(value)
    if isinstance(value, set):
        return frozenset((type(item), item) for item in value)
    if dataclasses.is_dataclass(value):
        return tuple(each.name for each in dataclasses.fields(value))
    if tree.is_generator(type(value)):
        return tree.GENERATOR_WORDS
    if tree.sparse_names(type(value)) is not None:
        return type(value).__name__, tuple(value.shape)
    return len(value)


# Modules that the compiler knows. Tests and tools replace functions in them, but rarely.
_SETTLED = ("numpy", "math", "builtins", "mlirad")


def is_settled(value: Any) -> bool:
    """Whether a value is a module that the compiler knows, or one in it."""
    return isinstance(value, ModuleType) and is_in_settled(value.__name__)


def is_in_settled(module: str | None) -> bool:
    """Whether a module of that name is settled."""
    return (module or "").split(".")[0] in _SETTLED
