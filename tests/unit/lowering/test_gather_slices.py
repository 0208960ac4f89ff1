"""Additions to slices that are gathered into one sum give the same bits."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import FunctionType, ModuleOp
from xdsl.ir import Block, Region

from mlirad.dialect import nd  # noqa: F401  (so that every family is defined)
from mlirad.dialect.arrays.slices import add_slice, insert_slice
from mlirad.dialect.core import types
from mlirad.dialect.core.expr import Expr, building, constant, full, insert
from mlirad.lowering.to_linalg.gather_slices import GatherSlices
from mlirad.testing.interpreter import run
from mlirad.xdsl_support.verify import verify_dominance


def stencil(seed: int) -> tuple[ModuleOp, list[Any]]:
    """Additions of an array, and sometimes of another, at random places of a third; it may have been set before."""
    random = Random(seed)
    rank = random.randint(1, 2)
    sizes = [random.randint(4, 7) for _ in range(rank)]
    shape = [size + random.randint(1, 3) for size in sizes]
    kinds = [types.tensor(sizes, types.F64), types.tensor(sizes, types.F64), types.tensor(shape, types.F64)]
    block = Block(arg_types=kinds)
    with building(block):
        part, other, array = map(Expr, block.args)

        def places() -> list[Expr]:
            most = (length - size for length, size in zip(shape, sizes, strict=True))
            return [constant(random.randint(0, each), types.I64) for each in most]

        if random.random() < 0.6:
            array = insert_slice(full(constant(random.choice([0.0, -0.0, 2.0]), types.F64), sizes), array, places())
        for _ in range(random.randint(2, 5)):
            array = add_slice(other if random.random() < 0.1 else part, array, places())
        insert(func.ReturnOp(array.value))
    function = func.FuncOp("f", FunctionType.from_lists(kinds, [array.value.type]), Region(block), "public")
    numbers = np.random.default_rng(seed)
    return ModuleOp([function]), [numbers.normal(size=each) for each in (sizes, sizes, shape)]


def test_random_stencils() -> None:
    gathered = 0
    for seed in range(150):
        module, arrays = stencil(seed)
        (wanted,) = run(module, "f", *arrays)
        before = str(module)
        GatherSlices(least=1).apply(Context(), module)
        module.verify()
        verify_dominance(module)
        gathered += str(module) != before
        (found,) = run(module, "f", *arrays)
        assert found.tobytes() == wanted.tobytes(), seed
    assert gathered > 50
