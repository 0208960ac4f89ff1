"""Many calls in one kernel: their results and derivatives, compiled once for all.

Reads: calls and their inputs. Writes: nothing permanent. Gives: verdicts on each call. A refused call is found by the
line of the refusal, and the others are compiled without it.
"""

from __future__ import annotations

import copy
import itertools
import linecache
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import mlirad
from mlirad.errors import CompileError
from mlirad.testing.calls.public_names import SPACE

_NUMBER = itertools.count()
WRAPS = ("bare", "loop", "branch")
TRIPS, GATE = 2, 0.75
"""How often a loop runs, and the number that a branch compares."""


@dataclass(frozen=True, eq=False)
class Call:
    """An expression of some inputs."""

    text: str
    inputs: Mapping[str, Any]

    def floats(self) -> list[str]:
        return [name for name, value in self.inputs.items() if _is_float(value)]


def _is_float(value: Any) -> bool:
    return isinstance(value, float) or getattr(getattr(value, "dtype", None), "kind", "") == "f"


@dataclass
class Pack:
    """Calls in one source file: call_3 computes call 3, loss_3 a number that depends on all its floats."""

    calls: Sequence[Call]
    wraps: Sequence[str] = ()
    parts: Sequence[Sequence[str]] = ()
    space: dict[str, Any] = field(init=False)
    lines: dict[int, int] = field(init=False)

    def __post_init__(self) -> None:
        source: list[str] = []
        self.lines = {}
        for number, call in enumerate(self.calls):
            names = ", ".join(call.inputs)
            written = [f"def call_{number}({names}):", f"    return {call.text}"]
            if self.parts:
                written += self._loss(number, names, call)
            self.lines |= dict.fromkeys(range(len(source) + 1, len(source) + len(written) + 1), number)
            source += written
        source += self._together("call", "values", "({},)", {})
        if self.parts:
            source += self._together("loss", "losses", "({},)", {})
            source += self._together("loss", "total", "{}", {"({},)": " + "})
        name = f"<calls {next(_NUMBER)}>"
        text = "\n".join(source) + "\n"
        linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
        self.space = dict(SPACE)
        exec(compile(text, name, "exec"), self.space)

    def _loss(self, number: int, names: str, call: Call) -> Iterator[str]:
        """A loop computes the call with smaller and smaller numbers; a branch decides by a run-time number."""
        terms = " + ".join(f"np.sum(np.sin(0.7 * r{part}))" for part in self.parts[number])
        floats = call.floats()
        yield f"def loss_{number}({names}{', ' if names else ''}trips, gate):"
        wrap = self.wraps[number]
        if wrap == "loop":
            yield "    loss = 0.0"
            yield "    for k in range(trips):"
            yield f"        r = call_{number}({names})"
            yield f"        loss = loss + ({terms})"
            yield from (f"        {name} = 0.875 * {name}" for name in floats)
            yield "    return loss"
        elif wrap == "branch":
            yield "    if gate > 0.5:"
            yield f"        r = call_{number}({names})"
            yield f"        loss = {terms}"
            yield "    else:"
            yield f"        loss = 2.0 * ({' + '.join(f'np.sum({name})' for name in floats)})"
            yield "    return loss"
        else:
            yield f"    r = call_{number}({names})"
            yield f"    return {terms}"

    def _together(self, each: str, name: str, form: str, joined: Mapping[str, str]) -> Iterator[str]:
        more = ["trips", "gate"] if each == "loss" else []
        own = [[f"{name}_{number}" for name in call.inputs] for number, call in enumerate(self.calls)]
        yield f"def {name}({', '.join([*itertools.chain.from_iterable(own), *more])}):"
        made = [f"{each}_{number}({', '.join([*names, *more])})" for number, names in enumerate(own)]
        yield f"    return {form.format((' + ' if joined else ', ').join(made))}"

    def arguments(self) -> list[Any]:
        return [value for call in self.calls for value in call.inputs.values()]

    def blamed(self, error: CompileError) -> int | None:
        """The call at the line of an error, or that leads to its line."""
        places = [error.location, *error.callers]
        found = (self.lines.get(place.lineno) for place in places if place and place.filename.startswith("<calls"))
        return next((each for each in found if each is not None), None)


def plain_outcome(call: Call, inputs: Mapping[str, Any] | None = None) -> Any:
    """NumPy's result or exception."""
    given = copy.deepcopy(dict(call.inputs if inputs is None else inputs))
    for name, value in given.items():
        if isinstance(value, np.ndarray):
            value.flags.writeable = call.inputs[name].flags.writeable
    return outcome_of(lambda: eval(call.text, dict(SPACE), given))


def outcome_of(function: Callable[[], Any]) -> Any:
    with np.errstate(all="ignore"), warnings.catch_warnings(action="ignore"):
        try:
            return function()
        except CompileError as error:
            return error
        except Exception as error:  # noqa: BLE001 - whatever is raised is compared
            return error


def values(calls: Sequence[Call], kernels: dict[tuple[str, ...], Callable[..., Any]] | None = None) -> list[Any]:
    """For each call the result or exception of compiled code. Equal calls on other inputs share a kernel of
    `kernels`."""
    known = {} if kernels is None else kernels

    def run(chosen: Sequence[Call]) -> Sequence[Any]:
        key = tuple(call.text for call in chosen)
        if key not in known:
            known[key] = mlirad.jit(Pack(chosen).space["values"])
        with np.errstate(all="ignore"):
            return known[key](*(value for call in chosen for value in call.inputs.values()))

    return _apart(calls, run)


@dataclass(frozen=True, eq=False)
class Loss:
    """A call inside a wrap that reduces its float results to one number."""

    call: Call
    wrap: str
    parts: Sequence[str]
    narrowest: int
    """The bytes of the narrowest float among the arguments and results."""

    @property
    def is_coarse(self) -> bool:
        return self.narrowest < 8

    @property
    def has_halves(self) -> bool:
        return self.narrowest < 4


def loss_of(call: Call, wrap: str, value: Any) -> Loss | None:
    """The loss of a call that has a value in NumPy; None unless floats are among its arguments and its results."""
    found = dict(_float_parts(value, ""))
    floats = [call.inputs[name] for name in call.floats()]
    sizes = [np.asarray(each).itemsize for each in (*found.values(), *floats)]
    return Loss(call, wrap, list(found), min(sizes)) if found and floats else None


def _float_parts(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, tuple | list):
        for index, each in enumerate(value):
            yield from _float_parts(each, f"{path}[{index}]")
    elif _is_float(value):
        yield path, value


def gradients(losses: Sequence[Loss]) -> list[Any]:
    """The gradient of each loss, by the name of the input."""

    def run(chosen: Sequence[Loss]) -> Sequence[Any]:
        pack, arguments, floats = _prepared(chosen)
        found = iter(mlirad.grad(pack.space["total"], argnums=floats)(*arguments))
        return [{name: next(found) for name in loss.call.floats()} for loss in chosen]

    return _apart(losses, run)


def tangents(losses: Sequence[Loss], directions: Mapping[Loss, Mapping[str, Any]]) -> list[Any]:
    """The derivative of each loss along its direction."""

    def run(chosen: Sequence[Loss]) -> Sequence[Any]:
        pack, arguments, _ = _prepared(chosen)
        return mlirad.jvp(pack.space["losses"], arguments, _along(chosen, directions))[1]

    return _apart(losses, run)


def second_derivatives(losses: Sequence[Loss], directions: Mapping[Loss, Mapping[str, Any]]) -> list[Any]:
    """The derivative of each loss's gradient along its direction, by the name of the input."""

    def run(chosen: Sequence[Loss]) -> Sequence[Any]:
        pack, arguments, floats = _prepared(chosen)
        gradient = mlirad.grad(pack.space["total"], argnums=floats)
        found = iter(mlirad.jvp(gradient, arguments, _along(chosen, directions))[1])
        return [{name: next(found) for name in loss.call.floats()} for loss in chosen]

    return _apart(losses, run)


def _prepared(losses: Sequence[Loss]) -> tuple[Pack, list[Any], tuple[int, ...]]:
    """The pack, its arguments, and which of them are the floats of calls."""
    pack = _pack_of(losses)
    arguments = pack.arguments()
    return pack, [*arguments, TRIPS, GATE], tuple(i for i, value in enumerate(arguments) if _is_float(value))


def _pack_of(losses: Sequence[Loss]) -> Pack:
    return Pack([each.call for each in losses], [each.wrap for each in losses], [each.parts for each in losses])


def _along(losses: Sequence[Loss], directions: Mapping[Loss, Mapping[str, Any]]) -> list[Any]:
    found = [directions[loss].get(name) for loss in losses for name in loss.call.inputs]
    return [*found, None, 0.0]


def plain_loss(loss: Loss) -> Callable[[Mapping[str, Any]], Any]:
    """The loss in NumPy, as a function of the inputs."""
    function = _pack_of([loss]).space["loss_0"]
    return lambda inputs: outcome_of(lambda: function(*inputs.values(), TRIPS, GATE))


def _apart(items: Sequence[Any], run: Callable[[Sequence[Any]], Sequence[Any]]) -> list[Any]:
    """run(items) without the items that raise an exception; their outcome is the exception."""
    found: list[Any] = [None] * len(items)
    left = list(range(len(items)))
    while left:
        chosen = [items[index] for index in left]
        try:
            results = run(chosen)
        except Exception as error:  # noqa: BLE001 - an exception of any class is an outcome
            number = 0 if len(left) == 1 else _blamed(error, chosen)
            if number is not None:
                found[left.pop(number)] = error
                continue
            half = len(left) // 2
            results = [*_apart(chosen[:half], run), *_apart(chosen[half:], run)]
        for index, result in zip(left, results, strict=True):
            found[index] = result
        break
    return found


def _blamed(error: Exception, items: Sequence[Any]) -> int | None:
    if not isinstance(error, CompileError):
        return None
    pack = Pack(items) if isinstance(items[0], Call) else _pack_of(items)
    return pack.blamed(error)
