"""`python -m mlirad.testing.grammar --first 0 --count 1000`: judge programs.

Reads: options. Writes: the summary. Leaves: the exit code, 1 if a program was wrong.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from mlirad.testing.grammar.campaign import campaign, judged
from mlirad.testing.grammar.generate import generate


def main() -> int:
    parser = argparse.ArgumentParser(description="Compare programs drawn from Python's grammar with plain Python.")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--count", type=int, default=100, help="how many seeds")
    parser.add_argument("--show", action="store_true", help="print the program of the first seed and its verdicts")
    options = parser.parse_args()
    if options.show:
        program = generate(options.first)
        print(program.parameters, program.source, sep="\n")
        with tempfile.TemporaryDirectory() as directory:
            print(*judged(program, Path(directory)), sep="\n")
        return 0
    summary = campaign(options.first, options.count)
    print(f"programs {options.first} to {options.first + options.count - 1}:", summary.text())
    return bool(summary.failures)


if __name__ == "__main__":
    sys.exit(main())
