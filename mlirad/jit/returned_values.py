"""Makes the values that the Python function returns, including pullbacks, from the results of compiled code."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar, Self

import numpy as np

from mlirad import tree
from mlirad.contract.results import (
    ArgumentAlias,
    ArrayResult,
    CaptureAlias,
    ChoiceResult,
    ListResult,
    PullbackEntry,
    ResidualsResult,
    ResultLeaf,
    RunTime,
    SameResult,
    ScalarResult,
    StaticResult,
    ViewResult,
)
from mlirad.jit.returned_views import view_of
from mlirad.signature import weak_kind
from mlirad.targets.target import Artifact


def dtypes_of(leaves: Sequence[ResultLeaf], written: Sequence[int] = ()) -> dict[int, np.dtype | None]:
    """The number and dtype of every result that belongs to a leaf, and of every result that is `written`."""
    found: dict[int, np.dtype | None] = dict.fromkeys(written)
    for leaf in leaves:
        if isinstance(leaf, ArrayResult | ScalarResult):
            found[leaf.index] = leaf.dtype
        elif isinstance(leaf, ResidualsResult):
            found[leaf.index] = None
            found.update((index, np.dtype(np.int64)) for index in leaf.sizes)
        elif isinstance(leaf, ViewResult):
            found.update(dtypes_of([leaf.base]))
            numbers = [number for step in leaf.steps for number in step.numbers()]
            found.update((number.index, np.dtype(np.int64)) for number in numbers if isinstance(number, RunTime))
        elif isinstance(leaf, ChoiceResult):
            found[leaf.selector] = np.dtype(np.int64)
            found.update(dtypes_of(leaf.options))
        elif isinstance(leaf, ListResult):
            found.update(dtypes_of(leaf.rows))
            if isinstance(leaf.count, RunTime):
                found[leaf.count.index] = np.dtype(np.int64)
    return found


Maker = Callable[[Sequence[Any], Sequence[Any], Sequence[Any], Sequence[Any]], Any]


class Returned:
    """Makes the value that the Python function returns. Decisions that depend on the leaves' kinds are made once."""

    def __init__(self, structure: tree.Structure, leaves: Sequence[ResultLeaf]):
        self._structure = structure
        self._makers = [_maker(leaf) for leaf in leaves]
        self._open = sorted({index for leaf in leaves for index in _of_open_size(leaf)})

    def __call__(self, results: Sequence[Any], leaves: Sequence[Any], captured: Sequence[Any]) -> Any:
        """results: with the dtypes of `dtypes_of`. leaves: of the call's arguments."""
        made: list[Any] = []
        if self._open:
            # Their memory is part of a larger block of the call, which they would keep alive.
            results = [result.copy() if k in self._open else result for k, result in enumerate(results)]
        for make in self._makers:
            made.append(make(results, leaves, captured, made))
        return made[0] if self._structure is tree.LEAF else tree.unflatten(self._structure, made)


def _of_open_size(leaf: ResultLeaf) -> Iterator[int]:
    """The numbers of the results that are new arrays of a size known only at run time."""
    match leaf:
        case ArrayResult() if -1 in leaf.shape:
            yield leaf.index
        case ViewResult():
            yield from _of_open_size(leaf.base)
        case ChoiceResult():
            for option in leaf.options:
                yield from _of_open_size(option)


def _maker(leaf: ResultLeaf) -> Maker:
    match leaf:
        case ArrayResult() | ResidualsResult():
            return lambda results, leaves, captured, made: results[leaf.index]
        case ScalarResult():
            kind = weak_kind(leaf.dtype) if leaf.weak else leaf.dtype.type
            return lambda results, leaves, captured, made: kind(results[leaf.index])
        case StaticResult():
            return lambda results, leaves, captured, made: leaf.value
        case ArgumentAlias():
            return lambda results, leaves, captured, made: leaves[leaf.leaf]
        case CaptureAlias():
            return lambda results, leaves, captured, made: captured[leaf.number]
        case SameResult():
            return lambda results, leaves, captured, made: made[leaf.leaf]
        case ViewResult():
            base = _maker(leaf.base)
            return lambda results, *others: view_of(base(results, *others), leaf, results)
        case ChoiceResult():
            options = [_maker(option) for option in leaf.options]
            return lambda results, *others: options[int(results[leaf.selector])](results, *others)
        case ListResult():
            return lambda results, leaves, captured, made: _list_of(leaf, results)


def _list_of(leaf: ListResult, results: Sequence[Any]) -> list[Any]:
    """A list made of the rows of arrays; arrays in it are separate copies."""
    count = int(results[leaf.count.index]) if isinstance(leaf.count, RunTime) else leaf.count
    columns = [_elements_of(row, results[row.index][:count]) for row in leaf.rows]
    if leaf.structure is tree.LEAF:
        return columns[0]
    return [tree.unflatten(leaf.structure, row) for row in zip(*columns, strict=True)]


def _elements_of(row: ArrayResult | ScalarResult, rows: np.ndarray) -> list[Any]:
    if isinstance(row, ArrayResult):
        return [each.copy() for each in rows]
    return rows.tolist() if row.weak else list(rows)


class _OfResiduals:
    """A function that owns the residuals of a forward sweep, and uses them at each call."""

    # Its name, its argument, and the value that the argument must resemble.
    KIND: ClassVar[str]
    GIVEN: ClassVar[str]
    LIKE: ClassVar[str]

    def __init__(self, artifact: Artifact, entry: PullbackEntry, residuals: tuple[Any, ...], sizes: Sequence[int] = ()):
        """sizes: the unknown sizes in the shapes of the arguments, in order, then those that are operands."""
        self._artifact = artifact
        given = iter(sizes)
        self._shapes = [
            tuple(next(given) if size < 0 else size for size in leaf.shape) if isinstance(leaf, ArrayResult) else ()
            for leaf in entry.cotangent_leaves
        ]
        self._sizes = list(given)
        self._entry = entry
        self._residuals = residuals
        self._returned = Returned(entry.structure, entry.results)
        dtypes = dtypes_of(entry.results)
        self._dtypes = [dtypes.get(number) for number in range(artifact.result_count(entry.name))]

    def _run(self, given: Any) -> Any:
        leaves, structure = tree.flatten(given)
        entry = self._entry
        if structure != entry.cotangents:
            raise ValueError(
                f"the {self.GIVEN} has the structure {structure}, and the {self.LIKE} {entry.cotangents}, where * is a "
                f"number or an array: pass a {self.GIVEN} for each part of the {self.LIKE}"
            )
        wanted = zip(leaves, entry.cotangent_leaves, self._shapes, strict=True)
        passed = [self._fitted(*each) for each in wanted if not self._is_ignored(*each[:2])]
        results = self._artifact.invoke(entry.name, [*self._residuals, *passed, *self._sizes], self._dtypes)
        return self._returned(results, (), ())

    def _is_ignored(self, leaf: Any, spec: Any) -> bool:
        return isinstance(spec, StaticResult)

    def _fitted(self, leaf: Any, spec: Any, shape: tuple[int, ...]) -> Any:
        array = np.asarray(leaf)
        if array.shape != shape:
            raise ValueError(f"a {self.GIVEN} has the shape {array.shape}, and the {self.LIKE} {shape}")
        if not np.can_cast(array.dtype, spec.dtype, "same_kind") and not isinstance(leaf, bool | int | float):
            raise TypeError(f"a {self.GIVEN} has the dtype {array.dtype}, and the {self.LIKE} {spec.dtype}")
        fitted = np.require(array, spec.dtype, ["C", "A"]).reshape(shape)
        return fitted if isinstance(spec, ArrayResult) else fitted[()]

    def __reduce__(self) -> Any:
        raise TypeError(
            f"a {self.KIND} holds compiled code and memory of this process; pickle the function and the primals"
        )

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, copied: object) -> Self:
        return self

    def last_memory(self) -> int | None:
        """The most bytes that the last call of a function of this code needed; see `Kernel.last_memory`."""
        return self._artifact.last_memory(self._entry.name)


class Pullback(_OfResiduals):
    """A function from a cotangent of a function's value to a tuple of cotangents of its arguments.

    It owns the residuals of the forward sweep, and each call runs only the reverse sweep.
    """

    KIND, GIVEN, LIKE = "pullback", "cotangent", "value"

    def __call__(self, cotangent: Any) -> tuple[Any, ...]:
        """The cotangents of the primals, one each, with their structure, shapes and dtypes.

        cotangent: of the value's structure and shapes; numbers and arrays of other dtypes are converted if NumPy's
        "same_kind" rule allows it. Raises ValueError or TypeError if it does not fit.
        """
        return self._run(cotangent)


class LinearFunction(_OfResiduals):
    """A function from tangents of a function's arguments to the tangent of its value.

    It owns the residuals of the forward sweep, and a call does not run the function again.
    """

    KIND, GIVEN, LIKE = "linear function", "tangent", "primal"

    def __call__(self, *tangents: Any) -> Any:
        """The tangent of the value, with its structure, shapes and dtypes.

        tangents: of the primals' structure and shapes; numbers and arrays of other dtypes are converted if NumPy's
        "same_kind" rule allows it. A primal without a derivative has the tangent None or 0. Raises ValueError or
        TypeError if they do not fit.
        """
        return self._run(tangents)

    def _is_ignored(self, leaf: Any, spec: Any) -> bool:
        if not isinstance(spec, StaticResult):
            return False
        if leaf is not None and np.any(leaf):
            raise ValueError("the tangent of a primal without a derivative must be None")
        return True
