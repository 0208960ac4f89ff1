"""The functions of the FileCheck tests of bufferization: `FUNCTIONS`, each a file and a name, and `only` to take it."""

from __future__ import annotations

from pathlib import Path

from compare_buffers import parse
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp

PROGRAMS = Path(__file__).parents[1] / "filecheck" / "lowering"


def functions_of(path: Path) -> list[str]:
    module = parse(path.read_text())
    return [op.sym_name.data for op in module.body.block.ops if isinstance(op, func.FuncOp) and not op.is_declaration]


def only(module: ModuleOp, name: str) -> ModuleOp:
    for op in list(module.body.block.ops):
        if isinstance(op, func.FuncOp) and not op.is_declaration and op.sym_name.data != name:
            op.detach()
            op.erase()
    return module


REFUSED = ("bufferize_unknown_op", "bufferize_call")
FILES = [path for path in sorted(PROGRAMS.glob("bufferize_*.mlir")) if path.stem not in REFUSED]
FUNCTIONS = [(path, name) for path in FILES for name in functions_of(path)]
