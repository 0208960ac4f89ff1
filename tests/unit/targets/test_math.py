"""math at stage `loops`: every op, as scalar and as vector, against NumPy, SciPy or the math module."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import special

_SCALAR = """
func.func public @f({arguments}, %r: memref<8x{t}> {{mlirad.result = 0 : i64}}) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  scf.for %i = %c0 to %c8 step %c1 {{
    {loads}
    %z = math.{name} {operands} : {t}
    memref.store %z, %r[%i] : memref<8x{t}>
  }}
  func.return
}}"""

_VECTOR = """
func.func public @f({arguments}, %r: memref<8x{t}> {{mlirad.result = 0 : i64}}) {{
  %i = arith.constant 0 : index
  {loads}
  %z = math.{name} {operands} : vector<8x{t}>
  vector.store %z, %r[%i] : memref<8x{t}>, vector<8x{t}>
  func.return
}}"""


def _text(name: str, type: str, arity: int, is_vector: bool) -> str:
    names = ["a", "b", "c"][:arity]
    if is_vector:
        loads = [f"%x{n} = vector.load %{n}[%i] : memref<8x{type}>, vector<8x{type}>" for n in names]
    else:
        loads = [f"%x{n} = memref.load %{n}[%i] : memref<8x{type}>" for n in names]
    return (_VECTOR if is_vector else _SCALAR).format(
        t=type,
        name=name,
        arguments=", ".join(f"%{n}: memref<8x{type}>" for n in names),
        loads="\n".join(loads),
        operands=", ".join(f"%x{n}" for n in names),
    )


_ANY = np.array([0.0, -0.7, 0.3, 1.2, -2.5, 3.5, -0.0, 20.25])
_POSITIVE = np.array([0.1, 0.5, 1.0, 2.0, 7.5, 100.0, 1e-8, 1e8])
_UNIT = np.array([0.0, -0.9, 0.25, 0.5, -0.3, 0.99, -0.01, 0.75])
_UNARY = {
    "absf": (np.abs, _ANY),
    "acos": (np.arccos, _UNIT),
    "acosh": (np.arccosh, 1 + _POSITIVE),
    "asin": (np.arcsin, _UNIT),
    "asinh": (np.arcsinh, _ANY),
    "atan": (np.arctan, _ANY),
    "atanh": (np.arctanh, _UNIT),
    "cbrt": (np.cbrt, _ANY),
    "ceil": (np.ceil, _ANY),
    "cos": (np.cos, _ANY),
    "cosh": (np.cosh, _ANY),
    "erf": (special.erf, _ANY),
    "exp": (np.exp, _ANY),
    "exp2": (np.exp2, _ANY),
    "expm1": (np.expm1, _ANY),
    "floor": (np.floor, _ANY),
    "log": (np.log, _POSITIVE),
    "log10": (np.log10, _POSITIVE),
    "log1p": (np.log1p, _POSITIVE),
    "log2": (np.log2, _POSITIVE),
    "round": (lambda x: np.copysign(np.floor(np.abs(x) + 0.5), x), _ANY),
    "roundeven": (np.rint, _ANY),
    "rsqrt": (lambda x: 1 / np.sqrt(x), _POSITIVE),
    "sin": (np.sin, _ANY),
    "sinh": (np.sinh, _ANY),
    "sqrt": (np.sqrt, _POSITIVE),
    "tan": (np.tan, _ANY),
    "tanh": (np.tanh, _ANY),
    "trunc": (np.trunc, _ANY),
}


@pytest.mark.parametrize("is_vector", [False, True], ids=["scalar", "vector"])
@pytest.mark.parametrize("element", ["f32", "f64"])
@pytest.mark.parametrize("name", _UNARY)
def test_unary(load, name, element, is_vector) -> None:
    reference, values = _UNARY[name]
    x = values.astype(f"f{int(element[1:]) // 8}")
    artifact = load(_text(name, element, 1, is_vector))
    (result,) = artifact.invoke("f", [x])
    expected = reference(x.astype(np.float64))
    np.testing.assert_allclose(result, expected, rtol=4 * np.finfo(x.dtype).eps, atol=0)
    np.testing.assert_array_equal(np.signbit(result), np.signbit(expected))


@pytest.mark.parametrize("is_vector", [False, True], ids=["scalar", "vector"])
@pytest.mark.parametrize(("name", "reference"), [("atan2", np.arctan2), ("powf", np.power), ("copysign", np.copysign)])
def test_binary(load, name, reference, is_vector) -> None:
    a = np.array([0.5, 2.0, 3.5, 1.0, 7.0, 0.1, 4.0, 9.0])
    b = np.array([2.0, -0.5, 0.0, 3.0, 1.0, -3.0, 0.5, -2.0])
    (result,) = load(_text(name, "f64", 2, is_vector)).invoke("f", [a, b])
    np.testing.assert_allclose(result, reference(a, b), rtol=4e-16)


@pytest.mark.parametrize("is_vector", [False, True], ids=["scalar", "vector"])
def test_fma_rounds_once(load, is_vector) -> None:
    a = np.full(8, 1 + 2.0**-30)
    c = np.full(8, -1.0)
    (result,) = load(_text("fma", "f64", 3, is_vector)).invoke("f", [a, a, c])
    np.testing.assert_array_equal(result, 2.0**-29 + 2.0**-60)


@pytest.mark.parametrize("is_vector", [False, True], ids=["scalar", "vector"])
@pytest.mark.parametrize("width", [8, 32, 64])
def test_integers(load, width, is_vector) -> None:
    bits, info = width, np.iinfo(f"i{width // 8}")
    x = np.array([0, 1, -1, 5, -8, info.max, info.min, 96], info.dtype)
    unsigned = [int(v) % 2**bits for v in x]
    references = {
        "absi": [abs(int(v)) for v in x],
        "ctpop": [v.bit_count() for v in unsigned],
        "ctlz": [bits - v.bit_length() for v in unsigned],
        "cttz": [bits if v == 0 else (v & -v).bit_length() - 1 for v in unsigned],
    }
    for name, expected in references.items():
        (result,) = load(_text(name, f"i{width}", 1, is_vector)).invoke("f", [x])
        assert [int(v) % 2**bits for v in result] == [v % 2**bits for v in expected], name


@pytest.mark.parametrize("is_vector", [False, True], ids=["scalar", "vector"])
@pytest.mark.parametrize("width", [32, 64])
def test_integer_powers_wrap(load, width, is_vector) -> None:
    x = np.array([3, -2, 0, 10, 7, 1, -1, 2], f"i{width // 8}")
    n = np.array([5, 63, 0, 30, 200, -3, -5, -1], f"i{width // 8}")
    (result,) = load(_text("ipowi", f"i{width}", 2, is_vector)).invoke("f", [x, n])
    powers = [int(a) ** int(b) if b >= 0 else {1: 1, -1: -1 if b % 2 else 1}.get(int(a), 0) for a, b in zip(x, n)]
    assert [int(v) % 2**width for v in result] == [p % 2**width for p in powers]


def test_float_to_an_integer_power(load) -> None:
    artifact = load("""
      func.func public @f(%x: f64, %n: i64) -> f64 {
        %z = math.fpowi %x, %n : f64, i64
        func.return %z : f64
      }""")
    for x, n in ((1.1, 3), (-2.0, 5), (0.0, 0), (2.0, -3), (1 + 1e-12, 2**33)):
        assert artifact.invoke("f", [x, n])[0] == pytest.approx(math.pow(x, n), rel=4e-16)


@pytest.mark.parametrize("name", ["exp", "tanh", "erf", "log", "sqrt", "sin", "log1p"])
def test_special_values(load, name) -> None:
    x = np.array([np.inf, -np.inf, np.nan, -1.0, 0.0, -0.0, 1e308, -1e308])
    (result,) = load(_text(name, "f64", 1, True)).invoke("f", [x])
    with np.errstate(all="ignore"):
        reference, _ = _UNARY[name]
        np.testing.assert_allclose(result, reference(x), rtol=4e-16)


@pytest.mark.parametrize("element", ["f32", "f64"])
def test_sine_and_cosine_of_one_argument(load, element) -> None:
    """LLVM merges the two into one call."""
    artifact = load(f"""
      func.func public @f(%x: {element}) -> ({element}, {element}) {{
        %s = math.sin %x : {element}
        %c = math.cos %x : {element}
        func.return %s, %c : {element}, {element}
      }}""")
    sine, cosine = artifact.invoke("f", [0.5])
    assert sine == pytest.approx(math.sin(0.5), rel=1e-6)
    assert cosine == pytest.approx(math.cos(0.5), rel=1e-6)
