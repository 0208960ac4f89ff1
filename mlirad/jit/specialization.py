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
from mlirad.jit.results import Pullback, dtypes_of, rebuild
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

    def fits(self, leaves: Sequence[Any]) -> bool:
        """Whether this code is right for a call whose signature fits: static values, guards, captures."""
        return all(StaticLeaf(leaves[number]) == leaf for number, leaf in self.static.items()) and self.guards_hold()

    def guards_hold(self) -> bool:
        """Whether what the function captures is still what the code was built for."""
        return all(guard.holds() for guard in self.built.guards) and all(map(_capture_holds, self.built.captures))

    def __call__(self, leaves: Sequence[Any]) -> Any:
        values = arguments.gather(self.inputs, leaves)
        arguments.check_aliasing(self.inputs, values)
        taken, copies = arguments.contiguous(self.inputs, values)
        try:
            results = self.artifact.invoke(self.built.name, taken)
        finally:
            # Also where the kernel raised: what was written before stays written, as in NumPy.
            arguments.write_back(copies)
        captured = values[len(self.built.leaves) :]
        return rebuild(self.built.structure, self.built.results, self._values(results), leaves, captured)

    def _values(self, results: Sequence[Any]) -> list[Any]:
        """The results, one per result that the function was built with: residuals are one value there, many here."""
        handles = [leaf for leaf in self.built.results if isinstance(leaf, ResidualsResult)]
        if not handles:
            return list(results)
        (handle,) = handles
        count = len(results) - len(dtypes_of(self.built.results, self.built.written)) + 1
        index = handle.index
        pullback = Pullback(self.artifact, handle.entry, tuple(results[index : index + count]))
        return [*results[:index], pullback, *results[index + count :]]


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
