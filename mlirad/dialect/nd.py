"""The `nd` dialect: all ops of the families."""

from __future__ import annotations

from xdsl.ir import Dialect

from mlirad.dialect.effects import print_op  # noqa: F401  (as the families below)
from mlirad.dialect.functions import (  # noqa: F401  (as the families below)
    bessel,
    error_functions,
    exponentials,
    float_parts,
    gammas,
    native_elements,
    rounding,
    trigonometry,
)
from mlirad.dialect.layers import windows  # noqa: F401  (as the families below)
from mlirad.dialect.op import op_classes
from mlirad.dialect.ops import (  # noqa: F401  (a family's ops are defined by importing it)
    bits,
    check,
    choice,
    compare,
    constant,
    contraction,
    division,
    elementwise,
    gather,
    indexing,
    movement,
    overflow,
    places,
    product,
    reduction,
    sort,
)

Nd = Dialect("nd", [op_class for op_class in op_classes() if op_class.name.startswith("nd.")])
