"""`python -m mlirad.testing.programs`: a campaign.

Reads: options. Writes: the log, the summary. Leaves: the exit code.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from mlirad.testing.programs.campaign import STAGES, judged, run
from mlirad.testing.programs.generate import BIASES, generate
from mlirad.testing.programs.minimise import minimised
from mlirad.testing.programs.program import Program


def show(program: Program, how: str, derivatives: bool, is_minimised: bool) -> int:
    """Print a program, minimised or as it is, and the verdicts on it."""
    with tempfile.TemporaryDirectory() as directory:

        def wrong(candidate: Program) -> set[str]:
            return {v.about for v in judged(candidate, how, Path(directory), derivatives) if v.kind == "wrong"}

        found = wrong(program) if is_minimised else set[str]()
        if found:
            program = minimised(program, lambda candidate: bool(found & wrong(candidate)))
        print(program.source)
        for verdict in judged(program, how, Path(directory), derivatives):
            print(verdict)
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description="Compare random programs, compiled, with NumPy.")
    parser.add_argument("--how", choices=STAGES, default="autodiff", help="native, or interpreted at a stage")
    parser.add_argument("--target", help="with --how native: a target, which is also compared with the usual one")
    parser.add_argument("--bias", choices=BIASES, action="append", help="the generator's bias; all if not given")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--count", type=int, default=100, help="how many seeds for each bias")
    parser.add_argument("--log", type=Path, help="a file of results: seeds in it are not run again")
    parser.add_argument("--no-derivatives", action="store_true", help="values and side effects only")
    parser.add_argument("--show", action="store_true", help="print the program of the first seed and its verdicts")
    parser.add_argument("--minimise", action="store_true", help="minimise the wrong program of the first seed")
    options = parser.parse_args()
    if options.target is not None:
        if options.how != "native":
            parser.error("--target goes with --how native")
        options.how += f":{options.target}"
    biases = options.bias or list(BIASES)
    if options.show or options.minimise:
        return show(generate(options.first, biases[0]), options.how, not options.no_derivatives, options.minimise)
    keys = [(bias, seed) for seed in range(options.first, options.first + options.count) for bias in biases]
    summary = run(keys, options.how, options.log, not options.no_derivatives)
    print(f"{options.how}, seeds {options.first} to {options.first + options.count - 1} of {', '.join(biases)}:")
    print(summary.text())
    return bool(summary.failures)


if __name__ == "__main__":
    sys.exit(main())
