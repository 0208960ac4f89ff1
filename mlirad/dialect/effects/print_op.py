"""`print`: an ordered effect. It happens once, at its place in the program: derivatives and recomputations add none.

If lanes run one after the other (`vmap`), each prints in its turn.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from xdsl.dialects import func
from xdsl.dialects.builtin import StringAttr, UnitAttr
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import opt_prop_def, prop_def, traits_def, var_operand_def
from xdsl.traits import MemoryWriteEffect

from mlirad.contract.printing import FILES, Printed
from mlirad.dialect.core import types
from mlirad.dialect.core.answers import Upstream
from mlirad.dialect.core.derivative import InertOp
from mlirad.dialect.core.expr import Expr, insert
from mlirad.dialect.core.numpy_source import NumpySource, NumpyText, called, text
from mlirad.dialect.core.op import op
from mlirad.dialect.core.registry import Properties
from mlirad.errors import DTypeError
from mlirad.raised_exceptions import message_as_source

TEMPLATE, FILE, FLUSH = "mlirad.print", "mlirad.file", "mlirad.flush"
"""Attributes of the upstream call that a print becomes."""


@op()
class PrintOp(InertOp):
    """Write a template, with values inserted as in `contract.printing`, to `sys.stdout` or `sys.stderr`."""

    name = "nd.print"
    values = var_operand_def()
    template = prop_def(StringAttr)
    file = prop_def(StringAttr)
    flush = opt_prop_def(UnitAttr)
    traits = traits_def(MemoryWriteEffect())
    assembly_format = "$template (`(` $values^ `:` type($values) `)`)? attr-dict"

    @classmethod
    def infer(
        cls, operands: Sequence[Attribute], properties: Properties, result_type: Attribute | None = None
    ) -> list[Attribute]:
        template, file = properties["template"], properties["file"]
        assert isinstance(template, StringAttr) and isinstance(file, StringAttr)
        if file.data not in FILES:
            raise DTypeError(f"nd.print: {file.data!r} is not a file")
        wanted = Printed(template.data).dtypes()
        found = {index: types.to_dtype(types.element_type(type)) for index, type in enumerate(operands)}
        if wanted != found:
            raise DTypeError(f"nd.print: the template {template.data!r} is not of {list(map(str, found.values()))}")
        return []

    @property
    def printed(self) -> Printed:
        return Printed(self.template.data, self.file.data, self.flush is not None, types.from_location(self.location))

    def reference(self, *values: Any) -> Any:
        self.printed.write(values)
        return ()

    def numpy_source(self, source: NumpySource) -> NumpyText:
        template, values = self.template.data, [source.typed(index) for index in range(len(self.operands))]
        ends = template.endswith("\n")
        shown = message_as_source(template[:-1] if ends else template, of_words=False)
        spelled = text(*(part if isinstance(part, str) else text(part[0], values[part[1]], part[2]) for part in shown))
        named: dict[str, str] = {} if ends else {"end": '""'}
        if self.file.data != FILES[0]:
            named["file"] = f"{source.name_of(sys)}.{self.file.data}"
        if self.flush is not None:
            named["flush"] = "True"
        source.line(called("print", *([] if spelled.parts == ('""',) else [spelled]), **named))
        return text()

    def numpy_repeats(self) -> frozenset[int]:
        return frozenset(range(len(self.operands)))  # names, so that an f-string of them is short

    def recomputed(self, *operands: SSAValue) -> tuple[Expr, ...]:
        return ()

    def loops(self) -> Upstream:
        return Upstream(self._build)

    def _build(self, *values: SSAValue) -> Sequence[SSAValue]:
        # An MLIR function has one type, so the types are part of the name.
        call = insert(func.CallOp(f"mlirad_print({', '.join(str(value.type) for value in values)})", values, []))
        call.attributes |= {TEMPLATE: self.template, FILE: self.file}
        if self.flush is not None:
            call.attributes[FLUSH] = self.flush
        return []


def printed_by(call: func.CallOp) -> Printed | None:
    """What a call prints, if it is the upstream call of a print."""
    template, file = call.attributes.get(TEMPLATE), call.attributes.get(FILE)
    if not isinstance(template, StringAttr) or not isinstance(file, StringAttr):
        return None
    return Printed(template.data, file.data, FLUSH in call.attributes, types.from_location(call.location))
