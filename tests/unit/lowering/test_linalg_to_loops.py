"""Loops and vectors built from linalg on memrefs, run natively and compared with NumPy."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from random_nests import DTYPES, random_nest
from run_loops import kernel, lowered, parse
from xdsl.context import Context
from xdsl.dialects import arith, func, scf, vector
from xdsl.dialects.builtin import VectorType
from xdsl.dialects.linalg.ops import GenericOp

import mlirad
from mlirad.dialect.core.types import to_location
from mlirad.errors import CompileError
from mlirad.location import SourceLocation
from mlirad.lowering.to_loops.linalg_to_loops import LinalgToLoops

RNG = np.random.default_rng(5)


def generic(
    maps: list[str],
    kinds: str,
    ins: list[tuple[str, str]],
    outs: list[tuple[str, str]],
    body: str,
) -> str:
    """One linalg.generic. `maps` are written over d0, d1, ...; `kinds` is one letter, p or r, per dimension."""
    dims = ", ".join(f"d{d}" for d in range(len(kinds)))
    written = ", ".join(f"affine_map<({dims}) -> ({results})>" for results in maps)
    words = ", ".join({"p": '"parallel"', "r": '"reduction"'}[kind] for kind in kinds)

    def group(word: str, operands: list[tuple[str, str]]) -> str:
        names, types = (", ".join(each[i] for each in operands) for i in (0, 1))
        return f"{word}({names} : {types}) " if operands else ""

    return (
        f"linalg.generic {{indexing_maps = [{written}], iterator_types = [{words}]}} "
        f"{group('ins', ins)}{group('outs', outs)}{{\n{body}\n}}\n"
    )


def function(arguments: str, body: str) -> str:
    return f"func.func @f({arguments}) {{\n{body}\nfunc.return\n}}"


def reduction(element: str, word: str, shape: str, axes: str, out: str, kinds: str) -> str:
    source, target = f"memref<{shape}{element}>", f"memref<{out}{element}>"
    op = generic(
        [", ".join(f"d{d}" for d in range(len(kinds))), axes],
        kinds,
        [("%a", source)],
        [("%o", target)],
        f"^bb0(%x: {element}, %z: {element}):\n%r = arith.{word} %x, %z : {element}\nlinalg.yield %r : {element}",
    )
    return function(f"%a: {source}, %o: {target}", op)


@pytest.mark.parametrize("vector_bytes", [16, 32, 64])
@pytest.mark.parametrize("seed", range(40))
def test_random_nests(seed: int, vector_bytes: int) -> None:
    nest = random_nest(1000 * vector_bytes + seed)
    compiled = kernel(nest.text, vector_bytes)
    untouched = [operand.whole.copy() for operand in nest.operands[:-1]] + [nest.operands[-1].outside()]
    compiled(*[operand.whole for operand in nest.operands])
    left = [operand.whole for operand in nest.operands[:-1]] + [nest.operands[-1].outside()]
    for before, after in zip(untouched, left, strict=True):
        np.testing.assert_array_equal(before, after)
    tolerance = {"f64": 1e-11, "f32": 1e-4}.get(nest.element, 0)
    np.testing.assert_allclose(nest.result, nest.expected, rtol=tolerance, atol=tolerance)


ADD_ROW = function(
    "%a: memref<?x?xT>, %b: memref<?xT>, %o: memref<?x?xT>",
    generic(
        ["d0, d1", "d1", "d0, d1"],
        "pp",
        [("%a", "memref<?x?xT>"), ("%b", "memref<?xT>")],
        [("%o", "memref<?x?xT>")],
        "^bb0(%x: T, %y: T, %z: T):\n%r = ADD %x, %y : T\nlinalg.yield %r : T",
    ),
)


@pytest.mark.parametrize("element", ["f64", "f32", "i64", "i32", "i8", "i1"])
def test_a_broadcast_sum_of_every_ragged_length(element: str) -> None:
    add = {"f": "arith.addf", "i": "arith.addi"}[element[0]] if element != "i1" else "arith.xori"
    compiled = kernel(ADD_ROW.replace("ADD", add).replace("T", element))
    dtype = DTYPES.get(element, np.int8)
    for n in range(71):
        a, b = (RNG.integers(0, 2 if element == "i1" else 50, shape).astype(dtype) for shape in ((3, n), (n,)))
        out = np.zeros_like(a)
        compiled(a, b, out)
        np.testing.assert_array_equal(out, a ^ b if element == "i1" else a + b)


@pytest.mark.parametrize("shape", [(0, 5), (5, 0), (1, 1), (1, 9), (9, 1), (2, 3), (7, 70)])
def test_reductions_of_every_axis(shape: tuple[int, int]) -> None:
    a = RNG.normal(size=shape)
    for axes, out, kinds, axis in (
        ("d0", "?x", "pr", 1),
        ("d1", "?x", "rp", 0),
        ("", "", "rr", None),
    ):
        total = np.full(a.sum(axis).shape, 2.0)
        kernel(reduction("f64", "addf", "?x?x", axes, out, kinds))(a, total)
        np.testing.assert_allclose(total, 2.0 + a.sum(axis), rtol=1e-13, atol=1e-13)
        largest = np.full(total.shape, -np.inf)
        kernel(reduction("f64", "maximumf", "?x?x", axes, out, kinds))(a, largest)
        np.testing.assert_array_equal(largest, a.max(axis, initial=-np.inf))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_short_rows_reduced_together_give_the_bits_of_single_ones(dtype: type) -> None:
    """19 rows are one or two groups and some single rows; 7 elements are less than a vector, 21 are more."""

    @mlirad.jit
    def of_rows(x, y):
        return np.sum(x * x, axis=1), np.min(x, axis=1), np.max(y, axis=1), np.sum(y, axis=1)

    x, y = (np.random.default_rng(0).normal(size=(19, size)).astype(dtype) for size in (7, 21))
    x[3, 2], x[4, 6], y[5] = np.nan, np.inf, -0.0
    found = of_rows(x, y)
    for row in range(len(x)):
        for alone, each in zip(of_rows(x[row : row + 1], y[row : row + 1]), found, strict=True):
            assert alone.tobytes() == each[row : row + 1].tobytes()


@pytest.mark.parametrize("word", ["maximumf", "minimumf"])
@pytest.mark.parametrize("position", [0, 1, 15, 16, 40, 66])
def test_one_nan_makes_the_maximum_nan(word: str, position: int) -> None:
    a = RNG.normal(size=67)
    a[position] = np.nan
    out = np.array(-np.inf if word == "maximumf" else np.inf)
    kernel(reduction("f64", word, "?x", "", "", "r"))(a, out)
    assert np.isnan(out)


def test_a_maximum_below_zero_is_not_the_padding() -> None:
    for n in range(1, 40):
        a = -1.0 - RNG.random(n)
        out = np.array(-np.inf)
        kernel(reduction("f64", "maximumf", "?x", "", "", "r"))(a, out)
        assert out == a.max()


def test_the_sum_of_negative_zeros_is_negative_zero() -> None:
    out = np.array(-0.0)
    kernel(reduction("f64", "addf", "?x", "", "", "r"))(np.full(37, -0.0), out)
    assert np.signbit(out)


@pytest.mark.parametrize("shape", ["?x", "1000000x"])
def test_a_long_sum_is_as_accurate_as_numpys(shape: str) -> None:
    a = RNG.random(1_000_000).astype(np.float32)
    out = np.array(0, np.float32)
    kernel(reduction("f32", "addf", shape, "", "", "r"))(a, out)
    exact = math.fsum(a.tolist())
    assert abs(float(out) - exact) <= max(abs(float(a.sum()) - exact), 4 * float(np.spacing(np.float32(exact))))


def test_a_sum_does_not_depend_on_alignment() -> None:
    values = RNG.normal(size=1003)
    memory = np.zeros(1100)
    sums = set()
    for offset in range(9):
        memory[offset : offset + 1003] = values
        out = np.array(0.0)
        kernel(reduction("f64", "addf", "?x", "", "", "r"))(memory[offset : offset + 1003], out)
        sums.add(out.tobytes())
    assert len(sums) == 1


def test_a_fused_reduction_and_map_in_one_op() -> None:
    """o = sum(exp(x) * y, axis=1), and exp(x) kept."""
    text = function(
        "%x: memref<?x?xf64>, %y: memref<?xf64>, %e: memref<?x?xf64>, %o: memref<?xf64>",
        generic(
            ["d0, d1", "d1", "d0, d1", "d0"],
            "pr",
            [("%x", "memref<?x?xf64>"), ("%y", "memref<?xf64>")],
            [("%e", "memref<?x?xf64>"), ("%o", "memref<?xf64>")],
            "^bb0(%a: f64, %b: f64, %c: f64, %d: f64):\n%p = math.exp %a : f64\n%q = arith.mulf %p, %b : f64\n"
            "%r = arith.addf %d, %q : f64\nlinalg.yield %p, %r : f64, f64",
        ),
    )
    for shape in ((3, 0), (4, 7), (2, 33)):
        x, y = RNG.normal(size=shape), RNG.normal(size=shape[1])
        kept, out = np.zeros(shape), np.zeros(shape[0])
        kernel(text)(x, y, kept, out)
        np.testing.assert_allclose(kept, np.exp(x), rtol=1e-14)
        np.testing.assert_allclose(out, np.exp(x) @ y, rtol=1e-12, atol=1e-12)


def test_two_sums_over_different_axes_in_one_op() -> None:
    text = function(
        "%x: memref<?x?xf64>, %r: memref<?xf64>, %c: memref<?xf64>",
        generic(
            ["d0, d1", "d0", "d1"],
            "rr",
            [("%x", "memref<?x?xf64>")],
            [("%r", "memref<?xf64>"), ("%c", "memref<?xf64>")],
            "^bb0(%a: f64, %b: f64, %c0: f64):\n%p = arith.addf %a, %b : f64\n%q = arith.addf %a, %c0 : f64\n"
            "linalg.yield %p, %q : f64, f64",
        ),
    )
    x = RNG.normal(size=(6, 11))
    rows, columns = np.zeros(6), np.zeros(11)
    kernel(text)(x, rows, columns)
    np.testing.assert_allclose(rows, x.sum(1))
    np.testing.assert_allclose(columns, x.sum(0))


def test_the_place_of_the_maximum() -> None:
    """Two results that depend on one another have no combiner: a scalar loop, in order."""
    text = function(
        "%x: memref<?xf64>, %m: memref<f64>, %i: memref<i64>",
        generic(
            ["d0", "", ""],
            "r",
            [("%x", "memref<?xf64>")],
            [("%m", "memref<f64>"), ("%i", "memref<i64>")],
            "^bb0(%a: f64, %b: f64, %c: i64):\n%d = linalg.index 0 : index\n%e = arith.index_cast %d : index to i64\n"
            "%g = arith.cmpf ogt, %a, %b : f64\n%p = arith.select %g, %a, %b : f64\n"
            "%q = arith.select %g, %e, %c : i64\nlinalg.yield %p, %q : f64, i64",
        ),
    )
    x = RNG.normal(size=29)
    largest, place = np.array(-np.inf), np.array(-1)
    kernel(text)(x, largest, place)
    assert (largest, place) == (x.max(), x.argmax())


def test_casts_between_widths_in_one_op() -> None:
    text = function(
        "%x: memref<?xf32>, %n: memref<?xi32>, %m: memref<?xi1>, %o: memref<?xf64>, %s: memref<?xi8>",
        generic(
            ["d0"] * 5,
            "p",
            [("%x", "memref<?xf32>"), ("%n", "memref<?xi32>"), ("%m", "memref<?xi1>")],
            [("%o", "memref<?xf64>"), ("%s", "memref<?xi8>")],
            "^bb0(%a: f32, %b: i32, %c: i1, %d: f64, %e: i8):\n%p = arith.extf %a : f32 to f64\n"
            "%q = arith.sitofp %b : i32 to f64\n%r = arith.select %c, %p, %q : f64\n%t = arith.trunci %b : i32 to i8\n"
            "linalg.yield %r, %t : f64, i8",
        ),
    )
    for n in (0, 1, 3, 4, 19):
        x, k = RNG.normal(size=n).astype(np.float32), RNG.integers(-300, 300, n).astype(np.int32)
        mask, out, low = RNG.random(n) < 0.5, np.zeros(n), np.zeros(n, np.int8)
        kernel(text)(x, k, mask, out, low)
        np.testing.assert_array_equal(out, np.where(mask, x, k))
        np.testing.assert_array_equal(low, k.astype(np.int8))


def test_an_integer_division_does_not_meet_the_zeros_past_the_end() -> None:
    text = function(
        "%x: memref<?xi64>, %y: memref<?xi64>, %o: memref<?xi64>",
        generic(
            ["d0"] * 3,
            "p",
            [("%x", "memref<?xi64>"), ("%y", "memref<?xi64>")],
            [("%o", "memref<?xi64>")],
            "^bb0(%a: i64, %b: i64, %c: i64):\n%r = arith.floordivsi %a, %b : i64\nlinalg.yield %r : i64",
        ),
    )
    x, y = RNG.integers(-99, 99, 13), RNG.integers(1, 9, 13)
    out = np.zeros_like(x)
    kernel(text)(x, y, out)
    np.testing.assert_array_equal(out, x // y)
    assert not any(isinstance(r.type, VectorType) for op in lowered(text).walk() for r in op.results)


def test_a_window_slides_along_its_input() -> None:
    """A convolution: its index is the sum of two dimensions."""
    text = function(
        "%x: memref<?xf64>, %w: memref<3xf64>, %o: memref<?xf64>",
        generic(
            ["d0 + d1", "d1", "d0"],
            "pr",
            [("%x", "memref<?xf64>"), ("%w", "memref<3xf64>")],
            [("%o", "memref<?xf64>")],
            "^bb0(%a: f64, %b: f64, %c: f64):\n%p = arith.mulf %a, %b : f64\n%q = arith.addf %c, %p : f64\n"
            "linalg.yield %q : f64",
        ),
    )
    x, w = RNG.normal(size=41), RNG.normal(size=3)
    out = np.zeros(39)
    kernel(text)(x, w, out)
    np.testing.assert_allclose(out, np.correlate(x, w, "valid"))


def test_a_subscript_that_is_not_linear_is_refused_at_its_place() -> None:
    text = function(
        "%x: memref<4xf64>, %o: memref<8xf64>",
        generic(
            ["d0 floordiv 2", "d0"],
            "p",
            [("%x", "memref<4xf64>")],
            [("%o", "memref<8xf64>")],
            "^bb0(%a: f64, %b: f64):\nlinalg.yield %a : f64",
        ),
    )
    module = parse(text)
    for op in module.walk():
        op.location = to_location(SourceLocation("user.py", 3, 4))
    with pytest.raises(CompileError, match=r"user.py:3.*cannot index"):
        LinalgToLoops().apply(Context(), module)


def test_fill_and_copies() -> None:
    whole, turned = "memref<?x5xf32>", "memref<5x5xf32, strided<[1, 5]>>"
    text = function(
        f"%v: f32, %a: {whole}, %b: {whole}, %c: memref<5x5xf32>",
        f"linalg.fill ins(%v : f32) outs(%a : {whole})\n"
        "%one = arith.constant 1 : index\n%x = arith.constant 7.0 : f32\n"
        f"memref.store %x, %a[%one, %one] : {whole}\n"
        f"linalg.copy ins(%a : {whole}) outs(%b : {whole})\n"
        f"memref.store %v, %a[%one, %one] : {whole}\n"
        f"%zero = arith.constant 0 : index\nmemref.store %x, %a[%zero, %one] : {whole}\n"
        f"%t = memref.reinterpret_cast %a to offset: [0], sizes: [5, 5], strides: [1, 5] : {whole} to {turned}\n"
        f'"memref.copy"(%t, %c) : ({turned}, memref<5x5xf32>) -> ()',
    )
    a, b, c = (np.zeros((5, 5), np.float32) for _ in range(3))
    kernel(text)(2.5, a, b, c)
    expected = np.full((5, 5), 2.5, np.float32)
    expected[1, 1] = 7
    np.testing.assert_array_equal(b, expected)
    np.testing.assert_array_equal(c, a.T)
    assert a[0, 1] == c[1, 0] == 7


@pytest.mark.parametrize("shape", [(2, 3), (17, 5), (33, 70), (64, 64)])
@pytest.mark.parametrize("size", ["?", "static"])
def test_a_transposition(shape: tuple[int, int], size: str) -> None:
    rows, columns = (str(n) if size == "static" else "?" for n in shape)
    source, target = f"memref<{columns}x{rows}xf64>", f"memref<{rows}x{columns}xf64>"
    text = function(
        f"%a: {source}, %o: {target}",
        generic(
            ["d1, d0", "d0, d1"],
            "pp",
            [("%a", source)],
            [("%o", target)],
            "^bb0(%x: f64, %z: f64):\nlinalg.yield %x : f64",
        ),
    )
    a = RNG.normal(size=shape[::-1])
    out = np.zeros(shape)
    kernel(text)(a, out)
    np.testing.assert_array_equal(out, a.T)


def test_contiguous_dimensions_become_one_loop() -> None:
    """1000 x 3 fills vectors as 3000 does. The rest of a row of unknown length is a branch."""
    broadcast = ADD_ROW.replace("ADD", "arith.addf").replace("T", "f64")
    flat = function(
        "%a: memref<1000x3xf64>, %o: memref<1000x3xf64>",
        generic(
            ["d0, d1"] * 2,
            "pp",
            [("%a", "memref<1000x3xf64>")],
            [("%o", "memref<1000x3xf64>")],
            "^bb0(%x: f64, %z: f64):\n%r = arith.mulf %x, %x : f64\nlinalg.yield %r : f64",
        ),
    )
    assert sum(isinstance(op, scf.ForOp) for op in lowered(flat).walk()) == 1
    assert sum(isinstance(op, scf.ForOp) for op in lowered(broadcast).walk()) == 2
    a = RNG.normal(size=(1000, 3))
    out = np.zeros_like(a)
    kernel(flat)(a, out)
    np.testing.assert_array_equal(out, a * a)


def test_every_new_op_has_the_place_of_its_origin() -> None:
    module = parse(ADD_ROW.replace("ADD", "arith.addf").replace("T", "f64"))
    place = to_location(SourceLocation("user.py", 12, 4))
    old = list(module.walk())
    for op in old:
        if isinstance(op, GenericOp):
            op.location = place
    LinalgToLoops().apply(Context(), module)
    new = [op for op in module.walk() if not any(op is other for other in old)]
    assert len(new) > 10 and {op.location for op in new} == {place}


def test_an_op_of_the_body_keeps_a_place_of_its_own() -> None:
    text = ADD_ROW.replace("ADD", "arith.addf").replace("T", "f64")
    module = parse(text)
    own = to_location(SourceLocation("user.py", 99, 0))
    for op in module.walk():
        if isinstance(op, arith.AddfOp):
            op.location = own
    LinalgToLoops().apply(Context(), module)
    sums = [op for op in module.walk() if isinstance(op, arith.AddfOp)]
    assert sums and all(op.location == own for op in sums)


@pytest.mark.parametrize("n", [2, 3, 5, 8])
def test_a_small_static_nest_stays_small(n: int) -> None:
    text = ADD_ROW.replace("?", str(n)).replace("ADD", "arith.addf").replace("T", "f64")
    assert sum(1 for _ in lowered(text).walk()) < 48


def test_a_heavy_body_is_written_once() -> None:
    text = ADD_ROW.replace("%r = ADD %x, %y : T", "%t = math.tanh %x : T\n%r = arith.addf %t, %y : T").replace(
        "T", "f64"
    )
    module = parse(text)
    LinalgToLoops().apply(Context(), module)
    assert sum(op.name == "math.tanh" for op in module.walk()) == 1


@pytest.mark.parametrize("size", ["?", "1000000", "64", "67"])
def test_a_heavy_sum_is_written_once(size: str) -> None:
    """The sum of exp(x), for any length."""
    text = reduction("f64", "addf", f"{size}x", "", "", "r").replace(
        "%r = arith.addf %x, %z : f64", "%e = math.exp %x : f64\n%r = arith.addf %e, %z : f64"
    )
    module = parse(text)
    LinalgToLoops().apply(Context(), module)
    assert sum(op.name == "math.exp" for op in module.walk()) == 1
    for n in (0, 1, 5, 3000) if size == "?" else (int(size),):
        x, out = RNG.normal(size=n), np.array(0.0)
        kernel(text)(x, out)
        np.testing.assert_allclose(out, math.fsum(np.exp(x).tolist()), rtol=1e-14)


def test_no_linalg_is_left_and_vectors_are_of_the_width_asked_for() -> None:
    for vector_bytes, lanes in ((16, 2), (32, 4), (64, 8)):
        module = lowered(ADD_ROW.replace("ADD", "arith.addf").replace("T", "f64"), vector_bytes)
        assert not any(op.name.startswith("linalg.") for op in module.walk())
        loads = [op for op in module.walk() if isinstance(op, vector.LoadOp)]
        assert {op.result.type.get_shape() for op in loads} == {(lanes,)}


def test_mlir_accepts_the_loops(mlir_opt: Callable[..., str]) -> None:
    texts = [random_nest(seed).text.replace("@f", f"@f{seed}") for seed in range(30)]
    modules = [str(lowered(text)) for text in texts]
    functions = [module.removeprefix("builtin.module {").rstrip().removesuffix("}") for module in modules]
    assert mlir_opt("\n".join(functions)).count("func.func") == len(texts)


def test_a_declaration_is_left_alone() -> None:
    module = parse("func.func private @g(memref<4xf64>) -> ()")
    LinalgToLoops().apply(Context(), module)
    assert [type(op) for op in module.ops] == [func.FuncOp]


@pytest.mark.parametrize("n", [17, 19, 20, 22, 23, 26, 33, 70])
def test_rows_in_loops_end_in_shorter_vectors(n: int) -> None:
    def damped(x, w):
        y = x.copy()
        for _ in range(3):
            y = y * w - 0.5
            y[1:] = y[1:] + 0.25 * x[:-1]
        return y

    for dtype in (np.float64, np.float32):
        x, w = (RNG.normal(size=n).astype(dtype) for _ in range(2))
        np.testing.assert_array_equal(mlirad.jit(damped)(x, w), damped(x, w))
