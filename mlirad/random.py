"""Random numbers from keys, in kernels and in plain NumPy: the numbers depend on nothing but the key.

    key = mlirad.random.key(0)
    key, part = mlirad.random.split(key)
    x = mlirad.random.normal(part, (1000,))

The names are jax.random's; the numbers come from Philox 4x32-10. `docs/random.md` is the manual. Kernels also take
NumPy's generators as arguments.
"""

from mlirad.library.random.keys import (
    bernoulli,
    bits,
    categorical,
    cauchy,
    choice,
    exponential,
    fold_in,
    gumbel,
    key,
    laplace,
    logistic,
    normal,
    permutation,
    rademacher,
    randint,
    split,
    uniform,
)

__all__ = [
    "bernoulli",
    "bits",
    "categorical",
    "cauchy",
    "choice",
    "exponential",
    "fold_in",
    "gumbel",
    "key",
    "laplace",
    "logistic",
    "normal",
    "permutation",
    "rademacher",
    "randint",
    "split",
    "uniform",
]
