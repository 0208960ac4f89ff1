"""Reads: the command line. Writes: what the command prints. Leaves: an exit code."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from mlirad import __version__


def parser() -> argparse.ArgumentParser:
    command_line = argparse.ArgumentParser(
        prog="mlirad", description="Compiles NumPy functions and their derivatives. mlirad-opt works on IR files."
    )
    command_line.add_argument("--version", action="version", version=f"mlirad {__version__}")
    commands = command_line.add_subparsers(dest="command", required=True, metavar="COMMAND")
    demo = commands.add_parser("demo", help="train a classifier of handwritten digits; needs mlirad[examples]")
    demo.add_argument(
        "--dump", type=Path, default=Path("mlirad-demo-dumps"), metavar="DIR", help="where the stages go (%(default)s)"
    )
    demo.add_argument("--epochs", type=int, default=30, help="passes over the training images (%(default)s)")
    return command_line


def main(argv: Sequence[str] | None = None) -> int:
    """The entry point of `mlirad`."""
    arguments = parser().parse_args(argv)
    match arguments.command:
        case "demo":
            from mlirad.demo import run

            return run(arguments.dump, arguments.epochs)
        case other:
            raise NotImplementedError(other)


if __name__ == "__main__":
    raise SystemExit(main())
