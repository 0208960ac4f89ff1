"""Views against NumPy's: reading and writing through chains of indices, transposes, flips and reshapes."""

import itertools
import random

import numpy as np
import pytest
from as_numpy import refusal
from numpy.lib.stride_tricks import sliding_window_view
from straight_line import evaluate

from mlirad.dialect.ops.check import CheckFailed
from mlirad.errors import CompileError, DTypeError, StaticIndexError, StaticValueError
from mlirad.frontend.numpy import declarations
from mlirad.frontend.values.basic_indexing import compose, is_basic
from mlirad.frontend.values.traced import NeedStatic, Traced
from mlirad.frontend.values.views.view import View, safe_params
from mlirad.frontend.values.views.view_contents import get, put
from mlirad.frontend.values.views.view_steps import Affine, Reshape, Windows

I8 = np.dtype(np.int64)


def random_entry(rng, size, traced):
    choice = rng.random()
    if choice < 0.3 and size:
        entry = rng.randrange(-size, size)
        return traced(entry) if rng.random() < 0.5 else entry
    if choice < 0.4:
        return None
    bound = [None, *range(-size - 2, size + 3)]
    return slice(rng.choice(bound), rng.choice(bound), rng.choice([None, 1, 2, 3, -1, -2, -3]))


def random_index(rng, shape, traced):
    entries, axis = [], 0
    while axis < len(shape) and rng.random() < 0.75:
        entry = random_entry(rng, shape[axis], traced)
        axis += entry is not None
        entries.append(entry)
    if rng.random() < 0.3:
        entries.insert(rng.randrange(len(entries) + 1), Ellipsis)
        shape_after = len(shape) - axis
        # Entries after the ellipsis index the last axes and may be out of range there, so keep them in range.
        place = entries.index(Ellipsis)
        if any(e is not None for e in entries[place + 1 :]) and shape_after:
            return tuple(e for e in entries if e is not Ellipsis)
    return tuple(entries)


def factors(rng, size):
    shape = []
    while size > 1:
        factor = rng.choice([f for f in range(2, size + 1) if size % f == 0])
        shape.append(factor)
        size //= factor
    for _ in range(rng.randrange(2)):
        shape.insert(rng.randrange(len(shape) + 1), 1)
    return tuple(shape)


class Chain:
    """One random chain, applied to both a View and a NumPy array."""

    def __init__(self, rng, kinds=("index", "transpose", "flip", "reshape", "squeeze", "ravel", "diagonal")):
        self.rng = rng
        self.kinds = ["index", *kinds]
        self.numbers = []

    def traced(self, number):
        self.numbers.append(number)
        return ("traced", len(self.numbers) - 1)

    def plan(self, array):
        """Steps (kind, argument), each valid on NumPy's result of those before it."""
        steps = []
        for _ in range(self.rng.randrange(1, 6)):
            kind = self.rng.choice(self.kinds)
            step = self.step(kind, array)
            if step is None:
                continue
            after = step_numpy(step, array, self.numbers)
            if not isinstance(after, np.ndarray) or (after.size and not np.shares_memory(after, array)):
                if kind in ("reshape", "ravel"):
                    steps.append(("copies", step))
                continue
            steps.append(step)
            array = after
        return steps

    def step(self, kind, array):
        rng = self.rng
        if kind == "index":
            index = random_index(rng, array.shape, self.traced)
            return ("index", (*index, Ellipsis) if Ellipsis not in index and rng.random() < 0.5 else index)
        if kind == "transpose":
            return ("transpose", tuple(rng.sample(range(array.ndim), array.ndim)))
        if kind == "flip" and array.ndim:
            return ("flip", rng.randrange(array.ndim))
        if kind == "reshape" and array.size:
            return ("reshape", factors(rng, array.size))
        if kind == "windows" and array.ndim:
            axes = tuple(rng.choices(range(array.ndim), k=rng.randrange(1, 3)))
            room = [array.shape[axis] // axes.count(axis) + 1 for axis in axes]
            return ("windows", (tuple(rng.randrange(min(size, 4)) for size in room), axes))
        if kind in ("squeeze", "ravel"):
            return (kind, None)
        return None


def concrete(index, numbers):
    return tuple(numbers[e[1]] if isinstance(e, tuple) else e for e in index)


def step_numpy(step, array, numbers):
    kind, argument = step
    match kind:
        case "index":
            return array[concrete(argument, numbers)]
        case "transpose":
            return array.transpose(argument)
        case "flip":
            return np.flip(array, argument)
        case "reshape":
            return array.reshape(argument)
        case "squeeze":
            return array.squeeze()
        case "windows":
            return sliding_window_view(array, *argument)
        case "ravel":
            return array.ravel()


def step_view(step, view, scalars):
    kind, argument = step
    match kind:
        case "index":
            return compose(view, tuple(scalars[e[1]] if isinstance(e, tuple) else e for e in argument))
        case "transpose":
            return declarations.of_method("transpose").of_view(view, argument)
        case "flip":
            return declarations.of(np.flip).of_view(view, argument)
        case "reshape":
            return declarations.of_method("reshape").of_view(view, argument)
        case "squeeze":
            return declarations.of_method("squeeze").of_view(view)
        case "windows":
            return declarations.of(sliding_window_view).of_view(view, *argument)
        case "ravel":
            return declarations.of_method("ravel").of_view(view)


SHAPES = [(), (1,), (5,), (6,), (2, 3), (3, 4), (1, 4), (2, 3, 4), (2, 1, 3), (4, 0), (2, 2, 2, 2)]


@pytest.mark.parametrize("seed", range(300))
def test_random_chains_read_and_write_as_numpys_views(seed):
    rng = random.Random(seed)
    shape = rng.choice(SHAPES)
    layout = rng.choice(["C", "C", "F"])
    base = np.asarray(np.arange(np.prod(shape, dtype=int)), order="C").reshape(shape)
    base = np.array(base, order=layout)
    chain = Chain(rng)
    plan = chain.plan(base)

    target = base.copy(order="K")
    expected = target
    for step in plan:
        if step[0] != "copies":
            expected = step_numpy(step, expected, chain.numbers)
    before = expected.copy()
    replacement = np.arange(expected.size).reshape(expected.shape) + 1000
    expected[...] = replacement

    seen = {}

    def build(contents, new, *numbers):
        view = View.of(base.shape, I8, [s // 8 for s in base.strides])
        scalars = [Traced(n) for n in numbers]
        for step in plan:
            if step[0] == "copies":
                assert step_view(step[1], view, scalars) is None
                continue
            view = step_view(step, view, scalars)
        seen["view"] = view
        return get(view, contents), put(view, contents, new)

    numbers = [np.int64(n) for n in chain.numbers]
    read, written = evaluate(build, base, replacement[()] if not replacement.ndim else replacement, *numbers)
    view = seen["view"]
    assert view.shape == expected.shape
    assert np.array_equal(read, before)
    assert np.array_equal(written, target)
    long_axes = [axis for axis, size in enumerate(view.shape) if size > 1]
    if view.size:
        assert [view.strides[a] * 8 for a in long_axes] == [expected.strides[a] for a in long_axes]
    assert len(safe_params(view)) == len(view.params)


@pytest.mark.parametrize("seed", range(150))
def test_random_chains_with_windows_read_as_numpys_views(seed):
    rng = random.Random(seed)
    shape = rng.choice([shape for shape in SHAPES if shape])
    base = np.array(np.arange(np.prod(shape, dtype=int)).reshape(shape), order=rng.choice(["C", "F"]))
    chain = Chain(rng, ("windows", "windows", "transpose", "flip", "reshape", "squeeze"))
    plan = [step for step in chain.plan(base) if step[0] != "copies"]
    expected = base
    for step in plan:
        expected = step_numpy(step, expected, chain.numbers)

    def build(contents, *numbers):
        view = View.of(base.shape, I8, [s // 8 for s in base.strides])
        for step in plan:
            view = step_view(step, view, [Traced(n) for n in numbers])
        assert view.readonly == (not expected.flags.writeable)
        if view.size:
            assert [s * 8 for n, s in zip(view.shape, view.strides) if n > 1] == [
                s for n, s in zip(expected.shape, expected.strides) if n > 1
            ]
        return (get(view, contents),)

    (read,) = evaluate(build, base, *[np.int64(n) for n in chain.numbers])
    assert np.shape(read) == expected.shape
    assert np.array_equal(read, expected)


def whole(*shape, dtype=I8):
    return View.of(shape, dtype)


def test_chains_are_normalised():
    view = whole(6)
    assert compose(compose(view, slice(None, None, -1)), slice(None, None, -1)).steps == ()
    assert len(compose(compose(compose(view, slice(1, None)), slice(1, None)), slice(1, None)).steps) == 1
    transpose = declarations.of_attribute("T").of_view
    assert transpose(transpose(whole(2, 3))).steps == ()
    reshape = declarations.of_method("reshape").of_view
    assert reshape(reshape(view, (2, 3)), 6).steps == ()
    assert reshape(reshape(reshape(view, 6, 1), 2, 3), -1).steps == ()
    assert [type(step) for step in reshape(view, 2, 3).steps] == [Reshape]
    assert [type(step) for step in reshape(view, 6, 1).steps] == [Affine]
    windows = declarations.of(sliding_window_view).of_view(view, 3)
    assert [type(step) for step in windows.steps] == [Windows]
    for index in (2, (2, 1), (slice(None), 1), (slice(1, 2), slice(0, 3, 2)), (slice(4, None, -2), 0)):  # slices of x
        assert [type(step) for step in compose(windows, index).steps] == [Affine]
    assert len({compose(view, 2).steps, compose(view, 3).steps}) == 1  # the start is not part of the steps


def test_a_full_slice_emits_nothing_and_an_element_is_one_op():
    emitted = []

    def count(index):
        def build(contents, new):
            view = compose(whole(4), index)
            before = len(list(contents.value.owner.ops))
            read = get(view, contents)
            emitted.append([op.name for op in list(contents.value.owner.ops)[before:]])
            return read, put(view, contents, new)

        return build

    evaluate(count(slice(None)), np.arange(4), np.arange(4) + 9)
    evaluate(count(2), np.arange(4), np.int64(7))
    evaluate(count(slice(1, 3)), np.arange(4), np.arange(2))
    assert emitted[0] == []
    assert emitted[1] == ["nd.constant", "nd.extract"]
    assert emitted[2] == ["nd.constant", "nd.extract_slice"]


@pytest.mark.parametrize(
    ("index", "error", "text"),
    [
        (7, StaticIndexError, "index 7 is out of bounds for axis 0 with size 3"),
        (-4, StaticIndexError, "index -4 is out of bounds for axis 0 with size 3"),
        ((0, 9), StaticIndexError, "index 9 is out of bounds for axis 1 with size 4"),
        ((0, 0, 0), StaticIndexError, "too many indices for array: array is 2-dimensional, but 3 were indexed"),
        ((Ellipsis, Ellipsis), StaticIndexError, "an index can only have a single ellipsis"),
        (1.0, StaticIndexError, "only integers, slices"),
        ("a", StaticIndexError, "only integers, slices"),
        (slice(1, 2.0), DTypeError, "slice indices must be integers or None or have an __index__ method"),
        (slice(None, None, 0), StaticValueError, "slice step cannot be zero"),
    ],
)
def test_refusals_are_numpys(index, error, text):
    with pytest.raises(error, match=text.replace("(", r"\(")) as ours:
        compose(whole(3, 4), index)
    numpys = {StaticIndexError: IndexError, DTypeError: TypeError, StaticValueError: ValueError}[error]
    assert isinstance(ours.value, numpys)
    with pytest.raises(numpys) as theirs:
        np.zeros((3, 4))[index]
    assert str(theirs.value).startswith(text)


@pytest.mark.parametrize("index", [[0, 1], True, np.array([0, 1]), np.array([True, False, True]), (slice(None), [0])])
def test_advanced_indices_are_not_basic(index):
    assert not is_basic(index)


def test_a_traced_index_is_checked_at_run_time():
    def build(contents, i):
        return (get(compose(whole(4), Traced(i)), contents),)

    x = np.arange(4) * 10
    assert [evaluate(build, x, np.int64(i))[0] for i in (-4, -1, 0, 3)] == [0, 30, 0, 30]
    for i in (-5, 4):
        with pytest.raises(CheckFailed, match=f"index {i} is out of bounds for axis 0 with size 4"):
            evaluate(build, x, np.int64(i))


def slice_of(make):
    def build(contents, i):
        view = compose(whole(10), make(Traced(i, weak=True, origins=frozenset({"i"}))))
        return (get(view, contents),)

    return build


@pytest.mark.parametrize(
    ("make", "length"),
    [
        (lambda i: slice(i, i + 3), 3),
        (lambda i: slice(i - 1, 2 + i), 3),
        (lambda i: slice(i, i + 5, 2), 3),
        (lambda i: slice(i + 3, i, -1), 3),
        (lambda i: slice(i + 4, i, -3), 2),
        (lambda i: slice(2 * i, 2 * i + 2), 2),
        (lambda i: slice(2 * i, 2 * (i + 1)), 2),
        (lambda i: slice(i, i), 0),
        (lambda i: slice(-i, -i + 2), 2),
        (lambda i: slice(5 - i, 10 - i, 4), 2),
    ],
)
def test_slices_of_one_length_with_traced_bounds(make, length):
    """Either NumPy's slice, or a ValueError if NumPy's slice has another length."""
    x = np.arange(10) * 10
    right = refused = 0
    for i in range(-14, 15):
        expected = x[make(i)]
        failure = refusal(lambda: evaluate(slice_of(make), x, np.int64(i)))
        if failure is None:
            (actual,) = evaluate(slice_of(make), x, np.int64(i))
            assert np.array_equal(actual, expected)
            right += 1
            continue
        refused += 1
        assert isinstance(failure, CheckFailed) and failure.error == "ValueError"
        # A stop beyond the end that cuts nothing off is the only slice that is refused although its length is right.
        assert len(expected) != length or not -10 <= make(i).start < 10 or make(i).start < 0 <= make(i).stop
    assert right >= 3 and (refused or length == 0)


@pytest.mark.parametrize(
    "make",
    [
        lambda i: slice(i),
        lambda i: slice(i, None),
        lambda i: slice(1, i),
        lambda i: slice(i, 2 * i),
        lambda i: slice(i, i - 1),
        lambda i: slice(i, i + 11),
        lambda i: slice(i, None, 3),
        lambda i: slice(None, i, 4),
        lambda i: slice(i, None, -1),
        lambda i: slice(None, i, -1),
        lambda i: slice(i, 2, -2),
        lambda i: slice(None, -i, -3),
        lambda i: slice(-i, i, 2**62),
        lambda i: slice(2**62, i),
        lambda i: slice(i, -(2**62), -(2**61)),
    ],
)
@pytest.mark.parametrize("length", [0, 1, 2, 10])
def test_other_lengths_are_those_of_numpy(make, length):
    """Reading and writing with any bounds, including ones far outside."""
    x = np.arange(length) * 10
    for i in [*range(-14, 15), 2**61, -(2**61)]:

        def build(contents, index):
            view = compose(whole(length), make(Traced(index, weak=True)))
            part = get(view, contents)
            return part, put(view, contents, part + 1)

        actual, written = evaluate(build, x, np.int64(i))
        expected = x.copy()
        expected[make(i)] += 1
        assert np.array_equal(actual, x[make(i)]) and np.array_equal(written, expected)


def test_the_extremes_of_64_bits_are_bounds_like_others():
    x = np.arange(5)
    for first, last in itertools.product([-(2**63), 2**63 - 1, 0, 3], repeat=2):
        for step in (1, 2, -1, -2):

            def build(contents, i, j, step=step):
                return (get(compose(whole(5), slice(Traced(i), Traced(j), step)), contents),)

            (actual,) = evaluate(build, x, np.int64(first), np.int64(last))
            assert np.array_equal(actual, x[first:last:step])


def test_a_traced_step_must_be_static():
    with pytest.raises(NeedStatic) as need:
        evaluate(slice_of(lambda i: slice(None, None, i)), np.arange(10), np.int64(1))
    assert need.value.origins == {"i"}


def test_layout_decides_whether_a_reshape_is_a_view():
    reshape, ravel = declarations.of_method("reshape").of_view, declarations.of_method("ravel").of_view
    c, fortran = whole(3, 4), View.of((3, 4), I8, (1, 3))
    assert reshape(c, -1) is not None and reshape(fortran, -1) is None
    assert reshape(fortran, -1, order="F") is not None
    assert ravel(compose(c, (slice(None), slice(None, 2)))) is None
    assert reshape(compose(c, (slice(None), slice(None, 2))), 6) is None
    strided = compose(whole(6), slice(None, None, 2))
    assert ravel(strided) is None and reshape(strided, -1) is not None
    assert declarations.of(np.ascontiguousarray).of_view(fortran) is None
    with pytest.raises(CompileError, match="cannot reshape array of size 12 into shape"):
        reshape(c, 5)


@pytest.mark.parametrize(
    ("numpys", "args"),
    [
        (np.transpose, ()),
        (np.transpose, ((2, 0, 1),)),
        (np.swapaxes, (0, -1)),
        (np.moveaxis, (0, 2)),
        (np.rollaxis, (2,)),
        (np.flip, ()),
        (np.flip, ((0, 2),)),
        (np.fliplr, ()),
        (np.flipud, ()),
        (np.rot90, ()),
        (np.rot90, (3, (1, 2))),
        (np.expand_dims, ((0, 2),)),
        (np.atleast_3d, ()),
        (np.matrix_transpose, ()),
        (np.reshape, ((4, -1),)),
        (np.reshape, ((6, 4), "F")),
        (np.ravel, ()),
        (np.ravel, ("F",)),
        (np.broadcast_to, ((5, 2, 3, 4),)),
        (np.diagonal, ()),
        (np.diagonal, (-1, 2, 0)),
        (np.diagonal, (1, 1, 2)),
        (np.diagonal, (7,)),
        (np.asarray, ()),
        (np.real, ()),
    ],
)
@pytest.mark.parametrize("layout", ["C", "F"])
def test_functions_that_make_views(numpys, args, layout):
    base = np.array(np.arange(24).reshape(2, 3, 4), order=layout)
    expected = numpys(base, *args)
    view = declarations.of(numpys).of_view(View.of((2, 3, 4), I8, [s // 8 for s in base.strides]), *args)
    is_view = np.shares_memory(expected, base) or not expected.size
    assert (view is not None) == is_view
    if view is None:
        return
    assert view.readonly == (not expected.flags.writeable)
    (read,) = evaluate(lambda contents: (get(view, contents),), base)
    assert read.shape == expected.shape and np.array_equal(read, expected)
    if not view.readonly:
        target = base.copy(order="K")
        numpys(target, *args)[...] = -expected
        (written,) = evaluate(lambda contents, new: (put(view, contents, new),), base, -expected)
        assert np.array_equal(written, target)


def test_read_only_views_refuse_writes():
    view = declarations.of(np.broadcast_to).of_view(whole(3), (2, 3))
    with pytest.raises(StaticValueError, match="assignment destination is read-only"):
        evaluate(lambda contents, new: (put(view, contents, new),), np.arange(3), np.zeros((2, 3), int))


def test_index_of_a_zero_d_array_and_new_axes():
    x = np.array(5)
    for index in [(), Ellipsis, None, (None, None), (None, Ellipsis)]:
        (read,) = evaluate(lambda contents: (get(compose(whole(), index), contents),), x)
        assert np.array_equal(read, x[index]) and np.shape(read) == np.shape(x[index])
    nothing = compose(compose(whole(), None), slice(1, None))
    assert evaluate(lambda contents: (get(nothing, contents),), x)[0].shape == (0,)
