"""Runs a function through the interpreter in place of a target, as `mlirad.jit` runs it natively.

Reads: a function, or a request, and a call. Writes: the arguments that the function writes. Gives: its value.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.dialects import func
from xdsl.dialects.builtin import IntegerAttr, ModuleOp
from xdsl.traits import SymbolTable

from mlirad import pipeline, stages
from mlirad.dialect.check import CheckFailed
from mlirad.dialect.verify import verify_dominance
from mlirad.jit.specialization import Specialization, build_for, leaves_of, specialized
from mlirad.options import Options
from mlirad.signature import signature_of
from mlirad.targets.target import Artifact
from mlirad.testing.interpreter import Interpreter

_EXCEPTIONS: dict[str, type[Exception]] = {
    each.__name__: each
    for each in (IndexError, OverflowError, TypeError, UnboundLocalError, ValueError, ZeroDivisionError)
}


class InterpretedArtifact(Artifact):
    """A module of stage tensor, autodiff or optimized, run op by op."""

    entries = {}
    errors = ()

    def __init__(self, module: ModuleOp):
        self.module = module

    def invoke(
        self, name: str, values: Sequence[Any], dtypes: Sequence[np.dtype | None] | None = None
    ) -> tuple[Any, ...]:
        function = SymbolTable.lookup_symbol(self.module, name)
        assert isinstance(function, func.FuncOp)
        try:
            with np.errstate(all="ignore"):
                results = Interpreter(self.module).call(function, values)
        except CheckFailed as failed:
            raise _EXCEPTIONS[failed.error](str(failed)) from None
        attributes = function.arg_attrs.data if function.arg_attrs is not None else ()
        for value, held in zip(values, attributes, strict=False):
            number = held.data.get("mlirad.written")
            if isinstance(number, IntegerAttr):
                value[...] = results[number.value.data]
        return results


def specialize(function: Any, *args: Any, stage: str = stages.AUTODIFF, **kwargs: Any) -> Specialization:
    """What `mlirad.jit` would compile for this call, verified and run by the interpreter at one of the first stages."""
    asked = signature_of(args, kwargs)
    built, signature = build_for(function, asked, leaves_of(asked, args, kwargs), Options())
    module = built.module
    for name, run in ((stages.AUTODIFF, pipeline.differentiate), (stages.OPTIMIZED, pipeline.optimize)):
        module.verify()
        verify_dominance(module)
        if stages.SHARED.index(stage) >= stages.SHARED.index(name):
            module = run(module)
    module.verify()
    verify_dominance(module)
    return specialized(built, asked, signature, InterpretedArtifact(module))


def interpret(function: Any, *args: Any, stage: str = stages.AUTODIFF, **kwargs: Any) -> Any:
    """`function(*args, **kwargs)`, compiled up to a stage and interpreted."""
    asked = signature_of(args, kwargs)
    return specialize(function, *args, stage=stage, **kwargs)(leaves_of(asked, args, kwargs))
