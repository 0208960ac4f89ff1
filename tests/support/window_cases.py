"""The layers of mlirad.nn that are compared with PyTorch: calls, and arguments that are the same on every machine.

torch_reference.py runs them with PyTorch and writes what it gives into tests/unit/nn/torch_reference.npz.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Case:
    """A call of `function`. shapes: of x, of the filters w and of the bias, as far as it has them, as in PyTorch.

    options: mlirad's names, which are PyTorch's but for `size`. is_last: whether the channels are the last axis for
    mlirad; PyTorch gets the same arrays with the axes in its own order.
    """

    function: str
    shapes: tuple[tuple[int, ...], ...]
    options: dict[str, Any] = field(default_factory=dict)
    is_last: bool = False

    def arrays(self) -> list[np.ndarray]:
        """The arguments, then the cotangent of the result's first elements."""
        return [numbers(shape, start) for start, shape in enumerate(self.shapes)]


def numbers(shape: tuple[int, ...], start: int) -> np.ndarray:
    """Numbers in (-1, 1), all different up to 1008 of them."""
    count = int(np.prod(shape))
    return ((np.arange(1, count + 1) * (389 + 2 * start) % 1009) / 504.5 - 1.0).reshape(shape)


X, W, B = (2, 4, 6, 7), (6, 4, 3, 2), (6,)
LINE, VOLUME = (2, 3, 11), (2, 2, 4, 5, 3)
CASES = (
    Case("conv2d", (X, W)),
    Case("conv2d", (X, W, B), {"stride": 2, "padding": 1}),
    Case("conv2d", (X, W, B), {"stride": (2, 3), "padding": (2, 0), "dilation": (1, 2)}),
    Case("conv2d", (X, W), {"padding": "same", "dilation": 2}),
    Case("conv2d", (X, W), {"padding": "valid", "stride": (1, 2)}),
    Case("conv2d", (X, (6, 2, 3, 3)), {"groups": 2, "padding": 1}),
    Case("conv2d", (X, (8, 1, 3, 2)), {"groups": 4, "stride": (3, 1), "dilation": (2, 3)}),
    Case("conv2d", (X, (5, 4, 1, 1), (5,))),
    Case("conv2d", (X, (5, 4, 1, 1)), {"stride": 2, "padding": (0, 1)}),
    Case("conv2d", ((1, 1, 1, 1), (1, 1, 1, 1), (1,))),
    Case("conv2d", ((3, 2, 5, 5), (1, 2, 5, 5))),
    Case("conv2d", (X, W, B), {"stride": (2, 1), "padding": (1, 2)}, is_last=True),
    Case("conv2d", (X, (6, 2, 2, 3)), {"groups": 2, "dilation": 2, "padding": "same"}, is_last=True),
    Case("conv2d", (X, (5, 4, 1, 1)), is_last=True),
    Case("conv1d", (LINE, (4, 3, 3), (4,)), {"stride": 2, "padding": 2}),
    Case("conv1d", (LINE, (6, 1, 4)), {"groups": 3, "dilation": 2, "padding": "same"}),
    Case("conv1d", (LINE, (4, 3, 3)), {"padding": 1}, is_last=True),
    Case("conv3d", (VOLUME, (3, 2, 2, 3, 1), (3,)), {"stride": (1, 2, 1), "padding": (1, 0, 1)}),
    Case("conv3d", (VOLUME, (4, 1, 2, 2, 2)), {"groups": 2, "dilation": (2, 1, 1)}, is_last=True),
    Case("conv_transpose2d", (X, (4, 3, 3, 2), (3,)), {"stride": 2, "padding": 1, "output_padding": 1}),
    Case("conv_transpose2d", (X, (4, 3, 2, 3)), {"groups": 2, "stride": (1, 3), "dilation": (2, 1), "padding": (0, 2)}),
    Case("conv_transpose2d", (X, (4, 3, 1, 1))),
    Case("conv_transpose1d", (LINE, (3, 2, 4)), {"stride": 3, "padding": 2, "output_padding": 1}),
    Case("conv_transpose3d", (VOLUME, (2, 3, 2, 1, 2)), {"stride": (2, 1, 2), "padding": (0, 0, 1)}),
    Case("max_pool2d", (X,), {"size": 2}),
    Case("max_pool2d", (X,), {"size": (3, 2), "stride": (1, 2), "padding": (1, 0)}),
    Case("max_pool2d", (X,), {"size": 3, "stride": 2, "padding": 1, "ceil_mode": True}),
    Case("max_pool2d", (X,), {"size": 3, "stride": 3, "padding": 1}, is_last=True),
    Case("max_pool1d", (LINE,), {"size": 4, "stride": 3, "padding": 2, "ceil_mode": True}),
    Case("max_pool3d", (VOLUME,), {"size": 2, "stride": (1, 2, 1)}),
    Case("avg_pool2d", (X,), {"size": 2}),
    Case("avg_pool2d", (X,), {"size": (3, 2), "stride": (1, 2), "padding": 1}),
    Case("avg_pool2d", (X,), {"size": 3, "stride": 2, "padding": 1, "count_include_pad": False}),
    Case("avg_pool2d", (X,), {"size": 3, "stride": 2, "padding": 1, "ceil_mode": True}),
    Case("avg_pool2d", (X,), {"size": 4, "stride": 3, "ceil_mode": True, "count_include_pad": False}),
    Case("avg_pool2d", (X,), {"size": (2, 3), "stride": 2, "padding": 1}, is_last=True),
    Case("avg_pool1d", (LINE,), {"size": 3, "stride": 2, "padding": 1, "ceil_mode": True}),
    Case("avg_pool3d", (VOLUME,), {"size": 2, "stride": (2, 1, 1), "padding": (1, 0, 1), "count_include_pad": False}),
)
