"""The names of the stages that all targets share; a target names those after `optimized`."""

from __future__ import annotations

TENSOR = "tensor"
AUTODIFF = "autodiff"
OPTIMIZED = "optimized"

SHARED = (TENSOR, AUTODIFF, OPTIMIZED)
