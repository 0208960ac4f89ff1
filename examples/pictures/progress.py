"""A bar that shows how far a loop is, in a terminal."""

import sys


def progress(items, label=""):
    """The items, in order, and a bar on the error output, if that is a terminal."""
    items = list(items)
    for number, item in enumerate(items):
        if sys.stderr.isatty():
            done = 40 * number // len(items)
            print(f"\r{label} [{'#' * done:40}] {number} of {len(items)}", end="", file=sys.stderr)
        yield item
    if sys.stderr.isatty():
        print("\r" + " " * (len(label) + 64) + "\r", end="", file=sys.stderr)
