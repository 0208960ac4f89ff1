"""A cache of objects made from a function: `ms.grad(f)(x)` in a loop compiles once.

Reads: functions and callable objects. Writes: an attribute of theirs. Leaves: the cached objects, on the function.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable
from types import MethodType
from typing import Any

from mlirad.interop.mindspore.tensors import Parameter


class Kept(dict[Hashable, Any]):
    """The objects made from `owner`. A copy of the owner has none of them."""

    NAME = "__mindspore_kept__"
    owner: Any = None

    def __reduce__(self) -> Any:
        return Kept, ()


class OncePerFunction:
    """A version of the function `make` that Python runs once for the same arguments; compiled code runs `make`."""

    def __init__(self, make: Callable[..., Any]):
        self.__mlirad_function__ = make
        functools.update_wrapper(self, make)

    def __call__(self, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        make = self.__mlirad_function__
        kept = _kept_of(fn)
        key = make, _method_of(fn), _key(args), _key(tuple(sorted(kwargs.items())))
        if kept is None:
            return make(fn, *args, **kwargs)
        if key not in kept:
            kept[key] = make(fn, *args, **kwargs)
        return kept[key]


def _kept_of(fn: Any) -> Kept | None:
    """The place of the cache; None if there is none."""
    owner = fn.__self__ if isinstance(fn, MethodType) else fn
    attributes = getattr(owner, "__dict__", None)
    if not isinstance(attributes, dict):
        return None
    kept = attributes.get(Kept.NAME)
    if kept is None or kept.owner is not owner:
        kept = attributes[Kept.NAME] = Kept()
        kept.owner = owner
    return kept


def _method_of(fn: Any) -> Hashable:
    return fn.__func__ if isinstance(fn, MethodType) else None


def _key(value: Any) -> Hashable:
    """Parameters by their identity: the cached objects keep them alive."""
    if isinstance(value, list | tuple):
        return tuple(_key(each) for each in value)
    return ("parameter", id(value)) if isinstance(value, Parameter) else value
