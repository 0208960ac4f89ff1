"""Products of arrays: every layout and every ragged size, exactly, on integers small enough to be exact."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from run_loops import kernel, lowered, parse
from xdsl.context import Context
from xdsl.dialects import func, memref, scf, vector
from xdsl.dialects.builtin import IntegerAttr

import mlirad
from mlirad.analysis.constants import constant_int
from mlirad.lowering.to_loops.linalg_to_loops import LinalgToLoops
from mlirad.lowering.to_loops.products import planned_product, product_blocks, register_tiles
from mlirad.lowering.to_loops.products.product_blocks import rows_of_tile, vectors_of_tile

RNG = np.random.default_rng(11)
Sizes = dict[str, int]


def einsum(spec: str, sizes: dict[str, int | str], element: str) -> str:
    """The linalg.generic of a contraction; a size is a number or "?"."""
    inputs, output = spec.split("->")
    labels = list(dict.fromkeys(spec.replace(",", "").replace("->", "")))
    groups = [*inputs.split(","), output]
    types = ["memref<" + "".join(f"{sizes[label]}x" for label in group) + f"{element}>" for group in groups]
    maps = ", ".join(f"affine_map<({', '.join(labels)}) -> ({', '.join(group)})>" for group in groups)
    kinds = ", ".join('"parallel"' if label in output else '"reduction"' for label in labels)
    return (
        f"func.func @f(%a: {types[0]}, %b: {types[1]}, %c: {types[2]}) {{\n"
        f"  linalg.generic {{indexing_maps = [{maps}], iterator_types = [{kinds}]}}"
        f" ins(%a, %b : {types[0]}, {types[1]}) outs(%c : {types[2]}) {{\n"
        f"  ^bb0(%x: {element}, %y: {element}, %z: {element}):\n    %p = arith.mulf %x, %y : {element}\n"
        f"    %q = arith.addf %z, %p : {element}\n    linalg.yield %q : {element}\n  }}\n  func.return\n}}\n"
    )


def arrays(spec: str, sizes: Sizes, dtype: Any) -> list[np.ndarray[Any, Any]]:
    groups = spec.replace("->", ",").split(",")
    return [RNG.integers(-8, 9, [sizes[label] for label in group]).astype(dtype) for group in groups]


def check(spec: str, sizes: Sizes, *, unknown: str = "", element: str = "f64", vector_bytes: int = 32) -> None:
    written: dict[str, int | str] = {label: "?" if label in unknown else size for label, size in sizes.items()}
    a, b, c = arrays(spec, sizes, {"f64": np.float64, "f32": np.float32}[element])
    expected = c + np.einsum(spec, a, b)
    kernel(einsum(spec, written, element), vector_bytes)(a, b, c)
    np.testing.assert_array_equal(c, expected)


LAYOUTS = [f"{a},{b}->{c}" for a in ("ik", "ki") for b in ("kj", "jk") for c in ("ij", "ji")]


@pytest.mark.parametrize("spec", LAYOUTS)
@pytest.mark.parametrize("sizes", [(1, 1, 1), (2, 3, 5), (7, 9, 11), (13, 17, 3), (33, 20, 40), (6, 64, 300)])
def test_matrix_product(spec: str, sizes: Sequence[int]) -> None:
    for element, vector_bytes in (("f64", 32), ("f32", 64)):
        check(spec, dict(zip("ijk", sizes, strict=True)), element=element, vector_bytes=vector_bytes)


@pytest.mark.parametrize("spec", LAYOUTS)
def test_matrix_product_in_blocks(spec: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Several blocks along each dimension, whole and ragged: of at most 24 rows, 32 columns and 16 steps."""
    always = dict.fromkeys(("_LARGE", "_SCATTERED", "_FEWEST_COLUMNS"), 1)
    values = {**always, "_ROWS_BYTES": 3072, "_COLUMNS_BYTES": 4096, "DEPTH": 16, "_PAGE": 512}
    for name, value in values.items():
        monkeypatch.setattr(product_blocks, name, value)
    for module in (planned_product, register_tiles):
        monkeypatch.setattr(module, "DEPTH", 16)
    batched = f"b{spec.replace(',', ',b').replace('->', '->b')}"
    check(batched, {"b": 2, "i": 53, "j": 67, "k": 35})
    check(spec, {"i": 48, "j": 64, "k": 32}, element="f32", vector_bytes=64)
    if spec == "ik,kj->ij":
        for height in (5, 7, 11):  # tiles of so many rows, transposed in squares of 8 and 4
            check(spec, {"i": height, "j": 35, "k": 43}, element="f32", vector_bytes=64)


def test_long_rows_of_a_large_factor_are_read_in_order() -> None:
    """For few rows of the first factor in place, also if the result is only written; for more, they are packed."""
    for rows, depth, columns in ((3, 1034, 513), (16, 500, 1100), (17, 1060, 515)):
        a, b = RNG.integers(-8, 9, (rows, depth)).astype(float), RNG.integers(-8, 9, (depth, columns)).astype(float)
        for x, y in ((a, b), (a[:, ::-1], b[::-1])):
            np.testing.assert_array_equal(mlirad.jit(np.matmul)(x, y), x @ y)
    for sizes in ({"i": 5, "j": 2060, "k": 515}, {"i": 18, "j": 2060, "k": 515}):
        check("ik,kj->ij", sizes, element="f32", vector_bytes=64)


def test_tiles_in_blocks_fetch_ahead() -> None:
    """The rows of c that a tile will add to, and what is packed of a and b; rows of a are transposed in registers."""
    sizes: dict[str, int | str] = {"i": 1024, "j": 96, "k": 512}
    text = str(lowered(einsum("ik,kj->ij", sizes, "f64"), 64))
    writes = [line for line in text.splitlines() if "memref.prefetch" in line and "isWrite = true" in line]
    reads = [line for line in text.splitlines() if "memref.prefetch" in line and "isWrite = false" in line]
    assert len(writes) == 4 and all("memref<1024x96xf64>" in line for line in writes)
    packed = [("x8xf64>" in line, "x24xf64>" in line) for line in reads]
    assert set(packed) == {(True, False), (False, True)}
    assert "vector.shuffle" in text


def test_a_cleared_result_is_only_written() -> None:
    """Short sums replace the zeros that stand before them; a sum in two parts, and a part of the array, need them."""
    a, b = RNG.integers(-8, 9, (3, 60, 7)).astype(np.float64), RNG.integers(-8, 9, (3, 7, 45)).astype(np.float64)

    def part(a, b):
        y = np.zeros((60, 50))
        y[:, 5:] += a[0] @ b[0]
        return y

    for function, is_cleared in (
        (lambda a, b: a[0] @ b[0], False),
        (np.matmul, False),
        (lambda a, b: np.einsum("bik,bkj->ij", a, b), True),
    ):
        compiled = mlirad.jit(function)
        np.testing.assert_array_equal(compiled(a, b), function(a, b))
        assert ("linalg.fill" in compiled.lower(a, b).as_text("loops")) is is_cleared
    np.testing.assert_array_equal(mlirad.jit(part)(a, b), part(a, b))


def test_the_first_part_of_a_sum_in_blocks_is_stored() -> None:
    """What the result's memory held, such as an earlier result, is not in the sum; also if products share tiles."""
    a, b = RNG.integers(-8, 9, (600, 530)).astype(np.float64), RNG.integers(-8, 9, (600, 515)).astype(np.float64)
    for function in (lambda a, b: (a.T @ b,), lambda a, b: (a.T @ b, b.T @ a)):
        compiled = mlirad.jit(function)
        for scale in (1.0, 3.0):
            for ours, theirs in zip(compiled(scale * a, b), function(scale * a, b), strict=True):
                np.testing.assert_array_equal(ours, theirs)
        text = compiled.lower(a, b).as_text("loops")
        assert "linalg.fill" not in text and "scf.if" in text


def test_products_in_blocks_share_tiles() -> None:
    """Rows of a and columns of b in blocks, by functions that several products call."""
    a, b = RNG.integers(-8, 9, (300, 530)).astype(np.float64), RNG.integers(-8, 9, (300, 131)).astype(np.float64)
    compiled = mlirad.jit(lambda a, b: (a.T @ b, b.T @ a))
    for ours, theirs in zip(compiled(a, b), (a.T @ b, b.T @ a), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert "_packed(" in compiled.lower(a, b).as_text("loops")


def test_short_sums_write_rows_in_order() -> None:
    """Tiles follow one another along wide rows of c if the sums are short, and down a panel of columns if not."""
    for depth, steps in ((4, [4, 32]), (64, [32, 4])):
        module = lowered(einsum("ik,kj->ij", {"i": 16, "j": 512, "k": depth}, "f64"), 64)
        loops = [op for op in module.walk() if isinstance(op, scf.ForOp)]
        assert [constant_int(loop.step) for loop in loops][:2] == steps
    for sizes in ((13, 300, 4), (1, 512, 3), (40, 256, 32)):
        check("ik,kj->ij", dict(zip("ijk", sizes, strict=True)), vector_bytes=64)
        check("ki,kj->ij", dict(zip("ijk", sizes, strict=True)), element="f32", vector_bytes=64)


def test_vectors_run_along_the_sum_if_columns_are_few() -> None:
    """Tiles and steps, whole and not; b across and along; results that hold something, batches."""
    for spec in ("ik,kj->ij", "ik,jk->ij", "bik,bkj->bij"):
        for columns, vector_bytes in ((2, 32), (3, 64), (4, 64)):
            for rows, steps in ((2, 64), (3, 67), (7, 80), (29, 331)):
                sizes = {"b": 2, "i": rows, "j": columns, "k": steps}
                check(spec, sizes, unknown="i" * (columns == 3), element="f32", vector_bytes=vector_bytes)
    for dtype, lanes in ((np.float32, 16), (np.float64, 8)):
        a, b = RNG.integers(-8, 9, (40, 140)).astype(dtype), RNG.integers(-8, 9, (140, 3)).astype(dtype)
        for x, y in ((a, b), (a[::-1, ::-1], b[::-1]), (a[1::3, 5:], b[5:]), (a[:16, 3:], b[:-3, ::2])):
            np.testing.assert_array_equal(mlirad.jit(np.matmul)(x, y), x @ y)
            for along in (np.ascontiguousarray(y.T), np.repeat(y.T, 2, 1)[:, ::2]):
                np.testing.assert_array_equal(mlirad.jit(lambda x, z: x @ z.T)(x, along), x @ y)
        text = str(lowered(einsum("ik,kj->ij", {"i": 40, "j": 3, "k": 140}, f"f{8 * a.itemsize}"), 64))
        fmas = [line for line in text.splitlines() if "vector.fma" in line]
        assert fmas and all(f"vector<{lanes}x" in line for line in fmas)


@pytest.mark.parametrize("spec", LAYOUTS)
def test_matrix_product_of_unknown_sizes(spec: str) -> None:
    for sizes in ((0, 3, 3), (3, 0, 3), (3, 3, 0), (1, 1, 1), (1, 20, 2), (20, 1, 2), (7, 8, 9), (31, 35, 270)):
        check(spec, dict(zip("ijk", sizes, strict=True)), unknown="ijk")


@pytest.mark.parametrize("n", range(1, 36))
def test_every_ragged_size(n: int) -> None:
    check("ik,kj->ij", {"i": n, "j": n + 1, "k": 5}, unknown="ij")
    check("ik,jk->ij", {"i": n + 2, "j": n, "k": 3}, unknown="ij", vector_bytes=64)


@pytest.mark.parametrize(
    "spec",
    [
        "k,k->",
        "ik,k->i",
        "ki,k->i",
        "k,kj->j",
        "k,jk->j",
        "i,j->ij",
        "j,i->ij",
        "bik,bkj->bij",
        "bik,kj->bij",
        "ik,bkj->ibj",
        "bi,bi->b",
        "bi,bi->bi",
        "ikl,klj->ij",
        "ikl,ljk->ij",
        "abk,ck->abc",
        "ij,kj->ikj",
        "ik,kj->jki",
    ],
)
@pytest.mark.parametrize("scale", [1, 2, 9])
def test_other_contractions(spec: str, scale: int) -> None:
    sizes = {label: scale * size for label, size in zip("abcijkl", (1, 3, 2, 5, 2, 7, 3), strict=True)}
    check(spec, sizes)
    check(spec, sizes, unknown="".join(sizes), element="f32", vector_bytes=64)


def test_strided_operands() -> None:
    """Columns of a larger array, every other row, a reversed one: views of any array of the caller."""
    types = {
        "a": ("20x8xf64", "9x5xf64, strided<[16, 1], offset: 10>", "[1, 2][9, 5][2, 1]"),
        "b": ("8x30xf64", "5x13xf64, strided<[-30, 2], offset: 150>", "[5, 0][5, 13][-1, 2]"),
        "c": ("9x17xf64", "9x13xf64, strided<[17, 1], offset: 3>", "[0, 3][9, 13][1, 1]"),
    }
    arguments = ", ".join(f"%whole_{name}: memref<{whole}>" for name, (whole, _, _) in types.items())
    body = einsum("ik,kj->ij", {"i": 9, "j": 13, "k": 5}, "f64").split("\n", 1)[1]
    views = ""
    for name, (whole, view, place) in types.items():
        body = body.replace(f"memref<{view.split(',')[0]}>", f"memref<{view}>")
        views += f"%{name} = memref.subview %whole_{name}{place} : memref<{whole}> to memref<{view}>\n"
    a, b, c = (RNG.integers(-8, 9, shape).astype(float) for shape in ((20, 8), (8, 30), (9, 17)))
    expected = c.copy()
    expected[:, 3:16] += a[1:19:2, 2:7] @ b[5:0:-1, 0:26:2]
    kernel(f"func.func @f({arguments}) {{\n{views}{body}")(a, b, c)
    np.testing.assert_array_equal(c, expected)


def test_a_large_product_is_within_rounding_of_numpys() -> None:
    a, b = RNG.normal(size=(130, 515)), RNG.normal(size=(515, 71))
    c = np.zeros((130, 71))
    kernel(einsum("ik,kj->ij", {"i": 130, "j": 71, "k": 515}, "f64"), 64)(a, b, c)
    np.testing.assert_allclose(c, a @ b, rtol=0, atol=1e-12)


def test_nan_and_inf_do_not_leak_from_masked_lanes() -> None:
    """0 * inf is nan: a lane past the end must not reach the result."""
    a, b = np.full((5, 3), np.inf), np.ones((3, 6))
    b[:, 5] = np.nan
    c = np.zeros((5, 6))
    kernel(einsum("ik,kj->ij", {"i": 5, "j": 6, "k": 3}, "f64"))(a, b, c)
    assert np.isposinf(c[:, :5]).all() and np.isnan(c[:, 5]).all()


def test_a_tile_is_made_of_fused_multiply_adds() -> None:
    module = lowered(einsum("ik,kj->ij", {"i": 64, "j": 64, "k": 64}, "f64"))
    fused = [op for op in module.walk() if isinstance(op, vector.FMAOp)]
    assert len(fused) == 6 * 2
    assert not any(op.name == "arith.mulf" for op in module.walk())


@pytest.mark.parametrize("sizes", [(64, 64, 64), (61, 67, 59), (3, 3, 3)])
def test_the_code_stays_small(sizes: Sequence[int]) -> None:
    module = lowered(einsum("ik,jk->ij", dict(zip("ijk", sizes, strict=True)), "f64"), 64)
    assert sum(1 for _ in module.walk()) < 400


def test_scratch_lies_behind_the_planned_arena_and_is_shared() -> None:
    text = einsum("ik,jk->ij", {"i": 40, "j": 40, "k": 40}, "f64")
    start = text.index("  linalg.generic")
    end = text.index("  func.return")
    module = parse(text[:end] + text[start:end] + text[end:])
    function = next(iter(module.ops))
    assert isinstance(function, func.FuncOp)
    function.attributes["mlirad.arena_size"] = IntegerAttr(100, 64)
    LinalgToLoops(32).apply(Context(), module)
    allocs = [op for op in module.walk() if isinstance(op, memref.AllocOp)]
    assert [op.attributes["mlirad.offset"] for op in allocs] == [IntegerAttr(128, 64)] * 2
    assert function.attributes["mlirad.arena_size"] == IntegerAttr(128 + 40 * 8 * 8, 64)


def test_mlir_accepts_the_tiles(mlir_opt: Callable[..., str]) -> None:
    for spec in ("ik,kj->ij", "ki,jk->ij", "ik,k->i"):
        for size in ("?", 13):
            mlir_opt(str(lowered(einsum(spec, dict.fromkeys("ijk", size), "f64"))))


def test_rows_are_packed_before_a_loop_only_if_it_does_not_change_them() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((257, 700)), rng.standard_normal((3, 700, 70))

    def products(a, b):
        a, y, z = a.copy(), np.empty((3, 257, 70)), np.empty((3, 257, 70))
        for n in range(3):
            y[n] = a @ b[n]
        for n in range(3):
            z[n] = a @ b[n]
            a[n] = 2 * a[n + 1]
        return y, z

    for found, wanted in zip(mlirad.jit(products)(a, b), products(a, b), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-9)


def test_the_last_tile_begins_earlier_only_if_sums_are_stored() -> None:
    """Rows that two tiles have in common are stored twice, which gives the same; they must not be added twice."""

    def added(a, b, c):
        c += a @ b
        return c

    for m, k, n in ((13, 5, 300), (67, 40, 130), (100, 100, 100), (5, 64, 96)):
        a, b, c = (RNG.integers(-8, 9, shape).astype(np.float64) for shape in ((m, k), (k, n), (m, n)))
        np.testing.assert_array_equal(mlirad.jit(lambda a, b: a @ b)(a, b), a @ b)
        np.testing.assert_array_equal(mlirad.jit(added)(a, b, c.copy()), c + a @ b)


def test_wide_tiles_have_few_rows() -> None:
    """6 rows of 4 vectors, or fewer where that wastes none; a rest of the columns has the vectors that it needs."""
    for columns, vectors in ((128, 4), (136, 4), (40, 2), (8, 1)):
        assert vectors_of_tile(columns, 8, has_32_registers=True, is_packed=False) == vectors
    for columns, vectors in ((128, 3), (48, 3), (64, 4), (56, 2), (8, 1)):
        assert vectors_of_tile(columns, 8, has_32_registers=True, is_packed=True) == vectors
    assert vectors_of_tile(128, 4, has_32_registers=False, is_packed=True) == 2
    for rows, height in ((64, 6), (32, 4), (5, 5)):
        assert rows_of_tile(rows, 4, has_32_registers=True, is_packed=False) == height
    module = lowered(einsum("ik,kj->ij", {"i": 24, "j": 66, "k": 100}, "f64"), 64)
    sums = [len(op.iter_args) for op in module.walk() if isinstance(op, scf.ForOp) and op.iter_args]
    assert sums == [24, 6]
