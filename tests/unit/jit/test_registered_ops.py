"""Native functions as ops: of ctypes, of Numba, of Cython modules; under all transforms, in loops, on disk."""

from __future__ import annotations

import ctypes
import os
import pickle
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from scipy import special

import mlirad
from mlirad.contract.native_functions import addresses_in
from mlirad.contract.registered_ops import NativeFunctionError, op_of
from mlirad.library.own_rules import REGISTERED

numba = pytest.importorskip("numba")

LIBM = ctypes.CDLL(None)
X = np.array([0.3, -0.7, 1.2])


def erfc_rule(primals, tangents):
    (x,), (t,) = primals, tangents
    return erfc(x), -2.0 / np.sqrt(np.pi) * np.exp(-x * x) * t


def j1_forward(x):
    return j1(x), x


def j1_backward(x, g):
    return (g * (j0(x) - j1(x) / x),)


def spring_rule(primals, tangents):
    (x, k), (dx, dk) = primals, tangents
    return spring(x, k), dx * (k * np.cos(x)) + dk * np.sin(x)


@numba.cfunc("float64(float64, float64)")
def native_spring(x, k):
    return k * np.sin(x)


erfc = mlirad.register_op("erfc", LIBM.erfc, signature="double(double)", jvp=erfc_rule)
j0 = mlirad.register_op("j0", LIBM.j0, signature="float64(float64)", jvp=lambda p, t: (j0(p[0]), -j1(p[0]) * t[0]))
j1 = mlirad.register_op("j1", "scipy.special.cython_special.j1", vjp=(j1_forward, j1_backward))
spring = mlirad.register_op("spring", native_spring, jvp=spring_rule)
gammaln = mlirad.register_op("gammaln", "scipy.special.cython_special.gammaln")
ldexp = mlirad.register_op("ldexp", LIBM.ldexp, signature="double(double, int)")
erfcf = mlirad.register_op("erfcf", LIBM.erfcf, signature="float32(float32)")


def test_they_are_ufuncs_of_the_native_function() -> None:
    """Also in Python: broadcasting, numbers and 0-d arrays, dtypes. No constant is folded: code is kept."""

    def all_of_them(x, y, k, i):
        numbers = erfc(k), erfc(0.5), erfc(np.array(2))
        return erfc(x), spring(x, y), spring(2.0, y[:2]), ldexp(x, i), ldexp(x, 3), *numbers

    y, i = np.array([[1.0], [2.0]]), np.array([1, 2, 3], np.int32)
    kernel = mlirad.jit(all_of_them)
    arguments = X[::-1], y, 3, i
    found = kernel(*arguments)
    for own, python in zip(found, all_of_them(*arguments), strict=True):
        np.testing.assert_array_equal(own, python)
        assert (type(own), np.shape(own), own.dtype) == (type(python), np.shape(python), np.float64)
    np.testing.assert_allclose(found[0], special.erfc(X[::-1]), rtol=1e-15)
    np.testing.assert_array_equal(found[1], y * np.sin(X[::-1]))
    text = kernel.lower(*arguments).as_text("optimized")
    assert text.count('nd.native "erfc"') == 4 and 'nd.native "spring"' in text
    assert mlirad.jit(lambda x: erfc(x), target="python")(X).tolist() == erfc(X).tolist()
    with mlirad.disable_jit():
        np.testing.assert_allclose(mlirad.grad(lambda x: np.sum(erfc(x)))(X), -2 / np.sqrt(np.pi) * np.exp(-X * X))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: erfcf(x), "erfcf() takes float32 as argument 0, and float64 is not cast to that safely: convert it"),
        (lambda x: ldexp(x, 2.5), "takes int32 as argument 1, and a Python float is not"),
        (lambda x: ldexp(x, np.int64(2)), "takes int32 as argument 1, and int64 is not"),
        (lambda x: erfc(x, x), "erfc() takes 1 argument but 2 were given"),
    ],
)
def test_what_loses_digits_is_refused_as_a_ufunc_refuses_it(call: Any, message: str) -> None:
    compiled_call: Any = mlirad.jit(call)
    with pytest.raises(TypeError) as of_python:
        call(X)
    with pytest.raises(mlirad.DTypeError) as compiled:
        compiled_call(X)
    assert message in str(of_python.value) and message in str(compiled.value)
    assert compiled.value.lineno == call.__code__.co_firstlineno


def test_float32_is_converted_where_that_is_exact() -> None:
    x = X.astype(np.float32)
    found, (gradient,) = mlirad.value_and_grad(lambda x: np.sum(erfc(x)), argnums=(0,))(x)
    assert found.dtype == np.float64 and gradient.dtype == np.float32
    np.testing.assert_allclose(gradient, -2 / np.sqrt(np.pi) * np.exp(-X * X), rtol=1e-6)
    single = mlirad.jit(lambda x: erfcf(x) + erfcf(1.0))(x)
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, special.erfc(x) + special.erfc(np.float32(1)), rtol=1e-6)


def until(x, k):
    """Steps until a value of the function is small: in a while, with branches, on elements in place."""
    x, total, i = x.copy(), 0.0, 0
    while erfc(total) > 0.2:
        x[i % 3] = spring(x[i % 3], k) + j1(1.5 + total)
        total = total + (j0(x[i % 3]) if x[i % 3] > 0.0 else 0.1) * 0.3
        i += 1
    return total + np.sum(spring(x, k) * j0(x))


def test_derivatives_in_loops_are_differences() -> None:
    """First and second ones, in both modes, by rules of all kinds, which call the functions themselves."""
    mlirad.check_grads(until, (X, 0.8), order=2)
    found = mlirad.grad(mlirad.grad(lambda x: erfc(x)))(0.3)
    assert abs(found - 4 / np.sqrt(np.pi) * 0.3 * np.exp(-0.09)) < 1e-14
    np.testing.assert_allclose(mlirad.grad(j1)(1.3), special.jvp(1, 1.3), rtol=1e-13)


def test_lanes_and_jacobians() -> None:
    rows = np.stack([X, X + 0.1, -X])
    np.testing.assert_array_equal(mlirad.vmap(spring, in_axes=(0, None))(rows, X), spring(rows, X))
    np.testing.assert_allclose(
        mlirad.vmap(until, in_axes=(0, None))(rows, 0.8), [mlirad.jit(until)(row, 0.8) for row in rows], rtol=1e-14
    )
    np.testing.assert_allclose(mlirad.jacrev(lambda x: j1(x) * 2.0)(X), np.diag(2 * special.jvp(1, X)), rtol=1e-12)
    found = mlirad.jacobian(lambda x: gammaln(x) * 0.0 + x * x, sparsity=np.eye(3))
    with pytest.raises(mlirad.DifferentiationError, match="gammaln has no derivative rule"):
        found(X)


def test_without_a_rule_there_is_no_derivative() -> None:
    def loss(x):
        y = gammaln(x)
        return np.sum(y)

    for derivative in (mlirad.grad(loss), lambda x: mlirad.jvp(loss, (x,), (x,))):
        with pytest.raises(mlirad.DifferentiationError) as raised:
            derivative(X)
        assert raised.value.lineno == loss.__code__.co_firstlineno + 1
        assert "mlirad.register_op('gammaln', ...) a rule: jvp=" in str(raised.value)
    mlirad.register_derivative(gammaln, jvp=lambda p, t: (gammaln(p[0]), special.digamma(p[0]) * t[0]))
    try:
        np.testing.assert_allclose(mlirad.grad(loss)(X + 1), special.digamma(X + 1), rtol=1e-13)
    finally:
        del REGISTERED[id(gammaln)]
    assert mlirad.grad(lambda x, i: ldexp(1.0, i) * x)(2.0, np.int32(3)) == 8.0


def test_names_and_functions() -> None:
    """A function may be registered again; another one of its name is another op; both are called."""
    assert mlirad.register_op("erfc", LIBM.erfc, signature="double(double)").symbol == "erfc"
    other = mlirad.register_op("erfc", LIBM.erf, signature="double(double)")
    assert (other.symbol, other.__name__) == ("erfc_2", "erfc")
    np.testing.assert_allclose(mlirad.jit(lambda x: erfc(x) + other(x))(X), np.ones(3), rtol=1e-15)
    assert pickle.loads(pickle.dumps(other)) is other
    assert "float64(float64, int32)" in repr(ldexp)
    legendre = mlirad.register_op("p", "scipy.special.cython_special.eval_legendre", signature="double(long, double)")
    np.testing.assert_allclose(mlirad.jit(lambda x: legendre(3, x))(X), special.eval_legendre(3, X), rtol=1e-14)
    jv = mlirad.register_op("jv", "scipy.special.cython_special.jv")
    np.testing.assert_allclose(mlirad.jit(jv)(0.5, X), special.jv(0.5, X), rtol=1e-14)


def test_an_address_alone_is_refused_with_what_to_write() -> None:
    native = native_spring.ctypes
    with pytest.raises(mlirad.CompileError, match=r"make an op of it: mlirad.register_op\(name, function\)"):
        mlirad.jit(lambda x: native(x, x))(1.0)


@pytest.mark.parametrize("parallel", [False, True])
def test_a_callback_into_python_takes_the_lock(parallel: bool) -> None:
    """Whether the caller holds the interpreter's lock or not; by `needs_gil`, or by itself as ctypes' callbacks do."""
    seen: list[float] = []

    @ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)
    def noted(x):
        seen.append(x)
        return 2.0 * x

    held = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_int)(("PyGILState_Check", ctypes.pythonapi))
    own = mlirad.register_op("noted", noted)
    check = mlirad.register_op("held", held)
    assert check.needs_gil and not own.needs_gil
    kernel = mlirad.jit(lambda x: (own(x), check(np.zeros(3000, np.int32))), parallel=parallel)
    doubled, is_held = kernel(np.arange(3000.0))
    np.testing.assert_array_equal(doubled, 2 * np.arange(3000.0))
    assert is_held.all() and seen == list(range(3000))


@pytest.mark.parametrize(
    ("name", "function", "options", "error", "message"),
    [
        ("a b", LIBM.erfc, {"signature": "double(double)"}, ValueError, "an identifier, not 'a b'"),
        ("f", LIBM.erfc, {}, TypeError, "does not say its types: set its argtypes"),
        ("f", LIBM.erfc, {"signature": "double double"}, ValueError, "is not like 'float64"),
        ("f", LIBM.erfc, {"signature": "double(char*)"}, ValueError, "'char*' in 'double(char*)' is none of float32"),
        ("f", LIBM.erfc, {"signature": "double()"}, ValueError, "at least one argument"),
        ("f", native_spring, {"signature": "double(double)"}, ValueError, "says float64(float64), but the function is"),
        ("f", np.sin, {}, TypeError, "a kernel calls Python functions as they are"),
        ("f", 3, {}, TypeError, "not int"),
        ("f", ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_void_p)(1), {}, TypeError, "not c_void_p"),
        ("f", ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(), {}, ValueError, "null pointer"),
        ("f", "erfc", {}, ValueError, "is not 'module.function'"),
        ("f", "scipy.special.cython_special.nope", {}, ValueError, "exports no function 'nope' to C"),
        ("f", "math.sin", {}, ValueError, "the module math exports no functions to C"),
        ("f", "scipy.special.cython_special.sici", {}, TypeError, "has types that a native op cannot have"),
        ("f", native_spring, {"jvp": abs, "vjp": (abs, abs)}, TypeError, "not both"),
    ],
)
def test_wrong_registrations(
    name: str, function: Any, options: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error) as raised:
        mlirad.register_op(name, function, **options)
    assert message in str(raised.value)


PROGRAM = """
import ctypes, sys
import numpy as np
import mlirad

f = mlirad.register_op("disk_op", getattr(ctypes.CDLL(None), sys.argv[1]), signature="double(double)")
kernel = mlirad.jit(lambda x: f(x) + f(1.0))
print(kernel(2.0) - getattr(np, sys.argv[1])(2.0) - getattr(np, sys.argv[1])(1.0), "xdsl.ir" in sys.modules)
"""


def test_code_from_disk_calls_what_the_process_has_registered(tmp_path: Any) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    environment = {**os.environ, "MLIRAD_CACHE_DIR": str(tmp_path / "cache")}
    environment.pop("MLIRAD_CACHE", None)

    def told(function: str) -> str:
        command = [sys.executable, str(program), function]
        done = subprocess.run(command, env=environment, capture_output=True, check=True, text=True, timeout=120)
        return done.stdout.strip()

    assert [told("sin"), told("cos")] == ["0.0 True", "0.0 False"]  # the second has compiled nothing


def test_an_op_that_is_not_registered_is_named() -> None:
    for find in (lambda: addresses_in(b"\0mlirad.native.registered.nowhere\0"), lambda: op_of("nowhere")):
        with pytest.raises(NativeFunctionError, match=r"call mlirad.register_op\('nowhere', ...\) in this process"):
            find()
