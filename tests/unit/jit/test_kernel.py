"""Kernels: specialisations, captures, aliasing, results as NumPy gives them, stages and dumps."""

from __future__ import annotations

import functools
import re
import traceback
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import mlirad
from mlirad.signature import StaticLeaf

OFFSET = np.array([1.0, 2.0, 3.0])
SCALE = 2.0


def shifted(x):
    return x * SCALE + OFFSET


def doubled_in_place(x):
    x *= 2
    return x.sum()


class Pair(NamedTuple):
    first: Any
    second: Any


def test_one_specialisation_per_signature() -> None:
    kernel = mlirad.jit(lambda x: x + 1)
    for value in (np.zeros(3), np.ones(3), np.zeros(4), np.zeros(3, np.float32), 1.0, np.float64(1), 1):
        expected = kernel.numpy(value)
        assert type(kernel(value)) is type(expected)
        np.testing.assert_array_equal(kernel(value), expected, strict=True)
    assert kernel.cache_info()[:2] == (8, 6)
    assert len(kernel.signatures) == 6


def test_integers_that_shapes_depend_on_are_found() -> None:
    kernel = mlirad.jit(lambda x, n, k: np.zeros(n) + x[:n] * k)
    x = np.arange(5.0)
    for n in (3, 5, 0, 3):
        for k in (2, 7):
            np.testing.assert_array_equal(kernel(x, n, k), kernel.numpy(x, n, k))
    assert kernel.cache_info().currsize == 3


def test_the_number_of_specialisations_is_bounded() -> None:
    kernel = mlirad.jit(lambda x, n: x[:n].sum(), static_argnums=1)
    x = np.arange(100.0)
    for n in range(70):
        kernel(x, n)
    assert kernel.cache_info().currsize == 64
    assert kernel(x, 0) == 0.0
    assert kernel.cache_info().misses == 71


def test_a_numpy_integer_that_is_needed_statically_compiles_once() -> None:
    @mlirad.jit
    def zeros(n):
        return np.zeros(n)

    for n in (3, 3, 4, 3):
        assert zeros(np.int64(n)).shape == (n,)
    assert zeros.cache_info().misses == 2


def test_static_arguments_may_be_anything_hashable() -> None:
    @mlirad.jit(static_argnames="mode")
    def f(x, mode):
        return x.sum() if mode == ("total", 1) else x.max()

    assert f(OFFSET, mode=("total", 1)) == 6.0
    assert f(OFFSET, mode="largest") == 3.0
    with pytest.raises(TypeError, match="a static argument must be hashable, such as a tuple in place of a list: "):
        mlirad.jit(lambda x, n: x, static_argnums=1)(1.0, [1])


def test_captures_are_fetched_at_each_call(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = mlirad.jit(shifted)
    x = np.ones(3)
    np.testing.assert_array_equal(kernel(x), [3, 4, 5])
    monkeypatch.setitem(globals(), "OFFSET", np.array([10.0, 20.0, 30.0]))  # rebound
    np.testing.assert_array_equal(kernel(x), [12, 22, 32])
    OFFSET[0] = -1  # changed in place
    np.testing.assert_array_equal(kernel(x), [1, 22, 32])
    assert kernel.cache_info().currsize == 1
    monkeypatch.setitem(globals(), "SCALE", 5.0)  # a number is guarded
    np.testing.assert_array_equal(kernel(x), [4, 25, 35])
    monkeypatch.setitem(globals(), "OFFSET", np.float32([1, 2, 3]))  # another dtype
    result = kernel(np.float32([0, 0, 0]))
    assert result.dtype == np.float32
    np.testing.assert_array_equal(result, [1, 2, 3])


def test_closures_see_their_variables() -> None:
    weight = np.array([1.0, 2.0])

    def f(x):
        return x @ weight

    kernel, gradient = mlirad.jit(f), mlirad.grad(f)
    x = np.ones(2)
    assert kernel(x) == 3.0
    weight = np.array([5.0, 6.0])
    assert kernel(x) == 11.0
    np.testing.assert_array_equal(gradient(x), [5.0, 6.0])
    weight[1] = 0.0
    np.testing.assert_array_equal(gradient(x), [5.0, 0.0])


@pytest.mark.parametrize("view", [np.s_[:], np.s_[::-1], np.s_[::2], np.s_[1:], np.s_[:0], np.s_[2:3]])
def test_strided_arguments_are_read_and_written(view: Any) -> None:
    base, other = np.arange(6.0), np.arange(6.0)
    kernel = mlirad.jit(doubled_in_place)
    assert kernel(base[view]) == doubled_in_place(other[view])
    np.testing.assert_array_equal(base, other)


def test_fortran_order_is_written_through() -> None:
    @mlirad.jit
    def f(m):
        m[1] = m[0] + 1
        return m.T @ m

    m, n = np.asfortranarray(np.arange(6.0).reshape(2, 3)), np.asfortranarray(np.arange(6.0).reshape(2, 3))
    np.testing.assert_array_equal(f(m), f.numpy(n))
    np.testing.assert_array_equal(m, n)


def test_a_written_argument_may_not_overlap_another() -> None:
    @mlirad.jit
    def f(x, y):
        x[0] += y[1]
        return x

    base = np.arange(6.0)
    with pytest.raises(ValueError, match="shares memory"):
        f(base[:4], base[2:])
    np.testing.assert_array_equal(base, np.arange(6.0))
    f(base[:3], base[3:])
    assert base[0] == 4.0


@pytest.mark.parametrize(
    ("shape", "strides"),
    [((3, 2), (8, 8)), ((3, 2), (8, 16)), ((3, 2, 2), (8, 16, 800)), ((2,), (4,)), ((4,), (0,))],
)
def test_an_array_whose_elements_overlap_is_not_written(shape: tuple[int, ...], strides: tuple[int, ...]) -> None:
    array = np.lib.stride_tricks.as_strided(np.zeros(200), shape, strides)
    with pytest.raises(ValueError, match="argument 0 is written, and some of its elements share memory"):
        mlirad.jit(doubled_in_place)(array)
    assert mlirad.jit(lambda x: np.sum(x))(array) == 0.0


def test_reading_overlapping_arguments_is_fine() -> None:
    base = np.arange(6.0)
    assert mlirad.jit(lambda x, y: x @ y)(base[:4], base[2:]) == base[:4] @ base[2:]


def test_read_only_arguments_are_read_and_refused_to_write() -> None:
    x = np.arange(3.0)
    x.flags.writeable = False
    assert mlirad.jit(lambda x: x.sum())(x) == 3.0
    with pytest.raises(ValueError, match="read-only"):
        mlirad.jit(doubled_in_place)(x)


def test_what_was_written_before_an_error_stays_written() -> None:
    def f(x, n):
        for i in range(n):
            x[i] = -1.0
        return x

    for view in (np.s_[:], np.s_[::-1]):
        mine, numpys = np.zeros(4)[view], np.zeros(4)[view]
        with pytest.raises(IndexError):
            f(numpys, 9)
        with pytest.raises(IndexError, match="index 4 is out of bounds for axis 0 with size 4"):
            mlirad.jit(f)(mine, 9)
        np.testing.assert_array_equal(mine, numpys)


def test_results_are_what_numpy_returns() -> None:
    @mlirad.jit
    def f(x, k):
        return x, {"sum": x.sum(), "k": k + 1, "half": k / 2}, [x[0] > 0, k > 0], Pair(x * 1, None), "text"

    x = np.array([1.5, -2.0])
    mine, numpys = f(x, 3), f.numpy(x, 3)
    assert mine[0] is x
    for a, b in zip(mlirad.tree.leaves(mine), mlirad.tree.leaves(numpys), strict=True):
        assert type(a) is type(b)
        assert np.array_equal(a, b)
    assert mlirad.tree.flatten(mine)[1] == mlirad.tree.flatten(numpys)[1]


def test_results_are_fresh() -> None:
    kernel = mlirad.jit(lambda x: (x + 1, np.zeros(3)))
    first, second = kernel(np.zeros(3)), kernel(np.zeros(3))
    first[0][:] = 7
    first[1][:] = 7
    np.testing.assert_array_equal(second[0], 1)
    np.testing.assert_array_equal(second[1], 0)
    assert first[0].flags.writeable and first[0].flags.owndata


def test_kernels_call_kernels() -> None:
    inner = mlirad.jit(lambda x: np.sin(x) * x)

    @mlirad.jit
    def outer(x):
        return inner(x) + mlirad.grad(inner)(x)

    assert outer(0.7) == pytest.approx(np.sin(0.7) * 0.7 + np.sin(0.7) + 0.7 * np.cos(0.7), rel=1e-14)


def test_gradients_have_the_structure_of_their_arguments() -> None:
    def loss(parameters, x):
        for layer in parameters:
            x = np.tanh(x @ layer["w"] + layer["b"])
        return x.sum()

    rng = np.random.default_rng(0)
    parameters = [{"w": rng.normal(size=(3, 3)), "b": rng.normal(size=3).astype(np.float32)} for _ in range(2)]
    x = rng.normal(size=(4, 3))
    kept = mlirad.tree.map(np.copy, parameters)
    gradients = mlirad.grad(loss)(parameters, x)
    assert mlirad.tree.flatten(gradients)[1] == mlirad.tree.flatten(parameters)[1]
    for gradient, parameter, before in zip(*map(mlirad.tree.leaves, (gradients, parameters, kept)), strict=True):
        assert gradient.dtype == parameter.dtype
        assert gradient.shape == parameter.shape
        np.testing.assert_array_equal(parameter, before)


def test_value_and_grad_has_aux_and_argnums() -> None:
    def f(x, y):
        return x * y**2, {"x": x + 1}

    (value, aux), (dy, dx) = mlirad.value_and_grad(f, argnums=(1, 0), has_aux=True)(2.0, 3.0)
    assert (value, aux, dy, dx) == (18.0, {"x": 3.0}, 12.0, 9.0)
    assert mlirad.grad(f, has_aux=True)(2.0, 3.0) == (9.0, {"x": 3.0})
    assert mlirad.grad(lambda x, y: x * y, grad_position=1)(2.0, 3.0) == 2.0


def test_what_is_differentiated_writes_once() -> None:
    x = np.array([1.0, 2.0])
    np.testing.assert_array_equal(mlirad.grad(doubled_in_place)(x), [2.0, 2.0])
    np.testing.assert_array_equal(x, [2.0, 4.0])
    out, pullback = mlirad.vjp(doubled_in_place, x)
    assert out == 12.0
    np.testing.assert_array_equal(x, [4.0, 8.0])
    for _ in range(2):
        np.testing.assert_array_equal(pullback(1.0)[0], [2.0, 2.0])
        np.testing.assert_array_equal(x, [4.0, 8.0])


def test_pullbacks_are_called_again_and_outlive_other_calls() -> None:
    def f(x):
        y = x.copy()
        while y[0] < 100:
            y = y * x
        return y, y.sum()

    x = np.array([3.0, 2.0])
    pullbacks = [mlirad.vjp(f, x * k)[1] for k in (1.0, 2.0, 3.0)]
    expected = [mlirad.grad(lambda x: f(x)[1])(x * k) for k in (1.0, 2.0, 3.0)]
    for _ in range(2):
        for pullback, gradient in zip(pullbacks, expected, strict=True):
            np.testing.assert_allclose(pullback((np.zeros(2), 1.0))[0], gradient, rtol=1e-14)
    np.testing.assert_allclose(pullbacks[0]((np.ones(2), 0.0))[0], expected[0], rtol=1e-14)


def test_cotangents_must_fit() -> None:
    _, pullback = mlirad.vjp(lambda x: (x * 2, x.sum()), np.ones(3))
    with pytest.raises(ValueError, match="structure"):
        pullback(np.ones(3))
    with pytest.raises(ValueError, match=r"shape \(2,\)"):
        pullback((np.ones(2), 1.0))
    with pytest.raises(TypeError, match="complex"):
        pullback((np.ones(3) * 1j, 1.0))


def test_vjp_with_aux() -> None:
    out, pullback, aux = mlirad.vjp(lambda x: (x * x, x + 1), 3.0, has_aux=True)
    assert (out, aux) == (9.0, 4.0)
    assert pullback(1.0) == (6.0,)


def test_lowered_stages() -> None:
    lowered = mlirad.grad(lambda x: np.sum(np.sin(x) * x)).lower(np.ones(3))
    assert lowered.stages == (
        "tensor", "autodiff", "optimized", "linalg", "bufferized", "loops", "llvmir", "llvmopt", "asm",
    )  # fmt: skip
    assert "ad.vjp" in lowered.as_text("tensor")
    assert "ad.vjp" not in lowered.as_text("autodiff")
    assert "nd." not in lowered.as_text("linalg")
    assert "linalg." not in lowered.as_text("loops")
    assert "define" in lowered.as_text("llvmir")
    with pytest.raises(ValueError, match=r"no stage 'banana'; the stages are tensor, autodiff"):
        lowered.as_text("banana")
    assert set(lowered.timings()) == set(lowered.stages)
    np.testing.assert_allclose(lowered.compile()(np.ones(3)), np.cos(1) + np.sin(1), rtol=1e-14)


def test_dumps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLIRAD_DUMP", str(tmp_path))
    mlirad.grad(doubled_in_place)(np.ones(3))
    (directory,) = tmp_path.iterdir()
    names = sorted(path.name for path in directory.iterdir())
    assert names[:2] == ["00-tensor.mlir", "01-autodiff.mlir"]
    assert len(names) == 9
    line = doubled_in_place.__code__.co_firstlineno + 1
    assert re.search(rf"test_kernel\.py\":{line}:5", (directory / "02-optimized.mlir").read_text())
    (tmp_path / "file").touch()
    monkeypatch.setenv("MLIRAD_DUMP", str(tmp_path / "file"))
    with pytest.raises(NotADirectoryError, match=r"MLIRAD_DUMP=.*file: Not a directory"):
        mlirad.jit(lambda x: x + 1.0)(2.0)


def test_without_the_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLIRAD_DISABLE_JIT", "1")
    kernel = mlirad.jit(lambda x: (type(x), x + 1))  # returns a class, which no compiled function can
    assert kernel(1) == (int, 2)


def test_errors_show_the_users_line_and_no_frames_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = mlirad.jit(lambda x: np.roots(x))
    with pytest.raises(mlirad.UnsupportedSyntaxError) as caught:
        kernel(np.ones(2))
    assert caught.value.filename == __file__
    assert caught.value.lineno == kernel.numpy.__code__.co_firstlineno
    assert "^~~~" in str(caught.value)
    assert len(traceback.extract_tb(caught.value.__traceback__)) == 2
    monkeypatch.setenv("MLIRAD_TRACEBACK", "full")
    with pytest.raises(mlirad.UnsupportedSyntaxError) as caught:
        kernel(np.ones(2))
    assert len(traceback.extract_tb(caught.value.__traceback__)) > 5


def test_bad_options_and_arguments() -> None:
    with pytest.raises(TypeError, match=r"jit\(\) has no option 'banana'; its options are static_argnums"):
        mlirad.jit(lambda x: x, banana=1)
    with pytest.raises(TypeError, match="int is not callable"):
        mlirad.grad(3)
    with pytest.raises(TypeError, match="argnums must be"):
        mlirad.grad(shifted, argnums=1.5)
    with pytest.raises(ValueError, match="twice"):
        mlirad.grad(shifted, argnums=(0, 0))
    with pytest.raises(mlirad.TargetError, match="there is no target 'abacus'"):
        mlirad.jit(shifted, target="abacus")(np.ones(3))


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"static_argnums": 2}, ValueError, r"jit\(\): static_argnums has 2, but repeated takes x, count"),
        ({"static_argnums": -1}, ValueError, "static_argnums count from 0, and -1 is less"),
        ({"static_argnums": "count"}, TypeError, "static_argnums must be numbers of arguments, not 'count'"),
        ({"static_argnames": ("x", "number")}, ValueError, "static_argnames has 'number', but repeated takes x, count"),
        ({"static_argnames": 1}, TypeError, "static_argnames must be names of arguments, not 1"),
        ({"donate_argnums": 2}, ValueError, "donate_argnums has 2, but repeated takes x, count"),
        ({"donate_argnums": 1, "static_argnames": "count"}, ValueError, "argument 1 is static"),
    ],
)
def test_options_that_name_arguments(options: dict[str, Any], error: type[Exception], message: str) -> None:
    for made in (lambda: mlirad.jit(repeated, **options), lambda: mlirad.jit(**options)(repeated)):
        with pytest.raises(error, match=message):
            made()
    with pytest.raises(error, match=message.replace("jit", "grad")):
        mlirad.grad(repeated, **options)


def repeated(x: Any, count: Any) -> Any:
    return np.sum(x**count)


def test_an_argument_is_static_by_number_and_by_name() -> None:
    for options in ({"static_argnums": 1}, {"static_argnames": "count"}):
        kernel = mlirad.jit(repeated, **options)
        kernel(np.ones(2), 2)
        kernel(np.ones(2), count=2)
        for signature in kernel.signatures:
            assert signature.leaves[1] == StaticLeaf(2, is_declared=True), options
    assert mlirad.jit(lambda *xs, **given: xs[0], static_argnums=3, static_argnames="other")(1.0) == 1.0


def test_directions_of_a_function_with_static_arguments() -> None:
    """The numbers of static arguments are the function's, and not those of `(primals, tangents)`."""
    for number in (0, 1):
        kernel = mlirad.jit(repeated, static_argnums=number)
        x = np.arange(1.0, 3.0)
        assert mlirad.jvp(kernel, (x, 2), (x, None))[1] == mlirad.jvp(repeated, (x, 2), (x, None))[1] == 10.0
        np.testing.assert_array_equal(mlirad.hvp(kernel, (x, 2), (x, None))[0], 2 * x)


def test_methods_are_kernels() -> None:
    class Model:
        rate = 3.0

        @mlirad.jit(static_argnums=0)
        def step(self, x):
            return x * self.rate

    assert Model().step(2.0) == 6.0


def test_one_kernel_per_function_and_options() -> None:
    def function(x):
        return shifted(x)

    kernel = mlirad.jit(function)
    for _ in range(5):
        np.testing.assert_allclose(mlirad.jit(function)(np.ones(3)), shifted(np.ones(3)))
    assert kernel.cache_info()[:2] == (4, 1)
    assert mlirad.jit(kernel) is kernel
    assert mlirad.jit(boundscheck=False)(function) is mlirad.jit(function, boundscheck=False) is not kernel
    gradient = mlirad.grad(kernel)
    assert mlirad.jit(gradient) is gradient
    assert mlirad.jit(gradient, static_argnums=0) is not gradient


def test_kernels_found_again_see_cells_and_defaults() -> None:
    def scaled_by(factor):
        def scale(x, more=1.0):
            return factor * x + more

        def change(value):
            nonlocal factor
            factor = value

        return scale, change

    (double, change), (triple, _) = scaled_by(2.0), scaled_by(3.0)
    for _ in range(5):
        assert (mlirad.jit(double)(5.0), mlirad.jit(triple)(5.0)) == (11.0, 16.0)
        assert mlirad.grad(mlirad.jit(double))(5.0) == 2.0
    assert mlirad.jit(double) is not mlirad.jit(triple)
    change(np.float64(4.0))
    double.__defaults__ = (0.5,)
    for _ in range(5):
        assert (mlirad.jit(double)(5.0), mlirad.jit(triple)(5.0)) == (20.5, 16.0)
        assert mlirad.grad(mlirad.jit(double))(5.0) == 4.0
    double.__code__ = triple.__code__.replace(co_consts=triple.__code__.co_consts)
    assert mlirad.jit(double)(5.0) == 20.5


def test_a_wrapper_of_a_kernel_has_its_own_kernels() -> None:
    kernel = mlirad.jit(lambda x: x + 1.0)

    @functools.wraps(kernel)
    def wrapper(x):
        return 2.0 * kernel.numpy(x)

    assert mlirad.jit(wrapper) is mlirad.jit(wrapper) is not kernel
    assert (kernel(1.0), mlirad.jit(wrapper)(1.0)) == (2.0, 4.0)
    assert not vars(kernel).keys() & {"__mlirad_kernels__"}


def test_whether_jit_is_disabled_is_read_at_each_jit(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = mlirad.jit(shifted)
    monkeypatch.setenv("MLIRAD_DISABLE_JIT", "1")
    plain = mlirad.jit(shifted)
    plain(np.ones(3))
    assert plain is not compiled
    assert plain.cache_info().misses == 0
    monkeypatch.delenv("MLIRAD_DISABLE_JIT")
    assert mlirad.jit(shifted) is compiled
