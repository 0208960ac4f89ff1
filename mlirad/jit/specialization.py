"""A compiled version of a function: for one signature, with the static values and guards of its build.

Reads: the built function and its code. Writes: the caller's arrays and containers. Gives: a callable on the leaves of
the arguments. Leaves: compiling, which `compilation.py` does.

A call turns `leaves`, one for each leaf of the arguments, into `values`, one for each input of the code, and the code's
`results` into the function's return value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np

from mlirad.contract.call_recipes import CallPlan
from mlirad.contract.generator_locks import keys_of_generators, locked
from mlirad.contract.interface import Interface
from mlirad.contract.results import ResidualsResult
from mlirad.jit import arguments
from mlirad.jit.aliasing import overlapping
from mlirad.jit.arguments import Input
from mlirad.jit.containers import change, containers_of
from mlirad.jit.returned_values import LinearFunction, Pullback, Returned, dtypes_of
from mlirad.jit.shared_memory import Recompile, SharedMemory
from mlirad.requests.kinds_of_derivatives import Jvp
from mlirad.signature import ArrayLeaf, ScalarLeaf, Signature, StaticLeaf
from mlirad.targets.target import Artifact

_PYTHON_INT = ScalarLeaf(np.dtype(np.int64), weak=True)


@dataclass(eq=False)
class Specialization:
    """Compiled code, with the conversion of leaves to its inputs and of its results to the caller's values.

    signature: what it was built for; `static` are the leaves with values that the frontend needed.
    """

    built: Interface
    artifact: Artifact
    signature: Signature
    static: Mapping[int, StaticLeaf]
    inputs: tuple[Input, ...]
    recompile: Recompile[Specialization]
    is_aliased: bool = False
    slow_calls: int = 0
    plan: CallPlan | None = None
    """The plan for calls without Python, after `fast_calls.plan_for` has made it; None also if there can be none."""
    is_planned: bool = False

    def __post_init__(self) -> None:
        built = self.built
        self.shared_memory = SharedMemory(self.inputs, built.captures, self.recompile, self.is_aliased)
        self._instead: Specialization | None = None  # of the last call
        self._returned = Returned(built.structure, built.results)
        self._takes_leaves = tuple(each.leaf_number for each in self.inputs) == tuple(range(len(self.signature.leaves)))
        self.written = [number for number, each in enumerate(self.inputs) if each.is_written]
        # Donated arrays that hold results. Only the code knows which, if its target uses any.
        taken = self.artifact.inputs_with_results(built.name)
        self.donated = [number for number, each in enumerate(self.inputs) if number in taken and not each.is_written]
        self._arrays = [
            number
            for number, each in enumerate(self.inputs)
            if each.leaf_number is None or isinstance(self.signature.leaves[each.leaf_number], ArrayLeaf)
        ]
        generators = keys_of_generators(self.signature.structure, built.captures)
        self._generators = [number for number, each in enumerate(self.inputs) if each.key in generators]
        self.checks_copies = built.writes_copies and len(self._arrays) > 1
        self._integers = [
            number
            for number, each in enumerate(self.inputs)
            if each.leaf_number is not None and self.signature.leaves[each.leaf_number] == _PYTHON_INT
        ]
        self.guards = [each for each in built.guards if not each.is_of_module]
        # Most guards are of two kinds that are quick to check.
        self._codes = [(each.value, each.code) for each in self.guards if each.code is not None]
        of_globals = [each for each in self.guards if each.code is None and each.is_of_global]
        in_globals = [(each.path.function.__globals__, each.path.name, each.value) for each in of_globals]
        self._others = [each for each in self.guards if each.code is None and not each.is_of_global]
        of_modules = [each.path for each in built.guards if each.is_of_module]
        self._of_modules = [(vars(each.function), each.steps[0][1], each.fetch()) for each in of_modules]
        self._in_namespaces = [*in_globals, *self._of_modules]
        dtypes = dtypes_of(built.results, [*built.written.values(), *built.captures_written.values()])
        # Residuals are one result of the built function, and any number of results of the compiled one.
        self._handle = next((leaf for leaf in built.results if isinstance(leaf, ResidualsResult)), None)
        count = self.artifact.result_count(built.name)
        self._residuals = count - len(dtypes) + 1 if self._handle is not None else 0
        self.dtypes: list[np.dtype | None] = [None] * count
        for index, dtype in dtypes.items():
            if dtype is None:
                continue  # including the handle, which may represent no residual at all
            is_after = self._handle is not None and index > self._handle.index
            self.dtypes[index + self._residuals - 1 if is_after else index] = dtype

    def fits(self, leaves: Sequence[Any]) -> bool:
        """Whether this code is valid for a call with a matching signature: static values, guards, captures."""
        for number, known in self.static.items():
            if StaticLeaf(leaves[number]) != known:
                return False
        return self.guards_hold()

    def guards_hold(self) -> bool:
        """Whether what the function captures is still what the code was built for."""
        for function, code in self._codes:
            if function.__code__ is not code:
                return False
        for space, name, value in self._in_namespaces:
            if space.get(name) is not value:
                return False
        for guard in self._others:
            if not guard.holds():
                return False
        return all(each.holds() for each in self.built.captures)

    def modules_hold(self) -> bool:
        """Whether the modules that the compiler knows still have the functions that the code was built for."""
        return all(space.get(name) is value for space, name, value in self._of_modules)

    @property
    def namespaces(self) -> list[dict[str, Any]]:
        """The namespaces of the modules."""
        return list({id(space): space for space, _, _ in self._of_modules}.values())

    def containers(self, function: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Sequence[Any]:
        """The lists, dicts and dataclasses that the code may change.

        Raises ValueError if one is passed twice, because the code is wrong for that.
        """
        if not self.built.changes_copies:
            return ()
        around = [guard.path.fetch() for guard in self.built.guards if guard.keys is not None]
        # Tangents are never changed.
        arguments.require_separate(args[:1] if isinstance(function, Jvp) else args, kwargs, around)
        return containers_of(self.signature, args, kwargs)

    def received(self, leaves: Sequence[Any]) -> Sequence[Any]:
        """The values of the code's inputs: some of the leaves, and captured arrays."""
        return leaves if self._takes_leaves else arguments.gather(self.inputs, leaves)

    def __call__(self, leaves: Sequence[Any], containers: Sequence[Any] = ()) -> Any:
        """containers: see `containers`."""
        values = self.received(leaves)
        for number in self._integers:
            # The slots can also hold unsigned integers, and would not notice.
            if not -(1 << 63) <= values[number] < 1 << 63:
                raise OverflowError(f"{self.inputs[number].name}, {values[number]}, does not fit in 64 bits")
        if self.checks_copies and overlapping(values, self._arrays):
            self.shared_memory.require_harmless(leaves, values, self._arrays)
        if self.written:
            arguments.check_written(self.inputs, values, self.written)
            if overlapping(values, self.written):
                self._instead = other = self.shared_memory.code_for(leaves, values, self.written)
                return other(leaves, containers)
            self._instead = None
        built = self.built
        captured = values[len(built.leaves) :]
        if self.donated:
            values = arguments.free_to_take(values, self.donated)
        values, copies = arguments.contiguous(self.inputs, values)
        try:
            with self._locks(values):
                results = self.artifact.invoke(built.name, values, self.dtypes)
        finally:
            # Also if the kernel raised: earlier writes stay, as in NumPy.
            arguments.write_back(copies)
        if len(captured) < len(built.captures):
            captured = [each.path.fetch() for each in built.captures]  # some are views of other arguments
        made = self._returned(self._with_pullback(results), leaves, captured)
        if not built.changes:
            return made
        value, *items = made
        change(built.changes, containers, items)
        return value

    def _locks(self, values: Sequence[Any]) -> AbstractContextManager[None]:
        """The locks of the generators that the code draws from."""
        if not self._generators or self.artifact.locks_generators:
            return nullcontext()
        return locked([values[number] for number in self._generators])

    def last_memory(self) -> int | None:
        """See `Kernel.last_memory`."""
        ran = self._instead or self
        return ran.artifact.last_memory(ran.built.name)

    def _with_pullback(self, results: Sequence[Any]) -> Sequence[Any]:
        """The results, one per result of the built function."""
        handle = self._handle
        if handle is None:
            return results
        after = handle.index + self._residuals
        made = [*results[: handle.index], None, *results[after:]]
        sizes = [int(made[index]) for index in handle.sizes]
        kind = LinearFunction if handle.entry.is_linear else Pullback
        made[handle.index] = kind(self.artifact, handle.entry, tuple(results[handle.index : after]), sizes)
        return made
