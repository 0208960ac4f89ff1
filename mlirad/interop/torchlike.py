"""PyTorch's autograd API, and TensorFlow's tape: a graph that grows while Python runs, and is walked backwards.

    import mlirad.interop.torchlike as torch

    w = torch.Tensor([1.0, 2.0], requires_grad=True)
    (w * w).sum().backward()    # w.grad is 2 w

Reads and writes: tensors. Leaves: the derivatives, which are mlirad's. A step of the graph is a call of a function on
arrays. Its pullback is `mlirad.vjp` of that call, which runs op by op for NumPy's functions and compiled for others
(`operation`, `Function`, `mlirad.nn`).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial, wraps
from typing import Any
from weakref import ref

import numpy as np

from mlirad import nn, tree
from mlirad.jit.live.graph_arrays import GraphArray, GraphTape
from mlirad.jit.live.graph_arrays import no_growth as no_grad
from mlirad.jit.live.growing_graph import CallNode, GraphError
from mlirad.library.own_rules import CustomVjp

__all__ = ["Function", "GradientTape", "GraphError", "Tensor", "no_grad", "ones", "operation", "tensor", "zeros"]


class Tensor(GraphArray):
    """An array and its origin in the graph. Python's floats become float32. Tensors never share memory: slices are
    copies.

    Its methods are the functions in `METHODS`; `dim` and `keepdim` stand for NumPy's `axis` and `keepdims`.
    """

    grad: Any = None
    grad_fn = property(lambda self: None if self.is_leaf else self._node)
    T = property(lambda self: np.transpose(self))

    def __init__(self, data: Any, requires_grad: bool = False, dtype: Any = None):
        value = np.array(data._value if isinstance(data, Tensor) else data, dtype)
        is_narrowed = dtype is None and not hasattr(data, "dtype") and value.dtype == np.float64
        self._set(value.astype(np.float32) if is_narrowed else value)
        if requires_grad:
            self.requires_grad_()

    def requires_grad_(self) -> Tensor:
        if self.dtype.kind != "f":
            raise GraphError(f"a tensor of {self.dtype} has no gradient: use floats")
        self._node = self._node or CallNode()
        self._node.watchers[self._index] = ref(self)
        return self

    retain_grad = requires_grad_

    def backward(self, gradient: Any = None, retain_graph: bool | None = None, create_graph: bool = False) -> None:
        """Add the gradient of this tensor to `.grad` of the leaves that it depends on, and of tensors with
        retain_grad."""
        keep = create_graph if retain_graph is None else retain_graph
        for node, found in self.cotangents(gradient, create_graph, keep).items():
            for index, tensor in node.watchers.items():
                if (kept := tensor()) is not None and (g := found[index]) is not None:
                    kept.grad = g if kept.grad is None else kept.grad + g

    def zero_(self) -> Tensor:
        return self.become(Tensor(np.zeros(self.shape, self.dtype)))

    def __getattr__(self, name: str) -> Any:
        if name not in METHODS:
            raise AttributeError(f"a tensor has no {name!r}; operation(f) turns any function on arrays into a step")
        return partial(METHODS[name], self)


def _filled(value: float) -> Callable[..., Tensor]:
    return lambda *shape, requires_grad=False: Tensor(np.full(shape, value, np.float32), requires_grad)


tensor, ones, zeros = Tensor, _filled(1.0), _filled(0.0)


def operation(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function on arrays as one compiled step of graphs. The function must not write its arguments."""
    around = inspect.getclosurevars(function)
    if any(isinstance(each, np.random.Generator) for each in (*around.nonlocals.values(), *around.globals.values())):
        raise TypeError(f"{function.__name__} draws from a generator, and would again: pass a key of mlirad.random")
    return lambda *args, **named: Tensor.called(function, args, named, is_compiled=True)


class _Context:
    """The object in which `Function.forward` leaves tensors and other attributes for `backward`."""

    saved_tensors: tuple[Any, ...] = ()

    def save_for_backward(self, *tensors: Any) -> None:
        self.saved_tensors = tensors


class _Applied(CustomVjp):
    def __call__(self, *args: Any) -> Any:
        has_tensors = any(isinstance(each, Tensor) for each in args)
        return Tensor.called(self, args, {}, is_compiled=True) if has_tensors else super().__call__(*args)


def _no_backward(ctx: Any, *gradients: Any) -> Any:
    raise NotImplementedError("this Function has no static method backward(ctx, *gradients)")


class Function:
    """A function with a custom derivative: `forward(ctx, *args)` and `backward(ctx, *gradients)` are static methods
    on arrays. `apply` takes tensors or arrays; in compiled functions it is a `mlirad.custom_vjp`."""

    apply: Any
    forward: Any
    backward: Any = staticmethod(_no_backward)

    def __init_subclass__(cls) -> None:
        @wraps(cls.forward, updated=())
        def with_context(*args: Any) -> Any:
            context = _Context()
            return cls.forward(context, *args), context

        @wraps(cls.backward, updated=())
        def pulled(context: Any, g: Any) -> Any:
            found = cls.backward(context, *g) if isinstance(g, tuple) else cls.backward(context, g)
            return found if isinstance(found, tuple) else (found,)

        cls.apply = _Applied(lambda *args: with_context(*args)[0])
        cls.apply.defvjp(with_context, pulled)


class GradientTape(GraphTape):
    """TensorFlow's tape: its `with` block records computations on tensors that require gradients or are watched.
    `gradient` releases its memory, unless it is persistent."""

    def __init__(self, persistent: bool = False):
        super().__init__()
        self.persistent = persistent
        self._watched: dict[int, tuple[Tensor, CallNode]] = {}

    def __exit__(self, *error: object) -> None:
        super().__exit__(*error)
        for tensor, _node in self._watched.values():
            tensor._node = None

    def watch(self, tensors: Any) -> None:
        for each in tree.leaves(tensors):
            if not each.requires_grad:
                self._watched[id(each)] = each, each.requires_grad_()._node

    def gradient(self, target: Tensor, sources: Any, output_gradients: Any = None) -> Any:
        """The gradients of `target` with respect to a tensor or a pytree of tensors; None for those without
        influence."""
        if self.nodes is None:
            raise GraphError("the memory of this tape is released: GradientTape(persistent=True) gives more gradients")
        found: dict[CallNode, list[Any]] = {}
        if target.requires_grad:
            found = target.cotangents(output_gradients, self.is_recorded, True, self.nodes)

        def of(source: Tensor) -> Tensor | None:
            node = self._watched.get(id(source), (source, source._node))[1]
            return found[node][source._index] if node in found else None

        gradients = tree.map(of, sources)
        if not self.persistent:
            self.release()
        return gradients


def _named(function: Callable[..., Any]) -> Callable[..., Any]:
    names = {"dim": "axis", "keepdim": "keepdims"}
    return lambda *args, **named: function(*args, **{names.get(name, name): each for name, each in named.items()})


_OF_NUMPY = (
    "abs acos amax amin argmax argmin asin atan atan2 ceil clip cos cosh cumsum dot einsum exp expm1 floor isfinite "
    "isnan log log1p matmul maximum mean minimum outer pow prod round sign sin sinh sqrt square squeeze stack sum tan "
    "tanh where"
)
METHODS: dict[str, Callable[..., Any]] = {
    **{name: _named(operation(getattr(nn, name))) for name in nn.__all__ if name.islower()},
    **{name: _named(getattr(np, name)) for name in _OF_NUMPY.split()},
    "cat": _named(np.concatenate),
    "permute": lambda x, *axes: np.transpose(x, axes),
    "reshape": lambda x, *shape: np.reshape(x, shape[0] if len(shape) == 1 else shape),
    "t": np.transpose,
    "to": np.astype,
    "transpose": np.swapaxes,
    "unsqueeze": _named(np.expand_dims),
}
"""Functions of tensors, which are in this module and also methods."""
METHODS["view"] = METHODS["reshape"]


def __getattr__(name: str) -> Any:
    if name not in METHODS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return METHODS[name]
