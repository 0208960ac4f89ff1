"""Reads: window_cases.py. Writes: tests/unit/nn/torch_reference.npz, by PyTorch. Leaves: nothing.

For each case: PyTorch's value y, and the gradients of sum(r * y) in each argument, where r is `numbers(y.shape, 7)`;
computed in float64, kept in float32. Made once, with torch 2.13.0: `python tests/support/torch_reference.py`.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from window_cases import CASES, Case, numbers

FILE = Path(__file__).resolve().parents[1] / "unit" / "nn" / "torch_reference.npz"


def results(case: Case) -> list[np.ndarray]:
    options = dict(case.options)
    if "size" in options:
        options["kernel_size"] = options.pop("size")
    arguments = [torch.from_numpy(array).requires_grad_() for array in case.arrays()]
    y = getattr(torch.nn.functional, case.function)(*arguments, **options)
    loss = (y * torch.from_numpy(numbers(tuple(y.shape), 7))).sum()
    found = [y, *torch.autograd.grad(loss, arguments)]
    return [each.detach().numpy().astype(np.float32) for each in found]


if __name__ == "__main__":
    kept = {f"{number}_{part}": array for number, case in enumerate(CASES) for part, array in enumerate(results(case))}
    np.savez_compressed(FILE, allow_pickle=False, **kept)
    print(FILE, FILE.stat().st_size)
