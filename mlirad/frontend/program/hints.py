"""What to write instead of functions that are called for their effect, and instead of names that do not exist.

Reads: names. Writes: nothing. Leaves: hints. A name that exists is no typo, however much it looks like another one.
"""

from __future__ import annotations

from _ctypes import CFuncPtr
from collections.abc import Iterable, Mapping
from types import BuiltinFunctionType, FunctionType
from typing import Any

_FORMER = {"trapz": "trapezoid", "in1d": "isin", "product": "prod", "cumproduct": "cumprod", "msort": "sort"}
"""Names that NumPy removed without a hint: the nearest spelling may be another function."""


_EFFECTS: Mapping[Any, str] = {
    breakpoint: "print the value, or run kernel.numpy under a debugger",
    input: "read it before the call, outside",
    open: "read and write files outside",
    exec: "write the code out",
    eval: "write the code out",
}
_MODULES_OF_EFFECTS = {"logging": "log before or after the call"}


_OF_OTHER_ARRAYS = {
    "at": "write into a copy: y = x.copy(), then y[i] = v",
    "backward": "mlirad.grad(f)(x) gives the gradient",
    "block_until_ready": "leave it out: results are complete when a call returns",
    "detach": "mlirad.stop_gradient(x)",
    "double": "x.astype(np.float64)",
    "expand": "np.broadcast_to(x, shape)",
    "float": "x.astype(np.float32)",
    "long": "x.astype(np.int64)",
    "numel": "x.size",
    "numpy": "leave it out: x is an array of NumPy",
    "permute": "x.transpose(axes)",
    "requires_grad": "mlirad.grad(f, argnums=...) chooses the arguments to differentiate",
    "unsqueeze": "np.expand_dims(x, axis)",
}
"""Attributes of the arrays of PyTorch and JAX that NumPy's do not have."""


def of_other_arrays(name: str) -> str | None:
    """What to write instead of an attribute that only arrays of other packages have."""
    return _OF_OTHER_ARRAYS.get(name)


def of_effect(function: Any) -> str | None:
    """What to write instead of a function that is called only for its effect, whatever its arguments are."""
    home = getattr(function, "__module__", None)
    if isinstance(home, str) and isinstance(function, FunctionType | BuiltinFunctionType):
        own = _EFFECTS.get(function) if home in ("builtins", "io", "_io") else None
        return own or _MODULES_OF_EFFECTS.get(home.split(".")[0].lstrip("_"))
    return None


def of_native(function: Any) -> str | None:
    """What to write instead of calling a native function by its address."""
    is_native = isinstance(function, CFuncPtr)
    return "make an op of it: mlirad.register_op(name, function)" if is_native else None


def of_former_name(name: str) -> str | None:
    """NumPy's present name of a function that once had this name."""
    return f"NumPy calls it np.{_FORMER[name]} now" if name in _FORMER else None


def closest(name: str, candidates: Iterable[str]) -> str | None:
    """The candidate nearest to a misspelled name, if one is near enough; the first of several that are equally near.

    A name of one letter is no misspelling: every other letter would be near.
    """
    if len(name) < 2:
        return None
    limit = 1 if len(name) < 5 else 2
    found = [(distance, other) for other in candidates if (distance := _distance(name, other, limit)) <= limit]
    return min(found, key=lambda each: each[0])[1] if found else None


def did_you_mean(name: str, candidates: Iterable[str], spelled: str = "{}") -> str | None:
    """The hint for a name that does not exist."""
    found = closest(name, candidates)
    return None if found is None else f"did you mean {spelled.format(found)}?"


def _distance(x: str, y: str, limit: int) -> int:
    """How many letters are missing, added, wrong or transposed; counting stops beyond `limit`."""
    if abs(len(x) - len(y)) > limit:
        return limit + 1
    before, row = [0] * (len(y) + 1), list(range(len(y) + 1))
    for i, letter in enumerate(x):
        older, before, row = before, row, [i + 1]
        for j, other in enumerate(y):
            best = min(before[j + 1] + 1, row[j] + 1, before[j] + (letter != other))
            if i and j and letter == y[j - 1] and x[i - 1] == other:
                best = min(best, older[j - 1] + 1)
            row.append(best)
        if min(row) > limit:
            return limit + 1
    return row[-1]
