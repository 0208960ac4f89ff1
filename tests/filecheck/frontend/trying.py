# RUN: python %s | filecheck %s
"""A `try` in which only the run decides: the statement that may raise becomes an if.

The test computes whether it raises, with a value through which no derivative flows: a cotangent of zero would flow back
through the factorization that failed as nan. Once derivatives are expanded, the matrix is factorized once.
"""

import numpy as np

import mlirad


def log_determinant(k):
    try:
        return np.log(np.diag(np.linalg.cholesky(k))).sum()
    except np.linalg.LinAlgError:
        return 0.0


# CHECK-LABEL: func.func public @log_determinant
# CHECK-NEXT:    %[[STOPPED:.+]] = ad.stop %k
# CHECK-NEXT:    nd.cholesky_lower %[[STOPPED]]
# CHECK:         %[[PASSES:.+]] = nd.equal %failed, %c0
# CHECK-NEXT:    scf.if %[[PASSES]] -> (f64) {
# CHECK-NEXT:      nd.cholesky_lower %k
# CHECK-NOT:       nd.check
# CHECK:         } else {
# CHECK-NEXT:      %[[FALLBACK:.+]] = nd.constant {value = 0.000000e+00 : f64}
# CHECK-NEXT:      scf.yield %[[FALLBACK]]
print(mlirad.jit(log_determinant).lower(np.eye(3)).as_text("tensor"))

# CHECK-LABEL: func.func public @grad_log_determinant
# CHECK:         nd.cholesky_lower %k
# CHECK-NOT:     nd.cholesky_lower
# CHECK:         %d_k = scf.if
# CHECK:           nd.inv
# CHECK:         } else {
# CHECK-NOT:       nd.inv
# CHECK:         func.return %d_k
print(mlirad.grad(log_determinant).lower(np.eye(3)).as_text("optimized"))
