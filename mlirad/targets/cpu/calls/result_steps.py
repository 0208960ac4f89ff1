"""Steps that create the result. Reads: slots, registers. Writes: code that pushes new objects. Leaves: nothing."""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from mlirad.targets.cpu.calls.code_writer import I32, I64, P
from mlirad.targets.cpu.calls.machine_words import DATA, Constant
from mlirad.targets.cpu.calls.plan_attempt import PlanAttempt


class ResultSteps(PlanAttempt):
    """Create arrays before the call, numbers and containers after it."""

    def make_array(self) -> None:
        dtype, ndim = self.operand("p"), self.b.trunc(self.operand("b"), I32)
        self.api("Py_IncRef", dtype)  # the next call steals it
        array = self.api(
            "PyArray_NewFromDescr", self.constant(Constant.NDARRAY), dtype, ndim, self.operand("q"), self.null,
            self.null, ir.Constant(I32, 0), self.null,
        )  # fmt: skip
        self.require_made(array)
        self.push(array)
        data = self.b.ptrtoint(self.load(array, DATA), I64)
        self.b.store(data, self.place(self.slots, self.operand("a")))

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
            self.api(put, made, k, self.element(first, k))  # steals the item
        self.push(made)

    def make_dict(self) -> None:
        b = self.b
        count, keys = self.operand("b"), self.operand("p")
        made = self.api("PyDict_New")
        self.require_made(made)
        failed = self.variable(I32, ir.Constant(I32, 0))
        first = self.pop_to(count)
        with self.counted(count) as k:
            value = self.element(first, k)
            status = self.api("PyDict_SetItem", made, self.element(keys, k), value)
            b.store(b.or_(b.load(failed, typ=I32), status), failed)
            self.api("Py_DecRef", value)
        self.push(made)
        self.require(b.icmp_signed("==", b.load(failed, typ=I32), ir.Constant(I32, 0)), self.blocks["error"])

    def call_python(self) -> None:
        count = self.operand("b")
        start = self.b.sub(self.b.load(self.top, typ=I64), count)
        first = self.place(self.registers, start)
        made = self.api("PyObject_Vectorcall", self.operand("p"), first, count, self.null)
        self.require_made(made)
        with self.counted(count) as k:
            self.api("Py_DecRef", self.element(first, k))
        self.b.store(start, self.top)
        self.push(made)

    def return_(self) -> None:
        self.b.store(self.b.load(self.pop_to(self.i64(1)), typ=P), self.result)
        self.clear()
        self.b.ret(ir.Constant(I32, 1))
