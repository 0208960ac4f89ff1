"""The house rules that a machine can check: imports go one way, targets are found and never named, no drawers."""

from __future__ import annotations

import ast
import importlib
import subprocess
import sys
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import FunctionType

import pytest
from own_sources import PACKAGE, nodes_of
from own_sources import trees as sources

# From the bottom up; a room imports itself and the rooms below it. Rooms of one row never import one another,
# except for the leaves.
ROWS: tuple[frozenset[str], ...] = (
    frozenset(
        {
            "dialect_version",
            "errors",
            "forking",
            "location",
            "stages",
            "tree",
            "signature",
            "options",
            "process_setting",
            "raised_exceptions",
            "replaced_functions",
            "requests",
            "slow_compilations",
            "threads",
        }
    ),
    frozenset({"xdsl_support", "contract", "library"}),
    frozenset({"dialect"}),
    frozenset({"analysis"}),
    frozenset({"frontend", "autodiff", "lowering", "evaluator"}),
    frozenset({"targets"}),
    frozenset({"pipeline"}),
    frozenset({"jit"}),
    frozenset({"__init__"}),
)
LEAVES = ROWS[0]
AROUND = frozenset({"cli", "opt", "testing", "interop", "nn", "random", "demo", "explaining", "__main__"})
TARGET_NAMES = frozenset({"cpu", "ascend", "python"})
DRAWERS = frozenset({"utils", "util", "helpers", "helper", "common", "misc"})

# Lines of a file and of a function: above the first a warning, above the second a failure.
FILE_BUDGET = (400, 800)
FUNCTION_BUDGET = (60, 120)


@dataclass(frozen=True)
class Import:
    """`module` is a dotted name; for `from a import b` it is `a.b`, which may be a module or a name in one."""

    module: str
    line: int
    is_from: bool


def room_of(path: Path) -> str:
    return path.relative_to(PACKAGE).with_suffix("").parts[0]


def row_of(room: str) -> int | None:
    return next((number for number, rooms in enumerate(ROWS) if room in rooms), None)


@cache
def imports(tree: ast.AST) -> tuple[Import, ...]:
    """Every import, inside functions and under TYPE_CHECKING too, and importlib.import_module of a literal."""
    return tuple(_imports(tree))


def _imports(tree: ast.AST) -> Iterator[Import]:
    for node in nodes_of(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(alias.name, node.lineno, False)
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                yield Import(f"{'.' * node.level}{node.module or ''}.{alias.name}", node.lineno, True)
        elif isinstance(node, ast.Call) and node.args:
            function, argument = node.func, node.args[0]
            name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", None)
            if name in ("import_module", "__import__") and isinstance(argument, ast.Constant):
                yield Import(str(argument.value), node.lineno, True)


def imported_room(module: str) -> str | None:
    """The room that a dotted name belongs to; a name of the package itself is `__init__`'s; None if not ours."""
    head, *rest = module.split(".")
    if head != "mlirad":
        return None
    known = set(AROUND).union(*ROWS)
    return rest[0] if rest and rest[0] in known else "__init__"


def test_every_module_belongs_to_a_room() -> None:
    known = set(AROUND).union(*ROWS)
    assert not [str(path) for path in sources() if room_of(path) not in known]


def violations(room: str, tree: ast.AST) -> Iterator[str]:
    """The forbidden imports of `room`."""
    row = row_of(room)
    for found in imports(tree):
        if found.module.startswith("."):
            yield f"line {found.line}: relative import"
            continue
        other = imported_room(found.module)
        if other is None or other == room or room in AROUND:
            continue
        if not found.is_from:
            # `mlirad.jit` is a package and a decorator: the attribute is not what an import statement means.
            yield f"line {found.line}: `import {found.module}`; inside the package only `from ... import` is sure"
        other_row = row_of(other)
        is_lazy_public = room == "__init__" and other in AROUND
        if row is None or (other_row is None and not is_lazy_public):
            yield f"line {found.line}: {room} imports {other}, which nothing below may import"
        elif other_row is not None and (other_row > row or (other_row == row and room not in LEAVES)):
            yield f"line {found.line}: {room} imports {other}, which is not below it"


def test_imports_go_one_way() -> None:
    assert not [
        f"{path.relative_to(PACKAGE)}: {found}"
        for path, tree in sources().items()
        for found in violations(room_of(path), tree)
    ]


@pytest.mark.parametrize(
    ("room", "line"),
    [
        ("errors", "from mlirad.dialect import op"),
        ("errors", "from mlirad.xdsl_support.effects import is_terminator"),
        ("xdsl_support", "from mlirad.dialect import types"),
        ("dialect", "from mlirad.analysis.loops import trip_count"),
        ("analysis", "from mlirad.lowering.rewriting import replace"),
        ("frontend", "from mlirad.autodiff.adjoint import Adjoint"),
        ("lowering", "import mlirad"),
        ("lowering", "def f():\n    from mlirad.pipeline import run"),
        ("targets", "from mlirad import jit"),
        ("pipeline", "from mlirad.demo import train"),
        ("autodiff", "from ..lowering import fuse"),
        ("targets", "importlib.import_module('mlirad.jit.kernel')"),
    ],
)
def test_the_test_sees_what_it_should(room: str, line: str) -> None:
    assert list(violations(room, ast.parse(line)))


def module_of(path: Path) -> str:
    return ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")


def imported_files(trees: Mapping[str, ast.AST]) -> dict[str, set[str]]:
    """Which modules each module imports, at its top, in functions or for annotations only."""
    edges: dict[str, set[str]] = {name: set() for name in trees}
    for name, tree in trees.items():
        for found in imports(tree):
            whole, inside = found.module, found.module.rpartition(".")[0]
            edges[name].add(whole if whole in trees else inside)
        edges[name] &= trees.keys() - {name}
    return edges


def circles(edges: Mapping[str, set[str]]) -> set[frozenset[str]]:
    """The largest groups of modules that all import one another, directly or through others of the group."""

    def reached_from(start: str) -> set[str]:
        reached: set[str] = set()
        pending = [start]
        while pending:
            new = edges[pending.pop()] - reached
            reached |= new
            pending += new
        return reached

    reached = {name: reached_from(name) for name in edges}
    return {
        frozenset(other for other in others if name in reached[other])
        for name, others in reached.items()
        if name in others
    }


# Inside a room: its folders from the bottom up ("" is the room's own files). Each imports those before it only.
FOLDERS: dict[str, tuple[str, ...]] = {
    "dialect": ("core", "ops", "arrays", "ad", "functions", "layers", "linear_algebra", "effects", ""),
    "frontend": ("program", "values", "numpy", "join", "interpreter", ""),
    "frontend/join": ("", "merging", "carried"),
    "frontend/interpreter": ("", "expressions", "text", "statements", "calls", "loops"),
    "autodiff": ("", "tape", "requests"),
    "autodiff/tape": ("decision", ""),
    "lowering": ("", "clean_up", "layouts", "planes", "to_linalg", "to_buffers", "trips", "to_loops", "registers"),
}
FILES_IN_A_FOLDER, METHODS_OF_A_CLASS = 20, 60


def folder_violations(room: str, folders: tuple[str, ...], edges: Mapping[str, set[str]]) -> Iterator[str]:
    """The imports of a room's folder from folders that are not below it."""
    start = f"mlirad.{room.replace('/', '.')}."

    def rank(module: str) -> int | None:
        if not module.startswith(start):
            return None
        head, _, rest = module.removeprefix(start).partition(".")
        return folders.index(head) if rest and head in folders else folders.index("")

    for name, found in edges.items():
        for other in found:
            mine, its = rank(name), rank(other)
            if mine is not None and its is not None and its > mine:
                yield f"{name} imports {other}"


@pytest.mark.parametrize("room", FOLDERS)
def test_the_folders_of_a_room_stand_one_on_another(room: str) -> None:
    edges = imported_files({module_of(path): tree for path, tree in sources().items()})
    assert not list(folder_violations(room, FOLDERS[room], edges))
    (found,) = folder_violations("a", ("low", "high"), {"mlirad.a.low.x": {"mlirad.a.high.y"}})
    assert found == "mlirad.a.low.x imports mlirad.a.high.y"


def test_a_folder_can_be_taken_in_at_a_glance() -> None:
    folders = Counter(path.parent for path in sources())
    assert not {str(folder): count for folder, count in folders.items() if count > FILES_IN_A_FOLDER}


def test_no_class_has_more_methods_than_one_can_know() -> None:
    """Those that it inherits from classes of the project counted."""
    found: dict[str, int] = {}
    for path in sources():
        try:
            module = importlib.import_module(module_of(path))
        except ImportError:  # an optional part with missing packages
            continue
        for kind in vars(module).values():
            if isinstance(kind, type) and kind.__module__ == module.__name__:
                own = [each for each in kind.__mro__ if each.__module__.startswith("mlirad.")]
                names = {name for each in own for name, value in vars(each).items() if isinstance(value, FunctionType)}
                found[f"{kind.__module__}.{kind.__name__}"] = len(names)
    assert len(found) > 500
    assert not {name: count for name, count in found.items() if count > METHODS_OF_A_CLASS}


def test_no_files_import_one_another_in_a_circle() -> None:
    edges = imported_files({module_of(path): tree for path, tree in sources().items()})
    found = [
        f"{name} imports {', '.join(sorted(edges[name] & circle))}"
        for circle in circles(edges)
        for name in sorted(circle)
    ]
    assert not found, "files that import one another in a circle (move what they share into a file below them)"


def test_the_test_of_circles_sees_what_it_should() -> None:
    trees = {
        "mlirad": "from mlirad.a import x",
        "mlirad.a": "def f():\n    from mlirad.b import g",
        "mlirad.b": "if TYPE_CHECKING:\n    from mlirad.room import c",
        "mlirad.room.c": "def f():\n    importlib.import_module('mlirad.room')",
        "mlirad.room": "import mlirad.a",
        "mlirad.d": "from mlirad import a, e",
        "mlirad.e": "from mlirad.room.c import f",
        "mlirad.g": "from mlirad.h import name",
        "mlirad.h": "from mlirad import g",
    }
    found = circles(imported_files({name: ast.parse(text) for name, text in trees.items()}))
    assert found == {
        frozenset({"mlirad.a", "mlirad.b", "mlirad.room.c", "mlirad.room"}),
        frozenset({"mlirad.g", "mlirad.h"}),
    }


def test_leaves_import_no_xdsl() -> None:
    for path, tree in sources().items():
        if room_of(path) in LEAVES:
            assert not [found.module for found in imports(tree) if found.module.split(".")[0] in ("xdsl", "llvmlite")]


def run_python(code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=PACKAGE.parent, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_import_mlirad_loads_no_compiler() -> None:
    """`import mlirad` costs little more than NumPy."""
    heavy = run_python(
        "import sys, mlirad; print(sorted({'xdsl', 'llvmlite', 'numba', 'scipy', 'sklearn', 'jax'} & set(sys.modules)))"
    )
    assert heavy == "[]"


def test_jit_is_callable_after_every_submodule_is_imported() -> None:
    """The package `mlirad.jit` must never take the place of the decorator of the same name."""
    out = run_python(
        "import importlib, pkgutil, mlirad\n"
        "for module in pkgutil.walk_packages(mlirad.__path__, 'mlirad.'):\n"
        "    if not module.name.endswith('__main__'):\n"
        "        importlib.import_module(module.name)\n"
        "print(callable(mlirad.jit))"
    )
    assert out.splitlines()[-1] == "True"


def target_names(tree: ast.AST) -> Iterator[str]:
    for node in nodes_of(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in TARGET_NAMES:
            yield f"line {node.lineno}: the string {node.value!r}"
    for found in imports(tree):
        parts = found.module.split(".")
        if parts[:2] == ["mlirad", "targets"] and len(parts) > 2 and parts[2] in TARGET_NAMES:
            yield f"line {found.line}: imports {found.module}"


def test_targets_are_discovered_and_never_named() -> None:
    found = {
        str(path.relative_to(PACKAGE)): names
        for path, tree in sources().items()
        if room_of(path) not in ("targets", "options") and (names := list(target_names(tree)))
    }
    assert not found


def test_no_drawers() -> None:
    assert not [str(path) for path in sources() if DRAWERS & set(path.relative_to(PACKAGE).with_suffix("").parts)]


# Names that may occur twice. In parallel rooms (the two generators of programs; a target and its interface; the ops of
# tapes and their pass) the room distinguishes them; `op.py` re-exports; the others are to become one.
SHARED_FILE_NAMES = {"campaign", "generate", "judge", "tape", "target", "op", "loops", "sizes"}
SHARED_CLASS_NAMES = {"Form", "Loop", "Nest", "Reached", "Signature"}


def test_file_names_tell_files_apart() -> None:
    names = Counter(path.stem for path in sources() if not path.stem.startswith("__"))
    assert {name for name, count in names.items() if count > 1} <= SHARED_FILE_NAMES


def test_class_names_tell_classes_apart() -> None:
    """One word, one thing: a public class has a name of its own, in all rooms except `testing`. In `interop` the names
    are those of other packages."""
    trees = [tree for path, tree in sources().items() if room_of(path) not in ("testing", "interop")]
    classes = (node.name for tree in trees for node in tree.body if isinstance(node, ast.ClassDef))
    names = Counter(name for name in classes if not name.startswith("_"))
    assert {name for name, count in names.items() if count > 1} <= SHARED_CLASS_NAMES


def test_sizes_stay_in_budget() -> None:
    """The soft budget warns, the hard one fails: a file or function that large should be split by meaning."""
    above: list[tuple[int, int, str]] = []
    for path, tree in sources().items():
        name = path.relative_to(PACKAGE.parent).as_posix()
        above.append((len(path.read_text().splitlines()), 0, name))
        for node in nodes_of(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                above.append(
                    ((node.end_lineno or node.lineno) - node.lineno + 1, 1, f"{name}:{node.lineno} {node.name}")
                )
    budgets = (FILE_BUDGET, FUNCTION_BUDGET)
    for lines, kind, name in above:
        if budgets[kind][0] < lines <= budgets[kind][1]:
            warnings.warn(f"{name}: {lines} lines (budget {budgets[kind][0]})", stacklevel=1)
    assert not [f"{name}: {lines} lines" for lines, kind, name in above if lines > budgets[kind][1]]
