"""One compiled form of a function: for one signature, with the static values and the guards that it was built under.

Reads: a function and a signature. Writes: nothing. Gives: a callable on the leaves of the arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from mlirad import pipeline, tree
from mlirad.errors import CompileError
from mlirad.frontend.build import Built, NeedStaticLeaves, ResidualsResult, build
from mlirad.frontend.captures import Capture
from mlirad.jit import arguments
from mlirad.jit.arguments import Input
from mlirad.jit.results import Pullback, Returned, dtypes_of
from mlirad.options import Environment, Options
from mlirad.pipeline import Lowered
from mlirad.signature import ArrayLeaf, ScalarLeaf, Signature, StaticLeaf, layout_of
from mlirad.targets.target import Artifact, Target, find_target


def leaves_of(signature: Signature, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[Any]:
    """The leaves of a call's arguments, in the order of the signature's."""
    return tree.flatten_up_to(signature.structure, (tuple(args), dict(kwargs)))


@dataclass(eq=False)
class Specialization:
    """Compiled code, and how the leaves of a call become its arguments and its results the caller's values.

    signature: what it was built for; `static` are the leaves whose values the frontend turned out to need.
    """

    built: Built
    artifact: Artifact
    signature: Signature
    static: Mapping[int, StaticLeaf]
    inputs: tuple[Input, ...]

    def __post_init__(self) -> None:
        built = self.built
        self._returned = Returned(built.structure, built.results)
        self._takes_leaves = tuple(each.leaf for each in self.inputs) == tuple(range(len(self.signature.leaves)))
        self._has_written = any(each.is_written for each in self.inputs)
        dtypes = dtypes_of(built.results, built.written)
        # Residuals are one result of the function that was built, and any number of the compiled one's.
        self._handle = next((leaf for leaf in built.results if isinstance(leaf, ResidualsResult)), None)
        count = self.artifact.entries[built.name].result_count
        self._residuals = count - len(dtypes) + 1 if self._handle is not None else 0
        self._dtypes: list[np.dtype | None] = [None] * count
        for index, dtype in dtypes.items():
            if dtype is None:
                continue  # also the handle, which may stand for no residual at all
            is_after = self._handle is not None and index > self._handle.index
            self._dtypes[index + self._residuals - 1 if is_after else index] = dtype

    def fits(self, leaves: Sequence[Any]) -> bool:
        """Whether this code is right for a call whose signature fits: static values, guards, captures."""
        for number, leaf in self.static.items():
            if StaticLeaf(leaves[number]) != leaf:
                return False
        return self.guards_hold()

    def guards_hold(self) -> bool:
        """Whether what the function captures is still what the code was built for."""
        for guard in self.built.guards:
            if not guard.holds():
                return False
        return all(map(_capture_holds, self.built.captures))

    def __call__(self, leaves: Sequence[Any]) -> Any:
        values = leaves if self._takes_leaves else arguments.gather(self.inputs, leaves)
        if self._has_written:
            arguments.check_aliasing(self.inputs, values)
        taken, copies = arguments.contiguous(self.inputs, values)
        try:
            results = self.artifact.invoke(self.built.name, taken, self._dtypes)
        finally:
            # Also where the kernel raised: what was written before stays written, as in NumPy.
            arguments.write_back(copies)
        captured = values[len(self.built.leaves) :]
        return self._returned(self._with_pullback(results), leaves, captured)

    def _with_pullback(self, results: Sequence[Any]) -> Sequence[Any]:
        """The results, one per result that the function was built with."""
        handle = self._handle
        if handle is None:
            return results
        after = handle.index + self._residuals
        pullback = Pullback(self.artifact, handle.entry, tuple(results[handle.index : after]))
        return [*results[: handle.index], pullback, *results[after:]]


def _capture_holds(capture: Capture) -> bool:
    """Whether the captured array is still one of the dtype, shape and layout that the code was built for."""
    try:
        value = capture.path.fetch()
    except (NameError, AttributeError, LookupError, TypeError, ValueError):
        return False
    return isinstance(value, np.ndarray) and capture.leaf == ArrayLeaf(
        value.dtype, value.shape, layout_of(value), not value.flags.writeable
    )


def build_for(function: Any, asked: Signature, leaves: Sequence[Any], options: Options) -> tuple[Built, Signature]:
    """The function at stage `tensor`, and the signature with those of `leaves` made static whose values it needs."""
    signature = asked
    while True:
        try:
            return build(function, signature, options.boundscheck), signature
        except NeedStaticLeaves as need:
            unknown = {number: leaves[number] for number in need.leaves}
            if any(not isinstance(signature.leaves[number], ScalarLeaf) for number in unknown):
                raise CompileError(need.why, need.location) from None
            signature = signature.with_static({number: _plain(value) for number, value in unknown.items()})


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def specialized(built: Built, asked: Signature, signature: Signature, artifact: Artifact) -> Specialization:
    """What was built for `asked`, with the leaves of `signature` known, together with its code."""
    owners = asked.argument_of()
    inputs = [Input(leaf, None, _owner(owners[leaf]), leaf in built.written) for leaf in built.leaves]
    inputs += [
        Input(None, capture.path.fetch, str(capture.path), number in built.captures_written)
        for number, capture in enumerate(built.captures)
    ]
    static = {
        number: after
        for number, (before, after) in enumerate(zip(asked.leaves, signature.leaves, strict=True))
        if isinstance(after, StaticLeaf) and not isinstance(before, StaticLeaf)
    }
    return Specialization(built, artifact, signature, static, tuple(inputs))


def _finish(
    built: Built, asked: Signature, signature: Signature, target: Target, module: ModuleOp, name: str
) -> Specialization:
    dump = Environment.read().dump
    artifact = pipeline.compile_module(module, target, dump / name if dump is not None else None)
    return specialized(built, asked, signature, artifact)


def _owner(argument: int | str) -> str:
    return f"argument {argument}" if isinstance(argument, int) else f"argument {argument!r}"


def compile_for(function: Any, asked: Signature, leaves: Sequence[Any], options: Options) -> Specialization:
    """Compile a function for the signature, and for those of `leaves` whose values turn out to be needed."""
    target = find_target(options.target)
    built, signature = build_for(function, asked, leaves, options)
    return _finish(built, asked, signature, target, built.module, _dump_name(function))


def lower(function: Any, asked: Signature, leaves: Sequence[Any], options: Options) -> Lowered:
    """The function at stage `tensor`, to be looked at or compiled."""
    target = find_target(options.target)
    built, signature = build_for(function, asked, leaves, options)

    def finish(module: ModuleOp) -> Callable[..., Any]:
        specialization = _finish(built, asked, signature, target, module, _dump_name(function))

        def call(*args: Any, **kwargs: Any) -> Any:
            return specialization(leaves_of(asked, args, kwargs))

        return call

    return Lowered(built.module, target, finish)


def _dump_name(function: Any) -> str:
    name = getattr(function, "__name__", "function")
    return "".join(letter if letter.isalnum() else "_" for letter in name).strip("_") or "function"
