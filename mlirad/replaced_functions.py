"""Refuses to compile while functions of NumPy or math are replaced, as tests and tools do.

Reads: the namespaces of these modules, now and when mlirad was imported. Writes: nothing. Gives: a refusal, because the
compiler's rules use these functions, and the compiler finds NumPy's functions by their names.
"""

from __future__ import annotations

import math
import operator
from types import BuiltinFunctionType, ModuleType
from typing import Any

import numpy as np
import numpy._core as core

from mlirad.errors import FUNCTIONS, UnsupportedSyntaxError
from mlirad.location import SourceLocation

_NOT_THERE = object()
_MATTERING = (np.ufunc, type, BuiltinFunctionType, type(core.sum))
"""Kinds of functions that can be compiled; the others read and print."""


def _functions_of(module: ModuleType) -> dict[str, Any]:
    return {name: value for name, value in vars(module).items() if isinstance(value, _MATTERING)}


# A function replaced before mlirad was imported is found under its name in NumPy's defining module.
_known = {
    np: {**_functions_of(np), **{name: each for name, each in _functions_of(core).items() if hasattr(np, name)}},
    np.linalg: _functions_of(np.linalg),
    math: _functions_of(math),
}
_SHORT = {np: "np", np.linalg: "np.linalg", math: "math"}


def require_originals(location: SourceLocation | None) -> None:
    """Raises UnsupportedSyntaxError if a function has been replaced."""
    for module, functions in _known.items():
        space = vars(module)
        if all(map(operator.is_, map(space.get, functions), functions.values())):
            continue
        for name, original in functions.items():
            if (now := space.get(name, _NOT_THERE)) is not original:
                what = f"has been replaced by {now!r}" if now is not _NOT_THERE else "has been removed"
                raise UnsupportedSyntaxError(
                    f"{_SHORT[module]}.{name} {what}, and the compiler needs the function that was there",
                    location,
                    "restore it while functions are compiled, and give the replacement another name",
                    FUNCTIONS,
                )
