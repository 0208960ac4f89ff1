"""Random numbers of keys, in kernels and in plain NumPy: each key has its numbers, whoever asks and in whatever order.

    key = mlirad.random.key(0)
    key, part = mlirad.random.split(key)
    x = mlirad.random.normal(part, (1000,))

The names are jax.random's, the numbers are of Philox 4x32-10. `docs/random.md` is the manual; NumPy's generators are
arguments of kernels, too.
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
