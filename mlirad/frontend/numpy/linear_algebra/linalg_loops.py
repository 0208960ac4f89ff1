"""The loops of LAPACK and pocketfft; the library writes numpy.linalg and numpy.fft with them.

Reads: values. Writes: nd ops, one for each loop. Leaves: Traced values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mlirad.contract.gufunc_loops import core_labels
from mlirad.dialect.arrays.slices import extract_slice
from mlirad.dialect.core import types
from mlirad.dialect.core.expr import Expr, constant, dim, emit_all, sum_of
from mlirad.dialect.linear_algebra.fourier_ops import FourierOp
from mlirad.dialect.linear_algebra.loop_op import LoopOp, MatricesOp
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
        contents = [each.contents for each in given]
        results = emit_all(op, *(agreeing(op, contents) if issubclass(op, LoopOp) else contents))
        values = [Traced(each, origins=frozenset({DATA})) for each in results]
        found = [each if each.ndim else Traced(each.scalar, origins=each.origins) for each in values]
        return tuple(found) if len(found) > 1 else found[0]

    compiles(op.spellings[0], is_row_major=True, is_made=True)(made)


def agreeing(op: type[LoopOp], operands: Sequence[Expr]) -> list[Expr]:
    """The operands of a loop. A size that is known in one of them is known in all."""
    labels = core_labels(op.loop().signature)[0]
    known: dict[str, int] = {}
    for own, x in zip(labels, operands, strict=True):
        known = {
            label: size for label, size in zip(own, x.shape[len(x.shape) - len(own) :], strict=True) if size >= 0
        } | known
    return [_sized(x, own, known) for own, x in zip(labels, operands, strict=True)]


def _sized(x: Expr, own: Sequence[str], known: Mapping[str, int]) -> Expr:
    sizes: list[int | Expr] = [dim(x, axis) if size < 0 else size for axis, size in enumerate(x.shape)]
    is_changed = False
    for axis, label in enumerate(own, len(x.shape) - len(own)):
        if x.shape[axis] < 0 and label in known:
            check(dim(x, axis) == known[label], "ValueError", f"an axis of a matrix must have the size {known[label]}")
            sizes[axis] = known[label]
            is_changed = True
    return extract_slice(x, [constant(0, types.I64)] * len(x.shape), sizes) if is_changed else x


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
