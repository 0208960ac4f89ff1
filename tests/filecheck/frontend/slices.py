# RUN: python %s | filecheck %s
"""Slices up to the number of an iteration: their sizes are that number, known to be in range and known to be equal."""

import numpy as np

from mlirad.frontend.build import build
from mlirad.signature import signature_of


def rows(a):
    for i in range(a.shape[0]):
        for j in range(i):
            a[i, j] -= a[i, :j] @ a[:j, j]
        a[i, i + 1 :] *= 2


# CHECK-LABEL: func.func public @rows
# CHECK:       scf.for %[[I:i]] =
# CHECK:         scf.for %[[J:j]] =
# CHECK-NOT:       nd.minimum
# CHECK-NOT:       nd.check %
# CHECK:           %[[ROW:[0-9]+]] = nd.extract_slice {{.*}}[%[[J]]] {sizes = array<i64: 1, -1>
# CHECK-SAME:        tensor<9x9xf64> -> tensor<1x?xf64>
# CHECK:           %[[COLUMN:[0-9]+]] = nd.extract_slice {{.*}}[%[[J]]] {sizes = array<i64: -1, 1>
# CHECK-SAME:        tensor<9x9xf64> -> tensor<?x1xf64>
# CHECK:           nd.contract "{{.*}}" %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}} : (tensor<?xf64>, tensor<?xf64>) -> f64
# CHECK:           scf.yield
# CHECK:         %[[NEXT:[0-9]+]] = nd.add %[[I]],
# CHECK:         %[[REST:[0-9]+]] = nd.sub %{{[a-z0-9_]+}}, %[[NEXT]] : i64
# CHECK-NOT:     nd.maximum
# CHECK:         nd.extract_slice {{.*}}, %[[NEXT]]][%[[REST]]]
# CHECK:         nd.insert_slice {{.*}}, %[[NEXT]]]
# CHECK:         scf.yield
print(build(rows, signature_of((np.ones((9, 9)),), {})).module)


def sums(x, n):
    return (x[:n] + x[2:]).sum()


# CHECK-LABEL: func.func public @sums
# CHECK:       %[[WRAPPED:[0-9]+]] = nd.wrap_index %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}}
# CHECK:       %[[END:[0-9]+]] = nd.minimum %[[WRAPPED]],
# CHECK:       %[[SIZE:[0-9]+]] = nd.maximum %[[END]],
# CHECK:       nd.extract_slice %{{[a-z0-9_]+}}[%{{[a-z0-9_]+}}][%[[SIZE]]]
# CHECK:       nd.check %{{.+}}, "ValueError", "operands could not be broadcast together with shapes ({0},) ({1},)"
# CHECK-SAME:    (%{{[a-z0-9_]+}}, %{{[a-z0-9_]+}})
# CHECK:       nd.add %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}} : tensor<7xf64>
print(build(sums, signature_of((np.ones(9), 3), {})).module)
