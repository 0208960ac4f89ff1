"""The linalg stage computes the same as the tensor stage, op by op and fused; and MLIR's own verifier accepts it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import random_ir
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.linalg.ops import FillOp, GenericOp
from xdsl.ir import Attribute
from xdsl.passes import ModulePass
from xdsl.traits import is_side_effect_free

from mlirad.dialect.ad.tape import GrowOp
from mlirad.dialect.arrays.slices import AddSliceOp, ExtractSliceOp
from mlirad.dialect.arrays.sort import ArgsortOp, SortOp
from mlirad.dialect.core import types
from mlirad.dialect.core.expr import Expr, constant, emit, sum_of, zeros_like
from mlirad.dialect.linear_algebra.fourier_ops import FourierOp
from mlirad.dialect.linear_algebra.loop_op import MatricesOp
from mlirad.dialect.op import op_classes
from mlirad.dialect.ops.check import CheckFailed, check_index
from mlirad.dialect.ops.compare import cast
from mlirad.dialect.ops.constant import ConstantOp
from mlirad.dialect.ops.contraction import contract
from mlirad.dialect.ops.elementwise import ElementwiseOp
from mlirad.dialect.ops.movement import TransposeOp, broadcast, reshape
from mlirad.dialect.ops.reduction import MaxOp, MinOp
from mlirad.errors import CompileError
from mlirad.lowering.clean_up.canonicalize import Canonicalize
from mlirad.lowering.clean_up.cse import Cse
from mlirad.lowering.clean_up.dce import Dce
from mlirad.lowering.clean_up.hoist import Hoist
from mlirad.lowering.to_linalg.merge_nests import MergeNests
from mlirad.lowering.to_linalg.nd_to_linalg import NdToLinalg
from mlirad.testing import linalg_interpreter
from mlirad.testing.expr_functions import ask_vjp, branch, for_loop, function, program, put
from mlirad.testing.interpreter import run
from mlirad.xdsl_support.verify import verify_dominance

F32, F64, I64 = types.F32, types.F64, types.I64
CLEAN = (Canonicalize(), Cse(), Dce(), Hoist(), Canonicalize())
PIPELINES: dict[str, tuple[ModulePass, ...]] = {
    "plain": (NdToLinalg(fuse=False),),
    "fused": (NdToLinalg(),),
    "optimized": (*CLEAN, NdToLinalg()),
    "merged": (*CLEAN, NdToLinalg(), MergeNests()),
}


def applied(passes: str | tuple[ModulePass, ...], module: ModuleOp) -> ModuleOp:
    changed = module.clone()
    for each in PIPELINES[passes] if isinstance(passes, str) else passes:
        each.apply(Context(), changed)
        changed.verify()
        verify_dominance(changed)
    return changed


def outcome(module: ModuleOp, inputs: list[Any]) -> tuple[Any, ...]:
    try:
        results = linalg_interpreter.run(module, "f", *inputs)
    except CheckFailed as failed:
        return (failed.error, failed.message)
    return tuple(random_ir.bits(np.asarray(result)) for result in results)


def ours(module: ModuleOp) -> list[str]:
    return [op.name for op in module.walk() if op.dialect_name() in ("nd", "ad")]


def generics(module: ModuleOp) -> list[GenericOp]:
    return [op for op in module.walk() if isinstance(op, GenericOp)]


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("name", PIPELINES)
def test_random_programs_keep_their_values(name: str, seed: int) -> None:
    module, given = random_ir.module(seed), random_ir.arguments(seed)
    changed = applied(name, module)
    assert not ours(changed)
    assert outcome(changed, given) == random_ir.outcome(module, given)


@pytest.mark.full
@pytest.mark.parametrize("seed", range(20, 300))
def test_more_random_programs_keep_their_values(seed: int) -> None:
    for name in PIPELINES:
        test_random_programs_keep_their_values(name, seed)


def test_fusion_fuses() -> None:
    apart = (*CLEAN, NdToLinalg(fuse=False))
    before = sum(len(generics(applied(apart, random_ir.module(seed)))) for seed in range(20))
    after = sum(len(generics(applied("optimized", random_ir.module(seed)))) for seed in range(20))
    assert 0 < after < before


def test_merging_merges() -> None:
    before = sum(len(generics(applied("optimized", random_ir.module(seed)))) for seed in range(20))
    after = sum(len(generics(applied("merged", random_ir.module(seed)))) for seed in range(20))
    assert 0 < after < before


def test_mlir_accepts_random_programs(mlir_opt: Callable[..., str]) -> None:
    for seed in range(8):
        mlir_opt(str(applied("plain", random_ir.module(seed))))
        mlir_opt(str(applied("merged", random_ir.module(seed))))


def unsigned_ops(x: Expr, y: Expr) -> list[Expr]:
    pairs = [x + y, x - y, x * y, np.floor_divide(x, y), np.mod(x, y), np.maximum(x, y), np.minimum(x, y)]
    return [*pairs, x < y, x >= y, np.absolute(x), np.sign(x)]


@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.int64, np.uint8, np.uint32, np.uint64])
def test_integers_of_either_sign(dtype: Any, mlir_opt: Callable[..., str]) -> None:
    element = types.from_dtype(np.dtype(dtype))
    type = types.tensor((6,), element)

    def body(x: Expr, y: Expr) -> list[Expr]:
        casts = [
            cast(x, F64),
            cast(x, I64),
            cast(x, types.I1),
            cast(x, types.from_dtype(np.dtype(np.uint16))),
        ]
        return [*unsigned_ops(x, y), *casts, sum_of(x), emit(MaxOp, x, axes=(0,)), emit(MinOp, y, axes=(0,))]

    info = np.iinfo(dtype)
    x = np.array([info.min, info.max, 0, 1, info.max // 2, 7], dtype)
    y = np.array([info.max, info.min, 3, 0, info.max, 2], dtype)
    module = program([type, type], body)
    with np.errstate(all="ignore"):
        wanted = run(module, "f", x, y)
    changed = applied("fused", module)
    for want, got in zip(wanted, linalg_interpreter.run(changed, "f", x, y), strict=True):
        assert np.asarray(got).tobytes() == np.asarray(want).tobytes()  # signless: the same bits
    mlir_opt(str(changed))


SHAPES = [
    ((12,), (3, 4)),
    ((3, 4), (4, 3)),
    ((2, 3, 4), (6, 4)),
    ((2, 3, 4), (2, 12)),
    ((1, 5), (5,)),
    ((5,), (1, 5, 1)),
    ((), (1, 1)),
    ((1,), ()),
    ((0, 3), (3, 0)),
    ((2, 6, 2), (4, 3, 2)),
    ((1, 1), (1,)),
    ((6, 1, 1), (2, 3)),
]


@pytest.mark.parametrize(("source", "target"), SHAPES)
def test_reshapes(source: tuple[int, ...], target: tuple[int, ...], mlir_opt: Callable[..., str]) -> None:
    module = program([types.tensor(source, F64)], lambda x: [reshape(x, types.tensor(target, F64))])
    changed = applied("fused", module)
    x = np.arange(float(np.prod(source))).reshape(source)
    assert np.array_equal(linalg_interpreter.run(changed, "f", x)[0], x.reshape(target))
    mlir_opt(str(changed))


def test_between_scalars_and_arrays(mlir_opt: Callable[..., str]) -> None:
    def body(x: Expr, t: Expr) -> list[Expr]:
        return [reshape(x, types.tensor((1, 1), F64)), reshape(t, F64), broadcast(x, (), (2,))]

    changed = applied("fused", program([F64, types.tensor((1,), F64)], body))
    cell, scalar, pair = linalg_interpreter.run(changed, "f", np.float64(2), np.array([3.0]))
    assert cell.shape == (1, 1) and scalar == 3.0 and pair.tolist() == [2.0, 2.0]
    mlir_opt(str(changed))


def test_slices(mlir_opt: Callable[..., str]) -> None:
    def body(x: Expr, i: Expr) -> list[Expr]:
        place = {"sizes": (2, 3), "strides": (1, -1)}
        part = emit(ExtractSliceOp, x, i, constant(4, I64), **place)
        return [emit(AddSliceOp, part * 2.0, x, i, constant(4, I64), **place)]

    x = np.arange(20.0).reshape(4, 5)
    module = program([types.tensor((4, 5), F64), I64], body)
    wanted = run(module, "f", x, np.int64(1))[0]
    changed = applied("fused", module)
    assert np.array_equal(linalg_interpreter.run(changed, "f", x, np.int64(1))[0], wanted)
    mlir_opt(str(changed))


def test_unknown_sizes(mlir_opt: Callable[..., str]) -> None:
    def body(x: Expr, y: Expr) -> list[Expr]:
        grown = emit(GrowOp, x + y, constant(9, I64))
        return [np.exp(x) * y, sum_of(x * y), zeros_like(grown)]

    type = types.tensor((-1,), F64)
    module = program([type, type], body)
    changed = applied("fused", module)
    x, y = np.arange(3.0), np.ones(3)
    for want, got in zip(run(module, "f", x, y), linalg_interpreter.run(changed, "f", x, y), strict=True):
        assert np.array_equal(want, got)
    mlir_opt(str(changed))


def test_what_loops_overwrite_is_filled_for_each() -> None:
    def body(x: Expr) -> list[Expr]:
        zeros = zeros_like(x)
        (a,) = for_loop(3, [zeros], lambda q, t: put(constant(1.0, F64), t, q))
        (b,) = for_loop(3, [zeros], lambda q, t: put(constant(2.0, F64), t, q))
        return [a, b, zeros + x]

    changed = applied("optimized", program([types.tensor((3,), F64)], body))
    assert sum(isinstance(op, FillOp) for op in changed.walk()) == 2
    a, b, x = linalg_interpreter.run(changed, "f", np.arange(3.0))
    assert (a.tolist(), b.tolist(), x.tolist()) == ([1.0] * 3, [2.0] * 3, [0.0, 1.0, 2.0])


def test_a_place_is_kept_through_lowering_and_fusion() -> None:
    for seed in range(5):
        module = random_ir.module(seed)
        places = {str(op.location) for op in module.walk()}
        assert {str(op.location) for op in applied("fused", module).walk()} <= places


def test_tensor_generics_have_no_effects() -> None:
    (generic,) = generics(applied("plain", program([types.tensor((3,), F64)], lambda x: [np.exp(x)])))
    assert is_side_effect_free(generic)


def test_requests_are_refused_with_their_place() -> None:
    module = ModuleOp([])
    square = function(module, "f", [F64], lambda x: [x * x])
    ask_vjp(module, "g", square, [0])
    with pytest.raises(CompileError, match="is left at the lowering"):
        NdToLinalg().apply(Context(), module)


def test_each_op_has_an_answer() -> None:
    """Every nd op is lowered somewhere here, so that a new one is noticed."""
    seen = {name for seed in range(60) for name in ours(random_ir.module(seed))}
    # Scalar bodies are all lowered in the same way, and the catalogue test runs them all.
    elsewhere = {op_class.name for op_class in op_classes() if issubclass(op_class, ElementwiseOp)}
    here = {"nd.arange", "nd.flatnonzero", "nd.min", "nd.prod", "nd.dim", "nd.wrap_index", "ad.grow", "ad.tape"}
    here |= {"nd.sum_in_order", "nd.sort", "nd.argsort", "nd.windows", "nd.overlap", "nd.print", "ad.stop"}
    here |= {"nd.draw", "nd.drawn", "nd.running_extreme"}
    here |= {f"nd.{name}" for name in ("check_indices", "gather", "keep_last", "scatter", "scatter_add")}
    here |= {each.name for each in op_classes() if issubclass(each, MatricesOp | FourierOp)}
    unknown = {op_class.name for op_class in op_classes()} - seen - elsewhere - here
    assert unknown <= {ConstantOp.name}, unknown


# --- fusion -----------------------------------------------------------------------------------------------------

V, M = types.tensor((4,), F64), types.tensor((3, 4), F64)
FUSED: dict[str, tuple[list[Attribute], Callable[..., list[Expr]], int]] = {
    # arguments, program, number of remaining generics
    "chain": ([V], lambda x: [np.tanh(np.exp(x) * 2.0) + x], 1),
    "diamond": ([V], lambda x: [diamond(np.exp(x))], 1),
    "two results": ([V], lambda x: [(e := np.exp(x)) + 1.0, e * 2.0], 3),
    "cheap for two": ([V], lambda x: [np.exp(n := -x), np.sin(n)], 2),
    "broadcast": ([M, V], lambda a, v: [a * broadcast(v, (1,), (3, 4))], 1),
    "costly broadcast": ([M, V], lambda a, v: [a * broadcast(np.exp(v), (1,), (3, 4))], 2),
    "transposed": ([M], lambda a: [emit(TransposeOp, np.exp(a), permutation=(1, 0))], 1),
    "transposed twice used": ([types.tensor((4, 4), F64)], lambda a: [symmetric(np.exp(a))], 2),
    "reduced": ([M], lambda a: [sum_of(np.exp(a) * a, (1,))], 1),
    "normalised": ([V], lambda x: [(e := np.exp(x)) / broadcast(sum_of(e), (), (4,))], 3),
    "inner product": ([V, V], lambda x, y: [contract("i,i->", np.exp(x), y - x)], 1),
    "matrix by vector": ([M, V], lambda a, x: [contract("ij,j->i", np.exp(a), x * 2.0)], 2),
    "matrix product": (
        [M, types.tensor((4, 4), F64)],
        lambda a, b: [contract("ij,jk->ik", a + a, emit(TransposeOp, b, permutation=(1, 0)))],
        2,
    ),
}


def diamond(e: Expr) -> Expr:
    a, b = e + 1.0, e * 2.0
    return a * b + e


def symmetric(e: Expr) -> Expr:
    return e + emit(TransposeOp, e, permutation=(1, 0))


@pytest.mark.parametrize("name", FUSED)
def test_what_is_fused(name: str, mlir_opt: Callable[..., str]) -> None:
    arguments, body, count = FUSED[name]
    module = program(arguments, body)
    changed = applied("fused", module)
    assert len(generics(changed)) == count
    inputs = [np.random.default_rng(5).normal(size=types.shape(type)) for type in arguments]
    for want, got in zip(run(module, "f", *inputs), linalg_interpreter.run(changed, "f", *inputs), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-14)
    mlir_opt(str(changed))


def test_dear_ops_are_not_repeated() -> None:
    for name in FUSED:
        arguments, body, _ = FUSED[name]
        counts = [
            sum(op.name == "math.exp" for op in applied(stage, program(arguments, body)).walk())
            for stage in ("plain", "fused")
        ]
        assert counts[0] == counts[1], name


def test_fusion_reads_nothing_that_is_gone() -> None:
    """-x is computed before x is overwritten: fused, the read would come too late, and cost a copy."""

    def body(x: Expr, i: Expr) -> list[Expr]:
        return [-x + put(constant(5.0, F64), x, check_index(i, constant(4, I64), 0))]

    changed = applied("fused", program([V, I64], body))
    first, second = generics(changed)
    block = first.parent
    assert block is not None and block is second.parent
    order = [op.name for op in block.ops]
    assert order.index("linalg.generic") < order.index("tensor.insert")


def test_a_branch_that_hands_an_array_on_destroys_it() -> None:
    def body(x: Expr, c: Expr) -> list[Expr]:
        negated = -x
        (y,) = branch(c, lambda: [x], lambda: [np.exp(x)])
        return [negated + y]

    first, *_, last = generics(applied("fused", program([V, types.I1], body)))
    assert [op.name for op in first.body.block.ops] == ["arith.negf", "linalg.yield"]
    assert first.parent is last.parent


def test_fusion_of_a_long_chain_is_one_generic() -> None:
    def body(x: Expr) -> list[Expr]:
        for _ in range(100):
            x = x * 0.5 + x
        return [x]

    changed = applied("optimized", program([V], body))
    (generic,) = generics(changed)
    assert len(generic.body.block.ops) == 201 and len(generic.inputs) == 1


def test_a_longer_chain_is_cut_into_groups_of_bounded_size() -> None:
    """Programs of any length fit in Python's stack and in the registers of a loop."""
    length = 1000

    def body(x: Expr) -> list[Expr]:
        for _ in range(length):
            x = x * 0.5 + x
        return [x]

    made = generics(applied("optimized", program([V], body)))
    assert 2 * length / 256 <= len(made) <= 3 * length / 256
    assert max(len(op.body.block.ops) for op in made) <= 256 + 1


@pytest.mark.parametrize("passes", PIPELINES)
@pytest.mark.parametrize("shape", [(5,), (2, 3), (0,), (2, 0), (2, 2, 3)])
@pytest.mark.parametrize("is_known", [True, False])
def test_native_functions_sort_parts_of_an_array(passes: str, shape: tuple[int, ...], is_known: bool) -> None:
    x = np.random.default_rng(3).normal(size=shape).astype(np.float32)
    type = types.tensor(shape if is_known else (-1,) * len(shape), F32)

    def body(x: Expr) -> list[Expr]:
        return [emit(SortOp, x, kind="quicksort"), emit(ArgsortOp, x, kind="stable"), x]

    found = linalg_interpreter.run(applied(passes, program([type], body)), "f", x)
    for value, wanted in zip(found, (np.sort(x), np.argsort(x, kind="stable"), x), strict=True):
        np.testing.assert_array_equal(value, wanted)
