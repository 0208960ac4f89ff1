"""`linalg.fill` of complex numbers, which MLIR has. xDSL's verifier requires a float or an integer.

Reads and writes: xDSL's class of `linalg.fill`, once, when the room is imported. Leaves: the check of real numbers.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ComplexType
from xdsl.dialects.linalg.ops import FillOp


def mend_fills() -> None:
    """Allow fills with complex numbers. Called when the package is imported."""
    verify_real = FillOp.verify_

    def verify_(op: FillOp) -> None:
        if any(isinstance(value.type, ComplexType) for value in op.inputs):
            FillOp.get_irdl_definition().verify(op)
        else:
            verify_real(op)

    FillOp.verify_ = verify_  # pyright: ignore[reportAttributeAccessIssue]  # all ops have it
