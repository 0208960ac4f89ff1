"""raise and assert: exceptions of Python and NumPy, with run-time numbers in their messages.

Reads: ast and the state. Writes: checks. Leaves: the state after an assert; nothing follows a raise.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NoReturn

import numpy as np

from mlirad.dialect.core import types
from mlirad.dialect.core.expr import Expr, constant
from mlirad.dialect.ops.bits import float_bits
from mlirad.dialect.ops.check import check
from mlirad.dialect.ops.compare import cast
from mlirad.errors import CompileError, UnsupportedSyntaxError
from mlirad.frontend.interpreter import attempts, branches, dispatch, storage
from mlirad.frontend.interpreter.context import Context
from mlirad.frontend.interpreter.expressions import conditions
from mlirad.frontend.join.outcomes import Exit, Outcome
from mlirad.frontend.join.steering import Bottom
from mlirad.frontend.program import purity
from mlirad.frontend.values.poison import PoisonUsed
from mlirad.frontend.values.traced import NeedStatic, Traced
from mlirad.frontend.values.values import Ref, Static, Value
from mlirad.library.spells import is_in_library
from mlirad.raised_exceptions import name_of_exception

_PLACES = 2
"""The most run-time numbers in a message."""


@dataclass
class Message:
    """The text of an exception so far, in the form that `raised.message_of` reads, and the words in it."""

    text: str = ""
    words: list[Expr] = field(default_factory=list)

    def write(self, text: str) -> None:
        self.text += text.replace("{", "{{").replace("}", "}}")

    def write_number(self, number: Traced, conversion: str, spec: str) -> None:
        """Write a run-time number; there must be room for it."""
        kind = number.kind.__name__ if number.weak else number.dtype.name.replace("bool", "bool_")
        how = f"{'!' if conversion else ''}{conversion}{':' if spec else ''}{spec}"
        self.text += f"{{{len(self.words)}.{kind}{how}}}"
        value = cast(number.scalar, types.F64 if number.kind is float else types.I64)
        self.words.append(float_bits(value) if number.kind is float else value)


def raise_statement(context: Context, node: ast.Raise) -> NoReturn:
    hint = 'write raise ValueError("...")'
    if node.exc is None:
        if not context.handled:
            raise context.refusal("a raise without an exception is not compiled", hint)
        raise context.handled[-1]()
    if node.cause is not None and not is_none_or_caught(context, node.cause):
        raise context.refusal("`raise ... from` this is not compiled", hint)
    call = node.exc if isinstance(node.exc, ast.Call) else None
    error = dispatch.expression(context, node.exc if call is None else call.func)
    raised = error.value if isinstance(error, Static) else None
    made: Sequence[ast.expr] = () if call is None else call.args
    if raised is NotImplementedError and is_in_library(context.frame.source.filename):
        # The error for something that the library's function does not compile, and what to write instead.
        what, instead = (ast.literal_eval(each) for each in made)
        raise context.refusal(what, instead)
    message = Message()
    if call is None and isinstance(raised, Exception) and len(raised.args) <= 1:
        message.write(str(raised.args[0]) if raised.args else "")
        raised = type(raised)
    name = name_of_exception(raised)
    if name is None:
        what = f"{raised.__name__} is none" if isinstance(raised, type) else "this is none"
        raise context.refusal(f"only exceptions of Python and NumPy can be raised, and {what}", hint)
    if len(made) > 1 or (call is not None and call.keywords) or any(isinstance(arg, ast.Starred) for arg in made):
        raise context.refusal("an exception must be raised with a single message", hint)
    for argument in made:
        compose(context, message, argument)
    raise failing(name, message)


def is_none_or_caught(context: Context, node: ast.expr) -> bool:
    """Whether an exception is raised without a cause, or from one that was caught: compiled code has no chains of
    them."""
    if isinstance(node, ast.Constant):
        return node.value is None
    value = dispatch.expression(context, node) if isinstance(node, ast.Name) and context.handled else None
    return isinstance(value, Static) and isinstance(value.value, Exception)


def failing(name: str, message: Message) -> Bottom:
    """Emit an exception that is certain at run time."""
    check(constant(False, types.I1), name, message.text, *message.words)
    return Bottom()


def assert_statement(context: Context, node: ast.Assert) -> None:
    if not context.frame.source.has_asserts:
        return
    truth = conditions.condition(context, node.test)
    if truth is True:
        return
    text = node.msg.value if isinstance(node.msg, ast.Constant) else "" if node.msg is None else None
    if isinstance(truth, Traced) and text is not None:
        message = Message()
        message.write(str(text))
        check(truth.expr, "AssertionError", message.text)
        return

    def fail() -> Outcome:
        message = Message()
        if node.msg is not None:
            compose(context, message, node.msg)
        raise failing("AssertionError", message)

    if truth is False:
        fail()
    assert isinstance(truth, Traced)
    context.proceed(branches.branch(context, truth, lambda: Outcome({Exit.NEXT: context.state}), fail))


# Messages.


def compose(context: Context, message: Message, node: ast.expr) -> None:
    """Write an expression as `str` shows it."""
    if not isinstance(node, ast.JoinedStr):
        compose_value(context, message, node, "s", "")
        return
    for part in node.values:
        if isinstance(part, ast.FormattedValue):
            conversion = chr(part.conversion) if part.conversion > 0 else ""
            spec = part.format_spec
            text = known_text(context, spec) if isinstance(spec, ast.JoinedStr) else ""
            if text is None:
                message.write(f"{{{ast.unparse(part.value)}}}")
            else:
                compose_value(context, message, part.value, conversion, text)
        else:
            message.write(str(ast.literal_eval(part)))


def known_text(context: Context, node: ast.JoinedStr) -> str | None:
    """The text of a format; None if it depends on the run."""
    value = tried(context, node)
    return value.value if isinstance(value, Static) else None


def compose_value(context: Context, message: Message, node: ast.expr, conversion: str, spec: str) -> None:
    """Write one value. A run-time value that is no number is shown as its source, in braces."""
    value = tried(context, node)
    if isinstance(value, Ref) and not value.ndim:
        value = context.read_scalar(value)
    if isinstance(value, Static) and isinstance(value.value, Exception):  # caught by a handler
        value = Static(str(value.value))
    if isinstance(value, Traced) and len(message.words) < _PLACES and not set(spec) & set("{}"):
        message.write_number(value, conversion, spec)
        return
    try:
        known = None if value is None else Static(storage.static(context, value, "a formatted value"))
    except (NeedStatic, UnsupportedSyntaxError):
        known = None
    if known is None or isinstance(known.value, np.ndarray):
        message.write(f"{{{ast.unparse(node)}}}")
        return
    shown = known.value
    if conversion:
        shown = purity.text_of(shown, {"s": str, "r": repr, "a": ascii}[conversion])
    text = None if shown is None and conversion else purity.text_of(shown, format, spec)
    message.write(f"{{{ast.unparse(node)}}}" if text is None else text)


def tried(context: Context, node: ast.expr) -> Value | None:
    """The value of an expression in a message; None if it is not compiled."""
    attempt = attempts.begin(context)
    try:
        return context.use(dispatch.expression(context, node))
    except (NeedStatic, PoisonUsed, CompileError):
        attempts.begin_again(context, attempt)
        return None
