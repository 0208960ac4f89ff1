"""Integers and floats: the results of the emitted instructions where arith leaves them open, and that nothing traps."""

from __future__ import annotations

import math

import numpy as np
import pytest

_ELEMENTWISE = """
func.func public @f(%a: memref<?x{t}>, %b: memref<?x{t}>, %r: memref<?x{u}> {{mlirad.written = 0 : i64}}) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %a, %c0 : memref<?x{t}>
  scf.for %i = %c0 to %n step %c1 {{
    %x = memref.load %a[%i] : memref<?x{t}>
    %y = memref.load %b[%i] : memref<?x{t}>
    {line}
    memref.store %z, %r[%i] : memref<?x{u}>
  }}
  func.return
}}"""

_VECTORS = """
func.func public @f(%a: memref<?x{t}>, %b: memref<?x{t}>, %r: memref<?x{u}> {{mlirad.written = 0 : i64}}) {{
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %n = memref.dim %a, %c0 : memref<?x{t}>
  scf.for %i = %c0 to %n step %c8 {{
    %x = vector.load %a[%i] : memref<?x{t}>, vector<8x{t}>
    %y = vector.load %b[%i] : memref<?x{t}>, vector<8x{t}>
    {line}
    vector.store %z, %r[%i] : memref<?x{u}>, vector<8x{u}>
  }}
  func.return
}}"""

_ALL = np.arange(-128, 128)
_PAIRS = np.stack(np.meshgrid(_ALL, _ALL, indexing="ij")).reshape(2, -1)


def _wrap(values: np.ndarray) -> np.ndarray:
    return values.astype(np.int8)


def _truncated(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.trunc(a / b).astype(np.int64)


A, B = _PAIRS
ZERO = B == 0
SAFE = np.where(ZERO, 1, B)
UA, UB, USAFE = A % 256, B % 256, np.where(ZERO, 1, B % 256)
AMOUNT = np.minimum(UB, 60)

_INTEGERS = {
    "addi": A + B,
    "subi": A - B,
    "muli": A * B,
    "divsi": np.where(ZERO, A, _truncated(A, SAFE)),
    "remsi": np.where(ZERO, 0, A - SAFE * _truncated(A, SAFE)),
    "divui": UA // USAFE,
    "remui": np.where(ZERO, 0, UA % USAFE),
    "floordivsi": np.where(ZERO, A, A // SAFE),
    "ceildivsi": np.where(ZERO, A, -(-A // SAFE)),
    "ceildivui": -(-UA // USAFE),
    "andi": A & B,
    "ori": A | B,
    "xori": A ^ B,
    "minsi": np.minimum(A, B),
    "maxsi": np.maximum(A, B),
    "minui": np.minimum(UA, UB),
    "maxui": np.maximum(UA, UB),
    "shli": A << AMOUNT,
    "shrsi": A >> AMOUNT,
    "shrui": UA >> AMOUNT,
}


@pytest.mark.parametrize("template", [_ELEMENTWISE, _VECTORS], ids=["scalars", "vectors"])
@pytest.mark.parametrize("name", _INTEGERS)
def test_all_pairs_of_i8(load, name, template) -> None:
    """Every pair of bytes, including MIN / -1, x / 0 and shifts by more than the width."""
    type = "i8" if template is _ELEMENTWISE else "vector<8xi8>"
    artifact = load(template.format(t="i8", u="i8", line=f"%z = arith.{name} %x, %y : {type}"))
    out = np.zeros(A.size, np.int8)
    artifact.invoke("f", [_wrap(A), _wrap(B), out])
    np.testing.assert_array_equal(out, _wrap(_INTEGERS[name]))


@pytest.mark.parametrize("width", [16, 32, 64])
@pytest.mark.parametrize("name", ["divsi", "remsi", "floordivsi", "ceildivsi", "divui", "remui"])
def test_division_never_traps(load, name, width) -> None:
    info = np.iinfo(f"i{width // 8}")
    values = [info.min, info.min + 1, -7, -1, 0, 1, 7, info.max]
    a, b = (np.array(v, info.dtype) for v in zip(*[(x, y) for x in values for y in values], strict=True))
    artifact = load(_ELEMENTWISE.format(t=f"i{width}", u=f"i{width}", line=f"%z = arith.{name} %x, %y : i{width}"))
    out = np.zeros_like(a)
    artifact.invoke("f", [a, b, out])
    for x, y, z in zip(map(int, a), map(int, b), map(int, out), strict=True):
        if name.endswith("ui"):
            x, y = x % 2**width, y % 2**width
        quotient = x if y == 0 else (abs(x) // abs(y)) * (1 if (x < 0) == (y < 0) else -1)
        divisor = y or 1
        expected = {
            "divsi": quotient,
            "divui": quotient,
            "remsi": 0 if y == 0 else x - y * quotient,
            "remui": 0 if y == 0 else x - y * quotient,
            "floordivsi": x // divisor,
            "ceildivsi": -(-x // divisor),
        }[name]
        assert (z - expected) % 2**width == 0, (x, y)


@pytest.mark.parametrize(("name", "is_signed"), [("mulsi_extended", True), ("mului_extended", False)])
def test_products_of_two_words(load, name, is_signed) -> None:
    artifact = load(f"""
      func.func public @f(%x: i64, %y: i64) -> (i64, i64) {{
        %low, %high = arith.{name} %x, %y : i64
        func.return %low, %high : i64, i64
      }}""")
    for x, y in ((3, 5), (-1, 1), (2**62, 2), (-(2**63), -1), (2**63 - 1, 2**63 - 1), (-(2**63), 2**63 - 1)):
        low, high = artifact.invoke("f", [x, y])
        product = x * y if is_signed else (x % 2**64) * (y % 2**64)
        assert (low - product) % 2**64 == 0
        assert (high - (product >> 64)) % 2**64 == 0


def test_add_with_carry(load) -> None:
    artifact = load("""
      func.func public @f(%x: i64, %y: i64) -> (i64, i1) {
        %s, %o = arith.addui_extended %x, %y : i64, i1
        func.return %s, %o : i64, i1
      }""")
    assert artifact.invoke("f", [-1, 1]) == (0, True)
    assert artifact.invoke("f", [2**63 - 1, 1]) == (-(2**63), False)


_FLOAT_CASES = np.array([0.0, -0.0, 1.0, -1.5, 2.5, math.inf, -math.inf, math.nan])
X, Y = (v.ravel() for v in np.meshgrid(_FLOAT_CASES, _FLOAT_CASES, indexing="ij"))


@pytest.mark.parametrize("template", [_ELEMENTWISE, _VECTORS], ids=["scalars", "vectors"])
@pytest.mark.parametrize("element", ["f32", "f64"])
@pytest.mark.parametrize(
    ("name", "reference"),
    [
        ("addf", np.add),
        ("subf", np.subtract),
        ("mulf", np.multiply),
        ("divf", np.divide),
        ("maximumf", np.maximum),
        ("minimumf", np.minimum),
        ("maxnumf", np.fmax),
        ("minnumf", np.fmin),
        ("remf", np.fmod),
    ],
)
def test_floats_follow_ieee(load, name, reference, element, template) -> None:
    type = element if template is _ELEMENTWISE else f"vector<8x{element}>"
    artifact = load(template.format(t=element, u=element, line=f"%z = arith.{name} %x, %y : {type}"))
    dtype = np.dtype(f"f{int(element[1:]) // 8}")
    x, y = X.astype(dtype), Y.astype(dtype)
    out = np.zeros_like(x)
    artifact.invoke("f", [x, y, out])
    with np.errstate(all="ignore"):
        expected = reference(x, y)
    np.testing.assert_array_equal(out, expected)
    # IEEE's maximum has +0 > -0; NumPy's max of zeros is either.
    if name[1:4] not in ("axi", "axn", "ini", "inn"):
        np.testing.assert_array_equal(np.signbit(out)[~np.isnan(out)], np.signbit(expected)[~np.isnan(out)])


@pytest.mark.parametrize(
    ("predicate", "reference"),
    [
        ("oeq", lambda x, y: x == y),
        ("une", lambda x, y: x != y),
        ("olt", lambda x, y: x < y),
        ("ole", lambda x, y: x <= y),
        ("ogt", lambda x, y: x > y),
        ("oge", lambda x, y: x >= y),
        ("uno", lambda x, y: np.isnan(x) | np.isnan(y)),
    ],
)
def test_comparisons_give_bytes(load, predicate, reference) -> None:
    artifact = load(_ELEMENTWISE.format(t="f64", u="i1", line=f"%z = arith.cmpf {predicate}, %x, %y : f64"))
    out = np.zeros(X.size, np.bool_)
    artifact.invoke("f", [X, Y, out])
    np.testing.assert_array_equal(out, reference(X, Y))
    assert set(out.view(np.uint8)) <= {0, 1}


_UNFIT = [2.0**31, -(2.0**31) - 1, 2.0**32 + 7, 1e10, -1e10, 2.0**63, -(2.0**63), 2.0**64, 1e300, -1e300, math.inf]


@pytest.mark.parametrize("kind", ["fptosi", "fptoui"])
@pytest.mark.parametrize("width", [8, 16, 32, 64])
@pytest.mark.parametrize("source", ["f32", "f64"])
def test_float_to_integer_is_numpys(load, kind, width, source) -> None:
    artifact = load(_ELEMENTWISE.format(t=source, u=f"i{width}", line=f"%z = arith.{kind} %x : {source} to i{width}"))
    dtype = np.dtype(f"{'i' if kind == 'fptosi' else 'u'}{width // 8}")
    values = np.array([0.9, -0.9, 3.7, -3.7, 255.7, 300.2, -70000.5, *_UNFIT, -math.inf, math.nan]).astype(
        f"f{int(source[1:]) // 8}"
    )
    out = np.zeros(len(values), dtype)
    artifact.invoke("f", [values, values, out])
    with np.errstate(invalid="ignore"):
        # Only for uint32 does NumPy's own result depend on the position: there it follows C, through int64.
        expected = values.astype(np.int64 if dtype == np.uint32 else dtype).astype(dtype)
    np.testing.assert_array_equal(out, expected)


def test_conversions(load) -> None:
    artifact = load("""
      func.func public @f(%b: i1, %s: i8, %x: f32, %d: f64, %k: index)
          -> (f64, f64, f64, f32, i64, i64, i8, i32, f64, i64) {
        %0 = arith.uitofp %b : i1 to f64
        %1 = arith.sitofp %s : i8 to f64
        %2 = arith.uitofp %s : i8 to f64
        %3 = arith.truncf %d : f64 to f32
        %4 = arith.extsi %s : i8 to i64
        %5 = arith.extui %s : i8 to i64
        %6 = arith.trunci %5 : i64 to i8
        %7 = arith.bitcast %x : f32 to i32
        %8 = arith.extf %x : f32 to f64
        %9 = arith.index_cast %k : index to i64
        func.return %0, %1, %2, %3, %4, %5, %6, %7, %8, %9 : f64, f64, f64, f32, i64, i64, i8, i32, f64, i64
      }""")
    result = artifact.invoke("f", [True, -3, 1.5, 0.1, -9])
    expected = (1.0, -3.0, 253.0, float(np.float32(0.1)), -3, 253, -3, int(np.float32(1.5).view(np.int32)), 1.5, -9)
    assert result == expected


def test_constants_keep_every_bit(load) -> None:
    artifact = load("""
      func.func public @f() -> (f64, f32, f64, i64, i8, i1) {
        %0 = arith.constant 0.1 : f64
        %1 = arith.constant 0.1 : f32
        %2 = arith.constant 0x7FF8000000000000 : f64
        %3 = arith.constant -9223372036854775808 : i64
        %4 = arith.constant -5 : i8
        %5 = arith.constant true
        func.return %0, %1, %2, %3, %4, %5 : f64, f32, f64, i64, i8, i1
      }""")
    d, s, nan, i, b, t = artifact.invoke("f", [])
    assert (d, s, i, b, t) == (0.1, float(np.float32(0.1)), -(2**63), -5, True)
    assert math.isnan(nan)


def test_fastmath_only_where_the_op_says_so(emit) -> None:
    text = emit("""
      func.func public @f(%x: f64, %y: f64) -> (f64, f64) {
        %0 = arith.addf %x, %y : f64
        %1 = arith.mulf %0, %y fastmath<reassoc,nnan> : f64
        func.return %0, %1 : f64, f64
      }""")
    assert "fadd double" in text
    assert "fmul nnan reassoc double" in text


def test_products_and_sums_are_not_contracted(load) -> None:
    """x * x - y rounds twice, as in NumPy, although the processor could round once."""
    artifact = load("""
      func.func public @f(%x: f64, %y: f64) -> f64 {
        %p = arith.mulf %x, %x : f64
        %d = arith.subf %p, %y : f64
        func.return %d : f64
      }""")
    x = 1 + 2.0**-30
    assert artifact.invoke("f", [x, x * x]) == (0.0,)
