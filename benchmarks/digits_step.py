"""Reads: scikit-learn's digits. Writes: time of the demo's value and gradient for several batch sizes. Leaves: 0.

Peers: the gradient by hand in NumPy, and JAX.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from harness import has, print_ratios, shortest

import mlirad
from mlirad.demo import Digits, initial_parameters, jax_gradient, largest_difference, loss, numpy_gradient


def main() -> int:
    digits = Digits.load()
    params = initial_parameters(np.random.default_rng(0))
    gradient = mlirad.value_and_grad(loss)
    gradients = {"NumPy, by hand": numpy_gradient, "mlirad": gradient}
    if has("jax"):
        gradients["JAX"] = jax_gradient()
    for batch in (16, 64, 256, 1024):
        arguments = (params, digits.images[:batch], digits.labels[:batch])
        difference = largest_difference(gradient(*arguments)[1], numpy_gradient(*arguments)[1])
        contenders = {name: partial(function, *arguments) for name, function in gradients.items()}
        print_ratios(f"\nbatch of {batch} (largest difference {difference:.1e})", shortest(contenders))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
