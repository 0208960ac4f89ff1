"""The results of a call inside a module, which are passed on the stack.

Reads: emitted values. Writes: stores into the slots of results, and loads from them. Leaves: nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Attribute, SSAValue

from mlirad.targets.cpu.emit.descriptor import from_parts, part_types, to_parts
from mlirad.targets.cpu.emit.function import FunctionEmitter


def results_on_stack(e: FunctionEmitter, types: Sequence[Attribute]) -> str:
    """The caller's slots for results of these types."""
    count = sum(len(part_types(type)) for type in types)
    if not count:
        return "null"
    results = f"%{e.fresh('stack')}"
    e.allocas.append(f"  {results} = alloca [{count} x i64], align 8")
    return results


def load_results(e: FunctionEmitter, targets: Sequence[SSAValue], results: str) -> None:
    """Bind SSA values to the contents of the slots, after the call."""
    words: list[str] = []
    for place, part in enumerate([part for target in targets for part in part_types(target.type)]):
        pointer = e.assign(f"getelementptr i64, ptr {results}, i64 {place}")
        loaded = e.assign(f"load {'i8' if part == 'i1' else part}, ptr {pointer}, align 8")
        words.append(e.assign(f"icmp ne i8 {loaded}, 0") if part == "i1" else loaded)
    supply = iter(words)
    for target in targets:
        e.bind(target, from_parts(e, target.type, supply))


def store_results(e: FunctionEmitter, values: Sequence[SSAValue]) -> None:
    """Write results to the slots that the callee was given."""
    place = 0
    for value in values:
        for part, word in to_parts(e.value(value), value.type):
            pointer = e.assign(f"getelementptr i64, ptr %results, i64 {place}")
            place += 1
            if part[0] == "i" and part != "i64":
                word, part = e.assign(f"{'zext' if part == 'i1' else 'sext'} {part} {word} to i64"), "i64"
            e.line(f"store {part} {word}, ptr {pointer}, align 8")
