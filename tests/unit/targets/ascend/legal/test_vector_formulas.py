"""Formulas of vector instructions against the functions themselves, in f64; bounds are measured over their ranges."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import special
from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Region

from mlirad.dialect import nd
from mlirad.dialect.core import types
from mlirad.dialect.core.registry import op_of
from mlirad.evaluator.evaluator import run
from mlirad.library import primitives
from mlirad.targets.ascend.legal.legalize import AscendLegal, formula_of
from mlirad.targets.ascend.legal.vector_formulas import FORMULAS

assert nd.Nd is not None  # its ops have to be there
ORACLES = {primitives.erf: special.erf, primitives.erfc: special.erfc, primitives.erfcx: special.erfcx}
SPECIAL = np.array([0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 2.0, -2.5, 1e-30, 3e38, -3e38, 1e-45], np.float32)
NAN_BEYOND = {
    **dict.fromkeys((np.sin, np.cos, np.tan), "2**15 half turns"),
    **dict.fromkeys((np.fmod, np.remainder), "a quotient of 2**43"),
}
"""Nan means that no digit is right."""


def results(function: Callable[..., Any], *arrays: np.ndarray) -> tuple[np.ndarray, ...]:
    """The formula's value, evaluated in f32, one op after the other."""
    kinds = [types.tensor(array.shape, types.F32) for array in arrays]
    op_class = op_of(function)
    block = Block(arg_types=kinds)
    op = op_class.create(operands=block.args, result_types=op_class.infer(kinds, {}, None))
    block.add_ops([op, func.ReturnOp(*op.results)])
    module = ModuleOp([func.FuncOp("f", (kinds, [each.type for each in op.results]), Region(block))])
    AscendLegal().apply(Context(), module)
    module.verify()
    assert not [each for each in module.walk() if formula_of(each)]
    return run(module, "f", *arrays)


def oracle(function: Callable[..., Any], *arrays: np.ndarray) -> tuple[np.ndarray, ...]:
    with np.errstate(all="ignore"):
        found = ORACLES.get(function, function)(*[array.astype(np.float64) for array in arrays])
    return found if isinstance(found, tuple) else (found,)


def samples(low: float, high: float, rng: np.random.Generator) -> np.ndarray:
    """Evenly spaced over the range and near 0, and with evenly spaced exponents."""
    sizes = np.exp(rng.uniform(math.log(1e-30), math.log(max(abs(low), abs(high))), 2000))
    near = rng.uniform(max(low, -4), min(high, 4), 2000)
    found = np.concatenate([rng.uniform(low, high, 2000), sizes, -sizes, near])
    return rng.permutation(found[(found >= low) & (found <= high)]).astype(np.float32)


@pytest.mark.parametrize("function", FORMULAS, ids=lambda each: each.__name__)
def test_a_formula_keeps_its_bound(function: Callable[..., Any]) -> None:
    formula, rng = FORMULAS[function], np.random.default_rng(1)
    arrays = [samples(*formula.range, rng) for _ in inspect.signature(formula.build).parameters]
    arrays = [array[: min(map(len, arrays))] for array in arrays]
    for found, expected in zip(results(function, *arrays), oracle(function, *arrays), strict=True):
        seen = (np.abs(expected) < 3e38) & ((np.abs(expected) > 1e-37) | (expected == 0))
        found, expected = found[seen].astype(np.float64), expected[seen]
        error = np.abs(found - expected) - formula.absolute
        assert (error <= formula.bound * np.abs(expected)).all()
        assert seen.sum() > 500


@pytest.mark.parametrize("function", FORMULAS, ids=lambda each: each.__name__)
def test_a_formula_is_right_at_the_ends(function: Callable[..., Any]) -> None:
    """At 0, infinities, nan, the smallest and largest numbers, and the ends of the functions' domains."""
    count = len(inspect.signature(FORMULAS[function].build).parameters)
    arrays = [SPECIAL] if count == 1 else [np.repeat(SPECIAL, len(SPECIAL)), np.tile(SPECIAL, len(SPECIAL))]
    with np.errstate(over="ignore"):
        expected = [each.astype(np.float32) for each in oracle(function, *arrays)]
    for one, other in zip(results(function, *arrays), expected, strict=True):
        wrong = ~np.isclose(one, other, rtol=1e-5, atol=1e-6, equal_nan=True)
        assert not wrong.any() or (function in NAN_BEYOND and np.isnan(one[wrong]).all())
