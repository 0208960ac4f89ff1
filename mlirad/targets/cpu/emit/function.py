"""The walk over one function: from MLIR to lines of LLVM IR.

Reads: ops, through a table (op class -> rule). Writes: lines. Leaves: no op unvisited. The walk is not recursive, so
nesting may be arbitrarily deep.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from xdsl.dialects import func
from xdsl.ir import Attribute, Block, Operation, SSAValue

from mlirad.analysis.call_graph import recursive
from mlirad.dialect.core.types import from_location
from mlirad.errors import TargetError
from mlirad.targets.cpu.call_context import MEMORY_ERROR
from mlirad.targets.cpu.emit.descriptor import MemRef, Value, from_parts, part_types
from mlirad.targets.cpu.emit.lines import Lines
from mlirad.targets.cpu.manifest import EntrySignature, ErrorEntry

Rule = Callable[["FunctionEmitter", Any], Iterator[Block] | None]
"""Emits one op. A rule for an op with regions is a generator that yields each block at the place for its lines."""


def ops_in(root: Operation) -> list[Operation]:
    """All ops nested in `root`, in order. Not recursive: ifs may nest as deep as a function is long."""
    found: list[Operation] = []
    stack = _first_ops(root)
    while stack:
        op = stack.pop()
        while op is not None:
            found.append(op)
            if op.regions:
                stack += [op.next_op, *_first_ops(op)]
                break
            op = op.next_op
    return found


def _first_ops(op: Operation) -> list[Operation | None]:
    """The first ops of all blocks; the first block's comes last."""
    return [block.first_op for region in reversed(op.regions) for block in reversed(list(region.blocks))]


def symbol(kind: str, name: str) -> str:
    """The LLVM name of a function or array, distinct from the C library's names."""
    return f"mlirad.{kind}.{name}"


def quoted(name: str) -> str:
    """An LLVM reference to any name, even `<lambda>`."""
    escaped = "".join(c if c.isalnum() or c in "._<>-$" else "".join(f"\\{b:02X}" for b in c.encode()) for c in name)
    return f'@"{escaped}"'


def escaped(data: bytes) -> str:
    """Bytes in LLVM's syntax for quoted strings."""
    return "".join([chr(b) if 32 <= b < 127 and b not in b'"\\' else f"\\{b:02X}" for b in data])


@dataclass
class ModuleEmitter:
    """The state shared by the functions of one module."""

    rules: Mapping[type[Operation], Rule]
    functions: Mapping[str, func.FuncOp]
    leaves: Mapping[str, func.FuncOp] = field(default_factory=dict)
    declarations: dict[str, str] = field(default_factory=dict)
    runtime: set[str] = field(default_factory=set)
    errors: dict[ErrorEntry, int] = field(default_factory=dict)
    entries: dict[str, EntrySignature] = field(default_factory=dict)
    chunks: list[str] = field(default_factory=list)
    improved: list[str] = field(default_factory=list)
    """The functions that all of LLVM's passes improve, if the others need few."""
    constants: dict[str, str] = field(default_factory=dict)
    """The definitions of constant arrays, by their names."""
    scopes: list[str] = field(default_factory=list)
    nodes: int = 10
    is_finished: bool = True
    """Whether every innermost loop handles vectors, and no function calls another: there is little left for LLVM to
    do."""
    is_vectorized: bool = True
    """The same, except for loops that are only left to be unrolled."""

    @cached_property
    def recursive(self) -> set[str]:
        """The functions that call themselves, directly or through others."""
        return recursive(self.functions)

    def declare(self, symbol: str, text: str) -> str:
        """A reference to an external function or intrinsic, declared once."""
        self.declarations.setdefault(symbol, text)
        return f"@{symbol}"

    def constant_bytes(self, kind: str, data: bytes) -> str:
        """A reference to new constant bytes."""
        name = quoted(symbol(kind, str(len(self.chunks))))
        self.chunks.append(f'{name} = private constant [{len(data)} x i8] c"{escaped(data)}"')
        return name

    def use_runtime(self, name: str) -> str:
        """A reference to a function of runtime.py, which is included with everything that it needs."""
        self.runtime.add(name)
        return f"@{name}"

    def metadata_nodes(self, count: int) -> int:
        """Reserve this many consecutive numbers for metadata nodes. Returns the first."""
        self.nodes += count
        return self.nodes - count

    def error_code(self, error: ErrorEntry) -> int:
        """The number of an error in the artifact's table; the first is 1, as 0 is success."""
        return self.errors.setdefault(error, len(self.errors) + 1)


@dataclass
class Phi:
    """A phi whose incoming values are added one by one."""

    name: str
    type: str
    line: int
    incoming: list[str]


@dataclass
class Polling:
    """Which loops of a function, or of a task, poll for signals, and how; see polling.py.

    charges: for loops that charge in each trip, the work of a trip. strips: for loops that are cut into strips, the
    trips of a strip. moves: ops that charge for an amount of memory known only at run time: copies, and native calls.

    work: the work of the function's body that no loop charges for. is_called: whether the module has calls of it.
    """

    charges: dict[Operation, int] = field(default_factory=dict)
    strips: dict[Operation, int] = field(default_factory=dict)
    moves: set[Operation] = field(default_factory=set)
    work: int = 0
    is_called: bool = False
    calls: bool = False

    @property
    def is_needed(self) -> bool:
        return bool(self.charges or self.strips or self.moves) or self.is_called or self.calls


class FunctionEmitter(Lines):
    """The lines of one function, the names of its SSA values, and its exits on failure.

    name, attributes: of the function. distinct: pointers to memory that no other pointer refers to. mark: how much
    memory was in use when it was called. is_task: whether it is a part of a function that threads run. A task has no
    context, so it can neither fail nor allocate.
    """

    def __init__(self, module: ModuleEmitter, polling: Polling | None = None):
        super().__init__()
        self.module = module
        self.allocas: list[str] = []
        self.cold: list[str] = []
        self.exits: list[tuple[str, str]] = []
        self.stack_bytes = 0
        self.arena_scopes: dict[SSAValue, str] = {}
        self.releasing: set[Operation] = set()
        self.vectorized: set[Operation] = set()
        self.separate: set[Operation] = set()
        self.ranges: dict[str, tuple[int, int]] = {}
        self.footnotes: list[str] = []
        self.polling = polling or Polling()
        self.name = ""
        self.attributes = ""
        self.distinct: frozenset[str] = frozenset()
        self.is_task = False
        self.mark: str | None = None
        self._values: dict[int, Value] = {}  # by identity, because hashing xDSL's values is slow

    def task(self, name: str) -> FunctionEmitter:
        """The emitter for a part of this function that becomes a function of its own: values keep their names."""
        made = FunctionEmitter(self.module, Polling(self.polling.charges, self.polling.strips, self.polling.moves))
        made.name, made.attributes, made.is_task = name, self.attributes, True
        made.vectorized, made.arena_scopes = self.vectorized, self.arena_scopes
        made._values, made._counter = self._values, self._counter
        return made

    def part(self, *, is_watched: bool) -> FunctionEmitter:
        """The emitter for a loop that becomes a function that this one calls: values keep their names. is_watched:
        whether it charges for its work; it does so in the context then."""
        watched = Polling(self.polling.charges, self.polling.strips, self.polling.moves, calls=True)
        made = FunctionEmitter(self.module, watched if is_watched else Polling())
        made.name, made.attributes = self.name, self.attributes
        made.vectorized, made.arena_scopes, made.releasing = self.vectorized, self.arena_scopes, self.releasing
        made._values, made._counter = self._values, self._counter
        return made

    def distinct_among(self, pointers: Collection[str]) -> set[str]:
        """The pointers whose memory none of the others refers to."""
        if not all(pointer in self.distinct or pointer in self.ranges for pointer in pointers):
            return set()
        return {one for one in pointers if all(one == other or self._are_apart(one, other) for other in pointers)}

    def _are_apart(self, one: str, other: str) -> bool:
        if one not in self.ranges or other not in self.ranges:
            return True
        (start, end), (first, last) = self.ranges[one], self.ranges[other]
        return end <= first or last <= start

    # values

    def bind(self, ssa: SSAValue, value: Value) -> None:
        self._values[id(ssa)] = value

    def value(self, ssa: SSAValue) -> Value:
        return self._values[id(ssa)]

    def word(self, ssa: SSAValue) -> str:
        """The operand for a scalar or a vector: a literal or an SSA name."""
        value = self._values[id(ssa)]
        assert isinstance(value, str)
        return value

    def words(self, values: Iterable[SSAValue]) -> list[str]:
        return [self.word(value) for value in values]

    def memref(self, ssa: SSAValue) -> MemRef:
        value = self._values[id(ssa)]
        assert isinstance(value, MemRef)
        return value

    # lines

    def intrinsic(self, name: str, result: str, arguments: Sequence[tuple[str, str]], flags: str = "") -> str:
        """Call an LLVM intrinsic or an external pure function. Returns the result's name."""
        types = ", ".join([type for type, _ in arguments])
        callee = self.module.declare(name, f"declare {result} @{name}({types}) nounwind willreturn memory(none)")
        listed = ", ".join([f"{type} {word}" for type, word in arguments])
        text = f"call {flags}{result} {callee}({listed})"
        # A function of the C library is called where the program calls it, because it may take long.
        return self.pure(text, *[word for _, word in arguments]) if name.startswith("llvm.") else self.assign(text)

    def phi(self, type: str) -> Phi:
        """A phi at this place; `incoming` adds its values."""
        name = self._name()
        self.lines.append("")
        return Phi(name, type, len(self.lines) - 1, [])

    def incoming(self, phi: Phi, word: str, label: str) -> None:
        phi.incoming.append(f"[ {word}, %{label} ]")
        self.lines[phi.line] = f"  {phi.name} = phi {phi.type} " + ", ".join(phi.incoming)

    def phis(self, types: Sequence[Attribute]) -> list[Phi]:
        """The phis that carry values of these types."""
        return [self.phi(part) for type in types for part in part_types(type)]

    def bind_phis(self, targets: Sequence[Sequence[SSAValue]], types: Sequence[Attribute], phis: Sequence[Phi]) -> None:
        """Bind lists of SSA values, one value of each type, to the phis. Call it after all phis of the block."""
        words = iter([phi.name for phi in phis])
        values = [from_parts(self, type, words) for type in types]
        for target in targets:
            for ssa, value in zip(target, values, strict=True):
                self.bind(ssa, value)

    # failure

    def require(self, ok: str, code: int | str, stores: Sequence[tuple[int, str]] = ()) -> None:
        """Continue if `ok`; else, in a cold block, store i64 words at offsets of the context and return `code`."""
        if self.is_task:
            raise TargetError("what threads run side by side can neither fail nor allocate")
        self.leave_unless(ok, code, stores)

    def leave_unless(self, ok: str, code: int | str, stores: Sequence[tuple[int, str]] = ()) -> None:
        """The same; a task, which cannot fail, is abandoned together with its call."""
        good, bad = self.fresh("ok"), self.fresh("fail")
        self.line(f"br i1 {ok}, label %{good}, label %{bad}, !prof !0")
        self.cold.append(f"{bad}:")
        for offset, word in stores:
            pointer = f"%{self.fresh()}"
            self.cold.append(f"  {pointer} = getelementptr inbounds i8, ptr %ctx, i64 {offset}")
            self.cold.append(f"  store i64 {word}, ptr {pointer}, align 8")
        self.cold.append("  br label %leave")
        self.exits.append((str(code), bad))
        self.label(good)

    def require_memory(self, pointer: str) -> None:
        self.require(self.assign(f"icmp ne ptr {pointer}, null"), MEMORY_ERROR)

    # the walk

    def run(self, block: Block) -> None:
        """Emit a block and everything nested in it, without recursion."""
        self._run(block.ops)

    def run_op(self, op: Operation) -> None:
        """The same for one op."""
        self._run((op,))

    def _run(self, ops: Iterable[Operation]) -> None:
        stack = [self._walk(ops)]
        while stack:
            nested = next(stack[-1], None)
            if nested is None:
                stack.pop()
            else:
                stack.append(self._walk(nested.ops))

    def _walk(self, ops: Iterable[Operation]) -> Iterator[Block]:
        rules = self.module.rules
        with self.scope():
            for op in ops:
                try:
                    nested = rules[op.__class__](self, op)
                    if nested is not None:
                        yield from nested
                except TargetError as error:
                    if error.location is None:
                        error.at(from_location(op.location))
                    raise

    def text(self, header: str, footer: Sequence[str] = ()) -> str:
        """The finished function."""
        flat = [line for each in self.lines for line in ([each] if isinstance(each, str) else each)]
        lines = [header + " {", "entry:", *self.allocas, *flat, *self.cold]
        if self.exits and self.is_task:
            lines += ["leave:", "  ret void"]
        elif self.exits:
            incoming = ", ".join(f"[ {code}, %{label} ]" for code, label in self.exits)
            lines += ["leave:", f"  %code = phi i32 {incoming}", "  ret i32 %code"]
        return "\n".join([*lines, *footer, "}"])
