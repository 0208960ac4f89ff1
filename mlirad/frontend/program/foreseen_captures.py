"""Foresees the arrays that a function captures, from the names in its text and in the texts of functions it names.

Reads: the asts of functions, and the objects that their free names refer to. Writes: captures that a build will
probably find. Leaves: arrays that a build finds in another way, such as through methods and defaults; each costs one
more attempt.

A captured array must be in the state from the start, so a build that meets an unknown one begins again. In a gradient
the loss often meets it last:

    weights = np.load("weights.npy")
    def loss(x):
        y = simulate(x)                 # interpreted twice if `weights` is not foreseen
        return np.sum(weights * y)
"""

from __future__ import annotations

import ast
import dataclasses
import sysconfig
from collections.abc import Hashable, Iterator
from functools import cache
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from mlirad import tree
from mlirad.contract.captures import CaptureFindings, Path, is_in_settled, is_settled, lookup
from mlirad.errors import UnsupportedSyntaxError
from mlirad.frontend.program.scope import children_in_order, scope_of
from mlirad.frontend.program.source import source_of
from mlirad.requests.python_functions import is_kernel, plain
from mlirad.requests.request import Request
from mlirad.signature import ArrayLeaf, leaf_of
from mlirad.xdsl_support.once_per_object import once


def foresee(findings: CaptureFindings, function: Any) -> None:
    """Add the captures that the names of a function lead to, in the order of its text."""
    _Search(findings).of_function(function)


@dataclasses.dataclass(eq=False)
class _Search:
    findings: CaptureFindings
    seen: set[int] = dataclasses.field(default_factory=set)
    """The functions and containers that have been looked into."""

    def of_function(self, function: Any) -> None:
        function = plain(function)
        while isinstance(function, Request):
            function = plain(function.function)
        if not isinstance(function, FunctionType) or _is_installed(function) or self.is_seen(function):
            return
        try:
            node = source_of(function).node
        except UnsupportedSyntaxError:
            return  # the build refuses it, if it gets there
        for name, *attributes in _free_names(node):
            try:
                value = lookup(function, name)
            except NameError:
                continue
            path = Path(function, name)
            for attribute in attributes:
                if not isinstance(value, ModuleType) or is_settled(value) or attribute not in vars(value):
                    break
                value, path = vars(value)[attribute], path.then("attribute", attribute)
            self.of_object(value, path)

    def of_object(self, value: Any, path: Path) -> None:
        """Look at the class of the object only, so that no code of the user runs."""
        if type(value) is np.ndarray:
            self.of_array(value, path)
        elif isinstance(value, Request | FunctionType) or is_kernel(value):
            self.of_function(value)
        elif type(value) in (list, tuple, dict) or (dataclasses.is_dataclass(value) and not isinstance(value, type)):
            self.of_container(value, path)

    def of_array(self, array: np.ndarray, path: Path) -> None:
        root = self.findings.root(path.function, path.name)
        path = Path(root.function, root.name, path.steps)
        try:
            leaf = leaf_of(array)
        except TypeError:
            return
        if path not in self.findings.captures and isinstance(leaf, ArrayLeaf):
            self.findings.capture(path, leaf, is_foreseen=True)

    def of_container(self, value: Any, path: Path) -> None:
        inner = tree.children(value)
        if inner is None or hasattr(type(value), "__mlirad_array__") or self.is_seen(value):
            return
        keys, items = inner
        kind = "item" if type(value) in (list, tuple, dict) else "attribute"
        steps: Iterator[Hashable] = iter(range(len(items)) if keys is None else keys)
        for key, item in zip(steps, items, strict=True):
            self.of_object(item, path.then(kind, key))

    def is_seen(self, value: Any) -> bool:
        """Whether the value has been looked into: functions call one another, and lists may contain themselves."""
        known = id(value) in self.seen
        self.seen.add(id(value))
        return known


@cache
def _packages() -> tuple[str, ...]:
    """Where Python's own modules and installed packages are."""
    return tuple(sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib"))


def _is_installed(function: FunctionType) -> bool:
    """Whether a function belongs to an installed package: these rarely capture arrays, but may name much other code."""
    return is_in_settled(function.__module__) or function.__code__.co_filename.startswith(_packages())


@once
def _free_names(node: ast.FunctionDef | ast.Lambda) -> tuple[tuple[str, ...], ...]:
    """The free names of a function, each with the attributes that follow it, in the order of the text."""
    free = scope_of(node).free
    found: dict[tuple[str, ...], None] = {}
    work: list[ast.AST] = [node]
    while work:
        child, attributes = work.pop(), list[str]()
        while isinstance(child, ast.Attribute):
            attributes.append(child.attr)
            child = child.value
        if isinstance(child, ast.Name) and child.id in free:
            found[child.id, *reversed(attributes)] = None
        work += reversed(list(children_in_order(child)))
    return tuple(found)
