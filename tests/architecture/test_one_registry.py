"""All facts about a NumPy function are declared where it is implemented: no module has a second table of functions."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast

import numpy as np

import mlirad.frontend

# Allowed tables, with contents that are not facts about how one function is compiled.
TABLES = {
    "numpy.declarations._functions": "the registry",
    "numpy.numpy_elementwise.COMPARISONS": "the relations, which share an implementation",
    "numpy.numpy_elementwise.OF_BOOLS": "which relation of bools arithmetic is",
    "numpy.numpy_elementwise.BITWISE": "which relation of bools an operator on bits is",
    "numpy.numpy_scalars._POLES": "how Python says that a float has no result",
    "numpy.operators._DIVISIONS": "how Python says that a float has no result",
    "numpy.operators._SYMBOLS": "how operators are spelled in messages",
    "numpy.python_integers._FITS": "which arithmetic on Python's ints can overflow",
    "program.hidden_state._HINTS": "what to write instead of functions that are never compiled",
    "program.hints._EFFECTS": "what to write instead of functions that are never compiled",
    "program.pure_functions._UFUNCS": "the allowlist of what runs while compiling",
    "program.pure_functions.PURE": "the allowlist of what runs while compiling",
    "program.pure_functions.OF_TEXT": "the allowlist of what runs while compiling",
    "program.pure_functions.OF_ITEMS": "the allowlist of what runs while compiling",
    "program.pure_functions.OF_SETS": "the allowlist of what runs while compiling",
}
_MODULES = ("numpy", "math", "builtins", "operator", "_operator")


def functions_in(value: Any) -> Iterator[Any]:
    """The functions of NumPy and Python that a container holds, at any depth."""
    if isinstance(value, Mapping | tuple | list | set | frozenset):
        for item in cast("Iterable[Any]", value):
            yield from functions_in(item)
    elif isinstance(value, np.ufunc) or (callable(value) and not isinstance(value, type)):
        home = "numpy" if isinstance(value, np.ufunc) else getattr(value, "__module__", None) or ""
        if home.partition(".")[0] in _MODULES:
            yield value


def tables_of(module: object) -> Iterator[str]:
    """The names of the module's containers of more than one function."""
    contents: dict[str, Any] = vars(module)
    for name, value in contents.items():
        if isinstance(value, Mapping | tuple | list | set | frozenset) and len(list(functions_in(value))) > 1:
            yield name


def test_no_module_of_the_frontend_lists_functions_again() -> None:
    found: dict[int, str] = {}
    for info in pkgutil.walk_packages(mlirad.frontend.__path__, "mlirad.frontend."):
        module = importlib.import_module(info.name)
        for name in tables_of(module):
            place = f"{info.name.removeprefix('mlirad.frontend.')}.{name}"
            # A table that is imported from another module is that module's.
            if found.get(id(vars(module)[name])) not in TABLES:
                found[id(vars(module)[name])] = place
    assert sorted(found.values()) == sorted(TABLES)


def test_tables_are_recognised() -> None:
    module = type("Module", (), {})()
    vars(module).update(
        a=(np.sum, np.mean), b={np.add: 1, np.max: 2}, c=[(np.sin,), {np.cos}], d=(np.sum,), e=(int, float)
    )
    assert list(tables_of(module)) == ["a", "b", "c"]
