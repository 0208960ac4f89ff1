"""A bar that shows how far a loop or a solver is, in a terminal."""

import sys
from itertools import count


def progress(items, label=""):
    """The items, in order, and a bar on the error output, if that is a terminal."""
    items = list(items)
    try:
        for number, item in enumerate(items):
            draw(number, len(items), label)
            yield item
    finally:  # a loop that is left by break comes here, too
        clear(label)


def at_each_call(total, label=""):
    """A function that moves the bar by one: the callback of a solver that takes at most `total` steps."""
    numbers = count(1)
    return lambda *_: draw(next(numbers), total, label)


def draw(number, total, label=""):
    if sys.stderr.isatty():
        print(f"\r{label} [{'#' * (40 * number // total):40}] {number} of {total}", end="", file=sys.stderr)


def clear(label=""):
    if sys.stderr.isatty():
        print("\r" + " " * (len(label) + 64) + "\r", end="", file=sys.stderr)
