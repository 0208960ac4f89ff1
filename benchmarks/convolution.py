"""Reads: random images and filters. Writes: times of convolutions, and of sums of their squares with both gradients.
Leaves: 0.

The peer is PyTorch on one thread of the same processor, if it is installed.
"""

from __future__ import annotations

import sys
from functools import partial
from typing import Any

import numpy as np
from harness import has, medians, print_ratios

import mlirad
from mlirad import nn

# batch, channels, height = width, results, kernel, stride, padding, groups
LAYERS = {
    "first layer of a digits net": (64, 1, 28, 16, 5, 1, 2, 1),
    "second layer of a digits net": (64, 16, 14, 32, 3, 1, 1, 1),
    "residual block, 56 x 56": (4, 64, 56, 64, 3, 1, 1, 1),
    "residual block, 14 x 14": (4, 256, 14, 256, 3, 1, 1, 1),
    "stride 2, 56 x 56": (4, 64, 56, 128, 3, 2, 1, 1),
    "1 x 1, 28 x 28": (4, 128, 28, 128, 1, 1, 0, 1),
    "7 x 7, stride 2, 3 channels": (2, 3, 112, 64, 7, 2, 3, 1),
    "depthwise 3 x 3": (4, 64, 56, 64, 3, 1, 1, 64),
}


def compiled(stride: int, padding: int, groups: int) -> tuple[Any, Any]:
    """The value and both gradients by mlirad."""

    def loss(x, w, r):
        y = nn.conv2d(x, w, stride, padding, groups=groups)
        return np.sum(y * y * r)

    value = mlirad.jit(lambda x, w: nn.conv2d(x, w, stride, padding, groups=groups))
    return value, mlirad.value_and_grad(loss, argnums=(0, 1))


def torch_contenders(x: np.ndarray, w: np.ndarray, r: np.ndarray, options: Any) -> tuple[Any, Any]:
    """The value and both gradients by PyTorch."""
    import torch

    torch.set_num_threads(1)
    stride, padding, groups = options
    tx, tw, tr = (torch.from_numpy(each) for each in (x, w, r))
    gx, gw = tx.clone().requires_grad_(), tw.clone().requires_grad_()

    def value() -> Any:
        with torch.no_grad():
            return torch.nn.functional.conv2d(tx, tw, None, stride, padding, 1, groups)

    def gradient() -> Any:
        y = torch.nn.functional.conv2d(gx, gw, None, stride, padding, 1, groups)
        loss = (y * y * tr).sum()
        return loss, torch.autograd.grad(loss, (gx, gw))

    return value, gradient


def main(names: list[str]) -> int:
    for title, layer in LAYERS.items():
        if not names or any(name in title for name in names):
            for dtype in (np.float32, np.float64):
                measure(f"{title}, {np.dtype(dtype).name}", layer, dtype)
    return 0


def measure(title: str, layer: tuple[int, ...], dtype: type) -> None:
    batch, channels, size, results, kernel, stride, padding, groups = layer
    rng = np.random.default_rng(0)
    x = rng.standard_normal((batch, channels, size, size)).astype(dtype)
    w = rng.standard_normal((results, channels // groups, kernel, kernel)).astype(dtype)
    conv, gradient = compiled(stride, padding, groups)
    r = rng.standard_normal(conv(x, w).shape).astype(dtype)
    work = 2 * r.size * w[0].size
    values, gradients = {"mlirad": partial(conv, x, w)}, {"mlirad": partial(gradient, x, w, r)}
    if has("torch"):
        values["PyTorch"], gradients["PyTorch"] = torch_contenders(x, w, r, (stride, padding, groups))
    for what, contenders, times in (("value", values, 1), ("value and gradients", gradients, 3)):
        for call in contenders.values():
            call()
        found = medians(contenders, budget=3.0)
        rate = times * work / found["mlirad"] * 1e-9
        print_ratios(f"\n{title}, {what}: {rate:.1f} GFLOP/s", found)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
