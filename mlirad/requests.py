"""Transforms of functions as frozen descriptors: user code may mention them in a kernel, `jit` makes them callable."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, is_dataclass
from inspect import getattr_static
from types import FunctionType, MethodType
from typing import Any, TypeVar

import numpy as np

from mlirad import tree
from mlirad.location import SourceLocation

X = TypeVar("X")

Argnums = int | str | tuple[int | str, ...]
"""The arguments to differentiate with respect to, by number or by name; one of them gives one gradient, not a tuple."""


@dataclass(frozen=True, eq=False)
class Request:
    """A transform of `function`, which is a plain function or another request.

    Two are equal if they are the same transform of one function: of callable objects, by their identity.
    """

    function: Any

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Request) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[Any, ...]:
        # A method is another object each time that it is asked for.
        function = self.function if isinstance(self.function, Request | MethodType) else id(self.function)
        return type(self), function, *(getattr(self, field.name) for field in fields(self)[1:])

    def __reduce__(self) -> Any:
        return _made, (
            type(self),
            importable(self.function),
            *(getattr(self, field.name) for field in fields(self)[1:]),
        )

    @property
    def __name__(self) -> str:
        return f"{type(self).__qualname__.lower()}({name_of(self.function)})"

    @property
    def transformed(self) -> Any:
        """The function that the transform is of, or the innermost one is."""
        inner = plain(self.function)
        return inner.transformed if isinstance(inner, Request) else inner

    @property
    def signature(self) -> inspect.Signature | None:
        """How it is called; None where it is called as its function is."""
        inner = plain(self.function)
        return inner.signature if isinstance(inner, Request) else None

    @property
    def summary(self) -> str:
        """What it computes, in a sentence."""
        return f"{self.__name__}, a transform of {name_of(self.transformed)}."


@dataclass(frozen=True, eq=False)
class Grad(Request):
    """The gradient of a scalar function with respect to the arguments `argnums`.

    argnums: an int or a name gives one gradient, a tuple a tuple. has_aux: the function returns (value, aux).
    with_value: the result is (value, gradients); with has_aux, ((value, aux), gradients) or (gradients, aux).
    """

    argnums: Argnums = 0
    has_aux: bool = False
    with_value: bool = False

    @property
    def __name__(self) -> str:
        return f"{'value_and_grad' if self.with_value else 'grad'}({name_of(self.function)})"

    @property
    def summary(self) -> str:
        what = "The value and the gradient" if self.with_value else "The gradient"
        return f"{what} of {name_of(self.function)} with respect to {listed(self.argnums)}."


@dataclass(frozen=True, eq=False)
class Jvp(Request):
    """Called with (primals, tangents), two tuples; gives (out, tangent of out), or (out, tangent of out, aux).

    has_aux: the function returns (out, aux).
    """

    has_aux: bool = False

    @property
    def signature(self) -> inspect.Signature:
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        return inspect.Signature([inspect.Parameter(name, kind) for name in ("primals", "tangents")])

    @property
    def summary(self) -> str:
        return f"The value of {name_of(self.function)} and its derivative along tangents."


@dataclass(frozen=True, eq=False)
class Paths(Jvp):
    """Called with (primals, counts), two tuples; gives how many paths of dependence lead to each number of the result.

    counts: how many lead to each number of the primals.
    """

    @property
    def summary(self) -> str:
        return f"Which numbers of the result of {name_of(self.function)} depend on which of its arguments."


@dataclass(frozen=True, eq=False)
class Sparse(Request):
    """A derivative that is a matrix of scipy.sparse, which compiled functions do not have."""


@dataclass(frozen=True, eq=False)
class Hvp(Jvp):
    """Called with (primals, tangents); gives the tangents of the gradients with respect to the primals."""

    @property
    def summary(self) -> str:
        return f"The Hessian of {name_of(self.function)} times tangents."


@dataclass(frozen=True, eq=False)
class Jacobian(Request):
    """All derivatives of a function with respect to the arguments `argnums`: in forward mode, or in reverse mode.

    For each leaf of the result, what `Grad` gives; has_aux: the function returns (value, aux).
    """

    argnums: Argnums = 0
    has_aux: bool = False
    is_forward: bool = True

    @property
    def __name__(self) -> str:
        return f"{'jacfwd' if self.is_forward else 'jacrev'}({name_of(self.function)})"

    @property
    def summary(self) -> str:
        return f"The Jacobian of {name_of(self.function)} with respect to {listed(self.argnums)}."


@dataclass(frozen=True, eq=False)
class Hessian(Request):
    """All second derivatives of a function with respect to the arguments `argnums`."""

    argnums: Argnums = 0
    has_aux: bool = False

    @property
    def summary(self) -> str:
        return f"The Hessian of {name_of(self.function)} with respect to {listed(self.argnums)}."


@dataclass(frozen=True, eq=False)
class Vjp(Request):
    """Called with the primals; gives out and what the pullback needs. has_aux: the function returns (out, aux)."""

    has_aux: bool = False

    @property
    def summary(self) -> str:
        return f"The value of {name_of(self.function)} and its pullback."


@dataclass(frozen=True, eq=False)
class Implicit(Request):
    """The solution of an equation that a function is: called with (x0, *params). options: names and values."""

    kind: str = "root"
    options: tuple[tuple[str, Any], ...] = ()

    @property
    def __name__(self) -> str:
        return f"{self.kind}({name_of(self.function)})"

    @property
    def summary(self) -> str:
        return f"The {self.kind} of {name_of(self.function)}, by its equation."


@dataclass(frozen=True, eq=False)
class Jet(Request):
    """Called with (primals, series), two tuples; gives (out, series of out): derivatives along a path."""

    @property
    def signature(self) -> inspect.Signature:
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        return inspect.Signature([inspect.Parameter(name, kind) for name in ("primals", "series")])

    @property
    def summary(self) -> str:
        return f"The value of {name_of(self.function)} and its derivatives along a path, of all orders."


@dataclass(frozen=True, eq=False)
class Linearize(Request):
    """Called with the primals; gives out and a linear function of tangents.

    has_aux: the function returns (out, aux), and the result is (out, linear function, aux).
    """

    has_aux: bool = False

    @property
    def summary(self) -> str:
        return f"The value of {name_of(self.function)} and its derivative as a linear function."


@dataclass(frozen=True)
class AxesByKey:
    """Axes of the items of a dict, or of the attributes of a dataclass."""

    items: tuple[tuple[Any, Axes], ...]


Axes = int | None | tuple[Any, ...] | AxesByKey
"""The axis of every array in a pytree that lanes run along; of a container, the axes of its items; None: no axis."""


def axes_of(given: Any) -> Axes:
    """`in_axes` or `out_axes` as a request keeps them. Raises TypeError for what is neither an axis nor a container."""
    if given is None or (isinstance(given, int) and not isinstance(given, bool)):
        return given
    if isinstance(given, AxesByKey):
        return given
    if isinstance(given, tuple | list):
        return tuple(axes_of(each) for each in given)
    if isinstance(given, dict):
        return AxesByKey(tuple((key, axes_of(each)) for key, each in given.items()))
    if is_dataclass(given) and not isinstance(given, type):
        return axes_of({field.name: getattr(given, field.name) for field in fields(given)})
    raise TypeError(f"an axis of vmap is an int or None, or they stand in tuples, lists and dicts, not {given!r}")


@dataclass(frozen=True, eq=False)
class Vmap(Request):
    """The function of each lane of its arguments, the results stacked. in_axes: an item for each argument, or one."""

    in_axes: Axes = 0
    out_axes: Axes = 0

    @property
    def summary(self) -> str:
        return f"{name_of(self.function)} of each lane of its arguments, the results stacked."


@dataclass(frozen=True, eq=False)
class Checkpoint(Request):
    """The function itself. Reverse mode keeps its arguments, and runs it again for what else it needs of it."""

    @property
    def summary(self) -> str:
        return f"{name_of(self.function)}, whose arguments alone reverse mode keeps."


@dataclass(frozen=True, eq=False)
class Accumulate(Request):
    """The mean or the sum of what the function gives for `parts` equal parts of its arguments.

    in_axes: the axes that are cut, as of Vmap; None: axis 0 of all arguments except the first. reduce: "mean", "sum".
    """

    parts: int = 1
    in_axes: Axes = None
    reduce: str = "mean"

    def __post_init__(self) -> None:
        if isinstance(self.parts, bool) or not isinstance(self.parts, int):
            raise TypeError(f"accumulate_grad: n_micro is a number of parts, not {self.parts!r}")
        if self.parts < 1:
            raise ValueError(f"accumulate_grad: n_micro is a number of parts, and {self.parts} is less than 1")
        if self.reduce not in ("mean", "sum"):
            raise ValueError(f"accumulate_grad: reduce is 'mean' or 'sum', not {self.reduce!r}")

    @property
    def __name__(self) -> str:
        return f"accumulate_grad({name_of(self.function)})"

    @property
    def summary(self) -> str:
        return f"The {self.reduce} of {name_of(self.function)} of {self.parts} parts of its arguments, one by one."


def argnums_of(argnums: Any = None, grad_position: Any = None, argnames: str | Sequence[str] | None = None) -> Argnums:
    """The arguments that a transform names: `argnums` (`grad_position` is the same) or `argnames`, or both.

    Raises TypeError for other things than ints and names, ValueError for an argument that is named twice.
    """
    numbers = argnums if grad_position is None else grad_position
    if numbers is None and argnames is None:
        return 0
    chosen = [*_all_of(numbers, int, "argnums", "an int or a sequence of ints")]
    chosen += _all_of(argnames, str, "argnames", "a name or a sequence of names")
    if len(set(chosen)) != len(chosen):
        raise ValueError(f"{spelled(tuple(chosen))} names an argument twice")
    is_one = isinstance(numbers, int) if argnames is None else numbers is None and isinstance(argnames, str)
    return chosen[0] if is_one else tuple(chosen)


def _all_of(given: Any, kind: type, option: str, wanted: str) -> tuple[Any, ...]:
    if given is None:
        return ()
    items = (given,) if isinstance(given, kind) else given
    if not isinstance(items, tuple | list | range) or any(
        not isinstance(x, kind) or isinstance(x, bool) for x in items
    ):
        raise TypeError(f"{option} must be {wanted}, not {given!r}")
    return tuple(items)


def spelled(argnums: Argnums) -> str:
    """The options by which arguments are chosen."""
    items = argnums if isinstance(argnums, tuple) else (argnums,)
    numbers, names = [x for x in items if not isinstance(x, str)], [x for x in items if isinstance(x, str)]
    options = (("argnums", numbers), ("argnames", names))
    return ", ".join(
        f"{option}={(tuple(chosen) if isinstance(argnums, tuple) else chosen[0])!r}"
        for option, chosen in options
        if chosen or (option == "argnums" and not names)
    )


def listed(argnums: Argnums) -> str:
    """Arguments, in a sentence."""
    return f"arguments {', '.join(map(str, argnums))}" if isinstance(argnums, tuple) else f"argument {argnums}"


def plain(function: Any) -> Any:
    """What a kernel stands for: the plain function or request under it; anything else itself."""
    # A method passes on what is asked of its function, and would lose the object that it is bound to.
    return function if isinstance(function, MethodType) else getattr(function, "__mlirad_function__", function)


def is_kernel(value: object) -> bool:
    """Whether a value is a kernel, whose class has a place for the function. Asks no code of the user's."""
    return any("__mlirad_function__" in vars(kind) for kind in type(value).__mro__)


def standing_for(transform: Any, request: Callable[..., Request]) -> None:
    """Mark a transform: a kernel that mentions it makes the request that `request(function, ...)` is."""
    transform.__mlirad_transform__ = transform, request


def transform_of(function: Any) -> Callable[..., Request] | None:
    """The request that a transform stands for; None for what is no transform."""
    if isinstance(function, type) and issubclass(function, Request):
        return function
    marked, request = getattr_static(function, "__mlirad_transform__", (None, None))
    return request if marked is function else None  # `functools.wraps` copies the mark


def _made(kind: type[Request], function: Any, *rest: Any) -> Request:
    return kind(plain(function), *rest)


def importable(function: Any) -> Any:
    """What pickle is to be given for a function: the kernel, if that is found under the function's name."""
    if isinstance(function, FunctionType):
        there = found(function.__module__, function.__qualname__)
        if not isinstance(there, FunctionType) and getattr(there, "__mlirad_function__", None) is function:
            return there
    return function


def found(module: str, name: str) -> Any:
    """The object under a dotted name in a module; None if there is none."""
    there: Any = sys.modules.get(module)
    for part in name.split("."):
        there = getattr(there, part, None)
    return there


def copied(function: FunctionType) -> FunctionType:
    """Another function of the same code, over the same variables."""
    made = FunctionType(
        function.__code__, function.__globals__, function.__name__, function.__defaults__, function.__closure__
    )
    made.__kwdefaults__, made.__doc__ = function.__kwdefaults__, function.__doc__
    made.__module__, made.__qualname__ = function.__module__, function.__qualname__
    return made


def definition_of(function: Any) -> SourceLocation | None:
    """Where a function, or what a transform is of, is defined."""
    function = function.transformed if isinstance(function, Request) else function
    code = getattr(function, "__code__", None)
    return None if code is None else SourceLocation(code.co_filename, code.co_firstlineno)


def parameters_of(function: Any) -> tuple[str, ...]:
    """The names of the positional parameters of a function, or of what a transform is of; none, where they are not
    known."""
    function = function.transformed if isinstance(function, Request) else function
    code = getattr(function, "__code__", None)
    names = () if code is None else code.co_varnames[: code.co_argcount]
    return names[1:] if isinstance(function, MethodType) else names


def name_of(function: Any) -> str:
    return getattr(plain(function), "__name__", type(function).__name__)


def stop_gradient(x: X) -> X:
    """x (an array, a number or a container of them), its arrays copied. Through it no derivative flows, in either mode:
    what is computed of it is to a transform a constant."""
    return tree.map(lambda leaf: leaf.copy() if isinstance(leaf, np.ndarray) else leaf, x)


def checkpointed(loop: X, how: str | int) -> X:
    """`loop` itself. As `for i in mlirad.checkpointed(range(n), how)`, or `while mlirad.checkpointed(condition, how)`,
    reverse mode keeps a few states of the loop instead of something for each trip, and runs the trips again from them.

    how: "sqrt" keeps about sqrt(n) states, and the tape of as many trips: each trip runs three times. "binomial" keeps
    about log2(n) states, a number keeps as many: fewer states, more runs, by the schedule that needs the fewest.

    Raises ValueError for another word, or a number below 1.
    """
    require_checkpointing(how)
    return loop


def require_checkpointing(how: object) -> None:
    """Raises ValueError for what is no way to checkpoint a loop."""
    is_number = isinstance(how, int) and not isinstance(how, bool) and how >= 1
    if not is_number and how not in ("sqrt", "binomial"):
        raise ValueError(
            f"a loop is checkpointed by 'sqrt', 'binomial', or a number of states from 1 on, not by {how!r}"
        )
