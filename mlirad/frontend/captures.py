"""What a function takes from its globals and closure cells: arrays are hidden arguments, the rest is guarded.

Reads: functions and their namespaces. Writes: nothing. Leaves: Captures (how to fetch an array at each call) and Guards
(what must still hold for the code to be right).
"""

from __future__ import annotations

import builtins
from collections.abc import Hashable
from dataclasses import dataclass, field
from types import FunctionType, ModuleType
from typing import Any

from mlirad.frontend.values import is_same_static
from mlirad.signature import ArrayLeaf


@dataclass(frozen=True)
class Path:
    """Where an object is found: a name as `function` sees it ("": the function itself), then attributes and items.

    steps: ("attribute", name), ("item", key) or ("default", parameter). `fetch()` gives what is there now; it
    raises NameError, AttributeError, LookupError or TypeError where there is none any more.
    """

    function: Any  # a Python function
    name: str
    steps: tuple[tuple[str, Hashable], ...] = ()

    def fetch(self) -> Any:
        value = lookup(self.function, self.name) if self.name else self.function
        for kind, key in self.steps:
            if kind == "default":
                value = default_of(value, key)
            else:
                value = getattr(value, str(key)) if kind == "attribute" else value[key]
        return value

    def then(self, kind: str, key: Hashable) -> Path:
        return Path(self.function, self.name, (*self.steps, (kind, key)))

    def __str__(self) -> str:
        return self.name + "".join(f".{key}" if kind == "attribute" else f"[{key!r}]" for kind, key in self.steps)


@dataclass(frozen=True)
class Capture:
    """An array that is fetched at each call, and passed as a hidden argument."""

    path: Path
    leaf: ArrayLeaf


@dataclass(frozen=True, eq=False)
class Guard:
    """The code is right as long as the object found at `path` is the one it was compiled for.

    A number or str is compared by type and value, a list or dict by its class and keys, anything else by identity.
    """

    path: Path
    value: Any
    keys: tuple[Hashable, ...] | None = None

    def holds(self) -> bool:
        try:
            value = self.path.fetch()
        except (NameError, AttributeError, LookupError, TypeError, ValueError):
            return False
        if self.keys is not None:
            return type(value) is self.value and keys_of(value) == self.keys
        return is_same_static(value, self.value)


@dataclass
class Found:
    """The captures and guards of a build, in the order in which they were met."""

    captures: dict[Path, Capture] = field(default_factory=dict)
    guards: dict[Path, Guard] = field(default_factory=dict)
    roots: dict[Hashable, Path] = field(default_factory=dict)

    def root(self, function: FunctionType, name: str) -> Path:
        """The path of a free name; functions that share a module or a closure cell have one path for it."""
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


def keys_of(value: Any) -> tuple[Hashable, ...]:
    return tuple(value) if isinstance(value, dict) else tuple(range(len(value)))


# Modules whose attributes nobody rebinds: what is reached through them needs no guard.
_SETTLED = ("numpy", "math", "builtins", "mlirad")


def is_settled(value: Any) -> bool:
    """Whether a module's attributes are taken as constant."""
    return isinstance(value, ModuleType) and value.__name__.split(".")[0] in _SETTLED
