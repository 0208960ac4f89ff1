"""Functions with derivative rules of their own: the objects made by `mlirad.custom_vjp` and `mlirad.custom_jvp`.

Reads and writes: nothing. Leaves: objects that run the plain function outside compiled code; the frontend reads their
rules.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Generic, ParamSpec, TypeVar

from mlirad.requests.python_functions import found, name_of, plain

Function = Callable[..., Any]
P = ParamSpec("P")
R_co = TypeVar("R_co", covariant=True)
Rule = TypeVar("Rule", bound=Function)


class OwnRule(Generic[P, R_co]):
    """A function with a rule. `rules`: the functions that make up the rule, with the names that the methods use; empty
    until one of the methods is called. `is_tried`: whether the rule is interpreted although nothing is differentiated,
    so that its errors are found. False for rules without errors."""

    is_tried = True
    decorator: ClassVar[str]
    definer: ClassVar[str]
    __name__: str

    def __init__(self, function: Callable[P, R_co], nondiff_argnums: int | Sequence[int] = ()):
        if not callable(function):
            raise TypeError(f"{self.decorator}: {type(function).__name__} is not callable")
        if isinstance(nondiff_argnums, int):
            nondiff_argnums = (nondiff_argnums,)
        if not all(isinstance(each, int) and each >= 0 for each in nondiff_argnums):
            raise ValueError(f"{self.decorator}: nondiff_argnums are numbers from 0 on, not {nondiff_argnums!r}")
        self.function = plain(function)
        functools.update_wrapper(self, self.function)
        self.__qualname__: str = getattr(self.function, "__qualname__", name_of(self.function))
        self.nondiff_argnums = tuple(sorted(set(nondiff_argnums)))
        self.rules: tuple[Function | None, ...] = ()

    @property
    def __code__(self) -> Any:  # its definition, and its parameter names
        return self.function.__code__

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co:
        return self.function(*args, **kwargs)

    def __reduce__(self) -> Any:
        if found(self.__module__, self.__qualname__) is self:
            return self.__qualname__
        return _made, (type(self), self.function, self.nondiff_argnums, self.rules)

    def __repr__(self) -> str:
        return f"<{self.decorator} of {name_of(self.function)}>"

    @property
    def described(self) -> tuple[Any, ...]:
        """Everything that compiled code depends on."""
        return type(self).__name__, self.function, self.nondiff_argnums, self.rules, getattr(self, "is_by_argument", 0)

    def _required(self, rules: Sequence[Function]) -> None:
        for each in rules:
            if not callable(each):
                raise TypeError(f"{self.definer}: a rule is a function, not {each!r}")


class CustomVjp(OwnRule[P, R_co]):
    """A function with a reverse-mode derivative given by two functions.

        @mlirad.custom_vjp
        def f(x, y): ...

        f.defvjp(forward, backward)

    forward(x, y) returns (f(x, y), residuals). For a cotangent g of the result, backward(residuals, g) returns a tuple
    with a cotangent for each argument: with its structure, shapes and dtypes, or None for zeros. Forward mode uses that
    backward is linear in g: it differentiates backward with respect to g, and refuses it if it is not linear.

    nondiff_argnums: positions of arguments that are not differentiated, which may be functions. forward takes them in
    their places, backward takes them first.
    """

    decorator, definer = "mlirad.custom_vjp", "defvjp"

    def defvjp(self, fwd: Function, bwd: Function) -> None:
        """Give the function its rule; see the class."""
        self._required([fwd, bwd])
        self.rules = (fwd, bwd)


class CustomJvp(OwnRule[P, R_co]):
    """A function with a forward-mode derivative given by another function.

        @mlirad.custom_jvp
        def f(x, y): ...

        @f.defjvp
        def f_jvp(primals, tangents): ...

    f_jvp takes two tuples and returns (f(*primals), its tangent). The tangent must be linear in the tangents; arguments
    without a derivative have the tangent 0. Reverse mode transposes f_jvp, and refuses it if it is not linear.

    nondiff_argnums: positions of arguments that are not differentiated, which may be functions. The rule takes them
    first.
    """

    decorator, definer = "mlirad.custom_jvp", "defjvp"
    is_by_argument = False

    def defjvp(self, jvp: Rule) -> Rule:
        """Give the function its rule; see the class. Returns the rule, so this can be a decorator."""
        self._required([jvp])
        self.rules, self.is_by_argument = (jvp,), False
        return jvp

    def defjvps(self, *jvps: Function | None) -> None:
        """Give the function a rule for each argument: `jvp(t, out, *primals)` returns the contribution of that
        argument's tangent t to the tangent of the result `out`. None: it contributes nothing."""
        if self.nondiff_argnums:
            raise TypeError("defjvps: a function with nondiff_argnums has one rule for all arguments: use defjvp")
        self._required([each for each in jvps if each is not None])
        self.rules, self.is_by_argument = jvps, True


def _made(kind: type[OwnRule], function: Function, nondiff: Sequence[int], rules: tuple[Function, ...]) -> OwnRule:
    made = kind(function, nondiff)
    made.rules = rules
    return made


REGISTERED: dict[int, OwnRule] = {}
"""The rules registered for functions from outside, by the functions' ids; a rule keeps its function alive."""


def registered(function: Any) -> OwnRule | None:
    return REGISTERED.get(id(function))
