"""Only pure callables are evaluated while compiling: hidden state is compiled, or refused at its line, never frozen."""

from __future__ import annotations

import dataclasses
import datetime
import functools
import json
import operator
import os
import random
import subprocess
import sys
import time
from enum import Enum
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from purity_walk import GOOD, parts

import mlirad
from mlirad.errors import CompileError

X = np.array([1.0, 2.0, 3.0])
WALK = Path(__file__).parents[2] / "support" / "purity_walk.py"

DRAWER = random.Random(1)
ITERATOR = iter([1.0, 2.0, 3.0])
LIST, DICT, ARRAY = [1.0, 2.0], {"a": 1.0}, np.ones(3)
K = 2.0


def scaled(v):
    return K * v


VECTORIZED = np.vectorize(scaled)
UFUNC = np.frompyfunc(scaled, 1, 1)


class Noisy:
    def __init__(self):
        self.n = 0

    @property
    def count(self):
        self.n += 1
        return self.n

    @functools.cached_property
    def once(self):
        return K * 2

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        self.n += 1
        return self.n


NOISY = Noisy()


# --- every public callable ----------------------------------------------------------------------------------------


def walked(*arguments: str, code: str = "") -> tuple[list[dict[str, str]], dict[str, dict[str, int]]]:
    """The failing calls, and the counts, from a walk in a separate process."""
    run = (
        f"import runpy, sys; sys.argv = {[str(WALK), *arguments]!r}; runpy.run_path({str(WALK)!r}, run_name='__main__')"
    )
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\n{run}"], capture_output=True, text=True, timeout=280, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    *found, last = done.stdout.splitlines()
    return [json.loads(line) for line in found], json.loads(last)


def test_the_walk_meets_fifteen_hundred_callables() -> None:
    assert sum(map(len, parts().values())) >= 1500


WALKS = [
    ["methods 1"],
    ["methods 2", "np.linalg"],
    ["np 1", "np 2", "np 3"],
    ["np.random", "random", "builtins", "os", "operator", "math", "itertools", "functools", "time", "datetime"],
]
"""The parts that share a process, which take about as long."""
NATIVELY = "1" if os.environ.get("MLIRAD_FULL") else "4"


@pytest.mark.parametrize("walk", WALKS, ids=lambda walk: walk[0])
def test_each_callable_gives_what_python_gives_or_is_refused_at_its_line(walk: list[str]) -> None:
    wrong, count = walked("--natively", NATIVELY, *walk)
    assert wrong == []
    assert sum(tally["callables"] for tally in count.values()) == sum(len(parts()[part]) for part in walk)
    for tally in count.values():
        assert sum(tally.get(how, 0) for how in GOOD) == tally["calls"] >= tally["callables"]


def test_the_walks_leave_out_no_callable() -> None:
    assert sorted(part for walk in WALKS for part in walk) == sorted(parts())


def test_the_walk_sees_a_compiler_that_runs_whatever_it_meets() -> None:
    code = """
from mlirad.frontend.interpreter.calls import calls
from mlirad.frontend.program import purity
purity.is_pure = lambda function: True
purity.is_pure_call = lambda function, args, kwargs: True
purity.is_constant = purity.is_result = lambda value: True
calls.is_of_hidden_state = lambda function: False
"""
    _, count = walked("--natively", NATIVELY, "np.random", "random", "datetime", code=code)
    for part in ("np.random", "random", "datetime"):
        assert count[part]["wrong"] > 1, part


# --- programs -----------------------------------------------------------------------------------------------------


def monte_carlo_pi(x):
    inside = 0
    for _ in range(100):
        if np.random.rand() ** 2 + np.random.rand() ** 2 < 1.0:
            inside += 1
    return 4.0 * inside / 100 + 0.0 * x[0]


def dropout(x):
    return x * (np.random.uniform(size=3) > 0.5)


def draws_normals(x):
    return x + np.random.normal(0.0, 1.0, 3)


def draws_a_choice(x):
    return x * np.random.choice([1.0, 2.0])


def draws_a_permutation(x):
    return x[np.random.permutation(3)]


def draws_of_a_new_generator(x):
    return x * np.random.default_rng().normal()


def draws_of_pythons_module(x):
    return x * random.random()


def draws_of_pythons_generator(x):
    return x * DRAWER.uniform(0.0, 1.0)


def draws_in_a_helper(x):
    return x * random.randint(1, 6)


def takes_the_next(x):
    return x * next(ITERATOR)


def iterates_over_an_iterator(x):
    for v in ITERATOR:
        x = x * v
    return x


def looks_into_an_iterator(x):
    return x if 2.0 in ITERATOR else -x


def reads_the_date(x):
    return x * datetime.datetime.now().microsecond


def reads_the_date_by_numpy(x):
    return x * (np.datetime64("now") > np.datetime64("2020-01-01"))


def reads_the_clock(x):
    return x * time.perf_counter()


def reads_the_environment(x):
    return x if os.environ.get("HOME") else -x


def loads(x):
    return x + np.load("weights.npy")


def loads_text(x):
    return x + np.loadtxt("weights.txt")


def reads_from_a_file(x):
    return x + np.fromfile("weights.bin")


def reads_the_error_state(x):
    return x if np.geterr()["over"] == "warn" else -x


def sets_the_error_state(x):
    np.seterr(all="ignore")
    return x


def vectorizes(x):
    return np.vectorize(scaled)(x)


def calls_a_vectorized(x):
    return x * VECTORIZED(2.0)


def makes_a_ufunc(x):
    return x * np.frompyfunc(scaled, 1, 1)(2.0)


def calls_a_ufunc_of_its_own(x):
    return x * UFUNC(2.0)


def sets_an_item_of_a_list(x):
    operator.setitem(LIST, 0, 5.0)
    return x * LIST[0]


def adds_to_a_list(x):
    operator.iadd(LIST, [5.0])
    return x * len(LIST)


def repeats_a_list(x):
    values = LIST
    values *= 2
    return x * len(LIST)


def updates_a_dict(x):
    operator.ior(DICT, {"b": 2.0})
    return x * len(DICT)


def updates_by_keyword(x):
    DICT.update(a=5.0)
    return x * DICT["a"]


def appends_unbound(x):
    list.append(LIST, 5.0)
    return x * len(LIST)


def reads_a_counting_property(x):
    return x * NOISY.count


def reads_what_is_cached_when_read(x):
    return x * NOISY.once


def reads_by_getattr_of_the_class(x):
    return x * NOISY.anything


def hashes(x):
    return x * hash("abc")


def asks_for_an_identity(x):
    return x * id(LIST)


def shows_a_numpy_number(x):
    return x if repr(np.float64(1.5)) == "1.5" else -x


def formats_for_a_locale(x):
    return x if f"{1234567:n}" == "1234567" else -x


REFUSED = {
    each: hint
    for hint, programs in {
        "draw the random numbers outside, and pass them in": (
            *(draws_of_pythons_module, draws_of_pythons_generator, draws_in_a_helper),
        ),
        "pass a generator": (monte_carlo_pi, dropout, draws_normals, draws_a_choice, draws_a_permutation),
        "make the generator outside": (draws_of_a_new_generator,),
        "read the clock outside": (reads_the_date, reads_the_clock),
        "read the file outside": (loads, loads_text, reads_from_a_file),
        "write a loop": (makes_a_ufunc,),
        "copy it first": (
            *(sets_an_item_of_a_list, adds_to_a_list, repeats_a_list, updates_a_dict, updates_by_keyword),
        ),
        "outside": (
            *(reads_the_date_by_numpy, reads_the_error_state, sets_the_error_state, looks_into_an_iterator),
            *(reads_what_is_cached_when_read, reads_by_getattr_of_the_class),
            *(shows_a_numpy_number, formats_for_a_locale, takes_the_next),
        ),
        "": (
            *(iterates_over_an_iterator, calls_a_ufunc_of_its_own, appends_unbound, reads_a_counting_property),
            *(hashes, asks_for_an_identity, reads_the_environment),
        ),
    }.items()
    for each in programs
}


@pytest.mark.parametrize("program", REFUSED, ids=lambda each: each.__name__)
def test_hidden_state_is_refused_at_its_line_and_nothing_is_touched(program: Any) -> None:
    states = [
        lambda: str(np.random.get_state()),
        random.getstate,
        DRAWER.getstate,
    ]
    before = [*(state() for state in states), list(LIST), dict(DICT), NOISY.n, np.geterr()]
    for transformed in (mlirad.jit(program), mlirad.grad(lambda x: np.sum(program(x)))):
        with pytest.raises(CompileError) as error:
            transformed(X)
        assert REFUSED[program] in (error.value.hint or "")
        first = program.__code__.co_firstlineno
        assert first < error.value.lineno <= first + 6 or program is reads_a_counting_property
    assert before == [*(state() for state in states), list(LIST), dict(DICT), NOISY.n, np.geterr()]
    assert next(iter(ITERATOR.__reduce__()[1][0])) == 1.0 and ITERATOR.__length_hint__() == 3


def test_a_vectorized_function_is_compiled_as_it_is_now() -> None:
    global K
    for function in (vectorizes, calls_a_vectorized):
        kernel = mlirad.jit(function)
        for K in (2.0, 3.0):
            np.testing.assert_array_equal(kernel(X), function(X))


def test_the_state_of_a_generator_is_not_frozen() -> None:
    def reads(x, rng):
        return x * rng.bit_generator.state["has_uint32"]

    kernel, rng = mlirad.jit(reads), np.random.default_rng(3)
    for _ in range(3):
        rng.integers(0, 2, dtype=np.uint32)
        try:
            np.testing.assert_array_equal(kernel(X, rng), reads(X, rng))
        except CompileError as error:
            assert error.lineno is not None


IN_A_PROCESS = """
import sys
import numpy as np
import mlirad
sys.path[:0] = [{folder!r}]
import test_purity as t

for program in t.REFUSED:
    for f in (mlirad.jit(program), mlirad.grad(lambda x: np.sum(program(x)))):
        try:
            f(t.X)
        except mlirad.CompileError:
            continue
        print(program.__name__)
"""


def test_in_the_next_process_they_are_refused_too(tmp_path: Path) -> None:
    code = IN_A_PROCESS.format(folder=str(Path(__file__).parent))
    path = os.pathsep.join([str(WALK.parent), *sys.path])
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "MLIRAD_CACHE": str(tmp_path / "cache"), "PYTHONPATH": path},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert (done.returncode, done.stdout) == (0, ""), done.stderr


# --- changes are noticed ----------------------------------------------------------------------------------------


class Unit(float):
    scale = 3.0


class Mode(Enum):
    FAST = 2.0
    SLOW = 3.0

    @property
    def doubled(self):
        return self.value * K

    def __str__(self):
        return f"mode {K}"


@dataclasses.dataclass
class Layer:
    w: float
    gain: float = 1.5

    @property
    def total(self):
        return self.w * K


class Point(NamedTuple):
    x: float
    offset: Any = ARRAY


class Moved(Point):
    def __new__(cls, x, offset=ARRAY):
        return super().__new__(cls, x * 10, offset)


@dataclasses.dataclass
class Own:
    a: float

    def __init__(self, a):
        self.a = a * 10


class Constant(float):
    def __repr__(self):
        return "a constant"


UNIT, MODE, SET, NUMBER = Unit(2.0), Mode.FAST, {1.0, 2.0}, Constant(2.0)
KEYED = {1: 2.0}


def reads_an_attribute_of_a_number(x):
    return x * UNIT.scale


def calls_a_property(x):
    return x * Layer(2.0).total + MODE.doubled


def takes_a_default_array(x):
    return x * Layer(2.0).gain + Point(1.0).offset


def looks_into_a_set(x):
    return x if 2.0 in SET else -x


def takes_a_key(x):
    for key in KEYED:
        x = x * (key / 2 if isinstance(key, float) else key)
    return x


def takes_a_number(x):
    return x * NUMBER


def calls_operators(x):
    a = operator.getitem(x, slice(0, 2))
    operator.setitem(a, 0, operator.mul(K, x[1]))
    operator.iadd(a, 1.0)
    return x if operator.contains([1, 2], 2) and operator.not_(operator.gt(K, 100.0)) else a


def change_of(module: Any, name: str, *values: Any) -> list[Any]:
    return [functools.partial(setattr, module, name, value) for value in values]


HERE = sys.modules[__name__]
CHANGES = {
    reads_an_attribute_of_a_number: lambda: change_of(UNIT, "scale", 4.0, 5),
    calls_a_property: lambda: [*change_of(HERE, "K", 3.0, 2.0), *change_of(HERE, "MODE", Mode.SLOW, Mode.FAST)],
    takes_a_default_array: lambda: [functools.partial(ARRAY.fill, 5.0), functools.partial(ARRAY.fill, 1.0)],
    looks_into_a_set: lambda: [functools.partial(SET.discard, 2.0), functools.partial(SET.add, 2.0)],
    takes_a_key: lambda: [
        functools.partial(KEYED.pop, 1),
        functools.partial(KEYED.update, {1.0: 2.0}),
        functools.partial(KEYED.pop, 1.0),
        functools.partial(KEYED.update, {1: 2.0}),
    ],
    takes_a_number: lambda: change_of(HERE, "NUMBER", Constant(3.0), Constant(2.0)),
    calls_operators: lambda: change_of(HERE, "K", 3.0, 2.0),
}


@pytest.mark.parametrize("program", CHANGES, ids=lambda each: each.__name__)
def test_what_was_read_while_compiling_is_read_again_where_it_changes(program: Any) -> None:
    kernel = mlirad.jit(program)
    for change in [lambda: None, *CHANGES[program]()]:
        change()
        for _ in range(2):
            given, wanted = X.copy(), X.copy()
            np.testing.assert_array_equal(kernel(given), program(wanted))
            np.testing.assert_array_equal(given, wanted)


@pytest.mark.parametrize("make", [lambda x: x * Own(2.0).a, lambda x: x * Moved(2.0).x])
def test_a_class_that_is_made_by_code_of_its_own_is_refused(make: Any) -> None:
    with pytest.raises(CompileError, match="runs code of its own when it is made"):
        mlirad.jit(make)(X)


def test_a_text_that_the_user_computes_is_refused() -> None:
    def compares(x):
        return x if f"{MODE}" == "mode 2.0" else -x

    with pytest.raises(CompileError, match="the text of an object of class Mode"):
        mlirad.jit(compares)(X)


def test_what_is_pure_is_evaluated() -> None:
    def constants(x):
        step = np.finfo(x.dtype).eps * np.iinfo(np.int8).max + len("abc".upper().split("B"))
        width = {"a": 2, "b": 3}[sorted({"b": 1, "a": 2}.keys())[0]]
        nodes, weights = np.polynomial.legendre.leggauss(3)
        window = np.hanning(5)[1:4] + np.fft.fftfreq(3, 0.5) + np.linalg.inv([[2.0, 1.0], [1.0, 3.0]])[0, 0]
        delta = datetime.timedelta(minutes=2).total_seconds()
        kind = np.result_type(np.float32, x.dtype) == np.dtype("f8")
        return (x * step + width * delta + weights * nodes + window) * (1.0 if kind else 2.0) + math_of(3)

    def math_of(n):
        import math

        return math.comb(n, 2) + math.gcd(12, 18) + round(2.5) + int("7") + max([1, 5, 2]) + divmod(7, 2)[0]

    np.testing.assert_allclose(mlirad.jit(constants)(X), constants(X), rtol=1e-14)


# --- iterators ----------------------------------------------------------------------------------------------------


def uses_a_zip_twice(x):
    pairs = zip((1.0, 2.0), (3.0, 4.0), strict=True)
    for a, b in pairs:
        x = x + a * b
    for a, b in pairs:
        x = x + a * b
    return x


def takes_the_length_of_a_zip(x):
    return x * len(zip((1.0, 2.0), x))


def goes_through_one_enumerate_in_two_places(x):
    numbers = enumerate((5.0, 6.0, 7.0))
    for (_, a), (_, b) in zip(numbers, numbers):
        x = x + a * b
    return x


def uses_an_iterator_in_each_trip(x):
    rows = enumerate(x)
    for _ in range(3):
        for i, v in rows:
            x = x + i * v
    return x


def may_have_used_it(x):
    rows = map(scaled, x)
    s = sum(rows) if x[0] > 0.0 else 0.0
    return s + sum(rows)


def keeps_a_generator(x):
    a = x * 1.0
    values = (a[i] for i in range(3))
    a[0] = 100.0
    return sum(values)


def passes_a_generator(x):
    return total(x[i] for i in range(3))


def total(values):
    return sum(values)


def returns_a_map(x):
    return map(scaled, x)


def goes_through_a_dataclass(x):
    for v in Layer(2.0):
        x = x * v
    return x


def repeats_a_dataclass(x):
    return x * (Layer(2.0) * 2)[0]


@pytest.mark.parametrize(
    "program",
    [
        *(uses_a_zip_twice, takes_the_length_of_a_zip, goes_through_one_enumerate_in_two_places),
        *(uses_an_iterator_in_each_trip, may_have_used_it, keeps_a_generator),
        *(passes_a_generator, returns_a_map, goes_through_a_dataclass, repeats_a_dataclass),
    ],
    ids=lambda each: each.__name__,
)
def test_what_python_would_have_used_up_is_refused(program: Any) -> None:
    with pytest.raises(CompileError) as error:
        mlirad.jit(program)(X)
    assert error.value.lineno is not None and str(Path(__file__).name) in str(error.value)


def writes_while_a_generator_runs(x):
    a, s = x * 1.0, 0.0
    for v in (a[i] for i in range(3)):
        a[2] += v
        s += v
    return s


def writes_while_a_map_runs(x):
    a, s = x * 1.0, 0.0

    def read(i):
        return a[i] * K

    for v in map(read, range(3)):
        a[2] += v
        s += v
    return s


def uses_iterators_once(x):
    pairs = zip(x, enumerate(reversed(x)))
    s = sum(a * i + b for a, (i, b) in pairs)
    rows = list(map(lambda a, b: a * b, x, range(3)))
    return s + sum(map(scaled, rows)) + functools.reduce(operator.add, map(scaled, x)) + max(map(scaled, x))


def makes_an_iterator_in_each_trip(x):
    s = 0.0
    for k in range(4):
        for i, v in enumerate(x):
            s += i * v * k
    return s


def changes_a_dict_that_is_viewed(x):
    made = {"a": x[0]}
    values, keys = made.values(), made.keys()
    made["b"] = x[1] * 2.0
    return sum(values) * len(keys) + sum(v for _, v in made.items()) + (1.0 if "b" in keys else 0.0)


@pytest.mark.parametrize(
    "program",
    [
        *(writes_while_a_generator_runs, writes_while_a_map_runs, uses_iterators_once, makes_an_iterator_in_each_trip),
        changes_a_dict_that_is_viewed,
    ],
    ids=lambda each: each.__name__,
)
def test_iterators_give_their_elements_when_python_takes_them(program: Any) -> None:
    np.testing.assert_allclose(mlirad.jit(program)(X), program(X), rtol=1e-13)
    step = 1e-6
    slope = [(program(X + step * e) - program(X - step * e)) / (2 * step) for e in np.eye(3)]
    np.testing.assert_allclose(mlirad.grad(program)(X), slope, rtol=1e-5)
