"""Reads: the `RUN:` lines of a FileCheck test. Writes: nothing but %t. Leaves: an exit code and what the run printed.

Runs them in this process, where a new interpreter for each would cost most of the time; `lit` runs the same lines as
processes.
Understood: `a | b`, `a && b`, `2>&1`, `> file`, a trailing `\\`, `not`, `env NAME=value`, `%s %S %t %%`.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
import types
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from unittest import mock

RUN_LINE = re.compile(r"(?://|#|;)\s*RUN:\s?(?P<command>.*)$")


class MissingTool(Exception):
    """A program that a RUN line names is not installed."""


@dataclass(frozen=True)
class Result:
    """The outcome of a command: its exit code, output and errors."""

    code: int
    out: str
    err: str


@dataclass(frozen=True)
class Command:
    """One program of a pipeline. `merges` is `2>&1`."""

    words: tuple[str, ...]
    merges: bool = False
    output: Path | None = None

    def run(self, stdin: str) -> Result:
        words, environment, is_negated = list(self.words), {}, False
        while words and words[0] in ("not", "env"):
            if words.pop(0) == "not":
                is_negated = not is_negated
            else:
                while words and re.match(r"[A-Za-z_]\w*=", words[0]):
                    name, _, environment[name] = words.pop(0).partition("=")
        if not words:
            raise ValueError("a RUN line has an empty command")
        with mock.patch.dict(os.environ, environment):
            result = IN_PROCESS.get(words[0], run_program)(words, stdin, self.merges)
        if is_negated:
            result = replace(result, code=int(result.code == 0))
        if self.output is not None:
            self.output.write_text(result.out)
            result = replace(result, out="")
        return result


def run_lines(path: Path) -> list[str]:
    """The commands of a test file, continued lines joined."""
    commands: list[str] = []
    is_continued = False
    for line in path.read_text().splitlines():
        if match := RUN_LINE.search(line):
            text = match["command"].strip()
            if is_continued:
                commands[-1] = f"{commands[-1]} {text}"
            else:
                commands.append(text)
            is_continued = text.endswith("\\")
            if is_continued:
                commands[-1] = commands[-1][:-1].rstrip()
    return commands


def run_file(path: Path, scratch: Path) -> None:
    """Runs every RUN line of `path`; AssertionError with all that was printed if one fails."""
    commands = run_lines(path)
    assert commands, f"{path} has no RUN line"
    for text in commands:
        for pipeline in parse(substitute(text, path, scratch)):
            result = run_pipeline(pipeline)
            assert result.code == 0, (
                f"RUN: {text}\nexit code {result.code}\n--- output ---\n{result.out}\n--- errors ---\n{result.err}"
            )


def substitute(text: str, path: Path, scratch: Path) -> str:
    values = {"%s": path, "%S": path.parent, "%t": scratch / f"{path.stem}.tmp", "%%": "%"}
    return re.sub(r"%[sSt%]", lambda match: str(values[match[0]]), text)


def parse(text: str) -> list[list[Command]]:
    """`a | b && c` as [[a, b], [c]]."""
    lexer = shlex.shlex(text.replace("2>&1", " \0 "), posix=True, punctuation_chars="|&>")
    lexer.wordchars += "\0%=:,@{}[]+-^!~*#$"
    lexer.whitespace_split = True
    lexer.commenters = ""
    pipelines: list[list[Command]] = [[Command(())]]
    words = iter(lexer)
    for word in words:
        pipeline = pipelines[-1]
        if word == "|":
            pipeline.append(Command(()))
        elif word == "&&":
            pipelines.append([Command(())])
        elif word == ">":
            pipeline[-1] = replace(pipeline[-1], output=Path(next(words)))
        elif word == "\0":
            pipeline[-1] = replace(pipeline[-1], merges=True)
        elif set(word) <= set("|&>"):
            raise ValueError(f"{word!r} is not understood in the RUN line: {text}")
        else:
            pipeline[-1] = replace(pipeline[-1], words=(*pipeline[-1].words, word))
    return pipelines


def run_pipeline(pipeline: Sequence[Command]) -> Result:
    """As under `set -o pipefail`: returns the code of the last command that failed."""
    code, text, errors = 0, "", ""
    for command in pipeline:
        result = command.run(text)
        code, text, errors = result.code or code, result.out, errors + result.err
    return Result(code, text, errors)


@contextlib.contextmanager
def streams(stdin: str, merges: bool) -> Generator[tuple[io.StringIO, io.StringIO]]:
    out, saved = io.StringIO(), sys.stdin
    err = out if merges else io.StringIO()
    sys.stdin = io.StringIO(stdin)
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            yield out, err
    finally:
        sys.stdin = saved


def captured(action: Callable[[], object], stdin: str, merges: bool) -> Result:
    """Runs `action` as if it were a process: its SystemExit is an exit code, any other exception a traceback and 1."""
    with streams(stdin, merges) as (out, err):
        try:
            value = action()
            code = value if isinstance(value, int) else 0
        except SystemExit as exit_request:
            code = exit_request.code if isinstance(exit_request.code, int) else int(exit_request.code is not None)
            if isinstance(exit_request.code, str):
                print(exit_request.code, file=sys.stderr)
        except Exception as error:
            # The frames of this function and of `action` would not be there in a process.
            traceback = error.__traceback__
            for _ in range(2):
                traceback = traceback.tb_next if traceback is not None and traceback.tb_next is not None else traceback
            sys.excepthook(type(error), error, traceback)
            code = 1
    return Result(code, out.getvalue(), "" if merges else err.getvalue())


def run_mlirad_opt(words: Sequence[str], stdin: str, merges: bool) -> Result:
    def action() -> object:
        from mlirad.opt import main

        return main(list(words[1:]))

    return captured(action, stdin, merges)


def run_python(words: Sequence[str], stdin: str, merges: bool) -> Result:
    """`python file.py args`: the file is executed as `__main__`."""
    if len(words) < 2 or words[1].startswith("-"):
        return run_program([sys.executable, *words[1:]], stdin, merges)
    path = Path(words[1])
    code = compile(path.read_text(), str(path), "exec")
    module = types.ModuleType("__main__")
    module.__file__ = str(path)

    def action() -> None:
        exec(code, module.__dict__)

    # Not by patching all of `sys.modules`, which would forget what the file imports: NumPy cannot be loaded twice.
    saved, sys.modules["__main__"] = sys.modules["__main__"], module
    try:
        with mock.patch.object(sys, "argv", list(words[1:])):
            return captured(action, stdin, merges)
    finally:
        sys.modules["__main__"] = saved


def run_filecheck(words: Sequence[str], stdin: str, merges: bool) -> Result:
    def action() -> int:
        from filecheck.finput import FInput
        from filecheck.matcher import Matcher
        from filecheck.options import parse_argv_options
        from filecheck.parser import Parser

        options = parse_argv_options(list(words))
        return Matcher(options, FInput("<stdin>", stdin), Parser.from_opts(options)).run()

    result = captured(action, stdin, merges)
    return result if result.code == 0 else replace(result, out=f"{result.out}\n--- what was checked ---\n{stdin}")


def run_program(words: Sequence[str], stdin: str, merges: bool) -> Result:
    """Any other program, as a process."""
    program = shutil.which(words[0])
    if program is None:
        raise MissingTool(words[0])
    done = subprocess.run(
        [program, *words[1:]],
        input=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT if merges else subprocess.PIPE,
        text=True,
        timeout=300,
        check=False,
    )
    return Result(done.returncode, done.stdout, done.stderr or "")


IN_PROCESS: dict[str, Callable[[Sequence[str], str, bool], Result]] = {
    "mlirad-opt": run_mlirad_opt,
    "python": run_python,
    "filecheck": run_filecheck,
}
