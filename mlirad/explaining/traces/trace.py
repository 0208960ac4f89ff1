"""`mlirad.trace`: the forward and the reverse trace of a call, as textbooks print them.

Reads: a function, and a call. Writes: what the function writes. Leaves: a `Trace`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mlirad import tree
from mlirad.analysis.call_graph import written_by
from mlirad.dialect.ad.request_op import RequestOp
from mlirad.dialect.ops.check import CheckFailed
from mlirad.errors import DTypeError
from mlirad.evaluator.evaluator import Evaluator
from mlirad.explaining.traces.sweeps import Sweeps, sweeps_of
from mlirad.explaining.traces.tables import as_html, as_text
from mlirad.explaining.traces.wengert_list import StepRecorder, Variable, WengertList
from mlirad.jit.compilation import build_for, specialized
from mlirad.jit.live.op_by_op import Interpreted, InterpretedArtifact, Recompiled
from mlirad.options import Options
from mlirad.pipeline import differentiate
from mlirad.requests.python_functions import name_of, plain
from mlirad.signature import leaves_of, signature_of


@dataclass(frozen=True)
class Trace(Sweeps):
    """A call, step by step. `print(trace)` shows the tables, `trace.html()` is a page."""

    name: str

    def __str__(self) -> str:
        return as_text(self)

    def html(self) -> str:
        """The tables as a page that needs nothing else."""
        return as_html(self, f"Trace of {self.name}")

    _repr_html_ = html


def trace(function: Callable[..., Any], *args: Any, direction: Sequence[Any] | None = None) -> Trace:
    """What a call of `function` computes, step by step, and the derivatives of each step.

    args: numbers, arrays, and containers of them; derivatives are taken by all that are floats.
    direction: a tangent for each float of `args`, of its shape, for the forward tangent trace (None: no such trace).

    The steps are those of the program before anything is simplified. The call runs op by op: a trace is for programs of
    textbook size. Arrays that the function writes are written.

    Raises DTypeError if no argument or no result is a float, ValueError for a direction that does not fit, and what
    compiling the function raises.
    """
    recorded = _Recorded.of(plain(function), args)
    name = name_of(function)
    if not recorded.arguments:
        raise DTypeError(f"{name} has no float among its arguments: there is nothing to differentiate by")
    if not any(isinstance(each, Variable) for each in recorded.results):
        raise DTypeError(f"no result of {name} depends on a float of its arguments")
    found = sweeps_of(recorded, _tangents(recorded, direction))
    return Trace(found.wengert, found.steps, found.cotangents, found.tangents, name)


class _Recorded(InterpretedArtifact):
    """Code at stage `tensor`. The list of its last call is kept."""

    wengert: WengertList

    @staticmethod
    def of(function: Callable[..., Any], args: Sequence[Any]) -> WengertList:
        options = Options()
        asked = signature_of(args, {}, ())
        leaves = leaves_of(asked, args, {})
        built, signature = build_for(function, asked, leaves, options, shares_calls=False)
        has_requests = any(isinstance(op, RequestOp) for op in built.module.walk())
        artifact = _Recorded(differentiate(built.module) if has_requests else built.module)
        recompiled = Recompiled(Interpreted(function, options=options), asked)
        made = specialized(built, asked, signature, artifact, recompiled)
        made(leaves, made.containers(function, args, {}))
        return artifact.wengert

    def invoke(
        self, name: str, values: Sequence[Any], dtypes: Sequence[np.dtype | None] | None = None
    ) -> tuple[Any, ...]:
        function, recorder = self._function(name), StepRecorder()
        # What is not told apart by identity would be one variable.
        own = [np.array(each) if isinstance(each, np.ndarray) else np.asarray(each)[()] for each in values]
        for value, argument in zip(own, function.body.block.args, strict=True):
            if np.asarray(value).dtype.kind == "f":
                recorder.argument(value, argument.name_hint)
        try:
            with np.errstate(all="ignore"):
                results = Evaluator(self.module, recorder).call(function, own)
        except CheckFailed as failed:
            raise failed.as_raised() from None
        written = written_by(function)
        given = [result for number, result in enumerate(results) if number not in written.values()]
        self.wengert = recorder.list_of(given)
        for index, number in written.items():
            values[index][...] = results[number]
        return tuple(each.copy() if isinstance(each, np.ndarray) else each for each in results)


def _tangents(recorded: WengertList, direction: Sequence[Any] | None) -> dict[int, Any]:
    if direction is None:
        return {}
    given = [np.asarray(each) for each in tree.leaves(tuple(direction))]
    shapes, wanted = [each.shape for each in given], [np.shape(each.value) for each in recorded.arguments]
    if shapes != wanted:
        raise ValueError(f"direction: the floats of the arguments have shapes {wanted}, and the tangents {shapes}")
    return {
        argument.number: tangent.astype(np.asarray(argument.value).dtype)[()]
        for argument, tangent in zip(recorded.arguments, given, strict=True)
    }
