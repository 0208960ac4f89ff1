"""Reads: a module of stage `loops`. Writes: one module of LLVM IR text, including its manifest. Leaves: nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.dialects import func, memref
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from mlirad.dialect.core.types import from_location
from mlirad.errors import TargetError
from mlirad.lowering.leaf_functions import LEAF
from mlirad.targets.cpu.emit import arith, copying, math, parallel, scf, vector
from mlirad.targets.cpu.emit import func as func_rules
from mlirad.targets.cpu.emit import memref as memref_rules
from mlirad.targets.cpu.emit.function import ModuleEmitter, Rule, escaped, ops_in, quoted
from mlirad.targets.cpu.emit.leaf_function import emit_leaf
from mlirad.targets.cpu.engine import BEGIN_IMPROVED, END_IMPROVED, FINISHED, VECTORIZED
from mlirad.targets.cpu.manifest import ENTRIES, MANIFEST, Manifest
from mlirad.targets.cpu.runtime import runtime_text

RULES: dict[type[Operation], Rule] = {
    **arith.RULES,
    **math.RULES,
    **memref_rules.RULES,
    **copying.RULES,
    **vector.RULES,
    **scf.RULES,
    **parallel.RULES,
    **func_rules.RULES,
}

_STRUCTURE = (ModuleOp, func.FuncOp, memref.GlobalOp)


def unknown_ops(ops: Sequence[Operation]) -> Iterator[TargetError]:
    """One problem for each op that has no rule."""
    for op in ops:
        if op.__class__ not in RULES and not isinstance(op, _STRUCTURE):
            yield TargetError(f"the cpu target cannot emit {op.name}", from_location(op.location))


def emit_llvm(module: ModuleOp, *, vector_bits: int = 256) -> str:
    """LLVM IR for the public functions of a module of stage `loops`. Raises TargetError for unsupported ops and
    types."""
    ops = ops_in(module)
    problems = list(unknown_ops(ops))
    if problems:
        raise TargetError.of_all(problems)
    defined = [op for op in module.ops if isinstance(op, func.FuncOp) and op.body.blocks]
    functions = {op.sym_name.data: op for op in defined if LEAF not in op.attributes}
    leaves = {op.sym_name.data: op for op in defined if LEAF in op.attributes}
    emitter = ModuleEmitter(RULES, functions, leaves)
    called = {op.callee.string_value() for op in ops if op.__class__ is func.CallOp and isinstance(op, func.CallOp)}
    attributes = f'nounwind noinline "prefer-vector-width"="{vector_bits}"'
    for op in module.ops:
        if isinstance(op, memref.GlobalOp):
            memref_rules.emit_global(emitter, op)
    for op in functions.values():
        func_rules.emit_func(emitter, op, called, attributes)
    for op in leaves.values():
        emit_leaf(emitter, op, attributes)
    definitions, declarations = runtime_text(emitter.runtime)
    declarations = {**emitter.declarations, **declarations}
    manifest = Manifest(dict(emitter.entries), tuple(emitter.errors)).to_bytes()
    addresses = ", ".join(f"ptr {quoted(entry.symbol)}" for entry in emitter.entries.values())
    data = f'@{MANIFEST} = constant [{len(manifest)} x i8] c"{escaped(manifest)}"'
    table = f"@{ENTRIES} = constant [{len(emitter.entries)} x ptr] [{addresses}]"
    weights = '!0 = !{!"branch_weights", i32 1000000, i32 1}'
    first_line = [FINISHED] if emitter.is_finished else [VECTORIZED] if emitter.is_vectorized else []
    improved = [BEGIN_IMPROVED, *emitter.improved, END_IMPROVED] if emitter.improved else []
    used = "\n".join(improved)
    constants = {True: list[str](), False: list[str]()}
    for constant, line in emitter.constants.items():
        constants[constant in used].append(line)
    shared = [*constants[True], *emitter.scopes, *definitions, *declarations.values(), weights]
    parts = [*first_line, *constants[False], *emitter.chunks, table, data, *improved, *shared, ""]
    return "\n".join(parts)
