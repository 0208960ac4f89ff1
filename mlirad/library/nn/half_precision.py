"""Training with float16 arrays: the casts to and from float32, and the scale of the loss.

Sums and products of float16 are accumulated in float32 and rounded once, here as everywhere in mlirad.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mlirad import tree


def cast(values: Any, dtype: Any) -> Any:
    """A pytree with its float arrays in another dtype. The gradient has their original dtype."""
    return tree.map(lambda x: x.astype(dtype) if x.dtype.kind == "f" else x, values)


@dataclass
class LossScaler:
    """Scales a loss to keep its intermediate float16 gradients from becoming 0.

        scaler = LossScaler()

        def scaled_loss(params, x, y, scale):
            return loss(cast(params, np.float16), x, y) * scale        # params are float32

        gradients = scaler.unscaled(mlirad.grad(scaled_loss)(params, x, y, scaler.scale))
        if scaler.adjust(gradients):
            params = ...

    scale doubles after `interval` good steps in a row, and halves if a gradient is inf or nan. It stays between 1 and
    2**24. All three fields are data: save them with the parameters.
    """

    scale: float = 2.0**15
    interval: int = 2000
    good_steps: int = 0

    def unscaled(self, gradients: Any) -> Any:
        """The gradients of the unscaled loss; float16 gradients become float32."""
        return tree.map(lambda g: g.astype(np.promote_types(g.dtype, np.float32)) / self.scale, gradients)

    def adjust(self, gradients: Any) -> bool:
        """Whether all gradients are finite, so a step may be taken. Sets the scale of the next step."""
        is_good = all(bool(np.all(np.isfinite(g))) for g in tree.leaves(gradients))
        self.good_steps = self.good_steps + 1 if is_good else 0
        if not is_good:
            self.scale = max(self.scale / 2, 1.0)
        elif self.good_steps >= self.interval:
            self.scale, self.good_steps = min(self.scale * 2, 2.0**24), 0
        return is_good
