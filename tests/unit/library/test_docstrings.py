"""The examples in NumPy's docstrings of each function of the library: a kernel returns and writes the same as NumPy.

NumPy itself computes calls with constants. So the first list among literal arguments becomes an argument of the kernel.
"""

from __future__ import annotations

import ast
import doctest
import re
import warnings
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import other_numpys
import pytest
from library_outcomes import outcome_of, require_same

from mlirad.errors import CompileError
from mlirad.library import index
from mlirad.testing.interpreted import Interpreted

# Examples that are refused, by an expression for their text: what is missing.
REFUSED = {
    r"^np\.(s_|index_exp)": "slices as results",
    r"np\.r_\['": "strings that say how to concatenate",
    r"np\.isin\(element, (test_set|list\(test_set)": "sets as arrays",
    r"np\.testing": "tests",
    r"np\.fromiter\(iterable": "generators from around the function",
    r"bins='auto'": "rules for the number of bins, which depends on data",
    r"pad_with": "a function as the mode of np.pad",
    r"np\.random": "random numbers",
    r"np\.poly\(P\)": "eigenvalues",
    r"print\(": "output",
    r"np\.polyder\(p, |np\.poly1d": "np.poly1d",
    r"\.view\(": "arrays read in another dtype",
    r"np\.matrix\(": "matrices of a class of their own",
}


class _Lifted(ast.NodeTransformer):
    """Replaces the first list of numbers among the arguments of a call by a name."""

    def __init__(self) -> None:
        self.literal: ast.expr | None = None

    def visit_List(self, node: ast.List) -> ast.expr:
        is_numbers = all(
            isinstance(each, ast.Constant | ast.List | ast.UnaryOp | ast.Load | ast.USub) for each in ast.walk(node)
        )
        if self.literal is not None or not node.elts or not is_numbers:
            return node
        self.literal = node
        return ast.Name("lifted", ast.Load())

    visit_Tuple = generic = lambda self, node: node


def examples(name: str) -> list[tuple[str, str, dict[str, Any]]]:
    """The expressions of a docstring that call the function, each with the functions and names defined before it."""
    module, _, short = name.rpartition(".")
    text = getattr(import_module(module), short).__doc__ or ""
    space: dict[str, Any] = {"np": np}
    found, functions = [], ""
    for example in doctest.DocTestParser().get_examples(text):
        try:
            tree = ast.parse(example.source)
        except SyntaxError:
            break
        statement = tree.body[0] if len(tree.body) == 1 else None
        calls = [each for each in ast.walk(tree) if isinstance(each, ast.Attribute) and each.attr == short]
        if isinstance(statement, ast.Expr) and calls and "#" not in example.source:
            found.append((example.source.strip(), functions, dict(space)))
        functions += example.source if isinstance(statement, ast.FunctionDef) else ""
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                exec(example.source, space)
            except Exception:
                if not example.exc_msg:
                    break  # needs another package, or no longer exists in this NumPy
    return found


NUMPYS = sorted(name for name in index.FUNCTIONS if other_numpys.has(name) and not name.startswith("scipy."))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", NUMPYS)
def test_examples(name: str, tmp_path: Path) -> None:
    for number, example in enumerate(examples(name)):
        compare(name, *example, tmp_path / f"example_{number}.py")


def compare(name: str, source: str, functions: str, space: dict[str, Any], path: Path) -> None:
    """Compare an example with NumPy, unless it is refused for a known reason, or too large."""
    lifted = _Lifted()
    tree = ast.parse(source, mode="eval")
    used = {each.id for each in ast.walk(tree) if isinstance(each, ast.Name)}
    arguments = {each: space[each] for each in used if isinstance(space.get(each), np.ndarray)}
    if not arguments:
        tree = ast.fix_missing_locations(lifted.visit(tree))
        if lifted.literal is not None:
            arguments["lifted"] = np.array(ast.literal_eval(lifted.literal))
    if any(each.dtype.kind not in "biuf" for each in arguments.values()):
        return  # a dtype that is not compiled
    if any(each.size > 64 for each in arguments.values()):
        return  # the interpreter is slow on large arrays
    path.write_text(f"{functions}\ndef example({', '.join(arguments)}):\n    return {ast.unparse(tree)}\n")
    held = dict(space)
    exec(compile(path.read_text(), str(path), "exec"), held)
    function = held["example"]
    ours, own = ([each.copy() for each in arguments.values()] for _ in range(2))
    wanted = outcome_of(function, *own)
    try:
        found = outcome_of(Interpreted(function, "tensor"), *ours)
    except CompileError as error:
        found = error
    reason = next((reason for pattern, reason in REFUSED.items() if re.search(pattern, source)), None)
    if isinstance(found, CompileError) and not isinstance(wanted, Exception):
        assert reason is not None, f"{source}: {found}"
        return
    assert reason is None, f"{source}: it is compiled: take it out of REFUSED"
    if name == "numpy.unique_values":  # in no defined order
        found, wanted = np.sort(found), np.sort(wanted)
    if name == "numpy.linalg.eigvals" and isinstance(wanted, np.ndarray):
        wanted = wanted.astype(complex)  # a row of docs/deviations.md
    require_same(found, wanted)
    if "overwrite_input" not in source:  # which leaves the array's later contents undefined
        for one, other in zip(ours, own, strict=True):
            require_same(one, other)
