"""Private functions that a pass adds to a module.

Reads: a module. Writes: new functions in it. Leaves: the other functions.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import func
from xdsl.dialects.builtin import LocationAttr, ModuleOp
from xdsl.ir import Attribute, Block, Region


def free_name(module: ModuleOp, name: str) -> str:
    """`name`, with a number added if a function of the module has that name."""
    taken = {op.sym_name.data for op in module.ops if isinstance(op, func.FuncOp)}
    if name not in taken:
        return name
    return next(f"{name}.{number}" for number in range(1, len(taken) + 2) if f"{name}.{number}" not in taken)


def add_function(
    module: ModuleOp, name: str, body: Block, results: Sequence[Attribute], location: LocationAttr
) -> func.FuncOp:
    """A private function of the module. Its type follows from its body's arguments and results."""
    made = func.FuncOp(free_name(module, name), ([a.type for a in body.args], list(results)), Region(body), "private")
    made.location = location
    module.body.block.add_op(made)
    return made
