"""`mlirad.trace`: the forward and the reverse trace of a call, as textbooks print them.

Reads: a function, and a call. Writes: what the function writes. Leaves: a `Trace`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mlirad import tree
from mlirad.contract.interface import Interface
from mlirad.errors import DTypeError
from mlirad.explaining.traces.graph import graph_of
from mlirad.explaining.traces.sweeps import Sweeps, sweeps_of
from mlirad.explaining.traces.tables import as_html, as_text
from mlirad.explaining.traces.wengert_list import StepRecorder, Variable, WengertList
from mlirad.jit.live.op_by_op import Interpreted
from mlirad.requests.python_functions import name_of, plain


@dataclass(frozen=True)
class Trace(Sweeps):
    """A call, step by step. `print(trace)` shows the tables, `trace.svg()` is a picture of the graph, `trace.html()` a
    page with both."""

    name: str

    def __str__(self) -> str:
        return as_text(self)

    def html(self) -> str:
        """The tables and the picture, as a page that needs nothing else."""
        return as_html(self, f"Trace of {self.name}", self.svg())

    def svg(self) -> str:
        """The computational graph: values and cotangents on its nodes, loops and branches as boxes."""
        return graph_of(self, f"The computational graph of {self.name}")

    _repr_html_ = html


def trace(function: Callable[..., Any], *args: Any, direction: Any = None, **kwargs: Any) -> Trace:
    """What a call of `function` computes, step by step, and the derivatives of each step.

    args, kwargs: numbers, arrays, and containers of them; derivatives are taken by all floats and complex numbers in
    them. direction: a tangent for each of these in this order, of its shape, for the forward tangent trace (None: no
    such trace).

    The steps are those of the program before anything is simplified. The call runs op by op: a trace is for programs of
    textbook size. Arrays that the function writes are written.

    Raises DTypeError if no argument or no result is a float, ValueError for a direction that does not fit, and what
    compiling the function raises. The cotangent of a complex result is 1, too (convention: docs/transforms.md).
    """
    recorded, _ = recorded_call(plain(function), args, kwargs)
    name = name_of(function)
    if not recorded.arguments:
        message = f"{name} has no float among its arguments: there is nothing to differentiate by"
        raise DTypeError(message, hint="pass floats, such as 2.0 for 2")
    if not any(isinstance(each, Variable) for each in recorded.results):
        raise DTypeError(f"no result of {name} depends on a float of its arguments")
    found = sweeps_of(recorded, _tangents(recorded, direction))
    return Trace(found.wengert, found.steps, found.cotangents, found.tangents, name)


def recorded_call(
    function: Callable[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    require: Callable[[Interface], None] = lambda built: None,
) -> tuple[WengertList, Any]:
    """The list of this call, which is made, and its value. What the function captures is constant.

    require: is given what was built before it runs; what it raises is raised.
    """
    recorders: list[StepRecorder] = []

    def watch(built: Interface) -> StepRecorder:
        require(built)
        recorders.append(StepRecorder(len(built.leaves)))
        return recorders[-1]

    value = Interpreted(function, watch=watch, keeps_rules=True)(*args, **kwargs)
    (recorder,) = recorders
    return recorder.wengert, value


def _tangents(recorded: WengertList, direction: Any) -> dict[int, Any]:
    if direction is None:
        return {}
    given = [np.asarray(each) for each in tree.leaves(direction)]
    shapes, wanted = [each.shape for each in given], [np.shape(each.value) for each in recorded.arguments]
    if shapes != wanted:
        raise ValueError(f"direction: the floats of the arguments have shapes {wanted}, and the tangents {shapes}")
    return {
        argument.number: tangent.astype(np.asarray(argument.value).dtype)[()]
        for argument, tangent in zip(recorded.arguments, given, strict=True)
    }
