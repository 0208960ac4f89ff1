"""Corrupts the text of programs at random bytes: the simulator must then report an error of the program.

Reads: text of stage hivm-physical. Writes: corrupted text, and how it ends. Leaves: nothing.

    python tests/support/ascend_fuzz.py --first 0 --count 2000
"""

from __future__ import annotations

import argparse
import signal
import string
import traceback
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from random import Random
from typing import Any

from ascend_programs import CORPUS, Case
from xdsl.utils.exceptions import ParseError, VerifyException

from mlirad.dialect.ops.check import CheckFailed
from mlirad.targets.ascend.simulator.faults import NotSimulated, SimulatorFault

EXPECTED = (ParseError, VerifyException, NotSimulated, SimulatorFault, CheckFailed)
"""How a corrupted program may end, if it does not run."""
SECONDS = 10
PROGRAMS = ("tail by hand", "on three cores", "row sums", "matmul by hand", "host loop")
_NUMBERS = ("0", "-1", "1", "3", "7", "255", "65536", "2147483648", "9223372036854775807", "99999999999999999999999")


class TooLongError(Exception):
    """The program is still running."""


@contextmanager
def limited(seconds: int) -> Iterator[None]:
    def stop(*_: Any) -> None:
        raise TooLongError

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def corrupted(text: str, random: Random) -> str:
    """One to three changes."""
    for _ in range(random.choice((1, 1, 1, 2, 3))):
        at = random.randrange(len(text))
        behind = min(len(text), at + random.choice((1, 1, 2, 5, 20, 100)))
        match random.randrange(8):
            case 0:
                text = text[:at]
            case 1:
                text = text[:at] + text[behind:]
            case 2:
                text = text[:behind] + text[at:]
            case 3:
                text = text[:at] + random.choice(string.printable) + text[at + 1 :]
            case 4:
                text = text[:at] + random.choice("\0\u00e9\U0001f600\ud800") + text[at:]
            case 5:
                lines = text.split("\n")
                lines.insert(random.randrange(len(lines)), random.choice(lines))
                text = "\n".join(lines)
            case 6:
                lines = text.split("\n")
                del lines[random.randrange(len(lines))]
                text = "\n".join(lines)
            case _:
                digits = [place for place, each in enumerate(text) if each.isdigit()]
                if digits:
                    place = random.choice(digits)
                    end = place
                    while end < len(text) and text[end].isdigit():
                        end += 1
                    text = text[:place] + random.choice(_NUMBERS) + text[end:]
    return text


def ending(case: Case, text: str) -> str:
    """How a corrupted program ends. Other exceptions than those expected are faults of the simulator."""
    try:
        with limited(SECONDS):
            program = case.program(text)
            for name in program.functions:
                if name not in program.kernels:
                    program.run(name, case.values())
    except EXPECTED as error:
        assert str(error)
        return type(error).__name__
    except TooLongError:
        return "too long"
    return "runs"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=2000)
    options = parser.parse_args()
    endings: Counter[str] = Counter()
    for seed in range(options.first, options.first + options.count):
        random = Random(seed)
        case = CORPUS[random.choice(PROGRAMS)]
        try:
            how = ending(case, corrupted(case.text(), random))
            endings[how] += 1
            if how == "too long":
                print(seed, case.name, how, flush=True)
        except Exception as error:
            where = traceback.extract_tb(error.__traceback__)[-1]
            endings[f"FAULT {type(error).__name__} {where.filename.rsplit('/', 1)[-1]}:{where.lineno}"] += 1
            print(seed, case.name, type(error).__name__, str(error)[:120], where.filename, where.lineno, flush=True)
    for each, count in endings.most_common():
        print(f"{count:6} {each}")


if __name__ == "__main__":
    main()
