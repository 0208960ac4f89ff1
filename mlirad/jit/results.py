"""From the results of compiled code to the values that the Python function returns; pullbacks among them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from mlirad import tree
from mlirad.frontend.build import (
    ArgumentAlias,
    ArrayResult,
    CaptureAlias,
    ChoiceResult,
    PullbackEntry,
    ResidualsResult,
    ResultLeaf,
    SameResult,
    ScalarResult,
    StaticResult,
)
from mlirad.targets.target import Artifact


def dtypes_of(leaves: Sequence[ResultLeaf], written: Mapping[int, int]) -> dict[int, np.dtype | None]:
    """The number and dtype of every result that the leaves and the written arguments stand for."""
    found: dict[int, np.dtype | None] = dict.fromkeys(written.values())
    for leaf in leaves:
        if isinstance(leaf, ArrayResult | ScalarResult):
            found[leaf.index] = leaf.dtype
        elif isinstance(leaf, ResidualsResult):
            found[leaf.index] = None
        elif isinstance(leaf, ChoiceResult):
            found[leaf.selector] = np.dtype(np.int64)
            found.update(dtypes_of(leaf.options, {}))
    return found


def rebuild(
    structure: tree.Structure,
    leaves: Sequence[ResultLeaf],
    results: Sequence[Any],
    argument_leaves: Sequence[Any],
    captured: Sequence[Any],
) -> Any:
    """The value that the Python function returns."""
    made: list[Any] = []
    for leaf in leaves:
        made.append(_leaf(leaf, results, argument_leaves, captured, made))
    return tree.unflatten(structure, made)


def _leaf(
    leaf: ResultLeaf, results: Sequence[Any], arguments: Sequence[Any], captured: Sequence[Any], made: Sequence[Any]
) -> Any:
    match leaf:
        case ArrayResult():
            array = results[leaf.index]
            return array if array.dtype == leaf.dtype else array.view(leaf.dtype)
        case ScalarResult():
            value = np.array(results[leaf.index]).astype(leaf.dtype)[()]
            return value.item() if leaf.weak else value
        case ResidualsResult():
            return results[leaf.index]
        case StaticResult():
            return leaf.value
        case ArgumentAlias():
            return arguments[leaf.leaf]
        case CaptureAlias():
            return captured[leaf.number]
        case SameResult():
            return made[leaf.leaf]
        case ChoiceResult():
            return _leaf(leaf.options[int(results[leaf.selector])], results, arguments, captured, made)


class Pullback:
    """A function from a cotangent of a function's value to a tuple of cotangents of its arguments.

    It owns what the forward sweep has kept, and only runs the reverse sweep, each time that it is called.
    """

    def __init__(self, artifact: Artifact, entry: PullbackEntry, residuals: tuple[Any, ...]):
        self._artifact = artifact
        self._entry = entry
        self._residuals = residuals

    def __call__(self, cotangent: Any) -> tuple[Any, ...]:
        """The cotangents of the primals, one each, of their structure, shapes and dtypes.

        cotangent: of the value's structure and shapes; numbers and arrays of other dtypes are converted if NumPy's
        "same_kind" rule allows it. Raises ValueError or TypeError where it does not fit.
        """
        leaves, structure = tree.flatten(cotangent)
        entry = self._entry
        if structure != entry.cotangents:
            raise ValueError(f"the cotangent has the structure {structure}, and the value {entry.cotangents}")
        wanted = entry.cotangent_leaves
        passed = [_fit(leaf, spec) for leaf, spec in zip(leaves, wanted, strict=True) if not _is_static(spec)]
        results = self._artifact.invoke(entry.name, [*self._residuals, *passed])
        return rebuild(entry.structure, entry.results, results, (), ())


def _is_static(spec: Any) -> bool:
    return isinstance(spec, StaticResult)


def _fit(leaf: Any, spec: Any) -> Any:
    array = np.asarray(leaf)
    shape = spec.shape if isinstance(spec, ArrayResult) else ()
    if array.shape != shape:
        raise ValueError(f"a cotangent has the shape {array.shape}, and the value {shape}")
    if not np.can_cast(array.dtype, spec.dtype, "same_kind") and not isinstance(leaf, bool | int | float):
        raise TypeError(f"a cotangent has the dtype {array.dtype}, and the value {spec.dtype}")
    fitted = np.ascontiguousarray(array, spec.dtype).reshape(shape)
    return fitted if isinstance(spec, ArrayResult) else fitted[()]
