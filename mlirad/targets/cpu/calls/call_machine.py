"""The native code of a kernel's calls: LLVM IR that runs call plans, called by CPython's vectorcall protocol.

Reads: a kernel's table of plans, and the arguments of the call. Writes: LLVM IR text. Leaves: each call that fits no
plan to the slow path, the kernel's `__call__`.

The code is compiled once per process, for all kernels. A plan is data: a list of steps over registers that hold Python
objects. The first registers are the arguments of the call; a step that finds or creates an object pushes it. Before its
step RUN a plan has no visible effect, so after any mismatch the next plan is tried. After RUN, only results and
exceptions are created.
"""

from __future__ import annotations

from collections.abc import Callable

from llvmlite import ir

from mlirad.contract.call_recipes import StepKind
from mlirad.targets.cpu.calls.check_steps import CheckSteps
from mlirad.targets.cpu.calls.code_writer import I32, I64, VOID, CodeWriter, P
from mlirad.targets.cpu.calls.find_steps import FindSteps
from mlirad.targets.cpu.calls.machine_words import API, CALL, CONSTANTS, STRUCT_BUFFER, Constant, TableWord
from mlirad.targets.cpu.calls.result_steps import ResultSteps
from mlirad.targets.cpu.calls.run_step import RunStep

_TYPES = {"p": P, "l": I64, "i": I32, "d": ir.DoubleType(), "v": VOID}


def machine_text(table_offset: int) -> str:
    """The IR. table_offset: the offset of a kernel's reference to its table."""
    module = ir.Module()
    constants = ir.GlobalVariable(module, P, CONSTANTS)
    constants.linkage = "external"
    api = {name: ir.Function(module, _function_type(types), name) for name, types in API.items()}
    attempt = ir.Function(module, ir.FunctionType(I32, (P, P, I64, P, P)), "mlirad.attempt")
    attempt.linkage = "internal"
    _Machine(attempt, api, constants).write()
    call = ir.Function(module, ir.FunctionType(P, (P, P, I64, P)), CALL)
    _Call(call, api, constants).write(attempt, table_offset)
    for function in (attempt, call):
        function.attributes.add("uwtable")
        function.attributes.add("nounwind")
    return str(module)


def _function_type(types: str) -> ir.FunctionType:
    result, *arguments = (_TYPES[each] for each in types)
    return ir.FunctionType(result, arguments)


class _Call(CodeWriter):
    """`ptr (kernel, arguments, count, names)`: the function that CPython calls. The highest bit of `count` is a
    flag."""

    def write(self, attempt: ir.Function, table_offset: int) -> None:
        """Try the plans in turn, the most recently used one first; then the slow path."""
        b = self.b
        kernel, arguments, marked, names = self.function.args
        count = b.and_(marked, self.i64((1 << 63) - 1))
        slow = self.function.append_basic_block("slow")
        result = self.variable(P, self.null)
        index = self.variable(I64, self.i64(0))
        holder = self.load(kernel, table_offset)
        is_none = b.or_(self.same(holder, self.constant(Constant.NONE)), self.is_null(holder))
        look, head, test, hit = (self.function.append_basic_block(n) for n in ("look", "head", "test", "hit"))
        b.cbranch(is_none, slow, look)
        b.position_at_end(look)
        table = self.load(holder, STRUCT_BUFFER)
        b.branch(head)
        b.position_at_end(head)
        now = b.load(index, typ=I64)
        b.cbranch(b.icmp_signed("<", now, self.load(table, 8 * TableWord.COUNT, I64)), test, slow)
        b.position_at_end(test)
        plans = self.at(table, 8 * TableWord.PLANS)
        plan = self.element(plans, now)
        took = b.call(attempt, [plan, arguments, count, names, result])
        b.store(b.add(now, self.i64(1)), index)
        b.cbranch(b.icmp_signed("!=", took, ir.Constant(I32, 0)), hit, head)
        b.position_at_end(hit)
        hits = self.load(table, 8 * TableWord.HITS, I64)
        b.store(b.add(hits, self.i64(1)), self.at(table, 8 * TableWord.HITS))
        # The call may have changed the table.
        is_there = b.icmp_signed("<", now, self.load(table, 8 * TableWord.COUNT, I64))
        moves = b.and_(
            b.and_(is_there, b.icmp_signed(">", now, self.i64(0))), self.same(self.element(plans, now), plan)
        )
        with b.if_then(moves), self.counted(now) as k:
            place = b.sub(now, k)
            b.store(self.element(plans, b.sub(place, self.i64(1))), self.place(plans, place))
        with b.if_then(moves):
            b.store(plan, plans)
        b.ret(b.load(result, typ=P))
        b.position_at_end(slow)
        method = self.api("PyObject_GetAttr", kernel, self.constant(Constant.SLOW))
        with b.if_then(self.is_null(method)):
            b.ret(self.null)
        made = self.api("PyObject_Vectorcall", method, arguments, marked, names)
        self.api("Py_DecRef", method)
        b.ret(made)


class _Machine(FindSteps, CheckSteps, RunStep, ResultSteps):
    """An attempt to run a plan, with all kinds of steps."""

    def write_step(self, kind: StepKind) -> None:
        _STEPS[kind](self)


_STEPS: dict[StepKind, Callable[[_Machine], None]] = {
    StepKind.UNPACK: lambda m: m.unpack(is_list=False),
    StepKind.UNPACK_LIST: lambda m: m.unpack(is_list=True),
    StepKind.UNPACK_DICT: _Machine.unpack_dict,
    StepKind.CELL: _Machine.find_in_cell,
    StepKind.GLOBAL: _Machine.find_global,
    StepKind.OBJECT: lambda m: m.push(m.operand("p"), borrowed=True),
    StepKind.ATTRIBUTE: lambda m: m.find("PyObject_GetAttr"),
    StepKind.ITEM: lambda m: m.find("PyObject_GetItem"),
    StepKind.PYTHON: _Machine.ask_python,
    StepKind.SAME: _Machine.check_same,
    StepKind.TYPE: lambda m: m.check_type(m.operand("p")) and None,
    StepKind.ARRAY: _Machine.check_array,
    StepKind.FLOAT: _Machine.take_float,
    StepKind.INT: _Machine.take_int,
    StepKind.BOOL: _Machine.take_bool,
    StepKind.NUMBER: _Machine.take_number,
    StepKind.NEW: _Machine.make_array,
    StepKind.RUN: _Machine.run,
    StepKind.FLOAT_OF: lambda m: m.make("PyFloat_FromDouble", m.slot(ir.DoubleType())),
    StepKind.INT_OF: lambda m: m.make("PyLong_FromLongLong", m.slot(I64)),
    StepKind.BOOL_OF: lambda m: m.make("PyBool_FromLong", m.b.and_(m.slot(I64), m.i64(1))),
    StepKind.NUMBER_OF: lambda m: m.make("PyArray_Scalar", m.place(m.slots, m.operand("b")), m.operand("p"), m.null),
    StepKind.COPY: lambda m: m.push(m.register(), borrowed=True),
    StepKind.MAKE_TUPLE: lambda m: m.make_sequence("PyTuple_New", "PyTuple_SetItem"),
    StepKind.MAKE_LIST: lambda m: m.make_sequence("PyList_New", "PyList_SetItem"),
    StepKind.MAKE_DICT: _Machine.make_dict,
    StepKind.CALL: _Machine.call_python,
    StepKind.RETURN: _Machine.return_,
    StepKind.CODE: _Machine.check_code,
    StepKind.UNCHANGED: _Machine.check_unchanged,
    StepKind.STAYS: _Machine.check_stays,
}
