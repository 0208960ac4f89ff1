"""The attempt to run a plan: the walk over its steps, its registers, and its end.

Reads: a plan, and the arguments of the call. Writes: the frame of `mlirad.attempt`. Leaves: the steps themselves to
subclasses.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from llvmlite import ir

from mlirad.contract.call_recipes import StepKind
from mlirad.targets.cpu.calls.code_writer import I32, I64, CodeWriter, P
from mlirad.targets.cpu.calls.machine_words import SIZE, STEP_BYTES, TUPLE_ITEMS, TYPE, Constant, PlanWord


class PlanAttempt(CodeWriter, ABC):
    """`i32 (plan, arguments, count, names, ptr result)`: 0 if the plan does not fit, else 1 and the result."""

    def write(self) -> None:
        b = self.b
        self.plan, arguments, count, names, self.result = self.function.args
        self.refused = self.function.append_basic_block("refused")
        with b.goto_block(self.refused):
            b.ret(ir.Constant(I32, 0))
        total = self._require_shape(count, names)
        self.registers = b.alloca(P, self.field(PlanWord.REGISTERS, I64))
        self.slots = b.alloca(I64, self.field(PlanWord.SLOTS, I64))
        self.bounds = b.alloca(I64, b.shl(self.field(PlanWord.ARRAYS, I64), self.i64(1)))
        with self.counted(total) as k:
            b.store(self.element(arguments, k), self.place(self.registers, k))
        self.top = self.variable(I64, total)
        self.first = total
        self.pc = self.variable(P, self.field(PlanWord.STEPS))
        self.owner = self.field(PlanWord.OWNER)
        self.api("Py_IncRef", self.owner)
        blocks = {
            name: self.function.append_basic_block(name) for name in ("mismatch", "unset", "error", "next", "head")
        }
        self.blocks = blocks
        b.branch(blocks["head"])
        b.position_at_end(blocks["head"])
        self.step = b.load(self.pc, typ=P)
        nowhere = self.function.append_basic_block("nowhere")
        switch = b.switch(self.load(self.step, 0, I64), nowhere)
        b.position_at_end(nowhere)
        b.unreachable()
        for kind in StepKind:
            block = self.function.append_basic_block(kind.name.lower())
            switch.add_case(self.i64(kind), block)
            b.position_at_end(block)
            self.write_step(kind)
            if not self.is_over():
                b.branch(blocks["next"])
        b.position_at_end(blocks["next"])
        b.store(self.at(self.step, STEP_BYTES), self.pc)
        b.branch(blocks["head"])
        self._write_ends()

    @abstractmethod
    def write_step(self, kind: StepKind) -> None:
        """The code of a step, in its own block."""

    def field(self, which: PlanWord, type: ir.Type = P) -> Any:
        return self.load(self.plan, 8 * which, type)

    def operand(self, name: str) -> Any:
        return self.b.load(self.operand_place(name), typ=P if name in "pq" else I64)

    def operand_place(self, name: str) -> Any:
        return self.at(self.step, 8 * (1 + "abcpq".index(name)))

    def register(self, name: str = "a") -> Any:
        return self.element(self.registers, self.operand(name))

    def _require_shape(self, count: Any, names: Any) -> Any:
        """Require the same number of arguments and the same keywords. Returns the number of all arguments."""
        b = self.b
        positional, keywords = self.field(PlanWord.POSITIONAL, I64), self.field(PlanWord.KEYWORDS, I64)
        self.require(b.icmp_signed("==", count, positional), self.refused)
        given = self.variable(I64, self.i64(0))
        with b.if_then(b.not_(self.is_null(names))):
            b.store(self.load(names, SIZE, I64), given)
        self.require(b.icmp_signed("==", b.load(given, typ=I64), keywords), self.refused)
        wanted = self.field(PlanWord.NAMES)
        with self.counted(keywords) as k:
            same = self.same(self.element(self.at(names, TUPLE_ITEMS), k), self.element(wanted, k))
            self.require(same, self.refused)
        return b.add(positional, keywords)

    def require(self, ok: Any, otherwise: Any = None) -> None:
        """Continue if `ok`; otherwise the plan does not fit."""
        after = self.function.append_basic_block("ok")
        self.b.cbranch(ok, after, self.blocks["mismatch"] if otherwise is None else otherwise)
        self.b.position_at_end(after)

    def pass_if(self, ok: Any) -> None:
        """Continue with the next step if `ok`."""
        otherwise = self.function.append_basic_block("otherwise")
        self.b.cbranch(ok, self.blocks["next"], otherwise)
        self.b.position_at_end(otherwise)

    def require_found(self, value: Any) -> None:
        """A Python exception in a search means that the plan does not fit; the slow path raises it again."""
        self.require(self.b.not_(self.is_null(value)), self.blocks["unset"])

    def require_made(self, value: Any) -> None:
        """A Python exception is an exception of the call."""
        self.require(self.b.not_(self.is_null(value)), self.blocks["error"])

    def require_true(self, function: Any) -> None:
        """Continue if a Python function without arguments returns True."""
        answer = self.api("PyObject_CallNoArgs", function)
        self.require_found(answer)
        self.api("Py_DecRef", answer)  # True needs no reference
        self.require(self.same(answer, self.constant(Constant.TRUE)))

    def check_type(self, wanted: Any) -> Any:
        value = self.register()
        self.require(self.same(self.load(value, TYPE), wanted))
        return value

    def push(self, value: Any, *, borrowed: bool = False) -> None:
        if borrowed:
            self.api("Py_IncRef", value)
        top = self.b.load(self.top, typ=I64)
        self.b.store(value, self.place(self.registers, top))
        self.b.store(self.b.add(top, self.i64(1)), self.top)

    def pop_to(self, count: Any) -> Any:
        """Pop the last registers. Returns the address of the first; the caller now owns their objects."""
        start = self.b.sub(self.b.load(self.top, typ=I64), count)
        self.b.store(start, self.top)
        return self.place(self.registers, start)

    def _write_ends(self) -> None:
        b, blocks = self.b, self.blocks
        b.position_at_end(blocks["unset"])
        self.api("PyErr_Clear")
        b.branch(blocks["mismatch"])
        b.position_at_end(blocks["mismatch"])
        self.clear()
        b.ret(ir.Constant(I32, 0))
        b.position_at_end(blocks["error"])
        b.store(self.null, self.result)
        self.clear()
        b.ret(ir.Constant(I32, 1))

    def clear(self) -> None:
        with self.counted(self.b.load(self.top, typ=I64), self.first) as k:
            self.api("Py_DecRef", self.element(self.registers, k))
        self.api("Py_DecRef", self.owner)
