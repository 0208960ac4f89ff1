"""Functions that only compute: no context, no memory of the call, no error. Reads: functions marked `mlirad.leaf`.
Writes: LLVM functions that return nothing, and calls of them. Leaves: nothing.
"""

from __future__ import annotations

from xdsl.dialects import func

from mlirad.targets.cpu.emit.descriptor import from_parts, part_types, to_parts
from mlirad.targets.cpu.emit.function import FunctionEmitter, ModuleEmitter, ops_in, quoted, symbol
from mlirad.targets.cpu.emit.vectorized_loops import find_vectorized_loops, note_what_is_left


def emit_leaf(module: ModuleEmitter, op: func.FuncOp, attributes: str) -> None:
    block = op.body.block
    e = FunctionEmitter(module)
    e.name, e.attributes, e.is_task = op.sym_name.data, attributes, True
    ops = ops_in(op)
    find_vectorized_loops(e, op, ops)
    note_what_is_left(e, ops)
    types = [part for argument in block.args for part in part_types(argument.type)]
    words = [f"%a{number}" for number in range(len(types))]
    supply = iter(words)
    for argument in block.args:
        e.bind(argument, from_parts(e, argument.type, supply))
    e.run(block)
    parameters = ", ".join(f"{type} {word}" for type, word in zip(types, words, strict=True))
    name = quoted(symbol("leaf", op.sym_name.data))
    module.chunks += [e.text(f"define internal void {name}({parameters}) {attributes}"), *e.footnotes]


def call_leaf(e: FunctionEmitter, op: func.CallOp) -> None:
    parts = [part for value in op.arguments for part in to_parts(e.value(value), value.type)]
    listed = ", ".join(f"{type} {word}" for type, word in parts)
    e.line(f"call void {quoted(symbol('leaf', op.callee.string_value()))}({listed})")
