"""Finds the texts that a function may have been compiled from; source.py decides between them.

Reads: linecache, files, the cells of IPython, Python's command line. Writes: nothing; linecache may read a file again.
Leaves: texts, and messages for functions without a text.
"""

from __future__ import annotations

import ast
import linecache
import os
import stat
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from types import CodeType, FunctionType
from typing import Any

MOST_READ = 1 << 26
"""The most bytes to re-read of a program on standard input."""

_AT_THE_PROMPT = "write it into a file and import that, or use IPython, a notebook, or the prompt of Python 3.13"
_FROM_ELSEWHERE = "to send a function of a notebook to another process, decorate it with @mlirad.jit"
_FROM_A_STRING = (
    "write it into a file or a notebook cell; for a string that your program makes, compile(text, name, 'exec') with a "
    "name of its own, and set linecache.cache[name] = (len(text), None, text.splitlines(True), name)"
)

_SENT = "<dynamic-code>"
"""What cloudpickle calls the file of a function that it sends, whatever file that is (since 3.1.3)."""


_received: dict[str, list[str]] = {}
"""Texts by file name, from the processes that functions came from."""


def receive(texts: Mapping[str, Sequence[str]]) -> None:
    """Search these texts for functions too; they belong to no file on this machine."""
    for name, found in texts.items():
        known = _received.setdefault(name, [])
        known += [each for each in found if each not in known]


def texts_of(function: FunctionType) -> Iterator[tuple[str, str]]:
    """The texts that a function may have been compiled from, each with the name of its file, the likeliest first."""
    seen: set[str] = {""}
    for name, text in _all_texts(function):
        if text not in seen:
            seen.add(text)
            yield name, text


def _all_texts(function: FunctionType) -> Iterator[tuple[str, str]]:
    code, space = function.__code__, function.__globals__
    name = code.co_filename
    yield from _in_file(name, space)
    if os.path.isfile(name):
        return
    yield from ((name, text) for text in _texts_elsewhere(code))
    if name == _SENT:
        for each, texts in list(_received.items()):
            yield from ((each, text) for text in texts if code.co_name in text or code.co_name == "<lambda>")
        if isinstance(file := space.get("__file__"), str):  # cloudpickle keeps this one
            yield from _in_file(file, space)


def _in_file(name: str, space: dict[str, Any]) -> Iterator[tuple[str, str]]:
    def remembered() -> tuple[str, str]:
        return name, "".join(linecache.getlines(name, space))

    yield remembered()
    # The file may have been changed, and the module reloaded, since it was read.
    linecache.checkcache(name)
    yield remembered()
    if os.path.isfile(name):
        linecache.cache.pop(name, None)  # its size and time may be unchanged
        yield remembered()


def _texts_elsewhere(code: CodeType) -> Iterator[str]:
    """Further texts, for code whose file name leads nowhere."""
    yield from _received.get(code.co_filename, ())
    yield from _of_the_command_line()
    yield _of_standard_input()
    word = "lambda" if code.co_name == "<lambda>" else code.co_name
    for entry in list(linecache.cache.values()):
        if len(entry) == 1 or entry[1] is not None:
            continue  # a file
        cell = "".join(entry[2])
        if word not in cell:
            continue
        if entry[3] == code.co_filename:
            yield cell  # Python 3.13 remembers some texts by their code
        if "run_cell_magic" in cell or "run_line_magic" in cell:
            given = (each for text in _strings_in(cell) if word in text for each in _without_options(text))
            yield from map(_as_cell, given)


def _of_the_command_line() -> Iterator[str]:
    """The text after -c, which may be joined to the letters of other options."""
    for argument in sys.orig_argv[1:]:
        yield argument
        if argument.startswith("-") and "c" in argument:
            yield argument.partition("c")[2]


@cache
def _of_standard_input() -> str:
    """A program that Python reads from a file (`python < program.py`)."""
    try:
        status = os.fstat(0)
        if not stat.S_ISREG(status.st_mode) or status.st_size > MOST_READ:
            return ""
        return os.pread(0, status.st_size, 0).decode(errors="replace")  # leaves the file's position unchanged
    except OSError:
        return ""


@cache
def _strings_in(cell: str) -> tuple[str, ...]:
    """The strings that a cell passes to its magics: `%%time` and `%timeit` run text of the cell under other file
    names."""
    try:
        tree = ast.parse(cell)
    except SyntaxError:
        return ()
    constants = [each.value for each in ast.walk(tree) if isinstance(each, ast.Constant)]
    return tuple(each for each in constants if isinstance(each, str))


def _without_options(text: str) -> Iterator[str]:
    """The argument of a magic, without its options: `%timeit -n 10 f(x)`."""
    yield text
    for count in range(1, 7 if text.lstrip().startswith("-") else 1):
        yield text.split(None, count)[-1]


def _as_cell(text: str) -> str:
    """The Python code of a cell that may contain magics."""
    get_shell: Any = getattr(sys.modules.get("IPython"), "get_ipython", None)
    shell = None if get_shell is None else get_shell()
    return text if shell is None else str(shell.transform_cell(text))


def why_there_is_none(function: FunctionType) -> tuple[str, str]:
    """Why a function has no text, and what to write instead."""
    file, name = function.__code__.co_filename, function.__qualname__
    if file == "<stdin>" and _is_interactive():
        return f"the source of {name} cannot be found: this prompt keeps no source of what is typed", _AT_THE_PROMPT
    if file == "<stdin>":
        why = "Python has read it from a pipe, which keeps nothing"
        return f"the source of {name} cannot be found: {why}", "save the program in a file, and run that"
    if file.startswith("<frozen"):
        return f"the source of {name} cannot be found: it is built into Python", "write what it does"
    if file == _SENT or file.startswith("<ipython-input"):
        return f"the source of {name} cannot be found: it was written in another process", _FROM_ELSEWHERE
    if file.startswith("<"):
        return f"the source of {name} cannot be found: it was made by exec or eval of a string", _FROM_A_STRING
    why = f"there is no file {file} here"
    hint = f"keep the .py file beside the .pyc; {_FROM_ELSEWHERE}"
    return f"the source of {name} cannot be found: {why}", hint


def _is_interactive() -> bool:
    return hasattr(sys, "ps1") or bool(sys.flags.interactive)
