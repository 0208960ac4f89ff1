"""Calls of derivatives of functions that run in Python: `with mlirad.disable_jit()`.

Reads: a transform of a function, and a call. Writes: what the function writes. Gives: the result of the compiled
transform.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import FunctionType
from typing import Any

from mlirad import pipeline, tree
from mlirad.jit.compilation import build_for, specialized
from mlirad.jit.live.op_by_op import Interpreted, InterpretedArtifact, Recompiled
from mlirad.jit.live.recording import Recording
from mlirad.options import Options
from mlirad.requests.lanes_and_parts import Vmap
from mlirad.requests.python_functions import plain
from mlirad.requests.request import Request
from mlirad.signature import ScalarLeaf, leaves_of, signature_of


def call(request: Request, options: Options, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """The transform applied to a call. Its function runs once, in Python; the recording is differentiated op by op."""
    function: Any = request
    has_lanes = False
    while isinstance(function, Request):
        has_lanes |= isinstance(function, Vmap)
        function = plain(function.function)
    interpreted = Interpreted(request, options=options)
    # SciPy's computations on sparse matrices, and draws of a generator, cannot be recorded.
    is_opaque = tree.opaque_kind_in(tree.flatten((args, dict(kwargs)))[1]) is not None
    if has_lanes or is_opaque or not isinstance(function, FunctionType):
        return interpreted(*args, **kwargs)
    asked = signature_of(args, kwargs, (*options.static_argnums, *options.static_argnames))
    leaves = leaves_of(asked, args, kwargs)
    known = {
        number: leaves[number]
        for number, leaf in enumerate(asked.leaves)
        if isinstance(leaf, ScalarLeaf) and leaf.dtype.kind != "f"
    }
    recording = Recording(function, leaves)
    built, signature = build_for(request, asked.with_static(known), leaves, options, shares_calls=False, live=recording)
    artifact = InterpretedArtifact(pipeline.differentiate(built.module))
    made = specialized(built, asked, signature, artifact, Recompiled(interpreted, asked))
    return made(leaves, made.containers(request, args, kwargs))
