"""Checks: ops with an effect, which leave the kernel with an exception if they fail.

An access uses the result of its check, no op moves past a check, and a reverse sweep never repeats one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.dialects import func
from xdsl.dialects.builtin import IntegerAttr, StringAttr, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import operand_def, prop_def, result_def, traits_def, var_operand_def

from mlirad.dialect.core import intervals, types
from mlirad.dialect.core.answers import Upstream
from mlirad.dialect.core.derivative import InertOp
from mlirad.dialect.core.effect_table import MayFail
from mlirad.dialect.core.expr import Expr, emit, emit_all, insert
from mlirad.dialect.core.intervals import Integer, Interval, Proofs, Values
from mlirad.dialect.core.numpy_source import NumpySource, NumpyText, Rank, denied, infix, text
from mlirad.dialect.core.op import op
from mlirad.dialect.core.registry import Properties
from mlirad.dialect.core.scalars import compare, number
from mlirad.dialect.ops.wrapped_index import WrapIndexOp, is_in_range, wrap_index, wrapped_text
from mlirad.errors import DTypeError
from mlirad.location import SourceLocation
from mlirad.raised_exceptions import located_exception, message_as_source, message_of


class CheckFailed(Exception):
    """The exception of a check's reference: the name of the Python exception, and its message.

    location: the place in the source, once it is noted by the code that runs the op.
    """

    def __init__(self, error: str, message: str):
        super().__init__(f"{error}: {message}")
        self.error = error
        self.message = message
        self.location: SourceLocation | None = None

    def as_raised(self) -> Exception:
        """The exception that Python raises, with the location in its message and as `location`."""
        return located_exception(self.error, self.message, self.location)


Number = Any
"""A NumPy number."""


class EffectOp(InertOp):
    """An op that may leave the kernel; it has no derivative."""

    traits = traits_def(MayFail())

    @property
    def raises(self) -> str:
        """The name of the exception that it raises."""
        return "IndexError"

    @property
    def checked_index(self) -> tuple[SSAValue, SSAValue] | None:
        """The index and the size, if the op fails only unless -size <= index < size, and returns the wrapped index."""
        return None

    def fails(self, *operands: Number | None) -> bool:
        """Whether the known operands (the others are None) prove that the op fails."""
        return False

    def text(self, *operands: Number | None) -> str | None:
        """The message, if all its parts are known."""
        return None

    def condition(self) -> SSAValue | None:
        """The operand that is false just where the op fails, if it has one."""
        return None

    def passes(self) -> Expr | None:
        """Emit whether the op does not fail; None if no number says so."""
        condition = self.condition()
        return None if condition is None else Expr(condition)


def raise_unless(source: NumpySource, ok: NumpyText, error: str, message: str, words: Sequence[NumpyText]) -> None:
    """The lines of a check. words: the texts that replace {0} and {1} in its message."""
    home, _, name = error.rpartition(".")
    called = name if not home else f"np{home.removeprefix('numpy')}.{name}"
    depth = 0 if ok.literal is False else 1
    if depth:
        source.line("if ", denied(ok), ":")
    for place, word in enumerate(words):
        if word.literal is not None:
            message = message.replace(f"{{{place}}}", str(word.literal))
    spelled = [
        part if isinstance(part, str) else text(part[0], words[part[1]], part[2]) for part in message_as_source(message)
    ]
    source.line("raise ", called, "(", *spelled, ")", depth=depth)


CHECK = "mlirad_check"
"""The functions that checks call below the stage `optimized`."""


def call_check(ok: SSAValue, arguments: Sequence[SSAValue], error: str, message: str) -> None:
    """Emit a check's upstream call: `@mlirad_check(ok, a, b)`, with the message in attributes of the call."""
    padded = [*arguments, *(number(0, i64) for _ in range(2 - len(arguments)))]
    call = insert(func.CallOp(CHECK, [ok, *padded], []))
    call.attributes["mlirad.error"] = StringAttr(error)
    call.attributes["mlirad.message"] = StringAttr(message)


@op()
class CheckOp(EffectOp):
    """Raise `error` with `message` unless ok; `raised.message_of` inserts the arguments for {0} and {1}."""

    name = "nd.check"
    ok = operand_def(types.I1)
    arguments = var_operand_def(types.I64)
    error = prop_def(StringAttr)
    message = prop_def(StringAttr)
    assembly_format = "$ok `,` $error `,` $message (`(` $arguments^ `)`)? attr-dict"

    @classmethod
    def infer(
        cls, operands: Sequence[Attribute], properties: Properties, result_type: Attribute | None = None
    ) -> list[Attribute]:
        if len(operands) > 3:
            raise DTypeError("nd.check: at most two arguments")
        return []

    def simplified(self, proofs: Proofs) -> Sequence[SSAValue] | None:
        return [] if proofs.interval(self.ok).number else None

    def established(self, proofs: Proofs) -> Sequence[Values]:
        return proofs.checked(self.ok)

    def reference(self, ok: Any, *arguments: Any) -> Any:
        if not ok:
            raise CheckFailed(self.error.data, message_of(self.message.data, [int(a) for a in arguments]))

    def numpy_source(self, source: NumpySource) -> NumpyText:
        ok, *words = source.operands()
        raise_unless(source, ok, self.error.data, self.message.data, words)
        return text()

    def numpy_repeats(self) -> frozenset[int]:
        return frozenset(range(1, len(self.operands)))

    @property
    def raises(self) -> str:
        return self.error.data

    def fails(self, *operands: Number | None) -> bool:
        return operands[0] is not None and not operands[0]

    def condition(self) -> SSAValue:
        return self.ok

    def text(self, *operands: Number | None) -> str | None:
        words = operands[1:]
        return (
            None if None in words else message_of(self.message.data, [int(word) for word in words if word is not None])
        )

    def loops(self) -> Upstream:
        return Upstream(self._build)

    def _build(self, ok: SSAValue, *arguments: SSAValue) -> Sequence[SSAValue]:
        call_check(ok, arguments, self.error.data, self.message.data)
        return []


@op()
class CheckIndexOp(EffectOp):
    """i, or i + size if i is negative; raises IndexError unless -size <= i < size."""

    name = "nd.check_index"
    index = operand_def(types.I64)
    size = operand_def(types.I64)
    axis = prop_def(IntegerAttr)
    result = result_def(types.I64)
    assembly_format = "$index `,` $size attr-dict"

    @classmethod
    def infer(
        cls, operands: Sequence[Attribute], properties: Properties, result_type: Attribute | None = None
    ) -> list[Attribute]:
        return [i64]

    @property
    def checked_index(self) -> tuple[SSAValue, SSAValue]:
        return self.index, self.size

    @property
    def message(self) -> str:
        return f"index {{0}} is out of bounds for axis {self.axis.value.data} with size {{1}}"

    def passes(self) -> Expr:
        index, size = Expr(self.index), Expr(self.size)
        return (index >= -size) & (index < size)

    def reference(self, index: Any, size: Any) -> Any:
        if not -size <= index < size:
            raise CheckFailed("IndexError", self.message.format(int(index), int(size)))
        return np.int64(index + size if index < 0 else index)

    def numpy_source(self, source: NumpySource) -> NumpyText:
        index, size = source.operands()
        is_inside = infix(text("-", size.within(Rank.SIGN), rank=Rank.SIGN), "<=", index, Rank.COMPARISON)
        is_inside = text(is_inside, " < ", size.within(Rank.BIT_OR), rank=Rank.COMPARISON)
        raise_unless(source, is_inside, "IndexError", self.message, [index, size])
        return wrapped_text(source)

    def numpy_repeats(self) -> frozenset[int]:
        return frozenset({0, 1})

    def integer(self, *operands: Interval) -> Integer:
        return intervals.checked_index(*operands)

    def simplified(self, proofs: Proofs) -> Sequence[SSAValue] | None:
        position, length = proofs.sum_of(self.index), proofs.sum_of(self.size)
        if not is_in_range(proofs, position, length):
            return None
        if proofs.is_never_negative(position):
            return [self.index]
        if proofs.is_never_negative(position.scaled(-1).shifted(-1)):
            return [(Expr(self.index) + Expr(self.size)).value]
        return [emit(WrapIndexOp, self.index, self.size).value]

    def established(self, proofs: Proofs) -> Sequence[Values]:
        return (proofs.sum_of(self.size).shifted(-1) - proofs.sum_of(self.index),)

    def recomputed(self, *operands: SSAValue) -> tuple[Expr, ...]:
        return (emit(WrapIndexOp, *operands),)

    def loops(self) -> Upstream:
        return Upstream(self._build)

    def _build(self, index: SSAValue, size: SSAValue) -> Sequence[SSAValue]:
        (wrapped,) = wrap_index(index, size)
        # One unsigned comparison: a wrapped index that is still negative is larger than any size.
        ok = compare("ult", wrapped, size)
        call_check(ok, [index, size], "IndexError", self.message)
        return [wrapped]


def check_index(index: Expr, size: Expr, axis: int) -> Expr:
    """The index, checked and made non-negative."""
    return emit(CheckIndexOp, index, size, axis=axis)


def check(ok: Expr, error: str, message: str, *arguments: Expr) -> None:
    """Raise `error` at run time, with `message` ({0}, {1}: the i64 arguments), unless ok."""
    emit_all(CheckOp, ok, *arguments, error=error, message=message)
