"""Runs what a Python function emits, op by op with NumPy: `evaluate(build, *arguments)`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Block, Region

from mlirad.dialect.core import types
from mlirad.dialect.core.expr import Expr, building, insert
from mlirad.testing.interpreter import run


def type_of(argument: Any) -> Attribute:
    """A tensor for an array (of rank 0 too), a builtin scalar for a number."""
    element = types.from_dtype(np.asarray(argument).dtype)
    return types.tensor(argument.shape, element) if isinstance(argument, np.ndarray) else element


def evaluate(build: Callable[..., Sequence[Expr]], *arguments: Any) -> tuple[Any, ...]:
    """The values of the Exprs that `build(*exprs)` returns, for these values of the exprs."""
    arg_types = [type_of(argument) for argument in arguments]
    block = Block(arg_types=arg_types)
    with building(block):
        results = [result.value for result in build(*map(Expr, block.args))]
        insert(func.ReturnOp(*results))
    function = func.FuncOp("f", (arg_types, [result.type for result in results]), Region(block))
    module = ModuleOp([function])
    module.verify()
    return run(module, "f", *arguments)
