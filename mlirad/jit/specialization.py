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
from mlirad.frontend.build import ArgumentAlias, Built, Kind, Result, build
from mlirad.frontend.captures import Capture
from mlirad.jit import arguments
from mlirad.jit.arguments import Input
from mlirad.options import Environment, Options
from mlirad.pipeline import Lowered
from mlirad.signature import Signature, StaticLeaf, layout_of
from mlirad.targets.target import Artifact, Target, find_target


def leaves_of(signature: Signature, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[Any]:
    """The leaves of a call's arguments, in the order of the signature's."""
    if not any(isinstance(leaf, StaticLeaf) for leaf in signature.leaves):
        return tree.flatten((tuple(args), dict(kwargs)))[0]
    return tree.flatten_up_to(signature.structure, (tuple(args), dict(kwargs)))


@dataclass(eq=False)
class Specialization:
    """Compiled code, and how the leaves of a call become its arguments and its results the caller's values."""

    built: Built
    artifact: Artifact
    inputs: tuple[Input, ...]
    static: Mapping[int, StaticLeaf]
    """The leaves whose values the frontend turned out to need, with those values."""

    @property
    def signature(self) -> Signature:
        return self.built.signature

    def fits(self, leaves: Sequence[Any]) -> bool:
        """Whether this code is right for a call: static values, guards, and the captured arrays' types."""
        static_fit = all(StaticLeaf(leaves[number]) == leaf for number, leaf in self.static.items())
        return static_fit and self.guards_hold()

    def guards_hold(self) -> bool:
        return all(guard.holds() for guard in self.built.guards) and all(map(_capture_holds, self._captures()))

    def _captures(self) -> list[Capture]:
        return [each for each in self.built.inputs if isinstance(each, Capture)]

    def __call__(self, leaves: Sequence[Any]) -> Any:
        return self.outputs(self.run(self.built.main, leaves), leaves)

    def run(self, entry: str, leaves: Sequence[Any]) -> tuple[Any, ...]:
        """Call an entry that takes the function's arguments; what it writes ends in the caller's arrays."""
        values = arguments.gather(self.inputs, leaves)
        arguments.check_aliasing(self.inputs, values)
        taken, copies = arguments.contiguous(self.inputs, values)
        try:
            return self.artifact.invoke(entry, taken, self.built.result_dtypes)
        finally:
            # Also where the kernel raised: what was written before stays written, as in NumPy.
            arguments.write_back(copies)

    def outputs(self, results: Sequence[Any], leaves: Sequence[Any]) -> Any:
        """The function's value, from the results of compiled code."""
        return tree.unflatten(self.built.structure, [self._output(leaf, results, leaves) for leaf in self.built.outputs])

    def _output(self, output: Any, results: Sequence[Any], leaves: Sequence[Any]) -> Any:
        if isinstance(output, ArgumentAlias):
            return leaves[output.leaf]
        if not isinstance(output, Result):
            return output.value
        value = results[output.number]
        if output.kind is Kind.NUMPY:
            return output.dtype.type(value)
        return value


def _capture_holds(capture: Capture) -> bool:
    """Whether the captured array is still one of the dtype and shape that the code was built for."""
    try:
        value = capture.path.fetch()
    except (NameError, AttributeError, LookupError, TypeError):
        return False
    leaf = capture.leaf
    return (
        isinstance(value, np.ndarray)
        and value.dtype == leaf.dtype
        and value.shape == leaf.shape
        and layout_of(value) == leaf.layout
    )


def _build(function: Any, signature: Signature, options: Options) -> tuple[Built, Target]:
    return build(function, signature, options.boundscheck), find_target(options.target)


def _finish(built: Built, asked: Signature, target: Target, module: ModuleOp, name: str) -> Specialization:
    dump = Environment.read().dump
    artifact = pipeline.compile_module(module, target, dump / name if dump is not None else None)
    owners = asked.argument_of()
    written = built.written
    inputs = tuple(
        Input(None, each.path.fetch, f"{each.path}", number in written)
        if isinstance(each, Capture)
        else Input(each, None, f"argument {owners[each]}", number in written)
        for number, each in enumerate(built.inputs)
    )
    found = {
        number: after
        for number, (before, after) in enumerate(zip(asked.leaves, built.signature.leaves, strict=True))
        if isinstance(after, StaticLeaf) and not isinstance(before, StaticLeaf)
    }
    return Specialization(built, artifact, inputs, found)


def compile_for(function: Any, signature: Signature, leaves: Sequence[Any], options: Options) -> Specialization:
    """Compile a function for the signature, and for those of `leaves` whose values turn out to be needed."""
    built, target = _build(function, signature, options)
    return _finish(built, signature, target, built.module, _dump_name(function))


def lower(function: Any, signature: Signature, options: Options) -> Lowered:
    """The function at stage `tensor`, to be looked at or compiled."""
    built, target = _build(function, signature, options)

    def finish(module: ModuleOp) -> Callable[..., Any]:
        specialization = _finish(built, signature, target, module, _dump_name(function))

        def call(*args: Any, **kwargs: Any) -> Any:
            return specialization(leaves_of(signature, args, kwargs))

        return call

    return Lowered(built.module, target, finish)


def _dump_name(function: Any) -> str:
    name = getattr(function, "__name__", "function")
    return "".join(letter if letter.isalnum() else "_" for letter in name).strip("_") or "function"

