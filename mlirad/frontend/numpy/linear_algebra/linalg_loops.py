"""The loops of LAPACK and pocketfft; the library writes numpy.linalg and numpy.fft with them.

Reads: values. Writes: nd ops, one for each loop. Leaves: Traced values.
"""

from __future__ import annotations

from typing import Any

from mlirad.dialect.core.expr import emit_all, sum_of
from mlirad.dialect.linear_algebra.fourier_ops import FourierOp
from mlirad.dialect.linear_algebra.loop_op import MatricesOp
from mlirad.dialect.op import op_classes
from mlirad.dialect.ops.check import check
from mlirad.frontend.numpy.declarations import compiles
from mlirad.frontend.values.sizes import DATA
from mlirad.frontend.values.traced import Traced, as_traced
from mlirad.library.linalg.operands import require_all


def _compile(op: type[MatricesOp | FourierOp]) -> None:
    def made(*operands: Any) -> Any:
        given = [as_traced(each) for each in operands]
        if op.needs_sizes():
            given[0].static_shape("a function of singular values, QR factors or least squares")
        results = emit_all(op, *(each.contents for each in given))
        values = [Traced(each, origins=frozenset({DATA})) for each in results]
        found = [each if each.ndim else Traced(each.scalar, origins=each.origins) for each in values]
        return tuple(found) if len(found) > 1 else found[0]

    compiles(op.spellings[0], is_row_major=True, is_made=True)(made)


for _each in op_classes():
    if issubclass(_each, MatricesOp | FourierOp):
        _compile(_each)


@compiles(require_all)
def failure_checked(failed: Any, message: str) -> None:
    """A single check of all matrices, without a branch. Where both sides of a branch are computed, it raises
    nothing."""
    flags = as_traced(failed)
    count = sum_of(flags.expr) if flags.ndim else flags.scalar
    check(count == 0, "numpy.linalg.LinAlgError", message)
