# RUN: python %s | filecheck %s
"""A function with a derivative rule of its own is called, and not inlined: its rule is in the module, by name.

The functions of a rule take what the function takes, first of all: its arguments, and captured arrays. Then come
residuals and cotangents, or tangents. `ad.wrt` numbers the arguments that the rule differentiates.
"""

import numpy as np

import mlirad

W = np.array([2.0, 3.0])


@mlirad.custom_vjp
def norm(x):
    return np.sqrt(np.sum(x * x))


def norm_fwd(x):
    y = norm(x)
    return y, (x, y)


def norm_bwd(kept, g):
    x, y = kept
    return (g / y * x * W,)


norm.defvjp(norm_fwd, norm_bwd)


# Two calls that are alike are calls of one function. Inside its rule the function is called, too.
# CHECK-LABEL: func.func public @total(%x: tensor<2xf64>, %W: tensor<2xf64>) -> f64
# CHECK:         func.call @norm_0(%x, %W)
# CHECK:         func.call @norm_0(%{{.*}}, %W)
# CHECK-LABEL: func.func private @norm_0(%x: tensor<2xf64>, %{{.*}}: tensor<2xf64>) -> f64
# CHECK-SAME:    ad.wrt = array<i64: 0>, ad.rule.forward = @norm_fwd_0, ad.rule.pullback = @norm_bwd_0
# CHECK-LABEL: func.func private @norm_fwd_0(%x: tensor<2xf64>, %{{.*}}: tensor<2xf64>) -> (f64, tensor<2xf64>, f64)
# CHECK-NEXT:    %[[Y:.+]] = func.call @norm_0(%x
# CHECK-NEXT:    func.return %[[Y]], %x, %[[Y]]
# CHECK-LABEL: func.func private @norm_bwd_0(
# CHECK-SAME:    %kept.0: tensor<2xf64>, %kept.1: f64, %g: f64) -> tensor<2xf64>
# CHECK-NEXT:    nd.div %g, %kept.1
print(mlirad.jit(lambda x: norm(x) + norm(2.0 * x)).lower(np.ones(2)).as_text("tensor").replace("@lambda", "@total"))


@mlirad.custom_jvp
def scaled(x, n):
    return x * n


@scaled.defjvp
def scaled_jvp(primals, tangents):
    (x, n), (t, _) = primals, tangents
    return scaled(x, n), t * n


# CHECK-LABEL: func.func public @grad_scaled
# CHECK-LABEL: func.func private @scaled_0(%x: f64, %n: i64) -> f64
# CHECK-SAME:    ad.wrt = array<i64: 0>, ad.rule.tangent = @scaled_jvp_0
# CHECK-LABEL: func.func private @scaled_jvp_0(%primals.0: f64, %primals.1: i64, %tangents.0: f64) -> (f64, f64)
print(mlirad.grad(scaled).lower(3.0, 2).as_text("tensor"))

# Of the rule there are left what it computes: the transpose of t * n.
# CHECK-LABEL: func.func public @grad_scaled
# CHECK-NOT:     func.call
# CHECK:         nd.cast %n
# CHECK-NOT:     func.call
# CHECK:         func.return
print(mlirad.grad(scaled).lower(3.0, 2).as_text("optimized"))
