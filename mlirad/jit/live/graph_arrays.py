"""Arrays in a growing graph: each call of a NumPy function on them is a step of the graph.

    w = GraphArray.of(np.array([1.0, 2.0]), CallNode())
    loss = np.sum(w * w)                                   # two steps
    loss.cotangents(1.0, is_in_graph=False, keep=False)    # {the node of w: [2 w]}

Reads: arrays, and calls of functions on them. Writes: the graph. Leaves: arrays of the same class, and cotangents. The
memory of an array is never written: an in-place change gives the array other memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Self

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from mlirad import tree
from mlirad.jit.live.growing_graph import CallNode, GraphError, sweep
from mlirad.jit.live.recording import place
from mlirad.jit.live.steps import errors_at, step_of

_grows: ContextVar[bool] = ContextVar("grows", default=True)
_tapes: ContextVar[tuple[GraphTape, ...]] = ContextVar("tapes", default=())


@contextmanager
def no_growth() -> Iterator[None]:
    """A block, or a decorator of a function, in which no graph grows."""
    token = _grows.set(False)
    try:
        yield
    finally:
        _grows.reset(token)


class GraphTape:
    """Records the steps of its `with` block in `nodes`. After `release`, which frees their memory, `nodes` is None."""

    def __init__(self) -> None:
        self.nodes: set[CallNode] | None = set()

    def __enter__(self) -> Self:
        self._token = _tapes.set((*_tapes.get(), self))
        return self

    def __exit__(self, *_: object) -> None:
        _tapes.reset(self._token)

    @property
    def is_recorded(self) -> bool:
        """Whether another tape, still open, also records the steps of this one."""
        return any(tape is not self for tape in _tapes.get())

    def record(self, node: CallNode) -> None:
        if self.nodes is not None:
            self.nodes.add(node)
            node.tapes += 1

    def release(self) -> None:
        """Free the steps that only this tape has recorded."""
        for node in self.nodes or ():
            node.tapes -= 1
            node.call = node.call if node.tapes else None
        self.nodes = None


def _array_of(value: Any) -> tuple[np.ndarray, bool] | None:
    return (value._value, _grows.get() and value.requires_grad) if isinstance(value, GraphArray) else None


class GraphArray(NDArrayOperatorsMixin):
    """An array and its origin, a result of a node. Without a node it is a constant.

    They never share memory: slices are copies.
    """

    _value: np.ndarray
    _node: CallNode | None
    _index: int

    requires_grad = property(lambda self: self._node is not None)
    is_leaf = property(lambda self: self._node is None or not self._node.next_functions)
    shape = property(lambda self: self._value.shape)
    dtype = property(lambda self: self._value.dtype)
    ndim = property(lambda self: self._value.ndim)
    size = property(lambda self: self._value.size)

    @classmethod
    def of(cls, value: Any, node: CallNode | None = None, index: int = 0) -> Self:
        made = cls.__new__(cls)
        made._set(np.asarray(value), node, index)
        return made

    def _set(self, value: np.ndarray, node: CallNode | None = None, index: int = 0) -> None:
        value.flags.writeable = False
        self._value, self._index = value, index
        self._node = node if value.dtype.kind in "fc" else None

    @classmethod
    def called(cls, function: Callable[..., Any], args: Any, named: dict[str, Any], is_compiled: bool = False) -> Any:
        """A call on arrays. It becomes a node if one of its inputs has a node."""
        step, variables, constants = step_of(function, args, named, _array_of, is_compiled)
        with errors_at(place()):
            out, pull = step.call([each._value for each in variables], constants)
        leaves, structure = tree.flatten(out)
        inputs = [cls.of(each._value, each._node, each._index) for each in variables]
        kinds = [(np.shape(each), np.asarray(each).dtype) for each in leaves]
        node = None
        if variables:
            origins = [(each._node, each._index) for each in inputs]
            node = CallNode(origins, (step, inputs, constants, pull, structure), kinds)
            for tape in _tapes.get():
                tape.record(node)
        return tree.unflatten(structure, [cls.of(each, node, i) for i, each in enumerate(leaves)])

    def cotangents(
        self, cotangent: Any, is_in_graph: bool, keep: bool, among: set[CallNode] | None = None
    ) -> dict[CallNode, list[Self | None]]:
        """The cotangents of the results of nodes, from the cotangent of this array; None means 1, for a single number.

        is_in_graph: whether the computation also becomes part of the graph. keep, among: see `sweep`. Raises
        GraphError.
        """
        if self._node is None:
            raise GraphError(f"this {_name_of(self)} depends on nothing that requires a gradient")
        if cotangent is None and self.size != 1:
            raise GraphError(f"a {_name_of(self)} of shape {self.shape} is not one number: pass its gradient")
        given = np.ones(self.shape, self.dtype) if cotangent is None else cotangent
        given = given if isinstance(given, GraphArray) else self.of(np.array(given, self.dtype))
        if given.shape != self.shape:
            raise GraphError(f"a gradient of shape {given.shape} for a {_name_of(self)} of shape {self.shape}")
        if is_in_graph:
            return sweep((self._node, self._index), given, self.called, keep, among)
        found = sweep((self._node, self._index), given._value, None, keep, among)
        return {node: [None if each is None else self.of(each) for each in some] for node, some in found.items()}

    def become(self, made: GraphArray) -> Self:
        """Change in place to the value of `made`."""
        if _grows.get() and self.is_leaf and self.requires_grad:
            raise GraphError("a leaf that requires a gradient changes in place: do this in no_grad()")
        if made.shape != self.shape or made.dtype != self.dtype:
            raise GraphError(f"in place, {self.dtype} of shape {self.shape} is no {made.dtype} of shape {made.shape}")
        self._value = made._value
        if _grows.get():
            self._node, self._index = made._node, made._index
        return self

    def detach(self) -> Self:
        """The same numbers, as a constant."""
        return self.of(self._value)

    def numpy(self) -> np.ndarray:
        """The array, which is read-only."""
        if self.requires_grad:
            raise GraphError("an array has no derivatives: write .detach().numpy(), or make the function an operation")
        return self._value

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self.numpy(), dtype, copy=copy)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *args: Any, out: Any = None, **named: Any) -> Any:
        made = self.called(ufunc if method == "__call__" else getattr(ufunc, method), args, named)
        return made if out is None else out[0].become(made)

    def __array_function__(self, function: Any, _types: Any, args: Any, named: Any) -> Any:
        return self.called(function, args, named)

    def __getitem__(self, index: Any) -> Self:
        return self.called(_item, (self, np.array(index) if isinstance(index, list) else index), {})

    def __hash__(self) -> int:
        return id(self)

    def __len__(self) -> int:
        return len(self._value)

    def __float__(self) -> float:
        return float(self._value)

    def __bool__(self) -> bool:
        return bool(self._value)

    def __format__(self, spec: str) -> str:
        return format(self.item() if spec and self.ndim == 0 else str(self), spec)

    def item(self) -> Any:
        return self._value.item()

    def tolist(self) -> Any:
        return self._value.tolist()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({np.array2string(self._value, separator=', ')}, {self.dtype})"


def _item(x: Any, index: Any) -> Any:
    return x[index]


def _name_of(array: GraphArray) -> str:
    return type(array).__name__.lower()
