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
from mlirad.frontend.values.values import Flagged, Object, Ref, Traced, Tuple, Value
from mlirad.tree import GENERATOR_WORDS


def name(value: SSAValue, text: str | None) -> None:
    """Name a value in dumps, if it has no name. The compiler's own variables begin with `$`, and are not shown."""
    if value.name_hint is None and text is not None and not text.startswith("$"):
        value.name_hint = re.sub(r"[^\w.]", "_", text, flags=re.ASCII)


def name_variable(state: State, variable: str, value: Value) -> None:
    """Name the value of a variable: a number, the contents of a whole array, `p.w` for the item "w" of a dict p."""
    if isinstance(value, Flagged):
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
            # For readers, the single item of a generator is the generator.
            name_variable(state, variable if key == GENERATOR_WORDS else f"{variable}.{key}", item)


def name_carried(values: Sequence[SSAValue], keys: Sequence[Any], columns: Sequence[Column]) -> None:
    """Name a loop-carried value: by its variable, or else by its value before the loop or after an iteration."""
    for value, key, column in zip(values, keys, columns, strict=True):
        name(value, _variable_of(key) or hint_of(column))


def name_index(loop: ast.For | ast.While, index: SSAValue, others: Sequence[SSAValue] = ()) -> None:
    """Name the number of the iteration, and the values unchanged around the body (`others`). In `for i in range(n)`
    binding i has named the number; in `for v in x` it becomes `v_index`."""
    if isinstance(loop, ast.For) and isinstance(loop.target, ast.Name):
        name(index, f"{loop.target.id}_index")
    for each in others:
        name(each, index.name_hint)


def _variable_of(key: Any) -> str | None:
    """The variable of a key of a loop's header, if the key is a number's: ((frame, number, name), "value")."""
    if isinstance(key, tuple) and key[1:] == ("value",) and isinstance(place := key[0], tuple):
        if len(place) == 3 and place[0] == "frame" and not str(place[2]).startswith("$"):
            return str(place[2])
    return None
