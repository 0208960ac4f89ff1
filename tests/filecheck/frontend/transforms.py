# RUN: python %s | filecheck %s
"""A derivative is a request: an op that names a function, its arguments, and what to differentiate by what.

The frontend does not differentiate. What is differentiated is a func.func of its own; what it takes from around it is
an argument, so that a derivative by that is not lost. The room `autodiff/` expands requests, the innermost first.
"""

import numpy as np

import mlirad


def square(x):
    return x * x


def newton(x):
    return x - square(x) / mlirad.grad(square)(x)


# CHECK-LABEL: func.func public @newton
# CHECK:         %[[VALUE:.+]] = nd.mul %x, %x
# CHECK:         %{{.*}}, %[[SLOPE:.+]] = ad.vjp @[[SQUARE:square_[0-9]+]](%x)(%cst) wrt [0] outs [0]
# CHECK-NEXT:    %[[STEP:.+]] = nd.div %[[VALUE]], %[[SLOPE]]
# CHECK-NEXT:    nd.sub %x, %[[STEP]]
# CHECK:       func.func private @[[SQUARE]](%x: f64) -> f64
# CHECK-NEXT:    nd.mul %x, %x
print(mlirad.jit(newton).lower(1.0).as_text("tensor"))


def descent(x, n):
    for t in range(n):
        x = x - 0.1 * mlirad.grad(square)(x)
    return x


# A request in a loop is one request, of what the loop carries.
# CHECK-LABEL: func.func public @descent
# CHECK:         scf.for %t = {{.*}} iter_args(%[[X:x_[0-9]+]] = %x)
# CHECK:           %{{.*}}, %[[SLOPE:.+]] = ad.vjp @{{square_[0-9]+}}(%[[X]])
# CHECK:           %[[STEP:.+]] = nd.mul %{{cst.*}}, %[[SLOPE]]
# CHECK-NEXT:      nd.sub %[[X]], %[[STEP]]
print(mlirad.jit(descent).lower(1.0, 3).as_text("tensor"))


def value_and_gradient(xs, ys):
    def f(v, k):
        return (v * k).sum()

    value, gradient = mlirad.value_and_grad(f, argnums=1)(xs, ys)
    return value * gradient


# One request has the value and the derivative. `argnums` is `wrt`.
# CHECK-LABEL: func.func public @value_and_gradient
# CHECK:         %value, %gradient = ad.vjp @[[F:f_[0-9]+]](%xs, %ys)(%cst) wrt [1] outs [0]
# CHECK:       func.func private @[[F]](%v: tensor<8xf64>, %k: tensor<8xf64>) -> f64
print(mlirad.jit(value_and_gradient).lower(np.ones(8), np.ones(8)).as_text("tensor"))


def nested(x):
    def f(a):
        def g(b):
            return a * b * b

        return mlirad.grad(g)(a)

    return mlirad.grad(f)(x)


# g takes `a` from f: it is an argument of g, by which the inner request does not differentiate and the outer one does.
# CHECK-LABEL: func.func public @nested
# CHECK:         ad.vjp @[[F:f_[0-9]+]](%x)(%cst) wrt [0]
# CHECK:       func.func private @[[G:g_[0-9]+]](%b: f64, %[[A:[^:]+]]: f64) -> f64
# CHECK-NEXT:    %[[PRODUCT:.+]] = nd.mul %[[A]], %b
# CHECK-NEXT:    nd.mul %[[PRODUCT]], %b
# CHECK:       func.func private @[[F]](%a: f64) -> f64
# CHECK:         ad.vjp @[[G]](%a, %a)(%cst) wrt [0] outs [0]
print(mlirad.jit(nested).lower(2.0).as_text("tensor"))


def speed(x):
    return mlirad.jvp(square, (x,), (1.0,))


# Forwards: the derivative along a direction.
# CHECK-LABEL: func.func public @speed
# CHECK:         %[[Y:.+]], %[[DY:.+]] = ad.jvp @{{square_[0-9]+}}(%x)(%cst) wrt [0] outs [0]
# CHECK-NEXT:    func.return %[[Y]], %[[DY]]
print(mlirad.jit(speed).lower(1.0).as_text("tensor"))
