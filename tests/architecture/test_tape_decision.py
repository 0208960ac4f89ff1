"""The tape's decision emits nothing: `autodiff/tape/decision/` imports and calls nothing that changes IR."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[2] / "mlirad"
FOLDER = PACKAGE / "autodiff" / "tape" / "decision"

EMITTERS = frozenset({"mlirad.dialect.core.expr", "xdsl.builder", "xdsl.pattern_rewriter", "xdsl.rewriter"})
CHANGING_METHODS = frozenset(
    "add_arg add_block add_op add_ops clone create detach drop_all_references erase erase_arg erase_op insert_arg "
    "insert_op insert_op_after insert_op_before insert_ops_after insert_ops_before move_blocks rebuild recomputed "
    "replace_all_uses_with replace_uses_with_if result_on split_before".split()
)
CHANGED_ATTRIBUTES = frozenset({"attributes", "location", "name_hint", "operands", "properties", "results"})


def imported(tree: ast.AST) -> Iterator[tuple[str, str]]:
    """The modules that a file imports from, and the names."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from ((node.module or "", alias.name) for alias in node.names)


def changes(tree: ast.AST) -> Iterator[str]:
    """Calls that make ops or change IR, and assignments to what an op has."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            called = node.func
            is_method = isinstance(called, ast.Attribute) and called.attr in CHANGING_METHODS
            if is_method or ast.unparse(called).endswith("Op"):
                yield f"line {node.lineno} calls {ast.unparse(called)}"
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store | ast.Del):
            if node.attr in CHANGED_ATTRIBUTES:
                yield f"line {node.lineno} assigns {node.attr}"


def emitting_names(tree: ast.Module) -> frozenset[str]:
    """The functions of a file that emit or change IR, themselves or by another function of the file."""
    emitters = {name for module, name in imported(tree) if module in EMITTERS}
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    found: set[str] = set()
    while True:
        suspects = emitters | found
        more = {
            name
            for name, node in functions.items()
            if any(isinstance(each, ast.Name) and each.id in suspects for each in ast.walk(node)) or any(changes(node))
        }
        if more <= found:
            return frozenset(found)
        found |= more


def violations(tree: ast.AST) -> Iterator[str]:
    for module, name in imported(tree):
        if module in EMITTERS:
            yield f"imports {name} from {module}"
        if module.startswith(("mlirad.analysis.", "mlirad.autodiff.")):
            source = (PACKAGE.parent / f"{module.replace('.', '/')}.py").read_text()
            if name in emitting_names(ast.parse(source)):
                yield f"imports {name}, which changes IR"
    yield from changes(tree)


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.py")), ids=lambda path: path.stem)
def test_deciding_emits_nothing(path: Path) -> None:
    assert not list(violations(ast.parse(path.read_text())))


@pytest.mark.parametrize(
    "line",
    [
        "from mlirad.dialect.core.expr import constant",
        "from xdsl.rewriter import InsertPoint",
        "from mlirad.analysis.loops import add_yields",
        "from mlirad.autodiff.sizes import size_value",
        "AddOp(x, y)",
        "op.detach()",
        "op.operands = ()",
        "value.name_hint = None",
    ],
)
def test_the_test_sees_what_it_should(line: str) -> None:
    assert list(violations(ast.parse(line)))
    assert not list(violations(ast.parse("from mlirad.analysis.loops import Loop, block_of, yields")))
