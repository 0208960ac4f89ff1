"""NumPy's functions on traced values against NumPy itself: values, dtypes, kinds of result, and refusals."""

import math

import numpy as np
import pytest
from as_numpy import Known, agrees, compiled

import mlirad
from mlirad.errors import DTypeError, StaticValueError, UnsupportedSyntaxError
from mlirad.frontend.numpy import numpy_calls
from mlirad.frontend.values.traced import NeedStatic, Traced

rng = np.random.default_rng(0)
X = rng.normal(size=5)
M = rng.normal(size=(3, 4))
T = rng.normal(size=(2, 3, 4))
F = M.astype("f4")
Z = np.array([[3, 1, 2], [3, -5, 0]])
I4 = Z.astype("i4")
U = np.array([3, 1, 200], np.uint8)
B = np.array([[True, False, True], [True, True, True]])
NAN = np.array([1.0, np.nan, 3.0, np.nan])
EMPTY = np.zeros((2, 0))
S = np.array(2.5)

UNARY = [
    *(np.exp, np.sin, np.cos, np.tanh, np.abs, np.fabs, np.sign, np.negative, np.positive, np.square, np.reciprocal),
    *(np.isnan, np.isinf, np.isfinite, np.logical_not, np.deg2rad, np.radians, np.rad2deg, np.degrees),
]


@pytest.mark.parametrize("function", UNARY, ids=lambda f: f.__name__)
def test_elementwise_functions_of_one(function):
    for x in (X, M, F, S, NAN, np.array([np.inf, -np.inf, 0.0]), np.float64(-1.5), np.float32(2.5), 1.5):
        agrees(function, x, rtol=1e-13)
    for x in (Z, I4, -2):
        if function is not np.reciprocal:
            agrees(function, x, rtol=1e-13)
    if function in (np.abs, np.negative, np.sign, np.square, np.logical_not, np.isnan):
        agrees(function, True)


@pytest.mark.parametrize("function", [np.log, np.sqrt])
def test_functions_of_positive_numbers(function):
    for x in (np.abs(M), np.abs(F), np.array([0.0, -1.0, np.inf]), np.float64(2), 3, Z):
        agrees(function, x, rtol=1e-13)


def calls_of(names):
    return [(name, getattr(np, name)) for name in names]


AXES = [None, 0, 1, -1, (0, 1), ()]


@pytest.mark.parametrize(("name", "function"), calls_of(["sum", "max", "min", "any", "all"]))
@pytest.mark.parametrize("keepdims", [False, True])
def test_reductions(name, function, keepdims):
    for x in (M, F, Z, I4, B):
        for axis in AXES:
            agrees(lambda a: function(a, axis=axis, keepdims=keepdims), x, rtol=1e-12)
    for axis in (None, 2, (0, 2), (2, 0), -3):
        agrees(lambda a: function(a, axis=axis, keepdims=keepdims), T, rtol=1e-12)
    for x in (S, np.float64(2.5), 3, 2.5, True):
        agrees(function, x)
        agrees(lambda a: function(a, keepdims=keepdims), x)
    for axis in (None, 0, 1):
        agrees(lambda a: function(a, axis=axis, keepdims=keepdims), EMPTY)


def test_more_of_reductions():
    agrees(lambda a: np.sum(a, axis=3), X)
    agrees(lambda a: np.sum(a, axis=(0, 0)), M)
    agrees(lambda a: np.sum(a, 1), M, rtol=1e-12)
    agrees(lambda a: np.sum(a, dtype=np.float32), M)
    agrees(lambda a: np.sum(a, dtype=float), Z)
    agrees(lambda a, w: np.sum(a, where=w), X, X > 0, rtol=1e-12)
    agrees(np.amax, NAN)
    agrees(np.sum, Known([1, 2.0]))
    agrees(lambda a, b: of(np.sum)([a, b]), X, X, rtol=1e-12)


@pytest.mark.parametrize("function", [np.argmax, np.argmin], ids=lambda f: f.__name__)
def test_places_of_extremes(function):
    for x in (X, M, Z, I4, B, NAN, np.array([2.0, 1.0, 2.0, 1.0])):
        agrees(function, x)
        for axis in range(x.ndim):
            agrees(lambda a: function(a, axis=axis), x)
            agrees(lambda a: function(a, axis=axis, keepdims=True), x)
    agrees(function, np.zeros(0))


def test_where():
    agrees(np.where, M > 0, M, 0.0)
    agrees(np.where, M > 0, F, Known(1.5))
    agrees(np.where, X > 0, X, Z[:, :1])
    agrees(np.where, True, 1.0, 2.0)
    agrees(np.where, np.True_, np.float32(1), 2)
    agrees(np.where, Z, Z, U)
    agrees(np.where, X > 0, np.ones(3), X)
    agrees(np.where, False, X, 1)
    with pytest.raises(StaticValueError, match="either both or neither"):
        compiled(np.where, X > 0, X)


def test_clip():
    agrees(np.clip, M, -0.5, 0.5)
    agrees(np.clip, F, Known(-0.5), Known(0.5))
    agrees(np.clip, Z, Known(0), Known(2))
    agrees(np.clip, Z, Known(0.5), 2)
    agrees(np.clip, NAN, 0.0, 2.0)
    agrees(np.clip, X, X[::-1].copy(), Known(None))
    agrees(lambda a: np.clip(a, max=0.25), X)
    agrees(lambda a: np.clip(a, a_min=0.25, a_max=0.0), X)
    agrees(np.clip, 3.5, 0, 1)


def test_casts():
    from mlirad.frontend.numpy.numpy_calls import method

    for dtype in (float, np.float32, "i4", np.int64, bool, np.uint8, np.dtype("f4")):
        for x in (M * 10, F, Z, B, S, np.float64(2.7)):
            if np.dtype(dtype) == np.uint8:
                x = np.abs(x)
            agrees(lambda a: method("astype")(a, dtype) if isinstance(a, Traced) else a.astype(dtype), x)
    for kind in (np.float64, np.float32, np.int64, np.int32, np.bool_):
        for x in (2.7, -3, True, np.float32(1.5), Z, M):
            agrees(lambda a: numpy_calls.call(kind, (a,)) if isinstance(a, Traced) else kind(a), x)


@pytest.mark.parametrize("function", [np.dot, np.matmul, np.inner, np.outer, np.vdot], ids=lambda f: f.__name__)
def test_products(function):
    v3, v4 = M[:, 0].copy(), M[0].copy()
    operands = [
        v3,
        v4,
        M,
        M.T.copy(),
        T,
        T.transpose(0, 2, 1).copy(),
        F,
        Z,
        I4,
        B,
        2.0,
        np.float64(3.0),
        S,
        np.int64(2),
    ]
    for a in operands:
        for b in operands:
            agrees(function, a, b, rtol=1e-12)


def test_batched_matmul():
    a, b = rng.normal(size=(5, 1, 2, 3)), rng.normal(size=(4, 3, 2))
    agrees(np.matmul, a, b, rtol=1e-12)
    agrees(np.matmul, rng.normal(size=(2, 3, 4)), rng.normal(size=(5, 4, 2)), rtol=1e-12)
    agrees(np.matmul, rng.normal(size=3), rng.normal(size=(2, 3, 4)), rtol=1e-12)
    agrees(np.matmul, rng.normal(size=(2, 3, 4)), rng.normal(size=4), rtol=1e-12)
    agrees(np.matmul, np.zeros((2, 0)), np.zeros((0, 3)))


EINSUMS = [
    ("ij,jk->ik", M, M.T),
    ("ij,jk", M, M.T),
    ("ij,ij->", M, M),
    ("ij,kj->ki", M, M),
    ("i,j", X, X),
    ("ij,j->i", M, M[0]),
    ("bij,jk->bik", T, M.T),
    ("bij,bij->b", T, T),
    ("ij,kl->ki", M, M),
    ("ij->ji", M),
    ("ij->", M),
    ("ij->j", M),
    ("ij", M),
    ("ji", M),
    ("ii", M[:, :3]),
    ("ii->i", M[:, :3]),
    ("iij->j", rng.normal(size=(2, 2, 3))),
    ("ij,jk,kl->il", M, M.T, M),
    ("i,i,i->", X, X, X),
    (",i->i", np.float64(2.0), X),
    ("ij,ij->ij", M, M[:1]),
    ("i,->i", X, 3.0),
    ("ij,jk->ik", Z, I4.T),
    ("i j , j -> i", M, M[0]),
    ("ij,jk", M, M),
    ("ij,j", M, M),
    ("ij->ik", M),
]


@pytest.mark.parametrize("case", EINSUMS, ids=lambda case: case[0])
def test_einsum(case):
    subscripts, *operands = case
    operands = [np.ascontiguousarray(x) if isinstance(x, np.ndarray) else x for x in operands]
    agrees(lambda *xs: np.einsum(subscripts, *xs), *operands, rtol=1e-12)


def test_tensordot():
    for axes in (1, 2, 0, ([0], [0]), (1, 1), ([0, 1], [0, 1]), ([1, 0], [1, 0]), (0, 1)):
        agrees(lambda a, b: np.tensordot(a, b, axes), M, M, rtol=1e-12)
    agrees(lambda a, b: np.tensordot(a, b), T, M, rtol=1e-12)


def of(function, *args, **kwargs):
    """A call with static arguments after the traced ones."""

    def called(*xs, **more):
        named = {**kwargs, **more}
        return numpy_calls.call(function, (*xs, *args), named) if traced(xs) else function(*xs, *args, **named)

    return called


def traced(xs):
    return any(isinstance(x, Traced) or (isinstance(x, list | tuple) and traced(x)) for x in xs)


@pytest.mark.parametrize(
    ("function", "args"),
    [
        (np.zeros, ((2, 3),)),
        (np.ones, (3, np.float32)),
        (np.empty, ((),)),
        (np.full, ((2, 2), 1.5)),
        (np.full, (2, 2.7, int)),
        (np.zeros, ((2, -1),)),
        (np.zeros, (2.0,)),
        (np.zeros, (np.int64(2),)),
        (np.full, (2, 300, np.uint8)),
    ],
)
def test_filled_arrays(function, args):
    if function is np.empty:
        expected = np.zeros(*args)
        (actual,) = compiled(lambda: numpy_calls.call(function, args))
        assert actual[0] == "array" and actual[1] == expected
        return
    agrees(lambda x: numpy_calls.call(function, args) if isinstance(x, Traced) else function(*args), 1.0)


def test_arrays_made_like_others_and_filled_with_traced_numbers():
    for function in (np.zeros_like, np.ones_like):
        for x in (M, F, Z, B, S, 2.0, 3):
            agrees(of(function), x)
            agrees(of(function, dtype=np.float32), x)
        agrees(of(function, shape=(2, 2)), M)
    agrees(lambda x: of(np.full)(Known((2, 3)).value, x), 2.5)
    agrees(lambda x: of(np.full)((2, 5), x), X)
    agrees(lambda x: of(np.full)((2, 2), x), X)
    agrees(lambda x: of(np.full)((2,), x, int), 2.7)
    agrees(of(np.full_like, 2.7), Z)
    agrees(lambda a, x: of(np.full_like)(a, x), M, 3)


def test_counted_arrays():
    for args in ((5,), (2, 7), (0, 1, 0.1), (3.0,), (5, 0, -2)):
        (made,) = compiled(lambda: numpy_calls.call(np.arange, args))
        assert made[0] == "array" and np.array_equal(made[1], np.arange(*args))
    for num, endpoint in ((5, True), (5, False), (1, True), (1, False), (2, True), (0, True)):
        agrees(lambda a, b: of(np.linspace, num=num, endpoint=endpoint)(a, b), 0.25, 1.75, rtol=1e-15)
        agrees(lambda a, b: of(np.linspace, num=num, endpoint=endpoint)(a, b), np.float32(0.5), Known(2))
        agrees(lambda a, b: of(np.linspace, num=num, endpoint=endpoint)(a, b), 1, 4)
    with pytest.raises(NeedStatic):
        compiled(lambda n: numpy_calls.call(np.arange, (n,)), 5)
    with pytest.raises(NeedStatic):
        compiled(lambda n: numpy_calls.call(np.zeros, ((2, n),)), 5)


COUNTED = [
    *(((100,), {}), ((3, 300, 2), {}), ((300, 3, -1), {}), ((0, 10, 0.1), {}), ((70.0,), {"dtype": np.float32})),
    *(((5, 5.5, 0.003), {"dtype": np.float32}), ((0, 100), {"dtype": np.int8}), ((100, 0, -1), {"dtype": np.uint8})),
    ((2**64 - 100, 2**64 - 1), {"dtype": np.uint64}),
]


@pytest.mark.parametrize(("args", "kwargs"), COUNTED)
def test_long_counts_are_numpys_to_the_bit(args, kwargs):
    """Longer ones are computed by the code, not stored in it."""
    want = np.arange(*args, **kwargs)
    got = mlirad.jit(lambda: np.arange(*args, **kwargs))()
    assert got.dtype == want.dtype and np.array_equal(got, want)


@pytest.mark.parametrize("args", [(0.3, 7.1, 1000), (1, 0, 101, False), (2, 2, 77)])
def test_long_linspaces_are_numpys_to_the_bit(args):
    assert np.array_equal(mlirad.jit(lambda: np.linspace(*args))(), np.linspace(*args))


def test_huge_counts_take_no_room():
    """The code contains no constant with that many numbers, and no such array exists in memory when they are used."""
    f = mlirad.jit(lambda x: np.sum(np.cos(np.arange(x.size)) * x))
    assert f(np.ones(200_000)) == pytest.approx(np.sum(np.cos(np.arange(200_000))), rel=1e-9)
    assert len(f.lower(np.ones(200_000)).as_text("llvmir")) < 20_000
    assert (f.last_memory() or 0) < 8 * 200_000


def test_constants_that_are_too_large_are_refused():
    with pytest.raises(UnsupportedSyntaxError, match="too large to be compiled into the code") as refusal:
        mlirad.jit(lambda x: np.tile((1.0, 2.0), 1_500_000) @ x)(np.ones(3_000_000))
    assert "pass it as an argument" in str(refusal.value)


def test_arrays_of_nested_lists():
    agrees(lambda a, b: of(np.array)([a, 2.0, b]), 1.5, 3)
    agrees(lambda a, b: of(np.array)([[a, 0], [0, b]]), 1, 2)
    agrees(lambda a, b: of(np.array)([a, b]), X, X)
    agrees(lambda a, b: of(np.array)([a, b]), Z, M[:2, :3].copy())
    agrees(lambda a: of(np.array)([a, 1.5]), np.float32(1.0))
    agrees(lambda a: of(np.array, dtype=np.float32)([a, 1.5]), 1.0)
    agrees(lambda a: of(np.array)(a), S)
    agrees(lambda a: of(np.array)(a), 2.0)
    agrees(lambda a: of(np.asarray)(a, np.float32), M)
    agrees(lambda a: of(np.array)([a, [1, 2]]), 1)
    agrees(lambda a, b: of(np.array)([a, b]), X, M)
    agrees(lambda a: of(np.array)([[a, a], (a, 1)]), S)
    agrees(lambda a: of(np.array)([[a, True]]), False)
    agrees(lambda a: of(np.array, dtype=int)([a, 2.9]), 3.7)
    agrees(lambda a: of(np.array, ndmin=2)(a), X)
    agrees(lambda a: of(np.copy)(a), np.float64(1.0))


@pytest.mark.parametrize("function", [np.concatenate, np.stack, np.max])
def test_a_second_array_is_no_axis(function) -> None:
    for other in (np.ones(3), 1.5):
        with pytest.raises(mlirad.DTypeError, match=r"the axis of .* is .*, and not an int"):
            mlirad.jit(lambda x, y: function(x, y))(np.ones(3), other)


@pytest.mark.parametrize("function", [np.concatenate, np.stack], ids=lambda f: f.__name__)
def test_arrays_put_together(function):
    agrees(lambda a, b: of(function)([a, b]), X, X[:3].copy())
    agrees(lambda a, b: of(function)([a, b]), X, Z[0, :1].astype("f4"))
    agrees(lambda a, b: of(function)((a, b)), X, X)
    agrees(lambda a, b: of(function)([a, b]), M, F)
    agrees(lambda a, b: of(function)([a, b]), M, X)
    agrees(lambda a, b: of(function)([a, [1, 2, 3, 4, 5], b]), X, X)
    agrees(lambda a: of(function)([a]), 2.0)
    agrees(lambda a: of(function)(a), T)
    agrees(lambda a: of(function)([a, a]), Z)
    for axis in (0, 1, -1, 2, 3, 5):
        agrees(lambda a, b: of(function, axis=axis)([a, b]), T, -T)
    agrees(lambda a, b: of(np.concatenate, axis=None)([a, b]), M, X)


@pytest.mark.parametrize(
    ("function", "args"),
    [
        (np.reshape, ((4, 3),)),
        (np.reshape, ((-1,),)),
        (np.reshape, ((2, 6), "F")),
        (np.reshape, ((5, 5),)),
        (np.transpose, ()),
        (np.transpose, ((1, 0),)),
        (np.transpose, ((0, 0),)),
        (np.swapaxes, (0, 1)),
        (np.swapaxes, (0, 5)),
        (np.moveaxis, (0, -1)),
        (np.squeeze, ()),
        (np.expand_dims, (1,)),
        (np.expand_dims, (5,)),
        (np.ravel, ()),
        (np.ravel, ("F",)),
        (np.broadcast_to, ((2, 3, 4),)),
        (np.broadcast_to, ((3, 3),)),
        (np.flip, ()),
        (np.flip, (1,)),
        (np.fliplr, ()),
        (np.rot90, ()),
        (np.diagonal, (1,)),
        (np.atleast_3d, ()),
        (np.real, ()),
        (np.ascontiguousarray, ()),
    ],
)
def test_elements_moved(function, args):
    agrees(of(function, *args), M)
    agrees(of(function, *args), np.arange(12).reshape(3, 4))


def test_elements_moved_of_other_ranks():
    for function, x, *args in (
        (np.squeeze, np.ones((1, 1))),
        (np.squeeze, np.ones((1, 3)), 0),
        (np.squeeze, M, 0),
        (np.transpose, S),
        (np.transpose, 2.0),
        (np.reshape, S, (1, 1)),
        (np.reshape, 2.0, 1),
        (np.ravel, 2.0),
        (np.atleast_1d, np.float64(3.0)),
        (np.expand_dims, 3.0, 0),
        (np.broadcast_to, 3.0, (2, 2)),
        (np.shape, M),
        (np.ndim, 2.0),
        (np.size, M),
        (np.size, M, 1),
    ):
        agrees(of(function, *args), x)


def test_math():
    for function in (math.exp, math.sin, math.cos, math.tanh, math.fabs, math.radians, math.isnan, math.isfinite):
        for x in (0.7, -2, True, np.float32(0.5), np.float64(1.5), S):
            agrees(of(function), x, rtol=1e-13)
        agrees(of(function), X)
    for function in (math.sqrt, math.log):
        for x in (0.7, 2, np.float32(0.5)):
            agrees(of(function), x, rtol=1e-13)
    agrees(of(math.log, 2), 8.0)
    agrees(of(math.pow), 2.0, 3)
    agrees(of(math.pow, 2), 3, rtol=1e-13)
    assert isinstance(numpy_calls.call(math.sqrt, (4,)), float)


def test_builtins():
    for function in (abs, pow, divmod):
        xs = (-7, -2.5, np.float64(-3.5), np.int64(-3), np.array([-1.5, 2.0]))
        for x in xs:
            agrees(of(function) if function is abs else of(function, 2), x)


@pytest.mark.parametrize("name", ["sum", "max", "min", "any", "all", "argmax", "flatten"])
def test_methods(name):
    for x in (M, Z):
        agrees(
            lambda a: numpy_calls.call(numpy_calls.method(name), (a,)) if traced([a]) else getattr(a, name)(),
            x,
            rtol=1e-12,
        )


def test_methods_with_arguments():
    def calls(name, *args):
        return lambda a: numpy_calls.method(name)(a, *args) if isinstance(a, Traced) else getattr(a, name)(*args)

    for name, x, *args in (
        ("reshape", M, 4, 3),
        ("reshape", M, (2, -1)),
        ("transpose", T, 2, 0, 1),
        ("transpose", T, (2, 0, 1)),
        ("swapaxes", M, 0, 1),
        ("squeeze", M[None], 0),
        ("ravel", M, "F"),
        ("flatten", M, "F"),
        ("sum", M, 0),
        ("clip", M, 0, 1),
        ("dot", M, M.T.copy()),
        ("copy", np.float64(2.0)),
        ("copy", S),
        ("item", np.float64(2.0)),
        ("item", np.array([[3]])),
        ("item", M, 1, 2),
        ("item", M),
        ("conj", M),
        ("diagonal", M),
    ):
        agrees(calls(name, *args), x, rtol=1e-12)
    for name in ("T", "mT", "real"):
        agrees(lambda a: numpy_calls.attribute(a, name) if isinstance(a, Traced) else getattr(a, name), M)


def test_static_arguments_run_in_numpy_now():
    assert numpy_calls.call(np.add, (1, 2)) == np.int64(3)
    assert isinstance(numpy_calls.call(np.sqrt, (2.0,)), np.float64)
    assert numpy_calls.call(np.float32, (0.1,)) == np.float32(0.1)
    (made,) = compiled(lambda: numpy_calls.call(np.add, ([1, 2], 0.5)))
    assert made[0] == "array" and np.array_equal(made[1], [1.5, 2.5])
    with pytest.raises(DTypeError, match="boolean subtract"):
        numpy_calls.call(np.subtract, (True, True))


@pytest.mark.parametrize(
    ("function", "name", "hint"),
    [
        (np.random.rand, "np.random.rand", "pass a generator"),
        (np.busday_count, "np.busday_count", "outside"),
    ],
)
def test_unsupported_functions_say_what_to_write(function, name, hint):
    if numpy_calls.is_supported(function):
        pytest.fail(f"{name} is supported now: take it out of this list, and its hint out of numpy_calls")
    with pytest.raises(UnsupportedSyntaxError) as refusal:
        compiled(lambda x: numpy_calls.call(function, (x,)), X)
    assert refusal.value.message == f"{name} is not supported"
    assert (refusal.value.hint is None) == (hint is None) and (hint is None or hint in refusal.value.hint)


def test_unsupported_keywords_and_methods_are_named():
    with pytest.raises(UnsupportedSyntaxError) as refusal:
        compiled(lambda x: numpy_calls.call(np.clip, (x, 0, 1), {"where": X > 0}), X)
    assert refusal.value.message == "np.clip(where=) is not supported" and "a_min" in (refusal.value.hint or "")
    with pytest.raises(UnsupportedSyntaxError, match=r"np.add\(signature=\)"):
        compiled(lambda x: numpy_calls.call(np.add, (x, x), {"signature": "dd->d"}), X)
    with pytest.raises(DTypeError, match="missing"):
        compiled(lambda x: numpy_calls.call(np.swapaxes, (x,)), X)
    with pytest.raises(UnsupportedSyntaxError, match=r"the method .argpartition\(\) is not supported"):
        numpy_calls.method("argpartition")


def test_every_function_in_the_table_is_numpys_or_pythons():
    assert not numpy_calls.is_supported([]) and not numpy_calls.is_supported(print)
    for function in (np.add, np.sum, math.exp, abs, np.reshape, np.float64):
        assert numpy_calls.is_supported(function)


def test_a_new_op_is_callable_by_its_spelling():
    from mlirad.dialect.core.registry import spelled
    from mlirad.dialect.ops.elementwise import ElementwiseOp

    for function, op_class in spelled().items():
        if issubclass(op_class, ElementwiseOp) and (isinstance(function, np.ufunc) or function.__module__ == "math"):
            assert numpy_calls.is_supported(function), function
