# RUN: python %s | filecheck %s
"""Dicts and objects do not exist at run time: each number or array in them is a value, with a name such as `%p.w`.

A loop carries what it changes of them, and only that. A dict that is carried as a whole would need a type, and each
trip would copy what it does not change.
"""

from dataclasses import dataclass

import numpy as np

import mlirad


def counted(counts, n):
    for t in range(n):
        counts["total"] += counts["each"]
    return counts["total"]


# The caller's dict gets the new total: it is a result more.
# CHECK-LABEL: func.func public @counted(%counts.total: f64, %counts.each: f64, %n: i64) -> (f64, f64)
# CHECK:         %[[LAST:.+]] = scf.for %t = {{.*}} iter_args(%[[TOTAL:.+]] = %counts.total) -> (f64)
# CHECK-NEXT:      %[[MORE:.+]] = nd.add %[[TOTAL]], %counts.each
# CHECK-NEXT:      scf.yield %[[MORE]] :
# CHECK:         func.return %[[LAST]], %[[LAST]] :
print(mlirad.jit(counted).lower({"total": 0.0, "each": 1.0}, 3).as_text("tensor"))


def stepped(p, n):
    for t in range(n):
        p = {"w": p["w"] * 0.5, "b": p["b"] - 1.0}
    return p["w"].sum() + p["b"]


# A dict that is rebound in each trip is carried by its items.
# CHECK-LABEL: func.func public @stepped(%p.w: tensor<3xf64>, %p.b: f64, %n: i64) -> f64
# CHECK:         scf.for %t = {{.*}} = %p.w, %{{p.b_[0-9]+}} = %p.b) -> ({{.*}}tensor<3xf64>, f64)
# CHECK:           %[[W:p.w_[0-9]+]] = nd.mul
# CHECK:           %[[B:p.b_[0-9]+]] = nd.sub
# CHECK:           scf.yield {{.*}}%[[W]], %[[B]] :
print(mlirad.jit(stepped).lower({"w": np.ones(3), "b": 1.0}, 4).as_text("tensor"))


@dataclass
class Body:
    x: float
    v: float
    mass: float


def falls(n):
    body = Body(1.0, 0.0, 2.0)
    for t in range(n):
        body.v -= 0.1
        body.x += body.v
    return body.x * body.mass


# Two of the three attributes are carried. The mass stays a constant.
# CHECK-LABEL: func.func public @falls(%n: i64) -> f64
# CHECK:         %[[LAST:.+]], %{{.*}} = scf.for %t = {{.*}} iter_args(%[[X:[^ ]+]] = %cst, %[[V:[^ ]+]] = %cst_1)
# CHECK:           %[[V1:.+]] = nd.sub %[[V]],
# CHECK-NEXT:      %[[X1:.+]] = nd.add %[[X]], %[[V1]]
# CHECK-NEXT:      scf.yield %[[X1]], %[[V1]]
# CHECK:         %[[MASS:cst.*]] = nd.constant {value = 2.000000e+00 : f64}
# CHECK-NEXT:    nd.mul %[[LAST]], %[[MASS]]
print(mlirad.jit(falls).lower(4).as_text("tensor"))
