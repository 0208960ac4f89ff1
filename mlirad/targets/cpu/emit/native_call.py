"""Calls of native functions by name. Reads: func.call with `mlirad.native`. Writes: calls of external symbols, which
are linked to their addresses in this process. Leaves: nothing.
"""

from __future__ import annotations

from xdsl.dialects import func
from xdsl.dialects.builtin import IntegerAttr, MemRefType, StringAttr

from mlirad.analysis.memory import GIL, GUFUNC, GUFUNC_MEMORY, NATIVE
from mlirad.contract.gufunc_loops import CLEAR, FE_INVALID, TEST, core_labels, label_order
from mlirad.contract.native_functions import data_of, floating
from mlirad.dialect.core.types import from_location
from mlirad.targets.cpu.call_context import MEMORY_ERROR
from mlirad.targets.cpu.emit.descriptor import address, is_literal, part_types, to_parts
from mlirad.targets.cpu.emit.function import FunctionEmitter
from mlirad.targets.cpu.emit.llvm_types import byte_size
from mlirad.targets.cpu.emit.polling import charge
from mlirad.targets.cpu.manifest import ErrorEntry

_LEAST_MEMORY = 1 << 14
"""The bytes that a loop may allocate for matrices of any size."""


def call_native(e: FunctionEmitter, op: func.CallOp) -> None:
    """A call of a C function; with the interpreter's lock if it needs it. An error that it reports ends the kernel."""
    name, signature = op.attributes[NATIVE], op.attributes.get(GUFUNC)
    assert isinstance(name, StringAttr)
    work, *operands = op.arguments
    arguments: list[tuple[str, str]] = []
    widths: list[int] = []
    while operands:
        value = operands.pop(0)
        if isinstance(value.type, MemRefType):
            rank = value.type.get_num_dims()
            place, operands = e.words(operands[:rank]), operands[rank:]
            arguments.append(("ptr", address(e, e.memref(value), place)))
            widths.append(byte_size(value.type.element_type))
        else:
            arguments += to_parts(e.value(value), value.type)
    if isinstance(signature, StringAttr):
        memory = op.attributes[GUFUNC_MEMORY]
        assert isinstance(memory, IntegerAttr)
        _call_loop(e, name.data, signature.data, [word for _, word in arguments], widths, memory.value.data)
    else:
        _call(e, op, arguments)
    if op in e.polling.moves:
        charge(e, e.word(work))


def _call(e: FunctionEmitter, op: func.CallOp, arguments: list[tuple[str, str]]) -> None:
    """A call of a C function with these arguments."""
    name, error, message = (op.attributes.get(key) for key in (NATIVE, "mlirad.error", "mlirad.message"))
    assert isinstance(name, StringAttr)
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


def _call_loop(e: FunctionEmitter, name: str, signature: str, words: list[str], widths: list[int], memory: int) -> None:
    """A call of a gufunc's loop for one part. words: the operands and results, the address of the failure flag if it
    may fail, and the sizes; widths: the bytes of an element of each of these arrays.

    A loop without memory for its work takes the interpreter's lock to raise an exception, and leaves its results
    unchanged. The call could not notice that, and another thread may hold the lock while it waits for this one. So the
    memory is checked before the call.
    """
    operands, results = core_labels(signature)
    labels = operands + results
    pointers, flags, sizes = words[: len(labels)], words[len(labels) : len(widths)], words[len(widths) :]
    known = dict(zip(label_order(signature), sizes, strict=True))
    steps = ["0"] * len(labels)
    for own, width in zip(labels, widths, strict=False):
        strides = [str(width)][: len(own)]
        for label in reversed(own[1:]):
            strides.insert(0, _product(e, strides[0], known[label]))
        steps += strides
    total = "0"
    for own, width in zip(labels, widths, strict=False):
        size = str(width * memory)
        for label in own:
            size = _product(e, size, known[label])
        total = _sum(e, total, size)
    has_memory = e.module.use_runtime("mlirad.has_memory")
    e.require(e.assign(f"call i1 {has_memory}(i64 {_sum(e, total, str(_LEAST_MEMORY))})"), MEMORY_ERROR)
    lists = [_listed(e, type, each) for type, each in (("ptr", pointers), ("i64", ["1", *sizes]), ("i64", steps))]
    loop = e.module.declare(name, f"declare void @{name}(ptr, ptr, ptr, ptr) nounwind")
    if flags:
        _floating(e, CLEAR)
    taken = data_of(name)
    data = "null" if taken is None else e.module.declare(taken, f"@{taken} = external global i8")
    e.line(f"call void {loop}({', '.join(f'ptr {each}' for each in lists)}, ptr {data})")
    for flag in flags:
        failed = e.assign(f"icmp ne i32 {_floating(e, TEST)}, 0")
        e.line(f"store i64 {e.assign(f'zext i1 {failed} to i64')}, ptr {flag}, align 8")


def _floating(e: FunctionEmitter, function: str) -> str:
    """The answer of a function of C's `fenv.h` about the floating-point exception that loops raise."""
    name = floating(function)
    return e.assign(f"call i32 {e.module.declare(name, f'declare i32 @{name}(i32) nounwind')}(i32 {FE_INVALID})")


def _product(e: FunctionEmitter, x: str, y: str) -> str:
    return str(int(x) * int(y)) if is_literal(x) and is_literal(y) else e.assign(f"mul i64 {x}, {y}")


def _sum(e: FunctionEmitter, x: str, y: str) -> str:
    return str(int(x) + int(y)) if is_literal(x) and is_literal(y) else e.assign(f"add i64 {x}, {y}")


def _listed(e: FunctionEmitter, type: str, words: list[str]) -> str:
    """Stack memory of the function with these words in it."""
    memory = f"%{e.fresh('list')}"
    e.allocas.append(f"  {memory} = alloca [{len(words)} x {type}], align 8")
    for number, word in enumerate(words):
        place = e.assign(f"getelementptr inbounds {type}, ptr {memory}, i64 {number}")
        e.line(f"store {type} {word}, ptr {place}, align 8")
    return memory
