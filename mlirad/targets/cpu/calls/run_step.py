"""The step that calls compiled code. Reads: slots. Writes: code that lends a context and calls. Leaves: nothing."""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from mlirad.targets.cpu.call_context import STACK_BOTTOM
from mlirad.targets.cpu.calls.code_writer import I32, I64, P
from mlirad.targets.cpu.calls.machine_words import ITEMS, ROOM_OF_LIST, SIZE, STRUCT_BUFFER, TYPE, Constant, PlanWord
from mlirad.targets.cpu.calls.plan_attempt import PlanAttempt


class RunStep(PlanAttempt):
    """The call, and the interpreter's lock around it."""

    def require_disjoint(self) -> None:
        """No written array shares memory with another array."""
        b = self.b
        count = self.field(PlanWord.ARRAYS, I64)
        checks = b.icmp_signed("!=", self.field(PlanWord.CHECKS_OVERLAP, I64), self.i64(0))
        with b.if_then(checks), self.counted(count) as i:
            low, high, marked = self._bounds(i)
            with b.if_then(b.icmp_signed("!=", marked, self.i64(0))), self.counted(count) as j:
                other_low, other_high, _ = self._bounds(j)
                meets = b.and_(b.icmp_unsigned("<", low, other_high), b.icmp_unsigned("<", other_low, high))
                self.require(b.not_(b.and_(meets, b.icmp_signed("!=", i, j))))

    def _bounds(self, index: Any) -> tuple[Any, Any, Any]:
        at = self.b.shl(index, self.i64(1))
        low = self.element(self.bounds, at, I64)
        high = self.element(self.bounds, self.b.add(at, self.i64(1)), I64)
        return low, self.b.and_(high, self.i64(-2)), self.b.and_(high, self.i64(1))

    def run(self) -> None:
        b = self.b
        self.require_disjoint()
        pool = self.field(PlanWord.CONTEXTS)
        idle = self.load(pool, SIZE, I64)
        holder = self.variable(P, self.null)
        with b.if_else(b.icmp_signed(">", idle, self.i64(0))) as (some, none):
            with some:
                last = b.sub(idle, self.i64(1))
                b.store(self.element(self.load(pool, ITEMS), last), holder)
                b.store(last, self.at(pool, SIZE))  # the object there is ours now
            with none:
                b.store(self.api("PyObject_CallNoArgs", self.field(PlanWord.MAKE_CONTEXT)), holder)
        context = b.load(holder, typ=P)
        self.require_made(context)
        address = self.load(context, STRUCT_BUFFER)
        self.set_stack_bottom(context, address)
        releases = b.icmp_signed("!=", self.field(PlanWord.RELEASES, I64), self.i64(0))
        thread = self.variable(P, self.null)
        with b.if_then(releases):
            b.store(self.api("PyEval_SaveThread"), thread)
        function = self.field(PlanWord.FUNCTION, ir.FunctionType(I32, (P, P)).as_pointer())
        code = b.call(function, [address, self.slots])
        with b.if_then(releases):
            self.api("PyEval_RestoreThread", b.load(thread, typ=P))
        with b.if_then(b.icmp_signed("!=", code, ir.Constant(I32, 0)), likely=False):
            self.raise_for(code, context)
            self.give_back(pool, context)
            b.branch(self.blocks["error"])
        self.give_back(pool, context)

    def set_stack_bottom(self, context: Any, address: Any) -> None:
        """For a recursive function: the limit of this thread's stack."""
        b = self.b
        ask = self.field(PlanWord.STACK_BOTTOM)
        with b.if_then(b.not_(self.is_null(ask))):
            answer = self.api("PyObject_CallNoArgs", ask)
            with b.if_then(self.is_null(answer)):
                self.give_back(self.field(PlanWord.CONTEXTS), context)
                b.branch(self.blocks["error"])
            with b.if_then(b.not_(self.same(answer, self.constant(Constant.NONE)))):
                b.store(self.api("PyLong_AsVoidPtr", answer), self.at(address, STACK_BOTTOM))
            self.api("Py_DecRef", answer)

    def give_back(self, pool: Any, context: Any) -> None:
        """Return the context to the pool. Without memory for the pool's list, free it; the next call creates
        another."""
        b = self.b
        count = self.load(pool, SIZE, I64)
        fits = b.icmp_signed("<", count, self.load(pool, ROOM_OF_LIST, I64))
        with b.if_else(fits) as (there, further):
            with there:
                b.store(context, self.place(self.load(pool, ITEMS), count))  # the list owns it now
                b.store(b.add(count, self.i64(1)), self.at(pool, SIZE))
            with further:
                failed = self.api("PyList_Append", pool, context)
                self.api("Py_DecRef", context)
                with b.if_then(b.icmp_signed("!=", failed, ir.Constant(I32, 0)), likely=False):
                    b.branch(self.blocks["error"])

    def raise_for(self, code: Any, context: Any) -> None:
        """Set the Python exception for a code, unless creating it raised another one."""
        b = self.b
        number = self.api("PyLong_FromLongLong", b.sext(code, I64))
        with b.if_then(b.not_(self.is_null(number))):
            passed = b.alloca(P, self.i64(2))
            b.store(number, passed)
            b.store(context, self.place(passed, self.i64(1)))
            made = self.api("PyObject_Vectorcall", self.field(PlanWord.EXCEPTION), passed, self.i64(2), self.null)
            self.api("Py_DecRef", number)
            with b.if_then(b.not_(self.is_null(made))):
                self.api("PyErr_SetObject", self.load(made, TYPE), made)
                self.api("Py_DecRef", made)
