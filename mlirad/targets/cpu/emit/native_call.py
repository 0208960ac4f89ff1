"""Calls of native functions by their names. Reads: func.call with `mlirad.native`. Writes: calls of external symbols,
which are linked to the addresses in this process. Leaves: nothing.
"""

from __future__ import annotations

from xdsl.dialects import func
from xdsl.dialects.builtin import MemRefType, StringAttr

from mlirad.analysis.memory import GIL, NATIVE
from mlirad.dialect.core.types import from_location
from mlirad.targets.cpu.emit.descriptor import address, part_types, to_parts
from mlirad.targets.cpu.emit.function import FunctionEmitter
from mlirad.targets.cpu.emit.polling import charge
from mlirad.targets.cpu.manifest import ErrorEntry


def call_native(e: FunctionEmitter, op: func.CallOp) -> None:
    """A call of a C function; with the interpreter's lock if it needs it, and left by the error that it reports."""
    name, error, message = (op.attributes.get(key) for key in (NATIVE, "mlirad.error", "mlirad.message"))
    assert isinstance(name, StringAttr)
    work, *operands = op.arguments
    arguments: list[tuple[str, str]] = []
    while operands:
        value = operands.pop(0)
        if isinstance(value.type, MemRefType):
            rank = value.type.get_num_dims()
            place, operands = e.words(operands[:rank]), operands[rank:]
            arguments.append(("ptr", address(e, e.memref(value), place)))
        else:
            arguments += to_parts(e.value(value), value.type)
    given = [part for result in op.results for part in part_types(result.type)]
    gives = given[0] if given else "void" if error is None else "i32"
    types, listed = ", ".join(type for type, _ in arguments), ", ".join(f"{type} {word}" for type, word in arguments)
    callee = e.module.declare(name.data, f"declare {gives} @{name.data}({types}) nounwind")
    state = None
    if GIL in op.attributes:
        ensure = e.module.declare("PyGILState_Ensure", "declare i32 @PyGILState_Ensure() nounwind")
        state = e.assign(f"call i32 {ensure}()")
    call = f"call {gives} {callee}({listed})"
    code = ""
    if gives == "void":
        e.line(call)
    else:
        code = e.assign(call)
    if state is not None:
        release = e.module.declare("PyGILState_Release", "declare void @PyGILState_Release(i32) nounwind")
        e.line(f"call void {release}(i32 {state})")
    if given:
        e.bind(op.results[0], code)
    elif isinstance(error, StringAttr) and isinstance(message, StringAttr):
        failed = e.module.error_code(ErrorEntry(error.data, message.data, from_location(op.location)))
        e.require(e.assign(f"icmp eq i32 {code}, 0"), failed)
    if op in e.polling.moves:
        charge(e, e.word(work))
