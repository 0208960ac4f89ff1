"""Training with arrays of float16: what a program keeps in float32, and what it multiplies its loss by.

Sums and products of float16 are added in float32 and rounded once, here as everywhere in mlirad.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mlirad import tree


def cast(values: Any, dtype: Any) -> Any:
    """A pytree with its arrays of floats in another dtype. The gradient has the dtype that they had."""
    return tree.map(lambda x: x.astype(dtype) if x.dtype.kind == "f" else x, values)


@dataclass
class LossScaler:
    """What a loss is multiplied by so that the gradients in float16 on the way do not become 0.

        scaler = LossScaler()

        def scaled_loss(params, x, y, scale):
            return loss(cast(params, np.float16), x, y) * scale        # params are float32

        gradients = scaler.unscaled(mlirad.grad(scaled_loss)(params, x, y, scaler.scale))
        if scaler.adjust(gradients):
            params = ...

    scale doubles after `interval` good steps, one after the other, and halves where a gradient is inf or nan. It stays
    between 1 and 2**24. All three are data, to be saved with the parameters.
    """

    scale: float = 2.0**15
    interval: int = 2000
    good_steps: int = 0

    def unscaled(self, gradients: Any) -> Any:
        """The gradients of the loss itself, in float32 where they were float16."""
        return tree.map(lambda g: g.astype(np.promote_types(g.dtype, np.float32)) / self.scale, gradients)

    def adjust(self, gradients: Any) -> bool:
        """Whether all gradients are finite, and a step may be taken; and the scale of the next step."""
        is_good = all(bool(np.all(np.isfinite(g))) for g in tree.leaves(gradients))
        self.good_steps = self.good_steps + 1 if is_good else 0
        if not is_good:
            self.scale = max(self.scale / 2, 1.0)
        elif self.good_steps >= self.interval:
            self.scale, self.good_steps = min(self.scale * 2, 2.0**24), 0
        return is_good
