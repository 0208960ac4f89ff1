# RUN: python %s | filecheck %s
"""`print` is an op with an ordered effect: a template, and the values in its places.

It stays where it is: it is not hoisted out of the loop though nothing of it changes, not shared with an equal one, and
not repeated by the reverse sweep. No access moves past it, so what is printed before an error is printed.
"""

import numpy as np

import mlirad


def shows(x):
    s = 0.0 * x[0]
    for i in range(x.shape[0]):
        print("again")
        s = s + np.sin(x[i]) * s
    print(f"s = {s:.3f}", [x], sep=", ")
    return s


# CHECK-LABEL: func.func public @shows
# CHECK:         scf.for
# CHECK-NEXT:      nd.print "again\0A" {file = "stdout"}
# CHECK:         nd.print "s = {0.float64:.3f}, [{1.float64!r}]\0A"(%s_1, %x : f64, tensor<8xf64>)
print(mlirad.jit(shows).lower(np.ones(8)).as_text("tensor"))

# CHECK-LABEL: func.func public @grad_shows
# CHECK:         scf.for
# CHECK:           nd.print "again\0A"
# CHECK:         nd.print "s = {0.float64:.3f}
# CHECK-NOT:     nd.print
print(mlirad.grad(shows).lower(np.ones(8)).as_text("optimized").replace("@shows", "@grad_shows"))

# An array is handed over as it is: no copy.
# CHECK-LABEL: func.func public @shows
# CHECK-NOT:     memref.copy
# CHECK:         func.call @"mlirad_print()"() {mlirad.print = "again\0A", mlirad.file = "stdout"}
# CHECK:         func.call @"mlirad_print(f64, tensor<8xf64>)"(%s_1, %x)
# CHECK:         func.func private @"mlirad_print(f64, tensor<8xf64>)"(f64, memref<8xf64>) -> ()
print(mlirad.jit(shows).lower(np.ones(8)).as_text("loops"))
