"""Values for optional parameters, by name, to be added to sample calls.

Reads: signatures, samples. Writes: nothing. Gives: sample calls with one more keyword.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator

import numpy as np

from mlirad.testing.calls.public_names import public_object
from mlirad.testing.calls.samples import sample_call

KEYWORDS = {
    "axis": ("0", "-1"),
    "keepdims": ("True",),
    "dtype": ("np.float32", "np.int32"),
    "out": ("np.empty_like({})", "np.empty(())"),
    "where": ("m", "x > 0.5"),
    "initial": ("0.5",),
    "order": ("'C'",),
    "casting": ("'same_kind'",),
    "copy": ("True",),
    "kind": ("'stable'",),
    "ddof": ("1",),
    "mean": ("0.5",),
    "correction": ("1",),
    "method": ("'lower'",),
    "weights": ("v", "x"),
    "mode": ("'clip'", "'same'", "'edge'"),
    "return_index": ("True",),
    "return_inverse": ("True",),
    "return_counts": ("True",),
    "retstep": ("True",),
    "endpoint": ("False",),
    "base": ("2.0",),
    "axes": ("[(0, 1), (0, 1), (0, 1)]",),
    "b": ("v[:3]", "v", "x"),
    "side": ("'right'",),
    "sorter": ("np.argsort(np.sort(v))",),
    "minlength": ("9",),
    "density": ("True",),
    "range": ("(0.0, 1.0)",),
    "rowvar": ("False",),
    "bias": ("True",),
    "k": ("1",),
    "n": ("2",),
    "M": ("4",),
    "N": ("2",),
    "offset": ("1",),
    "decimals": ("1",),
    "equal_nan": ("True",),
    "rtol": ("0.5",),
    "atol": ("0.5",),
    "left": ("0.5",),
    "right": ("0.5", "True"),
    "period": ("2.0",),
    "dx": ("0.5",),
    "prepend": ("v[:1]", "x[:, :1]"),
    "append": ("v[:1]", "x[:, :1]"),
    "edge_order": ("2",),
    "nan": ("1.0",),
    "posinf": ("1.0",),
    "neginf": ("1.0",),
    "a_min": ("0.2",),
    "a_max": ("0.6",),
    "min": ("0.2",),
    "max": ("0.6",),
    "shift": ("2",),
    "ndmin": ("3",),
    "default": ("0.5",),
    "indexing": ("'ij'",),
    "sparse": ("True",),
    "optimize": ("True",),
    "increasing": ("True",),
    "key": ("abs",),
    "reverse": ("True",),
    "start": ("1",),
    "strict": ("True",),
    "abs_tol": ("0.5",),
    "rel_tol": ("0.5",),
    "include_initial": ("True",),
    "return_sign": ("True",),
}
"""A value for an optional parameter, by its name: the first that NumPy accepts."""


def optional(name: str) -> list[str]:
    function = public_object(name)
    if isinstance(function, np.ufunc):
        return ["out", "where", "dtype"] if function.nout == 1 else ["dtype"]
    try:
        parameters = inspect.signature(function).parameters.values()
    except (ValueError, TypeError):
        return []
    by_name = [each for each in parameters if each.kind in (each.POSITIONAL_OR_KEYWORD, each.KEYWORD_ONLY)]
    return [each.name for each in by_name if each.default is not each.empty and each.name in KEYWORDS]


def with_keyword(name: str, keyword: str) -> Iterator[str]:
    """The sample call with the keyword, for each known value."""
    text = sample_call(name) or ""
    short = name.rpartition(".")[2]
    for value in KEYWORDS[keyword]:
        tree = ast.parse(text)
        calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
        own = [node for node in calls if getattr(node.func, "attr", getattr(node.func, "id", "")) == short]
        if own and all(each.arg != keyword for each in own[0].keywords):
            added = {keyword: value.format(text)}
            if keyword == "where" and isinstance(public_object(name), np.ufunc):  # defaults are not written
                added["out"] = f"np.zeros_like({text})"
            own[0].keywords += [ast.keyword(key, ast.parse(each, mode="eval").body) for key, each in added.items()]
            yield ast.unparse(tree)
