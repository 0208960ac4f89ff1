"""The code behind a kernel's call: LLVM IR that runs call plans, as a method of CPython's C API (METH_FASTCALL).

Reads: a kernel's table of plans, and what the call passes. Writes: LLVM IR text. Leaves: to the slow path, a Python
method of the kernel, each call that fits no plan.

It is made once per process, for all kernels: a plan is data, a list of steps over registers that hold Python objects.
The first registers are the arguments of the call; a step that finds or makes an object pushes it. Nothing that a plan
does before its step RUN can be seen from outside, so that any mismatch may start anew with the next plan; after it
there are only results and exceptions.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import contextmanager
from typing import Any

from llvmlite import ir

from mlirad.targets.calls import ARRAY_FLAGS, Comparison, Op, Spec
from mlirad.targets.cpu.call_layout import (
    API,
    CALL,
    CELL_CONTENT,
    CONSTANTS,
    DATA,
    DIMENSIONS,
    DTYPE,
    FLAGS,
    FLOAT_VALUE,
    ITEMS,
    NDIM,
    SIZE,
    STEP_BYTES,
    STRUCT_BUFFER,
    TUPLE_ITEMS,
    TYPE,
    Constant,
    Plan,
    Table,
)
from mlirad.targets.cpu.runtime import STACK_BOTTOM

_P, _I64, _I32, _VOID = ir.PointerType(), ir.IntType(64), ir.IntType(32), ir.VoidType()

_TYPES = {"p": _P, "l": _I64, "i": _I32, "d": ir.DoubleType(), "v": _VOID}
_EQ = 2


def machine_text(table_offset: int) -> str:
    """The IR. table_offset: where, in a kernel, the reference to its table stands."""
    module = ir.Module()
    constants = ir.GlobalVariable(module, _P, CONSTANTS)
    constants.linkage = "external"
    api = {name: ir.Function(module, _function_type(types), name) for name, types in API.items()}
    attempt = ir.Function(module, ir.FunctionType(_I32, (_P, _P, _I64, _P, _P)), "mlirad.attempt")
    attempt.linkage = "internal"
    _Attempt(attempt, api, constants).write()
    call = ir.Function(module, ir.FunctionType(_P, (_P, _P, _I64, _P)), CALL)
    _Writer(call, api, constants).write_call(attempt, table_offset)
    for function in (attempt, call):
        function.attributes.add("uwtable")
        function.attributes.add("nounwind")
    return str(module)


def _function_type(types: str) -> ir.FunctionType:
    result, *arguments = (_TYPES[each] for each in types)
    return ir.FunctionType(result, arguments)


class _Writer:
    """llvmlite's builder, with the few phrases that are wanted here."""

    def __init__(self, function: ir.Function, api: dict[str, ir.Function], constants: ir.GlobalVariable):
        self.function, self._api, self._constants = function, api, constants
        self.b = ir.IRBuilder(function.append_basic_block("entry"))

    def api(self, name: str, *arguments: Any) -> Any:
        return self.b.call(self._api[name], arguments)

    def i64(self, value: int) -> ir.Constant:
        return ir.Constant(_I64, value)

    null = ir.Constant(_P, None)

    def at(self, base: Any, offset: Any) -> Any:
        """The address `offset` bytes on."""
        place = self.i64(offset) if isinstance(offset, int) else offset
        return self.b.gep(base, [place], source_etype=ir.IntType(8))

    def load(self, base: Any, offset: Any = 0, type: ir.Type = _P) -> Any:
        return self.b.load(self.at(base, offset), typ=type)

    def element(self, base: Any, index: Any, type: ir.Type = _P) -> Any:
        return self.b.load(self.place(base, index), typ=type)

    def place(self, base: Any, index: Any) -> Any:
        return self.b.gep(base, [index], source_etype=_I64)

    def constant(self, which: Constant) -> Any:
        return self.load(self._constants, 8 * which)

    def is_null(self, value: Any) -> Any:
        return self.b.icmp_unsigned("==", value, self.null)

    def same(self, a: Any, b: Any) -> Any:
        return self.b.icmp_unsigned("==", a, b)

    def variable(self, type: ir.Type, value: Any) -> Any:
        with self.b.goto_entry_block():
            made = self.b.alloca(type)
        self.b.store(value, made)
        return made

    def is_over(self) -> bool:
        """Whether the block that is written has its end."""
        block = self.b.block
        return block is None or block.is_terminated

    @contextmanager
    def counted(self, count: Any, start: Any = None) -> Any:
        """A loop from `start` (0) to `count`; gives the index."""
        b = self.b
        index = self.variable(_I64, self.i64(0) if start is None else start)
        head, body, done = (self.function.append_basic_block(name) for name in ("head", "body", "done"))
        b.branch(head)
        b.position_at_end(head)
        now = b.load(index, typ=_I64)
        b.cbranch(b.icmp_signed("<", now, count), body, done)
        b.position_at_end(body)
        yield now
        if not self.is_over():
            b.store(b.add(now, self.i64(1)), index)
            b.branch(head)
        b.position_at_end(done)

    def write_call(self, attempt: ir.Function, table_offset: int) -> None:
        """Try the plans in turn, the last used one first; then the slow path."""
        b = self.b
        kernel, arguments, count, names = self.function.args
        slow = self.function.append_basic_block("slow")
        result = self.variable(_P, self.null)
        index = self.variable(_I64, self.i64(0))
        holder = self.load(kernel, table_offset)
        is_none = b.or_(self.same(holder, self.constant(Constant.NONE)), self.is_null(holder))
        look, head, test, hit = (self.function.append_basic_block(n) for n in ("look", "head", "test", "hit"))
        b.cbranch(is_none, slow, look)
        b.position_at_end(look)
        table = self.load(holder, STRUCT_BUFFER)
        b.branch(head)
        b.position_at_end(head)
        now = b.load(index, typ=_I64)
        b.cbranch(b.icmp_signed("<", now, self.load(table, 8 * Table.COUNT, _I64)), test, slow)
        b.position_at_end(test)
        plans = self.at(table, 8 * Table.PLANS)
        plan = self.element(plans, now)
        took = b.call(attempt, [plan, arguments, count, names, result])
        b.store(b.add(now, self.i64(1)), index)
        b.cbranch(b.icmp_signed("!=", took, ir.Constant(_I32, 0)), hit, head)
        b.position_at_end(hit)
        hits = self.load(table, 8 * Table.HITS, _I64)
        b.store(b.add(hits, self.i64(1)), self.at(table, 8 * Table.HITS))
        # The call may have changed the table.
        is_there = b.icmp_signed("<", now, self.load(table, 8 * Table.COUNT, _I64))
        moves = b.and_(
            b.and_(is_there, b.icmp_signed(">", now, self.i64(0))), self.same(self.element(plans, now), plan)
        )
        with b.if_then(moves), self.counted(now) as k:
            place = b.sub(now, k)
            b.store(self.element(plans, b.sub(place, self.i64(1))), self.place(plans, place))
        with b.if_then(moves):
            b.store(plan, plans)
        b.ret(b.load(result, typ=_P))
        b.position_at_end(slow)
        method = self.api("PyObject_GetAttr", kernel, self.constant(Constant.SLOW))
        with b.if_then(self.is_null(method)):
            b.ret(self.null)
        made = self.api("PyObject_Vectorcall", method, arguments, count, names)
        self.api("Py_DecRef", method)
        b.ret(made)


class _Attempt(_Writer):
    """`i32 (plan, arguments, count, names, ptr result)`: 0 where the plan does not fit, else 1 and the result."""

    def write(self) -> None:
        b = self.b
        self.plan, arguments, count, names, self.result = self.function.args
        self.refused = self.function.append_basic_block("refused")
        with b.goto_block(self.refused):
            b.ret(ir.Constant(_I32, 0))
        total = self._require_shape(count, names)
        self.registers = b.alloca(_P, self.field(Plan.REGISTERS, _I64))
        self.slots = b.alloca(_I64, self.field(Plan.SLOTS, _I64))
        self.bounds = b.alloca(_I64, b.shl(self.field(Plan.ARRAYS, _I64), self.i64(1)))
        with self.counted(total) as k:
            b.store(self.element(arguments, k), self.place(self.registers, k))
        self.top = self.variable(_I64, total)
        self.first = total
        self.pc = self.variable(_P, self.field(Plan.STEPS))
        self.owner = self.field(Plan.OWNER)
        self.api("Py_IncRef", self.owner)
        blocks = {
            name: self.function.append_basic_block(name) for name in ("mismatch", "unset", "error", "next", "head")
        }
        self.blocks = blocks
        b.branch(blocks["head"])
        b.position_at_end(blocks["head"])
        self.step = b.load(self.pc, typ=_P)
        nowhere = self.function.append_basic_block("nowhere")
        switch = b.switch(self.load(self.step, 0, _I64), nowhere)
        b.position_at_end(nowhere)
        b.unreachable()
        for op in Op:
            block = self.function.append_basic_block(op.name.lower())
            switch.add_case(self.i64(op), block)
            b.position_at_end(block)
            _STEPS[op](self)
            if not self.is_over():
                b.branch(blocks["next"])
        b.position_at_end(blocks["next"])
        b.store(self.at(self.step, STEP_BYTES), self.pc)
        b.branch(blocks["head"])
        self._write_ends()

    def field(self, which: Plan, type: ir.Type = _P) -> Any:
        return self.load(self.plan, 8 * which, type)

    def operand(self, name: str) -> Any:
        return self.load(self.step, 8 * (1 + "abcpq".index(name)), _P if name in "pq" else _I64)

    def register(self, name: str = "a") -> Any:
        return self.element(self.registers, self.operand(name))

    def _require_shape(self, count: Any, names: Any) -> Any:
        """As many arguments, and the same keywords. How many arguments there are in all."""
        b = self.b
        positional, keywords = self.field(Plan.POSITIONAL, _I64), self.field(Plan.KEYWORDS, _I64)
        self.require(b.icmp_signed("==", count, positional), self.refused)
        given = self.variable(_I64, self.i64(0))
        with b.if_then(b.not_(self.is_null(names))):
            b.store(self.load(names, SIZE, _I64), given)
        self.require(b.icmp_signed("==", b.load(given, typ=_I64), keywords), self.refused)
        wanted = self.field(Plan.NAMES)
        with self.counted(keywords) as k:
            same = self.same(self.element(self.at(names, TUPLE_ITEMS), k), self.element(wanted, k))
            self.require(same, self.refused)
        return b.add(positional, keywords)

    def require(self, ok: Any, otherwise: Any = None) -> None:
        """Go on if `ok`; else the plan does not fit."""
        after = self.function.append_basic_block("ok")
        self.b.cbranch(ok, after, self.blocks["mismatch"] if otherwise is None else otherwise)
        self.b.position_at_end(after)

    def require_found(self, value: Any) -> None:
        """A Python exception in a search means that the plan does not fit; the slow path meets it again."""
        self.require(self.b.not_(self.is_null(value)), self.blocks["unset"])

    def require_made(self, value: Any) -> None:
        """A Python exception is the call's."""
        self.require(self.b.not_(self.is_null(value)), self.blocks["error"])

    def push(self, value: Any, *, borrowed: bool = False) -> None:
        if borrowed:
            self.api("Py_IncRef", value)
        top = self.b.load(self.top, typ=_I64)
        self.b.store(value, self.place(self.registers, top))
        self.b.store(self.b.add(top, self.i64(1)), self.top)

    def pop_to(self, count: Any) -> Any:
        """Give up the last registers. The address of the first of them; what they refer to is the caller's now."""
        start = self.b.sub(self.b.load(self.top, typ=_I64), count)
        self.b.store(start, self.top)
        return self.place(self.registers, start)

    def _write_ends(self) -> None:
        b, blocks = self.b, self.blocks
        b.position_at_end(blocks["unset"])
        self.api("PyErr_Clear")
        b.branch(blocks["mismatch"])
        b.position_at_end(blocks["mismatch"])
        self.clear()
        b.ret(ir.Constant(_I32, 0))
        b.position_at_end(blocks["error"])
        b.store(self.null, self.result)
        self.clear()
        b.ret(ir.Constant(_I32, 1))

    def clear(self) -> None:
        with self.counted(self.b.load(self.top, typ=_I64), self.first) as k:
            self.api("Py_DecRef", self.element(self.registers, k))
        self.api("Py_DecRef", self.owner)

    # steps that find

    def unpack(self, *, is_list: bool) -> None:
        count = self.operand("b")
        container = self.check_type(self.constant(Constant.LIST) if is_list else self.operand("p"))
        self.require(self.b.icmp_signed("==", self.load(container, SIZE, _I64), count))
        items = self.load(container, ITEMS) if is_list else self.at(container, TUPLE_ITEMS)
        with self.counted(count) as k:
            self.push(self.element(items, k), borrowed=True)

    def unpack_dict(self) -> None:
        b = self.b
        container, count, keys = self.register(), self.operand("b"), self.operand("p")
        self.require(self.same(self.load(container, TYPE), self.constant(Constant.DICT)))
        self.require(b.icmp_signed("==", self.api("PyDict_Size", container), count))
        position = self.variable(_I64, self.i64(0))
        key, value = self.variable(_P, self.null), self.variable(_P, self.null)
        with self.counted(count) as k:
            more = self.api("PyDict_Next", container, position, key, value)
            self.require(b.icmp_signed("!=", more, ir.Constant(_I32, 0)))
            self.require(self.same(b.load(key, typ=_P), self.element(keys, k)))
            self.push(b.load(value, typ=_P), borrowed=True)

    def find_in_cell(self) -> None:
        content = self.load(self.operand("p"), CELL_CONTENT)
        self.require(self.b.not_(self.is_null(content)))
        self.push(content, borrowed=True)

    def find_global(self) -> None:
        b = self.b
        found = self.variable(_P, self.api("PyDict_GetItemWithError", self.operand("p"), self.operand("q")))
        with b.if_then(self.is_null(b.load(found, typ=_P))):
            others = self.constant(Constant.BUILTINS)
            b.store(self.api("PyDict_GetItemWithError", others, self.operand("q")), found)
        value = b.load(found, typ=_P)
        self.require_found(value)
        self.push(value, borrowed=True)

    def find(self, function: str) -> None:
        found = self.api(function, self.register(), self.operand("q"))
        self.require_found(found)
        self.push(found)

    def ask_python(self) -> None:
        answer = self.api("PyObject_CallNoArgs", self.operand("p"))
        self.require_found(answer)
        self.api("Py_DecRef", answer)  # True is nobody's
        self.require(self.same(answer, self.constant(Constant.TRUE)))

    # steps that check

    def check_same(self) -> None:
        b = self.b
        value, wanted, how = self.register(), self.operand("p"), self.operand("b")
        differs = self.function.append_basic_block("differs")
        b.cbranch(self.same(value, wanted), self.blocks["next"], differs)
        b.position_at_end(differs)
        self.require(self.same(self.load(value, TYPE), self.load(wanted, TYPE)))
        self.require(b.icmp_signed("!=", how, self.i64(Comparison.IDENTITY)))
        floats, others = self.function.append_basic_block("floats"), self.function.append_basic_block("others")
        b.cbranch(b.icmp_signed("==", how, self.i64(Comparison.BITS)), floats, others)
        b.position_at_end(floats)
        bits, wanted_bits = (self.load(each, FLOAT_VALUE, _I64) for each in (value, wanted))
        b.cbranch(b.icmp_signed("==", bits, wanted_bits), self.blocks["next"], self.blocks["mismatch"])
        b.position_at_end(others)
        equal = self.api("PyObject_RichCompareBool", value, wanted, ir.Constant(_I32, _EQ))
        self.require(b.icmp_signed("==", equal, ir.Constant(_I32, 1)), self.blocks["unset"])

    def check_type(self, wanted: Any) -> Any:
        value = self.register()
        self.require(self.same(self.load(value, TYPE), wanted))
        return value

    def check_array(self) -> None:
        b = self.b
        array = self.check_type(self.constant(Constant.NDARRAY))
        spec = self.operand("p")
        self.require(self.same(self.load(array, DTYPE), self.load(spec, 8 * Spec.DTYPE)))
        ndim = self.load(spec, 8 * Spec.NDIM, _I64)
        self.require(b.icmp_signed("==", self.load(array, NDIM, _I32), b.trunc(ndim, _I32)))
        # C-contiguous, aligned, writeable
        flags = b.and_(self.load(array, FLAGS, _I32), ir.Constant(_I32, ARRAY_FLAGS))
        self.require(b.icmp_signed("==", flags, b.trunc(self.load(spec, 8 * Spec.FLAGS, _I64), _I32)))
        dimensions, wanted = self.load(array, DIMENSIONS), self.at(spec, 8 * Spec.SIZES)
        with self.counted(ndim) as k:
            self.require(self.b.icmp_signed("==", self.element(dimensions, k, _I64), self.element(wanted, k, _I64)))
        data = b.ptrtoint(self.load(array, DATA), _I64)
        self.to_slot(data)
        place = self.operand("c")
        with b.if_then(b.icmp_signed(">=", place, self.i64(0))):
            at = b.shl(place, self.i64(1))
            end = b.add(data, self.load(spec, 8 * Spec.BYTES, _I64))
            # The lowest bit of an end tells of a write. Bounds are doubled to have room for it.
            b.store(b.shl(data, self.i64(1)), self.place(self.bounds, at))
            marked = b.or_(b.shl(end, self.i64(1)), self.load(spec, 8 * Spec.IS_WRITTEN, _I64))
            b.store(marked, self.place(self.bounds, b.add(at, self.i64(1))))

    def to_slot(self, bits: Any) -> None:
        slot = self.operand("b")
        with self.b.if_then(self.b.icmp_signed(">=", slot, self.i64(0))):
            self.b.store(bits, self.place(self.slots, slot))

    def take_float(self) -> None:
        self.to_slot(self.load(self.check_type(self.constant(Constant.FLOAT)), FLOAT_VALUE, _I64))

    def take_int(self) -> None:
        b = self.b
        overflow = self.variable(_I32, ir.Constant(_I32, 0))
        value = self.check_type(self.constant(Constant.INT))
        number = self.api("PyLong_AsLongLongAndOverflow", value, overflow)
        self.require(b.icmp_signed("==", b.load(overflow, typ=_I32), ir.Constant(_I32, 0)))
        self.to_slot(number)

    def take_bool(self) -> None:
        value = self.register()
        is_true = self.same(value, self.constant(Constant.TRUE))
        self.require(self.b.or_(is_true, self.same(value, self.constant(Constant.FALSE))))
        self.to_slot(self.b.zext(is_true, _I64))

    def take_number(self) -> None:
        value = self.check_type(self.operand("p"))
        at = self.place(self.slots, self.operand("b"))
        self.b.store(self.i64(0), at)
        self.api("PyArray_ScalarAsCtype", value, at)

    def make_array(self) -> None:
        dtype, ndim = self.operand("p"), self.b.trunc(self.operand("b"), _I32)
        self.api("Py_IncRef", dtype)  # which the next call takes
        array = self.api(
            "PyArray_NewFromDescr", self.constant(Constant.NDARRAY), dtype, ndim, self.operand("q"), self.null,
            self.null, ir.Constant(_I32, 0), self.null,
        )  # fmt: skip
        self.require_made(array)
        self.push(array)
        data = self.b.ptrtoint(self.load(array, DATA), _I64)
        self.b.store(data, self.place(self.slots, self.operand("a")))

    # the call

    def require_disjoint(self) -> None:
        """No array that is written shares memory with another one."""
        b = self.b
        count = self.field(Plan.ARRAYS, _I64)
        checks = b.icmp_signed("!=", self.field(Plan.CHECKS_OVERLAP, _I64), self.i64(0))
        with b.if_then(checks), self.counted(count) as i:
            low, high, marked = self._bounds(i)
            with b.if_then(b.icmp_signed("!=", marked, self.i64(0))), self.counted(count) as j:
                other_low, other_high, _ = self._bounds(j)
                meets = b.and_(b.icmp_unsigned("<", low, other_high), b.icmp_unsigned("<", other_low, high))
                self.require(b.not_(b.and_(meets, b.icmp_signed("!=", i, j))))

    def _bounds(self, index: Any) -> tuple[Any, Any, Any]:
        at = self.b.shl(index, self.i64(1))
        low = self.element(self.bounds, at, _I64)
        high = self.element(self.bounds, self.b.add(at, self.i64(1)), _I64)
        return low, self.b.and_(high, self.i64(-2)), self.b.and_(high, self.i64(1))

    def run(self) -> None:
        b = self.b
        self.require_disjoint()
        pool = self.field(Plan.CONTEXTS)
        idle = self.load(pool, SIZE, _I64)
        holder = self.variable(_P, self.null)
        with b.if_else(b.icmp_signed(">", idle, self.i64(0))) as (some, none):
            with some:
                last = b.sub(idle, self.i64(1))
                b.store(self.element(self.load(pool, ITEMS), last), holder)
                b.store(last, self.at(pool, SIZE))  # what the place refers to is ours now
            with none:
                b.store(self.api("PyObject_CallNoArgs", self.field(Plan.MAKE_CONTEXT)), holder)
        context = b.load(holder, typ=_P)
        self.require_made(context)
        address = self.load(context, STRUCT_BUFFER)
        self.set_stack_bottom(context, address)
        releases = b.icmp_signed("!=", self.field(Plan.RELEASES, _I64), self.i64(0))
        thread = self.variable(_P, self.null)
        with b.if_then(releases):
            b.store(self.api("PyEval_SaveThread"), thread)
        function = self.field(Plan.FUNCTION, ir.FunctionType(_I32, (_P, _P)).as_pointer())
        code = b.call(function, [address, self.slots])
        with b.if_then(releases):
            self.api("PyEval_RestoreThread", b.load(thread, typ=_P))
        with b.if_then(b.icmp_signed("!=", code, ir.Constant(_I32, 0)), likely=False):
            self.raise_for(code, context)
            self.give_back(pool, context)
            b.branch(self.blocks["error"])
        self.give_back(pool, context)

    def set_stack_bottom(self, context: Any, address: Any) -> None:
        """For a function that calls itself: how far down this thread's stack reaches, as Python knows it."""
        b = self.b
        ask = self.field(Plan.STACK_BOTTOM)
        with b.if_then(b.not_(self.is_null(ask))):
            answer = self.api("PyObject_CallNoArgs", ask)
            with b.if_then(self.is_null(answer)):
                self.give_back(self.field(Plan.CONTEXTS), context)
                b.branch(self.blocks["error"])
            with b.if_then(b.not_(self.same(answer, self.constant(Constant.NONE)))):
                b.store(self.api("PyLong_AsVoidPtr", answer), self.at(address, STACK_BOTTOM))
            self.api("Py_DecRef", answer)

    def give_back(self, pool: Any, context: Any) -> None:
        """Into the pool. Without memory for its list the context is freed, and the next call makes one."""
        failed = self.api("PyList_Append", pool, context)
        self.api("Py_DecRef", context)
        with self.b.if_then(self.b.icmp_signed("!=", failed, ir.Constant(_I32, 0)), likely=False):
            self.b.branch(self.blocks["error"])

    def raise_for(self, code: Any, context: Any) -> None:
        """The exception that Python makes of a code is set, unless making it raised another one."""
        b = self.b
        number = self.api("PyLong_FromLongLong", b.sext(code, _I64))
        with b.if_then(b.not_(self.is_null(number))):
            passed = b.alloca(_P, self.i64(2))
            b.store(number, passed)
            b.store(context, self.place(passed, self.i64(1)))
            made = self.api("PyObject_Vectorcall", self.field(Plan.EXCEPTION), passed, self.i64(2), self.null)
            self.api("Py_DecRef", number)
            with b.if_then(b.not_(self.is_null(made))):
                self.api("PyErr_SetObject", self.load(made, TYPE), made)
                self.api("Py_DecRef", made)

    # steps that make the result

    def make(self, function: str, *arguments: Any) -> None:
        made = self.api(function, *arguments)
        self.require_made(made)
        self.push(made)

    def slot(self, type_: ir.Type) -> Any:
        return self.element_of_slots(self.operand("b"), type_)

    def element_of_slots(self, number: Any, type_: ir.Type) -> Any:
        return self.b.load(self.place(self.slots, number), typ=type_)

    def make_sequence(self, new: str, put: str) -> None:
        count = self.operand("b")
        made = self.api(new, count)
        self.require_made(made)
        first = self.pop_to(count)
        with self.counted(count) as k:
            self.api(put, made, k, self.element(first, k))  # which takes the item
        self.push(made)

    def make_dict(self) -> None:
        b = self.b
        count, keys = self.operand("b"), self.operand("p")
        made = self.api("PyDict_New")
        self.require_made(made)
        failed = self.variable(_I32, ir.Constant(_I32, 0))
        first = self.pop_to(count)
        with self.counted(count) as k:
            value = self.element(first, k)
            status = self.api("PyDict_SetItem", made, self.element(keys, k), value)
            b.store(b.or_(b.load(failed, typ=_I32), status), failed)
            self.api("Py_DecRef", value)
        self.push(made)
        self.require(b.icmp_signed("==", b.load(failed, typ=_I32), ir.Constant(_I32, 0)), self.blocks["error"])

    def call_python(self) -> None:
        count = self.operand("b")
        start = self.b.sub(self.b.load(self.top, typ=_I64), count)
        first = self.place(self.registers, start)
        made = self.api("PyObject_Vectorcall", self.operand("p"), first, count, self.null)
        self.require_made(made)
        with self.counted(count) as k:
            self.api("Py_DecRef", self.element(first, k))
        self.b.store(start, self.top)
        self.push(made)

    def return_(self) -> None:
        self.b.store(self.b.load(self.pop_to(self.i64(1)), typ=_P), self.result)
        self.clear()
        self.b.ret(ir.Constant(_I32, 1))


_STEPS: dict[Op, Callable[[_Attempt], None]] = {
    Op.UNPACK: lambda m: m.unpack(is_list=False),
    Op.UNPACK_LIST: lambda m: m.unpack(is_list=True),
    Op.UNPACK_DICT: _Attempt.unpack_dict,
    Op.CELL: _Attempt.find_in_cell,
    Op.GLOBAL: _Attempt.find_global,
    Op.OBJECT: lambda m: m.push(m.operand("p"), borrowed=True),
    Op.ATTRIBUTE: lambda m: m.find("PyObject_GetAttr"),
    Op.ITEM: lambda m: m.find("PyObject_GetItem"),
    Op.PYTHON: _Attempt.ask_python,
    Op.SAME: _Attempt.check_same,
    Op.TYPE: lambda m: m.check_type(m.operand("p")) and None,
    Op.ARRAY: _Attempt.check_array,
    Op.FLOAT: _Attempt.take_float,
    Op.INT: _Attempt.take_int,
    Op.BOOL: _Attempt.take_bool,
    Op.NUMBER: _Attempt.take_number,
    Op.NEW: _Attempt.make_array,
    Op.RUN: _Attempt.run,
    Op.FLOAT_OF: lambda m: m.make("PyFloat_FromDouble", m.slot(ir.DoubleType())),
    Op.INT_OF: lambda m: m.make("PyLong_FromLongLong", m.slot(_I64)),
    Op.BOOL_OF: lambda m: m.make("PyBool_FromLong", m.b.and_(m.slot(_I64), m.i64(1))),
    Op.NUMBER_OF: lambda m: m.make("PyArray_Scalar", m.place(m.slots, m.operand("b")), m.operand("p"), m.null),
    Op.COPY: lambda m: m.push(m.register(), borrowed=True),
    Op.MAKE_TUPLE: lambda m: m.make_sequence("PyTuple_New", "PyTuple_SetItem"),
    Op.MAKE_LIST: lambda m: m.make_sequence("PyList_New", "PyList_SetItem"),
    Op.MAKE_DICT: _Attempt.make_dict,
    Op.CALL: _Attempt.call_python,
    Op.RETURN: _Attempt.return_,
}
