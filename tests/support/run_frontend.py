"""Reads: a Python function and arguments. Writes: the arguments that the function writes. Leaves: what it returns, as
the frontend compiles it and the interpreter of stage `tensor` runs it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mlirad import tree
from mlirad.contract.results import (
    ArgumentAlias,
    ArrayResult,
    CaptureAlias,
    ChoiceResult,
    ResultLeaf,
    SameResult,
    ScalarResult,
    StaticResult,
    ViewResult,
)
from mlirad.frontend.build import Built, NeedStaticLeaves, build
from mlirad.jit.returned_views import view_of
from mlirad.signature import signature_of
from mlirad.testing.interpreter import run
from mlirad.xdsl_support.verify import verify_dominance

_PYTHON: dict[str, Callable[[Any], Any]] = {"b": bool, "i": int, "f": float}


def compile_for(function: Any, *args: Any, **kwargs: Any) -> Built:
    """The module that the frontend builds for these arguments, verified."""
    signature = signature_of(args, kwargs)
    leaves = tree.leaves((args, kwargs))
    while True:
        try:
            built = build(function, signature)
        except NeedStaticLeaves as need:
            signature = signature.with_static({number: leaves[number] for number in need.leaves})
        else:
            built.module.verify()
            verify_dominance(built.module)
            return built


def call(function: Any, *args: Any, **kwargs: Any) -> Any:
    """`function(*args, **kwargs)`, compiled; arrays among the arguments and captures are written as it writes them."""
    return call_built(compile_for(function, *args, **kwargs), *args, **kwargs)


def call_built(built: Built, *args: Any, **kwargs: Any) -> Any:
    leaves = tree.leaves((args, kwargs))
    captures = [capture.path.fetch() for capture in built.captures]
    results = run(built.module, built.name, *(leaves[number] for number in built.leaves), *captures)
    for leaf, number in built.written.items():
        leaves[leaf][...] = results[number]
    for position, number in built.captures_written.items():
        captures[position][...] = results[number]
    made: list[Any] = []

    def value_of(leaf: ResultLeaf) -> Any:
        match leaf:
            case ArrayResult():
                return np.array(results[leaf.index])
            case ScalarResult():
                number = leaf.dtype.type(results[leaf.index])
                return _PYTHON[leaf.dtype.kind](number) if leaf.weak else number
            case StaticResult():
                return leaf.value
            case ArgumentAlias():
                return leaves[leaf.leaf]
            case CaptureAlias():
                return captures[leaf.number]
            case ViewResult():
                return view_of(value_of(leaf.base), leaf, results)
            case SameResult():
                return made[leaf.leaf]
            case ChoiceResult():
                return value_of(leaf.options[int(results[leaf.selector])])
        raise NotImplementedError(leaf)

    for leaf in built.results:
        made.append(value_of(leaf))
    return tree.unflatten(built.structure, made)


def is_same(a: Any, b: Any) -> bool:
    """Whether two results are equal: class, dtype, shape, and the numbers, floats except for their last places."""
    if isinstance(a, tuple | list):
        return type(a) is type(b) and len(a) == len(b) and all(is_same(x, y) for x, y in zip(a, b, strict=True))
    if isinstance(a, dict):
        return list(a) == list(b) and all(is_same(a[key], b[key]) for key in a)
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        if type(a) is not type(b) or a.dtype != b.dtype or a.shape != b.shape:
            return False
        return np.allclose(a, b, rtol=1e-12, atol=0, equal_nan=True)
    if isinstance(a, float | int | np.generic):
        return np.result_type(a) == np.result_type(b) and np.allclose(a, b, rtol=1e-6, atol=0, equal_nan=True)
    return bool(a == b)
