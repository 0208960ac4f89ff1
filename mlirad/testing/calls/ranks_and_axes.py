"""Calls of all compiled functions, on arrays of ranks 0 to 4, with axes, counts and shapes that may not fit.

Reads: the tables of functions, and the signatures that NumPy gives its own. Writes: nothing. Leaves: expressions of x
and y (floats) and i (indices), with their ranks and shapes.
"""

from __future__ import annotations

import builtins
import inspect
import itertools
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mlirad.frontend.numpy import declarations, numpy_calls
from mlirad.library import spells
from mlirad.testing.calls.public_names import public_object

ARRAYS: tuple[tuple[int, ...], ...] = ((), (1,), (3,), (0,), (2, 3), (3, 3), (1, 3), (2, 3, 4), (3, 1, 3), (2, 1, 3, 2))
NUMBERS = ("Python's", "NumPy's")
"""Values of x and y besides arrays: numbers without a rank."""

_AXES = (
    *("-5", "-4", "-3", "-2", "-1", "0", "1", "2", "3", "4", "None", "()", "(0,)", "(0, 1)", "(1, 0)", "(0, 0)"),
    *("(0, -1)", "(1, -1)", "(-1, -2)", "(0, 4)", "(0, 1, 2)", "(2, 0, 1)", "(1, 0, 3, 2)", "(0, 1, 2, 3)"),
    *("[0, 1]", "np.int64(1)", "1.0", "True", "(0, None)"),
)
_SINGLE = ("-5", "-4", "-3", "-2", "-1", "0", "1", "2", "3", "4", "(0, 1)", "1.0", "np.int64(1)", "None")
_COUNTS = ("-4", "-1", "0", "1", "2", "5", "1.0", "np.int64(1)", "True")
_SHAPES = (
    *("()", "-1", "3", "(3,)", "(2, 3)", "(3, 2)", "(-1, 3)", "(3, -1)", "(-1, -1)", "(2, -1, 2)", "(3, 3)", "0", "-2"),
    *("(1, 1, 1)", "(2, 3, 4)", "(2, 2, 3, 4)", "(0, 3)", "(-1, 0)", "(2, -2)", "1.0", "(2, 3.0)", "[2, 3]"),
)
VALUES: dict[str, Sequence[str]] = {
    "axis": _AXES,
    "axes": (*_AXES, "([0], [0])", "([0, 1], [1, 0])", "([-1], [0, 1])", "(1, [0])", "([0], [5])", "([0, 0], [0, 1])"),
    "axis1": _SINGLE,
    "axis2": _SINGLE,
    "source": _AXES,
    "destination": _AXES,
    "start": _SINGLE,
    "k": _COUNTS,
    "n": _COUNTS,
    "N": _COUNTS,
    "M": (*_COUNTS, "None"),
    "num": _COUNTS,
    "offset": _COUNTS,
    "repeats": (*_COUNTS, "[1, 2, 0]", "()"),
    "reps": (*_COUNTS, "(2, 1)", "()", "(1, 2, 0)", "(2, 1, 1, 1, 2)", "(-1, 2)", "[2]"),
    "shift": (*_COUNTS, "(1, 2)", "(1,)", "()"),
    "shape": _SHAPES,
    "keepdims": ("True", "False"),
    "ddof": ("0", "1", "5"),
    "endpoint": ("True", "False"),
    "ndmin": ("0", "1", "3"),
    "indices": ("i", "0", "-1", "4", "[0, 1]", "[[0], [-1]]", "[]", "()", "1.0", "[True, False]"),
    "tup": ("[x, y]", "(x, y, x)", "x", "[]", "[x]", "[x, 1.0]", "[x, [0.5]]"),
    "arrays": ("[x, y]", "(x, y, x)", "x", "[]", "[x]", "[x, 1.0]", "[x, [0.5]]"),
    "subscripts": (
        *("'i'", "'ij'", "'ij->ji'", "'ii->i'", "'ii'", "'ijk->kj'", "'->'", "'i->ii'", "'ij->k'", "'...i->i...'"),
        *("'ij,jk->ik'", "'i,j->ij'", "'i,i'", "'ij,j'", "'ijk,k->ij'", "'ii,i->i'", "',i->i'", "'i,i,i'"),
    ),
    "args": ("i, i", "x, i"),
    "varargs": ("", "0.5", "0.5, 0.25", "y"),
    "iter": ("x", "[0.5, 1.5]"),
    "right": ("True", "0.5"),
    "left": ("0.5",),
    "sparse": ("True",),
    "real": ("0.5", "x"),
    "imag": ("0.5", "x"),
    "indexing": ("'ij'", "'xy'", "'z'"),
    "vals": ("[1.0]", "y"),
    "default": ("y", "1.0"),
    "choices": ("[x, y]", "x"),
    "mask": ("x > 0.5", "i"),
    "bins": ("3", "[0.0, 0.5, 1.0]", "0"),
    "xp": ("[0.0, 0.5, 1.0]", "y"),
    "fp": ("[1.0, 2.0, 3.0]", "y"),
    "condlist": ("[x > 0.5]", "[x > 0.5, y > 0.5]"),
    "choicelist": ("[y]", "[x, y]"),
    "funclist": ("[1.0]", "[1.0, 2.0]"),
    "multi_index": ("(i, i)",),
    "dims": ("(3, 3)", "3"),
    "func1d": ("np.sum", "np.cumsum"),
    "func": ("np.sum",),
    "pyfunc": ("np.sum",),
    "function": ("np.add",),
    "from_": ("x",),
    "to": ("float", "int"),
    "xi": ("x, y", "x"),
    "arrays_and_dtypes": ("x, y", "x"),
    "kind": ("'stable'", "None", "'quick'"),
    "stable": ("True", "None"),
    "decimals": ("1", "-1", "1.0", "None"),
    "weights": ("x", "y", "None"),
    "returned": ("True",),
    "rowvar": ("False",),
    "bias": ("True",),
    "include_initial": ("True",),
    "increasing": ("True",),
    "axisa": _SINGLE,
    "axisb": _SINGLE,
    "axisc": _SINGLE,
    "dx": ("0.5", "y"),
    "obj": ("1", "-1", "5", "[0, 1]", "i"),
    "steps": ("2", "None"),
    "descending": ("True", "False"),
    "kth": ("0", "1", "-1", "5", "1.0"),
    "side": ("'right'", "'both'"),
    "q": ("0.5", "0", "1", "[0.25, 0.5]", "1.5", "-0.1"),
    "indices_or_sections": _COUNTS,
    "rtol": ("0.1", "y"),
    "atol": ("0.1", "y"),
    "rel_tol": ("0.1", "-0.1"),
    "abs_tol": ("0.1", "-0.1"),
    "equal_nan": ("True",),
    "assume_unique": ("True",),
    "invert": ("True",),
    "sample": ("x", "[x, y]"),
    "ind": ("i", "x", "9"),
    "v": ("y", "[1.0]"),
    "filt": ("x",),
    "window_shape": ("2", "(1, 2)", "9"),
    "bitorder": ("'little'",),
    "count": ("3", "-1", "9"),
    "trim": ("'f'", "'x'"),
    "ndim": ("1", "3", "0"),
    "beta": ("2.0", "0"),
    "dimensions": _SHAPES,
    "mask_func": ("np.triu",),
    "keys": ("x", "(x, y)", "[x]", "()"),
    "new_shape": _SHAPES,
    "pad_width": ("0", "1", "(1, 2)", "((1, 0), (0, 2))", "-1", "1.0"),
    "to_end": ("y",),
    "to_begin": ("y",),
    "discont": ("1.0",),
    "period": ("3.0",),
    "seq": ("x", "[x, y]"),
    "integers": ("i, 6", "4, 6"),
    "i": ("i", "2"),
    "order": ("'C'", "'F'", "'A'", "'f'", "None", "0", "'Z'"),
}
"""Values for a parameter, by its name; `x`, `y` and `i` for array parameters."""

_NAMES_OF_FIRST = """
a x arr m v A array object prototype val value x1 arys condition base a1 ary ar ar1 f p element iterable
seq_of_zeros op u c_or_r
"""
_FIRST = frozenset(_NAMES_OF_FIRST.split())
_NAMES_OF_SECOND = """
b y values B other x2 exp fill_value stop a_min a_max min max other a2 ar2 test_elements
"""
_SECOND = frozenset(_NAMES_OF_SECOND.split())
# Parameters with separate tables: dtypes, places for the result, layouts, numbers without a rank.
_NAMES_APART = """
dtype out like device subok casting where initial mean correction copy kwargs optimize mode buffer strides mod
prepend append retstep ndmax step signature axis_of_start overwrite_input method sorter kw return_index
return_inverse return_counts return_indices sorted fweights aweights wrap nan posinf neginf varargs edge_order density
range minlength cache doc excluded otypes flags op_axes op_flags op_dtypes itershape buffersize r variable interpolation
newshape
"""
_APART = frozenset(_NAMES_APART.split())
_CREATED = (np.empty, np.empty_like, np.ndarray)  # their elements are uninitialized

# Expressions that are not calls.
OTHERS = (
    *(
        "x @ y",
        "x + y",
        "x == y",
        "len(x)",
        "x[0]",
        "x[-1]",
        "x[3]",
        "x[0, 1]",
        "x[..., 0]",
        "x[0, ..., 1]",
        "x[None, 0]",
    ),
    *(
        "x[()]",
        "x[..., None, 0, 1]",
        "x[:, :, 1:]",
        "x[[0, 1]]",
        "x[:, [0, -1]]",
        "x[i]",
        "x[[0], :, [1]]",
        "x[..., ...]",
    ),
    *("x[x > 0.5]", "x[:, x > 0.5]", "x[1.0]", "x[True]", "x[0][0]", "x[i, i]", "float(x)", "int(x)", "bool(x)"),
    *(
        "1.0 if x else 2.0",
        "[r * 2.0 for r in x]",
        "sum(x)",
        "max(x)",
        "x.item()",
        "x.item(0)",
        "x.item(0, 1)",
        "x.size",
    ),
    *(
        "x.item(-1)",
        "x.item((0,))",
        "x.item(4)",
        "x.item((1, 2))",
        "x.item(0, 0, 0)",
        "x.item(1.0)",
        "x.T",
        "x.mT",
        "list(x)",
        "[r for r, s in zip(x, y)]",
        "round(x)",
        "-x",
        "x ** y",
    ),
    *("np.array([x, y])", "np.array([x, 1.0])", "np.array([x, [0.5]])", "np.ix_(i, i)", "np.ix_(x, i)", "math.sin(x)"),
    *("x.reshape(2, -1)", "x.reshape(-1, 1, 1)", "x.reshape(3, 3)", "x.transpose(1, 0)", "x.transpose(0, 0)"),
    *("x.transpose(0, 1, 2)", "x.transpose(-1)", "x.transpose(2, 0)", "x.reshape()", "x.transpose(None)"),
)
# The last line returns x.
WRITES = (
    *("x[...] = y", "x += y", "x[0] = y", "x[0] += y", "x[..., 0] = y", "x[:, 1:] = y", "x[[0, 1]] = y", "x[i] = y"),
    *("x[:] = [1.0, 2.0]", "x[0, 1] = y", "x[x > 0.5] = y", "x[..., None] *= y", "x[()] = y", "np.add.at(x, i, y)"),
    *("x[:] = x[::-1]", "x[1:] = x", "x.T[0] = y", "x, *y = x", "x, y = x", "a, b, c = x; x = c", "np.copyto(x, y)"),
    *("np.add(x, y, out=x)", "np.matmul(x, y, out=x)", "np.sum(x, axis=0, out=x)", "np.clip(x, 0.2, y, out=x)"),
)


@dataclass(frozen=True)
class Case:
    body: str
    x: tuple[int, ...] | str
    y: tuple[int, ...] | str
    i: tuple[int, ...] = (2,)

    def arguments(self) -> tuple[Any, ...]:
        return _floats(self.x, 0.25), _floats(self.y, 0.5), np.arange(np.prod(self.i, dtype=int)).reshape(self.i) % 2


def _floats(shape: tuple[int, ...] | str, first: float) -> Any:
    if isinstance(shape, str):
        return first if shape == NUMBERS[0] else np.float64(first)
    return np.cos(np.arange(np.prod(shape, dtype=int)) + first).reshape(shape)


_OF_THEIR_OWN = "np.linalg.", "np.fft."
"""Modules with functions that other tests try with matrices."""


def functions() -> dict[str, Any]:
    """The functions of the compiler's tables, as users write them, and the methods, like `x.sum`."""
    found: dict[str, Any] = {
        name: public_object(name)
        for name in numpy_calls.supported_names()
        if (name.startswith(("np.", "math.")) or hasattr(builtins, name)) and not name.startswith(_OF_THEIR_OWN)
    }
    for ufunc in (np.add, np.maximum, np.logical_and):
        found |= {f"np.{ufunc.__name__}.{name}": getattr(ufunc, name) for name in ("reduce", "outer")}
    return found | {f"x.{name}": getattr(np.ndarray, name) for name in (*declarations.methods(), *spells.methods())}


def parameters(name: str, function: Any) -> list[tuple[str, Sequence[str], bool]]:
    """The name, its values, and whether it is required. Raises KeyError for an unknown parameter."""
    if function is np.einsum:
        return [("subscripts", VALUES["subscripts"], True), ("operands", ("x", "x, y"), True)]
    if isinstance(function, np.ufunc):
        return [(f"x{place + 1}", ("xyx"[place],), True) for place in range(function.nin)]
    try:
        signature = inspect.signature(function)
    except ValueError:  # int
        return [("value", ("x",), True)]
    found: list[tuple[str, Sequence[str], bool]] = []
    for parameter in signature.parameters.values():
        is_needed = parameter.default is parameter.empty and parameter.kind is not parameter.VAR_KEYWORD
        if (parameter.name in _APART and not is_needed) or parameter.name == "self" or name in ("x.item",):
            continue
        if parameter.kind is parameter.VAR_POSITIONAL and name in ("x.reshape", "x.transpose"):
            found.append((parameter.name, _SHAPES if name == "x.reshape" else ("", *_AXES), True))
        elif function is np.where and parameter.name in ("x", "y"):
            found.append((parameter.name, (parameter.name,), True))
        elif parameter.name in VALUES and not (parameter.name == "start" and function is not np.rollaxis):
            found.append((parameter.name, VALUES[parameter.name], is_needed))
        elif parameter.name in _FIRST and (is_needed or parameter.kind is not parameter.KEYWORD_ONLY):
            found.append((parameter.name, ("x",), True))
        elif parameter.name in (*_SECOND, "start"):
            found.append((parameter.name, ("y",), is_needed))
        elif parameter.name == "dtype" or parameter.name == "start_or_stop":
            found.append((parameter.name, ("float" if parameter.name == "dtype" else "x",), True))
        else:
            raise KeyError(f"{name}({parameter.name}): add values for it to VALUES")
    return found


def calls(name: str, function: Any) -> Iterator[str]:
    """The required arguments with each value, and with each optional one; optional ones are passed by name."""
    known = parameters(name, function)
    needed = [values for _, values, is_needed in known if is_needed]
    made = ".shape" if function in _CREATED else ""
    for first in itertools.product(*needed):
        given = ", ".join(filter(None, first))
        yield f"{name}({given}){made}"
        for optional, values, is_needed in known:
            if not is_needed:
                yield from (
                    f"{name}({', '.join(filter(None, (given, f'{optional}={value}')))}){made}" for value in values
                )
    if inspect.isroutine(function) and not _takes_any_number(function):
        yield f"{name}({', '.join(f'{each}={values[0]}' for each, values, is_needed in known if is_needed)}){made}"
    options = [(optional, values) for optional, values, is_needed in known if not is_needed]
    for (one, values), (other, others) in itertools.combinations(options, 2):
        for value, second in itertools.product(values, others):
            given = (*(each[0] for each in needed), f"{one}={value}", f"{other}={second}")
            yield f"{name}({', '.join(given)}){made}"


def _takes_any_number(function: Any) -> bool:
    """Whether the function takes unnamed arguments: np.meshgrid(x, y), np.atleast_1d(x, y)."""
    try:
        return any(each.kind is each.VAR_POSITIONAL for each in inspect.signature(function).parameters.values())
    except ValueError:
        return False


NOT_DRAWN = {"math.acosh": "a row of docs/deviations.md: nan for a domain error, which half of these numbers are"}
"""Excluded functions, and why. Random calls draw them by their samples."""


def bodies() -> dict[str, list[str]]:
    """Bodies of functions of x, y and i; by function, and those of OTHERS and WRITES."""
    by_function = {
        name: [f"return {call}" for call in dict.fromkeys(calls(name, function))]
        for name, function in functions().items()
        if name not in NOT_DRAWN
    }
    return by_function | {
        "others": [f"return {each}" for each in OTHERS],
        "writes": [f"{each}; return x" for each in WRITES],
    }


def sampled(bodies: Sequence[str], count: int, seed: int) -> list[Case]:
    """Bodies with shapes of x and y. Half of the cases have a y of the shape of x; each fifth x is a number."""
    rng = random.Random(seed)
    found: list[Case] = []
    for _ in range(count):
        shapes = [rng.choice(ARRAYS) if rng.random() < 0.85 else rng.choice(NUMBERS) for _ in range(2)]
        if rng.random() < 0.5:
            shapes[1] = shapes[0]
        found.append(Case(rng.choice(bodies), shapes[0], shapes[1], rng.choice(((), (2,), (2,), (2, 2), (0,)))))
    return list(dict.fromkeys(found))
