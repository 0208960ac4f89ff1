"""The locks of random generators. A call holds them while its code draws.

Reads: structures of arguments, captures, the words of generators. Writes: nothing. Leaves: the locks that NumPy's own
methods take, in an order that is the same in all threads.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import numpy as np

from mlirad import tree
from mlirad.contract.captures import WORDS, Capture


def keys_of_generators(structure: tree.Structure, captures: Sequence[Capture]) -> frozenset[int]:
    """The inputs that are words of generators: the numbers of leaves, and -1 - k for capture k."""
    around = {-1 - number for number, each in enumerate(captures) if each.path.steps[-1:] == ((WORDS, 0),)}
    return frozenset(around.union(_leaves(structure, iter(range(tree.count(structure))))))


def _leaves(structure: tree.Structure, numbers: Iterator[int]) -> Iterator[int]:
    if isinstance(structure, tree.Leaf):
        next(numbers)
    elif isinstance(structure.keys, tree.GeneratorParts):
        yield next(numbers)
    else:
        for child in structure.children:
            yield from _leaves(child, numbers)


@contextmanager
def locked(words: Iterable[np.ndarray]) -> Iterator[None]:
    """Holds the locks of generators in a `with` block."""
    locks: dict[int, Any] = {}
    for each in words:
        lock = tree.generator_of(each).bit_generator.lock
        locks[id(lock)] = lock
    with ExitStack() as stack:
        for _, lock in sorted(locks.items()):
            stack.enter_context(lock)
        yield
