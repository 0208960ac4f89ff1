"""Pairs donated arguments with the results that take their memory.

Reads: the leaves of the arguments, and the descriptions of the results. Writes: nothing. Leaves: donated arrays that no
result fits, and those that the caller gets back, whole or as views.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set

from mlirad.contract.results import ArgumentAlias, ArrayResult, ChoiceResult, ResultLeaf, ViewResult
from mlirad.signature import ArrayLeaf, LeafSpec


def paired(donated: Set[int], leaves: Sequence[LeafSpec], results: Sequence[ResultLeaf]) -> dict[int, int]:
    """The numbers of results, by leaf. Each result goes to the first leaf with its shape and dtype."""
    kept = {leaf for result in results for leaf in _arguments_in(result)}
    free = {result.index: result for result in results if isinstance(result, ArrayResult)}
    found: dict[int, int] = {}
    for leaf in sorted(donated - kept):
        spec = leaves[leaf]
        if not isinstance(spec, ArrayLeaf):
            continue
        fitting = (index for index, each in free.items() if (each.shape, each.dtype) == (spec.shape, spec.dtype))
        index = next(fitting, None)
        if index is not None:
            found[leaf] = index
            del free[index]
    return found


def _arguments_in(result: ResultLeaf) -> Iterator[int]:
    """The leaves that the caller gets back in a result."""
    if isinstance(result, ArgumentAlias):
        yield result.leaf
    elif isinstance(result, ViewResult):
        yield from _arguments_in(result.base)
    elif isinstance(result, ChoiceResult):
        for option in result.options:
            yield from _arguments_in(option)
