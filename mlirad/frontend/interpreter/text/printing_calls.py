"""`print`. Reads: values. Writes: an op with an ordered effect. Leaves: None, as Python does."""

from __future__ import annotations

import sys
from typing import Any

from xdsl.dialects.builtin import UnitAttr

from mlirad.dialect.core.expr import emit_all
from mlirad.dialect.effects.print_op import PrintOp
from mlirad.frontend.interpreter import storage
from mlirad.frontend.interpreter.context import Context, Keywords
from mlirad.frontend.interpreter.text.composing import Text, show
from mlirad.frontend.numpy.declarations import interprets
from mlirad.frontend.values.values import Ref, Static, Traced, Value


@interprets(print)
def builtin_print(context: Context, args: tuple[Value, ...], kwargs: Keywords) -> Value:
    for name in kwargs.keys() - {"sep", "end", "file", "flush"}:
        raise context.failed("TypeError", f"print() got an unexpected keyword argument {name!r}")
    sep, end = (_text(context, kwargs.get(name), name, usual) for name, usual in (("sep", " "), ("end", "\n")))
    flush = storage.static(context, kwargs.get("flush", Static(False)), "flush=")
    text = Text()
    for number, value in enumerate(args):
        text.write(sep if number else "")
        show(context, text, value, "s")
    text.write(end)
    operands = [_operand(context, value) for value in text.values]
    given = {"flush": UnitAttr()} if flush else {}
    emit_all(PrintOp, *operands, template=text.template, file=_file(context, kwargs.get("file")), **given)
    return Static(None)


def _text(context: Context, given: Value | None, name: str, usual: str) -> str:
    value = None if given is None else storage.static(context, given, f"{name}=")
    if not isinstance(value, str | None):
        raise context.failed("TypeError", f"{name} must be None or a string, not {type(value).__name__}")
    return usual if value is None else value


def _file(context: Context, given: Value | None) -> str:
    """The name in `sys` of the output stream. It is looked up again whenever the program prints."""
    file: Any = given.value if isinstance(given, Static) else given
    if file is None or file is sys.stdout:
        return "stdout"
    if file is sys.stderr:
        return "stderr"
    raise context.refusal("only sys.stdout and sys.stderr are printed to", "print to sys.stdout, or return the values")


def _operand(context: Context, value: Value) -> Any:
    if isinstance(value, Ref):
        return context.read(value).contents
    assert isinstance(value, Traced)
    return value.scalar
