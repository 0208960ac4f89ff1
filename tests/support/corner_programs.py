"""The corner programs: Python and NumPy where they surprise. Each is its own oracle.

`CASES` has, for each program, the arguments it is called with; a program that is refused says with which error.
"""

# Names that are bound on some paths only are what some of these programs are about.
# pyright: reportPossiblyUnboundVariable=false

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mlirad.errors import DTypeError, ShapeError, UnsupportedSyntaxError

X = np.array([1.0, 2.0, 3.0, 4.0, 5.0])
M = np.arange(12.0).reshape(3, 4)
S = np.arange(9.0).reshape(3, 3)
nan = np.nan


@dataclass(frozen=True)
class Case:
    function: Callable[..., Any]
    arguments: tuple[tuple[Any, ...], ...]
    refused: type[Exception] | None = None


def shift_self(x):
    x[1:] += x[:-1]
    return x.sum()


def shift_back(x):
    x[:-1] = x[1:]
    x[::-1][1:] *= x[1:]
    return x[0]


def reverse_in_place(x):
    x[:] = x[::-1]
    return x[0]


def row_handle(m, i):
    r = m[i]
    r *= 2
    r[1:][0] = -1
    m[i] = r
    return m.sum()


def scalar_is_copy(x):
    s = x[0]
    s += 10
    x[0] = 7
    return s, x[0]


def zero_d_is_array(x):
    s = x[0, ...]
    s += 10
    t = x.sum()
    u = t
    u += 1
    return s + 0, x[0], t, u


def rebind_or_write(x, c):
    y = x
    if c > 0:
        y = y + 1
    else:
        y += 1
    y[0] = 100
    return y, x


def branch_view(x, y, c):
    v = x[1:4] if c > 0 else y[::2]
    v[0] = 7
    v += v[::-1]
    return v.sum(), x[1], y[0]


def swap_loop(a, b, n):
    for _ in range(n):
        b[1:-1] = (a[:-2] + a[2:]) / 2
        a, b = b, a
    return a


def swap_by_temp_rows(m, i, j):
    t = m[i].copy()
    m[i] = m[j]
    m[j] = t
    s = m[0]
    m[0] = m[2]
    m[2] = s
    return m


def tuple_swap_rows(m):
    m[0], m[1] = m[1], m[0]
    return m


def fancy_swap(m, i, j):
    m[[i, j]] = m[[j, i]]
    return m


def aliased_pair_loop(x, n):
    p = x
    q = x
    for i in range(n):
        r = p + 0.5 * q
        q = p
        p = r
        q[0] += 1
    return p + q


def best_so_far(x, y, t):
    best = x
    for i in range(len(y)):
        if y[i] > t:
            best = y * i
            t += 1
    best[0] = -1
    return best


def view_moves(x):
    v = x[0:2]
    for i in range(1, 4):
        v[0] += i
        v = x[i : i + 2]
    v[1] = 100
    return v


def flip_in_loop(x, n):
    v = x
    for i in range(n):
        v = v[::-1]
        v[0] += i + 1
    return v


def loop_over_rows(m, y):
    for i, (r, v) in enumerate(zip(m, y)):
        r *= v
        m[2, i] = -1
    return m


def loop_sees_writes(x):
    s = 0
    for v in x:
        x[4] += v
        s += v
    return s


def iterate_rebound(x):
    s = 0
    for v in x:
        x = x * 2
        s += v
    return s, x


def bounds_once(x, n):
    c = 0
    for i in range(n):
        n = n - 1
        i = i * 2
        c += i
    return c, n


def else_break(x, t):
    for i in range(5):
        if x[i] > t:
            k = i
            break
    else:
        k = -1
    return k


def while_else_continue(x, t):
    i = 0
    s = 0.0
    while i < 5:
        i += 1
        if x[i - 1] < t:
            continue
        s += x[i - 1]
        if s > 6:
            break
    else:
        s = -s
    return s, i


def nested_return(m, t):
    for i in range(3):
        for j in range(4):
            if m[i, j] > t:
                return i * 10 + j
            m[i, j] = -1
    return -1


def only_one_branch(x, c):
    if c > 1:
        t = x * 2
    if c > 0:
        return t.sum()
    return 0.0


def loop_defines(x, n):
    for i in range(n):
        last = x[i] * 2
    return last, i


def int_then_float(x):
    s = 0
    k = 1
    for i in range(3):
        s += x[i] * k
        k = k + 0.5
    return s, k


def number_then_array(m):
    t = 0
    for i in range(3):
        t += m[i]
    return t


def shrinking(x):
    n = 4
    while n > 1:
        n //= 2
        x = x[:n] + x[n : 2 * n]
    return x[0]


def triangle(a):
    for i in range(3):
        for j in range(i):
            a[i, j] -= a[i, :j] @ a[j, :j]
    return a


def shape_arg(x, n):
    y = np.zeros(n)
    for i in range(n):
        y[i] = x[i]
    return y


def helper_writes_helper(v, s):
    v[0] = s
    v = v * 2
    v[1] = 99
    return v


def helper_writes(x):
    y = helper_writes_helper(x[1:], 7)
    return y, x


def read_order_helper(v):
    v[0] = 100
    return 1


def read_order(x):
    y = x[0] + read_order_helper(x)
    x[0] += read_order_helper(x)
    z = x + read_order_helper(x)
    x[read_order_helper(x)] = x[0] + 1
    return y, z


def slot_evaluated_once(x):
    k = 0

    def nxt():
        nonlocal k
        k += 1
        return k

    x[nxt()] += 10
    return k


def late_binding(x):
    k = 1
    g = lambda v: v * k
    a = g(x[1])
    for k in range(3):
        h = lambda v: v + k
    return a, g(x[1]), h(x[0])


def default_binds_now(x):
    k = 2
    g = lambda v, k=k: v * k
    k = 5
    return g(x[1])


def list_rotate(x, n):
    l = [x, x * 2]
    for i in range(n):
        l[0], l[1] = l[1] + 1, l[0]
    l[0][0] = 5
    return l[0], l[1]


def list_shared(x):
    l = [x] * 2
    k = l
    k[0] = x + 1
    l[1][0] = 9
    l += [x]
    return k[0], k[1], len(k)


def tuple_carried(x):
    s = (0, 1.0)
    for v in x:
        s = (s[0] + v, s[1] * 2)
    return s


def and_or_values(x, y):
    return x or y, x and y, not x, (x and y) or 3.5


def short_circuit_guards(x, i):
    if i < 5 and x[i] > 2:
        return x[i]
    return -1.0


def chain_once(x):
    c = 0

    def g(v):
        nonlocal c
        c += 1
        return v

    r = 0 < g(x[0]) < g(x[1]) < 1.5 < g(x[2])
    return r, c


def truth_of_array(x):
    if x > 0:
        return 1
    return 0


def chained_array(x):
    return 0 < x < 3


def one_element_truth(x):
    if x[:1] > 0:
        return 1
    return 0


def cast_on_store(z, x):
    z[0] = 2.7
    z[1:3] = -x[1:3] * 1.6
    z[3] += 0.5
    return z


def cast_in_place(z):
    z += 0.5
    return z


def divide_in_place(z):
    z[1:] /= 2
    return z


def broadcast_store(m, x):
    m[:] = x[:4]
    m[:, 1:3] = x[:3, None]
    m[0] = m[1:2]
    return m


def grow_in_place(x, m):
    x += m
    return x


def neg_steps(x, m):
    x[::-2] = m[0, :3]
    x[4:1:-1] += x[2:5]
    m[::-1, ::2][0] = 5
    return x, m


def transposed_store(m):
    m.T[1:, 0] = 5
    m.T[0] += 1
    np.swapaxes(m, 0, 1)[2][1] = 8
    return m.T


def reshape_view_copy(m):
    m.reshape(-1)[1] = 55
    m.ravel()[2] += 3
    m.T.reshape(-1)[0] = 77
    m.flatten()[3] = 66
    m[:, :2].reshape(6)[0] = 88
    m[1:].reshape(2, 2, 2)[0, 1, 0] = 99
    return m


def fancy_temp(x, i):
    x[i][0] = 5
    x[i] += 1
    np.add.at(x, i, 10)
    x[i] = x[i[::-1]]
    return x


def mask_store(x, y):
    x[x > 2] = 0
    x[y > 3] *= -1
    x[x < 0] += 0.5
    return x


def negative_traced(x, i):
    x[i] = 9
    return x[i - 1], x[-i]


def int_ops(i, j):
    return i // j, i % j, -i // j, (-i) % j


def float_ops(a, b):
    return a // b, a % b, -a // b, (-a) % b


def neg_power(i, j):
    return i**j


def neg_power_array(z):
    return z**-1


def range_steps(n, s):
    c = 0
    for i in range(n, 0, s):
        c = c * 10 + i
    return c


def float_range(a):
    s = 0
    for i in range(a):
        s += i
    return s


def shadowed(x):
    sum = 0.0
    max = x[0]
    for len in x:
        sum += len
        if len > max:
            max = len
    abs = lambda v: v + 1
    return sum, max, abs(-3.0)


def maxmin_nan(a, b):
    return max(a, b), min(a, b), max(b, a)


def builtin_sum_rows(m):
    return sum(m), sum(r[0] for r in m), [r.sum() for r in m]


def overflow_wrap(z):
    z *= 2**62
    return z.sum()


def f32_stays(x):
    s = x[0] * 1.5
    for i in range(3):
        s = s + 0.1
    return s, x * 2 + 1.5


def unequal_unpack(m):
    a, b, c = m
    a += c
    (d, e), g = (a[0], b[1]), c[2]
    return d, e, g


def same_array_twice_helper(a, b):
    a[0] = 5
    b[1:] += a[:-1]
    return b[0]


def same_array_twice(x):
    return same_array_twice_helper(x, x)


def dead_error(x, n):
    if n > 10:
        return x[7]
    return x[0]


def loop_zero_trip(x, n):
    y = x
    for i in range(n):
        y = y * 2
    y[0] = 9
    return y


def out_kw(x, y):
    np.multiply(x, 2, out=y)
    np.add(x[1:], x[:-1], out=x[1:])
    return x


def static_flag_changes(x, n):
    mode = "a"
    s = 0.0
    for i in range(n):
        if mode == "a":
            s += x[i]
        mode = "b" if mode == "a" else "a"
    return s


def append_traced(x, t):
    l = []
    for i in range(5):
        if x[i] > t:
            l.append(x[i])
    return len(l)


def append_static(x):
    l = []
    for i in range(4):
        l.append(x[i] * i)
    return np.array(l)


def none_until_set(x):
    prev = None
    s = 0.0
    for v in x:
        if prev is not None:
            s += v - prev
        prev = v
    return s


def mixed_return(x, c):
    if c > 0:
        return x
    return 0.0


def recursive_static_helper(x, d):
    if d == 0:
        return x
    return recursive_static_helper(x * 2, d - 1) + 1


def recursive_static(x):
    return recursive_static_helper(x, 3)


def recursive_traced_helper(n):
    if n <= 1:
        return 1.0
    return n * recursive_traced_helper(n - 1)


def recursive_traced(n):
    return recursive_traced_helper(n)


def if_swaps(a, b, c):
    if c > 0:
        a, b = b, a
    a[0] = 50
    b += a
    return a[1], b[1]


def assign_in_cond(x):
    i = 0
    while (y := x[i]) < 3.5:
        i += 1
    return i, y


def cond_writes_helper(v):
    v[0] += 1
    return v[0] < 5


def cond_writes(x):
    n = 0
    while cond_writes_helper(x):
        n += 1
    return n


def while_true(x):
    k = 0
    while True:
        y = x[k] * 2
        if y > 5:
            break
        k += 1
    return y, k


def break_in_else(x, t):
    k = 0
    for i in range(5):
        for j in range(2):
            k += 1
        else:
            if x[i] > t:
                break
            k += 10
            continue
        k += 100
    return k


def flip_in_loop_copied(x, n):
    v = x
    for i in range(n):
        v = v[::-1]
        v[0] += i + 1
    return v.copy()


def view_moves_copied(x):
    v = x[0:2]
    for i in range(1, 4):
        v[0] += i
        v = x[i : i + 2]
    v[1] = 100
    return v.copy()


def transposed_store_copied(m):
    m.T[1:, 0] = 5
    m.T[0] += 1
    np.swapaxes(m, 0, 1)[2][1] = 8
    return m.T.copy()


def mask_store_numbers(x, y):
    x[x > 2] = 0
    x[y > 3] = -1
    return x


def else_in_nested(x, t):
    k = 0
    for i in range(3):
        for j in range(3):
            if x[j] > t + i:
                k += 10 * i + j
                break
        else:
            k -= 1
    return k


def lists_of_arrays(l, c):
    l[0] += 1
    l[1][c] *= 3
    return l[0] + l[1]


def layouts(m):
    a = np.where(m.T > 3, m.T, 0.0)
    b = m.T.copy()
    b.reshape(-1)[0] = 7
    c = (m.T @ m).reshape(-1)
    c[0] = 5
    d = m.T.astype(np.float32)
    return a + b, c, d


def fields(p, c):
    if c > 0:
        q = {"a": p["a"] * 2, "b": p["b"]}
    else:
        q = {"a": p["b"], "b": p["a"]}
    q["a"][0] = 7
    return q["a"] + q["b"]


def f_ordered(m):
    v = m.T.reshape(-1)
    v[0] = 9
    w = (m.T * 1).ravel()
    w[0] = 8
    return m[0, 0], v.copy(), w


CASES = [
    Case(shift_self, ((X,),)),
    Case(shift_back, ((X,),)),
    Case(reverse_in_place, ((X,),)),
    Case(
        row_handle,
        (
            (
                M,
                1,
            ),
            (
                M,
                -1,
            ),
            (
                M,
                3,
            ),
        ),
    ),
    Case(scalar_is_copy, ((X,),)),
    Case(zero_d_is_array, ((X,),)),
    Case(
        rebind_or_write,
        (
            (
                X,
                1.0,
            ),
            (
                X,
                -1.0,
            ),
        ),
    ),
    Case(
        branch_view,
        (
            (
                X,
                np.array([10.0, 20.0, 30.0, 40.0, 50.0]),
                1.0,
            ),
            (
                X,
                np.array([10.0, 20.0, 30.0, 40.0, 50.0]),
                -1.0,
            ),
        ),
    ),
    Case(
        swap_loop,
        (
            (
                X,
                np.array([0.0, 0.0, 0.0, 0.0, 0.0]),
                0,
            ),
            (
                X,
                np.array([0.0, 0.0, 0.0, 0.0, 0.0]),
                1,
            ),
            (
                X,
                np.array([0.0, 0.0, 0.0, 0.0, 0.0]),
                2,
            ),
            (
                X,
                np.array([0.0, 0.0, 0.0, 0.0, 0.0]),
                3,
            ),
        ),
    ),
    Case(
        swap_by_temp_rows,
        (
            (
                M,
                0,
                1,
            ),
            (
                M,
                2,
                2,
            ),
        ),
    ),
    Case(tuple_swap_rows, ((M,),)),
    Case(
        fancy_swap,
        (
            (
                M,
                0,
                2,
            ),
        ),
    ),
    Case(
        aliased_pair_loop,
        (
            (
                X,
                0,
            ),
            (
                X,
                1,
            ),
            (
                X,
                2,
            ),
            (
                X,
                5,
            ),
        ),
    ),
    Case(
        best_so_far,
        (
            (
                X,
                X,
                9.0,
            ),
            (
                X,
                X,
                2.0,
            ),
        ),
    ),
    Case(view_moves, ((X,),)),
    Case(
        flip_in_loop,
        (
            (
                X,
                0,
            ),
            (
                X,
                1,
            ),
            (
                X,
                2,
            ),
            (
                X,
                3,
            ),
        ),
    ),
    Case(
        loop_over_rows,
        (
            (
                M,
                X,
            ),
        ),
    ),
    Case(loop_sees_writes, ((X,),)),
    Case(iterate_rebound, ((X,),)),
    Case(
        bounds_once,
        (
            (
                X,
                4,
            ),
            (
                X,
                0,
            ),
        ),
    ),
    Case(
        else_break,
        (
            (
                X,
                2.0,
            ),
            (
                X,
                9.0,
            ),
        ),
    ),
    Case(
        while_else_continue,
        (
            (
                X,
                2.0,
            ),
            (
                X,
                4.5,
            ),
            (
                X,
                9.0,
            ),
        ),
    ),
    Case(
        nested_return,
        (
            (
                M,
                5.0,
            ),
            (
                M,
                50.0,
            ),
        ),
    ),
    Case(
        only_one_branch,
        (
            (
                X,
                2.0,
            ),
            (
                X,
                0.5,
            ),
            (
                X,
                -1.0,
            ),
        ),
    ),
    Case(
        loop_defines,
        (
            (
                X,
                3,
            ),
            (
                X,
                0,
            ),
        ),
    ),
    Case(int_then_float, ((X,),)),
    Case(number_then_array, ((M,),)),
    Case(shrinking, ((X,),)),
    Case(triangle, ((S,),)),
    Case(
        shape_arg,
        (
            (
                X,
                3,
            ),
            (
                X,
                0,
            ),
        ),
    ),
    Case(helper_writes, ((X,),)),
    Case(read_order, ((X,),)),
    Case(slot_evaluated_once, ((X,),)),
    Case(late_binding, ((X,),)),
    Case(default_binds_now, ((X,),)),
    Case(
        list_rotate,
        (
            (
                X,
                0,
            ),
            (
                X,
                1,
            ),
            (
                X,
                2,
            ),
            (
                X,
                3,
            ),
        ),
    ),
    Case(list_shared, ((X,),)),
    Case(tuple_carried, ((X,),)),
    Case(
        and_or_values,
        (
            (
                0.0,
                2.0,
            ),
            (
                3.5,
                2.0,
            ),
            (
                1.5,
                0.0,
            ),
        ),
    ),
    Case(
        short_circuit_guards,
        (
            (
                X,
                3,
            ),
            (
                X,
                9,
            ),
        ),
    ),
    Case(chain_once, ((X,),)),
    Case(truth_of_array, ((X,),), ValueError),
    Case(chained_array, ((X,),), ValueError),
    Case(one_element_truth, ((X,),)),
    Case(
        cast_on_store,
        (
            (
                np.array([0, 1, 2, 3, 4]),
                X,
            ),
        ),
    ),
    Case(cast_in_place, ((np.array([0, 1, 2, 3, 4]),),), DTypeError),
    Case(divide_in_place, ((np.array([0, 1, 2, 3, 4]),),), DTypeError),
    Case(
        broadcast_store,
        (
            (
                M,
                X,
            ),
        ),
    ),
    Case(
        grow_in_place,
        (
            (
                np.array([1.0, 1.0, 1.0, 1.0]),
                M,
            ),
        ),
        ShapeError,
    ),
    Case(
        neg_steps,
        (
            (
                X,
                M,
            ),
        ),
    ),
    Case(transposed_store, ((M,),)),
    Case(reshape_view_copy, ((M,),)),
    Case(
        fancy_temp,
        (
            (
                X,
                np.array([1, 1, 3]),
            ),
        ),
    ),
    Case(
        mask_store,
        (
            (
                X,
                X,
            ),
        ),
    ),
    Case(
        negative_traced,
        (
            (
                X,
                2,
            ),
            (
                X,
                -2,
            ),
            (
                X,
                5,
            ),
            (
                X,
                7,
            ),
        ),
    ),
    Case(
        int_ops,
        (
            (
                7,
                2,
            ),
            (
                7,
                -2,
            ),
            (
                -7,
                3,
            ),
            (
                7,
                0,
            ),
        ),
    ),
    Case(
        float_ops,
        (
            (
                7.5,
                2.0,
            ),
            (
                7.5,
                -2.0,
            ),
        ),
    ),
    Case(
        neg_power,
        (
            (
                2,
                3,
            ),
            (
                2,
                -1,
            ),
        ),
    ),
    Case(neg_power_array, ((np.array([1, 2, 3]),),), ValueError),
    Case(
        range_steps,
        (
            (
                5,
                -2,
            ),
            (
                5,
                1,
            ),
            (
                5,
                -1,
            ),
            (
                5,
                0,
            ),
        ),
    ),
    Case(float_range, ((2.0,),), DTypeError),
    Case(shadowed, ((X,),)),
    Case(
        maxmin_nan,
        (
            (
                nan,
                1.0,
            ),
            (
                1.0,
                2.0,
            ),
        ),
    ),
    Case(builtin_sum_rows, ((M,),)),
    Case(overflow_wrap, ((np.array([0, 1, 2, 3, 4]),),)),
    Case(f32_stays, ((np.array([0.0, 1.0, 2.0], np.float32),),)),
    Case(unequal_unpack, ((M,),)),
    Case(same_array_twice, ((X,),)),
    Case(
        dead_error,
        (
            (
                X,
                1,
            ),
            (
                X,
                11,
            ),
        ),
    ),
    Case(
        loop_zero_trip,
        (
            (
                X,
                0,
            ),
            (
                X,
                2,
            ),
        ),
    ),
    Case(
        out_kw,
        (
            (
                X,
                X,
            ),
        ),
    ),
    Case(
        static_flag_changes,
        (
            (
                X,
                4,
            ),
        ),
    ),
    Case(
        append_traced,
        (
            (
                X,
                2.0,
            ),
        ),
    ),
    Case(append_static, ((X,),)),
    Case(none_until_set, ((X,),)),
    Case(
        mixed_return,
        (
            (
                X,
                1.0,
            ),
        ),
        UnsupportedSyntaxError,
    ),
    Case(recursive_static, ((X,),)),
    Case(recursive_traced, ((5,),)),
    Case(
        if_swaps,
        (
            (
                X,
                np.array([2.0, 4.0, 6.0, 8.0, 10.0]),
                1.0,
            ),
            (
                X,
                np.array([2.0, 4.0, 6.0, 8.0, 10.0]),
                -1.0,
            ),
        ),
    ),
    Case(assign_in_cond, ((X,),)),
    Case(cond_writes, ((X,),)),
    Case(while_true, ((X,),)),
    Case(
        break_in_else,
        (
            (
                X,
                2.0,
            ),
            (
                X,
                9.0,
            ),
        ),
    ),
    Case(flip_in_loop_copied, ((X, 0), (X, 1), (X, 2), (X, 3))),
    Case(view_moves_copied, ((X,),)),
    Case(transposed_store_copied, ((M,),)),
    Case(mask_store_numbers, ((X, X),)),
    Case(else_in_nested, ((X, 2.0), (X, 9.0))),
    Case(lists_of_arrays, (([X, X + 1], 1),)),
    Case(layouts, ((M,),)),
    Case(fields, (({"a": X, "b": X + 1}, 1.0), ({"a": X, "b": X + 1}, -1.0))),
    Case(f_ordered, ((M,), (np.asfortranarray(M),))),
]

# A number that is a Python float on one path and a NumPy float64 on another, both exactly, is a NumPy one on both; one
# that a loop makes a float is a float also after no trip.
JOINED_NUMBERS = (while_else_continue, only_one_branch, short_circuit_guards)
