"""Kernels and functions that tests send to other processes, found by their names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import mlirad


def total(x):
    return np.sum(np.sin(x) * x)


def total_by_hand(x):
    return np.sin(x) + x * np.cos(x)


@mlirad.jit
def decorated(x):
    return np.sum(x * x * x)


@mlirad.jit(static_argnames=("n",))
def with_options(x, n):
    return x * n


def stacked(x):
    return decorated(x) + with_options(x, n=2)[0]


def cube(x):
    return x * x * x


gradient = mlirad.grad(total)


@dataclass
class Model:
    scale: float

    def loss(self, x):
        return np.sum(x * x) * self.scale


def run(kernel: Any, *args: Any) -> Any:
    return kernel(*args)
