"""Statements that printed source omits."""

from __future__ import annotations

from xdsl.dialects.builtin import f64
from xdsl.ir import Block, SSAValue

from mlirad.dialect.core.numpy_source import NumpyText
from mlirad.targets.python.python_statements import AssignAll, For, Function, If, Return, without_unused


def test_results_of_branches_that_nothing_reads() -> None:
    """A branch that does nothing else is also dropped; variables that a loop or a return reads stay."""
    x, read, unread, alone, counter = Block(arg_types=[f64] * 5).args

    def text(*parts: str | SSAValue) -> NumpyText:
        return NumpyText(parts)

    def branch(*targets: SSAValue) -> If:
        sides = [AssignAll([(each, text(word)) for each in targets]) for word in ("1.0", "0.0")]
        return If(text(x, " > 0.5"), [sides[0]], [sides[1]])

    both, useless = branch(read, unread), branch(alone)
    loop = For(counter, text("range(3)"), [both, useless])
    without_unused(Function("f", [x], [loop, Return([text(read)])], []))
    assert loop.body == [both]
    for side in (both.then, both.otherwise):
        (kept,) = side
        assert isinstance(kept, AssignAll)
        assert [target for target, _ in kept.pairs] == [read]
