"""No file outside `xdsl_support` changes a class of xDSL: passes would depend on what ran before them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from own_sources import PACKAGE, nodes_of, trees

ROOM = PACKAGE / "xdsl_support"
FILES = [path for path in sorted(PACKAGE.rglob("*.py")) if ROOM not in path.parents]

# By these a class is changed through a name that is not an imported one, such as the variable of a loop over classes.
CHANGING_METHODS = frozenset({"add_trait", "get_irdl_definition", "__setattr__", "__delattr__"})
CHANGING_FUNCTIONS = frozenset({"setattr", "delattr"})
CHANGING_BY_NAME = frozenset({"append", "extend", "insert", "add", "update", "setdefault", "pop", "clear", "remove"})


def xdsl_names(tree: ast.AST) -> frozenset[str]:
    """The names that a file imports from xDSL, inside functions and under TYPE_CHECKING too."""
    found: set[str] = set()
    for node in nodes_of(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "xdsl":
            found.update(alias.asname or alias.name for alias in node.names)
        elif isinstance(node, ast.Import):
            found.update(alias.asname or "xdsl" for alias in node.names if alias.name.split(".")[0] == "xdsl")
    return frozenset(found)


def root_of(node: ast.AST) -> str | None:
    """The name that a chain of attributes and subscripts starts from; None for a name alone."""
    if not isinstance(node, ast.Attribute | ast.Subscript):
        return None
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else None


def targets(node: ast.AST) -> Iterator[ast.AST]:
    """The targets that a statement writes or deletes."""
    written: list[ast.expr] = []
    if isinstance(node, ast.Assign | ast.Delete):
        written = list(node.targets)
    elif isinstance(node, ast.AugAssign | ast.AnnAssign | ast.For | ast.NamedExpr):
        written = [node.target]
    elif isinstance(node, ast.withitem) and node.optional_vars is not None:
        written = [node.optional_vars]
    for each in written:
        yield from (found for found in ast.walk(each) if isinstance(getattr(found, "ctx", None), ast.Store | ast.Del))


def changes(tree: ast.AST) -> Iterator[str]:
    """The places where a file changes, or might change, imports from xDSL."""
    names = xdsl_names(tree)
    if not names:
        return
    for node in nodes_of(tree):
        for target in targets(node):
            if root_of(target) in names:
                yield f"writes {ast.unparse(target)}"
        if not isinstance(node, ast.Call):
            continue
        function = node.func
        if isinstance(function, ast.Name) and function.id in CHANGING_FUNCTIONS:
            yield f"line {node.lineno}: {ast.unparse(node)}"
        if isinstance(function, ast.Attribute):
            is_deep = isinstance(function.value, ast.Attribute | ast.Subscript) and root_of(function.value) in names
            if function.attr in CHANGING_METHODS or (function.attr in CHANGING_BY_NAME and is_deep):
                yield f"line {node.lineno}: {ast.unparse(node)}"


def test_no_class_of_xdsl_is_changed() -> None:
    assert not [f"{path.relative_to(PACKAGE)}: {found}" for path in FILES for found in changes(trees()[path])]


@pytest.mark.parametrize(
    "code",
    [
        "from xdsl.dialects import arith\narith.SelectOp.print = f",
        "from xdsl.dialects.linalg import FillOp\nFillOp.traits.add_trait(Pure())",
        "from xdsl.dialects.linalg import FillOp, CopyOp\nfor k in (FillOp, CopyOp):\n    k.traits.add_trait(Pure())",
        "from xdsl.ir import Operation\ndef apply(self):\n    setattr(Operation, 'name', 1)",
        "import xdsl.ir\nxdsl.ir.Operation.name = 1",
        "from xdsl.dialects import arith\narith.CmpfOp.get_irdl_definition().results[0][1].constr = c",
        "from xdsl.dialects import arith\ndel arith.SelectOp.print",
        "from xdsl.dialects.arith import Arith\nArith._operations.append(RemfOp)",
        "def f():\n    from xdsl.dialects import arith as a\n    a.SelectOp.x, y = 1, 2",
    ],
)
def test_the_test_sees_what_it_should(code: str) -> None:
    assert list(changes(ast.parse(code)))


@pytest.mark.parametrize(
    "code",
    [
        "from xdsl.ir import Operation\ndef f(op: Operation):\n    op.attributes['x'] = Operation.name",
        "from xdsl.dialects import arith\nx: arith.SelectOp = arith.SelectOp(a, b, c)",
        "from pathlib import Path\nPath.name = 1",
    ],
)
def test_the_test_sees_no_more(code: str) -> None:
    assert not list(changes(ast.parse(code)))


@cache
def loaded_by(path: Path) -> frozenset[Path]:
    """The files of the package that a file imports when it is loaded, with the packages around them."""
    modules: set[str] = set()
    for node in trees()[path].body:
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "mlirad":
            modules |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    found: set[Path] = set()
    for module in modules:
        parts = module.split(".")[1:]
        for depth in range(1, len(parts) + 1):
            stem = PACKAGE.joinpath(*parts[:depth])
            found |= {file for file in (stem.with_suffix(".py"), stem / "__init__.py") if file.exists()}
    return frozenset(found)


def reached(path: Path) -> set[Path]:
    """The files of the package that are loaded with one, by the imports that run when it does."""
    seen, next_ones = {path}, [path]
    while next_ones:
        new = loaded_by(next_ones.pop()) - seen
        seen |= new
        next_ones += new
    return seen


def is_of_a_pass(path: Path) -> bool:
    bases = [base for node in nodes_of(trees()[path]) if isinstance(node, ast.ClassDef) for base in node.bases]
    return "ModulePass" in map(ast.unparse, bases)


def test_the_changes_are_made_before_a_pass_is_there() -> None:
    passes = [path for path in FILES if is_of_a_pass(path)]
    assert len(passes) > 40
    assert not [path for path in passes if ROOM / "__init__.py" not in reached(path)]
