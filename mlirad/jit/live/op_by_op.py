"""Runs a function in the evaluator instead of on a target.

Reads: a function, or a request, and calls. Writes: the arguments that the function writes. Gives: its value.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.traits import SymbolTable

from mlirad import pipeline, stages
from mlirad.analysis.call_graph import written_by
from mlirad.contract.captures import Capture
from mlirad.contract.interface import Interface
from mlirad.dialect.ops.check import CheckFailed
from mlirad.errors import CompileError
from mlirad.evaluator.evaluator import Evaluator
from mlirad.evaluator.watch import Watch
from mlirad.frontend.aliases import Alias
from mlirad.frontend.build import Built
from mlirad.jit.compilation import build_for, specialized
from mlirad.jit.specialization import Specialization
from mlirad.options import Options
from mlirad.signature import Signature, leaves_of, signature_of
from mlirad.targets.target import Artifact
from mlirad.xdsl_support.verify import verify_dominance


class InterpretedArtifact(Artifact):
    """A module of stage tensor, autodiff or optimized, run op by op. watch: makes the observer of a call."""

    def __init__(self, module: ModuleOp, watch: Callable[[], Watch] | None = None):
        self.module = module
        self.watch = watch

    def result_count(self, name: str) -> int:
        return len(self._function(name).function_type.outputs)

    def invoke(
        self, name: str, values: Sequence[Any], dtypes: Sequence[np.dtype | None] | None = None
    ) -> tuple[Any, ...]:
        function = self._function(name)
        watch, own = None, values
        if self.watch is not None:
            # The same array may be several arguments, which a watch could not distinguish.
            watch, own = self.watch(), [np.array(each)[()] for each in values]
            watch.started(function, own)
        try:
            with np.errstate(all="ignore"):
                results = Evaluator(self.module, watch).call(function, own)
        except CheckFailed as failed:
            raise failed.as_raised() from None
        if watch is not None:
            watch.ended(results)
        for index, number in written_by(function).items():
            values[index][...] = results[number]
        # The same value may be several results, which are separate arrays.
        return tuple(each.copy() if isinstance(each, np.ndarray) else each for each in results)

    def _function(self, name: str) -> func.FuncOp:
        function = SymbolTable.lookup_symbol(self.module, name)
        assert isinstance(function, func.FuncOp)
        return function


class Interpreted:
    """A function, or a request, that is compiled up to a stage and interpreted there; once for calls of the same kind.

    watch: makes the observer of a call. keeps_rules: calls of functions with custom derivative rules stay calls.
    """

    def __init__(
        self,
        function: Any,
        stage: str = stages.AUTODIFF,
        options: Options | None = None,
        *,
        watch: Callable[[Interface], Watch] | None = None,
        keeps_rules: bool = False,
    ):
        self.function = function
        self.stage = stage
        self.options = options or Options()
        self.watch = watch
        self.keeps_rules = keeps_rules
        self._known: list[tuple[Signature, Specialization]] = []

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        asked = signature_of(args, kwargs, (*self.options.static_argnums, *self.options.static_argnames))
        leaves = leaves_of(asked, args, kwargs)
        for signature, known in self._known:
            if signature == asked and known.fits(leaves):
                return known(leaves, known.containers(self.function, args, kwargs))
        made = self.specialization(asked, leaves)
        self._known.append((asked, made))
        return made(leaves, made.containers(self.function, args, kwargs))

    def specialization(
        self,
        asked: Signature,
        leaves: Sequence[Any],
        aliases: Mapping[int, Alias] | None = None,
        captures: Sequence[Capture] = (),
    ) -> Specialization:
        """The module that `mlirad.jit` would compile, verified after each stage."""

        def build(shares_calls: bool) -> tuple[Built, Signature]:
            given = self.function, asked, leaves, self.options, aliases, captures
            return build_for(*given, shares_calls=shares_calls, keeps_rules=self.keeps_rules)

        built, signature = build(True)
        has_shared_calls = built.has_shared_calls  # the module is consumed
        try:
            return self._finished(built, asked, signature, is_aliased=aliases is not None)
        except CompileError:
            if not has_shared_calls:
                raise
            built, signature = build(False)
            return self._finished(built, asked, signature, is_aliased=aliases is not None)

    def _finished(self, built: Built, asked: Signature, signature: Signature, *, is_aliased: bool) -> Specialization:
        module = built.module
        verify(module)
        # An observer wants to see the trips of loops.
        differentiate = partial(pipeline.differentiate, raises_loops=False, keeps_rules=self.keeps_rules)
        optimize = partial(pipeline.optimize, raises_loops=False)
        for name, run in ((stages.AUTODIFF, differentiate), (stages.OPTIMIZED, optimize)):
            if stages.SHARED.index(self.stage) >= stages.SHARED.index(name):
                module = run(module)
                verify(module)

        recompile = Recompiled(self, asked)
        return specialized(
            built,
            asked,
            signature,
            InterpretedArtifact(module, None if self.watch is None else partial(self.watch, built)),
            recompile,
            is_aliased,
        )


@dataclass(frozen=True)
class Recompiled:
    """Compiles a function again, for arguments that share memory; nothing is kept on disk."""

    interpreted: Interpreted
    asked: Signature

    def from_disk(self, leaves: Sequence[Any], sharing: Sequence[Any]) -> None:
        return None

    def compile(
        self, aliases: Mapping[int, Alias], captures: Sequence[Capture], leaves: Sequence[Any], sharing: Sequence[Any]
    ) -> Specialization:
        return self.interpreted.specialization(self.asked, leaves, aliases, captures)

    def probe(self, together: Sequence[Sequence[int]], captures: Sequence[Capture], leaves: Sequence[Any]) -> None:
        build_for(self.interpreted.function, self.asked, leaves, self.interpreted.options, None, captures, together)


def verify(module: ModuleOp) -> None:
    module.verify()
    verify_dominance(module)
