"""The loops that call LAPACK, which the library's functions of numpy.linalg are written with.

Reads: values. Writes: nd ops, each spelled by a loop. Leaves: Traced values.
"""

from __future__ import annotations

from typing import Any

from mlirad.dialect.core.expr import emit_all
from mlirad.dialect.core.op import NdOp
from mlirad.dialect.op import op_classes
from mlirad.frontend.numpy.declarations import compiles
from mlirad.frontend.values.sizes import DATA
from mlirad.frontend.values.traced import Traced, as_traced


def _compile(op: type[NdOp]) -> None:
    def made(*operands: Any) -> Any:
        results = emit_all(op, *(as_traced(each).contents for each in operands))
        values = [Traced(each, origins=frozenset({DATA})) for each in results]
        found = [each if each.ndim else Traced(each.scalar, origins=each.origins) for each in values]
        return tuple(found) if len(found) > 1 else found[0]

    compiles(op.spellings[0], is_row_major=True, is_made=True)(made)


for _each in op_classes():
    if _each.__module__.startswith("mlirad.dialect.linear_algebra."):
        _compile(_each)
