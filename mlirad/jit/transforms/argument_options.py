"""The options that name arguments: static_argnums, static_argnames and donate_argnums.

Reads: options as the user gave them, and the function's parameters. Writes: nothing. Leaves: options in which an
argument is static by its number and by its name. Raises TypeError or ValueError for arguments that do not exist.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from mlirad.options import Options

_KINDS = {"static_argnums": int, "static_argnames": str, "donate_argnums": int}
_WANTED = {int: "numbers of arguments", str: "names of arguments"}


def named_arguments(caller: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """The given options as tuples. Raises TypeError or ValueError for what cannot be a number or a name."""
    found: dict[str, Any] = {}
    for option, kind in _KINDS.items():
        if option in given:
            value = given[option]
            found[option] = _as_tuple(value)
            if not all(isinstance(each, kind) and not isinstance(each, bool) for each in found[option]):
                raise TypeError(f"{caller}(): {option} must be {_WANTED[kind]}, not {value!r}")
            for each in found[option] if kind is int else ():
                if each < 0:
                    raise ValueError(f"{caller}(): {option} count from 0, and {each} is less")
    return found


def _as_tuple(value: Any) -> tuple[Any, ...]:
    if value is None:
        return ()
    if isinstance(value, str) or not isinstance(value, Sequence | set | frozenset):
        return (value,)
    return tuple(value)


def check_donated(caller: str, options: Options) -> None:
    for number in options.donate_argnums:
        if number in options.static_argnums:
            raise ValueError(f"{caller}(): argument {number} is static, and cannot be donated")


def of_parameters(caller: str, function: Callable[..., Any], given: Mapping[str, Any], options: Options) -> Options:
    """The options with each static argument by number and by name, since either may be used in a call.

    Raises ValueError for a given number or name that the function does not have.
    """
    if not any(given.get(option) for option in _KINDS):
        return options
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):  # a callable whose parameters are not known
        return options
    positional = [each for each in parameters if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)]
    if not any(each.kind is each.VAR_POSITIONAL for each in parameters):
        for option in ("static_argnums", "donate_argnums"):
            for number in given.get(option, ()):
                if number >= len(positional):
                    raise ValueError(f"{caller}(): {option} has {number}, but {_shown(function, parameters)}")
    named = [each.name for each in parameters if each.kind in (each.POSITIONAL_OR_KEYWORD, each.KEYWORD_ONLY)]
    if not any(each.kind is each.VAR_KEYWORD for each in parameters):
        for name in given.get("static_argnames", ()):
            if name not in named:
                raise ValueError(f"{caller}(): static_argnames has {name!r}, but {_shown(function, parameters)}")
    places = {each.name: number for number, each in enumerate(positional)}
    numbers = [number for name, number in places.items() if name in options.static_argnames]
    names = [positional[n].name for n in options.static_argnums if n < len(positional) and positional[n].name in named]
    made = replace(
        options,
        static_argnums=tuple(dict.fromkeys((*options.static_argnums, *numbers))),
        static_argnames=tuple(dict.fromkeys((*options.static_argnames, *names))),
    )
    check_donated(caller, made)
    return made


def _shown(function: Callable[..., Any], parameters: Sequence[inspect.Parameter]) -> str:
    listed = ", ".join(each.name for each in parameters) if parameters else "no arguments"
    return f"{getattr(function, '__name__', 'the function')} takes {listed}"
