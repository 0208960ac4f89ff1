"""The `nd` dialect: all ops of the families."""

from __future__ import annotations

from xdsl.ir import Dialect

from mlirad.dialect.arrays import (  # noqa: F401  (a family's ops are defined by importing it)
    checked_indices,
    elements,
    gather,
    places,
    product,
    running_extreme,
    slices,
    sort,
    sum_in_order,
)
from mlirad.dialect.effects import draw, print_op  # noqa: F401  (as the families above)
from mlirad.dialect.functions import (  # noqa: F401  (as the families above)
    bessel,
    complex_parts,
    error_functions,
    exponentials,
    float_parts,
    gammas,
    native_elements,
    rounding,
    trigonometry,
)
from mlirad.dialect.layers import windows  # noqa: F401  (as the families above)
from mlirad.dialect.linear_algebra import (  # noqa: F401  (as the families above)
    cholesky_ops,
    determinant_ops,
    eigen_ops,
    fourier_ops,
    least_squares_ops,
    qr_ops,
    singular_value_ops,
    solving_ops,
    symmetric_ops,
)
from mlirad.dialect.op import op_classes
from mlirad.dialect.ops import (  # noqa: F401  (as the families above)
    arithmetic,
    basic_functions,
    bits,
    check,
    choice,
    compare,
    constant,
    contraction,
    division,
    movement,
    overflow,
    reduction,
)

Nd = Dialect("nd", [op_class for op_class in op_classes() if op_class.name.startswith("nd.")])
