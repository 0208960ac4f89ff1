"""Finds the op that made a NaN which reaches a result.

Reads: the operands and results of each op, as the evaluator runs it. Writes: nothing. Gives: `NanOrigin`, or an
exception.

A NaN that is discarded, as on the side of a `np.where` that is not taken, is none; nor is one that came in with the
arguments, or that the program writes as a constant.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.ir import Operation

from mlirad.dialect.core import types
from mlirad.dialect.core.op import NdOp
from mlirad.errors import format_located
from mlirad.evaluator.watch import Watch

_SHOWN = 400
"""How many characters of an operand a message shows."""


@dataclass(frozen=True)
class NanOrigin:
    """An op that gave a NaN, of operands without one."""

    op: Operation
    operands: tuple[Any, ...]

    def error(self) -> FloatingPointError:
        """The exception, at the user's line."""
        op, location = self.op, types.from_location(self.op.location)
        sweep = types.sweep_of(op.location)
        where = "in the forward sweep" if sweep is None else f"in the reverse sweep, in the {sweep} of this line"
        lines = [format_located(f"this made the first NaN, {where}: {_spelled(op)} of", location)]
        for number, (operand, value) in enumerate(zip(op.operands, self.operands, strict=True)):
            text = np.array2string(np.asarray(value), threshold=20)
            name = f"operand {number}" if operand.name_hint is None else operand.name_hint
            lines.append(f"  {name} = {text if len(text) <= _SHOWN else text[:_SHOWN] + '...'}")
        error = FloatingPointError("\n".join(lines))
        error.location = location  # pyright: ignore[reportAttributeAccessIssue]  # exceptions take any
        return error


def _spelled(op: Operation) -> str:
    """The name of the function that an op is."""
    function = op.spellings[0] if isinstance(op, NdOp) and op.spellings else None
    name = getattr(function, "__name__", None)
    return op.name if name is None else f"np.{name}"


class NanWatch(Watch):
    """Where the NaNs in the values of a run come from; by the identity of the values, which the watch keeps alive."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[Any, NanOrigin | None]] = {}

    def ran(self, op: Operation, operands: Sequence[Any], results: Iterable[Any]) -> None:
        """An op without regions has been run."""
        for result in results:
            if _has_nan(result):
                given = [operand for operand in operands if _has_nan(operand)]
                if given:
                    self.handed_on(given[0], result)
                elif operands:
                    self._known[id(result)] = (result, NanOrigin(op, tuple(operands)))

    def handed_on(self, value: Any, copy: Any) -> None:
        """`copy` replaces `value` from now on."""
        if value is not copy and (known := self._known.get(id(value))) is not None:
            self._known[id(copy)] = (copy, known[1])

    def ended(self, results: Iterable[Any]) -> None:
        """Raises FloatingPointError if one of the results has a NaN that an op has made."""
        for result in results:
            _, origin = self._known.get(id(result), (None, None))
            if origin is not None and _has_nan(result):
                raise origin.error()


def _has_nan(value: Any) -> bool:
    return getattr(value, "dtype", np.dtype(bool)).kind == "f" and bool(np.isnan(value).any())
