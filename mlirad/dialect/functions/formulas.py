"""Functions of one number that are given by formulas, computed in 64 bits for every type.

Reads: scalars. Writes: arith and math ops. Leaves: nothing.
"""

from __future__ import annotations

from abc import abstractmethod

from xdsl.ir import SSAValue

from mlirad.dialect.core import types
from mlirad.dialect.core.scalars import Real
from mlirad.dialect.ops.elementwise import UnaryOp


class FormulaOp(UnaryOp):
    """A function of one number, given by a formula, computed in 64 bits and rounded to the type."""

    @abstractmethod
    def formula(self, x: Real) -> Real: ...

    def scalar(self, x: SSAValue) -> SSAValue:
        return self.formula(Real(x).in_type(types.F64)).in_type(x.type).value
