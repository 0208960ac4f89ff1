"""Helpers to write the code. Reads: nothing. Writes: LLVM IR. Leaves: nothing."""

from __future__ import annotations

from contextlib import contextmanager
from typing import Any

from llvmlite import ir

from mlirad.targets.cpu.calls.machine_words import Constant

P, I64, I32, VOID = ir.PointerType(), ir.IntType(64), ir.IntType(32), ir.VoidType()


class CodeWriter:
    """llvmlite's builder, with the few helpers that are needed here."""

    def __init__(self, function: ir.Function, api: dict[str, ir.Function], constants: ir.GlobalVariable):
        self.function, self._api, self._constants = function, api, constants
        self.b = ir.IRBuilder(function.append_basic_block("entry"))

    def api(self, name: str, *arguments: Any) -> Any:
        return self.b.call(self._api[name], arguments)

    def i64(self, value: int) -> ir.Constant:
        return ir.Constant(I64, value)

    null = ir.Constant(P, None)

    def at(self, base: Any, offset: Any) -> Any:
        """The address plus `offset` bytes."""
        place = self.i64(offset) if isinstance(offset, int) else offset
        return self.b.gep(base, [place], source_etype=ir.IntType(8))

    def load(self, base: Any, offset: Any = 0, type: ir.Type = P) -> Any:
        return self.b.load(self.at(base, offset), typ=type)

    def element(self, base: Any, index: Any, type: ir.Type = P) -> Any:
        return self.b.load(self.place(base, index), typ=type)

    def place(self, base: Any, index: Any) -> Any:
        return self.b.gep(base, [index], source_etype=I64)

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
        """Whether the current block has a terminator."""
        block = self.b.block
        return block is None or block.is_terminated

    @contextmanager
    def counted(self, count: Any, start: Any = None) -> Any:
        """A loop from `start` (0) to `count`; yields the index."""
        b = self.b
        index = self.variable(I64, self.i64(0) if start is None else start)
        head, body, done = (self.function.append_basic_block(name) for name in ("head", "body", "done"))
        b.branch(head)
        b.position_at_end(head)
        now = b.load(index, typ=I64)
        b.cbranch(b.icmp_signed("<", now, count), body, done)
        b.position_at_end(body)
        yield now
        if not self.is_over():
            b.store(b.add(now, self.i64(1)), index)
            b.branch(head)
        b.position_at_end(done)
