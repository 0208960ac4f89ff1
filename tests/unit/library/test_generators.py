"""`numpy.random.Generator` in kernels: NumPy's own stream and states, whatever draws; refusals.

A kernel draws with many methods, so one number too few or too many changes all later ones.
"""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import mlirad
from mlirad.contract import draw_functions
from mlirad.contract.native_functions import NativeFunctionError
from mlirad.library.random import generators

BIT_GENERATORS: list[Any] = [np.random.PCG64, np.random.MT19937, np.random.Philox, np.random.SFC64, np.random.PCG64DXSM]
LAM, ROWS = np.array([0.5, 40.0, 3.0]), np.arange(12.0).reshape(4, 3)
P = np.array([0.1, 0.2, 0.3, 0.2, 0.2])
COVARIANCE = np.array([[2.0, 0.5, 0.1], [0.5, 1.0, 0.2], [0.1, 0.2, 3.0]])


def pair(kind: Any = np.random.PCG64, seed: int = 7) -> tuple[np.random.Generator, np.random.Generator]:
    return np.random.Generator(kind(seed)), np.random.Generator(kind(seed))


def state(rng: np.random.Generator) -> str:
    return str(rng.bit_generator.state)


def copies(args: Any) -> list[Any]:
    return [each.copy() if isinstance(each, np.ndarray) else each for each in args]


def same(found: Any, expected: Any) -> None:
    assert type(found) is type(expected)
    if isinstance(expected, tuple | list):
        assert len(found) == len(expected)
        for own, numpys in zip(found, expected, strict=True):
            same(own, numpys)
    else:
        np.testing.assert_array_equal(found, expected)
        assert np.asarray(found).dtype == np.asarray(expected).dtype and np.shape(found) == np.shape(expected)


def reals(rng, a):
    numbers = rng.random(), rng.random(dtype=np.float32), rng.standard_normal(), rng.standard_exponential(method="inv")
    filled = rng.random((2, 3)), rng.random(4, np.float32), rng.standard_normal(3, dtype=np.float32)
    more = rng.standard_exponential(3), rng.standard_exponential(2, np.float32, "inv"), rng.standard_cauchy(2)
    moved = rng.uniform(-1, 2, 3), rng.normal(a, 2.0), rng.normal(0, a, (2, 3)), rng.exponential(a), rng.rayleigh(2)
    others = rng.laplace(1, 2, 4), rng.logistic(1, 2, 4), rng.gumbel(1, 2, 4), rng.lognormal(a, 0.5), rng.wald(2, 1)
    shaped = rng.weibull(a), rng.pareto(2.0), rng.power(a), rng.beta(0.5, a), rng.f(4, 5.0, 2), rng.standard_t(a)
    last = (
        rng.vonmises(0.0, 2.0, 3),
        rng.triangular(0, a, 50.0),
        rng.noncentral_f(3, 4, 1),
        rng.noncentral_chisquare(3, 1),
    )
    out = np.zeros((2, 2))
    empty = rng.uniform(size=()), rng.rayleigh(size=()), rng.normal(size=(0, 2))
    return numbers, filled, more, moved, others, shaped, last, rng.random(out=out), empty


def gammas(rng, a):
    numbers = rng.gamma(a, 2.0), rng.chisquare(a), rng.chisquare(2.0, ()), rng.standard_gamma(a, dtype=np.float32)
    return numbers, rng.dirichlet(a, 2), rng.multivariate_normal(a, COVARIANCE, 2, method="cholesky")


def integers(rng, a, high):
    numbers = rng.integers(10), rng.integers(3, high), rng.integers(0, 100, dtype=np.int16), rng.integers(5, dtype=int)
    filled = rng.integers(0, 2**40, 3), rng.integers(-5, 5, (2, 3), endpoint=True), rng.integers(0, 2, 9, bool)
    narrow = rng.integers(0, 100, 5, np.int32), rng.integers(0, 100, 5, np.uint8), rng.integers(0, 2**32, 3, np.uint32)
    whole = rng.integers(-(2**63), 2**63 - 1, 2, endpoint=True), rng.integers(0, 2**64 - 1, 2, np.uint64, True)
    bounds = (
        rng.integers(np.array([1, 5]), np.array([[high], [20]])),
        rng.integers(np.array([1, 5]), 90, dtype=np.int32),
    )
    counts = rng.poisson(a), rng.poisson(), rng.geometric(0.2, 3), rng.zipf(2.0, 3), rng.logseries(0.9, 3)
    trials = rng.binomial(np.array([1, 10, 1000]), 0.4), rng.binomial(5, 0.1), rng.negative_binomial(3.5, 0.3, 4)
    return (
        numbers,
        filled,
        narrow,
        whole,
        bounds,
        counts,
        trials,
        rng.hypergeometric(100, 200, 30, 4),
        rng.multinomial(20, P, 2),
    )


def orders(rng, x, rows):
    rng.shuffle(x)
    rng.shuffle(rows, axis=1)
    some = rng.permutation(10), rng.permutation(x), rng.permutation(rows), rng.permutation(rows, axis=1)
    permuted = rng.permuted(rows, axis=1), rng.permuted(rows)
    chosen = rng.choice(10), rng.choice(10, 5), rng.choice(x, 3), rng.choice(10, (2, 3), replace=False)
    weighted = rng.choice(5, 3, p=P), rng.choice(5, p=P), rng.choice(5, 4, False, P), rng.choice(rows, 2, axis=1)
    many = (
        rng.choice(20000, 500, replace=False),
        rng.choice(20000, 90, replace=False),
        rng.choice(9, 4, False, shuffle=False),
    )
    return some, permuted, chosen, weighted, many


CASES: list[Any] = [(reals, LAM), (gammas, LAM), (integers, LAM, 9), (orders, np.arange(7.0), ROWS)]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0].__name__)
def test_streams_and_states_are_numpys(case: Any) -> None:
    """With all bit generators, and twice from one: NumPy continues from the state that a kernel leaves."""
    function, *args = case
    kernel = mlirad.jit(function)
    for kind in BIT_GENERATORS:
        own, numpys = pair(kind)
        for _ in range(2):
            same(
                kernel(own, *copies(args)),
                function(numpys, *copies(args)),
            )
            assert state(own) == state(numpys)
            assert own.normal() == numpys.normal()


def test_printed_source_calls_the_generators_methods() -> None:
    cases: list[Any] = [(integers, LAM, 9), (orders, np.arange(4.0), ROWS), (dead, LAM)]
    own, numpys = pair()
    for function, *args in cases:
        kernel = mlirad.jit(function, target="python")
        same(kernel(own, *copies(args)), function(numpys, *copies(args)))
        assert state(own) == state(numpys)
    source = mlirad.jit(dead, target="python").lower(own, LAM).as_text("source")
    assert "rng.weibull(a, size=3)" in source and "rng.standard_normal()" in source


def test_every_method_is_tried() -> None:
    text = "".join(name for case in CASES for name in case[0].__code__.co_names)
    assert not [name for name in generators.methods() if name not in text]


def walk(rng, other, n):
    """Draws in a loop, a branch and a while loop, some of them unused, and from two generators in turn."""
    total, count = 0.0, 0
    for i in range(n):
        z = rng.normal()
        rng.random(3)
        if z > 0:
            total += other.exponential(z)
        else:
            total -= rng.uniform()
    while rng.random() < 0.8:
        count += 1
    sizes = np.zeros(int(rng.integers(3, 9)))
    return total, count, len(sizes), other.normal(size=n).shape


def recursive(rng, n):
    return 0.0 if n == 0 else rng.normal() + 0.5 * recursive(rng, n - 1)


def test_order() -> None:
    own, numpys = pair()
    others = pair(np.random.Philox)
    walks = mlirad.jit(walk)
    for _ in range(3):
        assert walks(own, others[0], 4) == walk(numpys, others[1], 4)
        assert mlirad.jit(recursive)(own, 5) == recursive(numpys, 5)
        assert state(own) == state(numpys) and state(others[0]) == state(others[1])


def dead(rng, a):
    rng.normal()
    rng.lognormal(a, 1.0)
    return rng.weibull(a) + rng.gumbel(a) + rng.random(dtype=np.float32)


GLOBAL = np.random.default_rng(3)


@mlirad.jit
def captured():
    return GLOBAL.normal()


@mlirad.jit
def dropout(rng, x):
    return np.where(rng.random(x.shape) < 0.5, x, 0.0) / 0.5


def test_generators_around_and_in_containers() -> None:
    """A captured generator is the one present at the call; five calls of a kernel give five masks."""
    global GLOBAL
    GLOBAL = np.random.default_rng(3)
    found = [captured() for _ in range(3)]
    GLOBAL = np.random.default_rng(4)
    found.append(captured())
    assert found == [*np.random.default_rng(3).normal(size=3), np.random.default_rng(4).normal()]
    assert mlirad.jit(lambda d: d["rng"].normal())({"rng": np.random.default_rng(4), "x": 1.0}) == found[-1]
    rng = np.random.default_rng(3)
    assert mlirad.jit(lambda r: (r, r.normal()))(rng)[0] is rng
    own, numpys = pair()
    masks = [dropout(own, np.ones(40)) for _ in range(5)]
    assert len({each.tobytes() for each in masks}) == 5
    same(masks, [dropout.numpy(numpys, np.ones(40)) for _ in range(5)])


@pytest.mark.full
def test_a_million_draws_of_each() -> None:
    """Between NumPy's own draws, in two threads with a generator each."""
    n = 1_000_000
    calls: list[Any] = [
        lambda r: r.random(n),
        lambda r: r.normal(1.0, 2.0, n),
        lambda r: r.standard_normal(n, np.float32),
        lambda r: r.exponential(2.0, n),
        lambda r: r.integers(0, 1000, n),
        lambda r: r.gamma(0.7, 2.0, n),
        lambda r: r.beta(2.0, 3.0, n),
        lambda r: r.poisson(4.5, n),
        lambda r: r.binomial(40, 0.3, n),
        lambda r: r.lognormal(0.0, 1.0, n),
        lambda r: r.laplace(0.0, 1.0, n),
        lambda r: r.standard_t(4.0, n),
        lambda r: r.weibull(1.5, n),
        lambda r: r.geometric(0.1, n),
        lambda r: r.vonmises(0.0, 4.0, n),
        lambda r: r.permutation(n),
    ]
    for call in calls:
        kernel, failures = mlirad.jit(call), list[BaseException]()

        def compared(seed: int, kernel: Any = kernel, call: Any = call, failures: list[Any] = failures) -> None:
            own, numpys = pair(seed=seed)
            try:
                for _ in range(2):
                    same(kernel(own), call(numpys))
                    assert own.integers(10) == numpys.integers(10) and state(own) == state(numpys)
            except BaseException as error:
                failures.append(error)

        threads = [threading.Thread(target=compared, args=(seed,)) for seed in range(2)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        assert not failures


def draws(rng, n):
    total = 0.0
    for i in range(n):
        total += rng.normal() * rng.random()
    return total


def test_threads() -> None:
    """Two threads on two generators draw the same as each would alone; on one generator, no number is drawn twice."""
    kernel, n = mlirad.jit(draws), 200_000
    rngs = [np.random.default_rng(seed) for seed in range(2)]
    expected = [kernel(np.random.default_rng(seed), n) for seed in range(2)]
    found: dict[int, float] = {}
    threads = [threading.Thread(target=lambda k=k: found.update({k: kernel(rngs[k], n)})) for k in range(2)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert [found[0], found[1]] == expected
    shared, alone = pair()
    parts: list[np.ndarray] = []
    many = mlirad.jit(lambda r: r.random(300_000))
    threads = [threading.Thread(target=lambda: parts.extend(many(shared) for _ in range(3))) for _ in range(2)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    same(np.sort(np.concatenate(parts)), np.sort(alone.random(6 * 300_000)))


def refused(call: Any, *args: Any) -> str:
    with pytest.raises((mlirad.CompileError, ValueError, TypeError, OverflowError, AttributeError)) as caught:
        mlirad.jit(call)(*args)
    return str(caught.value)


def test_refusals() -> None:
    rng = np.random.default_rng(1)
    before = state(rng)
    assert "make the generator outside" in refused(lambda: np.random.default_rng(0).normal())
    assert "rng = np.random.default_rng(seed) outside" in refused(lambda: np.random.rand(3))
    assert "rng = np.random.default_rng(seed) outside" in refused(lambda r: r.randn(3), np.random.RandomState(0))
    for name in ("seed", "normal", "uniform", "randint", "random_sample", "choice", "shuffle", "get_state", "PCG64"):
        function = getattr(np.random, name)
        assert "outside" in refused(lambda function=function: function())
    assert "docs/random.md" in refused(lambda r: len(r.bytes(3)), rng)
    assert "no attribute 'normals'" in refused(lambda r: r.normals(), rng)
    assert "order = rng.permutation" in refused(lambda r: r.shuffle([1.0, 2.0]), rng)
    assert "in a loop over the bounds" in refused(lambda r: r.integers(np.arange(1, 3), dtype=np.int8), rng)
    with pytest.raises(mlirad.CompileError, match="a random generator that is a static argument"):
        mlirad.jit(lambda r: r.normal(), static_argnums=0)(rng)
    assert "scale < 0" in refused(lambda r: r.normal(0.0, -1.0), rng)
    assert "high <= 0" in refused(lambda r, n: r.integers(n), rng, 0)
    assert "exceeds valid bounds" in refused(lambda r: r.uniform(0.0, np.inf), rng)
    assert "sum to 1" in refused(lambda r: r.choice(5, p=P * 0.9), rng)
    assert "whose arrays have no lanes" in refused(mlirad.vmap(lambda r, x: r.normal() * x), rng, np.arange(32.0))
    assert rng.integers(0, 9, 0).size == 0 and state(rng) == before


def test_functions_are_checked_when_they_are_linked(monkeypatch: pytest.MonkeyPatch) -> None:
    """A function that NumPy hides, or that draws other numbers, is not called."""
    for name in draw_functions.FUNCTIONS:
        draw_functions.address_of(name)
    wrong = draw_functions.FUNCTIONS["weibull"]
    table = {"pareto": wrong, "no_such_function": wrong}
    monkeypatch.setattr(draw_functions, "FUNCTIONS", table)
    for name, why in (("pareto", "another C function"), ("no_such_function", "exports no C function")):
        with pytest.raises(NativeFunctionError, match=why):
            draw_functions.address_of.__wrapped__(name)
