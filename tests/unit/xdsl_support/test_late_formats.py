"""The assembly format of an op class is read at its first use: a wrong one is an error there, a right one is used."""

from __future__ import annotations

import subprocess
import sys
from io import StringIO

import pytest
from xdsl.context import Context
from xdsl.dialects import builtin
from xdsl.dialects.builtin import f64
from xdsl.ir import Dialect
from xdsl.irdl import IRDLOperation, irdl_op_definition, operand_def, result_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import PyRDLOpDefinitionError
from xdsl.utils.test_value import create_ssa_value

import mlirad.xdsl_support  # noqa: F401  (formats are read late from here on)

UNREAD = """
import mlirad.opt, gc
from mlirad.xdsl_support.late_formats import LateFormat
formats = [each for each in gc.get_objects() if isinstance(each, LateFormat)]
assert len(formats) > 200 and all(each._program is None for each in formats)
"""


@irdl_op_definition
class Negated(IRDLOperation):
    name = "late.negated"
    x = operand_def(f64)
    out = result_def(f64)
    assembly_format = "$x attr-dict"


@irdl_op_definition
class Misspelt(IRDLOperation):
    name = "late.misspelt"
    x = operand_def(f64)
    assembly_format = "$y attr-dict"


def test_no_format_is_read_when_the_dialects_are_imported() -> None:
    subprocess.run([sys.executable, "-c", UNREAD], check=True)


def test_an_op_is_parsed_and_printed_by_its_format() -> None:
    context = Context()
    context.load_dialect(builtin.Builtin)
    context.load_dialect(Dialect("late", [Negated]))
    text = '%x = "test"() : () -> f64\n%y = late.negated %x {a}'
    context.allow_unregistered = True
    module = Parser(context, text).parse_module()
    stream = StringIO()
    Printer(stream).print_op(module)
    assert "%y = late.negated %x {a}" in stream.getvalue()


def test_a_wrong_format_is_an_error_at_its_first_use() -> None:
    op = Misspelt(operands=[create_ssa_value(f64)])
    with pytest.raises(PyRDLOpDefinitionError, match=r"assembly format of late\.misspelt"):
        Printer(StringIO()).print_op(op)
