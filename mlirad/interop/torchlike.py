"""PyTorch's way of differentiating, and TensorFlow's tape: a graph that grows while Python runs, walked backwards.

    import mlirad.interop.torchlike as torch

    w = torch.Tensor([1.0, 2.0], requires_grad=True)
    (w * w).sum().backward()    # w.grad is 2 w

Reads and writes: tensors. Leaves: the derivatives, which are mlirad's. A step of the graph is a call of a function on
arrays; its pullback is `mlirad.vjp` of that call, which runs op by op for NumPy's functions, and compiled for others
(`operation`, `Function`, `mlirad.nn`). Arrays are never written: a tensor that changes in place gets another array.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from typing import Any
from weakref import ref

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from mlirad import nn, tree
from mlirad.jit.live.growing_graph import CallNode, GraphError, sweep
from mlirad.jit.live.recording import place
from mlirad.jit.live.steps import errors_at, step_of
from mlirad.library.own_rules import CustomVjp

_grows: ContextVar[bool] = ContextVar("grows", default=True)
_tapes: ContextVar[tuple[GradientTape, ...]] = ContextVar("tapes", default=())


def _array_of(value: Any) -> tuple[np.ndarray, bool] | None:
    return (value._value, _grows.get() and value.requires_grad) if isinstance(value, Tensor) else None


def _call(function: Callable[..., Any], args: Any, named: dict[str, Any], is_compiled: bool = False) -> Any:
    """A call on tensors, which is a node if an input of it has a derivative."""
    step, variables, constants = step_of(function, args, named, _array_of, is_compiled)
    with errors_at(place()):
        out, pull = step.call([each._value for each in variables], constants)
    leaves, structure = tree.flatten(out)
    inputs = [Tensor._of(each._value, each._node, each._index) for each in variables]
    kinds = [(np.shape(each), np.asarray(each).dtype) for each in leaves]
    node = None
    if variables:
        node = CallNode(
            [(each._node, each._index) for each in inputs], (step, inputs, constants, pull, structure), kinds
        )
        for tape in _tapes.get():
            tape.record(node)
    return tree.unflatten(structure, [Tensor._of(each, node, i) for i, each in enumerate(leaves)])


def _swept(
    target: Tensor, gradient: Any, create_graph: bool, keep: bool, among: Any = None
) -> dict[CallNode, list[Any]]:
    if not target.requires_grad:
        raise GraphError("this tensor depends on nothing that requires a gradient")
    if gradient is None and target.size != 1:
        raise GraphError(f"a tensor of shape {target.shape} is not one number: say what its gradient is")
    given = Tensor(np.ones(target.shape) if gradient is None else gradient, dtype=target.dtype)
    if given.shape != target.shape:
        raise GraphError(f"a gradient of shape {given.shape} for a tensor of shape {target.shape}")
    place: Any = target._node, target._index
    return sweep(place, given, _call, keep, among) if create_graph else sweep(place, given._value, None, keep, among)


@contextmanager
def no_grad() -> Iterator[None]:
    """In it, and in a function that it decorates, no graph grows."""
    token = _grows.set(False)
    try:
        yield
    finally:
        _grows.reset(token)


class Tensor(NDArrayOperatorsMixin):
    """An array, and where it comes from. Python's floats become float32. No two tensors share memory: parts are copies.

    Its methods are the functions in `METHODS`; `dim` and `keepdim` stand for NumPy's `axis` and `keepdims`.
    """

    grad: Any
    requires_grad = property(lambda self: self._node is not None)
    is_leaf = property(lambda self: self._node is None or not self._node.next_functions)
    grad_fn = property(lambda self: None if self.is_leaf else self._node)
    T = property(lambda self: np.transpose(self))

    def __init__(self, data: Any, requires_grad: bool = False, dtype: Any = None):
        value = np.array(data._value if isinstance(data, Tensor) else data, dtype)
        is_narrowed = dtype is None and not hasattr(data, "dtype") and value.dtype == np.float64
        self._set(value.astype(np.float32) if is_narrowed else value)
        if requires_grad:
            self.requires_grad_()

    @staticmethod
    def _of(value: Any, node: CallNode | None = None, index: int = 0) -> Tensor:
        made = Tensor.__new__(Tensor)
        made._set(np.asarray(value), node, index)
        return made

    def _set(self, value: np.ndarray, node: CallNode | None = None, index: int = 0) -> None:
        value.flags.writeable = False
        self._value, self._index, self.grad = value, index, None
        self._node = node if value.dtype.kind in "fc" else None

    def requires_grad_(self) -> Tensor:
        if self.dtype.kind != "f":
            raise GraphError(f"a tensor of {self.dtype} has no gradient: make it of floats")
        self._node = self._node or CallNode()
        self._node.watchers[self._index] = ref(self)
        return self

    retain_grad = requires_grad_

    def detach(self) -> Tensor:
        return Tensor._of(self._value)

    def numpy(self) -> np.ndarray:
        """The array, which is read-only."""
        if self.requires_grad:
            raise GraphError(
                "an array has no derivatives: write .detach().numpy(), or make an operation of the function"
            )
        return self._value

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self.numpy(), dtype, copy=copy)

    def backward(self, gradient: Any = None, retain_graph: bool | None = None, create_graph: bool = False) -> None:
        """Add the gradient of this tensor to `.grad` of the leaves that it depends on, and of what has retain_grad."""
        keep = create_graph if retain_graph is None else retain_graph
        for node, found in _swept(self, gradient, create_graph, keep).items():
            for index, tensor in node.watchers.items():
                if (kept := tensor()) is not None and found[index] is not None:
                    g = found[index] if create_graph else Tensor._of(found[index])
                    kept.grad = g if kept.grad is None else kept.grad + g

    def _become(self, made: Tensor) -> Tensor:
        if _grows.get() and self.is_leaf and self.requires_grad:
            raise GraphError("a leaf that requires a gradient changes in place: write it in no_grad()")
        if made.shape != self.shape or made.dtype != self.dtype:
            raise GraphError(f"in place, {self.dtype} of shape {self.shape} is no {made.dtype} of shape {made.shape}")
        self._value = made._value
        if _grows.get():
            self._node, self._index = made._node, made._index
        return self

    def zero_(self) -> Tensor:
        return self._become(Tensor(np.zeros(self.shape, self.dtype)))

    def __hash__(self) -> int:
        return id(self)

    def __len__(self) -> int:
        return len(self._value)

    def item(self) -> Any:
        return self._value.item()

    def __float__(self) -> float:
        return float(self._value)

    def __bool__(self) -> bool:
        return bool(self._value)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *args: Any, out: Any = None, **named: Any) -> Any:
        made = _call(ufunc if method == "__call__" else getattr(ufunc, method), args, named)
        return made if out is None else out[0]._become(made)

    def __array_function__(self, function: Any, _types: Any, args: Any, named: Any) -> Any:
        return _call(function, args, named)

    def __getitem__(self, index: Any) -> Tensor:
        return _call(_item, (self, np.array(index) if isinstance(index, list) else index), {})

    def __getattr__(self, name: str) -> Any:
        if name in ("shape", "dtype", "ndim", "size", "tolist"):
            return getattr(self._value, name)
        if name not in METHODS:
            raise AttributeError(f"a tensor has no {name!r}; operation(f) makes a step of any function on arrays")
        return partial(METHODS[name], self)

    def __repr__(self) -> str:
        return f"Tensor({np.array2string(self._value, separator=', ')}, {self.dtype})"


def _item(x: Any, index: Any) -> Any:
    return x[index]


def operation(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function on arrays as one step of graphs, compiled. It returns what it computes, and writes none of them."""
    around = inspect.getclosurevars(function)
    if any(isinstance(each, np.random.Generator) for each in (*around.nonlocals.values(), *around.globals.values())):
        raise TypeError(f"{function.__name__} draws from a generator, and would again: pass a key of mlirad.random")
    return lambda *args, **named: _call(function, args, named, is_compiled=True)


class _Context:
    """What `Function.forward` leaves for `backward`: tensors, and any attribute."""

    def __init__(self) -> None:
        self.saved_tensors: tuple[Any, ...] = ()

    def save_for_backward(self, *tensors: Any) -> None:
        self.saved_tensors = tensors


class _Applied(CustomVjp):
    def __call__(self, *args: Any) -> Any:
        has_tensors = any(isinstance(each, Tensor) for each in args)
        return _call(self, args, {}, is_compiled=True) if has_tensors else super().__call__(*args)


class Function:
    """A function with a derivative of its own: `forward(ctx, *args)` and `backward(ctx, *gradients)`, static methods
    on arrays. `apply` takes tensors, or arrays; in compiled functions it is a `mlirad.custom_vjp`."""

    apply: Any
    forward: Any
    backward: Any

    def __init_subclass__(cls) -> None:
        def forward(*args: Any) -> Any:
            context = _Context()
            return cls.forward(context, *args), context

        def backward(context: Any, g: Any) -> Any:
            found = cls.backward(context, *g) if isinstance(g, tuple) else cls.backward(context, g)
            return found if isinstance(found, tuple) else (found,)

        cls.apply = _Applied(lambda *args: forward(*args)[0])
        cls.apply.defvjp(forward, backward)


class GradientTape:
    """TensorFlow's tape: it records, in its `with` block, what is computed of tensors that require gradients and of
    those that it watches. `gradient` releases its memory, unless it is persistent."""

    def __init__(self, persistent: bool = False):
        self.persistent = persistent
        self._nodes: set[CallNode] | None = set()
        self._watched: dict[int, tuple[Tensor, CallNode]] = {}

    def __enter__(self) -> GradientTape:
        self._token = _tapes.set((*_tapes.get(), self))
        return self

    def __exit__(self, *_: Any) -> None:
        _tapes.reset(self._token)
        for tensor, _node in self._watched.values():
            tensor._node = None

    def record(self, node: CallNode) -> None:
        if self._nodes is not None:
            self._nodes.add(node)
            node.tapes += 1

    def watch(self, tensors: Any) -> None:
        for each in tree.leaves(tensors):
            if not each.requires_grad:
                self._watched[id(each)] = each, each.requires_grad_()._node

    def gradient(self, target: Tensor, sources: Any, output_gradients: Any = None) -> Any:
        """The gradients of `target` with respect to a tensor or a pytree of them; None where it does not depend."""
        if self._nodes is None:
            raise GraphError("the memory of this tape is released: GradientTape(persistent=True) gives more gradients")
        is_outer = any(tape is not self for tape in _tapes.get())
        found = _swept(target, output_gradients, is_outer, True, self._nodes) if target.requires_grad else {}

        def of(source: Tensor) -> Tensor | None:
            node = self._watched.get(id(source), (source, source._node))[1]
            g = found[node][source._index] if node in found else None
            return g if g is None or isinstance(g, Tensor) else Tensor._of(g)

        gradients = tree.map(of, sources)
        if not self.persistent:
            self.release()
        return gradients

    def release(self) -> None:
        """Free what this tape has recorded and no other has."""
        for node in self._nodes or ():
            node.tapes -= 1
            node.call = node.call if node.tapes else None
        self._nodes, self._watched = None, {}


def _named(function: Callable[..., Any]) -> Callable[..., Any]:
    names = {"dim": "axis", "keepdim": "keepdims"}
    return lambda *args, **named: function(*args, **{names.get(name, name): each for name, each in named.items()})


_OF_NUMPY = (
    "abs acos asin atan atan2 ceil clip cos cosh cumsum dot einsum exp expm1 floor isfinite isnan log log1p matmul "
    "maximum mean minimum outer prod round sign sin sinh sqrt square stack sum tan tanh where"
)
METHODS: dict[str, Callable[..., Any]] = {
    **{name: operation(getattr(nn, name)) for name in nn.__all__ if name.islower()},
    **{name: _named(getattr(np, name)) for name in _OF_NUMPY.split()},
    "cat": _named(np.concatenate),
    "permute": lambda x, *axes: np.transpose(x, axes),
    "reshape": lambda x, *shape: np.reshape(x, shape[0] if len(shape) == 1 else shape),
    "t": np.transpose,
    "to": np.astype,
    "transpose": np.swapaxes,
}
"""Functions of tensors, which are in this module and are methods, too."""


def __getattr__(name: str) -> Any:
    if name not in METHODS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return METHODS[name]
