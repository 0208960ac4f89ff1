"""The mixture of `mixture.py` in 64 dimensions, where it has 10."""

from __future__ import annotations

from typing import Any

from . import mixture
from .mixture import ARGNUMS, adjoint, jax_loss, loss, torch_loss

__all__ = ["ARGNUMS", "SIZES", "adjoint", "arguments", "jax_loss", "loss", "torch_loss"]

SIZES = (1_000, 10_000)


def arguments(n: int) -> tuple[Any, ...]:
    return mixture.arguments(n, dimensions=64)
