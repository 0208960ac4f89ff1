"""Webs: the tensors that share a buffer, or may share one at run time, because memory moves from one to another.

Reads: a function with moved tensors. Writes: nothing. Gives: for each web, the sources of its memory, the results that
it reaches, and its last use; for each loop, the memory that is allocated in its body.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

from xdsl.dialects import func, scf
from xdsl.ir import Block, Operation, SSAValue

from mlirad.analysis.groups import Groups
from mlirad.analysis.loops import Carries, StructuredOp, block_of, terminator
from mlirad.analysis.memory import VIEWS, captured_reads, is_empty, is_tensor, ties
from mlirad.lowering.tensor_memory import is_in_place
from mlirad.xdsl_support.traversal import ops_of


@dataclass
class Web:
    """Tensors that may share a buffer.

    sources: the origins of their memory: empty tensors, arguments, constants, results of calls. result_numbers: the
    function's results among them, by number. last: the position of the last op that uses one.
    """

    sources: list[SSAValue]
    result_numbers: set[int] = field(default_factory=set)
    last: int = 0

    def absorb(self, other: Web) -> None:
        self.sources += other.sources
        self.result_numbers |= other.result_numbers
        self.last = max(self.last, other.last)


class Webs:
    """The webs of a function.

    place: a position for each op, in program order. loops: every loop, inner ones first. made_in: for each loop, the
    empty tensors of its body, without the bodies of inner loops.
    """

    def __init__(self, entry: Block) -> None:
        self.place: dict[Operation, int] = {}
        self.loops: list[Operation] = []
        self.made_in: dict[Operation, list[SSAValue]] = defaultdict(list)
        self._loop_of: dict[Block, Operation | None] = {}
        self._webs = Groups(lambda: Web([]), Web.absorb)
        for arg in entry.args:
            self._start(arg)
        self._walk(entry, None)

    def place_of(self, op: Operation) -> int:
        """The position of an op; an op inserted later has the position of the op after it."""
        while op not in self.place:
            following = op.next_op
            assert following is not None
            op = following
        return self.place[op]

    def of(self, value: SSAValue) -> Web:
        return self._webs.of(value)

    def loop_of(self, value: SSAValue) -> Operation | None:
        """The innermost loop in which value is defined."""
        return self._loop_of[block_of(value)]

    def add_source(self, memory: SSAValue, *, like: SSAValue) -> None:
        """Add a new empty tensor, in an existing block, to the web of `like`."""
        self._start(memory)
        self.join(memory, like)
        loop = self.loop_of(memory)
        if loop is not None:
            self.made_in[loop].append(memory)

    def join(self, value: SSAValue, other: SSAValue) -> None:
        # The larger list of sources stays; if both are equal, that of `other`.
        is_smaller = len(self.of(value).sources) <= len(self.of(other).sources)
        self._webs.join(*((other, value) if is_smaller else (value, other)))

    def forget(self, source: SSAValue) -> None:
        """Remove a source that is replaced by other memory."""
        self.of(source).sources.remove(source)

    def _start(self, value: SSAValue) -> None:
        if is_tensor(value):
            self.of(value).sources.append(value)

    def _walk(self, block: Block, loop: Operation | None) -> None:
        self._loop_of[block] = loop
        for op in ops_of(block):
            place = self.place[op] = len(self.place)
            for operand in op.operands:
                if is_tensor(operand):
                    self.of(operand).last = place
            if op.regions:
                self._regions(op, loop)
            self._define(op, loop)
            if type(op) is func.ReturnOp:
                for number, operand in enumerate(op.operands):
                    if is_tensor(operand):
                        self.of(operand).result_numbers.add(number)

    def _regions(self, op: Operation, loop: Operation | None) -> None:
        if not isinstance(op, StructuredOp):
            # The body of a linalg op may read elements of tensors.
            for read in captured_reads(op):
                self.of(read).last = self.place[op]
            return
        inside = loop if isinstance(op, scf.IfOp) else op
        for region in op.regions:
            if region.blocks:
                self._walk(region.block, inside)
        carries = Carries(op)
        for number, result in enumerate(op.results):
            if is_tensor(result):
                for value in carries.values(number):
                    self.join(value, result)
        if isinstance(op, scf.WhileOp):
            # In the order in which the condition passes them on.
            passed = terminator(op.before_region.block).operands[1:]
            for value, result in zip(passed, op.results, strict=True):
                if is_tensor(result):
                    self.join(value, result)
        if inside is op:
            self.loops.append(op)

    def _define(self, op: Operation, loop: Operation | None) -> None:
        if type(op) in VIEWS:
            self.join(op.results[0], op.operands[0])
            return
        tied = ties(op)
        for operand, result in tied:
            self.join(result, op.operands[operand])
        kind = type(op)
        if (tied and kind is not func.CallOp) or isinstance(op, StructuredOp):
            return
        # A call returns its operand's memory, unless the array has grown.
        there = {result for _, result in tied if isinstance(op, func.CallOp) and is_in_place(op, result)}
        for result in op.results:
            if result in there:
                continue
            self._start(result)
            if loop is not None and is_empty(result):
                self.made_in[loop].append(result)
