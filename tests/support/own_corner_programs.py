"""More corner programs, of our own: control flow, aliasing, scalars, closures and containers, in mixtures.

`CASES` as in corner_programs.
"""

# Names that are bound on some paths only are what some of these programs are about.
# pyright: reportPossiblyUnboundVariable=false

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from corner_programs import Case

from mlirad.errors import UnsupportedSyntaxError

X = np.array([1.0, 2.0, 3.0, 4.0, 5.0])
Y = np.array([0.5, -1.5, 2.5, -3.5, 4.5])
M = np.arange(12.0).reshape(3, 4)


class Pair(NamedTuple):
    first: Any
    second: Any


@dataclass
class State:
    place: Any
    speed: Any
    steps: int = 0


def return_from_two_loops(x, t):
    for i in range(len(x)):
        for j in range(i, len(x)):
            if x[i] * x[j] > t:
                return x[i] + 10 * x[j]
            x[j] += 0.25
    return x[0]


def break_else_continue(x, t):
    found = -1.0
    for i in range(len(x)):
        if x[i] < 0:
            continue
        k = i
        while k > 0:
            if x[k] - x[k - 1] > t:
                break
            k -= 1
        else:
            found = x[i] * 2
            continue
        if k == 2:
            break
        found += x[k]
    return found


def loop_variable_survives(x, n):
    for i in range(n):
        x[i] *= 2
    return i, x[i]


def loop_variable_rebound(x):
    total = 0.0
    for i in range(len(x)):
        total += x[i]
        i = i * 2
        total += i
    return total, i


def bound_is_read_once(x, n):
    for i in range(n):
        n = n - 1
        x[i] += n
    return n, x.sum()


def negative_step_of_argument(x, step):
    total = 0.0
    for i in range(4, -1, step):
        total = total * 2 + x[i]
    return total


def while_with_walrus(x):
    i, total = 0, 0.0
    while (value := x[i]) < 4.0:
        total += value
        i += 1
    return total, value


def chained_comparisons(x, a, b):
    count = 0
    for i in range(len(x)):
        if a < x[i] <= b != 2.0:
            count += 1
            x[i] = -x[i]
    return count


def short_circuit_writes(x, y):
    def changed(array, i):
        array[i] += 1.0
        return array[i] > 2.0

    hits = 0
    for i in range(len(x)):
        if (changed(x, i) and changed(y, i)) or not changed(y, 0):
            hits += 1
    return hits


def value_of_and_or(x, t):
    return (x[0] and x[1]) + (x[2] or t)


def either_of_two_types(x, t):
    return ((x[2] > t) and x[3]) or x[4]


def conditional_expressions_nest(x, t):
    return x[0] if t > 1 else (x[1:3].sum() if t > 0 else -x[4])


def early_return_in_helper(x, t):
    def find(values, limit):
        for i in range(len(values)):
            if values[i] > limit:
                return i
        return -1

    k = find(x, t)
    if k < 0:
        return -1.0
    x[k] = 0.0
    return x.sum() + k


def view_of_view_of_view(x):
    v = x[::-1]
    w = v[1:4]
    u = w[::2]
    u += 10.0
    w[1] = -1.0
    return v * 1.0


def view_outlives_rebinding(x):
    v = x[1:3]
    x = x * 2.0
    v[0] = 100.0
    return x, v[0]


def transposed_row(m):
    t = m.T
    row = t[1]
    row -= 1.0
    m[1] = row.sum()
    return row.sum(), t[0, 1]


def reshaped_view(m):
    flat = m.reshape(-1)
    flat[5] = -1.0
    m[0] += flat[4:8]
    return flat.sum()


def swap_elements(x, i, j):
    x[i], x[j] = x[j], x[i]
    return x[0] - x[4]


def rotate_three(a, b, c, n):
    for _ in range(n):
        a, b, c = b, c, a
        a[0] += 1.0
    return a + 2 * b + 3 * c


def conditional_alias(x, y, n):
    p = x
    for i in range(n):
        if x[i] > y[i]:
            p = y
        p[i] += 0.5
    p[0] = -2.0
    return x[0] + 10 * y[0]


def helper_returns_view(x, k):
    def tail(array, start):
        return array[start:]

    t = tail(x, 2)
    t[:] = t[::-1] * k
    return t[0]


def helper_swaps_its_names(x, y):
    def work(a, b):
        a, b = b, a
        a[0] = 50.0
        return b

    r = work(x, y)
    r[1] = 60.0
    return x.sum() - y.sum()


def augmented_makes_new_for_scalars(x):
    a = x[0]
    b = a
    b += 5.0
    return a, b


def augmented_slice_of_slice(x):
    x[1:][:2] *= 3.0
    x[:3][1] -= 1.0
    return x


def assigns_to_itself(x):
    x[:] = x
    x[1:3] = x[2:4]
    x += x
    return x


def update_while_iterating(x):
    total = 0.0
    for value in x:
        total += value
        x[4] = total
    return total


def enumerate_and_zip(x, y):
    total = 0.0
    for k, (a, b) in enumerate(zip(x, y[::-1], strict=True)):
        total += k * a * b
        y[k] = a
    return total


def reversed_rows(m):
    total = m[0] * 0.0
    for row in reversed(m):
        total = total * 0.5 + row
        row[0] = total[0]
    return total


def list_of_arrays_in_loop(x, n):
    parts = [x * 1.0, x * 2.0]
    for _ in range(n):
        parts[0] += parts[1]
        parts[0], parts[1] = parts[1], parts[0]
    return parts[0].sum() - parts[1][0]


def list_alias(x):
    a = [x, x * 2.0]
    b = a
    b[0] = b[1]
    a[1] = a[1] + 1.0
    return b[0][0] + b[1][0]


def dict_of_state(x, n):
    state = {"place": x * 1.0, "speed": np.zeros(len(x)), "time": 0.0}
    for _ in range(n):
        state["speed"] -= 0.1 * state["place"]
        state["place"] = state["place"] + 0.1 * state["speed"]
        state["time"] += 0.1
    return state["place"], state["time"]


def dataclass_in_loop(x, n):
    s = State(x * 1.0, x * 0.0)
    for _ in range(n):
        s.speed = s.speed - 0.1 * s.place
        s.place += 0.1 * s.speed
        s.steps += 1
    return s.place.sum() * s.steps


def dataclass_replaced(x, t):
    s = State(x, 1.0)
    if x[0] > t:
        s = replace(s, speed=2.0)
    else:
        s.speed = 3.0
    s.place[0] *= s.speed
    return s.speed


def named_tuple_in_loop(x, n):
    p = Pair(x[0], x[1])
    for _ in range(n):
        p = Pair(p.second, p.first + p.second)
    return p


def tuple_of_mixed_kinds(x, n):
    state = (0, 1.0, x * 1.0)
    for _ in range(n):
        k, s, a = state
        state = (k + 1, s * 0.5, a + s)
    return state


def closure_reads_late(x):
    factor = 2.0

    def scaled(i):
        return factor * x[i]

    a = scaled(0)
    factor = 3.0
    return a, scaled(0)


def closures_over_loop_variable(x):
    functions = [lambda k=k: x[k] * 10.0 for k in range(3)]
    late = [lambda: x[k] for k in range(3)]
    return functions[0]() + functions[2](), late[0]()


def nonlocal_counter(x, t):
    count = 0

    def see(value):
        nonlocal count
        if value > t:
            count += 1
        return count

    last = 0
    for value in x:
        last = see(value)
    return last, count


def function_argument(x, n):
    def repeat(f, value, times):
        for _ in range(times):
            value = f(value)
        return value

    return repeat(lambda v: v * 0.5 + 1.0, x, n), repeat(np.sqrt, x[0], 2)


def chosen_function(x, t):
    f = np.sin if t > 0 else np.cos
    return f(x[0])


def default_argument(x):
    def f(a, b=x[0] * 2, *rest, c=1.0, **others):
        return a + b + sum(rest) * c + others.get("d", 0.0)

    return f(1.0), f(1.0, 2.0, 3.0, 4.0, c=0.5, d=x[1])


def int_becomes_float(x, n):
    s = 0
    for i in range(n):
        s += x[i]
    return s * 1.0


def bool_is_carried(x, t):
    seen = False
    for value in x:
        seen = seen or value > t
    return seen


def numpy_ints_wrap(n):
    k = np.int64(2) ** 62
    for _ in range(n):
        k = k * np.int64(2)
    return k


def f32_and_python_floats(x):
    y = x * 0.1
    y += 1
    y[0] = 2.5
    return y, x[0] * 2


def integer_division(i, j):
    return i // j, i % j, (-i) // j, (-i) % j, divmod(i, -j)


def integer_power(i, x):
    return i**2, x**i, x**-1, 2.0**i


def zero_d_in_loop(x, n):
    total = np.zeros(())
    for i in range(n):
        total += x[i]
    return total


def empty_array(x):
    e = x[2:2]
    return e.sum(), e.shape[0], (e * 2.0).sum()


def ellipsis_and_newaxis(m):
    a = m[..., None]
    a[0, 1, 0] = 5.0
    b = m[None, 1]
    return b[0, 2] + a.shape[2] + m[..., 1].sum()


def negative_indices(x, k):
    x[-1] += x[-k]
    x[-k:] *= 2.0
    return x[-2]


def out_of_range_in_a_branch_not_taken(x, k):
    return x[k] if k < len(x) else -1.0


def maybe_bound_array(x, t):
    if x[0] > t:
        y = x * 2.0
    if t < 0.0:
        y[0] += 1.0
        return y.sum()
    return 0.0


def deleted_name(x):
    y = x * 2.0
    del y
    y = 3.0
    return x[0] * y


def deleted_in_a_loop(x, n):
    y = x[0]
    for i in range(n):
        if i == 2:
            del y
    return y


def assertion(x, t):
    assert t > 0, "t must be positive"
    return x[0] / t


def raises_on_a_path(x, k):
    if k > 3:
        raise ValueError("k is too large")
    return x[k]


def unpacks_a_star(x):
    first, *middle, last = x
    return first - last, middle[0] + middle[2]


def sums_of_a_generator(x):
    return sum(value * value for value in x), max(abs(value - 2.5) for value in x)


def while_over_two_arrays(a, b):
    i, j, k = 0, 0, 0
    out = np.zeros(len(a) + len(b))
    while i < len(a) and j < len(b):
        if a[i] <= b[j]:
            out[k] = a[i]
            i += 1
        else:
            out[k] = b[j]
            j += 1
        k += 1
    while i < len(a):
        out[k] = a[i]
        i += 1
        k += 1
    while j < len(b):
        out[k] = b[j]
        j += 1
        k += 1
    return out


def insertion_sort(x):
    for i in range(1, len(x)):
        key = x[i]
        j = i - 1
        while j >= 0 and x[j] > key:
            x[j + 1] = x[j]
            j -= 1
        x[j + 1] = key
    return x[0] + 2 * x[1]


def continue_in_while(x):
    i, total = 0, 0.0
    while i < len(x):
        i += 1
        if x[i - 1] > 2.0 and x[i - 1] < 4.0:
            continue
        total += x[i - 1]
    return total


def grows_in_a_traced_loop(x, t):
    kept = []
    for value in x:
        if value > t:
            kept.append(value)
    return len(kept)


def with_statement(x):
    with np.errstate(all="raise"):
        return x[0]


def try_statement(x):
    try:
        return x[int(x[0])]
    except IndexError:
        return 0.0


def yields(x):
    yield x[0]


def writes_a_global(x):
    global X
    X = x
    return 0.0


CASES = [
    Case(return_from_two_loops, ((X, 7.0), (X, 1e9), (Y, 1.0))),
    Case(break_else_continue, ((X, 0.5), (Y, 3.0), (X, 9.0))),
    Case(loop_variable_survives, ((X, 3), (X, 0))),
    Case(loop_variable_rebound, ((X,),)),
    Case(bound_is_read_once, ((X, 4), (X, 0))),
    Case(negative_step_of_argument, ((X, -1), (X, -3), (X, 1))),
    Case(while_with_walrus, ((X,), (X[::-1].copy(),))),
    Case(chained_comparisons, ((X, 1.0, 4.0), (X, 0.0, 2.0))),
    Case(short_circuit_writes, ((X, Y),)),
    Case(value_of_and_or, ((X, 2.0), (X, 9.0), (np.array([0.0, 1.0, 0.0, 0.0, 0.0]), 0.5))),
    Case(either_of_two_types, ((X, 2.0),), UnsupportedSyntaxError),
    Case(conditional_expressions_nest, ((X, 2.0), (X, 0.5), (X, -1.0))),
    Case(early_return_in_helper, ((X, 3.5), (X, 99.0))),
    Case(view_of_view_of_view, ((X,),)),
    Case(view_outlives_rebinding, ((X,),)),
    Case(transposed_row, ((M,),)),
    Case(reshaped_view, ((M,),)),
    Case(swap_elements, ((X, 0, 4), (X, 2, 2), (X, -1, 1))),
    Case(rotate_three, ((X, Y, X * 3, 0), (X, Y, X * 3, 1), (X, Y, X * 3, 5))),
    Case(conditional_alias, ((X, Y, 0), (X, Y, 4), (Y, X, 5))),
    Case(helper_returns_view, ((X, 2.0),)),
    Case(helper_swaps_its_names, ((X, Y),)),
    Case(augmented_makes_new_for_scalars, ((X,),)),
    Case(augmented_slice_of_slice, ((X,),)),
    Case(assigns_to_itself, ((X,),)),
    Case(update_while_iterating, ((X,),)),
    Case(enumerate_and_zip, ((X, Y),)),
    Case(reversed_rows, ((M,),)),
    Case(list_of_arrays_in_loop, ((X, 0), (X, 3), (X, 4))),
    Case(list_alias, ((X,),)),
    Case(dict_of_state, ((X, 0), (X, 6))),
    Case(dataclass_in_loop, ((X, 0), (X, 5))),
    Case(dataclass_replaced, ((X, 0.0), (X, 9.0))),
    Case(named_tuple_in_loop, ((X, 0), (X, 5))),
    Case(tuple_of_mixed_kinds, ((X, 0), (X, 3))),
    Case(closure_reads_late, ((X,),)),
    Case(closures_over_loop_variable, ((X,),)),
    Case(nonlocal_counter, ((X, 2.5), (X, 9.0))),
    Case(function_argument, ((X, 3), (X, 0))),
    Case(chosen_function, ((X, 1.0), (X, -1.0)), UnsupportedSyntaxError),
    Case(default_argument, ((X,),)),
    Case(int_becomes_float, ((X, 3), (X, 0))),
    Case(bool_is_carried, ((X, 3.0), (X, 9.0))),
    Case(numpy_ints_wrap, ((0,), (1,), (3,))),
    Case(f32_and_python_floats, ((X.astype(np.float32),),)),
    Case(integer_division, ((7, 2), (-7, 3), (6, -4), (1, 0))),
    Case(integer_power, ((3, 1.5), (0, 2.0))),
    Case(zero_d_in_loop, ((X, 0), (X, 4))),
    Case(empty_array, ((X,),)),
    Case(ellipsis_and_newaxis, ((M,),)),
    Case(negative_indices, ((X, 2), (X, 5), (X, 6))),
    Case(out_of_range_in_a_branch_not_taken, ((X, 2), (X, 7))),
    Case(maybe_bound_array, ((X, 0.5), (X, -1.0), (-X, -0.5))),
    Case(deleted_name, ((X,),)),
    Case(deleted_in_a_loop, ((X, 0), (X, 2), (X, 3), (X, 4))),
    Case(assertion, ((X, 2.0), (X, -2.0))),
    Case(raises_on_a_path, ((X, 2), (X, 4))),
    Case(unpacks_a_star, ((X,),)),
    Case(sums_of_a_generator, ((X,),)),
    Case(while_over_two_arrays, ((X, np.array([0.5, 2.5, 2.75, 9.0])), (X, np.zeros(0)), (np.zeros(0), X))),
    Case(insertion_sort, ((X,), (X[::-1].copy(),), (Y,))),
    Case(continue_in_while, ((X,), (Y,))),
    Case(grows_in_a_traced_loop, ((X, 2.0),)),
    Case(with_statement, ((X,),), UnsupportedSyntaxError),
    Case(try_statement, ((X,), (X * 100,))),
    Case(yields, ((X,),), UnsupportedSyntaxError),
    Case(writes_a_global, ((X,),), UnsupportedSyntaxError),
]
