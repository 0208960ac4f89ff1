# RUN: python %s | filecheck %s
"""`fastmath=True` in the IR: the program's own arithmetic has flags, the compiler's formulas have none."""

import numpy as np

import mlirad


def dot(x, y):
    total = 0.0
    for i in range(x.size):
        total += x[i] * y[i]
    return total


def chain(turns):
    frame = np.eye(3)
    for i in range(len(turns)):
        frame = frame @ turns[i]
    return frame


def scaled(x, h):
    return np.exp(x / h)


X = np.ones(1000)
fast = mlirad.jit(dot, fastmath=True).lower(X, X)

# CHECK-LABEL: -- dot, linalg
# CHECK: arith.mulf {{.*}} fastmath<reassoc,arcp,contract> : f64
# CHECK: arith.addf {{.*}} fastmath<reassoc,arcp,contract> : f64
print("-- dot, linalg\n", fast.as_text("linalg"))

# A sum in the loop's order becomes several sums in vectors.
# CHECK-LABEL: -- dot, llvmopt
# CHECK: fadd reassoc arcp contract <{{[248]}} x double>
# CHECK: @llvm.vector.reduce.fadd
print("-- dot, llvmopt\n", fast.as_text("llvmopt"))

# The product of two small matrices is left to LLVM as plain multiplications and additions of numbers, which it may
# reorder and fuse. Fused ones keep their order, and pairs of numbers in vectors cost more shuffles than they save.
# CHECK-LABEL: -- chain
# CHECK-NOT: llvm.fma
# CHECK-NOT: fmul {{.*}} x double>
# CHECK-COUNT-27: fmul reassoc arcp contract double
print("-- chain\n", mlirad.jit(chain, fastmath=True).lower(np.ones((9, 3, 3))).as_text("llvmopt"))

# CHECK-LABEL: -- the report
# CHECK: rounded in any order: the arithmetic of this line, because fastmath=True allows it
print("-- the report\n", fast.report())

# CHECK-LABEL: -- exact
# CHECK-NOT: reassoc
# CHECK-NOT: contract
# CHECK: -- scaled
print("-- exact\n", mlirad.jit(dot).lower(X, X).as_text("llvmopt"))

# One division, before the loop. The formula of exp keeps the order that its accuracy comes from.
# CHECK: arith.divf %{{.*}}, %h fastmath<reassoc,arcp,contract> : f64
# CHECK: scf.for
# CHECK-NOT: arith.divf
# CHECK: arith.mulf {{.*}} fastmath<reassoc,arcp,contract> : vector
# CHECK: arith.subf
# CHECK-NOT: fastmath
# CHECK: func.return
print("-- scaled\n", mlirad.jit(scaled, fastmath=True).lower(X, 3.0).as_text("loops"))
