"""Primitives: callable objects. `bprop_getters.register` takes their classes.

Reads and writes: nothing. Leaves: tensors, by the core's functions.
"""

from __future__ import annotations

from typing import Any

from mlirad import nn as core_nn
from mlirad.interop.mindspore.bprop import WithRule
from mlirad.interop.mindspore.tensors import Tensor, data_of


class Primitive(WithRule):
    """A computation, `construct`, that is called like a function."""

    def __call__(self, *args: Any) -> Any:
        return self.construct(*args) if self._rule is None else self._rule(*args)


class Add(Primitive):
    """x + y. Operators do not go through it."""

    def construct(self, x: Any, y: Any) -> Tensor:
        return Tensor(data_of(x) + data_of(y))


class Conv2D(Primitive):
    """The correlation of x (N, C, H, W) with w (O, C, K, L), with numbers of zeros around the images."""

    def __init__(self, stride: int = 1, padding: int = 0):
        self.stride, self.padding = stride, padding
        super().__init__()

    def construct(self, x: Any, w: Any) -> Tensor:
        return Tensor(core_nn.conv2d(data_of(x), data_of(w), self.stride, self.padding))
