"""Additions to slices that are gathered into one sum, delayed clears and filled borders give the same bits."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
from xdsl.context import Context
from xdsl.dialects import func, scf
from xdsl.dialects.builtin import FunctionType, ModuleOp
from xdsl.ir import Block, Region

from mlirad.dialect import nd  # noqa: F401  (so that every family is defined)
from mlirad.dialect.arrays.elements import AddAtOp, InsertOp
from mlirad.dialect.arrays.slices import add_slice, extract_slice, insert_slice
from mlirad.dialect.core import types
from mlirad.dialect.core.expr import Expr, building, constant, emit, full, insert
from mlirad.lowering.to_linalg.delay_clears import DelayClears
from mlirad.lowering.to_linalg.fill_borders import FillBorders
from mlirad.lowering.to_linalg.gather_slices import GatherSlices
from mlirad.lowering.to_linalg.nd_to_linalg import NdToLinalg
from mlirad.testing import linalg_interpreter
from mlirad.testing.interpreter import run
from mlirad.xdsl_support.verify import verify_dominance


def stencil(seed: int) -> tuple[ModuleOp, list[Any]]:
    """Additions to random slices of an array, some of them computed from a slice, and writes of elements; the array may
    have been set before."""
    random = Random(seed)
    rank = random.randint(1, 3)
    sizes = [random.randint(4, 6) for _ in range(rank)]
    shape = [size + random.randint(1, 3) for size in sizes]
    kinds = [types.tensor(each, types.F64) for each in (sizes, shape, shape)]
    block = Block(arg_types=kinds)
    with building(block):
        part, whole, array = map(Expr, block.args)

        def places(sizes: list[int]) -> list[Expr]:
            most = (length - size for length, size in zip(shape, sizes, strict=True))
            return [constant(random.randint(0, each), types.I64) for each in most]

        halves = full(constant(0.5, types.F64), sizes)
        added = [part, extract_slice(whole, places(sizes), sizes) * halves, part * part]
        if random.random() < 0.4:
            array = full(constant(random.choice([0.0, -0.0, 2.0]), types.F64), shape)
        if rank == 1 and random.random() < 0.3:
            array = emit(
                AddAtOp, constant(0.3, types.F64), array, constant(random.choice([0, shape[0] - 1]), types.I64)
            )
        if random.random() < 0.6:
            filled = full(constant(random.choice([0.0, -0.0, 2.0]), types.F64), sizes)
            array = insert_slice(random.choice([filled, *added]), array, places(sizes))
        for _ in range(random.randint(1, 5)):
            value = random.choice(added)
            if random.random() < 0.3:  # of another size
                shorter = [random.randint(3, size) for size in sizes]
                value = extract_slice(value, [constant(0, types.I64)] * rank, shorter)
            array = add_slice(value, array, places(list(value.shape)))
            if rank == 1 and random.random() < 0.4:  # an element beside what the slices share, or not
                kind = random.choice([AddAtOp, InsertOp])
                array = emit(kind, constant(random.choice([0.1, -0.0]), types.F64), array, *places([1]))
        insert(func.ReturnOp(array.value))
    function = func.FuncOp("f", FunctionType.from_lists(kinds, [array.value.type]), Region(block), "public")
    numbers = np.random.default_rng(seed)
    return ModuleOp([function]), [numbers.normal(size=each) for each in (sizes, shape, shape)]


def test_random_stencils() -> None:
    gathered = bordered = 0
    for seed in range(200):
        module, arrays = stencil(seed)
        (wanted,) = run(module, "f", *arrays)
        before = str(module)
        GatherSlices(least=1).apply(Context(), module)
        module.verify()
        verify_dominance(module)
        gathered += str(module) != before
        (found,) = run(module, "f", *arrays)
        assert found.tobytes() == wanted.tobytes(), seed
        FillBorders(least=1).apply(Context(), module)
        verify_dominance(module)
        bordered += "tensor.empty" in str(module)
        NdToLinalg().apply(Context(), module)
        (found,) = linalg_interpreter.run(module, "f", *arrays)
        assert found.tobytes() == wanted.tobytes(), seed
    assert gathered > 50 and bordered > 10


def test_delayed_clears_give_the_same_bits() -> None:
    for seed in range(60):
        module, arrays, trips = sweeps(seed)
        (wanted,) = run(module, "f", *arrays, trips)
        before = str(module)
        DelayClears().apply(Context(), module)
        module.verify()
        verify_dominance(module)
        assert (str(module) != before) == (seed % 4 < 2), seed
        (found,) = run(module, "f", *arrays, trips)
        assert found.tobytes() == wanted.tobytes(), seed


def sweeps(seed: int) -> tuple[ModuleOp, list[Any], int]:
    """A loop that clears a slice at the end of each trip, with two arrays that may be swapped. `seed % 4` says whether
    the initial array is cleared as a whole (0), in that slice (1), in a part of it (2), or to another number (3)."""
    random = Random(seed)
    kinds = [types.tensor([4], types.F64), types.tensor([9], types.F64), types.tensor([9], types.F64), types.I64]
    block = Block(arg_types=kinds)
    with building(block):
        part, one, other, trips = map(Expr, block.args)

        def zeros(size: int, number: float = 0.0) -> Expr:
            return full(constant(number, types.F64), [size])

        def at(place: int) -> list[Expr]:
            return [constant(place, types.I64)]

        match seed % 4:
            case 0:
                other = zeros(9)
            case 1:
                other = insert_slice(zeros(7), other, at(1))
            case 2:
                other = insert_slice(zeros(4), other, at(1))
            case _:
                other = insert_slice(zeros(7, -0.0), other, at(1))
        body = Block(arg_types=[types.I64, *kinds[1:3]])
        swaps = random.random() < 0.5
        with building(body):
            x, y = map(Expr, body.args[1:])
            y = add_slice(part, y, at(random.randint(0, 4)))
            if swaps:
                y = add_slice(extract_slice(x, at(2), [4]), y, at(random.randint(0, 4)))
                x = insert_slice(zeros(5), x, at(2))
            else:
                x = add_slice(extract_slice(y, at(2), [5]), x, at(0))
                y = insert_slice(zeros(5), y, at(2))
            insert(scf.YieldOp(*(each.value for each in ((y, x) if swaps else (x, y)))))
        zero, step = constant(0, types.I64), constant(1, types.I64)
        loop = insert(scf.ForOp(zero.value, trips.value, step.value, [one.value, other.value], Region(body)))
        insert(func.ReturnOp((Expr(loop.results[0]) + Expr(loop.results[1])).value))
    function = func.FuncOp("f", FunctionType.from_lists(kinds, [kinds[1]]), Region(block), "public")
    numbers = np.random.default_rng(seed)
    return ModuleOp([function]), [numbers.normal(size=each) for each in (4, 9, 9)], random.randint(0, 3)
