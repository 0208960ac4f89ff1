"""Calls of Python's `print`. Reads: the template, and values. Writes: slots with the values, and a call of the function
in `print_callback.py`. Leaves: nothing.

An array is a pointer, its sizes, and its strides in elements; a number is the low bytes of a slot.
"""

from __future__ import annotations

from xdsl.dialects import func

from mlirad.contract.printing import Printed
from mlirad.targets.cpu.call_context import INTERRUPTED
from mlirad.targets.cpu.emit.descriptor import MemRef, address
from mlirad.targets.cpu.emit.function import FunctionEmitter
from mlirad.targets.cpu.emit.llvm_types import llvm_type
from mlirad.targets.cpu.print_callback import PRINT, to_bytes


def emit_print(e: FunctionEmitter, op: func.CallOp, printed: Printed) -> None:
    """Print, and leave if that raises: the exception is in the context, like that of a signal handler."""
    words: list[tuple[str, str]] = []
    ranks: list[int] = []
    for value in op.arguments:
        given = e.value(value)
        if isinstance(given, MemRef):
            ranks.append(len(given.sizes))
            words.append(("ptr", address(e, given, ["0"] * len(given.sizes))))
            words += [("i64", word) for word in (*given.sizes, *given.strides)]
        else:
            ranks.append(-1)
            type, word = llvm_type(value.type), e.word(value)
            words.append(("i8", e.assign(f"zext i1 {word} to i8")) if type == "i1" else (type, word))
    slots = "null"
    if words:
        slots = f"%{e.fresh('printed')}"
        e.allocas.append(f"  {slots} = alloca [{len(words)} x i64], align 8")
    for place, (type, word) in enumerate(words):
        e.line(f"store {type} {word}, ptr {e.assign(f'getelementptr i64, ptr {slots}, i64 {place}')}, align 8")
    data = to_bytes(printed, ranks)
    text = e.module.constant_bytes("print", data)
    callee = e.module.declare(PRINT, f"declare i32 @{PRINT}(ptr, ptr, i64, ptr) nounwind")
    code = e.assign(f"call i32 {callee}(ptr %ctx, ptr {text}, i64 {len(data)}, ptr {slots})")
    e.require(e.assign(f"icmp eq i32 {code}, 0"), INTERRUPTED)
