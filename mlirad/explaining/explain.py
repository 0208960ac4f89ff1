"""The source of a function and of its adjoint, for example arguments.

Reads: a function of a file, and arguments: expressions, or the arguments of its first call when the file runs.
Writes: nothing. Leaves: two programs.
"""

from __future__ import annotations

import contextlib
import copy
import inspect
import io
import os
import runpy
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import mlirad
from mlirad.options import SOURCE_STAGE, SOURCE_TARGET
from mlirad.requests.python_functions import name_of


class NoExample(Exception):
    """There is nothing to explain: no file, no function, or no arguments."""


@dataclass(frozen=True)
class Explained:
    """Two programs: the function's, and the one of its gradient or pullback, whose name is `derivative`."""

    name: str
    derivative: str
    function: str
    adjoint: str


def explained(subject: str, expressions: Sequence[str] = ()) -> Explained:
    """The programs of `file.py:function` and of its gradient or pullback, for example arguments.

    expressions: Python, in which `np` and the names of the file are known. Without them, the file runs as a script up
    to its first call of the function, whose arguments they are. Raises NoExample, or what compiling raises.
    """
    function, arguments = example_call(subject, expressions)
    return explained_function(_plain(function), arguments)


def example_call(subject: str, expressions: Sequence[str] = ()) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """The function `file.py:function`, and arguments for it, as `explained` finds them. Raises NoExample."""
    path, _, name = subject.rpartition(":")
    if not path:
        raise NoExample(f"{subject!r} names no function: write it as file.py:function")
    if not Path(path).is_file():
        raise NoExample(f"no file {path!r}: write it as file.py:function")
    if not expressions:
        return _first_call(path, name, subject)
    with _running(path):
        namespace = runpy.run_path(path)
    function, arguments = _callable(namespace.get(name), subject), evaluated(expressions, namespace)
    try:
        inspect.signature(function).bind(*arguments)
    except TypeError as error:
        raise NoExample(f"{subject} cannot be called with these arguments: {error}") from None
    except ValueError:  # a function whose parameters are not known
        pass
    return function, arguments


@contextlib.contextmanager
def _running(path: str, name: str = "") -> Iterator[None]:
    """Raises NoExample for an exception of the file (or of its function `name`), with its line."""
    try:
        yield
    except Exception as error:
        lines = [each.lineno for each in traceback.extract_tb(error.__traceback__) if each.filename == path]
        if isinstance(error, SyntaxError) and error.filename == path:
            lines.append(error.lineno)
        place = f"{path}:{lines[-1]}" if lines else path
        what = error.msg if isinstance(error, SyntaxError) else error
        raise NoExample(f"{place}: {name or 'the file'} raises {type(error).__name__}: {what}") from error


def evaluated(expressions: Sequence[str], namespace: Mapping[str, Any]) -> tuple[Any, ...]:
    """The values of Python expressions, in which `np` is known too. Raises NoExample for one that has no value."""
    values: list[Any] = []
    for each in expressions:
        try:
            values.append(eval(each, {"np": np, **namespace}))
        except Exception as error:
            raise NoExample(f"the argument {each!r} has no value: {type(error).__name__}: {error}") from error
    return tuple(values)


def explained_function(function: Callable[..., Any], arguments: Sequence[Any]) -> Explained:
    """The same of a function itself."""
    name = name_of(function)
    own = _source(function, arguments)
    floats = float_arguments(function, arguments)
    with _running(getattr(getattr(function, "__code__", None), "co_filename", ""), name):
        result = function(*copy.deepcopy(arguments))
    if np.ndim(result) == 0 and isinstance(result, float | np.floating | np.ndarray):
        derivative = mlirad.grad(function, floats[0] if len(floats) == 1 else floats)
        return Explained(name, f"grad({name})", own, _source(derivative, arguments))
    given = (tuple(arguments[number] for number in floats), mlirad.tree.map(_ones, result))
    return Explained(name, f"vjp({name})", own, _source(_adjoint(function, arguments, floats), given))


def float_arguments(function: Callable[..., Any], arguments: Sequence[Any]) -> tuple[int, ...]:
    """The numbers of the arguments that are differentiated by. Raises NoExample if there is none."""
    floats = tuple(number for number, each in enumerate(arguments) if _is_float(each))
    if not floats:
        raise NoExample(f"{name_of(function)} has no float among its arguments: there is nothing to differentiate")
    return floats


def _adjoint(function: Callable[..., Any], arguments: Sequence[Any], floats: Sequence[int]) -> Callable[..., Any]:
    """The pullback, as a function of the arguments and a cotangent of the result."""
    others = {number: each for number, each in enumerate(arguments) if number not in floats}
    count = len(arguments)

    def of_floats(*values: Any) -> Any:
        left = list(values)
        return function(*(others[number] if number in others else left.pop(0) for number in range(count)))

    def adjoint(values: Any, cotangent: Any) -> Any:
        _, pullback = mlirad.vjp(of_floats, *values)
        return pullback(cotangent)

    return adjoint


def _source(function: Any, arguments: Sequence[Any]) -> str:
    kernel: Any = mlirad.jit(function, target=SOURCE_TARGET, cache=False)
    return kernel.lower(*copy.deepcopy(tuple(arguments))).as_text(SOURCE_STAGE)


def _is_float(value: Any) -> bool:
    leaves = mlirad.tree.leaves(value)
    return bool(leaves) and all(isinstance(each, float) or np.asarray(each).dtype.kind == "f" for each in leaves)


def _ones(value: Any) -> Any:
    return np.ones_like(value) if isinstance(value, np.ndarray) else 1.0


def _callable(function: Any, subject: str) -> Callable[..., Any]:
    if not callable(function):
        raise NoExample(f"no function {subject.rpartition(':')[2]!r} in {subject.rpartition(':')[0]}")
    return function


def _plain(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function, also if the file has compiled it."""
    return getattr(function, "numpy", function)


class _Called(BaseException):
    """The function was called. No `except Exception` of the script stops it."""


def _first_call(path: str, name: str, subject: str) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """The function that a script calls by this name first, and the arguments."""
    found: list[tuple[Any, tuple[Any, ...]]] = []
    wanted = os.path.abspath(path)

    def look(frame: Any, event: str, _argument: Any) -> None:
        code = frame.f_code
        if event != "call" or code.co_name != name or os.path.abspath(code.co_filename) != wanted:
            return
        names = code.co_varnames[: code.co_argcount]
        function = frame.f_globals.get(name)
        found.append((function, tuple(copy.deepcopy(frame.f_locals[each]) for each in names)))
        raise _Called

    before = os.environ.get("MLIRAD_DISABLE_JIT")
    os.environ["MLIRAD_DISABLE_JIT"] = "1"  # what the file compiles is called in Python
    sys.setprofile(look)
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(_Called), _running(path):
            runpy.run_path(path, run_name="__main__")
    finally:
        sys.setprofile(None)
        os.environ.pop("MLIRAD_DISABLE_JIT")
        if before is not None:
            os.environ["MLIRAD_DISABLE_JIT"] = before
    if not found:
        raise NoExample(f'{path} does not call {name} when it runs: give arguments, as in {subject} "np.ones(3)" 2.0')
    function, arguments = found[0]
    return _callable(function, subject), arguments
