"""try: where the compiler knows which way it goes, only that way is compiled."""

# pyright: reportPossiblyUnboundVariable=false, reportCallIssue=false, reportArgumentType=false
# (The programs are what is tested.)

from __future__ import annotations

import functools
import warnings

import numpy as np
import pytest

import mlirad
from mlirad.errors import CompileError

X = np.array([1.0, 2.0, 3.0])


def no_attribute(x):
    try:
        n = x.units
    except AttributeError:
        n = 3.0
    return x * n


def certain_shapes(x):
    try:
        y = np.zeros(3) + np.zeros(4)
    except ValueError as error:
        y = x * 4.0 if error is not None else x
    else:
        y = 2 * x
    finally:
        z = y + 1
    return z


def raised_in_a_branch(x):
    try:
        if x.ndim != 2:
            raise ValueError("two")
        return x * 5
    except (TypeError, ValueError):
        return x * 7


def raised_by_a_helper_that_writes(x):
    def change(y):
        y[0] = 100.0
        raise KeyError("x")

    try:
        change(x)
    except LookupError:
        x[1] = x[1] * 7
    return x


def nothing_raised(x, i):
    try:
        y = x[0] + i
    except IndexError:
        return x
    else:
        x = x + 1
    finally:
        x = x * 2
    return x * y


def again(x):
    try:
        try:
            raise ValueError("inner")
        except ValueError:
            raise
    except ValueError:
        return x + 1


def another_class(x):
    try:
        try:
            return x * int("seven")
        except TypeError:
            return x
    except ValueError:
        return x * {"a": 1.0}.get("b", 2.0)


def in_a_loop(x):
    total = 0.0
    for i in range(3):
        try:
            v = {0: 1.0, 2: 5.0}[i]
        except KeyError:
            v = 10.0
        total = total + v * x[i]
    return total


def not_iterable(x, t):
    try:
        n = len(t)
    except TypeError:
        n = 1
    try:
        a, b = x
    except ValueError:
        a, b = x[0], n
    return a + b


def number_assigned_to(x, t):
    try:
        t[0] = 4.0
    except TypeError:
        t = t + 1.0
    return x * t


def a_set(x, mode="b"):
    names = {"a", mode} | {"c"}
    return x if "d" in names else x * len(names & {"a", "b"})


PROGRAMS = [
    (no_attribute, ()),
    (certain_shapes, ()),
    (raised_in_a_branch, ()),
    (raised_by_a_helper_that_writes, ()),
    (nothing_raised, (0.5,)),
    (again, ()),
    (another_class, ()),
    (in_a_loop, ()),
    (not_iterable, (2.5,)),
    (number_assigned_to, (2.5,)),
    (a_set, ()),
]


@pytest.mark.parametrize(("function", "rest"), PROGRAMS)
def test_the_way_that_is_known(function, rest):
    ours, pythons = X.copy(), X.copy()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert np.array_equal(mlirad.jit(function)(ours, *rest), function(pythons, *rest))
    assert np.array_equal(ours, pythons)

    def total(x):
        return np.sum(function(x * 1.0, *rest))

    h = 1e-6
    slopes = [(total(X + h * e) - total(X - h * e)) / (2 * h) for e in np.eye(3)]
    assert np.allclose(mlirad.grad(total)(X), slopes, rtol=1e-7)


def test_what_is_not_caught_is_raised():
    def other_class(x, i):
        try:
            return x[i]
        except TypeError:
            return 0.0

    def from_another(x):
        try:
            return x * (1 // 0)
        except ZeroDivisionError as error:
            raise ValueError(f"bad: {error}") from error

    assert mlirad.jit(other_class)(X, 2) == 3.0
    with pytest.raises(IndexError):
        mlirad.jit(other_class)(X, 7)
    with pytest.raises(ValueError, match="bad: integer division or modulo by zero"):
        mlirad.jit(from_another)(X)


def cleaned_up(x, i):
    try:
        y = x[i]
    finally:
        x[0] = 0.0
    return y


def returned_before(x, i):
    try:
        return x * i
    finally:
        x[0] = 0.0


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (cleaned_up, "`finally` after code that may raise at run time"),
        (returned_before, "`finally` after a return"),
    ],
)
def test_what_the_run_decides_is_refused(function, message):
    with pytest.raises(CompileError, match=message) as refusal:
        mlirad.jit(function)(X, 1)
    assert refusal.value.filename == __file__


def test_a_refusal_of_the_compiler_is_not_caught():
    """Python may do what mlirad refuses: a handler would hide the refusal."""

    def hidden(x):
        try:
            return np.roots(x)
        except Exception:
            return x

    with pytest.raises(CompileError, match=r"np\.roots is not supported"):
        mlirad.jit(hidden)(X)


def checked(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        if len(args) > 2:
            raise TypeError("too many")
        return function(*args, **kwargs)

    return wrapper


@checked
def doubled(x, factor=2.0):
    return x * factor


def numpys_own(x):
    """Functions of NumPy that exist only as Python code."""
    c = np.polynomial.chebyshev.chebval(x, np.array([1.0, 2.0, 3.0]))
    return doubled(np.linalg.norm(x) * c + np.polynomial.polynomial.polyval(x, x), factor=3.0)


def test_functions_of_numpy_are_interpreted():
    assert np.allclose(mlirad.jit(numpys_own)(X), numpys_own(X), rtol=1e-14)

    def total(x):
        return np.sum(numpys_own(x))

    h = 1e-6
    slopes = [(total(X + h * e) - total(X - h * e)) / (2 * h) for e in np.eye(3)]
    assert np.allclose(mlirad.grad(total)(X), slopes, rtol=1e-7)


def searched(x):
    """any() and all() of a generator stop at the element that decides: x[27] is not read."""
    some = any(v > 2.5 and w > 0.5 for v in x if v > 0 for w in x)
    early = any(i == 1 or x[i * i * i] > 5 for i in range(4))
    return (
        x * some,
        x * all(v > 1.5 for v in x),
        x * early,
        all(a.shape == (3,) for a in (x, x[:2])),
        all(v for v in ()),
    )


def laid(x):
    y = np.broadcast_to(x, (2, 3))
    return x * (x.flags.writeable + 2 * y.flags.writeable + 4 * x[::2].flags.c_contiguous + 8 * x.flags.fortran)


def test_generators_that_are_searched_and_flags():
    for ours, theirs in zip(mlirad.jit(searched)(X), searched(X), strict=True):
        assert np.array_equal(ours, theirs)
    assert np.array_equal(mlirad.jit(laid)(X), laid(X))
    slopes = mlirad.grad(lambda x: np.sum(searched(x)[0]))(X)
    assert np.array_equal(slopes, np.ones(3))

    def locked(x):
        x.flags.writeable = False
        return x

    with pytest.raises(CompileError, match="Flags is frozen"):
        mlirad.jit(locked)(X)
