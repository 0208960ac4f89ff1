"""Derivative rules in MindSpore's form: `bprop(*inputs, out, dout) -> (dx, ...)`.

Reads: functions, primitives and cells. Writes: the rules of functions, in the core; the rules of primitives and cells,
in the objects. Leaves: objects of the core's custom_vjp.
"""

from __future__ import annotations

import inspect
import weakref
from collections.abc import Callable
from functools import wraps
from typing import Any

import mlirad
from mlirad.errors import DifferentiationError
from mlirad.interop.mindspore.kept import Kept
from mlirad.interop.mindspore.tensors import Parameter, Tensor, data_of
from mlirad.location import SourceLocation

Function = Callable[..., Any]


class WithRule:
    """The base of classes that compute by `construct` and may have a rule."""

    construct: Any  # a method with any inputs
    _made = ("_rule", Kept.NAME)

    def __init__(self) -> None:
        self._find_rule()

    def _find_rule(self) -> None:
        self._rule: Any = None
        _known.add(self)
        for kind in reversed(type(self).__mro__):
            if kind in _getters:
                self._take(_getters[kind])

    # A copy has a separate rule, and nothing that was made from the original.

    def __getstate__(self) -> dict[str, Any]:
        return {name: each for name, each in vars(self).items() if name not in self._made}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._find_rule()

    def _take(self, getter: Callable[[Any], Function]) -> None:
        """Use the getter's rule as the derivative."""
        construct, bprop = self.construct, getter(self)
        _require_arity(bprop, construct)

        @wraps(construct, updated=())
        def compute(*args: Any) -> Any:
            return construct(*args)

        self._rule = mlirad.custom_vjp(compute)
        self._rule.defvjp(*_halves(compute, bprop))


def written(function: Any) -> Any:
    """The user's function, or the called object's `construct`."""
    return function.construct if isinstance(function, WithRule) else function


_known: weakref.WeakSet[WithRule] = weakref.WeakSet()
_getters: dict[type, Callable[[Any], Function]] = {}


class _BpropGetters:
    """Registers derivative rules. For X, a function or a class of primitives or cells:

        @bprop_getters.register(X)
        def get_bprop(self):
            def bprop(x, y, out, dout):
                return dx, dy
            return bprop

    `self` is the function, or the object. The rule replaces an existing one, and compiled functions are compiled again.
    """

    def register(self, target: Any) -> Callable[[Function], Function]:
        def registered(getter: Function) -> Function:
            if isinstance(target, type) and issubclass(target, WithRule):
                _getters[target] = getter
                for each in list(_known):
                    if isinstance(each, target):
                        each._take(getter)
                return getter
            bprop = getter(target)
            _require_arity(bprop, target)
            mlirad.register_derivative(target, vjp=_halves(target, bprop))
            return getter

        return registered


bprop_getters = _BpropGetters()


def _halves(compute: Function, bprop: Function) -> tuple[Function, Function]:
    """A rule of the core: the forward and the backward function."""

    @wraps(written(compute), updated=())
    def forward(*args: Any) -> Any:
        out = compute(*args)
        return out, (args, out)

    @wraps(bprop, updated=())
    def backward(saved: Any, dout: Any) -> Any:
        args, out = saved
        found = bprop(*args, out, dout)
        is_right = isinstance(found, tuple) and len(found) == len(args)
        return tuple([_like(*each) for each in zip(args, found, strict=True)]) if is_right else found

    return forward, backward


def _like(argument: Any, cotangent: Any) -> Any:
    """The cotangent of an argument, in the argument's class."""
    if cotangent is None:
        return None
    if isinstance(argument, Parameter):
        return Parameter(data_of(cotangent))
    return Tensor(data_of(cotangent)) if isinstance(argument, Tensor) else data_of(cotangent)


def _require_arity(bprop: Function, function: Function) -> None:
    """Raises DifferentiationError, at the place of bprop, if it does not take the inputs, out and dout."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except ValueError:  # a function written in C
        return
    inputs = [each.name for each in parameters if each.default is each.empty]
    taken = inspect.signature(bprop).parameters.values()
    if any(each.kind == each.VAR_POSITIONAL for each in [*parameters, *taken]) or len(taken) == len(inputs) + 2:
        return
    expected = ", ".join([*inputs, "out", "dout"])
    message = f"bprop takes {len(taken)} arguments, and is given {len(inputs) + 2}: {expected}"
    raise DifferentiationError(message, SourceLocation.of_definition(bprop.__code__))
