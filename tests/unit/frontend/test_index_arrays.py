"""Index arrays against NumPy: values, shapes, side effects, refusals; and the ops that they are compiled to."""

from __future__ import annotations

import random

import numpy as np
import pytest
from run_frontend import call, is_same

import mlirad
from mlirad.dialect.ops.check import CheckFailed
from mlirad.errors import CompileError

INTEGERS = (np.int64, np.int32, np.int8, np.uint8, np.uint64)


def random_index(rng: random.Random, shape: tuple[int, ...]) -> tuple[tuple, list]:
    """An index that contains arrays, as source text with names i0, i1, ...; and those arrays."""
    spread = rng.choice([(2,), (3,), (2, 3), (1,), (0,)])
    entries: list[str] = []
    arrays: list[np.ndarray] = []
    has_array = False
    for axis, size in enumerate(shape):
        if rng.random() < 0.15:
            entries.append("None")
        kind = rng.random()
        last = axis == len(shape) - 1 and not has_array
        if kind < 0.5 or last:
            own = tuple(1 if rng.random() < 0.2 and 0 not in spread else length for length in spread)
            own = own[rng.randrange(len(own)) :] if rng.random() < 0.3 else own
            dtype = rng.choice(INTEGERS)
            low = 0 if np.dtype(dtype).kind == "u" else -size
            arrays.append(np.array([rng.randrange(low, size) for _ in range(int(np.prod(own)))], dtype).reshape(own))
            entries.append(f"i{len(arrays) - 1}" if rng.random() < 0.7 else repr(arrays.pop().tolist()))
            has_array = True
        elif kind < 0.65:
            entries.append(str(rng.randrange(-size, size)))
        elif kind < 0.75 and "..." not in entries:
            entries.append("...")
            entries += [":"] * rng.randrange(2)
            while sum(entry not in ("None", "...") for entry in entries) > axis + 1:
                entries.pop()
        else:
            entries.append(rng.choice([":", "::-1", "1:", "::2"]))
    return tuple(entries), arrays


def compiled_pair(body: str, names: str):
    """A function of these parameters with this body (NumPy is np)."""
    import linecache

    text = f"def f({names}):\n" + "".join(f"    {line}\n" for line in body.splitlines())
    name = f"<fancy {hash(text)}>"
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    space = {"np": np}
    exec(compile(text, name, "exec"), space)
    return space["f"]


@pytest.mark.parametrize("seed", range(120))
def test_random_indices(seed: int) -> None:
    rng = random.Random(seed)
    shape = tuple(rng.choice([2, 3, 4]) for _ in range(rng.randrange(1, 4)))
    x = np.arange(float(np.prod(shape))).reshape(shape) + 1
    entries, arrays = random_index(rng, shape)
    text = ", ".join(entries)
    names = ", ".join(["x", *(f"i{n}" for n in range(len(arrays)))])
    f = compiled_pair(
        f"y = x[{text}]\nx[{text}] += 1\nx[{text}] = 3 * y\nx[{text}] *= np.arange(y.shape[-1])\nreturn y", names
    )
    mine, its = x.copy(), x.copy()
    try:
        expected = f(its, *arrays)
    except IndexError:
        with pytest.raises((CheckFailed, CompileError, IndexError)):
            call(f, mine, *arrays)
        return
    assert is_same(call(f, mine, *arrays), expected), text
    assert is_same(mine, its), text


@pytest.mark.parametrize("size", [0, 1, 3])
def test_ranges_are_index_arrays(size: int) -> None:
    def f(x, n):
        y = x * 2.0
        y[range(2), range(2)] = x[range(2), [1, 0]]
        y[range(2, -1, -2)] += 1.0
        return y, x[range(n)], x[range(3), range(0, 6, 2)[:3]] if n == 3 else x[0]

    x = np.arange(18.0).reshape(3, 6)
    for found, wanted in zip(mlirad.jit(f)(x, size), f(x, size), strict=True):
        np.testing.assert_array_equal(found, wanted)
