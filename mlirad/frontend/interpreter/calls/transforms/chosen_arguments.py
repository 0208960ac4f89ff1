"""Finds the arguments that a function is differentiated with respect to, by number or by name.

Reads: a function value, and how it is called. Writes: nothing. Leaves: numbers of the passed values, with keyword
arguments after positional ones.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence

from mlirad.errors import DifferentiationError
from mlirad.frontend.interpreter.calls.outlining.outline import name_of_value
from mlirad.frontend.interpreter.context import Context
from mlirad.frontend.values.values import Bound, Closure, Partial, Static, Transformed, Value
from mlirad.requests.argnums import Argnums, spelled
from mlirad.requests.python_functions import plain
from mlirad.requests.request import Request, parameters_of


def chosen_arguments(
    context: Context, argnums: Argnums, function: Value, args: Sequence[Value], kwargs: Mapping[str, Value]
) -> list[int]:
    """The numbers of the chosen arguments. Raises DifferentiationError if one is not passed, or chosen twice."""
    names, named = parameter_names(function), list(kwargs)
    found: list[int] = []
    for each in argnums if isinstance(argnums, tuple) else (argnums,):
        place = _place_of_name(each, names, len(args)) if isinstance(each, str) else _place_of_number(each, len(args))
        if isinstance(place, str):
            place = len(args) + named.index(place) if place in named else None
        elif place is not None and place >= len(args):
            name = names[place] if place < len(names) else None
            place = len(args) + named.index(name) if name in named else None
        if place is None:
            shown = spelled(argnums)
            message = f"{shown} of {name_of_value(function)}, which is called with {_called_with(len(args), named)}"
            hint = "argnums= counts the parameters from 0, argnames= has their names; those chosen must be passed"
            raise DifferentiationError(message, context.location, hint)
        if place in found:
            message = f"{spelled(argnums)} of {name_of_value(function)} names an argument twice"
            raise DifferentiationError(message, context.location)
        found.append(place)
    return found


def _place_of_number(number: int, count: int) -> int | None:
    number = operator.index(number)
    if number < 0:
        return number + count if number >= -count else None
    return number


def _place_of_name(name: str, names: Sequence[str], count: int) -> int | str:
    """The place of a parameter passed by position; otherwise its name."""
    return names.index(name) if name in names and names.index(name) < count else name


def _called_with(count: int, named: Sequence[str]) -> str:
    by_name = f" and {', '.join(named)} by keyword" if named else ""
    return f"{count} argument{'' if count == 1 else 's'}{' by position' if named else ''}{by_name}"


def parameter_names(function: Value) -> list[str]:
    """The names of the positional parameters; none if unknown."""
    match function:
        case Closure():
            arguments = function.node.args
            return [each.arg for each in (*arguments.posonlyargs, *arguments.args)]
        case Bound() if function.function is not None:
            return parameter_names(Static(function.function))[1:]
        case Partial():
            return parameter_names(function.function)[len(function.args) :]
        case Transformed():
            return parameter_names(function.function) if function.request.signature is None else []
        case Static():
            inner = plain(function.value)
            if isinstance(inner, Request) and inner.signature is not None:
                return []
            return list(parameters_of(inner))
    return []
