"""Everyday loops on float32 and uint8 arrays: the same result and dtype as in plain Python, and none is refused.

They begin with Python numbers, and add NumPy numbers.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import mlirad

f32 = np.linspace(0.1, 2, 8).astype(np.float32)
w32 = (2 * f32 + 1).astype(np.float32)
u8 = np.arange(0, 240, 10, dtype=np.uint8).reshape(4, 6)
i8 = np.array([3, -4, 100, -128, 7], np.int8)
mask = np.array([True, False, True, True])
PROGRAMS: list[tuple[Callable[..., Any], tuple[Any, ...]]] = []


def program(*args: Any) -> Callable[[Any], Any]:
    def noted(function: Any) -> Any:
        PROGRAMS.append((function, args))
        return function

    return noted


@program(f32)
def mean_tuple(x):
    s = (0, 0.0)
    for i in range(len(x)):
        s = (s[0] + 1, s[1] + x[i])
    return s[1] / s[0]


@program(f32)
def mean_tuple_int0(x):
    s = (0, 0.0)
    for i in range(len(x)):
        s = (s[0] + x[i], s[1] + x[i])
    return s[1] / len(x), s[0] * 0.1


@program(f32)
def mean_list(x):
    s = [0.0]
    for v in x:
        s[0] += v
    return s[0] / len(x)


@program(f32)
def mean_dict(x):
    s = {"t": 0.0, "n": 0}
    for v in x:
        s["t"] += v
        s["n"] += 1
    return s["t"] / s["n"]


@dataclass
class Acc:
    t: float = 0.0
    n: int = 0


@program(f32)
def mean_dc(x):
    a = Acc(0.0, 0)
    for v in x:
        a.t += v
        a.n += 1
    return a.t / a.n


@program(f32, 5)
def mean_range_n(x, n):
    s = 0.0
    for i in range(n):
        s += x[i]
    return s / n


@program(f32)
def mean_shape0(x):
    s = 0.0
    n = x.shape[0]
    for i in range(n):
        s += x[i]
    return s / n


@program(f32)
def running_max(x):
    best = x[0]
    for i in range(1, len(x)):
        if x[i] > best:
            best = x[i]
    return best


@program(f32)
def running_max_inf(x):
    best = -np.inf
    for v in x:
        if v > best:
            best = v
    return best, best * 2.0 + 1


@program(f32)
def running_max_bi(x):
    best = -np.inf
    for v in x:
        best = max(best, v)
    return best - 0.5


@program(f32)
def argmax(x):
    best, k = x[0], 0
    for i in range(len(x)):
        if x[i] > best:
            best, k = x[i], i
    return k, best


@program(f32)
def smoothing(x):
    s = x[0]
    a = 0.3
    out = np.zeros_like(x)
    for i in range(len(x)):
        s = a * x[i] + (1 - a) * s
        out[i] = s
    return out


@program(f32)
def smoothing0(x):
    s = 0.0
    out = np.empty_like(x)
    for i in range(len(x)):
        s = 0.9 * s + 0.1 * x[i]
        out[i] = s / (1 - 0.9 ** (i + 1))
    return out, s


@program(f32)
def normalise(x):
    eps = 1e-8
    m = 0.0
    for v in x:
        m += v
    m /= len(x)
    s = 0.0
    for v in x:
        s += (v - m) ** 2
    return (x - m) / (np.sqrt(s / len(x)) + eps)


@program(f32)
def count_above(x):
    c = 0
    for v in x:
        if v > 1:
            c += 1
    return c / len(x)


@program(mask)
def count_mask(mask):
    count = 0
    for i in range(len(mask)):
        count += mask[i]
    return count / len(mask)


@program(u8)
def sum_pixels_int(img):
    s = 0
    for v in img.ravel():
        s += int(v)
    return s / img.size


@program(u8, 100)
def threshold(img, t):
    out = np.zeros_like(img)
    for i in range(img.shape[0]):
        for j in range(img.shape[1]):
            out[i, j] = 255 if img[i, j] > t else 0
    return out, (img > t).astype(np.uint8) * 255, np.where(img > t, 255, 0), np.where(img > t, img, 0)


@program(f32)
def var_welford(x):
    m = 0.0
    m2 = 0.0
    n = 0
    for v in x:
        n += 1
        d = v - m
        m += d / n
        m2 += d * (v - m)
    return m, m2 / (n - 1)


@program(f32)
def dot_if(x):
    s = 0.0
    for v in x:
        if v > 1:
            s += v
    return s


@program(f32)
def dot_if_used(x):
    s = 0.0
    for v in x:
        if v > 1:
            s += v
    return s / len(x)


@program(f32)
def dot_if_used2(x):
    s = 0.0
    n = 0
    for v in x:
        if v > 1:
            s += v
            n += 1
    return s / n if n else 0.0


@program(f32)
def relu_loop(x):
    out = np.zeros_like(x)
    for i in range(len(x)):
        out[i] = x[i] if x[i] > 0.5 else 0.0
    return out


@program(f32)
def clip_loop(x):
    out = np.zeros_like(x)
    for i in range(len(x)):
        v = x[i]
        if v > 1:
            v = 1.0
        elif v < 0.5:
            v = 0.5
        out[i] = v * 2
    return out


@program(f32)
def momentum(x):
    v = np.zeros_like(x)
    lr = 0.1
    w = x.copy()
    for t in range(10):
        g = 2 * w
        v = 0.9 * v + g
        w = w - lr * v
    return w


@program(f32)
def adam(x):
    m = np.zeros_like(x)
    v = np.zeros_like(x)
    w = x.copy()
    for t in range(1, 10):
        g = 2 * w
        m = 0.9 * m + 0.1 * g
        v = 0.999 * v + 0.001 * g * g
        w = w - 0.01 * (m / (1 - 0.9**t)) / (np.sqrt(v / (1 - 0.999**t)) + 1e-8)
    return w


@program(f32)
def nested(x):
    A = np.outer(x, x)
    t = 0.0
    for i in range(8):
        s = 0.0
        for j in range(8):
            s += A[i, j] * x[j]
        t += s * x[i]
    return t / 2


@program(f32)
def trapz(x):
    t = 0.0
    for i in range(len(x) - 1):
        t += 0.5 * (x[i] + x[i + 1]) * 0.1
    return t


@program(f32, 1e-3)
def newton(x, tol):
    y = x[0]
    k = 0
    while abs(y * y - 2) > tol and k < 50:
        y = 0.5 * (y + 2 / y)
        k += 1
    return y, k


@program(f32)
def cumsum_loop(x):
    out = np.zeros_like(x)
    acc = 0
    for i, v in enumerate(x):
        acc += v
        out[i] = acc
    return out, acc / len(x)


@program(f32)
def list_acc(x):
    s = [0.0, 0.0]
    for v in x:
        s[0] += v
        s[1] += v * v
    n = len(x)
    m = s[0] / n
    return m, s[1] / n - m * m


@program(f32)
def list_len3(x):
    tot = [0] * 3
    for i in range(len(x)):
        tot[i % 3] += x[i]
    return tot[0] + tot[1]


@program(f32)
def minmax(x):
    lo, hi = np.inf, -np.inf
    for v in x:
        lo = min(lo, v)
        hi = max(hi, v)
    return (x - lo) / (hi - lo)


@program(f32)
def minmax_if(x):
    lo, hi = np.inf, -np.inf
    for v in x:
        if v < lo:
            lo = v
        if v > hi:
            hi = v
    return (x - lo) / (hi - lo)


@program(u8)
def imgmax(img):
    m = 0
    for r in range(img.shape[0]):
        for c in range(img.shape[1]):
            m = max(m, img[r, c])
    return m


@program(u8)
def imgmax_if(img):
    m = 0
    for r in range(img.shape[0]):
        for c in range(img.shape[1]):
            if img[r, c] > m:
                m = img[r, c]
    return img / m


@program(u8)
def gray(img):
    out = np.zeros(img.shape, np.float32)
    for i in range(img.shape[0]):
        for j in range(img.shape[1]):
            out[i, j] = img[i, j] / 255
    return out, img / 255.0, img.astype(np.float32) / 255


@program(u8)
def blur(img):
    out = np.zeros_like(img)
    for i in range(1, img.shape[0] - 1):
        for j in range(1, img.shape[1] - 1):
            s = 0
            for a in range(-1, 2):
                for b in range(-1, 2):
                    s += int(img[i + a, j + b])
            out[i, j] = s // 9
    return out


@program(u8)
def blur_wrap(img):
    out = np.zeros_like(img)
    for i in range(1, img.shape[0] - 1):
        for j in range(1, img.shape[1] - 1):
            s = 0
            for a in range(-1, 2):
                for b in range(-1, 2):
                    s += img[i + a, j + b]
            out[i, j] = s // 9
    return out


@program(u8)
def blur_float(img):
    out = np.zeros(img.shape)
    for i in range(1, img.shape[0] - 1):
        for j in range(1, img.shape[1] - 1):
            s = 0.0
            for a in range(-1, 2):
                for b in range(-1, 2):
                    s += img[i + a, j + b]
            out[i, j] = s / 9
    return out


@program(f32, 0.5)
def weighted(x, w):
    s = 0.0
    tw = 0.0
    for i in range(len(x)):
        s += w * x[i]
        tw += w
    return s / tw


@program(f32, 3)
def moving(x, k):
    out = np.zeros_like(x)
    for i in range(len(x) - k + 1):
        s = 0.0
        for j in range(k):
            s += x[i + j]
        out[i] = s / k
    return out


@program(f32, 3)
def moving3(x, k):
    out = np.zeros_like(x)
    for i in range(len(x) - k + 1):
        s = 0.0
        for j in range(k):
            s += x[i + j] * 0.5
        out[i] += s
    return out


@program(f32)
def horner(x):
    c = [0.5, 1.0, 2.0]
    out = np.zeros_like(x)
    for i in range(len(x)):
        r = 0.0
        for k in c:
            r = r * x[i] + k
        out[i] = r
    return out


@program(f32)
def prod(x):
    q = 1.0
    for v in x:
        q *= v
    return q ** (1 / len(x))


@program(f32)
def logsum(x):
    m = -np.inf
    for v in x:
        if v > m:
            m = v
    s = 0.0
    for v in x:
        s += np.exp(v - m)
    return m + np.log(s)


@program(f32)
def euler(x):
    y = (1.0, 0.0)
    dt = 0.01
    for v in x:
        y = (y[0] + dt * y[1], y[1] - dt * v * y[0])
    return y


@program(f32)
def kahan(x):
    s = 0.0
    c = 0.0
    for v in x:
        y = v - c
        t = s + y
        c = (t - s) - y
        s = t
    return s / len(x)


@program(i8)
def sum_i8(x):
    s = 0
    for v in x:
        s += int(v)
    return s / len(x)


@program(i8)
def sumf_i8(x):
    s = 0.0
    for v in x:
        s += v
    return s / len(x)


@program(f32)
def whil(x):
    i = 0
    s = 0.0
    while i < len(x):
        s += x[i]
        i += 1
    return s / len(x)


@program(f32)
def brk(x):
    s = 0.0
    for i in range(len(x)):
        s += x[i]
        if s > 3:
            break
    return s / (i + 1)


@program(f32, np.zeros(8, bool))
def masked(x, m):
    s = 0.0
    n = 0
    for i in range(len(x)):
        if m[i]:
            s += x[i]
            n += 1
    return s / max(n, 1)


def over_some(N):
    """Loops with an iteration count known only at run time."""

    @program(f32, N)
    def mean(x, n):
        s = 0.0
        for i in range(n):
            s += x[i]
        return s / n if n else 1.0

    @program(f32, N)
    def mean_t(x, n):
        s = (0, 0.0)
        for i in range(n):
            s = (s[0] + 1, s[1] + x[i])
        return s[1] / max(s[0], 1)

    @program(f32, w32, N + 1)
    def wmean(x, w, n):
        s = 0.0
        t = 0.0
        for i in range(n):
            s += x[i] * w[i]
            t += w[i]
        return s / t

    @program(f32, 0.3, N)
    def ema(x, a, n):
        s = 0.0
        out = np.zeros_like(x)
        for i in range(n):
            s = a * s + (1 - a) * x[i]
            out[i] = s
        return s, out

    @program(f32, 0.3, N)
    def scale(x, a, n):
        s = 0.0
        for i in range(n):
            s += x[i]
        return a * s, s * a, s * n

    @program(f32, 0.3, N)
    def scale_then_array(x, a, n):
        s = 0.0
        for i in range(n):
            s += x[i]
        return x * (a * s), x / (s * a + 1)

    @program(f32, N)
    def mean0(x, n):
        s = 0
        for i in range(n):
            s += x[i]
        return s / max(1, n)

    @program(f32, N)
    def brk(x, n):
        s = 0.0
        k = 0
        while True:
            s += x[k]
            k += 1
            if k >= n:
                break
        return s / k + 1e-8

    @program(f32, N)
    def brk_for(x, n):
        s = 0.0
        for i in range(8):
            s += x[i]
            if i >= n:
                break
        return s / (i + 1) + 1e-8

    @program(f32, N)
    def ret_for(x, n):
        s = [0.0]
        for i in range(8):
            s[0] += x[i]
            if i >= n:
                return s[0] * 0.1
        return s[0] / 8 + 1e-8

    @program(f32, N)
    def elsefor(x, n):
        s = {"a": 0.0}
        for i in range(n):
            s["a"] += x[i]
            if s["a"] > 3:
                r = s["a"] * 0.1
                break
        else:
            r = s["a"]
        return r


for count in (0, 1, 5):
    over_some(count)


def leaves(value: Any) -> list[Any]:
    return [leaf for item in value for leaf in leaves(item)] if isinstance(value, tuple | list) else [value]


def require_same(function: Callable[..., Any], args: tuple[Any, ...]) -> None:
    def copies() -> tuple[Any, ...]:
        return tuple(x.copy() if isinstance(x, np.ndarray) else x for x in args)

    with np.errstate(all="ignore"):
        wanted = function(*copies())
    for one, other in zip(leaves(wanted), leaves(mlirad.jit(function)(*copies())), strict=True):
        assert np.shape(one) == np.shape(other)
        np.testing.assert_allclose(other, one, rtol=2e-6, err_msg=function.__name__)
        if type(one) is not float or type(other) is not np.float32:  # a row of docs/deviations.md
            assert np.asarray(one).dtype == np.asarray(other).dtype, function.__name__


def test_some() -> None:
    for function, args in random.Random(3).sample(PROGRAMS, 5):
        require_same(function, args)


@pytest.mark.full
@pytest.mark.parametrize("number", range(len(PROGRAMS)))
def test_all(number) -> None:
    require_same(*PROGRAMS[number])
