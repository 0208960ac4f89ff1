"""The arguments with respect to which a transform differentiates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

Argnums = int | str | tuple[int | str, ...]
"""The arguments to differentiate with respect to, by number or name; a single one gives a gradient, not a tuple."""


def argnums_of(argnums: Any = None, grad_position: Any = None, argnames: str | Sequence[str] | None = None) -> Argnums:
    """The arguments that a transform names: `argnums` (`grad_position` is the same) or `argnames`, or both.

    Raises TypeError for anything other than ints and names, ValueError for an argument that is named twice.
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
        raise TypeError(f"{option} must be {wanted}, not {given!r}{_instead(option, given)}")
    return tuple(items)


def _instead(option: str, given: Any) -> str:
    """What else was meant, if this is clear."""
    if isinstance(given, str) and option == "argnums":
        return f": argnames={given!r} chooses an argument by its name"
    if isinstance(given, str | bool | tuple | list | range | int):
        return ""
    return "; the function's own arguments belong in a second call, as in grad(f)(x)"


def spelled(argnums: Argnums) -> str:
    """The options that choose the arguments, as text."""
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
