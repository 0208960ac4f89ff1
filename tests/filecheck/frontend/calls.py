# RUN: python %s | filecheck %s
"""A call is interpreted where it stands, unless the function calls itself: then it is a func.func.

Functions are values that only the compiler sees: what is passed around, composed or made by another function costs
nothing at run time. What a nested function changes by `nonlocal` is a variable of the frame around it, and a loop that
calls it carries that variable. A loop that did not would add to the first value in each trip.
"""

import numpy as np

import mlirad


def composed(x):
    def compose(f, g):
        return lambda v: f(g(v))

    def double(v):
        return 2.0 * v

    return compose(np.sin, double)(x)


# CHECK-LABEL: func.func public @composed(%x: f64)
# CHECK-NOT:     func.call
# CHECK:         %[[TWICE:.+]] = nd.mul %cst, %x
# CHECK-NEXT:    %[[SIN:.+]] = nd.sin %[[TWICE]]
# CHECK-NEXT:    func.return %[[SIN]]
print(mlirad.jit(composed).lower(1.0).as_text("tensor"))


def accumulated(x):
    total = 0.0

    def add(v):
        nonlocal total
        total += v

    for i in range(x.shape[0]):
        add(x[i])
    return total


# CHECK-LABEL: func.func public @accumulated
# CHECK-NOT:     func.call
# CHECK:         %total = scf.for %i = {{.*}} iter_args(%[[TOTAL:total_[0-9]+]] = %cst) -> (f64)
# CHECK:           %v = nd.extract %x[%i]
# CHECK-NEXT:      %[[SUM:total_[0-9]+]] = nd.add %[[TOTAL]], %v
# CHECK-NEXT:      scf.yield %[[SUM]]
# CHECK:         func.return %total
print(mlirad.jit(accumulated).lower(np.ones(8)).as_text("tensor"))


def late_bound(x):
    functions = []
    for k in range(3):
        functions.append(lambda v: v * (k + 10.0))
    return functions[0](x)


# A closure has the variable, not its value: each of the three multiplies by the last k + 10.
# CHECK-LABEL: func.func public @late_bound
# CHECK:         %[[LAST:.+]] = nd.constant {value = 1.200000e+01 : f64}
# CHECK-NEXT:    nd.mul %x, %[[LAST]]
print(mlirad.jit(late_bound).lower(1.0).as_text("tensor"))


def power(x, n):
    if n == 0:
        return 1.0
    return x * power(x, n - 1)


# Recursion whose depth only the run knows is a function that calls itself. Its depth decides when it ends: the
# `return` of the first line keeps the call out of that path.
# CHECK-LABEL: func.func public @power(%x: f64, %n: i64)
# CHECK:         func.call @[[POWER:power_[0-9]+]](%n, %x)
# CHECK:       func.func private @[[POWER]](%n: i64, %x: f64) -> f64
# CHECK:         %[[ENDS:.+]] = nd.equal %n, %c0
# CHECK-NEXT:    scf.if %[[ENDS]] -> (f64)
# CHECK-NOT:       func.call
# CHECK:         } else {
# CHECK:           %[[LESS:.+]] = nd.sub %n, %c1
# CHECK-NEXT:      %[[INNER:.+]] = func.call @[[POWER]](%[[LESS]], %x)
# CHECK-NEXT:      nd.mul %x, %[[INNER]]
print(mlirad.jit(power).lower(2.0, 3).as_text("tensor"))


def is_even(n):
    return True if n == 0 else is_odd(n - 1)


def is_odd(n):
    return False if n == 0 else is_even(n - 1)


# Of two functions that call each other, one becomes a func.func, and the other is interpreted in it.
# CHECK-LABEL: func.func public @is_even
# CHECK:         func.call @[[EVEN:is_even_[0-9]+]](%n)
# CHECK:       func.func private @[[EVEN]](%n: i64) -> i1
# CHECK:         %[[LESS:n_[0-9]+]] = nd.sub %n,
# CHECK:         nd.equal %[[LESS]],
# CHECK:         func.call @[[EVEN]](
# CHECK-NOT:   func.func
print(mlirad.jit(is_even).lower(3).as_text("tensor"))
