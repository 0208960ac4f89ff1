"""Reads: func.func, call, return. Writes: LLVM functions. Leaves: no func op.

A function `f` becomes `mlirad.body.f`, which takes its arguments in registers. A public function also becomes
`mlirad.entry.f`, the ABI: `i32 (ptr context, ptr slots)`, which takes them from 64-bit slots. Both return 0, or an
error code.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod

from xdsl.dialects import func, memref, scf
from xdsl.dialects.builtin import DictionaryAttr, IntegerAttr, MemRefType, StringAttr, VectorType
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue

from mlirad.analysis.call_graph import WRITTEN
from mlirad.analysis.memory import NATIVE
from mlirad.contract.call_recipes import PassedValue
from mlirad.dialect.core.types import from_location
from mlirad.dialect.effects.print_op import printed_by
from mlirad.dialect.ops.check import CHECK
from mlirad.errors import TargetError
from mlirad.lowering.to_buffers.plan_arena import needed_bytes
from mlirad.targets.cpu.call_context import (
    ARENA,
    BUDGET,
    ERROR_ARGUMENT_0,
    ERROR_ARGUMENT_1,
    FIRST_BUDGET,
    MEMORY_ERROR,
    PEAK,
    STACK_BOTTOM,
    STACK_BYTES,
    STACK_LIMIT,
    USED,
)
from mlirad.targets.cpu.emit import polling
from mlirad.targets.cpu.emit.descriptor import MemRef, facts_of, from_parts, part_types, row_major, to_parts
from mlirad.targets.cpu.emit.duration import is_long
from mlirad.targets.cpu.emit.function import FunctionEmitter, ModuleEmitter, Rule, ops_in, quoted, symbol
from mlirad.targets.cpu.emit.leaf_function import call_leaf
from mlirad.targets.cpu.emit.llvm_types import alignment, byte_size, element_name, memory_type
from mlirad.targets.cpu.emit.memref import ALIGNMENT, from_memory
from mlirad.targets.cpu.emit.native_call import call_native
from mlirad.targets.cpu.emit.print_call import emit_print
from mlirad.targets.cpu.emit.scf import may_release
from mlirad.targets.cpu.emit.separate.results_on_stack import load_results, results_on_stack, store_results
from mlirad.targets.cpu.emit.separate.separate_loops import find_separate_loops
from mlirad.targets.cpu.emit.vectorized_loops import find_vectorized_loops, note_what_is_left
from mlirad.targets.cpu.manifest import EntrySignature, ErrorEntry

_GROW = "mlirad_grow_"
# With more buffers than this, the alias lists would cost more than they gain.
_MOST_SCOPES = 32


def _attribute(attributes: DictionaryAttr | None, name: str) -> int | None:
    value = attributes.data.get(name) if attributes is not None else None
    return value.value.data if isinstance(value, IntegerAttr) else None


def arena_size(op: func.FuncOp) -> int:
    value = op.attributes.get("mlirad.arena_size")
    return value.value.data if isinstance(value, IntegerAttr) else 0


# the signature


def _passed_value(
    type: Attribute, result: int | None, *, is_written: bool = False, is_output: bool = False
) -> PassedValue:
    if isinstance(type, VectorType):
        raise TargetError(f"a {type} crosses the boundary of a function")
    if not isinstance(type, MemRefType):
        return PassedValue(element_name(type), None, result)
    facts = facts_of(type)
    if facts.strides is not None:
        raise TargetError(f"an array crosses the boundary of a function with the layout {type.layout}")
    shape = tuple(-1 if size is None else size for size in facts.sizes)
    return PassedValue(element_name(facts.element), shape, result, is_written, is_output)


def signature(op: func.FuncOp, functions: Mapping[str, func.FuncOp], *, has_arena: bool) -> EntrySignature:
    """The data that a caller needs about a public function. functions: all functions defined in the module."""
    arena = arena_size(op) if has_arena else 0
    name, types = op.sym_name.data, op.function_type
    attributes: Sequence[DictionaryAttr | None] = (
        op.arg_attrs.data if op.arg_attrs is not None else [None] * len(types.inputs)
    )
    arguments: list[PassedValue] = []
    for type, attribute in zip(types.inputs, attributes, strict=True):
        written, result = _attribute(attribute, WRITTEN), _attribute(attribute, "mlirad.result")
        number = written if result is None else result
        arguments.append(_passed_value(type, number, is_written=written is not None, is_output=result is not None))
    taken = {passed.result for passed in arguments} - {None}
    free = (number for number in range(len(taken) + len(types.outputs)) if number not in taken)
    returns = tuple(_passed_value(type, next(free)) for type in types.outputs)
    return EntrySignature(name, symbol("entry", name), tuple(arguments), returns, arena, is_long(op, functions))


# functions


def emit_func(module: ModuleEmitter, op: func.FuncOp, called: set[str], attributes: str) -> None:
    """Add a function's body, and its entry point if it is public."""
    is_public = op.sym_visibility is None or op.sym_visibility.data == "public"
    is_called = op.sym_name.data in called
    ops, block = ops_in(op), op.body.block
    e = FunctionEmitter(module, polling.polling_of(op, ops, called, set(module.functions)))
    _find_releasing_loops(e, op, ops)
    find_vectorized_loops(e, op, ops)
    if len(module.functions) == 1:
        e.separate = find_separate_loops(e, ops)
    note_what_is_left(e, ops)
    e.polling.calls |= any(polling.is_watched(e.polling, [loop, *ops_in(loop)]) for loop in e.separate)
    scopes = _arena_scopes(e, ops)
    # Only the entry point guarantees disjoint arguments; a call inside the module may pass one array twice.
    noalias = "noalias " if is_public and not is_called else ""
    e.name, e.attributes = op.sym_name.data, attributes
    parameters = ["ptr noalias %ctx", "ptr noalias %results"]
    if not is_called:
        parameters.append(f"ptr noalias align {ALIGNMENT} %arena")
    words: list[str] = []
    for argument in block.args:
        for position, part in enumerate(part_types(argument.type)):
            word = f"%a{len(words)}"
            words.append(word)
            is_pointer = position == 0 and isinstance(argument.type, MemRefType)
            parameters.append(f"{part} {_pointer_facts(argument.type, noalias) if is_pointer else ''}{word}")
    e.distinct = frozenset(words) if noalias else frozenset()
    supply = iter(words)
    for argument in block.args:
        e.bind(argument, from_parts(e, argument.type, supply))
    polling.begin(e)
    if is_called:
        _take_memory(e, op)
    e.run(block)
    name = quoted(symbol("body", op.sym_name.data))
    module.chunks.append(e.text(f"define internal i32 {name}({', '.join(parameters)}) {attributes}"))
    module.scopes += scopes
    module.chunks += e.footnotes
    if is_public:
        entry = signature(op, module.functions, has_arena=not is_called)
        module.entries[entry.name] = entry
        module.chunks.append(_entry_text(module, op, name, attributes, has_arena=not is_called))


def _take_memory(e: FunctionEmitter, op: func.FuncOp) -> None:
    """A function with callers in the module takes a block of memory as its arena, and gives back all memory that it has
    taken. (Its caller does, if the results may be in it.)"""
    if not _has_array_results(op):
        e.mark = _mark(e)
    if size := arena_size(op):
        e.line(f"%arena = call ptr {e.module.use_runtime('mlirad.alloc')}(ptr %ctx, i64 {size})")
        e.require_memory("%arena")


def _pointer_facts(type: Attribute, noalias: str) -> str:
    assert isinstance(type, MemRefType)
    size = byte_size(type.element_type)
    facts = f"{noalias}nonnull noundef align {alignment(type.element_type)} "
    sizes = facts_of(type).sizes
    known = prod(s for s in sizes if s is not None) * size if None not in sizes else 0
    return facts + (f"dereferenceable({known}) " if known else "")


def _entry_text(module: ModuleEmitter, op: func.FuncOp, body: str, attributes: str, *, has_arena: bool) -> str:
    """The ABI: load the arguments from their slots, set up the call's memory and stack limit, call the body."""
    e = FunctionEmitter(module)
    fields = {name: e.assign(f"getelementptr i8, ptr %ctx, i64 {at}") for name, at in _FIELDS.items()}
    e.line(f"store i64 0, ptr {fields['used']}, align 8")
    e.line(f"store i64 0, ptr {fields['peak']}, align 8")
    e.line(f"store i64 {FIRST_BUDGET}, ptr {fields['budget']}, align 8")
    frame = e.module.declare("llvm.frameaddress.p0", "declare ptr @llvm.frameaddress.p0(i32 immarg)")
    here = e.assign(f"call ptr {frame}(i32 0)")
    known = e.assign(f"load ptr, ptr {fields['bottom']}, align 8")
    guess = e.assign(f"getelementptr i8, ptr {here}, i64 -{STACK_BYTES}")
    is_known = e.assign(f"icmp ne ptr {known}, null")
    e.line(f"store ptr null, ptr {fields['bottom']}, align 8")
    limit = e.assign(f"select i1 {is_known}, ptr {known}, ptr {guess}")
    e.line(f"store ptr {limit}, ptr {fields['limit']}, align 8")
    arena = [f"ptr {e.assign('load ptr, ptr ' + fields['arena'] + ', align 8')}"] if has_arena else []
    loaded: list[str] = []
    place = 0
    for argument in op.body.block.args:
        for part in part_types(argument.type):
            pointer = e.assign(f"getelementptr i64, ptr %slots, i64 {place}")
            place += 1
            memory = memory_type(argument.type) if part == "i1" else part
            word = e.assign(f"load {memory}, ptr {pointer}, align 8")
            loaded.append(f"{part} {from_memory(e, word, argument.type) if part == 'i1' else word}")
    results = e.assign(f"getelementptr i64, ptr %slots, i64 {place}")
    arguments = ", ".join(["ptr %ctx", f"ptr {results}", *arena, *loaded])
    e.line(f"ret i32 {e.assign(f'call i32 {body}({arguments})')}")
    name = quoted(symbol("entry", op.sym_name.data))
    return e.text(f"define i32 {name}(ptr noalias %ctx, ptr noalias %slots) {attributes}")


_FIELDS = {"used": USED, "peak": PEAK, "budget": BUDGET, "limit": STACK_LIMIT, "bottom": STACK_BOTTOM, "arena": ARENA}


_MEMORY = frozenset({func.CallOp, memref.AllocOp, memref.AllocaOp})


def _is_dynamic_memory(op: Operation) -> bool:
    if isinstance(op, func.CallOp):
        return op.callee.string_value().startswith(_GROW)
    return isinstance(op, (memref.AllocOp, memref.AllocaOp)) and "mlirad.offset" not in op.attributes


def _find_releasing_loops(e: FunctionEmitter, function: func.FuncOp, ops: Sequence[Operation]) -> None:
    """Find the loops that free memory after each trip: those that allocate and carry no array."""
    for op in ops:
        if op.__class__ not in _MEMORY or not _is_dynamic_memory(op):
            continue
        parent = op.parent_op()
        while parent is not None and parent is not function and parent not in e.releasing:
            if isinstance(parent, (scf.ForOp, scf.WhileOp)) and may_release(parent):
                e.releasing.add(parent)
            parent = parent.parent_op()


def _arena_scopes(e: FunctionEmitter, ops: Sequence[Operation]) -> list[str]:
    """Tell LLVM which arena buffers are disjoint, by metadata on the accesses through them."""
    buffers: list[tuple[SSAValue, int, int]] = []
    for op in ops:
        offset = op.attributes.get("mlirad.offset") if op.__class__ is memref.AllocOp else None
        if isinstance(offset, IntegerAttr) and isinstance(op, memref.AllocOp):
            start = offset.value.data
            buffers.append((op.memref, start, start + needed_bytes(op)))
    if not 1 < len(buffers) <= _MOST_SCOPES:
        return []
    domain = e.module.metadata_nodes(1 + 3 * len(buffers))
    scope = domain + 1
    lists = scope + len(buffers)
    lines = [f"!{domain} = distinct !{{!{domain}}}"]
    for number, (value, start, end) in enumerate(buffers):
        lines.append(f"!{scope + number} = distinct !{{!{scope + number}, !{domain}}}")
        others = [scope + k for k, (_, a, b) in enumerate(buffers) if b <= start or end <= a]
        own, disjoint = lists + 2 * number, lists + 2 * number + 1
        lines.append(f"!{own} = !{{!{scope + number}}}")
        lines.append(f"!{disjoint} = !{{{', '.join(f'!{k}' for k in others)}}}")
        e.arena_scopes[value] = f", !alias.scope !{own}" + (f", !noalias !{disjoint}" if others else "")
    return lines


def emit_return(e: FunctionEmitter, op: func.ReturnOp) -> None:
    """Write the results to their slots."""
    if e.is_task:
        e.line("ret void")
        return
    polling.end(e)
    if e.mark is not None:
        _give_back(e, e.mark)
    store_results(e, op.arguments)
    e.line("ret i32 0")


# calls


def emit_call(e: FunctionEmitter, op: func.CallOp) -> None:
    name = op.callee.string_value()
    if NATIVE in op.attributes:
        call_native(e, op)
        return
    if (printed := printed_by(op)) is not None:
        emit_print(e, op, printed)
        return
    if name in e.module.functions:
        _call_defined(e, op, e.module.functions[name])
        return
    if name in e.module.leaves:
        call_leaf(e, op)
        return
    rule = EXTERNALS.get(name) or next((r for prefix, r in PREFIXES.items() if name.startswith(prefix)), None)
    if rule is None:
        raise TargetError(f"the cpu target does not know the function @{name}")
    rule(e, op)


def _call_defined(e: FunctionEmitter, op: func.CallOp, callee: func.FuncOp) -> None:
    """A call inside the module: its results are passed on the stack, its error is passed on."""
    if callee.sym_name.data in e.module.recursive:
        _require_stack(e, op)
    mark = _mark(e) if _has_array_results(callee) else None
    results = results_on_stack(e, [result.type for result in op.res])
    arguments = [("ptr", "%ctx"), ("ptr", results)]
    for value in op.arguments:
        arguments += to_parts(e.value(value), value.type)
    listed = ", ".join(f"{type} {word}" for type, word in arguments)
    code = e.assign(f"call i32 {quoted(symbol('body', callee.sym_name.data))}({listed})")
    e.require(e.assign(f"icmp eq i32 {code}, 0"), code)
    load_results(e, op.res, results)
    if mark is not None:
        _give_back(e, mark, [e.memref(result).pointer for result in op.res if isinstance(result.type, MemRefType)])


def _has_array_results(op: func.FuncOp) -> bool:
    return any(isinstance(type, MemRefType) for type in op.function_type.outputs)


def _require_stack(e: FunctionEmitter, op: func.CallOp) -> None:
    """Recursive calls may be arbitrarily deep."""
    limit = e.assign(f"load ptr, ptr {e.assign(f'getelementptr i8, ptr %ctx, i64 {STACK_LIMIT}')}, align 8")
    frame = e.module.declare("llvm.frameaddress.p0", "declare ptr @llvm.frameaddress.p0(i32 immarg)")
    here = e.assign(f"call ptr {frame}(i32 0)")
    error = ErrorEntry("RecursionError", "maximum recursion depth exceeded", from_location(op.location))
    too_deep = e.module.error_code(error)
    e.require(e.assign(f"icmp ugt ptr {here}, {limit}"), too_deep)


def _mark(e: FunctionEmitter) -> str:
    """How many blocks of the call's memory are in use."""
    return e.assign(f"load i64, ptr {_used(e)}, align 8")


def _used(e: FunctionEmitter) -> str:
    return e.assign(f"getelementptr i8, ptr %ctx, i64 {USED}")


def _give_back(e: FunctionEmitter, mark: str, arrays: Sequence[str] = ()) -> None:
    """Free the memory taken since the mark, unless one of these arrays is in it."""
    used = _used(e)
    if not arrays:
        e.line(f"store i64 {mark}, ptr {used}, align 8")
        return
    # Most calls have taken nothing.
    taken, settled = e.fresh("taken"), e.fresh("settled")
    now = e.assign(f"load i64, ptr {used}, align 8")
    is_same = e.assign(f"icmp eq i64 {now}, {mark}")
    e.line(f"br i1 {is_same}, label %{settled}, label %{taken}, !prof !0")
    e.label(taken)
    kept = mark
    for pointer in arrays:
        is_older = e.assign(f"call i1 {e.module.use_runtime('mlirad.is_older')}(ptr {pointer}, i64 {mark})")
        kept = e.assign(f"select i1 {is_older}, i64 {kept}, i64 {now}")
    e.line(f"store i64 {kept}, ptr {used}, align 8")
    e.branch(settled)
    e.label(settled)


def emit_check(e: FunctionEmitter, op: func.CallOp) -> None:
    """@mlirad_check(ok, i, j): if not ok, store i and j for the message and return this check's code."""
    kind, message = op.attributes.get("mlirad.error"), op.attributes.get("mlirad.message")
    if not (isinstance(kind, StringAttr) and isinstance(message, StringAttr)):
        raise TargetError(f"a call of @{CHECK} lacks mlirad.error or mlirad.message")
    code = e.module.error_code(ErrorEntry(kind.data, message.data, from_location(op.location)))
    ok, *arguments = e.words(op.arguments)
    e.require(ok, code, tuple(zip((ERROR_ARGUMENT_0, ERROR_ARGUMENT_1), arguments, strict=False)))


def emit_grow(e: FunctionEmitter, op: func.CallOp) -> None:
    """@mlirad_grow_T(array, k): the array with room for element k. If its size changes, it at least doubles."""
    array, needed = op.arguments
    owner = array.block.parent_op() if isinstance(array, BlockArgument) else None
    if isinstance(owner, func.FuncOp) and (owner.sym_visibility is None or owner.sym_visibility.data == "public"):
        raise TargetError("an argument's memory is the caller's, and cannot grow")
    source = e.memref(array)
    (size,), word = source.sizes, e.word(needed)
    element = byte_size(source.element)
    before, grow, after = e.current, e.fresh("grow"), e.fresh("grown")
    fits = e.assign(f"icmp slt i64 {word}, {size}")
    e.line(f"br i1 {fits}, label %{after}, label %{grow}, !prof !0")
    e.label(grow)
    # Below 2**56, neither the sum nor the product can wrap to a small number.
    e.require(e.assign(f"icmp ult i64 {word}, {1 << 56}"), MEMORY_ERROR)
    least = e.assign(f"add nuw nsw i64 {word}, 16")
    twice = e.assign(f"shl i64 {size}, 1")
    wider = e.intrinsic("llvm.umax.i64", "i64", [("i64", least), ("i64", twice)])
    old = e.assign(f"mul i64 {size}, {element}")
    new = e.assign(f"mul i64 {wider}, {element}")
    callee = e.module.use_runtime("mlirad.grow")
    pointer = e.assign(f"call ptr {callee}(ptr %ctx, ptr {source.pointer}, i64 {old}, i64 {new})")
    e.require_memory(pointer)
    end = e.current
    e.branch(after)
    e.label(after)
    pointers, sizes = e.phi("ptr"), e.phi("i64")
    for label, address, dim in ((before, source.pointer, size), (end, pointer, wider)):
        e.incoming(pointers, address, label)
        e.incoming(sizes, dim, label)
    dims = (sizes.name,)
    e.bind(op.res[0], MemRef(source.element, pointers.name, "0", dims, row_major(e, dims)))


CallRule = Callable[[FunctionEmitter, func.CallOp], None]

EXTERNALS: dict[str, CallRule] = {CHECK: emit_check}
PREFIXES: dict[str, CallRule] = {_GROW: emit_grow}

RULES: dict[type[Operation], Rule] = {
    func.CallOp: emit_call,
    func.ReturnOp: emit_return,
}
