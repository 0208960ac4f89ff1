"""The names of values in dumps: each is named after the user's variable that held it first.

Reads: the state. Writes: name hints of SSA values that have none. Leaves: nothing.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from typing import Any

from xdsl.ir import SSAValue

from mlirad.frontend.join.join_columns import Column, hint_of
from mlirad.frontend.values.state import State
from mlirad.frontend.values.values import Maybe, Object, Ref, Traced, Tuple, Value
from mlirad.tree import GENERATOR_WORDS


def name(value: SSAValue, text: str | None) -> None:
    """Call a value so in dumps, if it has no name. The compiler's own variables begin with `$`, and are not shown."""
    if value.name_hint is None and text is not None and not text.startswith("$"):
        value.name_hint = re.sub(r"[^\w.]", "_", text, flags=re.ASCII)


def name_variable(state: State, variable: str, value: Value) -> None:
    """Name what a variable is bound to: a number, the contents of a whole array, `p.w` the item "w" of a dict p."""
    if isinstance(value, Maybe):
        value = value.value
    if isinstance(value, Traced):
        name(value.expr.value, variable)
    elif isinstance(value, Ref):
        for each in value.alternatives:
            if each.view.is_whole and each.cell in state.store:
                name(state.store[each.cell].value, variable)
    elif isinstance(value, Tuple):
        for number, item in enumerate(value.items):
            name_variable(state, f"{variable}.{number}", item)
    elif isinstance(value, Object) and (entry := state.heap[value.number]).growth is None:
        keys = range(len(entry.items)) if entry.kind is list else entry.keys
        for key, item in zip(keys, entry.items, strict=True):
            # A generator's one item is, for readers, the generator.
            name_variable(state, variable if key == GENERATOR_WORDS else f"{variable}.{key}", item)


def name_carried(values: Sequence[SSAValue], keys: Sequence[Any], columns: Sequence[Column]) -> None:
    """Name what a loop carries: by the variable that it is, else by what it was before the loop, or is after a trip."""
    for value, key, column in zip(values, keys, columns, strict=True):
        name(value, _variable_of(key) or hint_of(column))


def name_index(loop: ast.For | ast.While, index: SSAValue, others: Sequence[SSAValue] = ()) -> None:
    """Name the number of the trip, and what is the same around the body (`others`): `for i in range(n)` has named it by
    binding i; in `for v in x` it is `v_index`."""
    if isinstance(loop, ast.For) and isinstance(loop.target, ast.Name):
        name(index, f"{loop.target.id}_index")
    for each in others:
        name(each, index.name_hint)


def _variable_of(key: Any) -> str | None:
    """The variable that a key of a loop's header is about, if it is a number's: ((frame, number, name), "value")."""
    if isinstance(key, tuple) and key[1:] == ("value",) and isinstance(place := key[0], tuple):
        if len(place) == 3 and place[0] == "frame" and not str(place[2]).startswith("$"):
            return str(place[2])
    return None
