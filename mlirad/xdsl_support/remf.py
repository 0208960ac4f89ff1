"""`arith.remf`, an upstream op that xDSL's arith lacks: the remainder of a division rounded towards zero, C's fmod."""

from __future__ import annotations

from xdsl.dialects.arith import FloatingPointLikeBinaryOperation
from xdsl.irdl import irdl_op_definition, traits_def
from xdsl.traits import Pure


@irdl_op_definition
class RemfOp(FloatingPointLikeBinaryOperation):
    """x - trunc(x / y) y, exactly."""

    name = "arith.remf"
    traits = traits_def(Pure())
