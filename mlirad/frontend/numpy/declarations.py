"""The declared facts of each compiled function and method; the implementation declares them.

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
    """Stated facts of a function, besides the function that compiles it: see `Facts`."""

    view_of: int
    is_made: bool
    is_of_sizes: bool
    is_row_major: bool
    has_own_layout: bool
    positional: tuple[str, ...]
    known_shapes: tuple[int, ...]


class Declared(Stated, total=False):
    """Declared facts of a function: see `Facts`."""

    of_values: Compiler
    of_operands: Compiler
    of_view: Compiler
    of_itself: Compiler
    of_reduce: Compiler
    of_context: Compiler


@dataclass
class Facts:
    """Everything the compiler knows about one function, method or attribute."""

    of_values: Compiler = None
    """Compiles it, on Traced values and Python objects."""
    of_operands: Compiler = None
    """Compiles a ufunc without an op of its own, on numbers and Traced values."""
    of_view: Compiler = None
    """Gives the View that its result is, from the View of its argument; None if NumPy makes a copy."""
    of_itself: Compiler = None
    """The same for a call with copy=False or copy=None."""
    of_reduce: Compiler = None
    """Compiles the method `reduce` of a ufunc."""
    of_context: Compiler = None
    """Compiles it in the interpreter: `f(context, args, kwargs)`; returns None to leave the call to other
    implementations."""
    view_of: int = 0
    """The argument that its result may be a view of."""
    is_made: bool = False
    """Whether compiled code makes its result even for known arguments: an array of one number, or of a range."""
    is_of_sizes: bool = False
    """Whether NumPy runs it while a function is compiled, because it takes only sizes."""
    is_row_major: bool = False
    """Whether its results are always row-major in memory."""
    has_own_layout: bool = False
    """Whether its results may have another layout even if all arguments are row-major."""
    positional: tuple[str, ...] = ()
    """The names of its positional arguments, for a function without a signature."""
    known_shapes: tuple[int, ...] = ()
    """The positions of shapes that must be known at compile time if two or more of their axes are longer than 1."""


_UNKNOWN = Facts()
_functions: dict[Any, Facts] = {}
_methods: dict[str, Facts] = {}
_attributes: dict[str, Facts] = {}


def of(function: Any) -> Facts:
    """The known facts of a function; none for most objects."""
    try:
        return _functions.get(function, _UNKNOWN)
    except TypeError:  # not hashable
        return _UNKNOWN


def of_method(name: str) -> Facts:
    return _methods.get(name, _UNKNOWN)


def of_attribute(name: str) -> Facts:
    return _attributes.get(name, _UNKNOWN)


def functions() -> Iterator[Any]:
    """The declared functions on values, without those that only the interpreter compiles."""
    return (function for function, known in _functions.items() if known.of_values or known.of_operands or known.of_view)


def methods() -> dict[str, Facts]:
    return {name: known for name, known in _methods.items() if known.of_values or known.of_view}


def declare(
    *functions: Any, method: str | None = None, attribute: str | None = None, **facts: Unpack[Declared]
) -> None:
    """Add the facts of functions, a method and an attribute. Raises TypeError if one is known already."""
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
    """Declare that the decorated function compiles these functions, that method of arrays, and `reduce` of those
    ufuncs."""

    def declared(made: F) -> F:
        declare(*functions, method=method, of_values=made, **facts)
        declare(*reduces, of_reduce=made)
        return made

    return declared


def views(
    *functions: Any, method: str | None = None, attribute: str | None = None, **facts: Unpack[Stated]
) -> Callable[[F], F]:
    """Declare that the decorated function finds the view that these functions, that method, that attribute give."""

    def declared(made: F) -> F:
        declare(*functions, method=method, attribute=attribute, of_view=made, **facts)
        return made

    return declared


def interprets(*functions: Any) -> Callable[[F], F]:
    """Declare that the decorated function compiles calls of these functions in the interpreter."""

    def declared(made: F) -> F:
        declare(*functions, of_context=made)
        return made

    return declared


def operates(*ufuncs: Any) -> Callable[[F], F]:
    """Declare that the decorated function compiles these ufuncs, which have no op of their own, on operands."""

    def declared(made: F) -> F:
        declare(*ufuncs, of_operands=made)
        return made

    return declared
