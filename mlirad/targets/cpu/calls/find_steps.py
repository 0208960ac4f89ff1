"""Steps that find objects. Reads: registers. Writes: code that pushes the found objects. Leaves: nothing."""

from __future__ import annotations

from llvmlite import ir

from mlirad.targets.cpu.calls.code_writer import I32, I64, P
from mlirad.targets.cpu.calls.machine_words import CELL_CONTENT, ITEMS, SIZE, TUPLE_ITEMS, TYPE, Constant
from mlirad.targets.cpu.calls.plan_attempt import PlanAttempt


class FindSteps(PlanAttempt):
    """Unpacking of containers, and lookups of a function's captures."""

    def unpack(self, *, is_list: bool) -> None:
        count = self.operand("b")
        container = self.check_type(self.constant(Constant.LIST) if is_list else self.operand("p"))
        self.require(self.b.icmp_signed("==", self.load(container, SIZE, I64), count))
        items = self.load(container, ITEMS) if is_list else self.at(container, TUPLE_ITEMS)
        with self.counted(count) as k:
            self.push(self.element(items, k), borrowed=True)

    def unpack_dict(self) -> None:
        b = self.b
        container, count, keys = self.register(), self.operand("b"), self.operand("p")
        self.require(self.same(self.load(container, TYPE), self.constant(Constant.DICT)))
        self.require(b.icmp_signed("==", self.api("PyDict_Size", container), count))
        position = self.variable(I64, self.i64(0))
        key, value = self.variable(P, self.null), self.variable(P, self.null)
        with self.counted(count) as k:
            more = self.api("PyDict_Next", container, position, key, value)
            self.require(b.icmp_signed("!=", more, ir.Constant(I32, 0)))
            self.require(self.same(b.load(key, typ=P), self.element(keys, k)))
            self.push(b.load(value, typ=P), borrowed=True)

    def find_in_cell(self) -> None:
        content = self.load(self.operand("p"), CELL_CONTENT)
        self.require(self.b.not_(self.is_null(content)))
        self.push(content, borrowed=True)

    def find_global(self) -> None:
        b = self.b
        found = self.variable(P, self.api("PyDict_GetItemWithError", self.operand("p"), self.operand("q")))
        with b.if_then(self.is_null(b.load(found, typ=P))):
            others = self.constant(Constant.BUILTINS)
            b.store(self.api("PyDict_GetItemWithError", others, self.operand("q")), found)
        value = b.load(found, typ=P)
        self.require_found(value)
        self.push(value, borrowed=True)

    def find(self, function: str) -> None:
        found = self.api(function, self.register(), self.operand("q"))
        self.require_found(found)
        self.push(found)

    def ask_python(self) -> None:
        self.require_true(self.operand("p"))
