"""The dialect `acme`: the ops that Acme's processor has and mlirad does not."""

from xdsl.dialects import arith
from xdsl.ir import Dialect, SSAValue

from acme_npu import clip6
from mlirad.dialect.core.expr import Expr, where, zeros_like
from mlirad.dialect.core.op import op
from mlirad.dialect.core.scalars import number, scalar_op
from mlirad.dialect.ops.elementwise import UnaryOp


@op(clip6, linear=True)
class Clip6Op(UnaryOp):
    """x, not less than 0 and not more than 6; its derivative at these two is 0."""

    name = "acme.clip6"

    def vjp(self, g: Expr, out: Expr, x: Expr) -> Expr:
        return where((x > 0.0) & (x < 6.0), g, zeros_like(g))

    def scalar(self, x: SSAValue) -> SSAValue:
        above = scalar_op(arith.MaximumfOp, x, number(0.0, x.type))
        return scalar_op(arith.MinimumfOp, above, number(6.0, x.type))


Acme = Dialect("acme", [Clip6Op])
