# RUN: python %s | filecheck %s

# The reverse sweep reads two integers of each trip only as indices that a check against 7 has wrapped. So both share
# one element of the tape: 32 bits each, with their signs. A third, which the sum needs as a number, has its own.
import numpy as np

import mlirad


def f(x, steps):
    total, places = 0.0, np.array([0, -7, 5])
    for n in range(steps):
        i, j, k = places[0], places[1], places[2]
        total += np.sin(x[i]) * x[j] * k
        places[0], places[1], places[2] = (3 * i + j * j) % 7, -1 - (i * k) % 7, (k * 5 + i) % 9
    return total


print(mlirad.grad(f).lower(np.linspace(0.3, 1.2, 7), 9).as_text("autodiff"))

# CHECK-LABEL: func.func public @grad_f
# CHECK:         scf.for
# CHECK:           %[[HIGH:.*]] = nd.shift_left %{{.*}}, %c32
# CHECK:           %[[WORD:.*]] = nd.bit_or %{{.*}}, %[[HIGH]]
# CHECK:           nd.insert %[[WORD]], %{{.*}} : i64 into tensor<?xi64>
# CHECK:         scf.for
# CHECK:           nd.shift_right
# CHECK:           nd.wrap_index
# CHECK:           nd.shift_right
