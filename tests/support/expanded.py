"""Reads: modules with requests. Writes: them, expanded. Leaves: modules that verify after every pass."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from xdsl.context import Context
from xdsl.dialects import arith, func, scf
from xdsl.dialects.builtin import Builtin, ModuleOp
from xdsl.parser import Parser
from xdsl.passes import ModulePass

from mlirad.autodiff.requests.differentiate import Differentiate, has_requests
from mlirad.autodiff.requests.split import Split
from mlirad.autodiff.tape.tape import Tape
from mlirad.dialect.ad.ad import Ad
from mlirad.dialect.nd import Nd
from mlirad.lowering.clean_up.canonicalize import Canonicalize
from mlirad.lowering.clean_up.cse import Cse
from mlirad.lowering.clean_up.dce import Dce
from mlirad.lowering.clean_up.inline import Inline
from mlirad.testing.interpreter import run
from mlirad.xdsl_support.verify import verify_dominance

CLEAN = (Inline(), Canonicalize(), Cse(), Dce())
EXPAND = (Differentiate(), Dce(), Tape(), Split())


def context() -> Context:
    """A context with the dialects of the tensor and autodiff stages."""
    made = Context()
    for dialect in (Builtin, func.Func, scf.Scf, arith.Arith, Nd, Ad):
        made.load_dialect(dialect)
    return made


def parsed(text: str) -> ModuleOp:
    module = Parser(context(), text).parse_module()
    module.verify()
    return module


def passes(module: ModuleOp) -> Iterator[ModulePass]:
    """Applies the passes that expand all requests, one by one, and checks the module after each."""
    while has_requests(module):
        for each in (*CLEAN, *EXPAND, *CLEAN):
            each.apply(context(), module)
            module.verify()
            verify_dominance(module)
            yield each


def expand(module: ModuleOp) -> ModuleOp:
    module.verify()
    for _ in passes(module):
        pass
    return module


def callable_of(module: ModuleOp, name: str) -> Callable[..., tuple[Any, ...]]:
    """A function of the module, run by the interpreter."""
    return lambda *arguments: run(module, name, *arguments)
