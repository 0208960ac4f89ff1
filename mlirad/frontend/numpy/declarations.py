"""What is known of each function and method that is compiled: it is declared where it is implemented.

Reads: nothing. Writes: the registry, while the files that implement functions are imported. Leaves: the facts of a
function, a method or an attribute.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypedDict, TypeVar, Unpack

F = TypeVar("F", bound=Callable[..., Any])


Compiler = Callable[..., Any] | None


class Stated(TypedDict, total=False):
    """What is stated of a function beside what compiles it: see `Facts`."""

    view_of: int
    is_made: bool
    is_of_sizes: bool
    is_row_major: bool
    has_own_layout: bool
    positional: tuple[str, ...]


class Declared(Stated, total=False):
    """What is declared of a function: see `Facts`."""

    of_values: Compiler
    of_operands: Compiler
    of_view: Compiler
    of_itself: Compiler
    of_reduce: Compiler
    of_context: Compiler


@dataclass
class Facts:
    """What the compiler knows of one function, method or attribute."""

    of_values: Compiler = None
    """What compiles it, on Traced values and Python's objects."""
    of_operands: Compiler = None
    """What compiles a ufunc that no op spells, on numbers and Traced values."""
    of_view: Compiler = None
    """Which View its result is of the View that it is given; it gives None where NumPy makes a copy."""
    of_itself: Compiler = None
    """The same where it is called with copy=False or copy=None."""
    of_reduce: Compiler = None
    """What compiles the method `reduce` of a ufunc."""
    of_context: Compiler = None
    """What compiles it in the interpreter: `f(context, args, kwargs)`; it gives None for what it leaves to others."""
    view_of: int = 0
    """Which argument its result may be a view of."""
    is_made: bool = False
    """Whether compiled code makes its result though the arguments are known: an array of one number, or of a range."""
    is_of_sizes: bool = False
    """Whether NumPy runs it while a function is compiled, as it takes nothing but sizes."""
    is_row_major: bool = False
    """Whether its results lie row-major in memory, whatever it is given."""
    has_own_layout: bool = False
    """Whether its results may lie otherwise though all that it is given is row-major."""
    positional: tuple[str, ...] = ()
    """The names of the arguments that may be given by position, of a function that has no signature."""


_UNKNOWN = Facts()
_functions: dict[Any, Facts] = {}
_methods: dict[str, Facts] = {}
_attributes: dict[str, Facts] = {}


def of(function: Any) -> Facts:
    """What is known of a function: nothing, of most objects."""
    try:
        return _functions.get(function, _UNKNOWN)
    except TypeError:  # not hashable
        return _UNKNOWN


def of_method(name: str) -> Facts:
    return _methods.get(name, _UNKNOWN)


def of_attribute(name: str) -> Facts:
    return _attributes.get(name, _UNKNOWN)


def functions() -> Iterator[Any]:
    """The functions of values that are declared. What the interpreter alone compiles is none."""
    return (function for function, known in _functions.items() if known.of_values or known.of_operands or known.of_view)


def methods() -> dict[str, Facts]:
    return {name: known for name, known in _methods.items() if known.of_values or known.of_view}


def declare(
    *functions: Any, method: str | None = None, attribute: str | None = None, **facts: Unpack[Declared]
) -> None:
    """Enter facts of functions, of a method and of an attribute. Raises TypeError for one that is known already."""
    keys = [(_functions, function) for function in functions]
    keys += [(_methods, method)] if method else []
    keys += [(_attributes, attribute)] if attribute else []
    for table, key in keys:
        known = table.setdefault(key, Facts())
        for name, value in facts.items():
            if getattr(known, name) != getattr(_UNKNOWN, name):
                raise TypeError(f"{key!r} has a declaration of {name} already")
            setattr(known, name, value)


def compiles(
    *functions: Any, method: str | None = None, reduces: Sequence[Any] = (), **facts: Unpack[Stated]
) -> Callable[[F], F]:
    """Declare that the function below compiles these functions, that method of arrays, and `reduce` of those ufuncs."""

    def declared(made: F) -> F:
        declare(*functions, method=method, of_values=made, **facts)
        declare(*reduces, of_reduce=made)
        return made

    return declared


def views(
    *functions: Any, method: str | None = None, attribute: str | None = None, **facts: Unpack[Stated]
) -> Callable[[F], F]:
    """Declare that the function below tells which view these functions, that method, that attribute give."""

    def declared(made: F) -> F:
        declare(*functions, method=method, attribute=attribute, of_view=made, **facts)
        return made

    return declared


def interprets(*functions: Any) -> Callable[[F], F]:
    """Declare that the function below compiles calls of these functions in the interpreter."""

    def declared(made: F) -> F:
        declare(*functions, of_context=made)
        return made

    return declared


def operates(*ufuncs: Any) -> Callable[[F], F]:
    """Declare that the function below compiles these ufuncs, which no op spells, on operands."""

    def declared(made: F) -> F:
        declare(*ufuncs, of_operands=made)
        return made

    return declared
