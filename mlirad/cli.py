"""Reads: the command line. Writes: what the command prints. Leaves: an exit code."""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from mlirad import __version__
from mlirad.jit.disk_store import Store
from mlirad.options import Environment

_ARGUMENTS = 'Python expressions, such as "np.ones(3)" 2.0; by default those of the first call when the file runs'


def parser() -> argparse.ArgumentParser:
    return _parser_and_commands()[0]


def _parser_and_commands() -> tuple[argparse.ArgumentParser, Collection[str]]:
    command_line = argparse.ArgumentParser(
        prog="mlirad", description="Compiles NumPy functions and their derivatives. mlirad-opt works on IR files."
    )
    command_line.add_argument("--version", action="version", version=f"mlirad {__version__}")
    commands = command_line.add_subparsers(dest="command", required=True, metavar="COMMAND")
    demo = commands.add_parser("demo", help="train a classifier of handwritten digits; needs mlirad[examples]")
    demo.add_argument(
        "--dump", type=Path, default=Path("mlirad-demo-dumps"), metavar="DIR", help="the folder (%(default)s)"
    )
    demo.add_argument("--epochs", type=int, default=30, help="passes over the training images (%(default)s)")
    kept = commands.add_parser("cache", help="the cache of compiled code on disk")
    kept.add_argument(
        "action",
        nargs="?",
        default="show",
        choices=("show", "verify", "clear"),
        help="show where it is and how large (the default); verify it and remove damaged entries; clear it",
    )
    covered = commands.add_parser("coverage", help="which functions can be compiled, and which calls in a file cannot")
    covered.add_argument(
        "subjects",
        nargs="*",
        metavar="FILE|FUNCTION",
        help="Python files (exit code 1: a call is not compiled), or functions such as numpy.sum; a summary if none",
    )
    commands.add_parser("targets", help="the installed targets, what runs their code, and their options")
    shown = commands.add_parser("explain", help="a function and its adjoint, side by side, as NumPy source")
    shown.add_argument("subject", metavar="FILE.py:FUNCTION")
    shown.add_argument(
        "arguments",
        nargs="*",
        metavar="ARGUMENT",
        help=_ARGUMENTS,
    )
    shown.add_argument("--html", type=Path, metavar="PAGE", help="write a page that needs nothing else")
    traced = commands.add_parser("trace", help="what a call computes, step by step, and the adjoint of each step")
    traced.add_argument("subject", metavar="FILE.py:FUNCTION")
    traced.add_argument("arguments", nargs="*", metavar="ARGUMENT", help=_ARGUMENTS)
    tangents = "a direction for each argument, for the forward tangent trace: Python expressions, which may use np"
    traced.add_argument("--direction", nargs="+", metavar="TANGENT", help=tangents)
    traced.add_argument("--html", type=Path, metavar="PAGE", help="write a page with the tables and the graph")
    traced.add_argument("--svg", type=Path, metavar="PICTURE", help="write the computational graph as a picture")
    recorded = commands.add_parser("grads", help="each cotangent of a gradient, with its line")
    recorded.add_argument("subject", metavar="FILE.py:FUNCTION")
    recorded.add_argument("arguments", nargs="*", metavar="ARGUMENT", help=_ARGUMENTS)
    recorded.add_argument("--html", type=Path, metavar="PAGE", help="write a page that needs nothing else")
    reaching = commands.add_parser(
        "dependence", help="which numbers of the arguments reach which numbers of the results"
    )
    reaching.add_argument("subject", metavar="FILE.py:FUNCTION")
    reaching.add_argument("arguments", nargs="*", metavar="ARGUMENT", help=_ARGUMENTS)
    reaching.add_argument("--svg", type=Path, metavar="PICTURE", help="write a picture")
    exported = commands.add_parser("export", help="write a function as input for the tools of a target's device")
    exported.add_argument("subject", metavar="FILE.py:FUNCTION")
    exported.add_argument("arguments", nargs="*", metavar="ARGUMENT", help=_ARGUMENTS)
    exported.add_argument("--target", required=True, metavar="NAME", help="one of those that `mlirad targets` lists")
    default = Path("mlirad-export")
    exported.add_argument("--out", type=Path, default=default, metavar="DIR", help="the output folder (%(default)s)")
    return command_line, commands.choices


def _parser_of(target: str) -> argparse.ArgumentParser:
    """The parser of the commands `mlirad TARGET ...`."""
    command_line = argparse.ArgumentParser(prog=f"mlirad {target}", description=f"Commands of the target {target!r}.")
    commands = command_line.add_subparsers(dest="command", required=True, metavar="COMMAND")
    viewed = commands.add_parser("view", help="run a function on this target, and write pictures of the run")
    viewed.add_argument("subject", metavar="FILE.py:FUNCTION")
    viewed.add_argument("arguments", nargs="*", metavar="ARGUMENT", help=_ARGUMENTS)
    default = Path("mlirad-view")
    viewed.add_argument("--out", type=Path, default=default, metavar="DIR", help="folder for them (%(default)s)")
    return command_line


def main(argv: Sequence[str] | None = None) -> int:
    """The entry point of `mlirad`."""
    words = sys.argv[1:] if argv is None else list(argv)
    command_line, commands = _parser_and_commands()
    if words and not words[0].startswith("-") and words[0] not in commands and _is_target(words[0]):
        found = _parser_of(words[0]).parse_args(words[1:])
        return _on_a_function(partial(_view, words[0], found.subject, found.arguments, found.out))
    arguments = command_line.parse_args(words)
    match arguments.command:
        case "demo":
            from mlirad.demo import run

            return run(arguments.dump, arguments.epochs)
        case "cache":
            return _cache(arguments.action)
        case "coverage":
            return _coverage(arguments.subjects)
        case "targets":
            return _targets()
        case "explain":
            return _on_a_function(partial(_explain, arguments.subject, arguments.arguments, arguments.html))
        case "trace":
            pages = arguments.html, arguments.svg
            command = partial(_trace, arguments.subject, arguments.arguments, arguments.direction, *pages)
            return _on_a_function(command)
        case "grads":
            return _on_a_function(partial(_grads, arguments.subject, arguments.arguments, arguments.html))
        case "dependence":
            return _on_a_function(partial(_dependence, arguments.subject, arguments.arguments, arguments.svg))
        case "export":
            return _on_a_function(
                partial(_export, arguments.subject, arguments.arguments, arguments.target, arguments.out)
            )
        case other:
            raise NotImplementedError(other)


def _on_a_function(command: Callable[[], int]) -> int:
    """Run a command on a function and its arguments. Exit code 1: it cannot be compiled, raises, has no answer, or its
    page cannot be written; 2: there is no such function, or no such arguments."""
    from mlirad.errors import CompileError
    from mlirad.explaining.explain import NoExample

    try:
        return command()
    except (NoExample, CompileError, OSError) as error:
        print(error)
        return 2 if isinstance(error, NoExample) else 1
    except Exception as error:
        if getattr(error, "location", None) is None:
            raise
        print(f"{type(error).__name__}: {error}")  # the function has raised it, and the message says where
        return 1


def _explain(subject: str, expressions: Sequence[str], page: Path | None) -> int:
    from mlirad.explaining import side_by_side
    from mlirad.explaining.explain import explained

    found = explained(subject, expressions)
    if page is None:
        print(side_by_side.in_columns(found, shutil.get_terminal_size().columns if sys.stdout.isatty() else None))
    else:
        page.write_text(side_by_side.as_page(found))
    return 0


def _trace(
    subject: str,
    expressions: Sequence[str],
    direction: Sequence[str] | None,
    page: Path | None,
    picture: Path | None,
) -> int:
    import mlirad
    from mlirad.explaining.explain import evaluated, example_call

    function, arguments = example_call(subject, expressions)
    arguments = _as_textbooks_mean(arguments)
    tangents = None if direction is None else evaluated(direction, {})
    try:
        found = mlirad.trace(function, *arguments, direction=tangents)
    except ValueError as error:
        print(error)
        return 1
    if page is not None:
        page.write_text(found.html())
    if picture is not None:
        picture.write_text(found.svg())
    if page is None and picture is None:
        print(found)
    return 0


def _as_textbooks_mean(arguments: Sequence[Any]) -> Sequence[Any]:
    """Floats for `2 5`: integers have no derivatives."""
    return tuple(map(float, arguments)) if all(type(each) is int for each in arguments) else arguments


def _grads(subject: str, expressions: Sequence[str], page: Path | None) -> int:
    import mlirad
    from mlirad.explaining.explain import example_call, float_arguments

    function, arguments = example_call(subject, expressions)
    arguments = _as_textbooks_mean(arguments)
    _, record = mlirad.record_grad(function, float_arguments(function, arguments))(*arguments)
    if page is None:
        print(record)
    else:
        page.write_text(record.html())
    return 0


def _dependence(subject: str, expressions: Sequence[str], picture: Path | None) -> int:
    import mlirad
    from mlirad.explaining.explain import example_call

    function, arguments = example_call(subject, expressions)
    found = mlirad.dependence(function, *_as_textbooks_mean(arguments))
    if picture is None:
        print(found)
    else:
        picture.write_text(found.svg())
    return 0


def _is_target(name: str) -> bool:
    from mlirad.targets.finding import target_names

    return name in target_names()


def _view(target: str, subject: str, expressions: Sequence[str], folder: Path) -> int:
    """Exit code 1: the target shows nothing."""
    import mlirad
    from mlirad.explaining.explain import example_call
    from mlirad.targets.finding import find_target

    function, arguments = example_call(subject, expressions)
    kernel = mlirad.jit(function, target=target)
    pictures = find_target(target).pictures(lambda: kernel(*arguments))
    if not pictures:
        print(f"the target {target!r} has nothing to show")
        return 1
    _write(pictures, folder)
    return 0


def _export(subject: str, expressions: Sequence[str], target: str, folder: Path) -> int:
    import mlirad
    from mlirad.explaining.explain import example_call

    function, arguments = example_call(subject, expressions)
    _write(mlirad.jit(function, target=target).lower(*arguments).export(), folder)
    return 0


def _write(files: Mapping[str, str], folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name).write_text(text)
        print(folder / name)


def _targets() -> int:
    """Exit code 1: a target cannot be used."""
    from mlirad.errors import TargetError
    from mlirad.targets.finding import find_target, installed_targets, option_names

    code = 0
    for name, owners in sorted(installed_targets().items()):
        packages = ", ".join(dict.fromkeys(each.package for each in owners))
        try:
            target = find_target(name)
            listed = ", ".join(option_names(name)) or "none"
            stages = ", ".join(stage.name for stage in target.stages())
            print(f"{name} (of {packages}): {target.runtime_info()}\n  options: {listed}\n  stages: {stages}")
        except TargetError as error:
            print(f"{name} (of {packages}): {error}")
            code = 1
    return code


def _coverage(subjects: Sequence[str]) -> int:
    """Exit code 1: something is not compiled; 2: a file cannot be read."""
    from mlirad.testing.calls import coverage_report

    if not subjects:
        print("\n".join(coverage_report.summary()))
    code = 0
    for subject in subjects:
        try:
            is_file = subject.endswith(".py")
            lines, own = coverage_report.of_file(Path(subject)) if is_file else coverage_report.of_name(subject)
        except (OSError, SyntaxError, UnicodeDecodeError) as error:
            lines, own = [f"{subject}: {error}"], 2
        print("\n".join(lines))
        code = max(code, own)
    return code


def _cache(action: str) -> int:
    """Exit code 1: `verify` has found damage."""
    root = Environment.read().cache
    if root is None:
        print("the cache is off (MLIRAD_CACHE=0), or there is no home directory")
        return 0
    store = Store(root)
    print(root)
    if (why := store.refusal()) is not None:
        print(f"not used: {why}")
    if action == "clear":
        print(f"{store.clear()} entries removed")
        return 0
    census = store.verify() if action == "verify" else store.census()
    print(f"{census.entries} entries, {census.size} bytes, of at most {store.limit}")
    if action == "verify":
        print(f"{census.damaged} damaged entries removed" if census.damaged else "all of them whole")
    return 1 if census.damaged else 0


if __name__ == "__main__":
    raise SystemExit(main())
