"""The header of a loop that only writes elements of arrays, foreseen from its text: one pass over the body confirms it.

Reads: the body, and the state before the loop. Writes: nothing. Leaves: a Header, and whether a pass confirms it.

    for i in range(1, n):
        v[i] = p[i] * v[i - 1] + q[i]      # writes v, and binds nothing that the next iteration reads

A search that begins with nothing widened needs two passes here, and nested loops take two at each level. The foreseen
header is the merge after a pass that would have changed the contents of v and nothing else.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping

from xdsl.ir import Block

from mlirad.dialect.core.expr import Expr
from mlirad.frontend.join.carried.loop_header import Header, Loop, Pass
from mlirad.frontend.join.outcomes import Exit, Outcome
from mlirad.frontend.join.widening import given
from mlirad.frontend.program.scope import written
from mlirad.frontend.values.values import Ref, Value


def pass_of(loop: Loop, header: Header, frame: int) -> Pass | None:
    """A pass from this header, with nothing widened, as the text of the body shows it. None if the body may change more
    than contents of arrays, or writes none. frame: the number of the frame that the loop is in."""
    if not isinstance(loop.node, ast.For) or loop.leaves:
        return None
    state = header.bound_to(())
    cells = _written_cells(loop, state.frames.get(frame, {}))
    if not cells:
        return None
    block, after = Block(), state.fork()
    for cell in cells:
        before = state.store[cell].value
        contents = block.insert_arg(before.type, len(block.args))
        contents.name_hint = before.name_hint
        after.store[cell] = Expr(contents)
    after.live = state.live
    return Pass(block, Outcome({Exit.NEXT: after}), given(state))


def _written_cells(loop: Loop, names: Mapping[str, Value]) -> set[int]:
    """The cells that the body certainly writes and that live names refer to; none if a live name may be bound."""
    found: set[int] = set()
    elements = frozenset().union(*map(written, loop.node.body))
    for name in (loop.changed | elements) & names.keys():
        value = names[name]
        if name not in elements or not isinstance(value, Ref) or len(value.alternatives) != 1:
            return set()
        found.add(value.alternatives[0].cell)
    return found


def is_confirmed(header: Header, merged: Header, made: Pass) -> bool:
    """Whether a pass that began with `header` ends with it, and changes every value that it carries."""
    if Exit.NEXT not in made.outcome.states or merged.description() != header.description():
        return False
    carried = made.block.args[len(made.block.args) - len(header.column_keys()) :]
    pairs = zip(header.column_keys(), carried, strict=True)
    rights = ((merged.columns.columns[key].right, argument) for key, argument in pairs)
    return all(isinstance(right, Expr) and right.value is not argument for right, argument in rights)
