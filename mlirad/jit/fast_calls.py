"""Makes the recipe by which a specialisation is called without Python.

Reads: the built function, its guards and captures, the slots of the compiled function. Writes: nothing. Gives: a
recipe, or None if only the slow path works: strided arguments, arguments that share memory, results that are views or
pullbacks.

The recipe makes every check of the slow path, or a stricter one; a call that does not fit takes the slow path.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from types import FunctionType
from typing import Any

import numpy as np

from mlirad import tree
from mlirad.contract.call_recipes import (
    USABLE,
    WRITEABLE,
    CallPlan,
    Comparison,
    Numbers,
    Objects,
    PassedValue,
    PlannedCalls,
    Recipe,
    Spec,
    Step,
    StepKind,
)
from mlirad.contract.captures import Guard, Path, Presence
from mlirad.contract.results import (
    ArgumentAlias,
    ArrayResult,
    CaptureAlias,
    ResultLeaf,
    SameResult,
    ScalarResult,
    StaticResult,
)
from mlirad.jit.specialization import Specialization
from mlirad.signature import ArrayLeaf, Layout, LeafSpec, ScalarLeaf, StaticLeaf

MOST_REGISTERS = 500
"""Calls with more parts take the slow path: registers are kept on the stack."""

_ELEMENTS = {"f32": np.float32, "f64": np.float64, "i1": np.bool_}
_WEAK = {
    np.dtype(np.float64): (StepKind.FLOAT, "f64", float, StepKind.FLOAT_OF),
    np.dtype(np.int64): (StepKind.INT, "i64", int, StepKind.INT_OF),
    np.dtype(np.bool_): (StepKind.BOOL, "i1", bool, StepKind.BOOL_OF),
}


class _NotFast(Exception):
    """Calls take only the slow path."""


def plan_for(made: Specialization) -> CallPlan | None:
    """The plan for calls that `made` is valid for; None if they need Python. It is made once."""
    if not made.is_planned:
        artifact, recipe = made.artifact, recipe_for(made)
        if isinstance(artifact, PlannedCalls) and recipe is not None:
            made.plan = artifact.call_plan(made.built.name, recipe)
        made.is_planned = True
    return made.plan


def recipe_for(made: Specialization) -> Recipe | None:
    """The plan for calls that `made` is valid for; None if all take the slow path, or the target plans no calls."""
    artifact = made.artifact
    if not isinstance(artifact, PlannedCalls) or made.is_aliased or made.built.changes_copies:
        return None
    try:
        return _Writer(made, *artifact.passed_values(made.built.name)).recipe()
    except _NotFast:
        return None


class _Writer:
    def __init__(self, made: Specialization, arguments: Sequence[PassedValue], returns: Sequence[PassedValue]):
        self._made, self._built = made, made.built
        self._steps: list[Step] = []
        self._top = 0  # the next register
        self._fetched: dict[Any, int] = {}
        self._arrays = 0
        self._taken: dict[int, int] = {}  # the registers of the donated arrays that hold results
        self._checks_overlap = bool(made.written) or bool(made.donated) or made.checks_copies
        self._inputs, self._outputs, self._returns, self._width = _places(arguments, returns)
        if len(self._inputs) != len(made.inputs):
            raise _NotFast

    def recipe(self) -> Recipe:
        structure = self._made.signature.structure
        assert isinstance(structure, tree.Node)
        positional, keywords = structure.children
        assert isinstance(positional, tree.Node) and isinstance(keywords, tree.Node)
        arguments = (*positional.children, *keywords.children)
        self._top = len(arguments)
        leaves = [leaf for register, node in enumerate(arguments) for leaf in self._unpack(node, register)]
        captured = self._captures()  # searches may run Python, so arrays are inspected after them
        for number, register in enumerate(leaves):
            self._check(register, self._made.signature.leaves[number], self._input_of(number))
        for number, register in enumerate(captured):
            self._check(register, self._built.captures[number].leaf, self._input_of(-1 - number))
        made = {number: self._new(passed, place) for number, (passed, place) in self._outputs.items()}
        self._do(StepKind.RUN)
        if not self._is_last(made):
            self._write_results(made, leaves, captured)
        self._do(StepKind.RETURN)
        if self._top > MOST_REGISTERS or self._width > MOST_REGISTERS:
            raise _NotFast
        names = Objects(keywords.keys or ())
        return Recipe(
            len(positional.children), names, self._steps, self._top + 1, self._width, self._arrays, self._checks_overlap
        )

    def _do(self, kind: StepKind, pushes: int = 0, **operands: Any) -> int:
        """Add a step. Returns the first register that it pushes."""
        self._steps.append(Step(kind, **operands))
        self._top += pushes
        return self._top - pushes

    def _input_of(self, key: int) -> int | None:
        return next((number for number, each in enumerate(self._made.inputs) if each.key == key), None)

    # what is passed

    def _unpack(self, node: tree.Structure, register: int) -> list[int]:
        """The registers of the leaves."""
        if isinstance(node, tree.Leaf):
            return [register]
        count = len(node.children)
        if node.kind is list:
            first = self._do(StepKind.UNPACK_LIST, count, a=register, b=count)
        elif node.kind is dict:
            first = self._do(StepKind.UNPACK_DICT, count, a=register, b=count, p=Objects(node.keys or ()))
        elif issubclass(node.kind, tuple):
            first = self._do(StepKind.UNPACK, count, a=register, b=count, p=node.kind)
        elif isinstance(node.keys, tree.SparseParts | tree.GeneratorParts):
            raise _NotFast  # no step asks for a shape, or takes a lock
        else:
            self._do(StepKind.TYPE, a=register, p=node.kind)
            found = [self._do(StepKind.ATTRIBUTE, 1, a=register, q=name) for name in node.keys or ()]
            first = found[0] if found else 0
        pairs = enumerate(node.children, first)
        return [leaf for place, child in pairs for leaf in self._unpack(child, place)]

    def _check(self, register: int, leaf: LeafSpec, number: int | None) -> None:
        """Check that the value is one that the code was made for, and write it to the slots of input `number`."""
        passed, place = (None, -1) if number is None else self._inputs[number]
        if isinstance(leaf, StaticLeaf):
            if passed is not None:
                raise _NotFast
            self._same(register, leaf.value)
        elif isinstance(leaf, ArrayLeaf):
            self._check_array(register, leaf, passed, place, number)
        elif leaf.weak and leaf.dtype not in _WEAK:
            raise _NotFast
        elif passed is None:
            self._do(StepKind.TYPE, a=register, p=_WEAK[leaf.dtype][2] if leaf.weak else leaf.dtype.type)
        else:
            self._check_number(register, leaf, passed, place)

    def _check_array(
        self, register: int, leaf: ArrayLeaf, passed: PassedValue | None, place: int, number: int | None
    ) -> None:
        is_written = number is not None and (self._made.inputs[number].is_written or number in self._made.donated)
        if number in self._made.donated and passed is not None and passed.result is not None:
            self._taken[passed.result] = register
        if leaf.layout is not Layout.C or (is_written and leaf.readonly):
            raise _NotFast
        if passed is not None and (passed.shape != leaf.shape or _itemsize(passed) != leaf.dtype.itemsize):
            raise _NotFast
        bounds = -1
        if self._checks_overlap and number is not None:
            bounds, self._arrays = self._arrays, self._arrays + 1
        spec = {
            Spec.DTYPE: id(leaf.dtype),
            Spec.NDIM: len(leaf.shape),
            Spec.FLAGS: USABLE | (0 if leaf.readonly else WRITEABLE),
            Spec.BYTES: prod(leaf.shape) * leaf.dtype.itemsize,
            Spec.IS_WRITTEN: int(is_written or self._made.checks_copies),
        }
        numbers = Numbers((*(spec[each] for each in sorted(spec)), *leaf.shape))
        self._do(StepKind.ARRAY, a=register, b=place, c=bounds, p=numbers, keeps=leaf.dtype)

    def _check_number(self, register: int, leaf: ScalarLeaf, passed: PassedValue, place: int) -> None:
        if passed.shape is not None:
            raise _NotFast
        if leaf.weak:
            kind, element, _, _ = _WEAK[leaf.dtype]
            if passed.element != element:
                raise _NotFast
            self._do(kind, a=register, b=place)
        else:
            if _itemsize(passed) != leaf.dtype.itemsize:
                raise _NotFast
            self._do(StepKind.NUMBER, a=register, b=place, p=leaf.dtype.type)

    # what is captured

    def _captures(self) -> list[int]:
        """Check that the function's captures are those that the code was made for. Returns the arrays' registers."""
        made = self._made
        if made.namespaces:
            self._do(StepKind.UNCHANGED, a=len(made.namespaces), p=Objects(made.namespaces), q=made.modules_hold)
        for guard in made.guards:
            self._guard(guard)
        return [self._fetch(capture.path) for capture in self._built.captures]

    def _guard(self, guard: Guard) -> None:
        if guard.code is not None:
            self._do(StepKind.CODE, p=guard.value, q=guard.code)
            return
        if not self._is_plain(guard):
            self._do(StepKind.PYTHON, p=guard.holds)
            return
        if guard.is_of_global:
            self._do(StepKind.STAYS, p=guard.path.function.__globals__, q=Objects((guard.path.name, guard.value)))
            return
        register = self._fetch(guard.path)
        if guard.value is Presence.HERE:
            return
        if guard.keys is None:
            self._same(register, guard.value)
        elif guard.value is dict:
            assert isinstance(guard.keys, tuple)
            keys = Objects(guard.keys)
            self._do(StepKind.UNPACK_DICT, len(keys), a=register, b=len(keys), p=keys)
        else:
            count = guard.keys
            assert isinstance(count, int)
            self._do(
                StepKind.UNPACK_LIST if guard.value is list else StepKind.UNPACK,
                count,
                a=register,
                b=count,
                p=guard.value,
            )

    @staticmethod
    def _is_plain(guard: Guard) -> bool:
        """Whether steps can check a guard."""
        if guard.value is Presence.NOT_HERE or not _is_plain_path(guard.path):
            return False
        if guard.keys is None or guard.value is dict:
            return True
        return isinstance(guard.keys, int) and (guard.value is list or issubclass(guard.value, tuple))

    def _fetch(self, path: Path) -> int:
        """The register of the object found there. Raises _NotFast if only Python can find it."""
        if not _is_plain_path(path):
            raise _NotFast
        key = (id(path.function), path.name)
        register = self._fetched.get(key)
        if register is None:
            register = self._fetched[key] = self._root(path)
        for kind, name in path.steps:
            key = (*key, kind, name)
            found = self._fetched.get(key)
            if found is None:
                found = self._fetched[key] = self._step_from(register, kind, name)
            register = found
        return register

    def _root(self, path: Path) -> int:
        if not path.name:
            return self._do(StepKind.OBJECT, 1, p=path.function)
        free = path.function.__code__.co_freevars
        if path.name in free:
            return self._do(StepKind.CELL, 1, p=path.function.__closure__[free.index(path.name)])
        return self._do(StepKind.GLOBAL, 1, p=path.function.__globals__, q=path.name)

    def _step_from(self, register: int, kind: str, name: Any) -> int:
        if kind == "attribute":
            return self._do(StepKind.ATTRIBUTE, 1, a=register, q=str(name))
        return self._do(StepKind.ITEM, 1, a=register, q=name)

    def _same(self, register: int, value: Any) -> None:
        how = Comparison.IDENTITY
        if type(value) in (int, str) or isinstance(value, np.integer):
            how = Comparison.EQUALITY
        elif type(value) is float:
            how = Comparison.BITS
        self._do(StepKind.SAME, a=register, b=how, p=value)

    # what is returned

    def _new(self, passed: PassedValue, place: int) -> int:
        assert passed.result is not None and passed.shape is not None
        dtype = self._made.dtypes[passed.result] or np.dtype(
            _ELEMENTS.get(passed.element) or passed.element.replace("i", "int")
        )
        return self._do(StepKind.NEW, 1, a=place, b=len(passed.shape), p=dtype, q=Numbers(passed.shape))

    def _is_last(self, made: dict[int, int]) -> bool:
        """Whether the array in the last register is the whole result."""
        leaf = self._built.results[0] if isinstance(self._built.structure, tree.Leaf) else None
        return isinstance(leaf, ArrayResult) and made.get(leaf.index) == self._top - 1

    def _write_results(self, made: dict[int, int], leaves: Sequence[int], captured: Sequence[int]) -> None:
        results = self._built.results

        def put(leaf: ResultLeaf) -> None:
            match leaf:
                case ArrayResult() if leaf.index in made:
                    self._do(StepKind.COPY, 1, a=made[leaf.index])
                case ArrayResult() if leaf.index in self._taken:
                    self._do(StepKind.COPY, 1, a=self._taken[leaf.index])
                case ArgumentAlias():
                    self._do(StepKind.COPY, 1, a=leaves[leaf.leaf])
                case CaptureAlias():
                    self._do(StepKind.COPY, 1, a=captured[leaf.number])
                case SameResult() if not isinstance(results[leaf.leaf], ScalarResult):
                    put(results[leaf.leaf])
                case StaticResult():
                    self._do(StepKind.OBJECT, 1, p=leaf.value)
                case ScalarResult() if leaf.index in self._returns:
                    self._put_number(leaf, *self._returns[leaf.index])
                case _:
                    raise _NotFast

        rest = iter(results)

        def build(node: tree.Structure) -> None:
            if isinstance(node, tree.Leaf):
                put(next(rest))
                return
            for child in node.children:
                build(child)
            self._collect(node)

        build(self._built.structure)

    def _put_number(self, leaf: ScalarResult, passed: PassedValue, place: int) -> None:
        if leaf.weak:
            if leaf.dtype not in _WEAK or passed.element != _WEAK[leaf.dtype][1]:
                raise _NotFast
            self._do(_WEAK[leaf.dtype][3], 1, b=place)
        elif _itemsize(passed) == leaf.dtype.itemsize:
            self._do(StepKind.NUMBER_OF, 1, b=place, p=leaf.dtype)
        else:
            raise _NotFast

    def _collect(self, node: tree.Node) -> None:
        """Turn the last registers into a container. (`_top` only grows, and bounds the registers in use.)"""
        kind, keys, count = node.kind, node.keys, len(node.children)
        if kind is tuple or kind is list:
            self._do(StepKind.MAKE_TUPLE if kind is tuple else StepKind.MAKE_LIST, 1, b=count)
        elif kind is dict:
            self._do(StepKind.MAKE_DICT, 1, b=count, p=Objects(keys or ()))
        else:
            self._do(StepKind.CALL, 1, b=count, p=lambda *items: tree.build(kind, keys, items))


def _is_plain_path(path: Path) -> bool:
    if any(kind not in ("attribute", "item") for kind, _ in path.steps):
        return False
    return not path.name or (isinstance(path.function, FunctionType) and type(path.function.__globals__) is dict)


def _itemsize(passed: PassedValue) -> int:
    if passed.element.startswith("complex"):
        return {"complex<f32>": 8, "complex<f64>": 16}[passed.element]
    bits = int(passed.element[1:])
    return max(1, bits // 8)


_Places = dict[int, tuple[PassedValue, int]]


def _places(
    arguments: Sequence[PassedValue], returned: Sequence[PassedValue]
) -> tuple[list[tuple[PassedValue, int]], _Places, _Places, int]:
    """The inputs with their places among the slots; outputs and returned numbers by result; the number of slots."""
    inputs: list[tuple[PassedValue, int]] = []
    outputs: _Places = {}
    returns: _Places = {}
    place = 0
    for passed in (*arguments, *returned):
        if passed.width != 1:
            raise _NotFast
    for passed in arguments:
        if passed.is_output:
            assert passed.result is not None
            outputs[passed.result] = (passed, place)
        else:
            inputs.append((passed, place))
        place += 1
    for passed in returned:
        if passed.shape is not None or passed.result is None:
            raise _NotFast
        returns[passed.result] = (passed, place)
        place += 1
    return inputs, outputs, returns, place
