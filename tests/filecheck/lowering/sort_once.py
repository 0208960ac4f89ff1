# RUN: python %s | filecheck %s

# A derivative asks where the elements are in order; the elements in order are then read from there.
import numpy as np

import mlirad


def squares(x):
    return np.sum(np.sort(x) ** 2)


# CHECK-LABEL: func.func public @grad_squares
# CHECK:       %[[PLACES:.*]] = nd.argsort %x {kind = "stable"}
# CHECK-NEXT:  %[[SORTED:.*]] = nd.gather %x[%[[PLACES]]]
# CHECK-NOT:   sort
# CHECK:       nd.scatter_add {{.*}}[%[[PLACES]]]
# CHECK-NOT:   sort
print(mlirad.grad(squares).lower(np.ones(5)).as_text("optimized"))

# Many elements without ties have one order only, which a quicksort finds sooner.
# CHECK-LABEL: func.func public @grad_squares
# CHECK:       %[[SORTED:.*]] = nd.sort %x
# CHECK:       nd.less
# CHECK:       scf.if
# CHECK-NEXT:    nd.argsort %x {kind = "quicksort"}
# CHECK:       else
# CHECK-NEXT:    nd.argsort %x {kind = "stable"}
# CHECK:       nd.scatter_add
print(mlirad.grad(squares).lower(np.ones(300)).as_text("optimized"))
