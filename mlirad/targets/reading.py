"""Parses the MLIR text of a stage: every stage of every target is text that parses.

Reads: text. Writes: nothing. Leaves: a module.
"""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects import get_all_dialects
from xdsl.dialects.builtin import ModuleOp

from mlirad.dialect.ad.ad import Ad
from mlirad.dialect.nd import Nd
from mlirad.dialect_version import require_version
from mlirad.targets.target import Target
from mlirad.xdsl_support.parser import PlacedParser
from mlirad.xdsl_support.prefetch import PrefetchOp
from mlirad.xdsl_support.remf import RemfOp


def load_dialects(context: Context, target: Target | None = None) -> None:
    """Load mlirad's dialects, and those of the target, into the context."""
    context.load_op(RemfOp)
    context.load_op(PrefetchOp)
    for dialect in (Nd, Ad, *(() if target is None else target.dialects())):
        context.load_dialect(dialect)


def parsed(text: str, target: Target | None = None, name: str = "<text>") -> ModuleOp:
    """The module of a stage's text. Raises xDSL's ParseError, and CompileError for text of another version.

    target: the target whose own dialects the text may use. name: the name of the text in errors.
    """
    require_version(text, name)
    context = Context()
    for dialect, make in get_all_dialects().items():
        context.register_dialect(dialect, make)
    load_dialects(context, target)
    return PlacedParser(context, text, name).parse_module()
