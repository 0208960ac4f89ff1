"""Vector functions against the C library in 80-bit precision, over the whole range of their type."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import minimax
import numpy as np
import pytest
from run_loops import kernel, lowered, parse
from xdsl.context import Context
from xdsl.dialects import math, scf
from xdsl.dialects.builtin import VectorType

from mlirad.lowering.to_loops.expand_math import ExpandMath
from mlirad.lowering.to_loops.linalg_to_loops import LinalgToLoops
from mlirad.lowering.to_loops.polynomials import TABLES
from mlirad.lowering.to_loops.vector_math import FORMATS

Array = np.ndarray[Any, Any]
DTYPES: dict[str, Any] = {"f32": np.float32, "f64": np.float64}
FUNCTIONS = ["exp", "expm1", "log", "log1p", "sin", "cos", "tanh"]
OTHERS = [
    *("exp2", "log2", "log10", "tan", "sinh", "cosh"),
    *("asin", "acos", "atan", "asinh", "acosh", "atanh", "cbrt"),
]
LIMIT = 1.6
"""Units in the last place; the promise is 2."""

pytestmark = [
    pytest.mark.skipif(np.finfo(np.longdouble).nmant < 63, reason="needs a long double of 80 bits as the reference"),
    pytest.mark.filterwarnings("ignore::RuntimeWarning"),
]


def program(name: str, element: str, size: str = "?") -> str:
    type = f"memref<{size}x{element}>"
    return (
        f"func.func @f(%a: {type}, %o: {type}) {{\n"
        "  linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],"
        f' iterator_types = ["parallel"]}} ins(%a : {type}) outs(%o : {type}) {{\n'
        f"  ^bb0(%x: {element}, %z: {element}):\n    %y = math.{name} %x : {element}\n"
        f"    linalg.yield %y : {element}\n  }}\n  func.return\n}}\n"
    )


def apply(name: str, x: Array, vector_bytes: int = 32) -> Array:
    element = "f32" if x.dtype == np.float32 else "f64"
    out = np.empty_like(x)
    kernel(program(name, element), vector_bytes)(x, out)
    return out


def exact(name: str, x: Array) -> Array:
    return getattr(np, name)(x.astype(np.longdouble))


def errors(name: str, x: Array, y: Array) -> Array:
    """The error in units in the last place; inf if only one of the two is nan, infinite or below zero."""
    reference = exact(name, x)
    rounded = reference.astype(x.dtype)
    error = np.abs(y.astype(np.longdouble) - reference) / np.spacing(np.abs(rounded)).astype(np.longdouble)
    special = ~np.isfinite(rounded)
    same = (np.isnan(rounded) & np.isnan(y)) | (rounded == y)
    error = np.where(special, np.where(same, 0, np.inf), error)
    return np.where((rounded == 0) & (np.signbit(rounded) != np.signbit(y)), np.inf, error)


def every_kind_of_number(dtype: Any, count: int) -> Array:
    """Random bit patterns: all binades, denormals, infinities, nan, both signs."""
    bits = {4: np.uint32, 8: np.uint64}[np.dtype(dtype).itemsize]
    return np.random.default_rng(3).integers(0, np.iinfo(bits).max, count, dtype=bits).view(dtype)


def dense_samples(dtype: Any, count: int) -> Array:
    draw = np.random.default_rng(4)
    ranges = [(-800, 800), (-100, 100), (-10, 10), (-1, 1), (-0.02, 0.02), (0.5, 2), (-1e5, 1e5), (-1e9, 1e9)]
    return np.concatenate([draw.uniform(low, high, count).astype(dtype) for low, high in ranges])


def hard_samples(dtype: Any) -> Array:
    """Multiples of pi/2 and ln2/2, and powers of two, with their neighbours: where reduction and rounding change."""
    turns = (np.arange(-20000, 20000) * np.longdouble(np.pi) / 2).astype(dtype)
    halves = (np.arange(-2200, 2200) * np.log(np.longdouble(2)) / 2).astype(dtype)
    info = np.finfo(dtype)
    powers = np.ldexp(dtype(1), np.arange(info.minexp - info.nmant, info.maxexp)).astype(dtype)
    roots = (powers * np.sqrt(np.longdouble(0.5))).astype(dtype)
    centre = np.concatenate([turns, halves, powers, -powers, roots])
    up, down = np.nextafter(centre, dtype(np.inf)), np.nextafter(centre, dtype(-np.inf))
    return np.concatenate([centre, up, down])


def special_values(dtype: Any) -> Array:
    info = np.finfo(dtype)
    tiny = [info.tiny, info.smallest_subnormal, info.tiny / 2, np.nextafter(info.tiny, dtype(0))]
    edges = [709.78, 709.79, 745.1, 745.2, 708.39, 88.72, 88.73, 103.9, 104.0, 87.33, 9.01, 9.02, 19.06, 19.07, 22.0]
    wide = [2.0**17, 2.0**30, 1e6, 1e10, 1e22, info.max]
    positive = np.array([0.0, np.inf, np.nan, 1.0, *tiny, *edges, *wide], dtype)
    positive = np.concatenate([positive, np.nextafter(positive, dtype(np.inf)), np.nextafter(positive, dtype(0))])
    return np.concatenate([positive, -positive])


@pytest.mark.parametrize(
    ("name", "vector_bytes"),
    [*((name, size) for name in FUNCTIONS for size in (32, 64)), *((name, 64) for name in OTHERS)],
)
@pytest.mark.parametrize("element", ["f32", "f64"])
def test_errors_in_units_in_the_last_place(name: str, element: str, vector_bytes: int) -> None:
    dtype = DTYPES[element]
    x = np.concatenate(
        [every_kind_of_number(dtype, 60000), dense_samples(dtype, 15000), hard_samples(dtype), special_values(dtype)]
    )
    error = errors(name, x, apply(name, x, vector_bytes))
    worst = int(np.argmax(error))
    assert error[worst] < LIMIT, f"{name}({x[worst]!r}) is off by {error[worst]:.3f} ulp"


@pytest.mark.parametrize("element", ["f32", "f64"])
@pytest.mark.parametrize(
    ("name", "x", "y"),
    [
        ("exp", [0.0, -0.0, np.inf, -np.inf, 1e4, -1e4], [1.0, 1.0, np.inf, 0.0, np.inf, 0.0]),
        ("expm1", [0.0, -0.0, np.inf, -np.inf, 1e4, -1e4], [0.0, -0.0, np.inf, -1.0, np.inf, -1.0]),
        ("log", [1.0, 0.0, -0.0, np.inf], [0.0, -np.inf, -np.inf, np.inf]),
        ("log1p", [0.0, -0.0, -1.0, np.inf], [0.0, -0.0, -np.inf, np.inf]),
        ("tanh", [0.0, -0.0, np.inf, -np.inf, 50.0, -50.0], [0.0, -0.0, 1.0, -1.0, 1.0, -1.0]),
        ("sin", [0.0, -0.0], [0.0, -0.0]),
        ("cos", [0.0, -0.0], [1.0, 1.0]),
        ("tan", [0.0, -0.0], [0.0, -0.0]),
        ("exp2", [0.0, -0.0, np.inf, -np.inf, 3.0, -20.0], [1.0, 1.0, np.inf, 0.0, 8.0, 2.0**-20]),
        ("log2", [1.0, 0.0, -0.0, np.inf, 8.0, 2.0**-20], [0.0, -np.inf, -np.inf, np.inf, 3.0, -20.0]),
        ("log10", [1.0, 0.0, -0.0, np.inf], [0.0, -np.inf, -np.inf, np.inf]),
        ("sinh", [0.0, -0.0, np.inf, -np.inf], [0.0, -0.0, np.inf, -np.inf]),
        ("cosh", [0.0, -0.0, np.inf, -np.inf], [1.0, 1.0, np.inf, np.inf]),
        ("asin", [0.0, -0.0], [0.0, -0.0]),
        ("acos", [1.0], [0.0]),
        ("atan", [0.0, -0.0], [0.0, -0.0]),
        ("asinh", [0.0, -0.0, np.inf, -np.inf], [0.0, -0.0, np.inf, -np.inf]),
        ("acosh", [1.0, np.inf], [0.0, np.inf]),
        ("atanh", [0.0, -0.0, 1.0, -1.0], [0.0, -0.0, np.inf, -np.inf]),
        ("cbrt", [0.0, -0.0, np.inf, -np.inf, 27.0, -8.0], [0.0, -0.0, np.inf, -np.inf, 3.0, -2.0]),
    ],
)
def test_exact_values(name: str, element: str, x: list[float], y: list[float]) -> None:
    dtype = DTYPES[element]
    out, wanted = apply(name, np.array(x, dtype)), np.array(y, dtype)
    np.testing.assert_array_equal(out, wanted)
    np.testing.assert_array_equal(np.signbit(out), np.signbit(wanted))


@pytest.mark.parametrize("element", ["f32", "f64"])
@pytest.mark.parametrize(
    ("name", "x"),
    [
        ("log", -1.0),
        ("log", -np.inf),
        ("log1p", -1.5),
        ("log1p", -np.inf),
        ("sin", np.inf),
        ("cos", -np.inf),
        *(("tan", np.inf), ("log2", -1.0), ("log10", -1.0), ("acosh", 0.5), ("acosh", -np.inf)),
        *((f, x) for f in ("asin", "acos", "atanh") for x in (1.5, -np.inf)),
        *[(f, np.nan) for f in (*FUNCTIONS, *OTHERS)],
    ],
)
def test_what_is_not_a_number(name: str, element: str, x: float) -> None:
    assert np.isnan(apply(name, np.full(3, x, DTYPES[element]))).all()


@pytest.mark.parametrize("element", ["f32", "f64"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_lane_gives_the_same_wherever_it_stands(name: str, element: str) -> None:
    """One huge angle sends its vector to the library; its neighbours must not change."""
    x = np.random.default_rng(0).uniform(0.1, 50, 67).astype(DTYPES[element])
    alone = apply(name, x)
    for place in (0, 5, 66):
        y = x.copy()
        y[place] = 1e20
        moved = apply(name, y)
        np.testing.assert_array_equal(np.delete(moved, place), np.delete(alone, place))
    for start in range(9):
        np.testing.assert_array_equal(apply(name, x[start:].copy()), alone[start:])


def test_the_widest_angles_are_the_librarys() -> None:
    for element, dtype in DTYPES.items():
        widest = FORMATS[8 * np.dtype(dtype).itemsize].widest
        x = np.array([widest, np.nextafter(dtype(widest), dtype(np.inf)), 1e15, -1e30], dtype)
        for name in ("sin", "cos", "tan"):
            assert errors(name, x, apply(name, x)).max() < LIMIT, (name, element)


def test_functions_without_a_polynomial_are_called_lane_by_lane() -> None:
    module = lowered(program("erf", "f64"))
    ops = [op for op in module.walk() if op.name == "math.erf"]
    assert ops and not any(isinstance(op.results[0].type, VectorType) for op in ops)


def test_scalars_of_which_the_library_is_wrong_by_units_are_expanded() -> None:
    text = "func.func @f(%x: f64) -> f64 {\n  %y = math.cbrt %x : f64\n  func.return %y : f64\n}\n"
    module = parse(text)
    ExpandMath().apply(Context(), module)
    assert not any(isinstance(op, math.CbrtOp) for op in module.walk())


def test_native_functions_and_scalars_are_left_alone() -> None:
    text = (
        "func.func @f(%v: vector<4xf64>, %x: f64, %m: memref<f64>, %n: memref<4xf64>) {\n"
        "  %c = arith.constant 0 : index\n  %a = math.sqrt %v : vector<4xf64>\n  %b = math.absf %a : vector<4xf64>\n"
        "  %d = math.exp %x : f64\n  memref.store %d, %m[] : memref<f64>\n"
        "  vector.store %b, %n[%c] : memref<4xf64>, vector<4xf64>\n  func.return\n}\n"
    )
    module = parse(text)
    before = str(module)
    ExpandMath().apply(Context(), module)
    assert str(module) == before


def test_constants_are_made_once_a_function() -> None:
    module = parse(program("exp", "f64"))
    LinalgToLoops().apply(Context(), module)
    loop = next(op for op in module.walk() if isinstance(op, scf.ForOp))
    ExpandMath().apply(Context(), module)
    assert not any(op.name == "arith.constant" for op in loop.walk())
    assert not any(isinstance(op, math.ExpOp) for op in module.walk())


def test_the_place_of_an_expanded_op_is_kept() -> None:
    module = parse(program("tanh", "f32"))
    LinalgToLoops().apply(Context(), module)
    old = list(module.walk())
    op = next(op for op in old if isinstance(op, math.TanhOp))
    place = op.location
    ExpandMath().apply(Context(), module)
    assert {new.location for new in module.walk() if not any(new is other for other in old)} == {place}


def test_the_coefficients_are_those_that_the_generator_finds() -> None:
    for bits, rows in ((64, minimax.table()["f64"]), (32, minimax.table()["f32"])):
        assert {name: list(values) for name, values in rows.items()} == {
            name: list(getattr(TABLES[bits], name)) for name in rows
        }


@pytest.mark.parametrize("type", ["f32", "f64"])
@pytest.mark.parametrize("name", ["exp", "sin", "cos", "log", "exp2", "asin", "atan", "sinh", "tan"])
def test_a_polynomial_is_within_a_quarter_of_a_unit(type: str, name: str) -> None:
    coefficients = minimax.table()[type][name]
    error = minimax.worst(minimax.FITS[type][name], coefficients, minimax.WEIGHTS[name])
    assert error * 2.0 ** {"f32": 24, "f64": 53}[type] < 0.25


def test_mlir_accepts_the_expansions(mlir_opt: Callable[..., str]) -> None:
    for name in [*FUNCTIONS, *OTHERS, "erf"]:
        for element in DTYPES if name in FUNCTIONS else ("f32",):
            mlir_opt(str(lowered(program(name, element, "5"))))
